"""What other projects' test queries teach, in cases of our own; and the table of what became of those queries.

The queries themselves are not in the repository. With DPSQL_CORPUS naming the directory that holds them, all are run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.engines import open_engine
from dpsql.errors import Error
from dpsql.session import resolved_policy
from tests.corpus import compare, data, plain, rows, table
from tests.corpus.googlesql import without_privacy
from tests.corpus.rows import ANYTHING, Expected

# ---------------------------------------------------------------------------------------------- policies and data


@pytest.mark.slow
@pytest.mark.parametrize("name", data.NAMES)
def test_the_data_fit_their_policy(tmp_path: Path, name: str) -> None:
    """Values lie inside bounds and keys and NULLs are where they may be: so the right answer is DuckDB's own."""
    policy = data.write(tmp_path, name)
    with open_engine(policy) as engine:
        resolved = resolved_policy(policy, engine)
        reports = engine.report()
        assert len(reports) == sum(not t.public for t in policy.tables.values())
        for report in reports:
            columns = resolved.tables[report.table.lower()].columns.values()
            assert report.rows > 0 and not report.unreadable and not report.unfit
            assert not any(report.misfits.values()) and not any(report.outside.values()), report
            nullable = {c.name for c in columns if c.nullable}
            assert {name for name, count in report.nulls.items() if count} == nullable, report.table


