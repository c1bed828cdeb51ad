"""Clients of Python. Each connects by README's line, and has a user of its name."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import adbc_driver_postgresql
import adbc_driver_postgresql.dbapi
import asyncpg  # type: ignore[import-untyped]
import connectorx
import pandas
import pg8000
import polars
import psycopg
import psycopg2
import pyarrow
import sqlalchemy

from tests.wire.clients.readme import line
from tests.wire.clients.script import Answer, Client, dollars, rows
from tests.wire.clients.servers import Address

_MODULES = {
    "adbc_driver_postgresql": adbc_driver_postgresql, "asyncpg": asyncpg, "connectorx": connectorx, "pandas": pandas,
    "pg8000": pg8000, "polars": polars, "psycopg": psycopg, "psycopg2": psycopg2, "sqlalchemy": sqlalchemy, "ssl": ssl,
}  # fmt: skip


def readme(name: str, address: Address, **values: Any) -> Any:
    """What README's line for a client gives."""
    return eval(line(name, address), {**_MODULES, **values})


def percents(sql: str) -> str:
    """With %s."""
    return sql.replace("{}", "%s")


def named(sql: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """With :p0, :p1, …, and their values by name."""
    names = [f"p{n}" for n in range(len(values))]
    return sql.format(*(f":{name}" for name in names)), dict(zip(names, values, strict=True))


@contextmanager
def again_and_again(cancel: Callable[[], object]) -> Iterator[None]:
    """Cancel until the block ends: a cancel that comes before its statement does nothing."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(0.1):
            cancel()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# ---------------------------------------------------------------------------------------------- psycopg


class Psycopg(Client):
    name = "psycopg"
    lists = True

    def __init__(self, address: Address) -> None:
        self._connection = readme("psycopg", address)
        self._connection.autocommit = True

    def close(self) -> None:
        self._connection.close()

    def _cursor(self) -> psycopg.Cursor[Any]:
        return self._connection.cursor()  # type: ignore[no-any-return]

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        cursor = self._cursor()
        cursor.execute(percents(sql), values or None)  # type: ignore[call-overload]
        return _of_psycopg(cursor.description, cursor.fetchall())

    def cancel(self, sql: str) -> None:
        with again_and_again(self._connection.cancel_safe):
            self.ask(sql, ())

    def introspect(self) -> dict[str, Any]:
        infos = [psycopg.types.TypeInfo.fetch(self._connection, name) for name in ("int8", "timestamp", "hstore")]
        types = [info and (info.name, info.oid, info.array_oid, info.regtype) for info in infos]
        return {"types": types, **super().introspect()}


class PsycopgBinary(Psycopg):
    name = "psycopg-binary"

    def _cursor(self) -> psycopg.Cursor[Any]:
        return self._connection.cursor(binary=True)  # type: ignore[no-any-return]


class PsycopgPipeline(Psycopg):
    """Three statements at a time, of which the second is the one that counts."""

    name = "psycopg-pipeline"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._connection.prepare_threshold = None  # it forgets that a failed pipeline prepared nothing

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        with self._connection.pipeline():
            first = self._connection.execute("SELECT 1")
            cursor = self._connection.execute(percents(sql), values or None)
            last = self._connection.execute("SELECT 2")
            found = cursor.fetchall()
            assert (first.fetchone(), last.fetchone()) == ((1,), (2,))
        return _of_psycopg(cursor.description, found)


class PsycopgAsync(Client):
    name = "psycopg-async"
    lists = True

    def __init__(self, address: Address) -> None:
        self._loop = asyncio.Runner()
        made = line("psycopg", address).replace("psycopg.connect", "psycopg.AsyncConnection.connect")
        self._connection = self._run(eval(made, _MODULES))
        self._run(self._connection.set_autocommit(True))

    def _run(self, steps: Awaitable[Any]) -> Any:
        return self._loop.run(_awaited(steps))

    def close(self) -> None:
        self._run(self._connection.close())
        self._loop.close()

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        return self._run(self._ask(sql, values))  # type: ignore[no-any-return]

    async def _ask(self, sql: str, values: Sequence[Any]) -> Answer:
        cursor = await self._connection.execute(percents(sql), values or None)
        return _of_psycopg(cursor.description, await cursor.fetchall())

    def cancel(self, sql: str) -> None:
        async def cancelled() -> None:
            asking = asyncio.create_task(self._ask(sql, ()))
            while not asking.done():
                await asyncio.wait([asking], timeout=0.1)
                await self._connection.cancel_safe()
            await asking

        self._run(cancelled())

    def introspect(self) -> dict[str, Any]:
        info = self._run(psycopg.types.TypeInfo.fetch(self._connection, "float8"))
        return {"type": (info.name, info.oid, info.array_oid, info.regtype), **super().introspect()}


def _of_psycopg(description: Any, found: Any) -> Answer:
    return Answer(tuple((column.name, column.type_display) for column in description), rows(found))


async def _awaited(steps: Awaitable[Any]) -> Any:
    return await steps


# ---------------------------------------------------------------------------------------------- other drivers


class Psycopg2(Client):
    name = "psycopg2"
    lists = True

    def __init__(self, address: Address) -> None:
        self._connection = readme("psycopg2", address)
        self._connection.autocommit = True

    def close(self) -> None:
        self._connection.close()

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        with self._connection.cursor() as cursor:
            cursor.execute(percents(sql), values or None)
            return Answer(tuple((c.name, str(c.type_code)) for c in cursor.description), rows(cursor.fetchall()))

    def cancel(self, sql: str) -> None:
        with again_and_again(self._connection.cancel):
            self.ask(sql, ())

    def sqlstate(self, error: BaseException) -> str | None:
        return getattr(error, "pgcode", None)


class Asyncpg(Client):
    """Lists are left out: it asks the catalogue for types of arrays by WITH RECURSIVE within a subquery that depends on
    the row around it.
    """

    name = "asyncpg"

    def __init__(self, address: Address) -> None:
        self._loop = asyncio.Runner()
        self._connection = self._loop.run(_awaited(readme("asyncpg", address)))

    def close(self) -> None:
        self._loop.run(self._connection.close())
        self._loop.close()

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        return self._loop.run(self._ask(sql, values))

    async def _ask(self, sql: str, values: Sequence[Any]) -> Answer:
        statement = await self._connection.prepare(dollars(sql))
        found = await statement.fetch(*values)
        return Answer(tuple((a.name, a.type.name) for a in statement.get_attributes()), rows(found))

    def cancel(self, sql: str) -> None:
        """It tells a timeout of its own, having cancelled; the next statement would fail if it hadn't."""
        try:
            self._loop.run(self._connection.fetch(sql, timeout=0.3))
        except TimeoutError:
            raise TimeoutError("canceling statement") from None


class Pg8000(Client):
    name = "pg8000"
    lists = True

    def __init__(self, address: Address) -> None:
        self._connection = readme("pg8000", address)
        self._connection.autocommit = True

    def close(self) -> None:
        self._connection.close()

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        cursor = self._connection.cursor()
        cursor.execute(percents(sql), values)
        found = cursor.fetchall() if cursor.description else ()
        return Answer(tuple((c[0], str(c[1])) for c in cursor.description or ()), rows(found))

    def cancel(self, sql: str) -> None:
        self.ask("SET statement_timeout = '300ms'", ())
        try:
            self.ask(sql, ())
        finally:
            self.ask("RESET statement_timeout", ())

    def sqlstate(self, error: BaseException) -> str | None:
        fields = error.args[0] if error.args else None
        return fields.get("C") if isinstance(fields, dict) else None


# ---------------------------------------------------------------------------------------------- SQLAlchemy, frames


class SqlAlchemy(Client):
    name = "SQLAlchemy"
    lists = True

    def __init__(self, address: Address) -> None:
        self._engine: sqlalchemy.Engine = readme("SQLAlchemy", address)
        self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        text, by_name = named(sql, values)
        found = self._connection.execute(sqlalchemy.text(text), by_name)
        assert found.cursor is not None
        columns = tuple((c.name, c.type_display) for c in found.cursor.description)  # type: ignore[attr-defined]
        return Answer(columns, rows(found))

    def cancel(self, sql: str) -> None:
        driver: Any = self._connection.connection.driver_connection
        with again_and_again(driver.cancel_safe):
            self.ask(sql, ())

    def sqlstate(self, error: BaseException) -> str | None:
        return getattr(getattr(error, "orig", None), "sqlstate", None)

    def introspect(self) -> dict[str, Any]:
        found = sqlalchemy.inspect(self._engine)
        tables = sorted(found.get_table_names())
        return {
            "version": self._engine.dialect.server_version_info[0],  # type: ignore[index]
            "schemas": sorted(found.get_schema_names()),
            "tables": tables,
            "views": found.get_view_names(),
            "comments": {table: found.get_table_comment(table) for table in tables},
            "columns": {table: [{**c, "type": str(c["type"])} for c in found.get_columns(table)] for table in tables},
            "keys": {table: (found.get_pk_constraint(table), found.get_foreign_keys(table)) for table in tables},
            "others": {table: (found.get_indexes(table), found.get_unique_constraints(table)) for table in tables},
            "checks": {table: found.get_check_constraints(table) for table in tables},
            "has": (found.has_table("people"), found.has_table("nobody")),
        }


class Pandas(SqlAlchemy):
    """Over an engine of SQLAlchemy."""

    name = "pandas"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._address = address

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        return _read_sql(self._address, self._connection, percents(sql), values)

    def introspect(self) -> dict[str, Any]:
        frame = pandas.read_sql_table("regions", self._connection)
        return {"table": [(name, str(dtype)) for name, dtype in frame.dtypes.items()], "rows": len(frame)}


def _read_sql(address: Address, engine: Any, query: str, values: Sequence[Any]) -> Answer:
    return _of_pandas(readme("pandas", address, query=query, engine=engine, values=tuple(values) or None))


def _of_pandas(frame: pandas.DataFrame) -> Answer:
    columns = tuple((str(name), str(dtype)) for name, dtype in frame.dtypes.items())
    cells = frame.astype(object).where(frame.notna(), None)
    return Answer(columns, rows([_python(v) for v in row] for row in cells.itertuples(index=False)))


def _python(value: Any) -> Any:
    return value.to_pydatetime() if isinstance(value, pandas.Timestamp) else value


class Polars(SqlAlchemy):
    """Over an engine of SQLAlchemy."""

    name = "polars"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._address = address

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        text, by_name = named(sql, values)
        return _of_polars(readme("polars", self._address, query=text, engine=self._connection, values=by_name))


def _of_polars(frame: polars.DataFrame) -> Answer:
    return Answer(tuple((name, str(kind)) for name, kind in frame.schema.items()), rows(frame.rows()))


# ---------------------------------------------------------------------------------------------- Arrow


class Adbc(Client):
    name = "ADBC"

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection = readme("ADBC", address)
        self._connection.adbc_connection.set_autocommit(True)

    def close(self) -> None:
        self._connection.close()

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        with self._connection.cursor() as cursor:
            cursor.execute(dollars(sql), values or None)
            return _of_arrow(cursor.fetch_arrow_table())

    def cancel(self, sql: str) -> None:
        with self._connection.cursor() as cursor, again_and_again(cursor.adbc_cancel):
            cursor.execute(sql)
            cursor.fetch_arrow_table()

    def introspect(self) -> dict[str, Any]:
        objects = self._connection.adbc_get_objects(depth="all", db_schema_filter="public").read_all().to_pylist()
        (here,) = [found for found in objects if found["catalog_name"] == self._address.database]
        for schema in here["catalog_db_schemas"]:  # it asks for no order
            for table in schema["db_schema_tables"]:
                table["table_columns"].sort(key=lambda column: column["ordinal_position"])
            schema["db_schema_tables"].sort(key=lambda table: table["table_name"])
        return {
            "objects": here,
            "schemas": {t: str(self._connection.adbc_get_table_schema(t)) for t in ("people", "regions", "kinds")},
            "kinds of tables": self._connection.adbc_get_table_types(),
        }


def _of_arrow(table: pyarrow.Table) -> Answer:
    columns = tuple((field.name, str(field.type)) for field in table.schema)
    return Answer(columns, rows(zip(*(column.to_pylist() for column in table.columns), strict=True)))


class PandasAdbc(Adbc):
    """Over a connection of ADBC. It has no parameters there."""

    name = "pandas-ADBC"

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection = readme("ADBC", address)

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        return _read_sql(self._address, self._connection, sql.format(*map(_literal, values)), ())

    def cancel(self, sql: str) -> None:
        try:
            super().cancel(sql)
        finally:
            self._connection.rollback()

    def introspect(self) -> dict[str, Any]:
        frame = pandas.read_sql_table("regions", self._connection)
        return {"table": [(name, str(dtype)) for name, dtype in frame.dtypes.items()], "rows": len(frame)}


_LIMIT = "&options=-c%20statement_timeout%3D300ms"
"""What cuts statements short where a client connects by a URI and can't cancel."""


class PolarsAdbc(Client):
    """By a URI, over ADBC: connects for each statement, and can't cancel."""

    name = "polars-ADBC"

    def __init__(self, address: Address) -> None:
        self._uri = line("ADBC", address).split('"')[1]

    def close(self) -> None:
        pass

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        options = {"parameters": tuple(values)} if values else None
        return _of_polars(polars.read_database_uri(dollars(sql), self._uri, engine="adbc", execute_options=options))

    def cancel(self, sql: str) -> None:
        polars.read_database_uri(sql, self._uri + _LIMIT, engine="adbc")


class Connectorx(Client):
    """Connects for each statement. It has no parameters, shows no SQLSTATE, and can't cancel."""

    name = "connectorx"

    def __init__(self, address: Address) -> None:
        self._line = line("connectorx", address)

    def close(self) -> None:
        pass

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        return _of_arrow(eval(self._line, {**_MODULES, "query": sql.format(*map(_literal, values))}))

    def cancel(self, sql: str) -> None:
        eval(self._line.replace('", query', f'{_LIMIT}", query'), {**_MODULES, "query": sql})


class PolarsConnectorx(Connectorx):
    """By a URI, over connectorx."""

    name = "polars-connectorx"

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        query = sql.format(*map(_literal, values))
        return _of_polars(polars.read_database_uri(query, self._line.split('"')[1], engine="connectorx"))


def _literal(value: object) -> str:
    """A value as SQL writes it."""
    quoted = isinstance(value, (str, dt.date))
    return "'" + str(value).replace("'", "''") + "'" if quoted else str(value)
