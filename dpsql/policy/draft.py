"""A policy drafted from a schema: names and types of columns, never a value. What only the owner can know is DECIDE."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dpsql.policy.decisions import DECIDE
from dpsql.policy.document import Scalar
from dpsql.policy.names import tells
from dpsql.policy.problems import Problems, printable
from dpsql.policy.section import check_name, folded

_COMMENT_COLUMN = 35
_PLAIN_YAML = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)(?:\.\.?/)*[^\W\d][\w./:-]*(?<!:)", re.IGNORECASE)
"""Text that YAML 1.1 and 1.2 both read as text."""

_HEAD = f"""\
# A draft, made from names and types of columns alone: no value was read. It does not load until the owner of the data
# has decided what stands here as {DECIDE}; `dpsql check` lists what is left. Everything in a policy is public: decide
# from what is known about the subject, not by looking at the data. README, "The policy", explains every key.
dpsql: 1
"""
_BUDGET = f"""\

budget:
  # What all answers to everyone may cost together. Whether any one person is in the data changes the chance of seeing
  # just these answers by a factor of at most e^epsilon: that is 2.7 for epsilon 1, and 22026 for 10.
  epsilon: {DECIDE}
  # delta: 1e-4                    # the same for privacy.delta
  # per: month                     # in each calendar month (or day, week) instead of in all
  # analysts:                      # limits within that, by name
  #   alice: {{epsilon: 5}}
  #   "*": {{epsilon: 1}}            # each other analyst

privacy:
  epsilon: 1.0                     # of a query that asks for none: the smaller, the more noise
  # max_epsilon: 4.0               # the most that a query may ask for
  # delta: 1e-6                    # of a query whose groups are in no keys or bounds; without it, such are refused
"""
_TABLES = """\

# Of each table decide whose its rows are, of each column whether queries need it, and then
#   type      integer, decimal(p,s), double, text, boolean, date or timestamp; cells that are none count as NULL
#   bounds    the lowest and highest value that can be, for sums, averages and groups: others are moved to the nearer
#             one. Wide bounds cost accuracy, narrow ones bias. Delete the line where they are not needed.
#   keys      all values that may be shown as groups, in the place of bounds
#   nullable  true, if NULL may occur: else a NULL contributes nothing
tables:
"""
_UNIT = f"""\
    # unit: row, if each row is one person (or whatever is to be protected) and nobody has two rows. Else say whose a
    # row is, and how many rows of one person count in full (those of a person with more count in proportion):
    #   unit: {{column: person_id, max_rows: 20}}      if a column tells it; none twice in it: unique: true, no max_rows
    #   unit: {{via: visits.visit_id, max_rows: 60}}   if visit_id tells the row of visits whose person it is
    # Where nothing is private: public: true in the place of unit, and no columns: then it has all. By a column in which
    # no value stands twice, private tables can be joined with it: primary_key: code
    unit: {DECIDE}
"""


@dataclass(frozen=True, slots=True)
class DraftColumn:
    """A column as the schema has it.

    `type` is as a policy writes it, None where the schema doesn't say. `stored` is the engine's own. `required`: the
    schema rules NULL out. `obstacle`: why the column can't be declared, if it can't.
    """

    name: str
    type: str | None = None
    stored: str = ""
    required: bool = False
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class DraftTable:
    """A table as the schema has it: the name it might have, its `source`, its columns; whether several files make it
    up.
    """

    name: str
    source: str
    columns: tuple[DraftColumn, ...]
    several: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of a draft, and how often DECIDE stands in it."""

    text: str
    decisions: int


def plain_name(text: str) -> str:
    """The text as the name of a table that SQL needs no quotes for; empty where nothing of it can be one."""
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return f"table_{name}" if re.match(r"\d|dpsql_", name) else name


