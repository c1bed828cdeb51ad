"""A statement about PostgreSQL's catalogue in the engine's terms.

Whatever a client sends is read by its grammar: names of relations, functions, casts and arrays get the meaning that
PostgreSQL gives them. No statement is known by its text. What runs is generated from the tree, and checked by the same
list as queries over released numbers, to which the functions of the catalogue are added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.tokenizer_core import Token, TokenType

from dpsql.dialects import check_pattern, name_outputs
from dpsql.errors import ParseError
from dpsql.parse import Parameters, bind, trees
from dpsql.placeholders import numbered
from dpsql.rows import RESERVED
from dpsql.wire.catalogue import facts
from dpsql.wire.catalogue.contents import quoted
from dpsql.wire.catalogue.functions import PREFIX, macros
from dpsql.wire.catalogue.views import SCHEMA
from dpsql.wire.refusals import Refusal
from dpsql.wire.types import arrays

MOST_CALLS, MOST_NESTED = 40, 4
"""Functions of the catalogue in a statement, and within one another: each is a query of its own. Planning 80 that list
arguments takes more than the 512 kB of stack that a thread may have, and ends the process; no known client calls 10.
"""
MOST_GROWTH = 1_000
"""How many times as long a statement may make a text by replacing what is in it."""
WITH = f"{RESERVED}_with_"
KEYWORDS = "pg_get_keywords"
_REGISTERED = ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole")
"""Types whose values are numbers that are read and written as names."""
_NUMBERS = {"regprocedure": "regproc"}
_TEXTS = frozenset({"text", "varchar", "name", "char", "bpchar", "cstring", "character varying", "unknown"})
_OIDS = frozenset({"oid", "xid", "cid"})


# ---------------------------------------------------------------------------------------------- reading


def read(sql: str) -> list[exp.Expr]:
    """The statements of a text. Raises ParseError."""
    return trees(sql, "postgres", _plain)


def _plain(tokens: list[Token]) -> list[Token]:
    """Without what says that a name, an operator or an order of texts is PostgreSQL's own, which all here are."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        words = [_word(token) for token in tokens[at : at + 4]] + [""] * 4
        bare = tokens[at].token_type is not TokenType.IDENTIFIER
        if bare and words[:2] == ["operator", "("]:
            end = next((i for i in range(at, len(tokens)) if tokens[i].token_type is TokenType.R_PAREN), len(tokens))
            inner = tokens[at + 2 : end]
            found += inner[2:] if [_word(t) for t in inner[:2]] == ["pg_catalog", "."] else inner
            at = end + 1
        elif bare and words[0] == "collate":
            at += 4 if words[2] == "." else 2
        elif words[:2] == ["pg_catalog", "."] or (words[:2] == ["information_schema", "."] and words[3] == "("):
            at += 2
        elif words[0] in (*_REGISTERED, "oid") and words[1:3] == ["[", "]"]:  # no type of sqlglot's is a list of them
            name = f"{words[0]}_array"
            token = tokens[at]
            found.append(Token(TokenType.VAR, name, token.line, token.col, token.start, token.end))
            at += 3
        else:
            found.append(tokens[at])
            at += 1
    return found


def _word(token: Token) -> str:
    return "" if token.token_type is TokenType.STRING else token.text.lower()


# ---------------------------------------------------------------------------------------------- names


@dataclass(frozen=True, slots=True)
class Known:
    """What a statement can mean.

    own        the tables of dpsql, with their schema
    functions  the functions whose value is known before the statement runs: (arguments) to the value
    relations  the numbers of relations by schema and name
    samples    whether the parameters' values aren't known yet, and samples stand for them: any relation is one then
    """

    own: Collection[str]
    functions: Mapping[str, Callable[[Sequence[str | None]], object]]
    relations: dict[tuple[str, str], int]
    samples: bool = False


@dataclass(slots=True)
class Rewritten:
    """A statement for the engine, and which of dpsql's tables it reads."""

    tree: exp.Expr
    own: set[str] = field(default_factory=set)


