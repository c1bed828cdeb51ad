"""Policies that nobody would write: any number of tables, units, hops, keys, types and bounds."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

from dpsql.policy import Policy, load

T = TypeVar("T")
_NUMBERS = ("a", "b", "n", "x", "amount", "unit", "total", "Größe", "order", "n m", "select")
"""Names of columns: odd ones must work too."""
_TEXTS = ("A", "b", "é", "Gold", "", "it's", "x y")
PUBLIC = {
    "product": ("id,kind,mass\n1,pen,2.5\n2,ink,1\n3,pen,\n", "primary_key: id", ""),
    "nation": ("key,name,region\n1,DE,EU\n2,FR,EU\n3,JP,ASIA\n", "",
               "      key: {type: integer, unique: true}\n      name: {type: text}\n      region: {type: text}\n"),
    "tag": ("product,tag\n1,a\n1,b\n2,c\n", "", ""),
    "price": ("product,day,price\n1,2020-01-05,3\n1,2020-01-06,4\n2,2020-01-05,5\n", "primary_key: [product, day]", ""),
}  # fmt: skip


class World:
    """Writes one policy. The same seed writes the same one."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.delta = self._chance(0.5)
        self.mechanism = Random(f"mechanism of {seed}").choice(("laplace", "laplace", "auto"))

    def policy(self) -> Policy:
        """The policy, loaded from a file that it is written to; the sources of private tables are empty files."""
        directory = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
        (directory / "t.parquet").write_bytes(b"")
        for name, (rows, _, _) in PUBLIC.items():
            (directory / f"{name}.csv").write_text(rows, encoding="utf-8")
        path = directory / "policy.yaml"
        path.write_text(self.text(), encoding="utf-8")
        return load(path)

    def text(self) -> str:
        counts = self._pick(("raw", "clamp"))
        delta = ", delta: 1e-3" if self.delta else ""
        tables = "".join(self._private()) + "".join(self._public())
        return (
            f"dpsql: 1\nengine: duckdb\nprivacy: {{epsilon: 1, min_epsilon: 0.000001, counts: {counts}{delta}, "
            f"mechanism: {self.mechanism}}}\n"
            f"budget: {{epsilon: 1000000{delta}}}\nledger: ledger\ntables:\n{tables}"
        )

    # ------------------------------------------------------------------------------------------ tables

    def _private(self) -> list[str]:
        found = []
        if self._chance(0.6):
            found.append(self._table("readings", "unit: row", []))
        unit = self._pick(("integer", "integer", "text", "date"))
        one = self._chance(0.5)
        if one:
            rows = [f"person: {{type: {unit}, unique: true}}"]
            found.append(self._table("people", "unit: {column: person}", rows))
        for name in self.random.sample(("visits", "claims"), self._pick((0, 1, 2))):
            found.append(self._table(name, f"unit: {{column: person{self._bounds()}}}", [f"person: {{type: {unit}}}"]))
        if not found or self._chance(0.7):
            found += self._chain(unit)
        return found

    def _chain(self, unit: str) -> list[str]:
        """Orders with what refers to them, over one key or two, through up to two hops."""
        id_ = self._pick(("integer", "integer", "text"))
        keyed = f"id: {{type: {id_}}}"
        orders = self._table(
            "orders", f"unit: {{column: person{self._bounds()}}}", [keyed, f"person: {{type: {unit}}}"],
            "primary_key: id",
        )  # fmt: skip
        via = "via: {order_id: orders.id}"
        refers = f"order_id: {{type: {id_}}}"
        items = self._table("items", f"unit: {{{via}{self._bounds()}}}", [refers])
        if self._chance(0.5):
            return [orders, items]
        parts = self._table(
            "parts", f"unit: {{{via}{self._bounds()}}}", [refers, "line: {type: integer}"],
            "primary_key: [order_id, line]",
        )  # fmt: skip
        hop = "via: {order_id: parts.order_id, line: parts.line}"
        returns = self._table("returns", f"unit: {{{hop}{self._bounds()}}}", [refers, "line: {type: integer}"])
        return [orders, items, parts, returns]

    def _bounds(self) -> str:
        rows = self._pick((1, 2, 3, 5, 12))
        groups = self._pick((None, None, 1, 2, 3))
        text = f", max_rows: {rows}"
        if groups is not None:
            text += f", max_groups: {groups}"
            if self._chance(0.6):
                text += f", max_rows_per_key: {self._pick((1, 2, 4))}"
        return text

    def _table(self, name: str, unit: str, links: list[str], key: str = "") -> str:
        taken = {link.split(":")[0] for link in links}
        columns = [*links]
        for name_ in self.random.sample(_NUMBERS, self._pick((2, 4, 6, 8))):
            if name_ not in taken:
                columns.append(f'"{name_}": {{{self._column()}}}')
        if self._chance(0.4) and name != "readings":
            columns.append("product: {type: integer}")
        self.random.shuffle(columns)
        listed = "".join(f"      {column}\n" for column in columns)
        lines = ["source: t.parquet", unit, *[key] * bool(key), "columns:"]
        return f"  {name}:\n" + "".join(f"    {line}\n" for line in lines) + listed

    def _public(self) -> list[str]:
        found = []
        for name, (_, key, columns) in PUBLIC.items():
            lines = ["public: true", *[key] * bool(key), *["columns:\n" + columns.rstrip()] * bool(columns)]
            found.append(f"  {name}:\n    source: {name}.csv\n" + "".join(f"    {line}\n" for line in lines))
        return found

    # ------------------------------------------------------------------------------------------ columns

    def _column(self) -> str:
        make = self._pick((self._integer, self._integer, self._double, self._decimal, self._text, self._text,
                           self._date, self._timestamp, self._boolean))  # fmt: skip
        text = make()
        return text + (", nullable: true" if self._chance(0.4) and "null]" not in text else "")

    def _integer(self) -> str:
        if self._chance(0.3):
            return f"type: integer, keys: [{', '.join(map(str, self.random.sample(range(-3, 9), 3)))}]"
        low, high = self._pick(
            ((0, 10), (0, 10), (-5, 20), (-5, 20), (100, 110), (1, 1), (0, 255), (-(2**62), 2**62), (0, 10**12))
        )
        return self._pick((f"type: integer, bounds: [{low}, {high}]",) * 4 + ("type: integer",))

    def _double(self) -> str:
        bounds = self._pick(("[-1000, 5000]", "[100, 110]", "[0, 1]", "[-1e-3, 1e-3]", "[0, 1e15]", "[-2.5, -1.25]"))
        grain = self._pick(("", "", ", grain: 0.125")) if bounds in ("[0, 1]", "[100, 110]") else ""
        return self._pick((f"type: double, bounds: {bounds}{grain}",) * 4 + ("type: double",))

    def _decimal(self) -> str:
        return self._pick(('type: "decimal(10,2)", bounds: [0, 100]', 'type: "decimal(18,4)", bounds: [-5, 5]',
                           'type: "decimal(38,10)", bounds: [-0.5, 0.25]'))  # fmt: skip

    def _text(self) -> str:
        if self._chance(0.7 if self.delta else 0.3):
            return "type: text"
        keys = [f'"{t}"' for t in self.random.sample(_TEXTS, self._pick((1, 2, 3, 4)))]
        return f"type: text, keys: [{', '.join(keys + ['null'] * self._chance(0.3))}]"

    def _date(self) -> str:
        bounds = self._pick(
            ("[2019-12-15, 2020-03-10]",) * 3 + ("[2020-02-29, 2020-02-29]", "[0001-01-01, 9999-12-31]")
        )
        return self._pick((f"type: date, bounds: {bounds}",) * 4 + ("type: date",))

    def _timestamp(self) -> str:
        bounds = '["2020-01-01 00:00:00", "2020-01-03 12:00:00"]'
        return self._pick((f"type: timestamp, bounds: {bounds}",) * 4 + ("type: timestamp",))

    def _boolean(self) -> str:
        return "type: boolean"

    # ------------------------------------------------------------------------------------------ choices

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)
