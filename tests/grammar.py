"""A grammar of statements over one table: everything that the allow-list over private rows holds.

`productions()` are templates whose slots are filled with columns, literals or further productions. Whether they cover
every node class of `dpsql.expressions.supported()` is itself a test, so a new handler needs a production here.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from hypothesis import strategies as st

from dpsql import aggregates
from dpsql.audit.expressions import LITERALS, TEMPLATES, Expressions
from dpsql.audit.statements import Aggregate, Statement
from dpsql.expressions import dates

TABLES = """  t:
    source: t.parquet
    unit: row
    columns:
      n: {type: integer, bounds: [0, 10]}
      m: {type: integer, bounds: [-5, 20], nullable: true}
      s: {type: integer, bounds: [100, 110], nullable: true}
      big: {type: integer, nullable: true}
      k: {type: integer, keys: [3, 1, 2]}
      x: {type: double, bounds: [-1000, 5000], nullable: true}
      y: {type: double, bounds: [100, 110], nullable: true}
      f: {type: double, bounds: [0, 1], grain: 0.125}
      z: {type: double, nullable: true}
      c: {type: "decimal(10,2)", bounds: [0, 100]}
      e: {type: "decimal(18,4)", bounds: [-5, 5], nullable: true}
      b: {type: boolean}
      bn: {type: boolean, nullable: true}
      city: {type: text, keys: [A, b, é, null]}
      tier: {type: text, keys: [Gold, silver]}
      note: {type: text, nullable: true}
      d: {type: date, bounds: [2019-12-15, 2020-03-10]}
      dn: {type: date, nullable: true}
      ts: {type: timestamp, bounds: ["2020-01-01 00:00:00", "2020-01-03 12:00:00"], nullable: true}
      tn: {type: timestamp, nullable: true}