def relations_named(tree: exp.Expr) -> set[str]:
    """The relations that a statement names, in lower case with their schemas; not those that WITH makes."""
    made = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = (t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier))
    return {".".join(part.name for part in table.parts).lower() for table in tables} - made


def is_relation(name: str, own: Collection[str]) -> bool:
    """Whether the catalogue has a relation of this name, or says itself that it has none."""
    schema, _, last = name.rpartition(".")
    if schema in ("information_schema", "dpsql"):
        return True
    return not schema and (last.startswith("pg_") or ("pg_catalog", last) in facts.relations())


def function_of(node: exp.Expr) -> str | None:
    """The name of the function that a node calls, as it was written, where it is one of the catalogue's or server's."""
    if isinstance(node, exp.Column):
        bare = not node.table and isinstance(node.this, exp.Identifier) and not node.this.quoted
        return node.name.lower() if bare and node.name.lower() in _BARE else None
    for kind, name in _NODES:
        if isinstance(node, kind):
            return name
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return str(node.meta.get("word", "")).lower() or None if isinstance(node, exp.Func) else None


_BARE = frozenset({"user", "current_user", "session_user", "current_role", "current_catalog", "current_schema"})
_NODES: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.CurrentSchema, "current_schema"), (exp.CurrentSchemas, "current_schemas"),
    (exp.CurrentDatabase, "current_database"), (exp.CurrentCatalog, "current_catalog"),
    (exp.CurrentUser, "current_user"), (exp.SessionUser, "session_user"), (exp.CurrentRole, "current_role"),
    (exp.CurrentVersion, "version"), (exp.CurrentTimestamp, "now"), (exp.Format, "format"),
    (exp.StringToArray, "string_to_array"), (exp.ArrayToString, "array_to_string"),
)  # fmt: skip


def is_about_the_server(tree: exp.Expr, functions: Container[str]) -> bool:
    """Whether a statement calls one of the functions or one of the catalogue, or names an object by a number."""
    for node in tree.walk():
        name = function_of(node)
        if name is not None and name not in COMMON and (name in functions or name in macros() or name == KEYWORDS):
            return True
        if isinstance(node, exp.Cast) and _type_name(node.to).removesuffix("_array") in _REGISTERED:
            return True
    return False


COMMON = frozenset({
    "format", "array_length", "array_position", "array_remove", "array_to_string", "string_to_array", "cardinality",
    "array_upper", "array_lower", "divided",
})  # fmt: skip
"""Functions that have nothing to do with the catalogue."""


# ---------------------------------------------------------------------------------------------- rewriting


def parameter_types(tree: exp.Expr) -> exp.Expr:
    """The tree with the types of its columns, as far as their names tell: for those of its parameters."""
    tree = annotate_types(numbered(tree), dialect="postgres")
    for cast in tree.find_all(exp.Cast):
        if (kind := {"oid": "UINTEGER", "oid_array": "UINTEGER[]"}.get(_type_name(cast.to))) is not None:
            cast.set("to", exp.DataType.build(kind, dialect="duckdb"))
    for column in tree.find_all(exp.Column):
        kind = _column_type(column)
        if kind is not None:
            column.type = exp.DataType.build(_SIMPLE.get(facts.carrier(kind), "TEXT"), dialect="duckdb")
    return tree


_SIMPLE = {
    "BOOLEAN": "BOOLEAN", "SMALLINT": "SMALLINT", "INTEGER": "INT", "BIGINT": "BIGINT", "UINTEGER": "BIGINT",
    "UBIGINT": "BIGINT", "FLOAT": "DOUBLE", "DOUBLE": "DOUBLE",
}  # fmt: skip


