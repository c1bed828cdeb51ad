"""Statements over rows of units, far beyond what anyone would write by hand: marks on unions of joins of subqueries.

Most are accepted. Whatever is accepted must hold to its bound, and mean what DuckDB says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

T = TypeVar("T")

# What a column is good for: `unit` names the unit, `other` the unit or NULL; `order` and `line` refer to orders and
# payments, `product` and `nation` to public keys; the rest are values: `few` with few different ones, to group by.
_TABLES = {
    "customer": {"cust": "unit", "nation": "nation", "segment": "text", "balance": "number"},
    "orders": {"id": "order", "cust": "unit", "status": "text", "total": "number", "day": "date", "priority": "few"},
    "item": {"order_id": "order", "product": "product", "qty": "few", "price": "number"},
    "visit": {"cust": "unit", "clinic": "text", "cost": "few"},
    "payment": {"order_id": "order", "line": "line", "amount": "number"},
    "refund": {"order_id": "order", "line": "line", "why": "text", "unit": "few"},
}
_PUBLIC = {
    "product": {"id": "product", "kind": "label", "mass": "free"},
    "nation": {"key": "nation", "name": "label", "region": "label"},
}
_TEXTS = ("'F'", "'O'", "'A'", "'B'", "'X'", "'Y'", "'late'", "'pen'", "'EU'")


@dataclass(slots=True)
class Source:
    """What stands in FROM: its SQL, its name, its columns and what they are good for; has a unit one row at most?"""

    sql: str
    name: str
    columns: dict[str, str]
    single: bool = False

    def of(self, *uses: str) -> list[str]:
        return [column for column, use in self.columns.items() if use in uses]


@dataclass(slots=True)
class Rows:
    """A FROM clause: its columns as they are written."""

    sql: str
    columns: dict[str, str]
    single: bool
    where: list[str] = field(default_factory=list)

    def of(self, *uses: str) -> list[str]:
        return [column for column, use in self.columns.items() if use in uses]


class Grammar:
    """Writes one statement. `keys`: how many group keys it has, which are the first columns of its result.

    `plain`: no group of the rows whose unit is NULL, which dpsql drops and DuckDB shows. `private`: it groups, by up to
    three keys, of which some may have no public values.
    """

    def __init__(self, random: Random, *, plain: bool = False, private: bool = False) -> None:
        self.random, self.plain, self.private = random, plain, private
        self.names = 0
        self.keys = 0
        self.ctes: dict[str, tuple[str, dict[str, str], bool]] = {}

    def statement(self) -> str:
        """An aggregation of rows of units."""
        rows = self._from(self._pick((0, 1, 1, 2, 2, 3)))
        keys = self._keys(rows)
        self.keys = len(keys)
        calls = [self._call(rows) for _ in range(self.random.randint(1, 3))]
        sql = f"SELECT {', '.join([*keys, *calls])} FROM {rows.sql}{self._where(rows, 2)}"
        ctes = [f"{name} AS ({query})" for name, (query, _, _) in self.ctes.items()]
        return (f"WITH {', '.join(ctes)} " if ctes else "") + sql + (f" GROUP BY {', '.join(keys)}" if keys else "")

    def _keys(self, rows: Rows) -> list[str]:
        choices = rows.of("text", "few", "label")
        if self.private:
            found = rows.of("text", "nation", "product")
            first = [self._pick(found)] if found else []
            others = [c for c in choices if c not in first]
            return first + self.random.sample(others, min(len(others), self._pick((0, 0, 1, 2))))
        if not choices or self._chance(0.4):
            return []
        key = self._pick(choices)
        if rows.columns[key] == "few" and self._chance(0.3):
            return [f"CASE WHEN {key} > 3 THEN 1 ELSE 0 END"]
        return [key]

    def _call(self, rows: Rows) -> str:
        numbers, units = rows.of("number", "few"), rows.of("unit", "other")
        options: list[Callable[[], str]] = [lambda: "COUNT(*)"]
        if rows.columns:
            options.append(lambda: f"COUNT({self._pick(self._countable(rows) or ['*'])})")
        if units:
            options.append(lambda: f"COUNT(DISTINCT {self._pick(units)})")
        if numbers:
            options += [lambda: f"SUM({self._number(rows)})", lambda: f"AVG({self._number(rows)})"]
            options.append(lambda: f"COUNT(DISTINCT {self._pick(numbers)})")
        call = self._pick(options)()
        if self._chance(0.2):
            call += f" FILTER (WHERE {self._condition(rows, 0)})"
        return call

    def _countable(self, rows: Rows) -> list[str]:
        return rows.of("text", "few", "number", "date", "product", "order", "label")

    def _number(self, rows: Rows) -> str:
        number = self._pick(rows.of("number", "few"))
        return self._pick((number, number, f"{number} + 1", f"COALESCE({number}, 3)", f"LEAST({number}, 7)"))

    # ------------------------------------------------------------------------------------------ FROM

    def _source(self, depth: int) -> Source:
        if self.ctes and self._chance(0.2):
            name, (_, columns, single) = self._pick(list(self.ctes.items()))
            alias = self._name("w")
            return Source(f"{name} AS {alias}", alias, dict(columns), single)
        if depth <= 0 or self._chance(0.3):
            return self._table()
        make = self._pick((self._selected, self._grouped, self._grouped, self._united, self._distinct))
        return make(depth - 1)

    def _named(self, sql: str, columns: dict[str, str], single: bool) -> Source:
        name = self._name("q")
        if self._chance(0.1):
            columns = {f"c{i}": use for i, use in enumerate(columns.values())}
            return Source(f"({sql}) AS {name}({', '.join(columns)})", name, columns, single)
        if self._chance(0.1):
            self.ctes[cte := self._name("cte")] = sql, columns, single
            return Source(f"{cte} AS {name}", name, columns, single)
        return Source(f"({sql}) AS {name}", name, columns, single)

    def _table(self, table: str | None = None) -> Source:
        table = table or self._pick(list(_TABLES))
        name = self._name("t")
        return Source(f"{table} AS {name}", name, dict(_TABLES[table]), table == "customer")

    def _public(self, table: str) -> Source:
        name, columns = self._name("p"), dict(_PUBLIC[table])
        key = next(iter(columns))
        match self.random.randrange(4):
            case 0:
                renamed = {"k": columns[key], "label": "label"}
                text = list(columns)[1]
                return Source(
                    f"(SELECT {key} AS k, {text} AS label FROM {table} WHERE {key} < 3) AS {name}", name, renamed
                )
            case 1:  # a column that isn't unique under the name of the one that is
                text = list(columns)[1]
                posing = {key: "label", "k": columns[key]}
                return Source(f"(SELECT {text} AS {key}, {key} AS k FROM {table}) AS {name}", name, posing)
        return Source(f"{table} AS {name}", name, columns)

    def _from(self, depth: int) -> Rows:
        first = self._source(depth)
        rows = Rows(first.sql, {f"{first.name}.{c}": use for c, use in first.columns.items()}, first.single)
        for _ in range(self._pick((0, 0, 1, 1, 2))):
            self._join(rows, depth)
        return rows

    def _join(self, rows: Rows, depth: int) -> None:
        """Another source on the unit, along a foreign key, or on a public key."""
        listed = [c for c in rows.columns if c.endswith(".status")]
        if listed and self._chance(0.25):
            name = self._name("r")
            released = f"(SELECT status AS k, COUNT(*) AS n, SUM(total) / 9 AS a FROM orders GROUP BY status) AS {name}"
            other = Source(released, name, {"k": "text", "n": "number", "a": "number"})
            self._written_join(rows, other, [(self._pick(listed), "k")])
            return
        keys = [(c, rows.columns[c]) for c in rows.of("product", "nation")]
        keys += [(c, "nation") for c in rows.of("text") if self._chance(0.2)]  # a key of another type
        if keys and self._chance(0.5):
            column, table = self._pick(keys)
            other = self._public(table)
            same = other.of("label") if rows.columns[column] == "text" else other.of(table)
            pairs = [(column, self._pick(same))]
            single = rows.single
        else:
            other = self._source(depth - 1)
            units, theirs = rows.of("unit", "other"), other.of("unit", "other")
            if units and theirs and (rows.single or other.single or self._chance(0.1)):
                pairs, single = [(self._pick(units), self._pick(theirs))], rows.single and other.single
            else:
                other, single = self._table(self._pick(("orders", "item", "payment", "refund"))), False
                if not (mine := rows.of("order")):
                    return
                pairs = [(self._pick(mine), self._pick(other.of("order")))]
                if rows.of("line") and other.of("line"):
                    pairs.append((self._pick(rows.of("line")), "line"))
        self._written_join(rows, other, pairs)
        rows.single = single

    def _written_join(self, rows: Rows, other: Source, pairs: Sequence[tuple[str, str]]) -> None:
        on = [
            f"{one} = {other.name}.{two}" if self._chance(0.5) else f"{other.name}.{two} = {one}" for one, two in pairs
        ]
        left = self._chance(0.4)
        using = self._using(rows, other, pairs)
        added = {f"{other.name}.{c}": "other" if left and use == "unit" else use for c, use in other.columns.items()}
        both = Rows("", {**rows.columns, **added}, False)
        if using is not None and self._chance(0.5):
            rows.sql += f"{' LEFT' if left else ''} JOIN {other.sql} USING ({using})"
        elif left:
            on += [self._condition(both, 0) for _ in range(self._pick((0, 0, 1)))]
            rows.sql += f" LEFT JOIN {other.sql} ON {' AND '.join(on)}"
        elif self._chance(0.3) and " LEFT JOIN " not in rows.sql:
            rows.sql += f", {other.sql}"
            rows.where += on
        else:
            on += [self._condition(both, 0) for _ in range(self._pick((0, 0, 1)))]
            rows.sql += f" JOIN {other.sql} ON {' AND '.join(on)}"
        rows.columns |= added

    def _using(self, rows: Rows, other: Source, pairs: Sequence[tuple[str, str]]) -> str | None:
        """The column that both sides have in common, where one table alone has it on the left."""
        (one, two), *more = pairs
        name = one.partition(".")[2]
        once = [c for c in rows.columns if c.partition(".")[2] == name]
        return name if not more and name == two and len(once) == 1 and name in other.columns else None

    # ------------------------------------------------------------------------------------------ subqueries

    def _selected(self, depth: int) -> Source:
        rows = self._from(depth)
        columns: dict[str, str] = {}
        items = []
        for column, use in self._some(rows):
            name = self._name("c")
            if use in ("number", "few") and self._chance(0.2):
                column, use = f"COALESCE({column}, 2)", use
            items.append(f"{column} AS {name}")
            columns[name] = use
        sql = f"SELECT {', '.join(items)} FROM {rows.sql}{self._where(rows, depth)}"
        return self._named(sql, columns, rows.single)

    def _grouped(self, depth: int) -> Source:
        rows = self._from(depth)
        units = rows.of("unit") or ([] if self.plain else rows.of("other"))
        if not units:
            return self._table()
        keys = [self._pick(units)]
        others = [c for c in rows.of("text", "few", "other", "unit", "order", "line") if c not in keys]
        again = [c for c in rows.of("other", "unit") if c not in keys]
        if again and self._chance(0.4):
            keys += again
        elif others and self._chance(0.4):
            keys += self.random.sample(others, min(len(others), self.random.randint(1, 2)))
        columns = {self._name("k"): "other" if rows.columns[key] == "unit" and i else rows.columns[key]
                   for i, key in enumerate(keys)}  # fmt: skip
        items = [f"{key} AS {name}" for key, name in zip(keys, columns, strict=True)]
        for _ in range(self.random.randint(0, 2)):
            call, use = self._total(rows)
            columns[self._name("n")] = use
            items.append(f"{call} AS {list(columns)[-1]}")
        having = self._pick(("", "", f" HAVING COUNT(*) > {self.random.randint(0, 1)}"))
        group = ", ".join(keys if self._chance(0.7) else map(str, range(1, len(keys) + 1)))
        sql = f"SELECT {', '.join(items)} FROM {rows.sql}{self._where(rows, depth)} GROUP BY {group}{having}"
        return self._named(sql, columns, len(keys) == 1)

    def _total(self, rows: Rows) -> tuple[str, str]:
        numbers, few = rows.of("number", "few"), rows.of("few")
        options = [("COUNT(*)", "few")]
        if few:
            column = self._pick(few)
            options += [(f"MAX({column})", "few"), (f"MIN({column})", "few"), (f"COUNT(DISTINCT {column})", "few")]
        if numbers:
            column = self._pick(numbers)
            options += [(f"SUM({column})", "number"), (f"AVG({column})", "number"), (f"COUNT({column})", "few")]
            options += [(f"SUM({column}) FILTER (WHERE {self._condition(rows, 0)})", "number")]
        return self._pick(options)

    def _united(self, depth: int) -> Source:
        sides = [self._from(depth) for _ in range(self.random.randint(2, 3))]
        columns: dict[str, str] = {}
        lists: list[list[str]] = [[] for _ in sides]
        shared = ["number", "few", "text"] if self._chance(0.3) else ["unit", "number", "few", "text"]
        for use in shared:
            name = self._name("u")
            columns[name] = use
            for listed, rows in zip(lists, sides, strict=True):
                found = rows.of(use)
                if use == "unit" and (not found or self._chance(0.05)):
                    columns[name] = "other"
                    found = rows.of("order", "few") or ["NULL"]  # a column that isn't the unit in the unit's place
                value = self._pick(found) if found else "NULL"
                listed.append(f"{value} AS {name}" if listed is lists[0] else value)
        selects = [f"SELECT {', '.join(listed)} FROM {rows.sql}{self._where(rows, depth)}"
                   for listed, rows in zip(lists, sides, strict=True)]  # fmt: skip
        return self._named(" UNION ALL ".join(selects), columns, False)

    def _distinct(self, depth: int) -> Source:
        rows = self._from(depth)
        units = rows.of("unit")
        if not units:
            return self._selected(depth)
        chosen = [self._pick(units), *(c for c in rows.of("text", "few") if self._chance(0.2))]
        columns = {self._name("d"): rows.columns[c] for c in chosen}
        items = ", ".join(f"{c} AS {name}" for c, name in zip(chosen, columns, strict=True))
        return self._named(f"SELECT DISTINCT {items} FROM {rows.sql}{self._where(rows, depth)}", columns,
                           len(chosen) == 1)  # fmt: skip

    # ------------------------------------------------------------------------------------------ conditions

    def _where(self, rows: Rows, depth: int) -> str:
        conditions = [*rows.where, *(self._condition(rows, depth) for _ in range(self._pick((0, 0, 1, 1, 2))))]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _condition(self, rows: Rows, depth: int) -> str:
        if depth > 0 and self._chance(0.5):
            make = self._pick((self._in_unit, self._in_public, self._exists, self._exists, self._constant))
            condition = make(rows, depth - 1)
            if self._chance(0.3):
                return f"({condition} OR {self._condition(rows, 0)})"
            return f"NOT {condition}" if self._chance(0.2) else condition
        comparable = rows.of("few", "number")
        texts = rows.of("text", "label")
        options = ["1 = 1"]
        if comparable:
            column = self._pick(comparable)
            options += [f"{column} > {self._pick((1, 2, 4, 100))}", f"{column} IS NOT NULL", f"{column} / 2 <= 3"]
            options += [f"{column} <= {self._pick(comparable)}", f"{column} BETWEEN 1 AND 105"]
        if texts:
            column = self._pick(texts)
            options += [
                f"{column} = {self._pick(_TEXTS)}",
                f"{column} IN ({', '.join(_TEXTS[:4])})",
                f"{column} IS NULL",
            ]
        return self._pick(options)

    def _in_unit(self, rows: Rows, depth: int) -> str:
        other = self._from(depth)
        mine, theirs = rows.of("unit", "other"), other.of("unit", "other")
        if not mine or not theirs:
            return self._condition(rows, 0)
        word = self._pick(("IN", "IN", "NOT IN"))
        column = self._pick(theirs)
        known = f"{' AND ' if other.where else ' WHERE '}{column} IS NOT NULL" if word == "NOT IN" else ""
        written = f"SELECT {column} FROM {other.sql}{self._conjunction(other.where)}{known}"
        return f"{self._pick(mine)} {word} ({written})"

    def _conjunction(self, conditions: Sequence[str]) -> str:
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _in_public(self, rows: Rows, depth: int) -> str:
        del depth
        keys = rows.of("product", "nation")
        if not keys:
            return self._condition(rows, 0)
        column = self._pick(keys)
        table = rows.columns[column]
        key, label = list(_PUBLIC[table])[:2]
        condition = self._pick((f"{label} IN ('pen', 'DE')", f"{key} > 1"))
        return f"{column} {self._pick(('IN', 'NOT IN'))} (SELECT {key} FROM {table} WHERE {condition})"

    def _exists(self, rows: Rows, depth: int) -> str:
        keys = rows.of("product", "nation")
        if keys and self._chance(0.3):
            column = self._pick(keys)
            other = self._public(rows.columns[column])
            on = [f"{other.name}.{self._pick(other.of(rows.columns[column]))} = {column}"]
            both = Rows("", {**rows.columns, **{f"{other.name}.{c}": use for c, use in other.columns.items()}}, False)
            return f"EXISTS (SELECT 1 FROM {other.sql} WHERE {' AND '.join([*on, self._condition(both, 0)])})"
        inner = self._from(depth)
        pairs = [(a, b) for use in ("unit", "order") for a in rows.of(use) for b in inner.of(use)]
        if not pairs:
            return self._condition(rows, 0)
        one, two = self._pick(pairs)
        both = Rows("", {**rows.columns, **inner.columns}, False)
        conditions = [*inner.where, f"{two} = {one}", self._condition(both, 0), self._condition(inner, depth)]
        return f"EXISTS (SELECT * FROM {inner.sql} WHERE {' AND '.join(conditions)})"

    def _constant(self, rows: Rows, depth: int) -> str:
        numbers = rows.of("few", "number")
        if not numbers:
            return self._condition(rows, 0)
        table = self._table(self._pick(("orders", "visit")))
        number = f"{table.name}.{self._pick(table.of('few', 'number'))}"
        value = self._pick((
            f"(SELECT AVG({number}) FROM {table.sql})", f"(SELECT COUNT(*) FROM {table.sql})",
            "(SELECT MIN(id) FROM product)", "(SELECT MAX(key) FROM nation WHERE region = 'EU')",
        ))  # fmt: skip
        return f"{self._pick(numbers)} {self._pick(('>', '<=', '<>'))} {value}"

    # ------------------------------------------------------------------------------------------ choices

    def _some(self, rows: Rows) -> list[tuple[str, str]]:
        kept = [(c, use) for c, use in rows.columns.items() if self._chance(0.7)]
        return kept or list(rows.columns.items())

    def _name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)
