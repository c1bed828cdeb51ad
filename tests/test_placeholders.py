"""Parameters written $1: the same in every dialect, and their types are found before their values are known."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import pytest

from dpsql.errors import Error, InvalidParameter
from dpsql.parse import MAX_TEMPLATES, Parser, _read, _statement, parse, placeholder_types, split

DIALECTS = ["duckdb", "postgres", "bigquery", "spark"]
TYPES = {
    "visits": {
        "age": "bigint",
        "city": "text",
        "charge": "decimal(10, 2)",
        "visited": "date",
        "score": "double",
        "smoker": "boolean",
        "at": "timestamp",
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM visits WHERE city IN ($1,$2) LIMIT $3", "city IN ('a', 'b') LIMIT 3"),
        (
            "SELECT COUNT(*) FROM visits WHERE $3=age AND city='$1,$2' OR city=$1 OR city=$2",
            "3 = age AND city = '$1,$2'",
        ),
        ("SELECT COUNT(*) FROM visits WHERE (city,age) IN (($1,$3),($2,$3))", "(('a', 3), ('b', 3))"),
        ("SELECT COUNT(*) /* $9 */ FROM visits WHERE city=$1 OR city=$2 AND age=-$3 -- $8", "-3"),
    ],
)
def test_numbered_parameters_work_in_every_dialect(dialect: str, sql: str, expected: str) -> None:
    """`$1,$` was taken for the opening of a text between tags, and only DuckDB's dialect filled them in at all."""
    tree = parse(sql, dialect=dialect, parameters=("a", "b", 3), types=TYPES).tree
    assert expected in tree.sql("duckdb")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_numbered_parameter_without_value_is_refused(dialect: str) -> None:
    with pytest.raises(InvalidParameter, match="parameter 2 has no value"):
        parse("SELECT COUNT(*) FROM visits WHERE age=$1 AND city=$2", dialect=dialect, parameters=(1,), types=TYPES)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_positions_are_those_of_the_text(dialect: str) -> None:
    sql = "SELECT COUNT(*) FROM visits WHERE age IN ($1,$2) AND city = = 3"
    with pytest.raises(Error) as refused:
        parse(sql, dialect=dialect, parameters=(1, 2), types=TYPES)
    assert refused.value.position is not None and abs(refused.value.position - sql.index("= =")) <= 3


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    ("sql", "types"),
    [
        (
            "SELECT city FROM visits WHERE age > $1 AND city <> $2 LIMIT $3 OFFSET $4",
            ("BIGINT", "TEXT", "BIGINT", "BIGINT"),
        ),
        (
            "SELECT 1 FROM visits WHERE visited >= $1 AND charge > $2 AND score < $3 AND smoker = $4 AND at > $5",
            ("DATE", "DECIMAL", "DOUBLE", "BOOLEAN", "TIMESTAMP"),
        ),
        ("SELECT 1 FROM visits WHERE age BETWEEN CAST($1 AS INTEGER) AND $2::SMALLINT", ("INT", "SMALLINT")),
        (
            "SELECT city, COUNT(*) FROM visits v GROUP BY city HAVING COUNT(*) > $1 AND AVG(score) < $2",
            ("BIGINT", "DOUBLE"),
        ),
        (
            "SELECT SUM(CASE WHEN age > $1 THEN $2 ELSE score END) FROM visits v WHERE v.age + $3 > 3",
            ("BIGINT", "DOUBLE", "BIGINT"),
        ),
        (
            "WITH q AS (SELECT age AS a, city FROM visits) SELECT a FROM q WHERE a > $2 AND city LIKE $1",
            ("TEXT", "BIGINT"),
        ),
        (
            "SELECT 1 FROM visits WHERE COALESCE(age, $1) > 3 AND LOWER(city) = $2 AND NOT (smoker = $3)",
            ("BIGINT", "TEXT", "BOOLEAN"),
        ),
        (
            "SELECT 1 FROM visits WHERE city IN ($1, $2) AND age IS DISTINCT FROM $3 AND $4 || city = 'x'",
            ("TEXT", "TEXT", "BIGINT", "TEXT"),
        ),
        ("SELECT ROUND(score, $1), $2 FROM visits WHERE age = $4", ("INT", None, None, "BIGINT")),
        ("SELECT 1 FROM visits WHERE age = ? AND city = ?", ("BIGINT", "TEXT")),
        ("SELECT DATE_TRUNC($1, visited) FROM visits WHERE age = -$2", ("TEXT", "BIGINT")),
        ("SELECT 1 FROM nosuch WHERE age = $1", (None,)),
        ("SELECT 1", ()),
    ],
)
def test_types_of_parameters(dialect: str, sql: str, types: tuple[str | None, ...]) -> None:
    assert placeholder_types(sql, dialect=dialect, types=TYPES) == types


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SHOW a; SELECT 1", ["SHOW a", "SELECT 1"]),
        ("SET x=';'; SELECT ';' ; ", ["SET x=';'", "SELECT ';'"]),
        ("/* ; */ SELECT 1; -- ;\n", ["SELECT 1"]),
        ("BEGIN; SELECT 1 ; COMMIT", ["BEGIN", "SELECT 1", "COMMIT"]),
        (" ; ;", []),
        ("", []),
        ("SELECT '", ["SELECT '"]),
        ("FETCH 2 FROM c;", ["FETCH 2 FROM c"]),
        ("SELECT $1;SELECT $2", ["SELECT $1", "SELECT $2"]),
    ],
)
def test_statements_are_told_apart(dialect: str, sql: str, parts: list[str]) -> None:
    assert [sql[start:end] for start, end in split(sql, dialect=dialect)] == parts


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("explain", ["", "EXPLAIN "])
def test_question_marks_count_in_the_order_of_the_text(dialect: str, explain: str) -> None:
    """LIMIT stands first in the tree, and a function's arguments need not stand as they are written."""
    sql = (
        "SELECT LEFT(city, ?), COUNT(*) FROM visits WHERE age > ? AND city <> '?' AND score BETWEEN ? AND ? "
        "GROUP BY 1 HAVING COUNT(*) > ? ORDER BY 2 LIMIT ? OFFSET ?"
    )
    tree = parse(f"{explain}{sql}", dialect=dialect, parameters=(1, 2, 3, 4, 5, 6, 7), types=TYPES).tree
    written = tree.sql("duckdb")
    for part in ("LEFT(city, 1)", "age > 2", "'?'", "BETWEEN 3 AND 4", "COUNT(*) > 5", "LIMIT 6", "OFFSET 7"):
        assert part in written, written


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_question_marks_as_the_parts_of_dates(dialect: str) -> None:
    sql = "SELECT DATE_TRUNC(?, visited), COUNT(*) FROM visits GROUP BY DATE_TRUNC(?, visited) LIMIT ?"
    written = parse(sql, dialect=dialect, parameters=("month", "month", 9), types=TYPES).tree.sql("duckdb")
    assert written.count("DATE_TRUNC('MONTH', visited)") == 2 and "LIMIT 9" in written


