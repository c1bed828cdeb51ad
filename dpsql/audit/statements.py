"""Statements for any policy: aggregations of private rows, and what is asked of the noisy numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql import aggregates
from dpsql.audit.chance import Random
from dpsql.audit.expressions import TEMPLATES
from dpsql.audit.relations import NUMBERS, PERHAPS, SLOTS, UNIT, Relations, Scope, Use
from dpsql.expressions import dates
from dpsql.policy import Column, Kind, Policy

_PARTS = tuple(f"EXTRACT({part.upper()} FROM {{c}})" for part in dates._PARTS)
_UNITS_OF_TIME = tuple(f"DATE_TRUNC('{unit}', {{c}})" for unit in dates._TRUNCATIONS)
KEYS: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("{c}", "CAST({c} AS INTEGER)", "{c} AND {bool}", "{c} IS NULL", "CASE WHEN {c} THEN 1 ELSE 0 END"),
    Kind.INTEGER: (
        "{c}", "{c} // 3", "({c} // 2) * 2", "{c} % 4", "FLOOR({c} / 2)", "-{c}", "ABS({c})", "LEAST({c}, 3)",
        "{c} + 1", "{c} + 0.5", "CAST({c} AS DOUBLE)", "COALESCE({c}, 0)", "NULLIF({c}, 2)", "SIGN({c})", "{c} = 1",
        "{c} * 1000000",
        "CASE WHEN {c} < 3 THEN 'low' WHEN {c} < 7 THEN 'mid' ELSE 'high' END", "CASE WHEN {bool} THEN {c} ELSE 0 END",
        "CAST({c} AS TINYINT)", "CASE WHEN {c} < 5 THEN 0.5 ELSE 1.25 END", "{c} * 0 + 1", "{c} - {c}",
        "GREATEST({c}, 2)",
    ),
    Kind.DOUBLE: (
        "FLOOR({c} / {step})", "FLOOR({c} / {step}) * {step}", "{c} > {middle}", "CASE WHEN {c} > {middle} THEN 1 END",
        "TRUNC({c} / {step})", "SIGN({c})", "CAST({c} / {step} AS INTEGER)", "ROUND({c} / {step})",
        "CASE WHEN {c} < {middle} THEN 'low' WHEN {bool} THEN 'high' END",
    ),
    Kind.DECIMAL: (
        "CAST({c} / {step} AS INTEGER)", "CEIL({c} / {step})", "{c} > {middle}", "CAST({c} / {step} AS DECIMAL(4, 1))",
        "FLOOR({c} / {step})",
    ),
    Kind.TEXT: (
        "{c}", "LOWER({c})", "UPPER({c})", "LEFT({c}, 1)", "RIGHT({c}, 1)", "COALESCE({c}, 'none')", "{c} = 'A'",
        "TRIM({c})",
        "CASE WHEN {bool} THEN {c} END", "SUBSTRING({c}, 1, 2)", "{c} IS NULL", "NULLIF({c}, 'A')", "LENGTH({c})",
    ),
    Kind.DATE: (
        "{c}", "YEAR({c})", "STRFTIME({c}, '%Y-%m')", "{c} + 1", "CAST({c} AS TIMESTAMP)", "{c} - {c}",
        "DATE_DIFF('month', {c}, DATE '2020-01-01')", "DATE_DIFF('year', {c}, DATE '2020-01-01')", "DAYOFWEEK({c})",
        "CASE WHEN {c} < DATE '2020-02-01' THEN {c} END", *_PARTS, *_UNITS_OF_TIME,
    ),
    Kind.TIMESTAMP: (
        "CAST({c} AS DATE)", "HOUR({c})", "STRFTIME({c}, '%d %H')", "DATE_TRUNC('day', {c})", "DATE_TRUNC('hour', {c})",
        "DATE_TRUNC('minute', CASE WHEN {c} < TIMESTAMP '2020-01-01 02:00:00' THEN {c} END)", *_PARTS, *_UNITS_OF_TIME,
    ),
}  # fmt: skip
"""Group keys over a column {c} that has bounds or keys, by its kind: see `_about`."""
_KINDS_OF_KEYS = tuple(kind for kind, templates in KEYS.items() for _ in range(len(templates) // 5))
_FILTERS: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    Kind.BOOLEAN: (("{c}", "NOT {c}", "{c} IS NULL"), ("{c} = TRUE", "{c} IS DISTINCT FROM TRUE")),
    Kind.INTEGER: (
        ("{c} < {middle}", "{c} >= {middle}", "{c} IS NULL"), ("{c} = 1", "{c} IN (2, 3)", "{c} NOT IN (1, 2)"),
        ("{c} > 1", "{c} > {step} + 1", "{c} > {middle}"), ("{c} % 2 = 0", "{c} % 2 = 1"),
    ),
    Kind.DOUBLE: (("{c} < {middle}", "{c} >= {middle}"), ("{c} > 0", "{c} > {middle}")),
    Kind.DECIMAL: (("{c} BETWEEN 0 AND {middle}", "{c} > {middle}", "{c} < 0"), ("{c} > 0", "{c} > {middle}")),
    Kind.TEXT: (("{c} = 'A'", "{c} = 'b'", "{c} IS NULL"), ("{c} = 'A'", "{c} <> 'b'")),
    Kind.DATE: (("{c} < DATE '2020-01-15'", "{c} >= DATE '2020-01-15'"), ("YEAR({c}) = 2019", "YEAR({c}) = 2020")),
}  # fmt: skip
"""Conditions on one column, of which the first families' are disjoint, and others' overlap."""
_CLIPS = (
    "LEAST(GREATEST({}, -5), 20)", "LEAST(GREATEST({}, 100), 110)", "GREATEST(LEAST({}, 1e4), -50)",
    "CLIP({}, -2.5, 60)", "{}",
)  # fmt: skip
_OTHER_NAMES = ("VAR_SAMP", "STDDEV_SAMP", "MEAN", "VAR", "STD", "COUNTIF", "COUNT_STAR", "QUANTILE", "APPROX_QUANTILE")
NAMES = (*(name.upper() for name in aggregates.found()), *_OTHER_NAMES)
"""Aggregates as analysts call them."""
_FRACTIONS = {
    "MEDIAN": "", "QUANTILE_CONT": ", 0.9", "QUANTILE_DISC": ", [0.25, 0.75]", "QUANTILE": ", 0.1",
    "APPROX_QUANTILE": ", 0.5",
}  # fmt: skip
"""What stands behind the argument of quantiles, which aren't asked for of distinct values."""
_CALLS = tuple((name, how) for name in (*["COUNT"] * 5, "SUM", "AVG", *NAMES) for how in ("", "", "DISTINCT", "FILTER"))
_PLAIN_CALLS = tuple((name, how) for name in ("COUNT", "SUM", "AVG", "COUNT") for how in ("", "", "DISTINCT", "FILTER"))
_SUMS = tuple(template for kind in ("int", "dbl", "dec") for template in TEMPLATES[kind])
_COUNTED = tuple(template for kind in ("bool", "text", "date", "ts") for template in TEMPLATES[kind])
_TRUTHS = TEMPLATES["bool"]
_DEPTHS = (0, 0, 1)
_TAILS = (
    "", "", "", "", " HAVING COUNT(*) > 3", " ORDER BY 1 DESC LIMIT 2", " ORDER BY a0, 1 OFFSET 1", " HAVING a0 > 3",
    " QUALIFY RANK() OVER (ORDER BY a0) < 3",
)  # fmt: skip


