"""What connects to PostgreSQL connects to dpsql: each client of README's table has the same conversation with both.

Only what PostgreSQL has nothing like (a refusal, an exhausted budget) is left out there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.programs import absent, need
from tests.wire import postgres as postgresql
from tests.wire.clients import adapters, programs
from tests.wire.clients.readme import lines
from tests.wire.clients.script import AGGREGATE, CANCELLED, FOUND, LIST, STEPS, Answer, Client, talk
from tests.wire.clients.servers import CHARGED, Address, Deployment, Served

pytestmark = pytest.mark.slow

OF_PYTHON: dict[str, tuple[type[Client], ...]] = {
    "psycopg": (adapters.Psycopg, adapters.PsycopgAsync, adapters.PsycopgPipeline, adapters.PsycopgBinary),
    "psycopg2": (adapters.Psycopg2,),
    "asyncpg": (adapters.Asyncpg,),
    "pg8000": (adapters.Pg8000,),
    "SQLAlchemy": (adapters.SqlAlchemy,),
    "pandas": (adapters.Pandas, adapters.PandasAdbc),
    "polars": (adapters.Polars, adapters.PolarsAdbc, adapters.PolarsConnectorx),
    "ADBC": (adapters.Adbc,),
    "connectorx": (adapters.Connectorx,),
}
PROGRAMS: tuple[type[Client], ...] = (programs.Psql, programs.Jdbc, programs.JdbcBinary, programs.Node)
USERS = [kind.name for kind in (*(kind for kinds in OF_PYTHON.values() for kind in kinds), *PROGRAMS)]


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return Deployment(tmp_path_factory.mktemp("clients"), USERS)


@pytest.fixture(scope="session")
def dpsql(deployment: Deployment) -> Iterator[Served]:
    with deployment.dpsql() as served:
        yield served


@pytest.fixture(scope="session")
def postgres(deployment: Deployment) -> Iterator[Served | None]:
    """None where PostgreSQL 15 isn't installed; a test of its own tells that."""
    if absent(postgresql.PROGRAMS):
        yield None
    else:
        with deployment.postgres() as served:
            yield served


def test_postgres_is_there_to_compare_with() -> None:
    need("postgresql-15", postgresql.PROGRAMS)


def converse(make: Callable[[Address], Client], user: str, dpsql: Served, postgres: Served | None) -> None:
    """The conversation with dpsql must go as the script says, and as the same one with PostgreSQL."""
    found = talk(make, dpsql.address(user))
    steps = [step for step in STEPS if step is not LIST or LIST.name in found]
    for step in steps:
        step.check(found[step.name])
    charged = [" ".join(statement.split()) for statement in dpsql.charged(user)]
    assert len(charged) == CHARGED and charged[0].startswith(AGGREGATE.sql.partition("{}")[0]), charged
    assert CANCELLED.sql in charged[1]
    if postgres is not None:
        theirs = talk(make, postgres.address(user))
        for step in steps:
            if not step.of_dpsql:
                step.check(theirs[step.name])
                assert _shown(found[step.name]) == _shown(theirs[step.name]), step.name
        assert found[FOUND].keys() == theirs[FOUND].keys()
        for name, ours in found[FOUND].items():
            assert ours == theirs[FOUND][name], name


def _shown(outcome: Any) -> Any:
    """How a client shows an outcome: the columns with its words for their types, or the SQLSTATE."""
    return outcome.columns if isinstance(outcome, Answer) else outcome.sqlstate


@pytest.mark.parametrize("client", OF_PYTHON)
def test_clients_of_python(client: str, dpsql: Served, postgres: Served | None) -> None:
    for kind in OF_PYTHON[client]:
        converse(kind, kind.name, dpsql, postgres)


def test_psql(dpsql: Served, postgres: Served | None) -> None:
    need("postgresql-client-15", "psql")
    converse(programs.Psql, programs.Psql.name, dpsql, postgres)


def test_jdbc(dpsql: Served, postgres: Served | None) -> None:
    need("default-jdk-headless, libpostgresql-jdbc-java", "java", "javac", programs.DRIVER)
    with programs.Jdbc.program() as program:
        for kind in (programs.Jdbc, programs.JdbcBinary):
            converse(partial(kind, program), kind.name, dpsql, postgres)


def test_node_postgres(dpsql: Served, postgres: Served | None, pytestconfig: pytest.Config) -> None:
    folder = pytestconfig.cache.mkdir("node-postgres")
    programs.install(folder)
    with programs.Node.program(folder) as program:
        converse(partial(programs.Node, program), programs.Node.name, dpsql, postgres)


def test_readme_has_a_line_for_each_client() -> None:
    assert set(lines()) == {*OF_PYTHON, "psql", "JDBC", "node-postgres"}