def test_the_data_are_the_same_in_every_run(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    one, other = data.write(tmp_path, "library"), data.write(tmp_path / "again", "library")
    sql = "SELECT sum(hash(loans)) FROM library.loans"
    assert plain.engine(one).execute(sql).fetchall() == plain.engine(other).execute(sql).fetchall()


# ---------------------------------------------------------------------------------------------- our own cases


@pytest.fixture(scope="module")
def library() -> Iterator[compare.Tables]:
    with compare.tables("library") as made:
        yield made


ANSWERED = """
SELECT COUNT(*) FROM library.loans
SELECT COUNT(*) AS n, COUNT(1), COUNT(branch), COUNT(ALL days) FROM Loans
SELECT COUNT(fee), COUNT(*), SUM(fee), AVG(fee) FROM Library.Loans AS l WHERE L.Late
SELECT SUM(days), SUM(days) AS again, SUM(loans.days) FROM loans
SELECT (SUM(days)) * 1 AS s, ((AVG(days))) + 3, COUNT(*) / 4 FROM loans WHERE renewals = 2
SELECT branch, COUNT(*) FROM loans GROUP BY branch ORDER BY branch DESC
SELECT genre, late, AVG(fee) FROM loans GROUP BY genre, late ORDER BY late DESC, genre
SELECT SUM(fee) FROM loans GROUP BY branch
SELECT COUNT(*) AS n, late AS l FROM loans GROUP BY late ORDER BY n DESC
SELECT branch AS genre, genre AS branch, COUNT(*) AS n FROM loans GROUP BY branch, genre
SELECT branch FROM loans GROUP BY branch ORDER BY branch
SELECT DISTINCT branch, late FROM loans
SELECT renewals FROM loans GROUP BY renewals ORDER BY CAST(renewals AS VARCHAR) DESC
SELECT branch, late FROM loans GROUP BY 1, 2
SELECT 7 AS seven, branch, AVG(days) FROM loans GROUP BY branch
SELECT renewals, COUNT(*) AS n FROM loans GROUP BY renewals HAVING n > 800 OR renewals = 1
SELECT branch, COUNT(*) FROM loans GROUP BY branch HAVING COUNT(*) > 1600 AND NOT branch = 'harbour'
SELECT late, branch, SUM(fee) AS s FROM loans GROUP BY late, branch HAVING NOT late
SELECT days, SUM(fee) AS s FROM loans WHERE days < 30 GROUP BY days HAVING days * 100 < 500 OR s / 2 > 500
SELECT days AS d, COUNT(*) AS n FROM loans GROUP BY d ORDER BY n DESC, d LIMIT 5
SELECT days, COUNT(*) AS n FROM loans GROUP BY days ORDER BY days LIMIT 5 OFFSET 3
SELECT days, COUNT(*) FROM loans GROUP BY days LIMIT 4
SELECT POWER(AVG(days), 2) AS p, 3 * COS(COUNT(*)), LN(COUNT(*)), 1 + SUM(renewals) FROM loans
SELECT branch, CASE WHEN COUNT(*) BETWEEN 0 AND 1650 THEN 'few' ELSE 'many' END FROM loans GROUP BY branch
SELECT CASE WHEN SUM(days) > 90 THEN 90 ELSE SUM(days) END AS s FROM loans
SELECT SUM(CASE WHEN days > 30 THEN 1 ELSE 0 END) AS long, 2 * SUM(days * renewals + 4) AS s FROM loans
SELECT SUM(-100 * days), SUM(100 * days) FROM loans WHERE days = 40
SELECT SUM(CAST(days AS DOUBLE) / 100.) AS s FROM loans WHERE days > 5. AND days < 55.
SELECT SUM(2 * weight + days / 10) FROM loans WHERE weight > 0 AND weight < 1000
SELECT COUNT(*) FROM loans WHERE title LIKE '%ab%' OR title ILIKE 'b%'
SELECT branch, COUNT(*) FROM loans WHERE genre IN ('crime', 'poetry') AND branch NOT IN ('south', 'west') GROUP BY branch
SELECT title, COUNT(*), SUM(days) FROM loans WHERE title IN ('elm', 'fir') GROUP BY title
SELECT days, COUNT(*) FROM loans WHERE days NOT BETWEEN 10 AND 50 GROUP BY days
SELECT SUM(days) FROM loans GROUP BY branch, CASE WHEN days > 50 THEN 1 ELSE 0 END
SELECT CEIL(days / 10) AS c, SUM(fee) FROM loans GROUP BY c ORDER BY c
SELECT 3 * renewals, COUNT(*) FROM loans GROUP BY 3 * renewals
SELECT COALESCE(genre, 'none') AS g, COUNT(*) FROM loans GROUP BY COALESCE(genre, 'none') ORDER BY g
SELECT UPPER(branch), SUBSTRING(branch FROM 2 FOR 3), CHAR_LENGTH(branch), COUNT(*) FROM loans GROUP BY branch
SELECT POSITION('o' IN branch), CAST(renewals AS VARCHAR) AS r, AVG(days) FROM loans GROUP BY branch, renewals
SELECT EXTRACT(MONTH FROM scanned) AS m, COUNT(*) FROM loans GROUP BY EXTRACT(MONTH FROM scanned) ORDER BY m
SELECT lent, SUM(days) FROM loans GROUP BY lent ORDER BY lent LIMIT 7
SELECT DISTINCT SUM(days) AS s FROM loans
SELECT AVG(s) FROM (SELECT SUM(days) AS s FROM loans GROUP BY branch, late) AS q
SELECT r, SUM(ABS(s)), SQRT(SUM(s * s)) FROM (SELECT renewals AS r, branch, SUM(days) AS s FROM loans GROUP BY 1, 2) AS q GROUP BY r
WITH a AS (SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch), b AS (SELECT n FROM a WHERE n > 1) SELECT * FROM b
WITH a AS (SELECT days * 2 AS d FROM loans WHERE late), b AS (SELECT * FROM a) SELECT COUNT(*), SUM(d) FROM b
WITH a AS (SELECT late, COUNT(*) AS n FROM loans GROUP BY late), b AS (SELECT late, SUM(fee) AS s FROM loans GROUP BY late) SELECT a.late, s / n FROM a JOIN b ON a.late = b.late
SELECT n, seats FROM (SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch) AS q JOIN branches USING (branch)
SELECT COUNT(*) - (SELECT COUNT(*) FROM loans WHERE late) AS n FROM loans
SELECT SUM(days) AS s FROM loans HAVING COUNT(*) > 4
SELECT VARIANCE(days), STDDEV(days), VAR_POP(fee), STDDEV(renewals) * 2 AS s, COUNT(*) FROM loans
SELECT branch, (VARIANCE(days)) AS v, AVG(days) FROM loans GROUP BY branch
SELECT COUNT(DISTINCT reader) AS readers, COUNT(DISTINCT "Title"), COUNT(DISTINCT weight) FROM loans WHERE late
SELECT branch, COUNT(DISTINCT reader) AS n FROM loans GROUP BY branch HAVING COUNT(DISTINCT reader) > 1650
SELECT lent, COUNT(DISTINCT days) AS n, SUM(DISTINCT days), AVG(DISTINCT days) FROM loans GROUP BY lent ORDER BY lent
SELECT renewals, SUM(days), VARIANCE(days), SUM(DISTINCT days), VARIANCE(DISTINCT days) FROM loans GROUP BY renewals
SELECT SUM(DISTINCT days) AS s FROM loans WHERE branch = 'north' HAVING COUNT(*) > 5
SELECT SUM(LOG(days + 2) + LN(renewals + 1)) AS s, AVG(LOG(fee + 1)) FROM loans
SELECT branch, seats + 1 FROM branches ORDER BY seats
SELECT a FROM (VALUES (1), (2)) AS v (a)
SELECT "select", SUM("jours de retard"), AVG("größe") FROM returns GROUP BY "select"
""".strip().splitlines()  # noqa: E501


@pytest.mark.slow
@pytest.mark.parametrize("sql", ANSWERED)
def test_answered_as_plain_duckdb_does(library: compare.Tables, sql: str) -> None:
    shape = plain.shape(sql, "duckdb")
    expected = plain.expected(library.plain, shape)
    assert expected is not None, "DuckDB itself can't run it"
    assert rows.difference(library.ask(sql, "duckdb").rows, expected) is None


REFUSED = [
    ("42501", "SELECT title FROM loans"),
    ("42501", "SELECT *, days - 3 FROM loans WHERE late"),
    ("42501", "WITH a AS (SELECT * FROM loans), b AS (SELECT title FROM a) SELECT * FROM b"),
    ("42501", "SELECT CASE WHEN days > 30 THEN 1 ELSE 0 END AS c FROM loans"),
    ("42501", "SELECT branch, AVG(days) FROM loans"),
    ("42501", "SELECT branch, late, AVG(days) FROM loans GROUP BY branch"),
    ("42501", "SELECT branch FROM loans GROUP BY branch ORDER BY days DESC"),
    ("0A000", "SELECT DISTINCT fee FROM loans"),
    ("0A000", "SELECT title FROM loans LIMIT 5"),
    ("0A000", "SELECT COUNT(*) FROM (SELECT * FROM loans ORDER BY days LIMIT 10) AS q"),
    ("0A000", "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY reader) AS n FROM loans) AS q WHERE n < 3"),
    ("0A000", "SELECT branch, MODE(days) FROM loans GROUP BY branch"),
    ("0A000", "SELECT COUNT(*) FROM loans AS a JOIN loans AS b ON a.branch = b.branch"),
    ("0A000", "SELECT COUNT(*) FROM loans, returns"),
    ("0A000", "SELECT title FROM loans UNION SELECT branch FROM branches"),
    ("0A000", 'SELECT branch FROM loans EXCEPT SELECT "select" FROM returns'),
    ("0A000", "SELECT SUM(SUM(days)) FROM loans"),
    ("0A000", "SELECT RANDOM(), COUNT(*) FROM loans"),
    ("0A000", "SELECT COUNT(*) FROM loans WHERE EXISTS (SELECT 1 FROM returns)"),
    ("0A000", "SELECT fee, COUNT(*) FROM loans GROUP BY fee"),
    ("0A000", "SELECT scanned, COUNT(*) FROM loans GROUP BY scanned"),
    ("0A000", "SELECT lent, days, scanned - lent, COUNT(*) FROM loans GROUP BY 1, 2, 3"),
    ("22023", "SELECT title, COUNT(*) FROM loans GROUP BY title"),
    ("22023", "SELECT reader, COUNT(*) FROM loans GROUP BY reader"),
    ("22023", "SELECT branch, COUNT(*) FROM loans GROUP BY branch, reader + days"),
    ("22023", "SELECT SUM(weight) FROM loans"),
    ("22023", "SELECT SUM(fee / 0) FROM loans"),
    ("42P01", "SELECT COUNT(*) FROM magazines"),
    ("42P01", "SELECT COUNT(*) FROM archive.loans"),
    ("42703", "SELECT COUNT(*) FROM loans WHERE pages > 100"),
    ("42703", "SELECT pages FROM (SELECT days FROM loans) AS q"),
    ("42601", "SELECT TOP 5 branch, COUNT(*) FROM loans GROUP BY branch"),
    ("42601", "SELECT branch AS [the branch] FROM loans"),
    ("42601", "SELECT COUNT(*) FROM loans WHERE"),
    ("42601", "SELECT COUNT(*) FROM loans; SELECT COUNT(*) FROM returns"),
    ("0A000", "CREATE TABLE copy AS SELECT COUNT(*) AS n FROM loans"),
]


@pytest.mark.parametrize(("sqlstate", "sql"), REFUSED)
def test_refused_before_any_charge(library: compare.Tables, sqlstate: str, sql: str) -> None:
    charged = library.charges()
    with pytest.raises(Error) as caught:
        library.ask(sql, "duckdb")
    assert caught.value.sqlstate == sqlstate
    assert library.charges() == charged


# ---------------------------------------------------------------------------------------------- the comparison itself


def _expected(found: list[tuple[object, ...]], **changed: object) -> Expected:
    usual = {"rows": found, "limited": None, "order": (), "empty": (None,) * len(found[0])}
    return Expected(**{**usual, **changed})  # type: ignore[arg-type]


def test_a_right_answer_may_differ_in_ways_that_are_meant() -> None:
    found = [("a", 2, 1.5), ("b", 1, None)]
    wanted = _expected(found, empty=(None, 0, ANYTHING))
    assert rows.difference([("b", 1, 7.0), ("a", 2, 1.5 + 1e-7)], wanted) is None
    assert rows.difference([("a", 2, 1.5), ("b", 1, 0.0), ("c", 0, 3.0)], wanted) is None
    assert rows.difference([(3, 0)], _expected([(3, None)], empty=(None, 0))) is None
    first = _expected(found, limited=1, order=(0,), empty=(None, 0, ANYTHING))
    assert rows.difference([("a", 2, 1.5)], first) is None
    assert rows.difference([("A", 0, 9.9)], first) is None


@pytest.mark.parametrize(
    ("answer", "changed"),
    [
        ([("a", 2, 1.5)], {}),
        ([("a", 2, 1.5), ("b", 1, 2.5), ("b", 1, 2.5)], {}),
        ([("a", 2, 1.5), ("b", 1, 2.50001)], {}),
        ([("a", 2, 1.5), ("b", 2, 2.5)], {}),
        ([("a", 2), ("b", 1)], {}),
        ([("a", 2, 1.5), ("b", 1, 2.5), ("c", 1, 0.0)], {}),
        ([("a", 2, 1.5), ("b", 1, 2.5), ("c", 0, 0.0)], {"empty": None}),
        ([("b", 1, 2.5), ("a", 2, 1.5)], {"order": (0,)}),
        ([("a", 2, 1.5), ("b", 1, 2.5)], {"limited": 1}),
        ([], {"limited": 1}),
        ([("b", 1, 9.9)], {"limited": 1}),
        ([("b", 0, 9.9)], {"limited": 1}),
    ],
)
def test_a_wrong_answer_is_seen(answer: list[tuple[object, ...]], changed: dict[str, object]) -> None:
    wanted = _expected([("a", 2, 1.5), ("b", 1, 2.5)], **{"empty": (None, 0, ANYTHING), **changed})
    assert rows.difference(answer, wanted) is not None


@pytest.mark.parametrize(
    ("sql", "aggregated", "single", "order"),
    [
        ("SELECT COUNT(*) FROM t", True, True, ()),
        ("SELECT a, b FROM t GROUP BY a, b ORDER BY 2, a", True, True, (1, 0)),
        ("WITH q AS (SELECT SUM(a) AS s FROM t) SELECT s FROM q ORDER BY s + 1", True, True, ()),
        ("SELECT COUNT(*) FROM t JOIN u USING (a)", True, False, ()),
        ("SELECT COUNT(*) - (SELECT COUNT(*) FROM t) FROM t", True, False, ()),
        ("SELECT SUM(a) OVER () FROM t", False, True, ()),
        ("SELECT a FROM (SELECT * FROM t) AS q", False, True, ()),
        ("WITH t AS (SELECT a FROM t) SELECT * FROM t", False, False, ()),
    ],
)
def test_the_shape_of_a_query(sql: str, aggregated: bool, single: bool, order: tuple[int, ...]) -> None:
    shape = plain.shape(sql, "duckdb")
    assert (shape.aggregated, shape.single, shape.order) == (aggregated, single, order)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("COUNT(*)", "COUNT(*)"),
        ("WITH DIFFERENTIAL_PRIVACY COUNT(*)", "COUNT(*)"),
        ("with differential_privacy options (epsilon = 1, delta = (2)) k, count(*)", "k, count(*)"),
        ("WITH DIFFERENTIAL_PRIVACY COUNT(*, contribution_bounds_per_group => (0, 1)) + 1", "COUNT(*) + 1"),
        (
            "WITH DIFFERENTIAL_PRIVACY SUM(a - b, contribution_bounds_per_row => (-2, 3), r => 'J')",
            "SUM(CASE WHEN a - b < -2 THEN -2 WHEN a - b > 3 THEN 3 ELSE a - b END)",
        ),
    ],
)
def test_googlesqls_words_are_left_out(sql: str, text: str) -> None:
    outer = "WITH q AS (SELECT {} FROM t) SELECT * FROM q"
    assert without_privacy(outer.format(sql)).split() == outer.format(text).split()


# ---------------------------------------------------------------------------------------------- the table


def test_the_table_is_well_formed() -> None:
    found = table.read()
    assert found == sorted(found)
    assert max(Counter(o.query for o in found).values()) == 1
    assert Counter(o.origin for o in found).keys() == {"smartnoise", "googlesql", "qrlew", "uber"}
    for one in found:
        assert one.outcome in table.OUTCOMES and one.meaning in table.MEANINGS[one.label], one
        assert one.verdict in table.VERDICTS and len(one.digest) == 10, one
        assert bool(one.verdict) == (one.label == "accept" and one.outcome not in ("answered", "wrong")), one
        assert one.reason and len(one.reason) < 80 and not one.reason.startswith("nobody"), one


def test_the_targets_are_met() -> None:
    """At least 90 % of the single-table aggregates are answered with the right value; what must be refused is."""
    assert table.missed(table.read()) == []


@pytest.mark.slow
@pytest.mark.asked_for("DPSQL_CORPUS")
def test_the_queries_come_out_as_the_table_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = compare.main([os.environ["DPSQL_CORPUS"]])
    assert code == 0, capsys.readouterr().out