_PLAIN_NAMES = {"VAR": "VAR_SAMP", "STD": "STDDEV_SAMP"}
"""Names of aggregates that DuckDB doesn't know."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate call: COUNT with no argument counts rows."""

    function: str
    argument: str | None = None
    filter: str | None = None
    distinct: bool = False

    def sql(self, plain: bool = False) -> str:
        """As sent; or, `plain`, as DuckDB is asked: NaN counts as NULL, infinities too where numbers are added."""
        argument = "*" if self.argument is None else self.argument
        if plain and self.argument is not None and not self.function.endswith("IF"):
            counted = f"TRY_CAST({argument} AS DOUBLE) IS DISTINCT FROM 'NaN'"
            added = f"ISFINITE(TRY_CAST({argument} AS DOUBLE))"
            argument = f"CASE WHEN {counted if self.function == 'COUNT' else added} THEN {argument} END"
        condition = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        function = _PLAIN_NAMES.get(self.function, self.function) if plain else self.function
        return f"{function}({'DISTINCT ' * self.distinct}{argument}){condition}"


@dataclass(frozen=True, slots=True)
class Statement:
    """SELECT keys, aggregates FROM source WHERE … GROUP BY keys, and what is done with its rows.

    start     what stands before SELECT: its WITH clause
    tail      what comes after GROUP BY
    grouping  how GROUP BY names the keys: expressions, aliases, ordinals, all

    As DuckDB is asked, `plain`, a cast that doesn't fit gives NULL and FLOAT is DOUBLE: both documented.
    """

    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    where: str | None = None
    source: str = "t"
    start: str = ""
    tail: str = ""
    grouping: str = "expressions"

    def sql(self, plain: bool = False) -> str:
        items = [f"{key} AS g{i}" for i, key in enumerate(self.keys)]
        items += [f"{call.sql(plain)} AS a{i}" for i, call in enumerate(self.aggregates)]
        where = "" if self.where is None else f" WHERE {self.where}"
        named = {
            "expressions": self.keys,
            "aliases": tuple(f"g{i}" for i in range(len(self.keys))),
            "ordinals": tuple(str(i + 1) for i in range(len(self.keys))),
            "all": ("ALL",),
        }
        group = " GROUP BY " + ", ".join(named[self.grouping]) if self.keys else ""
        text = f"{self.start}SELECT {', '.join(items)} FROM {self.source}{where}{group}{'' if plain else self.tail}"
        if not plain:
            return text
        return re.sub(r"(?<!TRY_)CAST\(", "TRY_CAST(", text).replace(" AS FLOAT)", " AS DOUBLE)")