def rewrite(tree: exp.Expr, parameters: Parameters, known: Known) -> Rewritten:
    """The statement for the engine. Raises Refusal, or another dpsql.Error."""
    if not isinstance(tree, (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)):
        raise ParseError("only SELECT can be asked of the catalogue", hint="SELECT * FROM dpsql.tables")
    tree = bind(numbered(tree), parameters)
    for identifier in tree.find_all(exp.Identifier):
        if not identifier.quoted:
            identifier.set("this", identifier.name.lower())
    name_outputs(tree)
    made = Rewritten(tree)
    _rewrite_relations(made, known)
    _show_names(tree)
    for node in reversed(list(tree.walk())):  # inner nodes first
        meant = _meant(node, known)
        if meant is not node:
            if node is tree:
                raise ParseError("only SELECT can be asked of the catalogue")
            node.replace(meant)
    _check_calls(tree)
    return made


def _rewrite_relations(made: Rewritten, known: Known) -> None:
    ctes = {cte.alias.lower() for cte in made.tree.find_all(exp.CTE)}
    for cte in made.tree.find_all(exp.CTE):
        cte.args["alias"].this.replace(exp.to_identifier(f"{WITH}{cte.alias.lower()}", quoted=True))
    for column in made.tree.find_all(exp.Column):
        column.set("db", None)
        column.set("catalog", None)
    for node in list(made.tree.find_all(exp.Table, exp.Unnest)):
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            _rewrite_function_table(node)
            continue
        name, schema = node.name.lower(), node.db.lower()
        full = ".".join(part.name for part in node.parts).lower()
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        node.set("catalog", None)
        if name in ctes and not schema:
            node.set("this", exp.to_identifier(f"{WITH}{name}", quoted=True))
        elif full == "pg_settings":
            made.own.add(_SETTINGS)
            node.replace(exp.Subquery(this=_settings(), alias=node.args["alias"]))
        elif full in known.own:
            made.own.add(full)
            node.set("this", exp.to_identifier(own_table(full), quoted=True))
            node.set("db", None)
        elif (schema or "pg_catalog", name) in facts.relations() and schema in ("", "information_schema"):
            node.set("this", exp.to_identifier(name, quoted=True))
            node.set("db", exp.to_identifier(f"{SCHEMA}{schema or 'pg_catalog'}", quoted=True))
        else:
            raise Refusal(
                "42P01", f"the catalogue has no relation {full[:80]}", hint="SELECT * FROM dpsql.tables",
            )  # fmt: skip


_SETTINGS = "dpsql.settings"


def _settings() -> exp.Expr:
    """PostgreSQL's view of the settings: what dpsql's own table of them doesn't tell is NULL."""
    told = {"name": "name", "setting": "setting", "context": "'user'", "vartype": "'string'", "source": "'default'",
            "boot_val": "setting", "reset_val": "setting", "pending_restart": "FALSE"}  # fmt: skip
    columns = facts.relations()["pg_catalog", "pg_settings"].columns
    kinds = {column.name: "text[]" if column.type == "_text" else column.type for column in columns}
    items = ", ".join(f"CAST({told.get(name, 'NULL')} AS {kind}) AS {name}" for name, kind in kinds.items())
    return sqlglot.parse_one(f'SELECT {items} FROM "{own_table(_SETTINGS)}"', read="postgres")


def own_table(name: str) -> str:
    """The name in the engine of one of dpsql's tables."""
    return f"{RESERVED}_catalogue_{name.removeprefix('dpsql.')}"


def _rewrite_function_table(node: exp.Expr) -> None:
    """A function in FROM: where only its table has a name, its column has the same."""
    alias = node.args.get("alias")
    if isinstance(node, exp.Unnest):
        if alias is not None and alias.this and not alias.columns:
            alias.set("columns", [alias.this.copy()])
        return
    called = node.this
    name = function_of(called) or ""
    if name == KEYWORDS:
        node.set("this", exp.to_identifier(KEYWORDS, quoted=True))
        node.set("db", exp.to_identifier(f"{SCHEMA}pg_catalog", quoted=True))
        return
    shown = alias.this.copy() if alias is not None and alias.this else exp.to_identifier(name, quoted=True)
    if isinstance(called, exp.ExplodingGenerateSeries) or name in ("generate_series", "generate_subscripts"):
        if alias is None or not alias.columns:
            node.set("alias", exp.TableAlias(this=shown, columns=[shown.copy()]))
        return
    if name not in macros() and not isinstance(called, exp.CurrentSchemas):
        raise Refusal("42883", f"there is no function {name[:80]} that gives rows", hint="SELECT * FROM dpsql.tables")
    column, *more = alias.columns if alias is not None and alias.columns else [shown]
    inner = exp.select(exp.alias_(called.copy(), column.copy()))
    if node.args.get("ordinality"):
        number = exp.alias_(exp.Window(this=exp.RowNumber()), more[0].copy() if more else "ordinality")
        within = exp.Subquery(this=inner, alias=exp.TableAlias(this=shown.copy()))
        inner = exp.select(exp.column(column.copy()), number).from_(within)
    node.replace(exp.Subquery(this=inner, alias=exp.TableAlias(this=shown)))