"""

TYPES = {
    "t": {
        "n": "BIGINT", "m": "SMALLINT", "s": "UTINYINT", "big": "BIGINT", "k": "TINYINT", "x": "DOUBLE",
        "y": "DOUBLE", "f": "FLOAT", "z": "DOUBLE", "c": "DECIMAL(38,2)", "e": "DECIMAL(18,4)", "b": "BOOLEAN",
        "bn": "BOOLEAN", "city": "VARCHAR", "tier": "VARCHAR", "note": "VARCHAR", "d": "DATE", "dn": "DATE",
        "ts": "TIMESTAMP", "tn": "TIMESTAMP",
    }
}  # fmt: skip
COLUMNS = tuple(TYPES["t"])


def _quoted(*texts: str) -> tuple[str, ...]:
    return tuple("'" + t.replace("'", "''") + "'" for t in texts)


def _typed(kind: str, *texts: str) -> tuple[str, ...]:
    return tuple(f"'{t}'::{kind}" for t in texts)


_DOUBLES = _typed(
    "DOUBLE", "NaN", "Infinity", "-Infinity", "0.0", "-0.0", "1e308", "-1e308", "1.7976931348623157e308", "5e-324",
    "105.5", "99.999", "-1000", "5000", "0.5", "9007199254740993",
)  # fmt: skip
EXTREMES: dict[str, tuple[str, ...]] = {
    "BIGINT": ("NULL", "0", "1", "-1", "5", "9223372036854775807", "(-9223372036854775807 - 1)", "1000000"),
    "SMALLINT": ("NULL", "0", "7", "-5", "32767", "-32768"),
    "UTINYINT": ("NULL", "0", "100", "105", "110", "255"),
    "TINYINT": ("NULL", "0", "1", "2", "3", "127", "-128"),
    "DOUBLE": ("NULL", *_DOUBLES),
    "FLOAT": ("NULL", *_typed("FLOAT", "NaN", "Infinity", "-Infinity", "0.0", "-0.0", "3.4e38", "1e-45", "0.3", "1")),
    "DECIMAL(38,2)": ("NULL", "0", "50.25", "-0.01", "100.00", "9" * 36 + ".99", "-" + "9" * 36 + ".99"),
    "DECIMAL(18,4)": ("NULL", "0", "1.2345", "-5", "99999999999999.9999", "-99999999999999.9999"),
    "BOOLEAN": ("NULL", "TRUE", "FALSE"),
    "VARCHAR": (
        "NULL", *_quoted("", "A", "a", "A ", "b", "é", "e\u0301", "7", "-3.5", "1e400", "2020-01-05", "NaN", "inf",
                         "9223372036854775808", "0001-01-01", "infinity", "\u0130\u212a\u00df", "it's"),
        "repeat('x', 100000)", "chr(0)", "repeat('9', 5000)",
    ),
    "DATE": ("NULL", *_typed("DATE", "2020-01-05", "0001-01-01", "9999-12-31", "5881580-07-10", "infinity",
                             "-infinity", "5877642-06-25 (BC)", "1970-01-01", "275810-09-14")),
    "TIMESTAMP": ("NULL", *_typed("TIMESTAMP", "2020-01-01 03:00:00", "infinity", "-infinity", "0001-01-01",
                                  "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00",
                                  "9999-12-31 23:59:59.999999", "2020-01-03 11:59:59.999999")),
}  # fmt: skip

WITHIN: dict[str, tuple[str, ...]] = {
    "n": tuple(map(str, range(11))), "m": ("NULL", "-5", "0", "3", "20", "1"), "s": ("NULL", "100", "105", "110"),
    "big": ("NULL", "3", "-7", "1000000007"), "k": ("1", "2", "3"),
    "x": ("NULL", "-1000", "0", "3.7", "5000", "1234.5"), "y": ("NULL", "100", "105.25", "110"),
    "f": ("0", "0.125", "0.5", "1"), "z": ("NULL", "1.5", "-2.25", "1e10"), "c": ("0", "0.01", "99.99", "100", "12.5"),
    "e": ("NULL", "-5", "0.0001", "4.5", "5"), "b": ("TRUE", "FALSE"), "bn": ("TRUE", "FALSE", "NULL"),
    "city": ("'A'", "'b'", "'é'", "NULL"),
    "tier": ("'Gold'", "'silver'"), "note": ("NULL", "''", "'abc'", "'7'", "'2020-02-02'", "'Zé'"),
    "d": ("DATE '2019-12-15'", "DATE '2020-01-31'", "DATE '2020-03-10'"),
    "dn": ("NULL", "DATE '2020-02-29'", "DATE '1999-12-31'"),
    "ts": ("NULL", "TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '2020-01-02 13:45:10'"),
    "tn": ("NULL", "TIMESTAMP '2021-05-05 05:05:05.5'"),
}  # fmt: skip
"""Values that no bound exceeds, with NULL where it is declared."""

LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("n", "m", "s", "k", "n", "m", "big"),
    "dbl": ("x", "y", "f", "x", "y", "z"),
    "dec": ("c", "e"),
    "bool": ("b", "bn"),
    "text": ("city", "tier", "note"),
    "date": ("d", "d", "dn"),
    "ts": ("ts", "ts", "tn"),
    **LITERALS,
}
KEYS = (
    "k", "n", "m", "b", "bn", "city", "d", "s", "n // 3", "(n // 2) * 2", "n % 4", "FLOOR(n / 2)", "FLOOR(x / 1000)",
    "FLOOR(x / 1000) * 1000", "CASE WHEN n < 3 THEN 'low' WHEN n < 7 THEN 'mid' ELSE 'high' END", "x > 100",
    "CASE WHEN x > 100 THEN 1 END", "CASE WHEN n < 3 THEN 'low' WHEN bn THEN tier END", "EXTRACT(MONTH FROM d)",
    "YEAR(d)", "DATE_TRUNC('month', d)",
    "DATE_TRUNC('week', d)", "DATE_TRUNC('day', ts)", "DATE_TRUNC('hour', ts)", "HOUR(ts)", "LOWER(tier)", "tier",
    "COALESCE(city, 'none')", "NULLIF(k, 2)", "m + 1", "-n", "b AND bn", "city = 'A'", "ROUND(y)", "CAST(y AS INTEGER)",
    "CAST(c AS INTEGER)", "c * 0 + n", "CAST(n AS DOUBLE)", "n + 0.5", "CASE WHEN bn THEN k ELSE 0 END", "d - d",
    "DATE_DIFF('month', d, DATE '2020-01-01')", "CAST(ts AS DATE)", "d + 1", "CAST(b AS INTEGER)", "bn IS NULL",
    "ABS(m)", "COALESCE(m, 0)", "LEAST(n, 3)", "n * 1000000", "DAYOFWEEK(d)", "k = 1", "LEFT(tier, 1)", "SIGN(x)",
    "STRFTIME(d, '%Y-%m')", "STRFTIME(ts, '%d %H')",
    "CAST(d AS TIMESTAMP)", "DATE_TRUNC('quarter', d)", "DATE_TRUNC('year', ts)", "TRUNC(x / 500)",
    "CAST(e AS DECIMAL(4, 1))", "CAST(k AS TINYINT)", "CASE WHEN n < 5 THEN 0.5 ELSE 1.25 END",
    "DATE_TRUNC('minute', CASE WHEN ts < TIMESTAMP '2020-01-01 02:00:00' THEN ts END)", "CEIL(c / 10)", "UPPER(tier)",
    *(f"EXTRACT({part.upper()} FROM {'ts' if part in ('hour', 'minute', 'second') else 'd'})" for part in dates._PARTS),
)  # fmt: skip

PRODUCTIONS = TEMPLATES
CHOICES = {
    "median": "{}", "quantile_cont": "{}, 0.9", "quantile_disc": "{}, [0.25, 0.75]", "min": "{}", "max": "DISTINCT {}",
}  # fmt: skip
"""What is answered by one of the values, with what stands in its brackets."""
AGGREGATES = tuple(name.upper() for name in aggregates.found() if name not in CHOICES)


def expression(random: Random, kind: str, depth: int) -> str:
    """A random expression; parenthesised unless it is a leaf."""
    return Expressions(random, LEAVES).expression(kind, depth)


def fill(random: Random, template: str, depth: int) -> str:
    return Expressions(random, LEAVES).fill(template, depth)


def statement(random: Random, *, tails: bool = True, choices: bool = True) -> Statement:
    """A random statement; most are accepted. With `choices` it may ask for quantiles, the smallest and the greatest."""
    depth = random.choice((0, 1, 1, 2, 2, 3))
    keys = tuple(random.sample(KEYS, random.choice((0, 0, 1, 1, 1, 2))))
    if len(keys) == 1 and random.random() < 0.2:
        keys = (expression(random, "bool", depth),)
    shared = expression(random, "num", depth)
    calls = tuple(_aggregate(random, depth, shared, choices) for _ in range(random.choice((1, 1, 2, 3))))
    where = expression(random, "bool", depth) if random.random() < 0.5 else None
    source, start = "t", ""
    if random.random() < 0.3:
        inner = f"SELECT *, {expression(random, 'num', 1)} AS q FROM t WHERE {expression(random, 'bool', 1)}"
        source, start = random.choice(((f"({inner}) AS u", ""), ("u", f"WITH u AS ({inner}) ")))
        calls += (Aggregate("SUM", "LEAST(GREATEST(q, 0), 10)"),)
    tail = random.choice(("", "", " HAVING a0 > 3", " ORDER BY a0 DESC", " ORDER BY 1 LIMIT 2", " QUALIFY RANK() OVER "
                          "(ORDER BY a0) < 3")) if tails else ""  # fmt: skip
    return Statement(keys, calls, where, source, start, tail)


def _aggregate(random: Random, depth: int, shared: str, choices: bool) -> Aggregate:
    condition = expression(random, "bool", depth) if random.random() < 0.25 else None
    function = random.choice(("COUNT", "SUM", "AVG", "COUNT", "SUM", *AGGREGATES))
    distinct = random.random() < 0.2
    if function == "COUNT":
        argument = random.choice((None, shared, expression(random, "any", depth)))
        return Aggregate("COUNT", argument, condition, distinct and argument is not None)
    argument = random.choice((shared, expression(random, "num", depth)))
    if random.random() < 0.5:
        argument = (
            f"LEAST(GREATEST({argument}, {random.choice(('0', '-2.5', '100'))}), {random.choice(('110', '1e6'))})"
        )
    if choices and random.random() < 0.2:
        function, written = random.choice(list(CHOICES.items()))
        dates = random.random() < 0.2
        argument = written.format(expression(random, random.choice(("date", "ts")), depth) if dates else argument)
        return Aggregate(function.upper(), argument, condition)
    return Aggregate(function, argument, condition, distinct)


# ---------------------------------------------------------------------------------------------- pieces

Piece = tuple[str, str]
"""A result type and a template of that type."""
PIECES: tuple[Piece, ...] = tuple((kind, template) for kind, found in PRODUCTIONS.items() for template in found)
_NUMBERS = ("SUM", "AVG", *AGGREGATES, "VAR_SAMP", "STDDEV_SAMP", "MEAN", "VAR", "STD")
_CLIPS = ("LEAST(GREATEST({}, -5), 20)", "LEAST(GREATEST({}, 100), 110)", "GREATEST(LEAST({}, 1e4), -50)", "{}")
_TOLD = {
    "bool": ("CAST({} AS INTEGER)",),
    "text": ("LEAST(LENGTH({}), 9)", "CASE WHEN {} < 'b' THEN 1 ELSE 0 END"),
    "date": ("LEAST(GREATEST(DATE_DIFF('day', DATE '2020-01-01', {}), -99), 99)", "EXTRACT(DOY FROM {})"),
    "ts": ("LEAST(GREATEST(DATE_DIFF('day', DATE '2020-01-01', {}), -99), 99)", "EXTRACT(HOUR FROM {})"),
}
"""Numbers that tell something of a value of another type."""
_SOURCES = (
    *[("", "t")] * 14, ("", "t AS z"), ("", "(SELECT * FROM t WHERE {bool}) AS z"),
    ("", "(SELECT z.* FROM t AS z WHERE {bool}) AS y"), ("WITH z AS (SELECT * FROM t WHERE {bool}) ", "z"),
    ("WITH z AS (WITH y AS (SELECT * FROM t) SELECT * FROM y) ", "z"),
)  # fmt: skip
"""What stands before SELECT, and what it reads."""


_FEW = (
    "k", "b", "bn", "city", "tier", "EXTRACT(QUARTER FROM d)", "EXTRACT(YEAR FROM d)", "DATE_TRUNC('month', d)",
    "CASE WHEN n < 5 THEN 0.5 ELSE 1.25 END", "CAST(k AS TINYINT)", "NULLIF(k, 2)", "LEAST(n, 3)", "CAST(ts AS DATE)",
)  # fmt: skip
"""Keys of few values, to go with another."""
_KEY_OR_NONE = (*KEYS, *[None] * 20)


def telling_statement(random: Random, size: int) -> Statement:
    """A random statement of `size` templates, each an aggregate's argument; others are keys and conditions."""
    calls = tuple(_telling_call(random, *random.choice(PIECES)) for _ in range(size))
    key = random.choice(_KEY_OR_NONE)
    keys = [] if key is None else [key]
    if random.choice((True, True, False)):
        keys.append(random.choice(_FEW) if random.choice((True, True, False)) else _condition(random))
    where = _condition(random) if random.choice((True, False, False, False)) else None
    start, source = (fill(random, part, 0) for part in random.choice(_SOURCES))
    grouping = random.choice(("expressions", "aliases", "ordinals", "all"))
    return Statement(tuple(dict.fromkeys(keys)), calls, where, source, start, grouping=grouping)