class Statements:
    """Writes statements over a policy's tables.

    private  groups are by columns without declared keys too, where the policy grants δ
    plain    statements whose answer can be compared with DuckDB's, whose expressions are simple
    """

    def __init__(
        self, random: Random, policy: Policy, public: Mapping[str, Mapping[str, Column]], *, private: bool = False,
        plain: bool = False,
    ) -> None:  # fmt: skip
        self.random, self.policy, self.public = random, policy, public
        self.private, self.plain = private, plain

    def statement(self, table: str | None = None) -> Statement:
        """An aggregation of private rows; where a table is given, it is read."""
        relations = Relations(self.random, self.policy, self.public, plain=self.plain)
        read = table or relations.pick(list(relations.private))
        relations.rowwise = relations.private[read].unit == "row"
        depth = relations.pick((0, 0, 1, 1, 2, 3))
        rows = relations.scope(depth, read if table is not None or depth == 0 else None)
        keys = self._keys(relations, rows)
        filters = self._filters(relations, rows) if not self.plain and relations.chance(0.15) else ()
        number = relations.pick((2, 3, 4) if filters else (1, 2, 3, 4))
        calls = tuple(self._call(relations, rows, filters) for _ in range(number))
        where = relations.where(rows, 2)
        tail = "" if self.plain else relations.pick(_TAILS)
        grouping = relations.pick(("expressions", "aliases", "ordinals", "all"))
        return Statement(tuple(keys), calls, where, rows.sql, relations.start, tail, grouping)

    def simple(self, table: str) -> Iterator[str]:
        """One statement for each plain use of a table: what every analyst asks first."""
        relations = Relations(self.random, self.policy, self.public)
        declared = relations.private[table]
        read = relations.written(declared.name)
        numbers = [c for c in declared.columns.values() if c.bounds is not None and c.type.kind in NUMBERS]
        yield f"SELECT COUNT(*) FROM {read}"
        for column in numbers:
            name = relations.written(column.name)
            for call in ("SUM", "AVG", "COUNT", "VARIANCE", "MEDIAN", "MAX"):
                yield f"SELECT {call}({name}) FROM {read}"
        for key in declared.columns.values():
            if key.keys is not None or key.type.kind is Kind.BOOLEAN:
                name = relations.written(key.name)
                sums = "".join(f", SUM({relations.written(c.name)})" for c in numbers[:2] if c is not key)
                yield f"SELECT {name}, COUNT(*){sums} FROM {read} GROUP BY {name}"

    # ------------------------------------------------------------------------------------------ keys

    def _keys(self, relations: Relations, rows: Scope) -> list[str]:
        choices = [(c, use) for c, use in rows.columns.items() if use.role not in (UNIT, PERHAPS)]
        declared = [(c, u) for c, u in choices if u.column is not None and (u.column.bounds or u.column.keys or u.few)]
        keys: list[str] = []
        if self.private:
            known = {c for c, _ in declared}
            found = [c for c, u in choices if u.kind in (Kind.TEXT, Kind.INTEGER, Kind.DATE) and c not in known]
            keys += self.random.sample(found, min(len(found), relations.pick((1, 1, 1, 2))))
        for _ in range(relations.pick((0, 1, 1, 2, 2)) if not keys else relations.pick((0, 0, 1))):
            if declared:
                kind = relations.pick(_KINDS_OF_KEYS)
                of_kind = [(c, use) for c, use in declared if use.kind is kind]
                keys.append(self._key(relations, rows, *relations.pick(of_kind or declared)))
            elif few := [c for c, use in choices if use.few]:
                keys.append(relations.pick(few))
        if not keys and relations.chance(0.1):
            keys.append(relations.condition(rows, 0))
        return list(dict.fromkeys(keys))

    def _key(self, relations: Relations, rows: Scope, column: str, use: Use) -> str:
        templates = KEYS[use.kind]
        template = templates[0] if use.few and relations.chance(0.4) else relations.pick(templates)
        return relations.expressions(rows).fill(_about(template, column, use), 1)

    # ------------------------------------------------------------------------------------------ aggregates

    def _filters(self, relations: Relations, rows: Scope) -> tuple[str, ...]:
        """Conditions that calls are counted under together; none where no column is of a kind that has them."""
        found = [(column, use) for column, use in rows.columns.items() if use.kind in _FILTERS]
        if not found:
            return ()
        column, use = relations.pick(found)
        return tuple(_about(each, column, use) for each in relations.pick(_FILTERS[use.kind]))

    def _call(self, relations: Relations, rows: Scope, filters: tuple[str, ...]) -> Aggregate:
        """A call; where there are `filters`, mostly under one of these."""
        name, how = relations.pick(_PLAIN_CALLS if self.plain else _CALLS)
        argument = self._argument(relations, rows, name, distinct=how == "DISTINCT")
        condition = relations.condition(rows, 0) if how == "FILTER" else None
        if filters and relations.chance(0.8):
            condition = relations.pick(filters)
        if name in _FRACTIONS:
            return Aggregate(name, f"{argument}{_FRACTIONS[name]}", condition)
        return Aggregate(name, argument, condition, how == "DISTINCT" and bool(argument))

    def _argument(self, relations: Relations, rows: Scope, name: str, *, distinct: bool) -> str | None:
        units = rows.of(UNIT, PERHAPS)
        if self.plain:
            return self._plain_argument(relations, rows, name, units, distinct=distinct)
        expressions = relations.expressions(rows)
        if name == "COUNT_STAR":
            return ""
        if name in ("COUNT_IF", "COUNTIF"):
            return expressions.fill(self._template(relations, rows, _TRUTHS), 1)
        if name == "COUNT":
            columns = list(rows.columns)
            counted: list[str | None] = [None] if not distinct else []
            counted += [expressions.fill(self._template(relations, rows, _COUNTED), relations.pick(_DEPTHS))] * 5
            counted += [relations.pick(units)] * 2 if units else []
            counted += [relations.pick(columns), ", ".join(self.random.sample(columns, min(2, len(columns))))]
            return relations.pick(counted)
        plain = relations.chance(0.4)
        number = self._number(relations, rows) if plain else expressions.fill(self._template(relations, rows, _SUMS), 1)
        return number if plain and relations.chance(0.7) else relations.pick(_CLIPS).format(f"({number})")

    def _template(self, relations: Relations, rows: Scope, templates: tuple[str, ...]) -> str:
        """A template; rather one for which there are columns of all kinds than one that constants fill."""
        template = relations.pick(templates)
        for _ in range(4):
            if all(rows.kinds(kind) for kind, slot in SLOTS.items() if f"{{{slot}}}" in template):
                break
            template = relations.pick(templates)
        return template

    def _plain_argument(
        self, relations: Relations, rows: Scope, name: str, units: list[str], *, distinct: bool
    ) -> str | None:
        if name == "COUNT":
            counted = [*rows.kinds(*Kind), *(units if distinct else ())]
            everything: list[str | None] = [*counted, *[None] * (not distinct)]
            return relations.pick(everything or [None])
        number = self._number(relations, rows)
        return relations.pick(("{}", "{}", "{} + 1", "COALESCE({}, 3)", "LEAST({}, 7)")).format(number)

    def _number(self, relations: Relations, rows: Scope) -> str:
        """A column with bounds as it stands, where there is one."""
        found = [c for c in rows.kinds(*NUMBERS) if (u := rows.columns[c].column) is not None and u.bounds is not None]
        return relations.pick(found or rows.kinds(*NUMBERS) or ["1"])


def _about(template: str, column: str, use: Use) -> str:
    """A template with a column {c} filled in: {step} is a fifth of how wide its bounds are, {middle} lies in them."""
    low, high = (use.column and use.column.bounds) or (Fraction(0), Fraction(10))
    step, middle = "2", "5"
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        step = str(max(1, int((high - low) / 5)))
        middle = str(int((high + low) / 2))
    return template.replace("{c}", column).replace("{step}", step).replace("{middle}", middle)