def _show_names(tree: exp.Expr) -> None:
    """What a result shows of an object's number is its name."""
    for select in _outermost(tree):
        for item in select.expressions:
            shown = item.this if isinstance(item, exp.Alias) else item
            if isinstance(shown, exp.Cast) and _type_name(shown.to) in _REGISTERED:
                shown.replace(exp.cast(shown.copy(), "TEXT"))


def _outermost(tree: exp.Expr) -> Iterator[exp.Select]:
    if isinstance(tree, exp.Select):
        yield tree
    elif isinstance(tree, exp.SetOperation):
        yield from _outermost(tree.this)
        yield from _outermost(tree.expression)
    elif isinstance(tree, exp.Subquery):
        yield from _outermost(tree.this)


def _meant(node: exp.Expr, known: Known) -> exp.Expr:
    """What a node means in the engine. Its parts are already in the engine's terms."""
    match node:
        case exp.Cast():
            return _cast(node, known)
        case exp.ExplodingGenerateSeries() if not isinstance(node.parent, exp.Table):
            raise Refusal("0A000", "generate_series only stands in FROM here", hint="FROM generate_series(1, 10) AS i")
        case exp.TimeToStr():
            check_pattern(node)
            return node
        case exp.Div():
            return _call("divided", [node.this, node.expression])
        case exp.Any():
            return exp.Any(this=exp.Paren(this=_array(node.this, node.parent)))
        case exp.EQ() | exp.NEQ() if (
            isinstance(node.expression, exp.Anonymous) and node.expression.name.lower() == "all"
        ):
            if len(node.expression.expressions) != 1:
                raise Refusal("42601", "ALL wants one array", hint="relkind <> ALL ('{r,v}')")
            (values,) = node.expression.expressions
            other: type[exp.Expr] = exp.EQ if isinstance(node, exp.NEQ) else exp.NEQ
            inside = other(this=node.this.copy(), expression=exp.Any(this=exp.Paren(this=_array(values, node))))
            return exp.Paren(this=exp.Not(this=inside))
        case exp.EQ() | exp.NEQ():
            if _is_list(node.this) and _is_text(node.expression):
                node.set("expression", _array(node.expression, node))
            return node
    name = function_of(node)
    if name is None:
        return node
    if name in known.functions:
        return _value(known.functions[name](_arguments(node)))
    if name in ("json_build_object", "jsonb_build_object"):
        return exp.Anonymous(this="json_object", expressions=node.expressions)
    if name in macros():
        return _call(name, _operands(node))
    return node


def _value(value: object) -> exp.Expr:
    if isinstance(value, list):
        return exp.Array(expressions=[exp.Literal.string(item) for item in value])
    return exp.convert(value)


def _arguments(node: exp.Expr) -> list[str | None]:
    """The arguments as texts; None for one that is no literal."""
    return [_text(operand) for operand in _operands(node)]


