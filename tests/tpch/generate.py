"""Data in the shape of TPC-H: `python -m tests.tpch.generate DIRECTORY [--scale 0.01] [--seed 11]`.

Writes DIRECTORY/tpch.duckdb, which `config/tpch.yaml` reads. Keys, domains and distributions are those of the
specification (TPC-H 3.0, clause 4.2.3) as far as the 22 queries look at them; the text of comments and addresses is
shorter. It is not dbgen's data: answers differ from the published ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.random import Generator

Columns = Mapping[str, np.ndarray]

SEED = 11
"""With this one each of the 22 queries finds something, also at scale 0.01."""

TABLES = {
    "region": "r_regionkey INTEGER PRIMARY KEY, r_name VARCHAR NOT NULL, r_comment VARCHAR",
    "nation": "n_nationkey INTEGER PRIMARY KEY, n_name VARCHAR NOT NULL, n_regionkey INTEGER NOT NULL, "
    "n_comment VARCHAR",
    "part": "p_partkey INTEGER PRIMARY KEY, p_name VARCHAR NOT NULL, p_mfgr VARCHAR NOT NULL, "
    "p_brand VARCHAR NOT NULL, p_type VARCHAR NOT NULL, p_size INTEGER NOT NULL, p_container VARCHAR NOT NULL, "
    "p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR NOT NULL",
    "supplier": "s_suppkey INTEGER PRIMARY KEY, s_name VARCHAR NOT NULL, s_address VARCHAR NOT NULL, "
    "s_nationkey INTEGER NOT NULL, s_phone VARCHAR NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, "
    "s_comment VARCHAR NOT NULL",
    "partsupp": "ps_partkey INTEGER, ps_suppkey INTEGER, ps_availqty INTEGER NOT NULL, "
    "ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey)",
    "customer": "c_custkey INTEGER PRIMARY KEY, c_name VARCHAR NOT NULL, c_address VARCHAR NOT NULL, "
    "c_nationkey INTEGER NOT NULL, c_phone VARCHAR NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, "
    "c_mktsegment VARCHAR NOT NULL, c_comment VARCHAR NOT NULL",
    "orders": "o_orderkey BIGINT PRIMARY KEY, o_custkey INTEGER NOT NULL, o_orderstatus VARCHAR NOT NULL, "
    "o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority VARCHAR NOT NULL, "
    "o_clerk VARCHAR NOT NULL, o_shippriority INTEGER NOT NULL, o_comment VARCHAR NOT NULL",
    "lineitem": "l_orderkey BIGINT, l_partkey INTEGER NOT NULL, l_suppkey INTEGER NOT NULL, l_linenumber INTEGER, "
    "l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, "
    "l_tax DECIMAL(15,2) NOT NULL, l_returnflag VARCHAR NOT NULL, l_linestatus VARCHAR NOT NULL, "
    "l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, "
    "l_shipinstruct VARCHAR NOT NULL, l_shipmode VARCHAR NOT NULL, l_comment VARCHAR NOT NULL, "
    "PRIMARY KEY (l_orderkey, l_linenumber)",
}
"""The tables with the keys that DuckDB enforces."""

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
"""Each nation and its region, in the order of their keys: telephone numbers begin with a nation's key + 10."""
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINERS = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
COLOURS = (
    "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse "
    "chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted "
    "gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen "
    "magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach "
    "peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow "
    "spring steel tan thistle tomato turquoise violet wheat white yellow"
).split()
WORDS = (
    "furiously quickly carefully blithely slyly ideas deposits packages accounts instructions theodolites pinto beans "
    "foxes asymptotes platelets dependencies sleep wake haggle nag use boost detect integrate final ironic regular "
    "express bold even silent pending unusual"
).split()

START, LAST_ORDER = np.datetime64("1992-01-01"), np.datetime64("1998-08-02")
CURRENT = np.datetime64("1995-06-17")
"""Lines shipped after this day are open; those received after it can't have been returned."""


# ---------------------------------------------------------------------------------------------- values


def _pick(random: Generator, values: Sequence[str], size: int) -> np.ndarray:
    return np.array(values)[random.integers(len(values), size=size)]


def _joined(*parts: np.ndarray | str) -> np.ndarray:
    """Texts put together, row by row."""
    text = parts[0]
    for part in parts[1:]:
        text = np.char.add(text, part)
    return np.asarray(text)


def _numbered(prefix: str, numbers: np.ndarray) -> np.ndarray:
    return _joined(prefix, np.char.zfill(numbers.astype(str), 9))


def _sentences(random: Generator, size: int) -> np.ndarray:
    """Comments: one of a few thousand sentences each."""
    many = 4000
    pool = _pick(random, WORDS, many)
    for _ in range(3):
        pool = _joined(pool, " ", _pick(random, WORDS, many))
    return pool[random.integers(many, size=size)]


