"""URLs, what is charged and told, transactions that do nothing, connections that end."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, exc, func, select, table, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool, QueuePool

import dpsql
from dpsql.sqlalchemy import DpsqlDialect
from tests.sqlalchemy.deployment import connected, write

COUNT = select(func.count()).select_from(table("visits"))
OLD = text("SELECT COUNT(*) FROM visits WHERE age > :age")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("clinic"))


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    with connected(path) as made:
        yield made


def charged(path: Path) -> int:
    with dpsql.connect(path, create_ledger=True) as connection:
        return len(list(connection.session.ledger.charges()))


# ---------------------------------------------------------------------------------------------- URLs


def test_the_dialect_is_found_by_its_name() -> None:
    for url in ("dpsql:///a.yaml", "dpsql+dpsql:///a.yaml"):
        assert make_url(url).get_dialect() is DpsqlDialect


def test_paths(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for url in (f"dpsql:///{path}", "dpsql:///policy.yaml", f"dpsql:///../{path.parent.name}/policy.yaml"):
        engine = create_engine(f"{url}?create_ledger=true")
        with engine.connect() as connection:
            assert connection.scalar(COUNT) == 4
            assert connection.info["privacy"].analyst == dpsql.session.system_user()
        engine.dispose()
    assert os.path.isabs(make_url(f"dpsql:///{path}").database or "")


def test_what_a_url_says(path: Path) -> None:
    with connected(path, "analyst=bob&epsilon=2e6&level=0.5") as engine, engine.connect() as connection:
        connection.execute(COUNT)
        privacy = connection.info["privacy"]
        assert (privacy.analyst, privacy.epsilon_charged, privacy.level) == ("bob", 2_000_000, 0.5)
    engine = create_engine(f"dpsql:///{path}", connect_args={"analyst": "bob", "epsilon": "1e5"})
    with engine.connect() as connection:
        connection.execute(COUNT)
        assert connection.info["privacy"].epsilon_charged == 100_000
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("dpsql://", "names a policy's file"),
        ("dpsql://host/policy.yaml", "no host or user"),
        ("dpsql://alice@/policy.yaml", "no host or user"),
        ("dpsql://:5432/policy.yaml", "no host or user"),
        ("dpsql:///policy.yaml?epsilom=1", "'epsilom' in a dpsql URL is not known; there are analyst, epsilon"),
        ("dpsql:///policy.yaml?epsilon=1&epsilon=2", "'epsilon' in a dpsql URL is given twice"),
        ("dpsql:///policy.yaml?create_ledger=maybe", "true or false, not 'maybe'"),
    ],
)
def test_urls_that_are_wrong(url: str, words: str) -> None:
    with pytest.raises(exc.ArgumentError, match=words):
        create_engine(url)


def test_connections_that_are_refused(path: Path, tmp_path: Path) -> None:
    for url, kind, words in (
        (f"dpsql:///{tmp_path}/none.yaml", exc.DataError, "none.yaml"),
        (f"dpsql:///{write(tmp_path)}", exc.OperationalError, "ledger"),
        (f"dpsql:///{path}?epsilon=many&create_ledger=1", exc.DataError, "hint"),
    ):
        with pytest.raises(kind, match=words):
            create_engine(url).connect()


def test_what_is_known_of_the_server(engine: Engine) -> None:
    with engine.connect():
        dialect = engine.dialect
        version = ".".join(map(str, dialect.server_version_info or ()))
        assert metadata.version("dpsql") == version
        assert (dialect.default_schema_name, dialect.default_isolation_level) == ("public", "AUTOCOMMIT")
        assert (dialect.paramstyle, dialect.positional) == ("qmark", True)
    assert isinstance(engine.pool, QueuePool)


@pytest.mark.parametrize(
    "options",
    [
        {"paramstyle": "named"}, {"paramstyle": "numeric_dollar"}, {"isolation_level": "AUTOCOMMIT"},
        {"poolclass": NullPool}, {"query_cache_size": 0},
    ],
)  # fmt: skip
def test_options_of_engines(path: Path, options: dict[str, Any]) -> None:
    asked = text("SELECT city FROM visits GROUP BY city HAVING COUNT(*) > :n ORDER BY city LIMIT :most OFFSET :first")
    with connected(path, **options) as engine, engine.connect().execution_options(yield_per=1) as connection:
        assert connection.execute(asked, {"most": 5, "n": 0, "first": 1}).all() == [("Oslo",)]


# ---------------------------------------------------------------------------------------------- ε and what it bought


def test_epsilon_and_level_of_a_statement(engine: Engine) -> None:
    with engine.connect() as connection:
        result = connection.execute(COUNT, execution_options={"epsilon": "0.5", "level": 0.9})
        privacy = result.context.privacy
        assert (privacy.epsilon_charged, privacy.level) == (Fraction(1, 2), 0.9)
        assert len(result.all()) == 1 and result.context.privacy is privacy
        wide = connection.execute(COUNT.execution_options(epsilon=Fraction(1, 4))).context.privacy
        assert wide.epsilon_charged == Fraction(1, 4) and wide.half_widths[0] > privacy.half_widths[0]
        assert connection.execute(COUNT).context.privacy.epsilon_charged == 10**7


def test_epsilon_of_connections_and_engines(engine: Engine) -> None:
    careful = engine.execution_options(epsilon=0.5)
    with careful.connect() as connection:
        connection.execute(COUNT)
        assert connection.info["privacy"].epsilon_charged == Fraction(1, 2)
        with careful.connect().execution_options(epsilon=0.25) as other:
            other.exec_driver_sql("SELECT COUNT(*) FROM visits")
            assert other.info["privacy"].epsilon_charged == Fraction(1, 4)
    with engine.connect() as connection:
        connection.execute(COUNT)
        assert connection.info["privacy"].epsilon_charged == 10**7


def test_epsilon_of_statements_without_parameters(engine: Engine) -> None:
    with engine.connect().execution_options(no_parameters=True, epsilon=0.5) as connection:
        connection.exec_driver_sql("SELECT COUNT(*) FROM visits")
        assert connection.info["privacy"].epsilon_charged == Fraction(1, 2)


def test_an_epsilon_that_is_none(engine: Engine, path: Path) -> None:
    before = charged(path)
    with engine.connect() as connection:
        connection.execute(COUNT)
        with pytest.raises(exc.DataError, match="epsilon") as caught:
            connection.execute(COUNT, execution_options={"epsilon": -1})
        assert caught.value.orig.sqlstate == "22P02"  # type: ignore[union-attr]
        assert "privacy" not in connection.info
    assert charged(path) == before + 1


def test_the_budget_and_its_end(path: Path) -> None:
    with connected(path, "analyst=poor&epsilon=0.75") as engine, engine.connect() as connection:
        connection.execute(COUNT)
        assert str(connection.info["privacy"]) == "charged ε 0.75, 0.25 left"
        with pytest.raises(exc.OperationalError, match="hint") as caught:
            connection.execute(COUNT)
        assert isinstance(caught.value.orig, dpsql.BudgetExhausted)
        assert caught.value.orig.sqlstate == "53400" and not caught.value.connection_invalidated
        connection.rollback()
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM codes").scalar() == 4


def test_stored_answers_cost_nothing(tmp_path: Path) -> None:
    with connected(write(tmp_path, answers="per_analyst")) as engine, engine.connect() as connection:
        costs = [connection.execute(COUNT).context.privacy.epsilon_charged for _ in range(3)]
        assert costs == [10**7, 0, 0]


def test_explain(engine: Engine, path: Path) -> None:
    before = charged(path)
    with engine.connect() as connection:
        plan = connection.execute(text("EXPLAIN SELECT COUNT(*) FROM visits WHERE age > :age"), {"age": 3}).scalars()
        assert any("discrete Laplace" in line for line in plan)
    assert charged(path) == before


# ---------------------------------------------------------------------------------------------- transactions


def test_rollback_refunds_nothing(engine: Engine, path: Path) -> None:
    before = charged(path)
    with engine.connect() as connection:
        connection.execute(COUNT)
        connection.rollback()
        with connection.begin() as transaction, connection.begin_nested() as savepoint:
            connection.execute(COUNT)
            savepoint.rollback()
            transaction.rollback()
        with connection.begin(), connection.begin_nested():
            connection.execute(COUNT)
        connection.commit()
    with pytest.raises(ZeroDivisionError), engine.begin() as connection:
        connection.execute(COUNT)
        raise ZeroDivisionError
    assert charged(path) == before + 4


def test_isolation_levels(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "AUTOCOMMIT"
        assert engine.dialect.detect_autocommit_setting(connection.connection.dbapi_connection)  # type: ignore[arg-type]
        assert connection.execution_options(isolation_level="AUTOCOMMIT").scalar(COUNT) == 4
    with pytest.raises(exc.ArgumentError, match="Valid isolation levels for 'dpsql' are AUTOCOMMIT"):
        engine.connect().execution_options(isolation_level="SERIALIZABLE")


# ---------------------------------------------------------------------------------------------- connections


def test_a_connection_that_was_closed_is_made_anew(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.connection.dbapi_connection.close()  # type: ignore[union-attr]
        with pytest.raises(exc.InterfaceError) as caught:
            connection.execute(COUNT)
        assert caught.value.connection_invalidated
        connection.rollback()
        assert connection.scalar(COUNT) == 4


def test_a_refusal_ends_no_connection(engine: Engine) -> None:
    with engine.connect() as connection:
        first = connection.connection.dbapi_connection
        for wrong in ("SELECT age FROM visits", "SELEC 1 FROM FROM", "SELECT nothing FROM codes"):
            with pytest.raises(exc.ProgrammingError) as caught:
                connection.exec_driver_sql(wrong)
            assert not caught.value.connection_invalidated
        assert connection.connection.dbapi_connection is first
        cursor = first.cursor()  # type: ignore[union-attr]
        cursor.close()
        with pytest.raises(dpsql.InterfaceError) as closed:
            cursor.execute("SELECT 1")
        assert not engine.dialect.is_disconnect(closed.value, first, cursor)


def test_the_pool_looks_before_it_gives(path: Path) -> None:
    with connected(path, pool_pre_ping=True, pool_size=1, max_overflow=0) as engine:
        with engine.connect() as connection:
            broken = connection.connection.dbapi_connection
        broken.close()  # type: ignore[union-attr]
        with engine.connect() as connection:
            assert connection.connection.dbapi_connection is not broken
            assert connection.scalar(COUNT) == 4
            assert engine.dialect.do_ping(connection.connection.dbapi_connection)  # type: ignore[arg-type]


def test_a_ping_asks_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.connect() as connection:
        monkeypatch.delattr(dpsql.Cursor, "execute")
        assert engine.dialect.do_ping(connection.connection.dbapi_connection)  # type: ignore[arg-type]


def test_threads_share_an_engine(engine: Engine, path: Path) -> None:
    before, found = charged(path), []

    def ask(age: int) -> None:
        with engine.connect() as connection:
            found.append((connection.scalar(OLD, {"age": age}), connection.info["privacy"].epsilon_charged))

    threads = [threading.Thread(target=ask, args=(30 + number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(3, 10**7)] * 8 and charged(path) == before + 8


def test_disposing_lets_everything_go(path: Path) -> None:
    with connected(path) as engine, engine.connect() as connection:
        session = connection.connection.dbapi_connection.session  # type: ignore[union-attr]
    assert session not in [shared.session for shared in dpsql.dbapi._sessions.values()]
