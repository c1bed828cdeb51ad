"""Statements that are no queries: what they mean, where they are wrong; any text is one, or a query, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.wire import utility as u
from dpsql.wire.commands import command
from dpsql.wire.copying import Form
from dpsql.wire.lexer import first_word, tokens
from dpsql.wire.refusals import Refusal
from tests.harness import examples
from tests.wire.client import Row, errors
from tests.wire.clinic import connect, opened

READ: list[tuple[str, u.Utility | None]] = [
    ("BEGIN", u.Begin()),
    ("begin transaction isolation level serializable, read only;", u.Begin()),
    ("START TRANSACTION READ ONLY", u.Begin()),
    ("BEGIN READ ONLY;", u.Begin()),
    ("commit work", u.Commit()),
    ("END", u.Commit()),
    ("COMMIT AND CHAIN", u.Commit(chain=True)),
    ("COMMIT AND NO CHAIN", u.Commit()),
    ("ROLLBACK;", u.Rollback()),
    ("abort", u.Rollback()),
    ("ROLLBACK AND CHAIN", u.Rollback(chain=True)),
    ('ROLLBACK TO SAVEPOINT "A b"', u.RollbackTo("A b")),
    ("rollback transaction to A", u.RollbackTo("a")),
    ('SAVEPOINT "_pg3_1"', u.Savepoint("_pg3_1")),
    ('RELEASE "_pg3_1"', u.Release("_pg3_1")),
    ("release savepoint x", u.Release("x")),
    ("SET extra_float_digits = 3", u.Set("extra_float_digits", "3")),
    ("SET application_name = 'PostgreSQL JDBC Driver'", u.Set("application_name", "PostgreSQL JDBC Driver")),
    ("SET DateStyle TO ISO, MDY", u.Set("datestyle", "ISO, MDY")),
    ("set session search_path to 'public', \"A\"", u.Set("search_path", "public, A")),
    ("SET LOCAL statement_timeout = 1000", u.Set("statement_timeout", "1000", local=True)),
    ("SET dpsql.epsilon = 0.25", u.Set("dpsql.epsilon", "0.25")),
    ("SET dpsql.epsilon TO '1e-2'", u.Set("dpsql.epsilon", "1e-2")),
    ("SET dpsql.epsilon = DEFAULT", u.Set("dpsql.epsilon", None)),
    ("SET extra_float_digits = -3", u.Set("extra_float_digits", "-3")),
    ("SET TIMEZONE = UTC", u.Set("timezone", "UTC")),
    ("SET TIME ZONE 'Europe/Oslo'", u.Set("timezone", "Europe/Oslo")),
    ("SET TIME ZONE LOCAL", u.Set("timezone", None)),
    ("SET TIME ZONE -7", u.Set("timezone", "-7")),
    ("SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", u.Set("timezone", "+02:00")),
    ("SET NAMES 'utf8'", u.Set("client_encoding", "utf8")),
    ("SET NAMES", u.Set("client_encoding", None)),
    ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", u.SetTransaction()),
    ("SET TRANSACTION READ ONLY", u.SetTransaction()),
    ("RESET ALL", u.Reset(None)),
    ("reset TimeZone", u.Reset("timezone")),
    ("show transaction isolation level", u.Show("transaction_isolation")),
    ("SHOW TIME ZONE", u.Show("timezone")),
    ("SHOW ALL", u.Show(None)),
    ("show dpsql.budget;", u.Show("dpsql.budget")),
    ("DISCARD ALL", u.Discard("all")),
    ('DEALLOCATE "_PLAN0x55995a6830e0"', u.Deallocate("_PLAN0x55995a6830e0")),
    ("deallocate prepare all", u.Deallocate(None)),
    ("DECLARE _psql_cursor NO SCROLL CURSOR FOR\nselect 1", u.Declare("_psql_cursor", "select 1", 42)),
    (
        'DECLARE "c" BINARY INSENSITIVE CURSOR WITH HOLD FOR select 1;',
        u.Declare("c", "select 1", 52, binary=True, hold=True),
    ),
    ("FETCH FORWARD 2 FROM _psql_cursor", u.Fetch("_psql_cursor", 2)),
    ("fetch c", u.Fetch("c", 1)),
    ("FETCH ALL IN c", u.Fetch("c", u.ALL)),
    ("fetch forward all c", u.Fetch("c", u.ALL)),
    ("FETCH NEXT c", u.Fetch("c", 1)),
    ("fetch 0 from c", u.Fetch("c", 0)),
    ("fetch absolute 3 from c", u.Fetch("c", 3, absolute=True)),
    ("fetch first from c", u.Fetch("c", 1, absolute=True)),
    ("MOVE 5 FROM c", u.Fetch("c", 5, move=True)),
    ("CLOSE ALL", u.CloseCursor(None)),
    ("close c", u.CloseCursor("c")),
    ("UNLISTEN *", u.Nothing("UNLISTEN")),
    ("COPY (select 1) TO STDOUT (FORMAT binary)", u.Copy("select 1", 6, Form("binary"))),
    ("COPY (select ')' , (1)) TO STDOUT WITH BINARY", u.Copy("select ')' , (1)", 6, Form("binary"))),
    ("COPY  ( select 1 ) TO STDOUT ", u.Copy("select 1", 8, Form())),
    (
        "copy (select 1) to stdout with (format csv, header, delimiter ';', null 'x', quote '''', "
        "escape '\\', force_quote *)",
        u.Copy("select 1", 6, Form("csv", ";", "x", True, "'", "\\", True)),
    ),
    (
        "copy (select 1) to stdout csv header delimiter as '|' force quote *",
        u.Copy("select 1", 6, Form("csv", "|", header=True, force_quote=True)),
    ),
    ("copy (select 1) to stdout (header false, encoding 'UTF8')", u.Copy("select 1", 6, Form())),
    ("SELECT 1", None),
    ("with a as (select 1) select * from a", None),
    ("(select 1)", None),
    ("", None),
    ("EXPLAIN SELECT 1", None),
    ("insert into t values (1)", None),
    ("-- BEGIN\nselect 1", None),
    ("/* a /* b */ */ begin", u.Begin()),
    ("vacuum", None),
    ("create table t (a int)", None),
    ("'begin'", None),
    ('"begin"', None),
]


@pytest.mark.parametrize(("sql", "expected"), READ)
def test_statements(sql: str, expected: u.Utility | None) -> None:
    assert command(sql) == expected


WRONG = [
    ("SET", "42601", None),
    ("SET x", "42601", 5),
    ("SET x =", "42601", 7),
    ("SET x = (1)", "42601", None),
    ("SHOW 1", "42601", 5),
    ("COMMIT x", "42601", 7),
    ("COMMIT AND x", "42601", 11),
    ("COMMIT PREPARED 'x'", "0A000", None),
    ("SAVEPOINT", "42601", None),
    ("SAVEPOINT 'a'", "42601", 10),
    ("DISCARD x", "42601", 8),
    ("DECLARE c CURSOR", "42601", None),
    ("SET ROLE bob", "0A000", None),
    ("SET SESSION AUTHORIZATION bob", "0A000", None),
    ("DECLARE c CURSOR FOR", "42601", None),
    ("FETCH -1 FROM c", "55000", None),
    ("FETCH BACKWARD 1 FROM c", "55000", None),
    ("FETCH LAST FROM c", "55000", None),
    ("FETCH PRIOR c", "55000", None),
    ("FETCH RELATIVE c", "42601", 15),
    ("FETCH", "42601", None),
    ("SET x = 'a", "42601", 8),
    ("SET x = /* a", "42601", 8),
    ("SET x = $a$ b", "42601", 8),
    ("COPY t TO STDOUT", "42501", 5),
    ("COPY (select 1) TO '/etc/passwd'", "42501", None),
    ("COPY (select 1) TO PROGRAM 'rm'", "42501", None),
    ("COPY (select 1 TO STDOUT", "42601", None),
    ("COPY (select 1) FROM STDIN", "42601", 16),
    ("COPY (select 1) TO STDOUT (FORMAT xml)", "22023", 34),
    ("COPY (select 1) TO STDOUT (x 1)", "42601", None),
    ("COPY (select 1) TO STDOUT (DELIMITER 'ab')", "22023", None),
    ("COPY (select 1) TO STDOUT (DELIMITER 'a')", "22023", None),
    ("COPY (select 1) TO STDOUT (FORMAT csv, QUOTE ',')", "22023", None),
    ("COPY (select 1) TO STDOUT (NULL E'\\t')", "22023", None),
    ("COPY (select 1) TO STDOUT (QUOTE '|')", "0A000", None),
    ("COPY (select 1) TO STDOUT (FORMAT binary, HEADER)", "42601", None),
    ("COPY (select 1) TO STDOUT (ENCODING 'latin1')", "0A000", None),
    ("COPY (select 1) TO STDOUT (HEADER maybe)", "42601", 34),
    ("COPY (select 1) TO STDOUT (FORMAT csv, NULL '\"')", "22023", None),
    ("COPY (select 1) TO STDOUT (FORMAT csv, DELIMITER '')", "22023", None),
    (f"COPY (select 1) TO STDOUT (NULL '{'x' * 101}')", "22023", None),
    ("PREPARE x AS select 1", "0A000", None),
    ("EXECUTE x", "0A000", None),
    ("LISTEN x", "0A000", None),
    ("LOCK t", "0A000", None),
]


@pytest.mark.parametrize(("sql", "sqlstate", "position"), WRONG)
def test_wrong_statements(sql: str, sqlstate: str, position: int | None) -> None:
    with pytest.raises(Refusal) as refused:
        command(sql)
    assert refused.value.sqlstate == sqlstate
    if position is not None:
        assert refused.value.position == position


def test_a_number_of_many_digits_wants_all_rows() -> None:
    assert command(f"FETCH {'9' * 90_000} FROM c") == u.Fetch("c", u.ALL)
    assert command(f"FETCH {'0' * 20}5 FROM c") == u.Fetch("c", 5)


def test_long_statements_are_refused_unread() -> None:
    with pytest.raises(Refusal, match="at most 100000 are allowed"):
        command("SET x = '" + "x" * 100_000 + "'")


def test_words() -> None:
    found = tokens("""a_1 "B ""c" 'it''s\\' E'a\\n\\'' $$x'y$$ $t$ $$ $t$ 1.5e3 .5 -- end\n/* /* */ ' */ <>""")
    assert [(t.kind, t.value) for t in found] == [
        ("word", "a_1"),
        ("name", 'B "c'),
        ("string", "it's\\"),
        ("string", "a\n'"),
        ("string", "x'y"),
        ("string", " $$ "),
        ("number", "1.5e3"),
        ("number", ".5"),
        ("sign", "<"),
        ("sign", ">"),
    ]


