"""SET, SHOW and transactions: settings follow transactions, whoever asks stays the same."""

from __future__ import annotations

import pytest

from dpsql.wire.refusals import Refusal
from dpsql.wire.settings import KNOWN, Settings, at_first, options
from dpsql.wire.transaction import Transaction
from dpsql.wire.utility import Begin, Commit, Release, Rollback, RollbackTo, Savepoint

NAME = "application_name"


def first(**parameters: str) -> Settings:
    return at_first("alice", {"dpsql.epsilon": "1"}, {"user": "alice", **parameters})


def test_what_a_connection_begins_with() -> None:
    found = first(application_name="psql", database="x", options="-c dpsql.epsilon=0.5 --extra-float-digits=3")
    assert (found[NAME], found["dpsql.epsilon"], found["extra_float_digits"]) == ("psql", "0.5", "3")
    assert found["session_authorization"] == "alice"
    assert found.with_value(NAME, "other").with_value(NAME, None)[NAME] == "psql"
    assert found.with_value("dpsql.epsilon", "2").reset()["dpsql.epsilon"] == "0.5"
    assert {"server_version", "client_encoding", "TimeZone", "integer_datetimes"} <= set(found.reported())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("-c a=b", [("a", "b")]),
        ("-ca=b  --c-d=e", [("a", "b"), ("c_d", "e")]),
        ("-c x=a\\ b\\\\", [("x", "a b\\")]),
        ("-c A.b=1", [("a.b", "1")]),
        ("-c a=b=c", [("a", "b=c")]),
    ],
)
def test_options(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(options(text)) == expected


@pytest.mark.parametrize("text", ["-x", "a=b", "-c", "-c a", "--", "-c \\"])
def test_wrong_options(text: str) -> None:
    with pytest.raises(Refusal):
        list(options(text))


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("client_encoding", "'utf-8'", "UTF8"),
        ("client_encoding", "UNICODE", "UTF8"),
        ("datestyle", "ISO", "ISO, MDY"),
        ("datestyle", "iso, dmy", "ISO, DMY"),
        ("extra_float_digits", "3", "3"),
        ("statement_timeout", "5s", "5s"),
        ("statement_timeout", "100", "100ms"),
        ("statement_timeout", "0", "0"),
        ("client_min_messages", "WARNING", "warning"),
        ("standard_conforming_strings", "on", "on"),
        ("timezone", "Etc/UTC", "Etc/UTC"),
        ("dpsql.dry_run", "true", "on"),
        ("dpsql.dry_run", "0", "off"),
        ("search_path", "public, x", "public, x"),
    ],
)
def test_values(name: str, value: str, shown: str) -> None:
    assert first().with_value(name, value).show(name)[1] == shown


@pytest.mark.parametrize(
    ("name", "value", "sqlstate"),
    [
        ("client_encoding", "latin1", "0A000"),
        ("datestyle", "German", "22023"),
        ("extra_float_digits", "4", "22023"),
        ("extra_float_digits", "x", "22023"),
        ("statement_timeout", "-1", "22023"),
        ("statement_timeout", "1 y", "22023"),
        ("client_min_messages", "loud", "22023"),
        ("standard_conforming_strings", "off", "22023"),
        ("dpsql.dry_run", "maybe", "22023"),
        ("server_version", "16", "55P02"),
        ("session_authorization", "bob", "55P02"),
        ("is_superuser", "on", "55P02"),
        ("noise", "off", "42704"),
        ("dpsql.seed", "1", "42704"),
        ("role", "bob", "42704"),
        ("search_path", "x" * 2000, "22023"),
    ],
)
def test_wrong_values(name: str, value: str, sqlstate: str) -> None:
    with pytest.raises(Refusal) as refused:
        first().with_value(name, value)
    assert refused.value.sqlstate == sqlstate


def test_every_default_is_a_value() -> None:
    for name, known in KNOWN.items():
        if known.check is not None and known.default:
            assert known.check(name, known.default) == known.default


def test_a_time_limit() -> None:
    assert first().timeout is None
    assert [first().with_value("statement_timeout", v).timeout for v in ("250", "2s", "1min")] == [0.25, 2.0, 60.0]


# ---------------------------------------------------------------------------------------------- transactions


def test_settings_follow_transactions() -> None:
    transaction = Transaction(first())
    transaction.set(NAME, "a", local=False)
    transaction.run(Begin())
    transaction.set(NAME, "b", local=False)
    transaction.set("search_path", "x", local=True)
    transaction.run(Rollback())
    assert (transaction.settings[NAME], transaction.settings["search_path"]) == ("a", "public")
    transaction.run(Begin())
    transaction.set(NAME, "b", local=False)
    transaction.set("search_path", "x", local=True)
    assert transaction.settings["search_path"] == "x"
    transaction.run(Commit())
    assert (transaction.settings[NAME], transaction.settings["search_path"]) == ("b", "public")
    transaction.set("search_path", "x", local=True)  # outside of a block it ends at once
    assert transaction.settings["search_path"] == "public"


def test_savepoints() -> None:
    transaction = Transaction(first())
    transaction.run(Begin())
    transaction.run(Savepoint("s"))
    transaction.set(NAME, "b", local=False)
    transaction.run(Savepoint("t"))
    transaction.fail()
    assert transaction.run(RollbackTo("s")) == ("ROLLBACK", None)
    assert (transaction.status, transaction.settings[NAME]) == ("T", "")
    with pytest.raises(Refusal, match='"t" does not exist'):
        transaction.run(RollbackTo("t"))
    assert transaction.run(Release("s")) == ("RELEASE", None)
    with pytest.raises(Refusal, match='"s" does not exist') as refused:
        transaction.run(Release("s"))
    assert refused.value.sqlstate == "3B001"
    transaction.run(Commit())
    assert transaction.settings[NAME] == ""


def test_a_block_that_failed_refuses_all_until_it_ends() -> None:
    transaction = Transaction(first())
    transaction.fail()
    assert transaction.status == "I"
    transaction.run(Begin())
    transaction.fail()
    for statement in (Begin(), Savepoint("s"), Release("s")):
        with pytest.raises(Refusal) as refused:
            transaction.run(statement)
        assert refused.value.sqlstate == "25P02"
    with pytest.raises(Refusal):
        transaction.check()
    assert transaction.run(Commit()) == ("ROLLBACK", None)
    assert transaction.status == "I"


def test_chains_and_warnings() -> None:
    transaction = Transaction(first())
    assert transaction.run(Commit()) == ("COMMIT", "there is no transaction in progress")
    assert transaction.run(Rollback()) == ("ROLLBACK", "there is no transaction in progress")
    transaction.run(Begin())
    assert transaction.run(Begin()) == ("BEGIN", "there is already a transaction in progress")
    transaction.run(Commit(chain=True))
    assert transaction.status == "T"
    for statement in (Savepoint("s"), Release("s"), RollbackTo("s")):
        with pytest.raises(Refusal) as refused:
            Transaction(first()).run(statement)
        assert refused.value.sqlstate == "25P01"


def test_the_number_of_savepoints_is_limited() -> None:
    transaction = Transaction(first())
    transaction.run(Begin())
    with pytest.raises(Refusal, match="savepoints") as refused:
        for _ in range(2_000):
            transaction.run(Savepoint("s"))
    assert refused.value.sqlstate == "54000"