def _condition(random: Random) -> str:
    return fill(random, random.choice(PRODUCTIONS["bool"]), 0)


_WAYS = tuple((name, how) for name in _NUMBERS for how in ("", "", "", "DISTINCT", "FILTER"))
_COUNTING = (("COUNT", ""), ("COUNT", "DISTINCT"), ("COUNT", "FILTER"))
_COUNTING_TRUTHS = (("COUNT_IF", ""), ("COUNTIF", ""), ("COUNT_IF", "FILTER"))


def _telling_call(random: Random, kind: str, template: str) -> Aggregate:
    """An aggregate that tells a template's values apart as well as one can."""
    text = f"({fill(random, template, random.choice((0, 0, 1)))})"
    truths = kind == "bool" and random.choice((True, False))
    counting = not truths and random.choice((True, False, False, False, False))
    function, how = random.choice(_COUNTING_TRUTHS if truths else _COUNTING if counting else _WAYS)
    condition = _condition(random) if how == "FILTER" else None
    distinct = how == "DISTINCT"
    if counting or truths:
        return Aggregate(function, text, condition, distinct)
    number = random.choice(_TOLD[kind]).format(text) if kind in _TOLD else text
    if distinct:  # values closer than a grain count once
        number = f"ROUND({number}, 2)"
    clip = random.choice(_CLIPS[:3] if distinct else _CLIPS)
    return Aggregate(function, clip.format(number), condition, distinct)


def extreme_row(random: Random) -> tuple[str, ...]:
    """A row whose values may be anything that its columns can hold."""
    return tuple(
        random.choice(WITHIN[name] if random.random() < 0.4 else EXTREMES[type_]) for name, type_ in TYPES["t"].items()
    )


def modest_row(random: Random) -> tuple[str, ...]:
    """A row inside every bound."""
    return tuple(random.choice(WITHIN[name]) for name in COLUMNS)


def all_extremes() -> Iterator[tuple[str, ...]]:
    """Rows that together hold every extreme value of every column."""
    for index in range(max(len(values) for values in EXTREMES.values())):
        yield tuple(EXTREMES[type_][index % len(EXTREMES[type_])] for type_ in TYPES["t"].values())


randoms = st.randoms(use_true_random=False)
