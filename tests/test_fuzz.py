"""Any text gives an answer, a plan or a dpsql.Error; an accepted expression never makes the engine raise."""

from __future__ import annotations

import io
import re
import sys
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsql.audit.statements import Statements
from dpsql.cli import main
from dpsql.errors import Error, InternalError
from tests import cases, grammar, growth, people, released_grammar
from tests.harness import NIGHTLY, Bench, MemoryEngine, ZeroNoise, examples
from tests.test_golden import DIRECTORY as GOLDEN
from tests.test_refused import DIRECTORY as REFUSED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def forbidden() -> dict[str, Bench]:
    return {dialect: growth.made(dialect) for dialect in growth.DIALECTS}


@pytest.fixture(scope="module")
def made() -> Bench:
    return growth.made("duckdb", MemoryEngine)


def compile_any(made: Bench, sql: str) -> bool:
    """Whether a text is accepted. Anything raised but a refusal fails the test."""
    try:
        made.session.plan(sql, epsilon=1)
    except InternalError:
        raise
    except Error as error:
        assert error.message and error.sqlstate != "XX000"
        assert error.position is None or 0 <= error.position <= len(sql)
        return False
    return True


OTHERS = ("postgres", "bigquery", "spark")
DIALECTS = st.sampled_from(["duckdb", *OTHERS])
_WORDS = """
    SELECT FROM t WHERE GROUP BY COUNT ( ) * , n x city AS q WITH UNION ALL JOIN ON USING HAVING ORDER LIMIT 1 2.5 'A'
    " ' -- /* */ ; CASE WHEN THEN ELSE END NOT AND OR IN BETWEEN IS NULL + - / % || :: [ ] { } . EXPLAIN VALUES OVER
    PARTITION FILTER DISTINCT CAST INTEGER DATE INTERVAL DAY LATERAL UNNEST EXISTS $1 ? :a -> => @ # ~ ^ & | < > = <>
    != QUALIFY WINDOW ROLLUP PIVOT EXCEPT INTERSECT RECURSIVE SUM AVG MIN EXTRACT YEAR d ts tn b bn
"""
WORDS = st.lists(st.sampled_from(_WORDS.split()), max_size=25).map(" ".join)


@given(text=st.one_of(st.text(max_size=60), WORDS), dialect=DIALECTS)
@example(text="SELECT '\\", dialect="bigquery")
@example(text="\ud800", dialect="duckdb")
@example(text="SELECT COUNT(*) FROM t WHERE note = '\ud800'", dialect="duckdb")
@examples(400)
def test_any_text_is_refused_or_compiled(forbidden: dict[str, Bench], text: str, dialect: str) -> None:
    compile_any(forbidden[dialect], text)


SEEDS = [case.sql for directory in (GOLDEN, REFUSED) for case in cases.read(directory)]
_TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|[<>=!|:]+|.", re.DOTALL)


@cache
def _people() -> Bench:
    return people.people(ZeroNoise())


def of_people(random: Random) -> str:
    """A statement over the tables of people."""
    made = _people()
    public = {name: made.engine.public_columns(made.policy.tables[name]) for name in people.PUBLIC}
    return Statements(random, made.policy, public).statement().sql()


def written(random: Random) -> str:
    """A statement of one of the grammars or of the case files."""
    match random.randrange(5):
        case 0 | 1:
            return grammar.statement(random).sql()
        case 2:
            return of_people(random)
        case 3:
            return released_grammar.statement(random, random.randrange(1, 4)).sql
    return random.choice(SEEDS)


def mutated(random: Random, sql: str) -> str:
    """A statement with words moved, doubled, dropped, cut, or taken from another that it is spliced with."""
    words = _TOKEN.findall(sql)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        other = _TOKEN.findall(written(random))
        i, j = sorted(random.randrange(len(words)) for _ in range(2))
        k = random.randrange(len(other))
        match random.randrange(8):
            case 0:
                words[i], words[j] = words[j], words[i]
            case 1:
                words[i:i] = words[i:j]
            case 2 if j - i < len(words) - 1:
                del words[i : j + 1]
            case 3:
                words[i] = other[k]
            case 4:
                words[i:i] = [words[j], " "]
            case 5:
                words[i:j] = other[k : k + random.randrange(12)]
            case 6:
                words[i:] = other[k:]
            case _:
                words[i] = words[i][: random.randrange(len(words[i]) + 1)]
        words = words or ["SELECT"]
    return "".join(words)


