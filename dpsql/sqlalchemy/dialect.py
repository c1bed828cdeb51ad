"""The dialect: URLs, connections, transactions that do nothing, and the ε of a statement.

`execution_options(epsilon=0.1, level=0.9)`, of a statement, connection, session or engine, is what `cursor.execute`
takes under these names. What a statement cost, and how exact its answer is, is `result.context.privacy`, and of the
connection's last statement `connection.info["privacy"]`: a dpsql.CursorPrivacy.
"""

from __future__ import annotations

from importlib import metadata
from types import ModuleType
from typing import Any, cast

from sqlalchemy import exc, types
from sqlalchemy.engine import URL, Connection, default
from sqlalchemy.sql.compiler import IdentifierPreparer

from dpsql import dbapi
from dpsql.errors import InterfaceError
from dpsql.sqlalchemy import kinds
from dpsql.sqlalchemy.compiler import Compiler, Preparer, Types
from dpsql.sqlalchemy.reflection import Reflection, session_of

_OPTIONS = ("analyst", "epsilon", "level", "create_ledger")
_FORMS = "write dpsql:///relative/policy.yaml?analyst=alice or dpsql:////absolute/policy.yaml"


class Context(default.DefaultExecutionContext):
    """One statement being executed.

    privacy  what it cost, and how exact its answer is; None before
    """

    privacy: dbapi.CursorPrivacy | None = None

    def pre_exec(self) -> None:
        self.root_connection.info.pop("privacy", None)

    def post_exec(self) -> None:
        self.privacy = cast(dbapi.Cursor, self.cursor).privacy
        self.root_connection.info["privacy"] = self.privacy


class DpsqlDialect(Reflection):
    """dpsql in this process. `written` is the policy's SQL dialect, known once there is a connection."""

    name = "dpsql"
    driver = "dpsql"
    default_paramstyle = dbapi.paramstyle
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_uuid = False
    supports_multivalues_insert = True
    supports_alter = False
    supports_comments = True
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    max_identifier_length = 255
    div_is_floordiv = False
    written = "duckdb"

    preparer: type[IdentifierPreparer] = Preparer
    statement_compiler = Compiler
    type_compiler_cls = Types
    execution_ctx_cls = Context
    colspecs = {types.Numeric: kinds.Numeric, types.Float: kinds.Float, types.Double: kinds.Double}  # noqa: RUF012

    # -- connecting

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, Any]]:
        """What `dpsql.connect` takes, of `dpsql:///path?analyst=…&epsilon=…&level=…&create_ledger=true`."""
        if url.host or url.port or url.username or url.password or not url.database:
            raise exc.ArgumentError(f"a dpsql URL names a policy's file and no host or user: {_FORMS}")
        for option, value in url.query.items():
            if option not in _OPTIONS or not isinstance(value, str):
                how = "given twice" if option in _OPTIONS else "not known"
                raise exc.ArgumentError(f"{option!r} in a dpsql URL is {how}; there are {', '.join(_OPTIONS)}")
        options: dict[str, Any] = dict(url.query)
        if "create_ledger" in options:
            options["create_ledger"] = _truth(options["create_ledger"])
        return [url.database], options

    def initialize(self, connection: Connection) -> None:
        """Learn what the policy decides, on the first connection."""
        super().initialize(connection)
        self.written = session_of(connection).policy.dialect
        self.div_is_floordiv = self.written == "postgres"
        self.identifier_preparer = self.preparer(self)

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        return tuple(int(part) for part in metadata.version("dpsql").split(".") if part.isdigit())

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.session  # noqa: B018 - raises where closed
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Whether the connection is closed: nothing else ends it."""
        return isinstance(e, InterfaceError) and connection is not None and bool(connection.closed)

    # -- executing

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        options = context.execution_options if context is not None else {}
        cursor.execute(statement, parameters, epsilon=options.get("epsilon"), level=options.get("level"))

    def do_execute_no_params(self, cursor: Any, statement: str, context: Any = None) -> None:
        self.do_execute(cursor, statement, (), context)

    # -- transactions: there are none, and what was charged stays charged

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:
        return ["AUTOCOMMIT"]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return "AUTOCOMMIT"

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        pass

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        return True

    def do_savepoint(self, connection: Connection, name: str) -> None:
        pass

    def do_rollback_to_savepoint(self, connection: Connection, name: str) -> None:
        pass

    def do_release_savepoint(self, connection: Connection, name: str) -> None:
        pass


def _truth(text: str) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in known:
        raise exc.ArgumentError(f"create_ledger in a dpsql URL is true or false, not {text!r}")
    return known[text.lower()]