VALUES: list[object] = [
    5, -5, 10**12, 1.5, -2.25, 1e300, Decimal("1.50"), Decimal(-3), "a", "it's", "\\x", "2020-01-01", "", True, False,
    "\x02#0", None, dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(2020, 1, 2, tzinfo=dt.UTC),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT city, COUNT(*) FROM visits WHERE age > $1 AND city = $2 GROUP BY city",
        "SELECT COUNT(*) FROM visits WHERE age BETWEEN $1 AND $2 OR city IN ($2, 'x', $1)",
        "SELECT SUM(CASE WHEN age >= $1 THEN charge ELSE 0 END) AS s FROM visits WHERE at < $2 AND at <> $1",
        "EXPLAIN SELECT EXTRACT(year FROM visited), COUNT(*) FROM visits WHERE $2 <= score GROUP BY 1 HAVING "
        "COUNT(*) > $1",
        "SELECT age > $1, AVG(charge / 2) FROM visits WHERE age + 1 = $2 GROUP BY 1 ORDER BY 1",
    ],
)
def test_what_values_are_compared_with_is_read_once(dialect: str, sql: str) -> None:
    """A template with values in it is the tree that comes of a statement with the values in it."""
    parser = Parser(dialect, TYPES)
    for values in itertools.pairwise(VALUES):
        found = parser.parse(sql, values)
        plain = _statement(_read(sql, dialect, TYPES), dialect, TYPES, values)
        assert (found.tree, found.typed, found.explain) == (plain.tree, plain.typed, plain.explain)
        assert found.tree.sql("duckdb") == plain.tree.sql("duckdb")
    assert list(parser._templates) == [sql]


@pytest.mark.parametrize(
    "condition", ["age + $1 > 3", "age / $1 > 3", "at > at + INTERVAL '1' DAY * $1", "CAST($1 AS bigint) = age"]
)
def test_what_a_translation_looks_at_is_translated_with_its_value(condition: str) -> None:
    """`age / 2` is a whole number in PostgreSQL, `age / 2.0` isn't: the value decides."""
    parser = Parser("postgres", TYPES)
    sql = f"SELECT COUNT(*) FROM visits WHERE {condition}"
    for values in [(2,), (2.5,)]:
        plain = _statement(_read(sql, "postgres", TYPES), "postgres", TYPES, values)
        assert parser.parse(sql, values).tree == plain.tree
    assert not parser._templates


def test_a_parser_remembers_few_statements_and_takes_no_text_for_a_mark() -> None:
    parser = Parser("postgres", TYPES)
    for number in range(MAX_TEMPLATES + 5):
        parser.parse(f"SELECT COUNT(*) AS n{number} FROM visits WHERE age > $1", (number,))
    assert len(parser._templates) == MAX_TEMPLATES
    for text in ("'\x02#0'", "U&'\\0002#0'"):
        sql = f"SELECT COUNT(*) FROM visits WHERE city = {text} AND age > $1"
        assert "'\x02#0'" in parser.parse(sql, (1,)).tree.sql("duckdb")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("values", [(), (1,), (1, 2, 3)])
def test_a_template_wants_each_of_its_values_and_no_more(dialect: str, values: tuple[int, ...]) -> None:
    parser = Parser(dialect, TYPES)
    sql = "SELECT COUNT(*) FROM visits WHERE age > $1 AND age < $2"
    assert parser.parse(sql, (1, 2)).tree
    with pytest.raises(InvalidParameter, match=r"has no value|no place for parameter 3"):
        parser.parse(sql, values)
