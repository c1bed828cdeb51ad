"""README's tables of SQL: what is answered and refused, each example compiled or refused by the product itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import duckdb

import dpsql
from dpsql.policy import Kind
from tests.harness import ForbiddenEngine, ZeroNoise, bench, make_policy
from tests.readme import code, table

Compile = Callable[[str], object]
"""Compiles a statement under a policy, reading no data; raises dpsql.Error where it is refused."""


@dataclass(frozen=True)
class Compilers:
    """Under config/pums.yaml, where each row is a unit, and under config/tpch.yaml, where a customer has many."""

    rows: Compile
    units: Compile


@dataclass(frozen=True)
class Clause:
    """A row of a table of answered SQL: README shows the first example, all are compiled."""

    what: str
    examples: tuple[str, ...]


_Q = "(SELECT race, COUNT(*) AS n FROM people GROUP BY race) AS q"
CLAUSES = (
    Clause("aggregates of a table", ("SELECT COUNT(*), AVG(income) FROM people",)),
    Clause("`WHERE`", ("SELECT COUNT(*) FROM people WHERE age >= 65 AND NOT married",)),
    Clause("`FILTER`", ("SELECT COUNT(*) FILTER (WHERE married) FROM people",)),
    Clause(
        "`GROUP BY` name, number, expression or `ALL`",
        ("SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM people GROUP BY decade",
         "SELECT sex, COUNT(*) FROM people GROUP BY 1", "SELECT sex, COUNT(*) FROM people GROUP BY ALL"),
    ),
    Clause("the groups alone, from the policy, free", ("SELECT DISTINCT race FROM people",)),
    Clause("which columns there are, free", ("SELECT * FROM people WHERE 1 = 0", "SELECT * FROM people LIMIT 0")),
    Clause("`HAVING`, of the noisy numbers", ("SELECT race, COUNT(*) AS n FROM people GROUP BY race HAVING n > 50",)),
    Clause(
        "`ORDER BY`, `LIMIT`, `OFFSET`",
        ("SELECT race, COUNT(*) AS n FROM people GROUP BY race ORDER BY n DESC LIMIT 3",
         "SELECT race, COUNT(*) AS n FROM people GROUP BY race ORDER BY n NULLS LAST LIMIT 3 OFFSET 1",
         "SELECT race, COUNT(*) AS n FROM people GROUP BY race FETCH FIRST 3 ROWS ONLY"),
    ),
    Clause(
        "windows, `QUALIFY`, over the groups",
        ("SELECT race, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY race",
         "SELECT race, COUNT(*) AS n FROM people GROUP BY race QUALIFY RANK() OVER (ORDER BY n DESC) <= 3",
         "SELECT race, RANK() OVER w FROM people GROUP BY race WINDOW w AS (ORDER BY COUNT(*))",
         f"SELECT SUM(n) OVER (ORDER BY race ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM {_Q}",
         "SELECT FIRST_VALUE(population IGNORE NULLS) OVER (ORDER BY state) FROM regions",
         "SELECT LAST_VALUE(population RESPECT NULLS) OVER (ORDER BY state) FROM regions"),
    ),
    Clause(
        "subqueries and CTEs that filter and project",
        ("WITH old AS (SELECT income / 12 AS monthly FROM people WHERE age >= 65) SELECT AVG(monthly) FROM old",
         "SELECT AVG(monthly) FROM (SELECT *, income / 12 AS monthly FROM people) AS q"),
    ),
    Clause(
        "`ROLLUP`, `CUBE`, `GROUPING SETS` of released groups, which adds them up, free",
        (f"SELECT race, SUM(n) FROM {_Q} GROUP BY ROLLUP (race)", f"SELECT race, SUM(n) FROM {_Q} GROUP BY CUBE (race)",
         f"SELECT race, SUM(n) FROM {_Q} GROUP BY GROUPING SETS ((race), ())"),
    ),
    Clause(
        "any SELECT over released subqueries",
        (f"SELECT MEDIAN(n), MAX(n) FROM {_Q}",
         f"SELECT DISTINCT n > 100 FROM {_Q} WHERE n IS NOT NULL AND n BETWEEN 1 AND 300 OR n IN (1, NULL)",
         f"SELECT race, SUM(n) FILTER (WHERE race > 1) FROM {_Q} GROUP BY race HAVING SUM(n) > 3",
         f"SELECT CASE WHEN n > 3 THEN TRUE END, CAST(n AS DECIMAL(10, 2)), (-n + 1) * 2 - n / 3, n // 2 % 3 FROM {_Q}",
         f"SELECT n || ' people', DATE '2020-01-01' + INTERVAL 3 DAY FROM {_Q}",
         f"SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) FROM {_Q}",
         f"SELECT XOR(n, 3) FROM {_Q}",
         "SELECT state FROM regions WHERE state LIKE 'M!%' ESCAPE '!'"),
    ),
    Clause(
        "several releases in a statement, joined",
        ("SELECT 1.0 * a.n / b.n FROM (SELECT COUNT(*) AS n FROM people WHERE married) AS a "
         "CROSS JOIN (SELECT COUNT(*) AS n FROM people) AS b",),
    ),
    Clause(
        "a release as a scalar, `EXISTS`, `IN`, `ANY`, `ALL`",
        ("SELECT race, COUNT(*) / (SELECT COUNT(*) FROM people) AS share FROM people GROUP BY race",
         f"SELECT n FROM {_Q} WHERE n > ANY (SELECT COUNT(*) FROM people GROUP BY sex)",
         f"SELECT n FROM {_Q} WHERE n > ALL (SELECT COUNT(*) FROM people GROUP BY sex)",
         f"SELECT n FROM {_Q} WHERE EXISTS (SELECT 1 FROM regions)"),
    ),
    Clause(
        "a release as a number in a condition on private rows",
        ("SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(income) FROM people)",),
    ),
    Clause(
        "`UNION ALL` of private rows",
        ("SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT educ FROM people) AS q",),
    ),
    Clause(
        "`UNION`, `INTERSECT`, `EXCEPT` of releases",
        ("SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people WHERE married",
         "SELECT region FROM regions EXCEPT SELECT state FROM regions",
         "SELECT region FROM regions INTERSECT SELECT state FROM regions"),
    ),
    Clause(
        "public tables and `VALUES`, also joined with releases",
        (f"SELECT name, n FROM {_Q} JOIN (VALUES (1, 'white'), (2, 'black')) AS v(code, name) ON race = code",
         "SELECT region, MAX(population) FROM regions GROUP BY region", "VALUES (1), (2)"),
    ),
    Clause("an ε for each release", ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM people",)),
    Clause(
        "the interval of a number, or of arithmetic on several",
        ("SELECT AVG(age) AS mean, DP_INTERVAL_LOW(mean), DP_INTERVAL_HIGH(mean, 0.9) FROM people",
         "SELECT SUM(income) / COUNT(*) AS r, DP_INTERVAL_LOW(r) FROM people"),
    ),
    Clause("the plan, free", ("EXPLAIN SELECT COUNT(*) FROM people", "EXPLAIN (FORMAT json) VALUES (1)")),
)  # fmt: skip

_SPENT = "(SELECT o_custkey, SUM(o_totalprice) AS spent FROM orders GROUP BY o_custkey) AS q"
UNIT_CLAUSES = (
    Clause(
        "the rows of a table that reaches its unit through others",
        ("SELECT l_shipmode, COUNT(*), SUM(l_quantity) FROM lineitem GROUP BY l_shipmode",),
    ),
    Clause(
        "how many units; how many different values",
        ("SELECT COUNT(DISTINCT o_custkey), COUNT(DISTINCT o_clerk) FROM orders",
         "SELECT o_orderpriority, COUNT(DISTINCT o_custkey) FROM orders GROUP BY o_orderpriority",
         "SELECT COUNT(DISTINCT k) FROM (SELECT c_custkey AS k FROM customer UNION ALL SELECT o_custkey FROM orders)"),
    ),
    Clause(
        "`JOIN` of private tables on the unit, where one has one row of each",
        ("SELECT c_mktsegment, SUM(o_totalprice) FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY 1",
         "SELECT COUNT(*) FROM customer, orders WHERE c_custkey = o_custkey AND o_totalprice > c_acctbal"),
    ),
    Clause(
        "… and along the foreign key that leads to the unit",
        ("SELECT o_orderstatus, COUNT(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY o_orderstatus",
         "SELECT c_mktsegment, SUM(l_quantity) FROM customer, orders, lineitem "
         "WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY c_mktsegment"),
    ),
    Clause(
        "`JOIN` with a public table on all columns of its key",
        ("SELECT p_brand, SUM(l_quantity) FROM lineitem JOIN part ON p_partkey = l_partkey GROUP BY p_brand",
         "SELECT COUNT(*) FROM lineitem JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey "
         "WHERE ps_supplycost > 500"),
    ),
    Clause(
        "`LEFT JOIN` from the private table whose rows are kept",
        ("SELECT c_mktsegment, COUNT(o_orderkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY 1",
         "SELECT COUNT(p_partkey) FROM lineitem LEFT JOIN part ON p_partkey = l_partkey AND p_size > 10"),
    ),
    Clause(
        "a subquery with one row of each unit: `COUNT`, `SUM`, `AVG`, `MIN`, `MAX`, `HAVING`",
        (f"SELECT AVG(spent) FROM {_SPENT}",
         "SELECT n, COUNT(*) FROM (SELECT o_custkey, COUNT(*) AS n, MAX(o_orderdate) AS last FROM orders "
         "GROUP BY o_custkey HAVING COUNT(*) > 1) AS q WHERE last > DATE '1997-01-01' GROUP BY n",
         "SELECT COUNT(*) FROM (SELECT DISTINCT o_custkey FROM orders) AS q"),
    ),
    Clause(
        "… or of each unit and other columns",
        ("SELECT o_orderstatus, AVG(n) FROM (SELECT o_custkey, o_orderstatus, COUNT(*) AS n FROM orders "
         "GROUP BY o_custkey, o_orderstatus) AS q GROUP BY o_orderstatus",),
    ),
    Clause(
        "… joined on the unit",
        (f"SELECT c_mktsegment, AVG(spent) FROM customer JOIN {_SPENT} ON c_custkey = o_custkey GROUP BY 1",),
    ),
    Clause(
        "`IN`, `EXISTS` and their `NOT` over private tables, on the unit; `EXISTS` also on the foreign key to it",
        ("SELECT COUNT(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
         "SELECT COUNT(*) FROM orders WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey "
         "AND l_commitdate < l_receiptdate)"),
    ),
    Clause(
        "… and over public tables, on any condition",
        ("SELECT SUM(l_quantity) FROM lineitem WHERE l_partkey IN (SELECT p_partkey FROM part WHERE p_size > 40)",
         "SELECT COUNT(*) FROM lineitem WHERE NOT EXISTS (SELECT 1 FROM supplier WHERE s_suppkey = l_suppkey "
         "AND s_acctbal < 0)"),
    ),
    Clause(
        "`JOIN` with the groups of a release, on all of its keys",
        ("SELECT COUNT(*) FROM orders JOIN (SELECT o_orderpriority AS p, AVG(o_totalprice) AS mean FROM orders "
         "GROUP BY p) AS q ON p = o_orderpriority WHERE o_totalprice > 2 * mean",),
    ),
    Clause(
        "keys that aren't public, for a δ",
        ("SELECT o_clerk, COUNT(DISTINCT o_custkey) FROM orders GROUP BY o_clerk",
         "SELECT DISTINCT o_clerk FROM orders"),
    ),
    Clause(
        "distinct values",
        ("SELECT COUNT(DISTINCT o_clerk) FROM orders", "SELECT COUNT(DISTINCT o_custkey) FROM orders"),
    ),
    Clause(
        "other contribution bounds",
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows = 15) COUNT(*) FROM orders",),
    ),
)  # fmt: skip
"""What is answered besides where a unit has many rows: under config/tpch.yaml."""

REFUSED = (
    ("rows of a private table", "SELECT age, income FROM people WHERE income > 300000"),
    ("a column outside of aggregates", "SELECT sex, age, COUNT(*) FROM people GROUP BY sex"),
    ("other aggregates", "SELECT MODE(educ) FROM people"),
    ("a sum without bounds", "SELECT SUM(1 / income) FROM people"),
    ("groups that aren't known beforehand", "SELECT income, COUNT(*) FROM people GROUP BY income"),
    ("`ROLLUP`, `CUBE`, `GROUPING SETS`", "SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)"),
    ("a join with a public table without a key", "SELECT COUNT(*) FROM people JOIN regions ON age = population"),
    (
        "a join with private rows that are units of their own",
        "SELECT COUNT(*) FROM people AS a JOIN people AS b USING (age)",
    ),
    (
        "`UNION`, `EXCEPT` of private rows",
        "SELECT COUNT(*) FROM (SELECT age FROM people UNION SELECT educ FROM people) AS q",
    ),
    (
        "a subquery that depends on the private row around it",
        "SELECT COUNT(*) FROM people AS p WHERE age > (SELECT AVG(age) FROM people AS q WHERE q.race = p.race)",
    ),
    ("a window over private rows", "SELECT RANK() OVER (ORDER BY age) FROM people"),
    ("`LIMIT`, `DISTINCT` of private rows", "SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 5) AS q"),
    ("sampling", "SELECT COUNT(*) FROM people TABLESAMPLE 10 PERCENT"),
    ("`WITH RECURSIVE`", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"),
    ("a function that isn't on the list", "SELECT COUNT(*), NOW() FROM people"),
    ("files and table functions", "SELECT COUNT(*) FROM read_csv('people.csv')"),
    ("what the policy doesn't declare", "SELECT COUNT(*) FROM person"),
    ("", "SELECT COUNT(*) FROM people WHERE name = 'x'"),
    ("more ε than `max_epsilon`", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 9) COUNT(*) FROM people"),
    ("an unknown option", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(kappa = 3) COUNT(*) FROM people"),
    ("statements other than SELECT", "DELETE FROM people"),
    ("several statements", "SELECT 1; SELECT 2"),
)
"""What is refused, with an example; where the first is empty, another of the same."""

UNIT_REFUSED = (
    ("groups that are single units, or single rows", "SELECT o_custkey, COUNT(*) FROM orders GROUP BY o_custkey"),
    ("", "SELECT l_orderkey, COUNT(*) FROM lineitem GROUP BY l_orderkey"),
    ("the unit as a value", "SELECT SUM(o_custkey) FROM orders"),
    ("a join on something else than the unit", "SELECT COUNT(*) FROM customer JOIN orders ON o_totalprice > c_acctbal"),
    (
        "… that leaves out a table on the way to it",
        "SELECT COUNT(*) FROM customer JOIN lineitem ON c_nationkey = l_suppkey",
    ),
    (
        "a join of two tables that both have many rows of a unit",
        "SELECT COUNT(*) FROM orders AS a JOIN orders AS b ON a.o_custkey = b.o_custkey",
    ),
    (
        "a join with a public table, not on its whole key",
        "SELECT COUNT(*) FROM lineitem JOIN partsupp ON ps_partkey = l_partkey",
    ),
    (
        "an outer join that keeps public rows",
        "SELECT n_name, COUNT(c_custkey) FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey GROUP BY n_name",
    ),
    (
        "a join of private rows with released ones",
        "SELECT COUNT(*) FROM orders, (SELECT AVG(o_totalprice) AS mean FROM orders) AS q WHERE o_totalprice > mean",
    ),
    (
        "`IN` over private rows on something else than the unit",
        "SELECT COUNT(*) FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem)",
    ),
    (
        "an aggregate that depends on the private row around it",
        "SELECT COUNT(*) FROM lineitem AS l WHERE l_quantity > (SELECT AVG(l_quantity) FROM lineitem AS m "
        "WHERE m.l_partkey = l.l_partkey)",
    ),
    (
        "bounds of a unit's sum in a group",
        "SELECT SUM(o_totalprice, contribution_bounds_per_group => (0, 1000)) FROM orders",
    ),
)
"""What is refused besides where a unit has many rows: under config/tpch.yaml."""

CALLS = {
    "count": (("COUNT(*)", "rows"), ("COUNT({x})", "rows with a value"), ("COUNT_IF({p})", "rows for which p holds")),
    "sum": (("SUM({x})", "the sum; 0 of no rows"),),
    "avg": (("AVG({x})", "the mean"),),
    "variance": (("VARIANCE({x})", "of a sample"),),
    "var_pop": (("VAR_POP({x})", "of all"),),
    "stddev": (("STDDEV({x})", "the root of VARIANCE"),),
    "stddev_pop": (("STDDEV_POP({x})", "the root of VAR_POP"),),
    "median": (("MEDIAN({x})", "half of the values lie below"),),
    "quantile_cont": (
        ("QUANTILE_CONT({x}, 0.9)", "nine tenths lie below"),
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {x})", "the same"),
    ),
    "quantile_disc": (
        ("QUANTILE_DISC({x}, 0.9)", "the same, of the type of x"),
        ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY {x})", "the same"),
    ),
    "min": (("MIN({x})", "a value below which few rows lie"),),
    "max": (("MAX({x})", "a value above which few rows lie"),),
}
"""How each aggregate of the product may be called, and what it gives."""


def tables(compilers: Compilers) -> dict[str, str]:
    """The six tables, by name."""
    return {
        "answered": _answered(CLAUSES),
        "answered of units": _answered(UNIT_CLAUSES),
        "aggregates": table(
            ("aggregate", "other names", "of", "`DISTINCT`", "`FILTER`", "needs bounds", "± and interval"),
            _aggregate_rows(compilers.rows),
        ),
        "keys": table(("type", "alone", "with `bounds`", "with `keys`", "made from it, for example"), _key_rows()),
        "refused": _refused(compilers.rows, REFUSED),
        "refused of units": _refused(compilers.units, UNIT_REFUSED),
    }


def refusal(compiles: Compile, sql: str) -> dpsql.Error | None:
    """How a statement is refused, None where it is answered."""
    try:
        compiles(sql)
    except dpsql.Error as error:
        return error
    return None


def _answered(clauses: Iterable[Clause]) -> str:
    return table(("answered", "for example"), ((c.what, code(c.examples[0])) for c in clauses))


def _refused(compiles: Compile, examples: Iterable[tuple[str, str]]) -> str:
    rows = []
    for what, sql in examples:
        error = refusal(compiles, sql)
        assert error is not None, sql
        rows.append((what, code(sql), code(error.sqlstate), error.hint or ""))
    return table(("refused", "for example", "SQLSTATE", "hint"), rows)


# ---------------------------------------------------------------------------------------------- aggregates


def _aggregate_rows(compiles: Compile) -> Iterator[tuple[str, ...]]:
    def answered(select: str) -> bool:
        return refusal(compiles, f"SELECT {select} FROM people") is None

    def yes(select: str) -> str:
        return "yes" if answered(select) else "no"

    words = _words(compiles)
    for calls in CALLS.values():
        for call, meaning in calls:
            written = call.format(x="age", p="married")
            assert answered(written), written
            bounded = call.format(x="(1 / age)", p="1 / age > 2")
            yield (
                code(call.format(x="x", p="p")),
                ", ".join(code(other) for other in _other_names(compiles, words, written)),
                meaning,
                yes(call.format(x="DISTINCT age", p="DISTINCT married").replace("(*)", "(DISTINCT *)")),
                yes(f"{written} FILTER (WHERE sex = 1)"),
                "no" if answered(bounded) else "yes",
                yes(f"{written} AS n, DP_INTERVAL_LOW(n)"),
            )


def _other_names(compiles: Compile, words: Iterable[str], call: str) -> list[str]:
    """The words that name the same call: asked for together, both are one number of the plan."""
    word, _, rest = call.partition("(")
    others = [] if rest == "*)" else [other for other in words if other != word]
    return [other for other in others if _size(compiles, call, f"{other}({rest}") == _size(compiles, call)]


def _size(compiles: Compile, *calls: str) -> int | None:
    """The lines of a plan, None where there is none."""
    sql = f"SELECT {', '.join(calls)} FROM people"
    return None if refusal(compiles, sql) else str(compiles(sql)).count("\n")


def _words(compiles: Compile) -> list[str]:
    """The names that are answered as aggregates, of DuckDB's and of other dialects'."""
    named = "SELECT DISTINCT upper(function_name) FROM duckdb_functions() WHERE function_type = 'aggregate'"
    known = {word for (word,) in duckdb.execute(named).fetchall() if word.isidentifier()} - {"APPROX_TOP_K"}
    tried = sorted(known | {"STD", "VAR", "MEAN", "COUNTIF"})
    return [word for word in tried if refusal(compiles, f"SELECT {word}(age > 1) FROM people") is None
            or refusal(compiles, f"SELECT {word}(age) FROM people") is None]  # fmt: skip


# ---------------------------------------------------------------------------------------------- keys

_KEYS = {
    Kind.BOOLEAN: ("", "[true, false]", "NOT x"),
    Kind.INTEGER: ("[0, 100]", "[1, 2]", "FLOOR(x / 10) * 10"),
    Kind.DECIMAL: ("[0, 100]", "[1.5, 2]", "FLOOR(x / 10)"),
    Kind.DOUBLE: ("[0, 100]", "", "FLOOR(x / 10)"),
    Kind.TEXT: ("", "[north, south]", "CASE WHEN x = 'north' THEN 1 ELSE 0 END"),
    Kind.DATE: ("[2020-01-01, 2024-12-31]", "[2020-01-01]", "DATE_TRUNC('month', x)"),
    Kind.TIMESTAMP: ("[2020-01-01, 2024-12-31]", "[2020-01-01 12:00]", "DATE_TRUNC('day', x)"),
}
"""For each kind of column: bounds and keys, empty where a policy can't have them, and a key made from it."""


