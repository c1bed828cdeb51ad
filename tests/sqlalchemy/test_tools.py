"""Tools that stand on SQLAlchemy: pandas, polars, and jupysql in a notebook's shell, in process and over the wire."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, func, select, text

from dpsql.policy import load
from dpsql.session import open_session, system_user
from tests.notebook import run_cells
from tests.sqlalchemy.deployment import connected, write
from tests.wire.live import serving

ROOT = Path(__file__).parents[2]
BY_CITY = "SELECT city, COUNT(*) AS n, ROUND(AVG(age), 1) AS age FROM visits GROUP BY city ORDER BY city"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with connected(write(tmp_path_factory.mktemp("clinic"))) as made:
        yield made


def test_pandas(engine: Engine) -> None:
    frame = pd.read_sql(BY_CITY, engine)
    assert frame["n"].tolist() == [2, 2, 0] and frame["city"].tolist()[:2] == ["Bergen", "Oslo"]
    assert [str(frame[name].dtype) for name in ("n", "age")] == ["int64", "float64"]
    named = text("SELECT COUNT(*) AS n FROM visits WHERE age > :age")
    assert pd.read_sql(named, engine, params={"age": 40})["n"].tolist() == [3]
    assert pd.read_sql("SELECT COUNT(*) AS n FROM visits WHERE age > ?", engine, params=(50,))["n"].tolist() == [2]
    assert pd.read_sql_table("codes", engine)["code"].tolist() == [1, 2, 3, 4]
    assert pd.read_sql("codes", engine).shape == (4, 2)


def test_what_a_frame_cost(engine: Engine) -> None:
    with engine.connect().execution_options(epsilon=2) as connection:
        pd.read_sql(BY_CITY, connection)
        assert connection.info["privacy"].epsilon_charged == 2


def test_pandas_reads_no_private_rows(engine: Engine) -> None:
    with pytest.raises(pd.errors.DatabaseError, match="rows of the private table visits"):
        pd.read_sql_table("visits", engine)


def test_polars(engine: Engine) -> None:
    frame = pl.read_database(BY_CITY, engine)
    assert frame["n"].to_list() == [2, 2, 0] and frame.schema["age"] == pl.Float64
    asked = "SELECT COUNT(*) AS n FROM visits WHERE age > :age"
    found = pl.read_database(asked, engine, execute_options={"parameters": {"age": 40}})
    assert found["n"].to_list() == [3]


# ---------------------------------------------------------------------------------------------- notebooks


def notebook(folder: Path, *cells: str) -> list[dict[str, Any]]:
    """What each cell gives after jupysql is loaded."""
    loaded, *told = run_cells(folder, ["%load_ext sql", *cells], {**os.environ, "PYTHONPATH": str(ROOT)})
    assert loaded["error"] is None, loaded
    return told


def cells_of(table: str) -> list[list[str]]:
    """The rows of a table in text."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.slow
def test_jupysql(tmp_path: Path) -> None:
    write(tmp_path)
    told = notebook(
        tmp_path,
        "%sql dpsql:///policy.yaml?analyst=alice&create_ledger=true",
        "%sqlcmd tables",
        "%sqlcmd tables --schema wards",
        "%sqlcmd columns --table visits",
        f"%%sql\n{BY_CITY}",
        "age = 40",
        "%sql SELECT COUNT(*) AS n FROM visits WHERE age > {{age}}",
        "%sql found << SELECT smoker, SUM(age) AS s FROM visits GROUP BY smoker ORDER BY smoker",
        "found.DataFrame()['s'].tolist()",
        "%%sql --save by_city --no-execute\nSELECT city, COUNT(*) AS n FROM visits GROUP BY city",
        "%sql --with by_city SELECT MAX(n) AS most FROM by_city",
        "%sql SELECT age FROM visits",
        "%config SqlMagic.autopandas = True",
        f"%sql {BY_CITY}",
    )
    errors = [number for number, cell in enumerate(told) if cell["error"]]
    assert errors == [11], told
    assert cells_of(told[1]["value"]) == [["Name"], ["visits"], ["codes"]]
    assert cells_of(told[2]["value"]) == [["Name"], ["patients"], ["stays"]]
    columns = {row[0]: row for row in cells_of(told[3]["value"])}
    assert "BIGINT" in columns["age"] and "in years; bounds 0 to 100" in columns["age"]
    expected = [["city", "n", "age"], ["Bergen", "2", "56.5"], ["Oslo", "2", "37.5"]]
    assert cells_of(told[4]["value"])[:3] == expected
    assert cells_of(told[6]["value"]) == [["n"], ["3"]]
    assert told[8]["value"] == "[97, 91]"
    assert cells_of(told[10]["value"]) == [["most"], ["2"]]
    assert "rows of the private table visits" in told[11]["error"] and "hint: ask for an aggregate" in told[11]["error"]
    assert "Bergen" in told[13]["value"] and "56.5" in told[13]["value"]


@pytest.mark.slow
def test_jupysql_over_the_wire(tmp_path: Path) -> None:
    """Through PostgreSQL's own driver."""
    session = open_session(load(write(tmp_path, "postgres")), create_ledger=True)
    with serving(session) as running:
        url = f"postgresql+psycopg://{system_user()}@127.0.0.1:{running.port}/clinic"
        told = notebook(
            tmp_path,
            f"%sql {url}",
            "%sqlcmd tables",
            f"%%sql\n{BY_CITY}",
            "%sql SELECT age FROM visits",
        )
    session.close()
    assert [number for number, cell in enumerate(told) if cell["error"]] == [3], told
    assert {"visits", "codes"} <= {row[0] for row in cells_of(told[1]["value"])}
    assert cells_of(told[2]["value"])[:3] == [["city", "n", "age"], ["Bergen", "2", "56.5"], ["Oslo", "2", "37.5"]]
    assert "rows of the private table visits" in told[3]["error"]


def test_error_columns(tmp_path: Path) -> None:
    """Text has them all; what is written in SQLAlchemy's own terms finds its columns by name among them."""
    path = write(tmp_path)
    path.write_text(path.read_text().replace("privacy: {", "privacy: {error_columns: true, "))
    with connected(path) as engine, engine.connect() as connection:
        frame = pd.read_sql(BY_CITY, connection)
        assert {"n", "n_low", "n_high", "age", "age_low", "age_high"} <= set(frame.columns)
        assert (frame["n_low"] <= frame["n"]).all() and (frame["age"] <= frame["age_high"]).all()
        visits = Table("visits", MetaData(), Column("city", String), Column("age", Integer))
        asked = select(visits.c.city, func.avg(visits.c.age).label("mean"), func.count().label("n"))
        for row in connection.execute(asked.group_by(visits.c.city)).mappings():
            assert row["mean_low"] <= row["mean"] <= row["mean_high"] and row["n_low"] <= row["n"]
            assert row[visits.c.city] in ("Bergen", "Oslo", None)
