"""TPC-H: each query is answered or refused as tests/tpch/outcomes.csv says; what is answered is DuckDB's answer."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dpsql.cli import main
from dpsql.errors import Error
from tests.harness import DataTouched
from tests.tpch import generate, outcomes
from tests.tpch.outcomes import LISTS_UNITS, NUMBERS, Outcome, Tables

TABLE = {one.query: one for one in outcomes.read()}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpch")


@pytest.fixture(scope="module")
def made(directory: Path) -> Iterator[Tables]:
    with outcomes.tables(directory) as found:
        yield found


# ---------------------------------------------------------------------------------------------- queries


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_each_query_comes_out_as_the_table_says(made: Tables, number: int) -> None:
    """`python -m tests.tpch.outcomes` writes the table anew, `python -m tests.test_docs generated` README's."""
    now, said = outcomes.outcome(made, number), TABLE[number]
    assert (now.outcome, now.sqlstate, now.message, now.hint) == (said.outcome, said.sqlstate, said.message, said.hint)
    assert now.outcome == "refused" or now.why == said.why


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_each_query_finds_something(made: Tables, number: int) -> None:
    """Else any answer of zeros would be right."""
    rows = made.duckdb.execute(outcomes.text(number)).fetchall()
    assert rows and any(isinstance(cell, str) or cell for cell in rows[0])


@pytest.mark.parametrize("number", [n for n, one in TABLE.items() if one.sqlstate])
def test_what_is_refused_is_refused_before_any_data_is_read(
    made: Tables, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: object) -> None:
        raise DataTouched

    monkeypatch.setattr(type(made.session.engine), "transaction", touched)
    sql, before = outcomes.text(number), made.charges()
    with pytest.raises(Error) as caught:
        made.ask(sql)
    error = caught.value
    assert made.charges() == before
    assert error.sqlstate in ("0A000", "22023", "42501", "42703")
    assert error.message[0].islower() and error.hint
    assert error.position is not None and 0 < error.position <= len(sql)
    with pytest.raises(DataTouched):
        prepared = made.session.prepare(outcomes.text(6), epsilon=outcomes.EPSILON)
        made.session._answer(prepared, "someone for whom nothing is stored")


# ---------------------------------------------------------------------------------------------- the table


def test_single_customers_and_orders_are_not_listed() -> None:
    assert {TABLE[number].outcome for number in LISTS_UNITS} == {"refused"}


def test_the_table_is_well_formed() -> None:
    assert tuple(TABLE) == NUMBERS
    for one in TABLE.values():
        assert one.outcome in outcomes.OUTCOMES, one
        answered = one.outcome in ("answered", "public")
        assert answered == (one == Outcome(one.query, one.outcome)), one
        assert answered or (one.why and one.why[0].islower() and "\n" not in one.why), one
    changed = {path.name[:3] for path in (outcomes.FOLDER / "queries").glob("*.changed.sql")}
    assert changed == {f"q{n:02}" for n, one in TABLE.items() if one.outcome in ("changed", "rewritten")}
    assert Counter(one.outcome for one in TABLE.values())["public"] == 3


# ---------------------------------------------------------------------------------------------- data and policy


def test_the_same_seed_makes_the_same_data() -> None:
    one, again, other = (generate.tables(0.001, seed) for seed in (7, 7, 8))
    for name, columns in one.items():
        assert all(np.array_equal(values, again[name][column]) for column, values in columns.items())
    assert not np.array_equal(one["lineitem"]["l_partkey"], other["lineitem"]["l_partkey"])


@pytest.mark.parametrize(
    "wrong",
    [
        "FROM lineitem ANTI JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey",
        "FROM lineitem ANTI JOIN orders ON o_orderkey = l_orderkey",
        "FROM orders ANTI JOIN customer ON c_custkey = o_custkey",
        "FROM orders WHERE o_custkey % 3 = 0",
        "FROM partsupp ANTI JOIN part ON p_partkey = ps_partkey",
        "FROM partsupp ANTI JOIN supplier ON s_suppkey = ps_suppkey",
        "FROM supplier ANTI JOIN nation ON n_nationkey = s_nationkey",
        "FROM customer JOIN nation ON n_nationkey = c_nationkey WHERE c_phone NOT LIKE (c_nationkey + 10) || '-%'",
        "FROM nation ANTI JOIN region ON r_regionkey = n_regionkey",
        "FROM lineitem JOIN part ON p_partkey = l_partkey WHERE l_extendedprice <> l_quantity * p_retailprice",
        "FROM lineitem JOIN orders ON o_orderkey = l_orderkey WHERE NOT o_orderdate < l_shipdate",
        "FROM lineitem WHERE NOT l_shipdate < l_receiptdate OR l_receiptdate > DATE '1998-12-31'",
        "FROM lineitem WHERE (l_linestatus = 'O') <> (l_shipdate > DATE '1995-06-17')",
        "FROM lineitem WHERE (l_returnflag = 'N') <> (l_receiptdate > DATE '1995-06-17')",
        "FROM orders JOIN (SELECT l_orderkey, MIN(l_linestatus) AS low, MAX(l_linestatus) AS high FROM lineitem "
        "GROUP BY ALL) ON l_orderkey = o_orderkey WHERE o_orderstatus <> CASE WHEN low = high THEN low ELSE 'P' END",
        "FROM orders JOIN (SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS total "
        "FROM lineitem GROUP BY ALL) ON l_orderkey = o_orderkey WHERE abs(o_totalprice - total) > 0.01",
    ],
)
def test_the_data_have_the_relations_of_the_specification(made: Tables, wrong: str) -> None:
    assert made.duckdb.execute(f"SELECT COUNT(*) {wrong}").fetchall() == [(0,)]


def test_the_data_fit_the_policy_and_its_caps_are_rarely_reached(made: Tables) -> None:
    report = made.duckdb.execute(
        "SELECT COUNT(*) FILTER (WHERE orders > 30 OR lines > 120) / COUNT(*), MAX(lines) FROM (SELECT o_custkey, "
        "COUNT(DISTINCT o_orderkey) AS orders, COUNT(*) AS lines FROM orders JOIN lineitem ON l_orderkey = o_orderkey "
        "GROUP BY o_custkey)"
    ).fetchall()
    assert report[0][0] < 0.01 and report[0][1] <= 150


def test_the_policy_runs(made: Tables, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(directory / "tpch.yaml")
    shutil.copy(outcomes.POLICY, policy)
    assert main(["budget", policy, "--create"]) == 0
    assert main(["check", policy]) == 0
    checked = capsys.readouterr().out
    fits = checked.partition("How the data fit")[2].partition("Budget:")[0]
    assert [fits.count(f"{word}") for word in ("none", "customer", "orders", "lineitem")] == [9, 1, 1, 2], fits
    assert main(["query", policy, outcomes.text(5), "--format", "csv"]) == 0
    assert "INDONESIA" in capsys.readouterr().out


def test_the_command_that_makes_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate.main([str(tmp_path / "data"), "--scale", "0.001", "--seed", "2"])
    assert capsys.readouterr().out == f"wrote {tmp_path / 'data' / 'tpch.duckdb'}\n"
    assert (tmp_path / "data" / "tpch.duckdb").exists()
    with pytest.raises(ValueError, match=r"at least 0\.001"):
        generate.tables(0.0001, 1)
