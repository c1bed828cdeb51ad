"""`dpsql audit`: its arguments, its exit codes, where its report goes, and the statements of a file."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import jsonschema
import pytest

import dpsql.audit
from dpsql.audit import coverage
from dpsql.audit.chance import Random
from dpsql.audit.findings import Audit
from dpsql.audit.laboratory import Laboratory
from dpsql.cli import main
from dpsql.errors import EngineError, ParseError
from dpsql.parse import statements
from dpsql.policy import Policy
from tests import audits
from tests.harness import make_policy
from tests.test_audit_report import SCHEMA

POLICY = """\
dpsql: 1
dialect: bigquery
privacy: {epsilon: 1, max_epsilon: 4}
budget: {epsilon: 20}
ledger: var/the.ledger
tables:
  people:
    source: people.csv
    unit: row
    columns:
      age: {type: integer, bounds: [0, 120]}
"""


@dataclass
class Engine:
    """In the place of what attacks: remembers what it was asked for, and finds what it is told to."""

    finds: Audit | Exception = audits.HELD
    waits_for: Callable[[], bool] = lambda: True
    asked: list[tuple[str, tuple[tuple[int, str], ...], int, int | None]] = field(default_factory=list)

    def __call__(self, policy: Policy, *, queries: Sequence[tuple[int, str]], cases: int, seed: int | None) -> Audit:
        self.asked.append((policy.shown, tuple(queries), cases, seed))
        while not self.waits_for():
            time.sleep(0.001)
        if isinstance(self.finds, Exception):
            raise self.finds
        return self.finds


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    found = Engine()
    monkeypatch.setattr(dpsql.audit, "audit", found, raising=False)
    return found


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").touch()
    (tmp_path / "my policy.yaml").write_text(POLICY, encoding="utf-8")
    return "my policy.yaml"


# ---------------------------------------------------------------------------------------------- the command


def test_what_is_asked_for(engine: Engine, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.sql").write_text("-- first\nSELECT COUNT(*) FROM people;\n\nSELECT 2;", encoding="utf-8")
    assert main(["audit", config]) == 0
    assert main(["audit", "--queries", "mine.sql", config, "--cases", "7", "--seed", "12345678901234567890"]) == 0
    own = ((2, "SELECT COUNT(*) FROM people"), (4, "SELECT 2"))
    assert engine.asked == [(config, (), dpsql.audit.CASES, None), (config, own, 7, 12345678901234567890)]
    first, second = capsys.readouterr().out.split("Every declared sensitivity held")[1:]
    assert first.endswith("The same again: dpsql audit 'my policy.yaml' --cases 200 --seed 42\n")
    assert second.endswith("dpsql audit 'my policy.yaml' --queries mine.sql --cases 7 --seed 42\n")


@pytest.mark.parametrize(
    ("finds", "code", "strict"),
    [
        (replace(audits.HELD, advice=()), 0, 0),
        (audits.HELD, 0, 3),
        (audits.SELDOM, 7, 7),
        (audits.VIOLATED, 7, 7),
        (audits.EMPTY, 0, 0),
        (EngineError("the engine is gone"), 6, 6),
        (ValueError("Rumpelstilzchen"), 6, 6),
    ],
    ids=["held", "advice", "seldom", "violated", "empty", "gone", "fault"],
)
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_exit_codes(
    engine: Engine, config: str, capsys: pytest.CaptureFixture[str], finds: Audit | Exception, code: int, strict: int,
    form: str,
) -> None:  # fmt: skip
    engine.finds = finds
    assert main(["audit", config, "--format", form]) == code
    assert main(["audit", config, "--format", form, "--strict"]) == strict
    out, err = capsys.readouterr()
    assert bool(out) == (code != 6) and "Traceback" not in out + err and "Rumpel" not in out + err


def test_formats(engine: Engine, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", config, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    jsonschema.validate(json.loads(out), SCHEMA)
    assert err == ""
    assert main(["audit", config, "--format", "html"]) == 0
    assert capsys.readouterr().out.startswith('<!DOCTYPE html>\n<html lang="en">')


def test_a_report_in_a_file(engine: Engine, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", config, "--format", "html", "-o", "audit.html"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "Every declared sensitivity held, in 1,803 cases of 2 tables and 2 statements of yours.\n",
    )
    assert Path("audit.html").read_text(encoding="utf-8").endswith("</html>\n")
    engine.finds = EngineError("gone")
    assert main(["audit", config, "-o", "audit.html"]) == 6
    assert Path("audit.html").read_text(encoding="utf-8").endswith("</html>\n")  # as it was
    assert main(["audit", config, "-o", "none/audit.html"]) == 2
    assert len(engine.asked) == 2  # before anything is attacked
    assert "can't be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cases", "0"], "a whole number from 1 is needed"),
        (["--cases", "-1"], "a whole number is needed"),
        (["--cases", "many"], "a whole number is needed"),
        (["--seed", "1.5"], "a whole number is needed"),
        (["--format", "pdf"], "invalid choice"),
        (["--queries", "none.sql"], "none.sql can't be read: No such file or directory"),
        (["--queries", "empty.sql"], "empty.sql holds no statement"),
        (["--queries", "latin.sql"], "latin.sql is not UTF-8 text (byte 8)"),
        (["--queries", "\0"], "can't be read: not a path"),
    ],
)
def test_wrong_arguments(
    engine: Engine, config: str, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    Path("empty.sql").write_text(" ;; -- nothing\n;", encoding="utf-8")
    Path("latin.sql").write_bytes(b"SELECT '\xe4'")
    assert main(["audit", config, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and says in err and not engine.asked


def test_a_file_too_long(engine: Engine, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("long.sql").write_bytes(b"SELECT 1;" * 450_000)
    assert main(["audit", config, "--queries", "long.sql"]) == 2
    assert "long.sql is too long for a file of queries" in capsys.readouterr().err


def test_a_file_that_does_not_end(engine: Engine, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("open.sql").write_text("SELECT 'x", encoding="utf-8")
    assert main(["audit", config, "--queries", "open.sql"]) == 1
    assert "error 42601: open.sql: the statement can't be split into words" in capsys.readouterr().err
    assert not engine.asked


def test_a_wrong_policy(engine: Engine, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(config).write_text(POLICY.replace("unit: row", "unit: DECIDE"), encoding="utf-8")
    assert main(["audit", config]) == 3
    assert "is still to be decided" in capsys.readouterr().err and not engine.asked


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("fails", [False, True])
def test_a_terminal_sees_how_long_it_takes(
    engine: Engine, config: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails: bool
) -> None:
    monkeypatch.setattr(sys.modules["dpsql.cli.audit"], "_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    engine.waits_for = lambda: "auditing" in sys.stderr.getvalue()  # type: ignore[attr-defined]
    engine.finds = EngineError("gone") if fails else audits.HELD
    assert main(["audit", config]) == (6 if fails else 0)
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert shown.startswith("\rauditing my policy.yaml: 0 s\r")
    assert shown.partition("\x1b[K")[2].startswith("error 58000: gone" if fails else "")


# ---------------------------------------------------------------------------------------------- statements of a file


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "bigquery", "spark"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("-- only a comment; no statement\n/* ; */", []),
        ("SELECT 1", [(1, "SELECT 1")]),
        (";;SELECT 1;;", [(1, "SELECT 1")]),
        ("SELECT ';'; SELECT 'it''s;'", [(1, "SELECT ';'"), (1, "SELECT 'it''s;'")]),
        ("-- a;b\n\nSELECT 1 -- c;d\n, 2;\n/* e;\n */ SELECT 3",
         [(3, "SELECT 1 -- c;d\n, 2"), (6, "SELECT 3")]),
        ("EXPLAIN SELECT ';' FROM t;\nSELECT 2;", [(1, "EXPLAIN SELECT ';' FROM t"), (2, "SELECT 2")]),
        ("SELECT 1;\r\nSELECT\r\n 2;\r\n", [(1, "SELECT 1"), (2, "SELECT\r\n 2")]),
        ("SELECT 'a\nb;\nc';\nSELECT 2", [(1, "SELECT 'a\nb;\nc'"), (4, "SELECT 2")]),
        ("SHOW TABLES; DROP TABLE t; SELECT 'ä;日本' ; SELECT 4",
         [(1, "SHOW TABLES"), (1, "DROP TABLE t"), (1, "SELECT 'ä;日本'"), (1, "SELECT 4")]),
    ],
)  # fmt: skip
def test_statements(dialect: str, text: str, found: list[tuple[int, str]]) -> None:
    if dialect == "bigquery" and "it''s" in text:
        text, found = text.replace("''", "\\'"), [(line, sql.replace("''", "\\'")) for line, sql in found]
    if dialect == "bigquery" and "'a\nb" in text:
        text, found = text.replace("'", "'''"), [(line, sql.replace("'", "'''")) for line, sql in found]
    assert list(statements(text, dialect)) == found


@pytest.mark.parametrize(
    ("dialect", "quoted"),
    [("duckdb", '"a;b"'), ("duckdb", "$$a;b$$"), ("postgres", "$x$a;b$x$"), ("bigquery", "`a;b`"),
     ("bigquery", '"a;b"'), ("spark", "`a;b`")],
)  # fmt: skip
def test_quotes_of_each_dialect(dialect: str, quoted: str) -> None:
    assert statements(f"SELECT {quoted}; SELECT 2", dialect) == ((1, f"SELECT {quoted}"), (1, "SELECT 2"))


@pytest.mark.parametrize("text", ["SELECT 'x", 'SELECT "x', "SELECT 1; /* ", "SELECT '\x00'"])
def test_what_does_not_end(text: str) -> None:
    with pytest.raises(ParseError):
        statements(text, "duckdb")


def test_lines_are_counted_on() -> None:
    found = statements("SELECT 1;\n" * 1_000 + "SELECT 2; SELECT 3\n;\nSELECT 4", "duckdb")
    assert [line for line, _ in found] == [*range(1, 1_001), 1_001, 1_001, 1_003]


# ---------------------------------------------------------------------------------------------- all of it


def test_a_key_with_bounds_is_numbered_beyond_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are about what is within the bounds, so their number is of another column."""
    tables = "  t: {source: t.csv, unit: row, primary_key: k, columns: {k: {type: integer, bounds: [1, 7]},"
    policy = make_policy(f"{tables} x: {{type: integer, bounds: [0, 9]}}}}}}\n")
    monkeypatch.setattr(coverage, "DRAWS", 5)
    laboratory = Laboratory(policy, Random(1))
    found = list(coverage.coverage(laboratory, policy.tables["t"]))
    laboratory.close()
    assert [each.aggregate for each in found] == ["COUNT(*)", "SUM(x)", "AVG(x)", "VARIANCE(x)", "STDDEV(x)"]