@pytest.mark.slow
@given(random=grammar.randoms, dialect=DIALECTS)
@examples(200)
def test_mutated_statements_are_refused_or_compiled(forbidden: dict[str, Bench], random: Random, dialect: str) -> None:
    compile_any(forbidden[dialect], mutated(random, written(random)))


@pytest.mark.slow
@given(random=grammar.randoms)
@examples(100)
def test_whatever_is_accepted_answers_over_extreme_rows(made: Bench, random: Random) -> None:
    """Also mutants: if it compiles, neither engine raises, whatever the rows hold."""
    sql = grammar.statement(random).sql()
    sql = mutated(random, sql) if random.random() < 0.4 else sql
    if compile_any(made, sql):
        made.engine.set_rows("t", [*grammar.all_extremes(), *(grammar.extreme_row(random) for _ in range(5))])
        made.ask(sql)


@pytest.mark.slow
@given(random=grammar.randoms)
@examples(70)
def test_whatever_is_accepted_answers_over_extreme_units(made: Bench, random: Random) -> None:
    sql = of_people(random)
    sql = mutated(random, sql) if random.random() < 0.5 else sql
    if compile_any(made, sql):
        persons = [person for cust in range(3) for person in [people.person(random, cust)]]
        people.set_database(made, people.united(*persons, people.strays(random)))
        made.ask(sql)


def test_a_megabyte_of_text_in_a_cell(made: Bench) -> None:
    """In each function of text, and as a key."""
    texts = [f"repeat({letter}, 1048576)" for letter in ("'x'", "'7'", "'é'", "'e\u0301'", "chr(0)", "' '", "'%'")]
    modest = dict(zip(grammar.COLUMNS, grammar.modest_row(Random(1)), strict=True))
    made.engine.set_rows("t", [tuple({**modest, "note": text, "city": text, "tier": text}.values()) for text in texts])
    conditions = [p for p in (*grammar.PRODUCTIONS["bool"], *grammar.PRODUCTIONS["text"]) if "{text}" in p]
    random = Random(1)
    for template in conditions:
        value = grammar.fill(random, template.replace("{text}", "note"), 0)
        assert made.ask(f"SELECT COUNT({value}), COUNT(*) FROM t").rows[0][1] == len(texts)
    assert sum(row[1] for row in made.ask("SELECT city, COUNT(*) FROM t GROUP BY city").rows) == 0