def _mark(random: Generator, comments: np.ndarray, number: int, first: str, second: str) -> np.ndarray:
    """The comments, so many of which hold two words, one after the other."""
    marked = comments.astype(f"<U{comments.dtype.itemsize // 4 + len(first) + len(second) + 2}")
    rows = random.choice(len(comments), number, replace=False)
    marked[rows] = _joined(f"{first} ", comments[rows], f" {second}")
    return marked


def _phones(random: Generator, nations: np.ndarray) -> np.ndarray:
    parts = [random.integers(low, high, len(nations)).astype(str) for low, high in ((100, 1000), (100, 1000))]
    last = random.integers(1000, 10000, len(nations)).astype(str)
    return _joined((nations + 10).astype(str), "-", parts[0], "-", parts[1], "-", last)


def _retail_cents(part: np.ndarray) -> np.ndarray:
    return 90000 + (part // 10) % 20001 + 100 * (part % 1000)


def _supplier_of(part: np.ndarray, which: np.ndarray, suppliers: int) -> np.ndarray:
    """The which-th, 0 to 3, of a part's four suppliers, which are different ones at any scale."""
    return (part + (part - 1) // suppliers + which * (suppliers // 4)) % suppliers + 1


# ---------------------------------------------------------------------------------------------- tables


def _region(random: Generator) -> Columns:
    return {"r_regionkey": np.arange(5), "r_name": np.array(REGIONS), "r_comment": _sentences(random, 5)}


def _nation(random: Generator) -> Columns:
    names, regions = (np.array(column) for column in zip(*NATIONS, strict=True))
    return {"n_nationkey": np.arange(25), "n_name": names, "n_regionkey": regions, "n_comment": _sentences(random, 25)}


def _part(random: Generator, size: int) -> Columns:
    key = np.arange(1, size + 1)
    colours = np.argsort(random.random((size, len(COLOURS))), axis=1)[:, :5]  # five different ones
    name = _joined(*[x for i in range(5) for x in (np.array(COLOURS)[colours[:, i]], " ")][:-1])
    maker, brand = random.integers(1, 6, size).astype(str), random.integers(1, 6, size).astype(str)
    kind = [_pick(random, syllables, size) for syllables in TYPES]
    container = [_pick(random, syllables, size) for syllables in CONTAINERS]
    return {
        "p_partkey": key,
        "p_name": name,
        "p_mfgr": _joined("Manufacturer#", maker),
        "p_brand": _joined("Brand#", maker, brand),
        "p_type": _joined(kind[0], " ", kind[1], " ", kind[2]),
        "p_size": random.integers(1, 51, size),
        "p_container": _joined(container[0], " ", container[1]),
        "p_retailprice": _retail_cents(key),
        "p_comment": _sentences(random, size),
    }


def _supplier(random: Generator, size: int) -> Columns:
    key = np.arange(1, size + 1)
    nation = random.integers(0, 25, size)
    comment = _mark(random, _sentences(random, size), max(1, size // 2000), "Customer", "Complaints")
    return {
        "s_suppkey": key,
        "s_name": _numbered("Supplier#", key),
        "s_address": _sentences(random, size),
        "s_nationkey": nation,
        "s_phone": _phones(random, nation),
        "s_acctbal": random.integers(-99999, 1000000, size),
        "s_comment": comment,
    }


def _partsupp(random: Generator, parts: int, suppliers: int) -> Columns:
    part, which = np.repeat(np.arange(1, parts + 1), 4), np.tile(np.arange(4), parts)
    return {
        "ps_partkey": part,
        "ps_suppkey": _supplier_of(part, which, suppliers),
        "ps_availqty": random.integers(1, 10000, len(part)),
        "ps_supplycost": random.integers(100, 100001, len(part)),
        "ps_comment": _sentences(random, len(part)),
    }


def _customer(random: Generator, size: int) -> Columns:
    key = np.arange(1, size + 1)
    nation = random.integers(0, 25, size)
    return {
        "c_custkey": key,
        "c_name": _numbered("Customer#", key),
        "c_address": _sentences(random, size),
        "c_nationkey": nation,
        "c_phone": _phones(random, nation),
        "c_acctbal": random.integers(-99999, 1000000, size),
        "c_mktsegment": _pick(random, SEGMENTS, size),
        "c_comment": _sentences(random, size),
    }


def _orders_and_lines(random: Generator, customers: int, parts: int, suppliers: int) -> tuple[Columns, Columns]:
    """Ten orders for each customer on average, of which every third has none; one to seven lines for each order."""
    size = customers * 10
    index = np.arange(1, size + 1)
    key = (index // 8) * 32 + index % 8  # eight keys of each 32 are used
    buying = np.array([c for c in range(1, customers + 1) if c % 3])
    day = START + random.integers(0, int((LAST_ORDER - START).astype(int)) + 1, size)
    lines = random.integers(1, 8, size)
    row = np.repeat(np.arange(size), lines)
    number = np.arange(len(row)) - np.repeat(np.cumsum(lines) - lines, lines) + 1
    line, cents, opened = _lines(random, key[row], number, day[row], parts, suppliers)
    total = np.bincount(row, weights=cents, minlength=size).round().astype(np.int64)
    open_lines = np.bincount(row, weights=opened, minlength=size)
    order = {
        "o_orderkey": key,
        "o_custkey": buying[random.integers(len(buying), size=size)],
        "o_orderstatus": np.where(open_lines == 0, "F", np.where(open_lines == lines, "O", "P")),
        "o_totalprice": total,
        "o_orderdate": day,
        "o_orderpriority": _pick(random, PRIORITIES, size),
        "o_clerk": _numbered("Clerk#", random.integers(1, max(2, customers // 150 + 1), size)),
        "o_shippriority": np.zeros(size, dtype=np.int64),
        "o_comment": _mark(random, _sentences(random, size), size // 80, "special", "requests"),
    }
    return order, line


def _lines(
    random: Generator, order: np.ndarray, number: np.ndarray, day: np.ndarray, parts: int, suppliers: int
) -> tuple[Columns, np.ndarray, np.ndarray]:
    """The lines, what each costs in cents with discount and tax, and whether it is open."""
    size = len(order)
    part = random.integers(1, parts + 1, size)
    quantity, discount, tax = (random.integers(low, high, size) for low, high in ((1, 51), (0, 11), (0, 9)))
    price = quantity * _retail_cents(part)
    shipped = day + random.integers(1, 122, size)
    received = shipped + random.integers(1, 31, size)
    columns = {
        "l_orderkey": order,
        "l_partkey": part,
        "l_suppkey": _supplier_of(part, random.integers(0, 4, size), suppliers),
        "l_linenumber": number,
        "l_quantity": quantity * 100,
        "l_extendedprice": price,
        "l_discount": discount,
        "l_tax": tax,
        "l_returnflag": np.where(received <= CURRENT, _pick(random, ("R", "A"), size), "N"),
        "l_linestatus": np.where(shipped > CURRENT, "O", "F"),
        "l_shipdate": shipped,
        "l_commitdate": day + random.integers(30, 91, size),
        "l_receiptdate": received,
        "l_shipinstruct": _pick(random, INSTRUCTIONS, size),
        "l_shipmode": _pick(random, MODES, size),
        "l_comment": _sentences(random, size),
    }
    return columns, price * (100 - discount) * (100 + tax) / 10000, shipped > CURRENT


def tables(scale: float, seed: int) -> dict[str, Columns]:
    """All tables. Columns of decimals are in hundredths. Scale 1 has 150,000 customers; the least is 0.001."""
    if scale < 0.001:
        raise ValueError(f"the scale must be at least 0.001, not {scale}")
    random = np.random.default_rng(seed)
    parts, suppliers, customers = (round(scale * size) for size in (200_000, 10_000, 150_000))
    order, line = _orders_and_lines(random, customers, parts, suppliers)
    return {
        "region": _region(random),
        "nation": _nation(random),
        "part": _part(random, parts),
        "supplier": _supplier(random, suppliers),
        "partsupp": _partsupp(random, parts, suppliers),
        "customer": _customer(random, customers),
        "orders": order,
        "lineitem": line,
    }


# ---------------------------------------------------------------------------------------------- writing


def write(directory: Path, *, scale: float = 0.01, seed: int = SEED) -> Path:
    """Write DIRECTORY/tpch.duckdb, in the place of an older one."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "tpch.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for name, columns in tables(scale, seed).items():
            connection.execute(f"CREATE TABLE {name} ({TABLES[name]})")
            types = {str(row[0]): str(row[1]) for row in connection.execute(f"DESCRIBE {name}").fetchall()}
            connection.register("made", pa.table({column: pa.array(values) for column, values in columns.items()}))
            listed = ", ".join(
                f"(CAST({c} AS DECIMAL(18,2)) / 100)::{t}" if t.startswith("DECIMAL") else f"{c}::{t}"
                for c, t in types.items()
            )
            connection.execute(f"INSERT INTO {name} SELECT {listed} FROM made")
            connection.unregister("made")
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tpch.generate", description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path, help="where tpch.duckdb is written")
    parser.add_argument("--scale", type=float, default=0.01, help="1 has 150,000 customers (default: 0.01)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"the same data for the same seed (default: {SEED})")
    given = parser.parse_args(arguments)
    path = write(given.directory, scale=given.scale, seed=given.seed)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