SIGNS = ["'", '"', "$$", "$t$", "/*", "*/", "--", "\n", ";", "(", ")", ",", " ", "E'", "\\", "=", "."]
WORDS = ["set", "show", "begin", "copy", "to", "stdout", "declare", "cursor", "for", "fetch", "all", "1", "x", "select"]
PIECES = st.lists(st.sampled_from(SIGNS + WORDS) | st.text(max_size=3), max_size=14).map("".join)


@pytest.mark.slow
@given(st.sampled_from([*sorted(["set ", "show ", "copy ", "declare ", "fetch ", "rollback ", "begin "]), ""]), PIECES)
@examples(500)
def test_any_text_is_a_statement_a_query_or_refused(start: str, rest: str) -> None:
    try:
        command(start + rest)
    except Refusal as refused:
        assert refused.position is None or 0 <= refused.position <= len(start + rest)
    assert first_word(start + rest) == first_word(start + rest + "\n-- more")


ESCAPED = {
    r"it''s \"two\", \\ and\ttabs": 'it\'s "two", \\ and\ttabs', r"\b\f\n\r\t\v\a\8\q\'": "\b\f\n\r\tva8q'",
    r"\101\7\x41\x4g\xg": "A\x07A\x04gxg", r"\u00e5\U0001F600é": "å😀é", "\\\n": "\n", "": "",
    r"\0": None, r"\x00": None, r"\xe5": None, r"\377": None, r"\u00": None, r"\ud800": None, r"\U00110000": None,
}  # fmt: skip
"""What PostgreSQL 15 makes of them; None: an error."""


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
def test_texts_with_escapes(tmp_path: Path, dialect: str) -> None:
    with opened(tmp_path, dialect) as session:
        client = connect(session)
        for written, meant in ESCAPED.items():
            found = client.query(f"SELECT E'{written}' AS x, name FROM codes WHERE name <> e'{written}' AND code = 1")
            if meant is None:
                assert [e.sqlstate for e in errors(found)] == ["42601"], written
                with pytest.raises(Refusal, match="stands for no character"):
                    tokens(f"SET application_name = E'{written}'")
            else:
                rows = [r.values for r in found if isinstance(r, Row)]
                assert rows == [(meant.encode(), b"one")], (written, found)
                assert tokens(f"E'{written}'")[0].value == meant
