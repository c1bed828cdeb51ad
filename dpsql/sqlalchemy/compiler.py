"""SQLAlchemy's expressions as SQL of the policy's dialect, in which the statement's hand-written parts stand too.

What SQLAlchemy writes generically is read alike in all dialects. What isn't is written as DuckDB has it and translated
by sqlglot, or said here for each dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import sqlglot
from sqlalchemy import exc, types
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import compiler, elements
from sqlglot import exp

from dpsql.parse import literal

if TYPE_CHECKING:
    from dpsql.sqlalchemy.dialect import DpsqlDialect

_MATCHES = {
    "duckdb": "REGEXP_MATCHES({}, {})",
    "postgres": "{} ~ {}",
    "bigquery": "REGEXP_CONTAINS({}, {})",
    "spark": "{} RLIKE {}",
}
_XOR = {"duckdb": "XOR({}, {})", "postgres": "{} # {}", "bigquery": "{} ^ {}", "spark": "{} ^ {}"}
_BACKTICKS = ("bigquery", "spark")


def words(dialect: str) -> set[str]:
    """The words that the dialect may take for something else than a name, in lower case."""
    known = sqlglot.Dialect.get_or_raise(dialect).tokenizer_class.KEYWORDS
    return {word.lower() for words in known for word in words.split() if word.isidentifier()}


class Preparer(compiler.IdentifierPreparer):
    """Names: in quotes where they are no plain words."""

    def __init__(self, dialect: Dialect) -> None:
        written = cast("DpsqlDialect", dialect).written
        self.reserved_words = compiler.RESERVED_WORDS | words(written)
        super().__init__(dialect, initial_quote="`" if written in _BACKTICKS else '"')


class Types(compiler.GenericTypeCompiler):
    """Names of types as DuckDB has them: its FLOAT is REAL elsewhere, its TIMESTAMP has no time zone."""

    def visit_FLOAT(self, type_: types.Float[Any], **kw: Any) -> str:
        return "DOUBLE"

    def visit_NUMERIC(self, type_: types.Numeric[Any], **kw: Any) -> str:
        """As many digits as DuckDB has, where it isn't said how many: its own default has three decimals."""
        return "DECIMAL(38, 10)" if type_.precision is None else super().visit_NUMERIC(type_, **kw)

    def visit_DECIMAL(self, type_: types.DECIMAL[Any], **kw: Any) -> str:
        return self.visit_NUMERIC(type_, **kw)

    def visit_DATETIME(self, type_: types.DateTime, **kw: Any) -> str:
        return self.visit_TIMESTAMP(cast(types.TIMESTAMP, type_), **kw)

    def visit_TIMESTAMP(self, type_: types.TIMESTAMP, **kw: Any) -> str:
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"


class Compiler(compiler.SQLCompiler):
    """Statements. `written` is the policy's dialect."""

    @property
    def written(self) -> str:
        return cast("DpsqlDialect", self.dialect).written

    # -- values and types

    def render_literal_value(self, value: Any, type_: types.TypeEngine[Any]) -> str:
        """A value in the text as dpsql writes a parameter."""
        process = type_.dialect_impl(self.dialect).bind_processor(self.dialect)
        text = literal(process(value) if process else value).sql("duckdb")
        return sqlglot.parse_one(text, read="duckdb").sql(self.written)

    def visit_typeclause(self, typeclause: elements.TypeClause, **kw: Any) -> str:
        return self.type_name(super().visit_typeclause(typeclause, **kw))  # type: ignore[no-untyped-call]

    def type_name(self, name: str) -> str:
        """The policy's dialect's name of a type of DuckDB's."""
        return exp.DataType.build(name, dialect="duckdb").sql(self.written)

    def visit_try_cast(self, cast: elements.TryCast[Any], **kw: Any) -> str:
        name = "SAFE_CAST" if self.written == "bigquery" else "TRY_CAST"
        return f"{name}({self.process(cast.clause, **kw)} AS {self.process(cast.typeclause, **kw)})"

    # -- operators

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        return f"SELECT {', '.join('NULL' for _ in element_types or [None])} WHERE 1 <> 1"

    def visit_truediv_binary(self, binary: elements.BinaryExpression[Any], operator: Any, **kw: Any) -> str:
        """A fraction, also of whole numbers."""
        right: Any = binary.right
        if self.dialect.div_is_floordiv and not isinstance(right.type, (types.Numeric, types.Float)):
            right = elements.Cast(right, types.Double())
        return f"{self.process(binary.left, **kw)} / {self.process(right, **kw)}"

    def visit_floordiv_binary(self, binary: elements.BinaryExpression[Any], operator: Any, **kw: Any) -> str:
        """Rounded down; of whole numbers a whole number."""
        text: str = super().visit_floordiv_binary(binary, operator, **kw)  # type: ignore[no-untyped-call]
        whole = isinstance(binary.left.type, types.Integer) and isinstance(binary.right.type, types.Integer)
        return f"CAST({text} AS {self.type_name('BIGINT')})" if whole and not self.dialect.div_is_floordiv else text

    def visit_bitwise_xor_op_binary(self, binary: elements.BinaryExpression[Any], operator: Any, **kw: Any) -> str:
        return _XOR[self.written].format(self.process(binary.left, **kw), self.process(binary.right, **kw))

    def visit_regexp_match_op_binary(self, binary: elements.BinaryExpression[Any], operator: Any, **kw: Any) -> str:
        if binary.modifiers and binary.modifiers.get("flags"):
            raise exc.CompileError("flags of a regular expression stand in its pattern: '(?i)…'")
        return _MATCHES[self.written].format(self.process(binary.left, **kw), self.process(binary.right, **kw))

    def visit_not_regexp_match_op_binary(self, binary: elements.BinaryExpression[Any], operator: Any, **kw: Any) -> str:
        return f"NOT {self.visit_regexp_match_op_binary(binary, operator, **kw)}"

    def visit_aggregate_strings_func(self, fn: Any, **kw: Any) -> str:
        return f"STRING_AGG{self.function_argspec(fn, **kw)}"

    # -- clauses

    @property
    def compound_keywords(self) -> dict[Any, str]:  # type: ignore[override]
        """UNION and the like; BigQuery wants to be told DISTINCT."""
        known = compiler.COMPOUND_KEYWORDS
        if self.written != "bigquery":
            return dict(known)
        return {key: text if text.endswith(" ALL") else f"{text} DISTINCT" for key, text in known.items()}

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        if not select._distinct_on:
            return super().get_select_precolumns(select, **kw)
        return f"DISTINCT ON ({', '.join(self.process(c, **kw) for c in select._distinct_on)}) "

    def limit_clause(self, select: Any, **kw: Any) -> str:
        return self._limited(select._limit_clause, select._offset_clause, **kw)

    def fetch_clause(self, select: Any, fetch_clause: Any = None, *args: Any, **kw: Any) -> str:
        options = select._fetch_clause_options
        if options and (options["percent"] or options["with_ties"]):
            raise exc.CompileError("FETCH FIRST … PERCENT and … WITH TIES aren't supported: use rank() in a subquery")
        return self._limited(select._fetch_clause, select._offset_clause, **kw)

    def _limited(self, limit: Any, offset: Any, **kw: Any) -> str:
        text = "" if limit is None else f"\n LIMIT {self.process(limit, **kw)}"
        return text if offset is None else f"{text}\n OFFSET {self.process(offset, **kw)}"
