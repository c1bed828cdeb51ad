"""What `import dpsql` offers: all of it, nothing else, and as documented."""

from __future__ import annotations

import inspect
import types

import dpsql
from dpsql import dbapi, errors

ERRORS = {
    name
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, Exception) and kind.__module__ == "dpsql.errors"
}
PEP_249 = {
    *("apilevel", "threadsafety", "paramstyle", "connect", "Connection", "Cursor", "CursorPrivacy"),
    *("Date", "Time", "Timestamp", "DateFromTicks", "TimeFromTicks", "TimestampFromTicks", "Binary"),
    *("STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"),
}


def test_all_is_exactly_the_public_api() -> None:
    assert set(dpsql.__all__) == ERRORS | PEP_249 | {"laplace_mechanism"}
    assert list(dpsql.__all__) == sorted(dpsql.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n))


def test_nothing_else_is_in_the_namespace() -> None:
    others = {name for name in dir(dpsql) if not isinstance(getattr(dpsql, name), types.ModuleType)}
    assert {name for name in others if not name.startswith("_")} == set(dpsql.__all__)


def test_everything_public_is_documented() -> None:
    for name in dpsql.__all__:
        value = getattr(dpsql, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_module_globals() -> None:
    assert (dpsql.apilevel, dpsql.threadsafety, dpsql.paramstyle) == ("2.0", 2, "qmark")


def test_signatures() -> None:
    assert str(inspect.signature(dpsql.connect)) == (
        "(config: 'str | os.PathLike[str]', *, analyst: 'str | None' = None, epsilon: 'object' = None, "
        "level: 'object' = None, create_ledger: 'bool' = False) -> 'Connection'"
    )
    assert list(inspect.signature(dpsql.laplace_mechanism).parameters) == [
        "query_result",
        "epsilon",
        "sensitivity",
    ]
    assert list(inspect.signature(dpsql.Cursor.execute).parameters) == [
        "self",
        "sql",
        "parameters",
        "epsilon",
        "level",
    ]
    for name in ("fetchnumpy", "df", "pl", "arrow"):
        method = inspect.signature(getattr(dpsql.Cursor, name))
        assert str(method).startswith("(self, *, half_widths: 'bool' = False, intervals: 'bool' = False) -> ")


def test_methods_of_cursors() -> None:
    assert {name for name in vars(dpsql.Cursor) if not name.startswith("_")} == {
        *(
            "arraysize",
            "close",
            "description",
            "execute",
            "executemany",
            "explain",
            "fetchall",
            "fetchmany",
            "fetchone",
        ),
        *("nextset", "privacy", "rowcount", "rownumber", "setinputsizes", "setoutputsize"),
        *("arrow", "df", "fetchnumpy", "pl", "plot"),
    }
    for name, value in vars(dpsql.Cursor).items():
        if not name.startswith("_") and name != "arraysize":
            assert inspect.getdoc(value), name


def test_errors_are_the_same_everywhere() -> None:
    for name in ERRORS:
        assert getattr(dpsql, name) is getattr(errors, name)
        if hasattr(dbapi.Connection, name):
            assert getattr(dbapi.Connection, name) is getattr(errors, name)


def test_laplace_mechanism() -> None:
    noisy = dpsql.laplace_mechanism(17, epsilon=1e6, sensitivity=1)
    assert isinstance(noisy, float) and abs(noisy - 17) < 1e-3