def _text(node: exp.Expr) -> str | None:
    while isinstance(node, (exp.Cast, exp.Paren)):
        node = node.this
    if isinstance(node, exp.Boolean):
        return str(node.this).lower()
    return node.name if isinstance(node, exp.Literal) else None


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a function, in order."""
    if isinstance(node, exp.Anonymous):
        return [item.copy() for item in node.expressions]
    found: list[exp.Expr] = []
    for name in node.arg_types:
        value = node.args.get(name)
        found += [v.copy() for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)]
    return found


def _call(name: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this=f"{PREFIX}{name}", expressions=[argument.copy() for argument in arguments])


# ---------------------------------------------------------------------------------------------- types


def _type_name(kind: exp.Expr) -> str:
    return kind.sql("postgres").lower().replace('"', "")


def _cast(node: exp.Cast, known: Known) -> exp.Expr:
    name, inner = _type_name(node.to), node.this
    name = "oid[]" if name == "oid_array" else name
    bare = re.sub(r"\(.*\)", "", name)
    if name in _REGISTERED:
        return _number(inner, _NUMBERS.get(name, name), known)
    if name.removesuffix("_array") in _REGISTERED:
        return _marked(inner.copy(), name)
    if bare in _TEXTS:
        kind = inner.meta.get("registered") or (_column_type(inner) if isinstance(inner, exp.Column) else None)
        if kind in _REGISTERED:
            return _call(f"{_NUMBERS.get(str(kind), str(kind))}_text", [inner])
        return exp.cast(inner.copy(), "TEXT")
    if name in _OIDS:
        return exp.cast(inner.copy(), exp.DType.UINT)
    if name.endswith("[]"):
        element = re.sub(r"\(.*\)", "", name.removesuffix("[]"))
        marks = {mark for n in inner.walk() if (mark := n.meta.get("registered"))}
        if element in _TEXTS and marks & {"regtype_array"}:
            return _call("regtypes_text", [inner])
        value = _array(inner, node) if _is_text(inner) else inner.copy()
        kind = "TEXT" if element in _TEXTS else "UINTEGER" if element in _OIDS else element
        try:
            return exp.cast(value, exp.DataType.build(f"{_ENGINE.get(kind, kind)}[]", dialect="duckdb"))
        except SqlglotError:
            raise Refusal("42704", f'type "{name[:80]}" does not exist') from None
    if name in _ENGINE:
        return exp.cast(inner.copy(), exp.DataType.build(_ENGINE[name], dialect="duckdb"))
    if isinstance(node.to, exp.DataType) and node.to.this not in (exp.DType.USERDEFINED, exp.DType.UNKNOWN):
        return node
    raise Refusal("42704", f'type "{name[:80]}" does not exist')


_ENGINE = {
    "int2": "SMALLINT", "int4": "INT", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE", "bool": "BOOLEAN",
    "smallint": "SMALLINT", "integer": "INT", "bigint": "BIGINT", "json": "JSON", "jsonb": "JSON", "bytea": "BLOB",
    "timestamptz": "TIMESTAMP", "real": "FLOAT", "double precision": "DOUBLE",
}  # fmt: skip


def _number(inner: exp.Expr, kind: str, known: Known) -> exp.Expr:
    """The number of an object that is given by name or number."""
    if isinstance(inner, exp.Literal) and kind == "regclass":
        return _marked(_relation(inner, known), kind)
    column = _column_type(inner) if isinstance(inner, exp.Column) else None
    if isinstance(inner, exp.Column) and column not in ("text", "name", "varchar"):
        return _marked(inner.copy(), kind)
    if inner.meta.get("registered") or (isinstance(inner, exp.Literal) and not inner.is_string):
        return _marked(inner.copy(), kind)
    return _marked(_call(f"to_{kind}", [exp.cast(inner.copy(), "TEXT")]), kind)


def _marked(node: exp.Expr, kind: str) -> exp.Expr:
    node.meta["registered"] = kind
    return node


def _relation(literal: exp.Literal, known: Known) -> exp.Expr:
    """The number of the relation of a name. Raises Refusal where there is none."""
    text = literal.name
    if text.isdigit():
        return exp.Literal.number(text)
    parts = [
        p[1:-1].replace('""', '"') if p[0] == '"' else p.lower() for p in re.findall(r'"(?:[^"]|"")*"|[^."]+', text)
    ]
    schema, name = (parts[-2] if len(parts) > 1 else None), parts[-1] if parts else ""
    places = [schema] if schema else ["pg_catalog", "public", *dict.fromkeys(s for s, _ in known.relations)]
    for place in places:
        if (place, name) in known.relations and (schema or place not in ("information_schema", "dpsql")):
            return exp.Literal.number(known.relations[place, name])
    if known.samples:
        return exp.Literal.number(0)
    raise Refusal("42P01", f'relation "{".".join(map(quoted, parts))[:80]}" does not exist')


def _column_type(node: exp.Expr) -> str | None:
    """PostgreSQL's type of a column of the catalogue, by its name."""
    return facts.column_types().get(node.name.lower()) if isinstance(node, exp.Column) else None