def _key_rows() -> Iterator[tuple[str, ...]]:
    assert set(_KEYS) == set(Kind)
    types = {Kind.DECIMAL: "DECIMAL(10,2)", Kind.INTEGER: "BIGINT", Kind.TEXT: "VARCHAR"}
    columns, physical = "", {}
    for kind, (bounds, keys, _) in _KEYS.items():
        declared = '"decimal(10,2)"' if kind is Kind.DECIMAL else kind.value
        for name, more in (("alone", ""), ("bounds", bounds), ("keys", keys)):
            if more or name == "alone":
                rest = f", {name}: {more}" if more else ""
                columns += f"      {kind.value}_{name}: {{type: {declared}{rest}}}\n"
                physical[f"{kind.value}_{name}"] = types.get(kind, kind.value.upper())
    policy = make_policy(f"  t:\n    source: t.parquet\n    unit: row\n    columns:\n{columns}")
    session = bench(policy, {"t": physical}, ZeroNoise(), ForbiddenEngine).session

    def answered(key: str) -> bool:
        return refusal(session.plan, f"SELECT {key}, COUNT(*) FROM t GROUP BY 1") is None

    for kind, (bounds, _, made) in _KEYS.items():
        ways = [f"{kind.value}_{name}" for name in ("alone", "bounds", "keys")]
        shown = ["–" if way not in physical else "yes" if answered(way) else "no" for way in ways]
        source = ways[1] if bounds else next(way for way, said in zip(ways, shown, strict=True) if said == "yes")
        assert answered(made.replace("x", source)), made
        yield kind.value, *shown, code(made)