def draft_policy(tables: Sequence[DraftTable], *, engine: str, ledger: str, left_out: Iterable[str] = ()) -> Draft:
    """The draft for these tables. `left_out` tells what else the data hold that no policy can declare.

    Raises ValueError where no table has a column that can be declared.
    """
    parts = [_HEAD, f"engine: {yaml_text(engine)}\n" if engine != "duckdb" else "", _BUDGET, "\n"]
    parts.append(_line(0, f"ledger: {yaml_text(ledger)}", "records every charge; keep it on a local disk"))
    parts.append(_TABLES)
    names: set[str] = set()
    missing = list(left_out)
    for table in tables:
        columns = _with_names(table.columns)
        if all(column.obstacle for column in columns):
            why = "; ".join(f"{column.name}: {column.obstacle}" for column in columns)
            missing.append(f"{table.source}, no column of which can be declared ({why})")
            continue
        parts += _table(_free_name(table.name, names), table, columns)
    if not names:
        raise ValueError("no table")
    parts += [f"  # left out: {printable(reason, 400)}\n" for reason in missing]
    text = "".join(parts)
    return Draft(text, len(re.findall(rf"^ +\w+: {DECIDE}(?= |$)", text, re.MULTILINE)))


def yaml_text(text: str) -> str:
    """The text as a YAML scalar that is read as just this text, with `${` as the policy escapes it."""
    if _PLAIN_YAML.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("${", "$${")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _with_names(columns: Iterable[DraftColumn]) -> list[DraftColumn]:
    """The columns, with an obstacle where the loader would refuse the name."""
    used: set[str] = set()
    return [replace(column, obstacle=column.obstacle or _name_obstacle(column.name, used)) for column in columns]


def _name_obstacle(name: str, used: set[str]) -> str:
    if not name:
        return "it has no name"
    if not _can_be_name(name):
        return "its name can't be declared"
    if folded(name) in used:
        return "its name is that of another column but for its case"
    used.add(folded(name))
    return ""


def _can_be_name(text: str) -> bool:
    return text != "<<" and check_name(Scalar(0, text, text, text), "a column", Problems())


def _free_name(wanted: str, used: set[str]) -> str:
    """The name, or a similar one that can be declared and is not in use yet."""
    name = wanted if _can_be_name(wanted) else plain_name(wanted) or "data"
    free, number = name, 1
    while folded(free) in used:
        number += 1
        free = f"{name}_{number}"
    used.add(folded(free))
    return free


def _line(indent: int, code: str, comment: str = "") -> str:
    """A line of YAML with its comment."""
    line = " " * indent + code
    return (
        f"{line.ljust(_COMMENT_COLUMN)}{' ' * (len(line) >= _COMMENT_COLUMN)}# {comment}\n" if comment else line + "\n"
    )


def _table(name: str, table: DraftTable, columns: Iterable[DraftColumn]) -> Iterator[str]:
    yield _line(2, f"{yaml_text(name)}:")
    yield _line(4, f"source: {yaml_text(table.source)}", "all these files are one table" if table.several else "")
    yield _UNIT
    yield _line(4, "columns:", "delete what no query needs: columns that are not here don't exist for analysts")
    for column in columns:
        yield from _column(column)


def _column(column: DraftColumn) -> Iterator[str]:
    if column.obstacle:
        shown = f"{printable(column.name)}: " if column.name else ""
        yield _line(6, f"# {shown}left out, {column.obstacle}")
        return
    telling = "may tell who a person is: better delete the column, unless unit needs it" if tells(column.name) else ""
    yield _line(6, f"{yaml_text(column.name)}:", telling)
    groups = "all values that may be shown as groups"
    if column.type is None:
        yield _line(8, f"type: {DECIDE}", "integer, decimal(p,s), double, text, boolean, date or timestamp")
        yield _line(8, "# bounds: [0, 120]", "of a number or date: lowest and highest")
        yield _line(8, "# keys: [a, b, c]", f"or {groups}")
    else:
        yield _line(8, f"type: {column.type}")
    if column.type == "text":
        yield _line(8, "# keys: [a, b, c]", f"{groups}; without, it is for COUNT, WHERE and privacy.delta")
    elif column.type not in (None, "boolean"):
        example = {
            "date": "[2020-01-01, 2020-12-31]",
            "timestamp": '["2020-01-01 00:00:00", "2020-12-31 23:59:59"]',
        }.get(column.type or "", "[0, 120]")
        yield _line(8, f"bounds: {DECIDE}", f"lowest and highest, such as {example}; or delete this line")
    if column.required:
        yield _line(8, "nullable: false", "NOT NULL in the database")
    else:
        yield _line(8, "# nullable: true", "if NULL may occur" if column.type else "if cells may be empty")