POLICY = """
dpsql: 1
budget: {epsilon: 1e9}
ledger: the.ledger
tables:
  t:
    source: t.csv
    unit: row
    columns: {n: {type: integer, bounds: [0, 10]}, note: {type: text}}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "t.csv").write_text("n,note\n1,a\n")
    (folder / "policy.yaml").write_text(POLICY)
    assert main(["budget", str(folder / "policy.yaml"), "--create"]) == 0
    return folder / "policy.yaml"


@given(
    data=st.one_of(
        st.binary(max_size=60),
        st.builds(lambda a, b: b"SELECT COUNT(*) FROM t WHERE note = '" + a + b"' -- " + b, st.binary(), st.binary()),
    ),
    from_file=st.booleans(),
)
@example(data=b"SELECT COUNT(*) FROM t WHERE note = '\xed\xa0\x80'", from_file=False)
@example(data=b"SELECT COUNT(*) FROM t\x00", from_file=True)
@example(data=b"\xff\xfeS\x00", from_file=False)
@example(data=b"\xef\xbb\xbfSELECT COUNT(*) FROM t", from_file=True)
@example(data=b"x" * 500_000, from_file=False)
@example(data=b"SELECT COUNT(*) FROM t WHERE note = '" + "\U0001f600".encode() * 99_000 + b"'", from_file=True)
@examples(40)
def test_any_bytes_from_a_file_or_standard_input(
    config: Path, capfd: pytest.CaptureFixture[str], data: bytes, from_file: bool
) -> None:
    """An answer, a refusal, or the word that it is no text: one line of it, and its exit code."""
    arguments = ["query", str(config), "--as", "eve", "-"]
    if from_file:
        (config.parent / "query.sql").write_bytes(data)
        arguments[-1:] = ["-f", str(config.parent / "query.sql")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(arguments)
    printed = capfd.readouterr()
    assert code in (0, 1, 2)
    assert printed.err.startswith("error") == (code > 0) and "XX000" not in printed.err


BOMBS = [
    "SELECT COUNT(*) FROM t WHERE " + "(" * 5_000 + "n" + ")" * 5_000 + " > 1",
    "SELECT COUNT(*) FROM t WHERE " + "(" * 90_000,
    "SELECT " + "-" * 3_000 + "1",
    "SELECT " + "- " * 5_000 + "1",
    "SELECT COUNT(*) FROM t WHERE " + "NOT " * 9_000 + "b",
    "SELECT COUNT(*) FROM t WHERE " + "CASE WHEN b THEN " * 2_000 + "b" + " END" * 2_000,
    "SELECT COUNT(*) FROM t WHERE " + " + ".join(["n"] * 20_000) + " > 1",
    "SELECT COUNT(*) FROM t WHERE " + " || ".join(["note"] * 9_000) + " = 'x'",
    "SELECT COUNT(*) FROM t WHERE " + " AND ".join(["b"] * 15_000),
    "SELECT COUNT(*) FROM t WHERE n IN (" + ", ".join(["1"] * 30_000) + ")",
    "SELECT " + ", ".join(["COUNT(*)"] * 9_000) + " FROM t",
    "SELECT " + ", ".join(f"SUM(n + {i})" for i in range(3_000)) + " FROM t",
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 3_000 + "t" + ")" * 3_000,
    "SELECT COUNT(*) FROM t" + " UNION ALL SELECT COUNT(*) FROM t" * 3_000,
    "WITH " + ", ".join(f"c{i} AS (SELECT n + n AS n FROM {'t' if i == 0 else f'c{i - 1}'})" for i in range(60))
    + " SELECT SUM(n) FROM c59",
    "WITH " + ", ".join(f"c{i} AS (SELECT n * n AS n FROM {'t' if i == 0 else f'c{i - 1}'})" for i in range(60))
    + " SELECT SUM(n) FROM c59",
    "SELECT COUNT(*) FROM t WHERE n = " + "1" * 90_000,
    "SELECT COUNT(*) FROM t WHERE note = '" + "x" * 90_000 + "'",
    "SELECT COUNT(*) FROM t WHERE x = 1e" + "9" * 5_000,
    "SELECT COUNT(*) FROM t WHERE note LIKE '" + "%a" * 9_000 + "'",
    "SELECT " + "[" * 5_000 + "]" * 5_000,
    "SELECT " + "x." * 9_000 + "y FROM t",
    "SELECT COUNT(*) FROM t" + " WHERE b" * 9_000,
    "SELECT " + "INTERVAL " * 5_000 + "1",
    "SELECT " + "CAST(" * 3_000 + "1" + " AS INT)" * 3_000,
    "SELECT a -> " * 5_000,
    "SELECT COUNT(*) FROM t WHERE " + "n::INTEGER" + "::INTEGER" * 9_000 + " = 1",
    "SELECT COUNT(*) FROM t WHERE b " + "IS TRUE " * 9_000,
    "SELECT COUNT(*) FROM t WHERE n " + "BETWEEN 1 AND n " * 5_000,
    "/*" * 40_000,
    "SELECT COUNT(*) FROM t " + "JOIN t " * 9_000,
    "SELECT EXISTS(SELECT " * 4_000,
    "EXPLAIN " * 9_000 + "SELECT 1",
    "SELECT COUNT(*) FROM t ORDER BY " + "1, " * 9_000 + "1",
    "SELECT n" + " COLLATE a" * 9_000 + " FROM t",
    "SELECT COUNT(*) FROM t WHERE " + "DISTINCT " * 9_000 + "n",
    "SELECT COUNT(" + "LN(" * 22 + "x" + ")" * 22 + ") FROM t",
    "SELECT COUNT(" + "SQRT(ABS(" * 11 + "x" + "))" * 11 + ") FROM t",
    "SELECT COUNT(*) FROM t WHERE dn" + " + 1" * 100 + " > dn",
    "SELECT COUNT(*) FROM t WHERE tn" + " + INTERVAL 1 DAY" * 100 + " > tn",
    "SELECT COUNT(*) FROM t WHERE " + "CASE " * 11 + "n" + " WHEN 1 THEN 2 WHEN 2 THEN 3 END" * 11 + " = 1",
    "SELECT COUNT(*) FROM t" + " JOIN t" * 30,
    "SELECT COUNT(*) FROM t" + " LEFT JOIN t" * 30,
    "SELECT COUNT(*) FROM t, t" + " JOIN (t" * 20,
    "SELECT " + "STRUCT(" * 24 + "1" + ")" * 24,
    "SELECT " + "DATE(" * 24 + "1" + ")" * 24,
    "SELECT " + "ROW((" * 12 + "1" + "))" * 12,
    "SELECT " + "ARRAY[([" * 8 + "1" + "])]" * 8,
    "SELECT " + "n::DECIMAL((" * 12 + "1" + "))" * 12 + " FROM t",
    "SELECT a0.u FROM " + ", ".join(f"(SELECT COUNT(*) AS u FROM t) AS a{i}" for i in range(600)),
    "SELECT COUNT(*) AS u, DP_INTERVAL_LOW(u, 1e-30000000) FROM t",
    "SELECT COUNT(*) FROM t WHERE c > '1e-30000000'",
    "SELECT COUNT(*) FROM t WHERE " + "POW(" * 20 + "n" + ", 8)" * 20 + " > 1",
    "SELECT COUNT(*) FROM t WHERE n " + "** 2 " * 30 + "> 1",
    "SELECT COUNT(*) AS u0" + "".join(f", {'ABS(' * 20}u{i}{')' * 20} AS u{i + 1}" for i in range(20)) + " FROM t",
    "SELECT 1 AS u0" + "".join(f", u{i} + u{i} AS u{i + 1}" for i in range(60)) + ", COUNT(*) FROM t",
    "SELECT SUM(x" + ", contribution_bounds_per_row => (0, 1)" * 2_000 + ") FROM t",
    "SELECT SUM(x" + ", contribution_bounds_per_row => (0, 1)" * 100 + ") FROM t",
    "SELECT " + "WITH DIFFERENTIAL_PRIVACY " * 5_000 + "COUNT(*) FROM t",
    "SELECT AVG(x) AS u, VARIANCE(x)" + "".join(f", DP_INTERVAL_LOW(u, 0.{i})" for i in range(100, 999)) + " FROM t",
    "SELECT COUNT(*) FROM t WHERE " + "COALESCE(" * 22 + "n" + ", 1)" * 22 + " = 1",
]  # fmt: skip
SECONDS = 6
"""Of the processor: a guard against what hangs, far from what any statement takes."""
FINE = [
    "SELECT COUNT(*) FROM t WHERE " + " + ".join(["n"] * 80) + " > 1",
    "SELECT COUNT(*) FROM t WHERE " + " AND ".join(["b"] * 400),
    "SELECT COUNT(*) FROM t WHERE " + " OR ".join(f"n = {i}" for i in range(2_000)),
    "SELECT COUNT(*) FROM t WHERE n IN (" + ", ".join(map(str, range(5_000))) + ")",
    "SELECT " + ", ".join(f"SUM(n + {i})" for i in range(150)) + " FROM t",
]


@pytest.mark.parametrize("dialect", growth.DIALECTS)
def test_bombs_go_off_quickly_and_harmlessly(dialect: str) -> None:
    """In a thread with little stack, in little memory, in less time than anyone would notice; what is fine is accepted.

    All of them in DuckDB's dialect, and half of them in one other; all in all of them at night.
    """
    texts = [*BOMBS, *FINE]
    if dialect in OTHERS and not NIGHTLY:
        texts = texts[OTHERS.index(dialect) :: 2 * len(OTHERS)]
    found, megabytes = growth.besieged(dialect, texts)
    slow = [sql[:60] for sql, done in zip(texts, found, strict=True) if done.seconds > SECONDS]
    assert not slow and megabytes < 500
    assert {
        sql[:60]: done.outcome for sql, done in zip(texts, found, strict=True) if sql in FINE and done.outcome
    } == {}