def _is_list(node: exp.Expr) -> bool:
    kind = _column_type(node)
    return kind is not None and facts.carrier(kind).endswith("[]")


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _array(node: exp.Expr, parent: exp.Expr | None) -> exp.Expr:
    """A list; one that is written as PostgreSQL writes arrays, `{a,"b"}`, as its elements."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not _is_text(node):
        return node.copy()
    try:
        elements = arrays.parse(node.name)
    except ValueError:
        raise Refusal("22P02", f'malformed array literal: "{node.name[:80]}"') from None
    beside = None if parent is None else _column_type(parent.this)
    textual = beside is None or facts.carrier(beside).startswith("VARCHAR")
    if isinstance(parent, exp.Cast):
        textual = _type_name(parent.to).removesuffix("[]") in _TEXTS
    items: list[exp.Expr] = []
    for element in elements:
        if element is None:
            items.append(exp.Null())
        elif textual:
            items.append(exp.Literal.string(element))
        elif re.fullmatch("[0-9]{1,18}", element):
            items.append(exp.Literal.number(element))
        else:
            raise Refusal("22P02", f'invalid element of an array of numbers: "{element[:80]}"')
    array = exp.Array(expressions=items)
    return array if items else exp.cast(array, exp.DataType.build("TEXT[]" if textual else "INT[]", dialect="duckdb"))


def _check_calls(tree: exp.Expr) -> None:
    """Refuse what would make the engine's plan too large, where each function of the catalogue is a query, or texts."""
    calls = [n for n in tree.find_all(exp.Anonymous) if n.name.startswith(PREFIX)]
    for call in calls:
        nested, node = 0, call.parent
        while node is not None:
            nested += isinstance(node, exp.Anonymous) and node.name.startswith(PREFIX)
            node = node.parent
        if nested >= MOST_NESTED:
            raise Refusal("54001", f"more than {MOST_NESTED} functions of the catalogue stand within one another")
    if len(calls) > MOST_CALLS:
        raise Refusal("54001", f"the statement calls more than {MOST_CALLS} functions of the catalogue")
    growth = 1
    for node in tree.find_all(exp.Func):
        growth *= _growth(node)
        if growth > MOST_GROWTH:
            raise Refusal("54000", f"what is replaced makes texts more than {MOST_GROWTH} times as long")


def _growth(node: exp.Func) -> int:
    """How many times as long as its text the value of a function can be that puts texts in the place of others.

    The engine makes such a value in one go: outside its limit of memory, and nothing can interrupt it.
    """
    if isinstance(node, exp.Anonymous) and node.name == f"{PREFIX}format":
        return max(1, _written_out(node, 0, "format").count("%"))
    if isinstance(node, (exp.Replace, exp.RegexpReplace)):
        return 1 + len(_written_out(node, 2, function_of(node) or "replace"))
    return 1


def _written_out(node: exp.Func, place: int, name: str) -> str:
    """The text that a function has at a place, empty where it has none. Raises Refusal where it is computed."""
    operands = _operands(node)[place : place + 1]
    text = _text(operands[0]) if operands else ""
    if text is None:
        raise Refusal(
            "0A000", f"{name} wants its argument {place + 1} as a text written out", hint="format('%I', relname)"
        )
    return text
