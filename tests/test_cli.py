"""The command line: answers, formats, exit codes, and errors that never are tracebacks."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpsql.cli import main
from dpsql.cli.answer import answer
from dpsql.cli.arguments import value
from dpsql.cli.errors import error_text, excerpt, with_config
from dpsql.display import cells
from dpsql.errors import Error, InternalError
from dpsql.ledger import Ledger
from dpsql.policy import load
from dpsql.result import Ends, Intervals, Privacy, Result, ResultColumn, Values
from dpsql.session import Session
from dpsql.table import Head, table, width
from tests.harness import intervals

ROOT = Path(__file__).parent.parent
POLICY = """\
dpsql: 1
privacy: {epsilon: 1e6, max_epsilon: 1e7}
budget:
  epsilon: 1e15
  analysts:
    poor: {epsilon: 1, per: month}
    rich: {epsilon: 1e12, delta: 1e-6}
ledger: var/the.ledger
answers: off  # so that each query is charged, whatever tests asked before
tables:
  people:
    source: people.csv
    unit: row
    columns:
      name: {type: text, keys: [Ann, Bob, "日本"]}
      age: {type: integer, bounds: [0, 100]}
      pay: {type: double, bounds: [0, 1000], grain: 1, nullable: true}
      code: {type: integer, keys: {from: drinks.code}}
      since: {type: date, bounds: [2020-01-01, 2020-12-31]}
      cost: {type: "decimal(4,2)", keys: [0.5, 1.25, null]}
  drinks:
    source: drinks.csv
    public: true
"""
PEOPLE = (
    "name,age,pay,code,since,cost\nAnn,30,10,1,2020-05-01,0.5\nBob,40,,2,2020-05-01,1.25\n"
    "Ann,fifty,20,1,2020-05-01,\n日本,60,30,x,2020-05-01,0.5\n"
)
DRINKS = "code,drink,price\n1,tea,1.5\n2,wi|ne,\n"
COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy whose ledger is made."""
    return _folder(tmp_path_factory.mktemp("cli"))


def _folder(folder: Path) -> Path:
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "drinks.csv").write_text(DRINKS, encoding="utf-8")
    assert main(["budget", str(folder / "policy.yaml"), "--create"]) == 0
    return folder


@pytest.fixture
def config(template: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    return str(template / "policy.yaml")


@pytest.fixture
def fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = _folder(tmp_path)
    capsys.readouterr()
    return folder


def charges(config: str) -> int:
    with Ledger.open(Path(config).parent / "var" / "the.ledger") as ledger:
        return ledger.totals().count


# ---------------------------------------------------------------------------------------------- query


def test_query_as_table(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT name, COUNT(*) AS n, AVG(pay) FROM people GROUP BY name"
    assert main(["query", config, "--as", "rich", sql, "--epsilon", "1000000"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [cell.strip() for cell in lines[1].split("|")[1:-1]] == ["name", "n", "avg"]
    assert lines[3].startswith("| Ann  | 2 ± 0 |") and lines[5].startswith("| 日本 | 1 ± 0 |")
    assert lines[-1].startswith("charged ε 1000000, ") and lines[-1].endswith(" left; ± at 95 %")
    assert err == ""


def test_query_as_csv(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT code, drink, price FROM drinks"
    assert main(["query", config, sql, "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert list(csv.reader(io.StringIO(out))) == [
        ["code", "drink", "price"],
        ["1", "tea", "1.5"],
        ["2", "wi|ne", ""],
    ]
    assert err.startswith("nothing charged, ")


def test_csv_with_half_widths(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT name, COUNT(*) AS n FROM people GROUP BY name"
    assert main(["query", config, sql, "--format", "csv", "--half-widths"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == ["name", "n", "n_half_width"]
    assert [row["n"] for row in rows] == ["2", "1", "1"]


def test_the_level_of_errors(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*) AS n FROM people"
    assert main(["query", config, sql, "--level", "0.5"]) == 0
    assert "± at 50 %" in capsys.readouterr().out
    assert main(["query", config, sql, "--level", "50"]) != 0
    assert "hint: write 0.95" in capsys.readouterr().err


def test_query_as_json(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT name, COUNT(*) AS n, AVG(pay) AS mean FROM people GROUP BY name"
    assert main(["query", config, sql, "--format", "json", "--as", "rich", "--epsilon", "1e5"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert [column["name"] for column in found["columns"]] == ["name", "n", "mean"]
    assert [row[:2] for row in found["rows"]] == [["Ann", 2], ["Bob", 1], ["日本", 1]]
    assert found["intervals"][0] is None
    for index, pairs in enumerate(found["intervals"][1:], start=1):
        assert all(low <= row[index] <= high for row, (low, high) in zip(found["rows"], pairs, strict=True))
    name, count, mean = found["half_widths"]
    assert name is None and isinstance(count, float) and len(mean) == 3
    assert found["privacy"]["epsilon_charged"] == 100_000 and found["privacy"]["analyst"] == "rich"
    assert "ranks" not in found
    assert main(["query", config, "SELECT COUNT(*), MAX(pay) FROM people", "--format", "json", "--as", "rich"]) == 0
    none, of_greatest = json.loads(capsys.readouterr().out)["ranks"]
    assert none is None and of_greatest["beyond"] >= 1 and of_greatest["half_width"] is None
    assert re.fullmatch(r"about [\d.,]+ rows? lies? beyond", of_greatest["text"])
    assert err.startswith("charged ε 100000, ")


def test_query_as_markdown(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", config, "SELECT drink, price FROM drinks", "--format", "markdown"]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines() == [
        "| drink  | price |",
        "| ------ | ----: |",
        "| tea    |   1.5 |",
        "| wi\\|ne |  NULL |",
    ]


def test_query_from_file_and_stdin(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.sql"
    file.write_text("\ufeffSELECT 1 AS one;\n", encoding="utf-8")
    assert main(["query", config, "-f", str(file), "--format", "csv"]) == 0
    assert capsys.readouterr().out == "one\n1\n"
    for arguments in (["-"], ["-f", "-"], []):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT 2 AS two")))
        assert main(["query", config, *arguments, "--format", "csv"]) == 0
        assert capsys.readouterr().out == "two\n2\n"


def test_parameters(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*) AS n FROM people WHERE age >= :age AND name = :name"
    assert main(["query", config, sql, "-p", "age=30", "-p", "name=Ann", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "n\n1\n"
    assert main(["query", config, "SELECT ? AS a, ? AS b", "-p", "2=x", "-p", "1=null", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "a,b\n,x\n"


@pytest.mark.parametrize(
    ("text", "type_", "shown"),
    [
        ("18", int, "18"), ("-5", int, "-5"), ("1.50", "Decimal", "1.50"), (".5", "Decimal", "0.5"),
        ("1e-3", float, "0.001"), ("NULL", type(None), "None"), ("True", bool, "True"),
        ("false", bool, "False"),
        ("'18'", str, "18"), ("'it''s'", str, "it's"), ("2020-01-01", str, "2020-01-01"), ("", str, ""),
        ("1_000", str, "1_000"), ("nan", str, "nan"), ("٣", str, "٣"), ("'", str, "'"),
    ],
)  # fmt: skip
def test_types_of_parameters(text: str, type_: object, shown: str) -> None:
    found = value(text)
    assert str(found) == shown
    assert type(found) is type_ or type(found).__name__ == type_


def test_output_file(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, file = str(fresh / "policy.yaml"), fresh / "out.csv"
    assert main(["query", config, COUNT, "-o", str(file), "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("charged ε ") and file.read_text() == "n\n4\n"
    assert main(["query", config, "SELECT age FROM people", "-o", str(file)]) == 1
    assert file.read_text() == "n\n4\n"  # as it was
    assert main(["query", config, "SELECT 1 AS x", "-o", str(file), "--format", "csv"]) == 0
    assert file.read_text() == "x\n1\n"
    assert main(["query", config, "SELECT age FROM people", "-o", str(fresh / "new.csv")]) == 1
    assert not (fresh / "new.csv").exists()


def test_an_unwritable_output_costs_nothing(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = charges(config)
    for place in ("/nonexistent/x.csv", str(Path(config).parent), "a\0b"):
        assert main(["query", config, COUNT, "-o", place]) == 2
        out, err = capsys.readouterr()
        assert out == "" and "can't be written" in err
    assert charges(config) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_answer_that_was_paid_for_is_not_lost(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", config, COUNT, "-o", "/dev/full", "--format", "csv"]) == 2
    out, err = capsys.readouterr()
    assert out == "n\n4\n" and "could not be written" in err and "charged ε" in err


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["SELEC 1"], 1, "error 42601"),
        (["SELECT age FROM people"], 1, "error 42501"),
        (["SELECT MODE(age) FROM people"], 1, "error 0A000"),
        (["SELECT x FROM people"], 1, "error 42703"),
        (["SELECT COUNT(*) FROM nowhere"], 1, "error 42P01"),
        ([COUNT, "--epsilon", "zero"], 1, "error 22P02"),
        ([COUNT, "--epsilon", "1e8"], 1, "max_epsilon"),
        ([COUNT, "-p", "a=1"], 1, "no place for parameter a"),
        ([COUNT, "--as", "poor"], 4, "error 53400"),
        ([COUNT, "--as", ""], 1, "error 22P02"),
        ([COUNT, "--as", "*"], 1, "error 22P02"),
        ([COUNT, "-p", "a"], 2, "write -p NAME=VALUE"),
        ([COUNT, "-p", "a=1", "-p", "a=2"], 2, "given twice"),
        ([COUNT, "-f", "x.sql"], 2, "give one of them"),
        (["-f", "/nonexistent/x.sql"], 2, "No such file"),
        (["-f", "/dev/zero"], 2, "too long"),
        (["-f", "a\0b"], 2, "not a path"),
        ([COUNT, "--format", "xml"], 2, "invalid choice"),
        ([COUNT, "more"], 2, "unrecognized arguments"),
        (["SELECT '\udcff' AS x"], 1, "error "),
        (["SELECT '\0' AS x"], 1, "error 42601"),
    ],
)
def test_exit_codes(
    config: str, arguments: list[str], code: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = charges(config)
    assert main(["query", config, *arguments]) == code
    err = capsys.readouterr().err
    assert shown in err and "Traceback" not in err
    assert charges(config) == before + (code == 0)


def test_files_in_other_encodings(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "latin.sql"
    file.write_bytes("SELECT 'é'".encode("latin-1"))
    assert main(["query", config, "-f", str(file)]) == 2
    assert "not UTF-8 text (byte 8)" in capsys.readouterr().err


def test_no_sql_on_a_terminal(config: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO()))
    assert main(["query", config]) == 2
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["query", config, "-"]) == 2
    assert "there is no SQL" in capsys.readouterr().err


def test_errors_show_where(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*),\n\tSUM(incme)\nFROM people"
    assert main(["query", config, sql]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error 42703: column incme does not exist in people"
    assert lines[1] == "  line 2:  SUM(incme)"
    assert lines[2].index("^") == lines[1].index("incme")
    assert lines[3].startswith("hint: ") and "columns: " in lines[3]


@pytest.mark.parametrize(
    ("sql", "position", "lines"),
    [
        ("SELECT x", 7, ["  SELECT x", "         ^"]),
        ("SELECT x", 99, ["  SELECT x", "          ^"]),
        ("", 0, ["  ", "  ^"]),
        ("SELECT 1,\r\n\tx", 12, ["  line 2:  x", "           ^"]),
        ("SELECT '日本', x", 13, ["  SELECT '日本', x", "                 ^"]),
        ("SELECT 'e\u0301', x", 13, ["  SELECT 'e\u0301', x", "              ^"]),
        ("\x1b[2J x", 5, ["  \\x1b[2J x", "          ^"]),
    ],
)
def test_carets(sql: str, position: int, lines: list[str]) -> None:
    assert excerpt(sql, position, 80) == lines


@pytest.mark.parametrize("position", [0, 1, 40, 500, 998, 999, 1000])
@pytest.mark.parametrize("letter", ["x", "語"])
def test_long_lines_are_cut_around_the_caret(position: int, letter: str) -> None:
    sql = letter * position + "!" + letter * (1000 - position)
    shown, caret = excerpt(sql, position, 60)
    assert width(shown) <= 60
    before = shown[: shown.index("!")]
    assert width(before) == caret.index("^")


def test_errors_print_no_control_characters() -> None:
    text = error_text(Error("a\x1b[31m\nb", hint="c\u202ed", position=0), "SELECT 1", 80)
    assert text == "error XX000: a\\x1b[31m\\nb\n  SELECT 1\n  ^\nhint: c\\u202ed\n"


def test_faults_are_told_without_their_words(
    config: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(error: BaseException) -> int:
        def execute(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(Session, "execute", execute)
        return main(["query", config, COUNT])

    assert fail(ValueError("secret")) == 6
    assert fail(InternalError("internal error 00")) == 6
    assert fail(KeyboardInterrupt()) == 130
    assert fail(BrokenPipeError()) == 141
    err = capsys.readouterr().err
    assert "secret" not in err and "ValueError" in err and "interrupted" in err


def test_an_interrupt_while_the_program_is_imported_is_told_like_any_other() -> None:
    """Nothing large is imported before it can be taken; what is imported might swallow an exception."""
    program = """
import os, signal, sys
from dpsql.__main__ import main
class Interrupting:
    def find_spec(self, name, *_):
        if name == "dpsql.cli":
            assert not {"numpy", "duckdb", "sqlglot"} & set(sys.modules)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                pass
sys.meta_path.insert(0, Interrupting())
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"interrupted; nothing was charged\n")


CANARY = "canary-7531"


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM people",
        "SELECT COUNT(*) FROM people WHERE CAST(name AS INTEGER) > 5",
        "SELECT COUNT(*) FROM people WHERE age // 0 > 1",
        "SELECT SUM(age * age * age * age * age * age * age * age * age * age * age) FROM people",
        "SELECT name, COUNT(*) FROM people GROUP BY name",
        "SELECT CAST(COUNT(*) AS TINYINT) * 1000000 FROM people",
        "SELECT error(name) FROM people",
        f"SELECT COUNT(*) FROM people WHERE name = '{CANARY[:6]}'",
    ],
)
def test_no_error_and_no_log_quotes_the_data(fresh: Path, sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    with (fresh / "people.csv").open("a") as file:
        file.write(f"{CANARY},{CANARY},{CANARY},1,{CANARY},0.5\n{CANARY},1\n")
    main(["query", str(fresh / "policy.yaml"), sql, "--verbose"])
    main(["explain", str(fresh / "policy.yaml"), sql, "--verbose"])
    main(["check", str(fresh / "policy.yaml"), "--verbose"])
    main(["budget", str(fresh / "policy.yaml"), "--verbose"])
    out, err = capsys.readouterr()
    assert CANARY not in out + err and "Traceback" not in err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dpsql ")
    assert main([]) == 2
    assert main(["no-such"]) == 2
    for command in ("query", "explain", "init", "check", "audit", "budget", "serve", "password", "demo"):
        assert main([command, "--help"]) == 0
        out = capsys.readouterr().out
        assert "examples:" in out and "exit codes:" in out and max(map(len, out.splitlines())) <= 110


# ---------------------------------------------------------------------------------------------- explain


def test_explain(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = charges(config)
    assert main(["explain", config, COUNT, "--epsilon", "2"]) == 0
    assert "charged 2" in capsys.readouterr().out
    assert main(["explain", config, COUNT, "--format", "json", "-o", str(tmp_path / "plan.json")]) == 0
    assert json.loads((tmp_path / "plan.json").read_text())["epsilon"] == 1e6
    assert main(["explain", config, COUNT, "--epsilon", "1", "--level", "0.5"]) == 0
    assert "±1 at 50 %" in capsys.readouterr().out
    assert main(["query", config, f"EXPLAIN {COUNT}", "--epsilon", "1", "--level", "0.5"]) == 0
    assert "±1 at 50 %" in capsys.readouterr().out
    assert main(["explain", config, COUNT, "--epsilons", "1", "--level", "0.5"]) == 0
    assert "± 50 %" in capsys.readouterr().out
    assert main(["explain", config, COUNT, "--level", "50"]) == 1
    assert "hint: write 0.95" in capsys.readouterr().err
    assert charges(config) == before


def test_explain_epsilons(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*), AVG(age) FROM people"
    assert main(["explain", config, sql, "--epsilons", "0.01,0.1, 1,1e8", "--as", "poor"]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[3:-1]]
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("0.01", "COUNT(*)", "100"), ("0.01", "AVG(age)", "100"), ("0.1", "COUNT(*)", "10"),
        ("0.1", "AVG(age)", "10"), ("1", "COUNT(*)", "1"), ("1", "AVG(age)", "1"),
        ("1e8", "above max_epsilon 10000000", "0"),
    ]  # fmt: skip
    assert float(rows[0][3]) > float(rows[2][3]) > float(rows[4][3])
    assert main(["explain", config, COUNT, "--epsilons", "1,1e8", "--format", "json"]) == 0
    one, refused = json.loads(capsys.readouterr().out)
    assert one["number"] == "COUNT(*)" and one["scales"] == [1.0] and one["half_width"] == 3.0
    assert refused["refused"] and refused["queries_left"] == 0


def test_explain_epsilons_of_quantiles(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT MEDIAN(age), MAX(age) FROM people"
    assert main(["explain", config, sql, "--epsilons", "1"]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[3:-1]]
    assert re.fullmatch(r"[\d.]+ to [\d.]+ in rank", rows[0][3]) and re.fullmatch(r"\d+ beyond", rows[1][3])
    assert main(["explain", config, sql, "--epsilons", "1", "--format", "json"]) == 0
    median, greatest = json.loads(capsys.readouterr().out)
    assert 0 < median["rank_half_width_usual"] < median["rank_half_width"] and median["rows_beyond"] is None
    assert greatest["rank_half_width"] is None and greatest["rows_beyond"] > 0


def test_explain_epsilons_by_a_stored_count(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is stored at that ε."""
    config = str(fresh / "policy.yaml")
    policy = (fresh / "policy.yaml").read_text(encoding="utf-8")
    (fresh / "policy.yaml").write_text(policy.replace("answers: off", "answers: per_analyst"), encoding="utf-8")
    means = "SELECT AVG(age), COUNT(*) FROM people"
    count = "SELECT COUNT(*) FROM people"

    def shown(*more: str) -> str:
        assert main(["explain", config, means, "--epsilons", "0.1,0.5", "--as", "counter", *more]) == 0
        return capsys.readouterr().out

    assert shown().count("/n") == 2
    assert main(["query", config, count, "--as", "counter", "--epsilon", "0.5", "--format", "csv"]) == 0
    n = max(int(capsys.readouterr().out.split()[1]), 1)
    assert shown().count("/n") == 1
    first, _, second, _ = json.loads(shown("--format", "json"))
    assert first["half_width_stored"] is None
    assert second["half_width_stored"] == [pytest.approx(second["half_width_times_rows"] / n)]


def test_explain_epsilons_of_a_deviation(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT STDDEV(age) FROM people"
    assert main(["explain", config, sql, "--epsilons", "1"]) == 0
    assert "/(n·s) |" in capsys.readouterr().out
    assert main(["explain", config, sql, "--epsilons", "1", "--format", "json"]) == 0
    (deviation,) = json.loads(capsys.readouterr().out)
    assert deviation["half_width_times_rows"] is None and deviation["half_width_times_rows_and_itself"] > 0


@pytest.mark.parametrize(
    ("sql", "epsilons", "code"),
    [
        (COUNT, "", 2),
        (COUNT, ",", 2),
        (COUNT, "1,x", 1),
        (COUNT, "0", 1),
        ("SELECT 1", "1", 1),
        ("SELECT age FROM people", "1", 1),
    ],
)
def test_explain_epsilons_refused(config: str, sql: str, epsilons: str, code: int) -> None:
    assert main(["explain", config, sql, "--epsilons", epsilons]) == code


def test_explain_epsilons_rounds(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*), SUM(age), AVG(age) FROM people"
    assert main(["explain", config, sql, "--epsilons", "0.003,0.7,3", "--as", "rich"]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[3:-1]]
    assert rows[0][:4] == ["0.003", "COUNT(*)", "33,300", "1,371"]
    assert rows[1][3] == "99,900"
    assert rows[2][3].endswith("00/n")
    assert all(float(row[3].replace(",", "")).is_integer() for row in rows if row[1] == "COUNT(*)")


def test_a_query_that_asks_for_a_plan(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    for prefix, more in (("EXPLAIN ", []), ("EXPLAIN (FORMAT json) ", ["--format", "json"])):
        assert main(["explain", config, COUNT, *more]) == 0
        plain = capsys.readouterr().out
        assert main(["query", config, prefix + COUNT]) == 0
        assert capsys.readouterr() == (plain, "")
    assert main(["query", config, "EXPLAIN " + COUNT, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("QUERY PLAN\n")


# ---------------------------------------------------------------------------------------------- check


def test_check_describes_what_is_protected(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", config]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for text in (
        "| people | each row | age    | integer      | 0 to 100 ",
        "| 2020-01-01 to 2020-12-31 |",
        "| decimal(4,2) |",
        "| 0.5, 1.25, NULL       |",
        "| 1, 2 from drinks.code |",
        "| drinks |    2 | code BIGINT, drink VARCHAR, price DOUBLE |",
        "| people |    4 |                       0 | age: 1, code: 1      | ",
        "| poor       |                1 |",
        "Ledger var/the.ledger: whole, ",
    ):
        assert text in out, text


def test_check_describes_units_and_keys(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fresh / "visits.csv").write_text("visit,line,Person\n1,1,7\n")
    (fresh / "policy.yaml").write_text(
        POLICY.replace("public: true", "public: true\n    primary_key: CODE")
        + "  one: {source: visits.csv, unit: {column: person}, columns: {Person: {type: integer, unique: true}}}\n"
        + "  Visits: {source: visits.csv, unit: {column: person, max_rows: 20, max_groups: 4},\n"
        + "    columns: {Person: {type: integer}, Visit: {type: integer}, line: {type: integer}}}\n"
        + "  parts: {source: visits.csv, primary_key: [visit, line],\n"
        + "    unit: {via: visits.visit, max_rows: 2000, max_groups: 1, max_rows_per_key: 3},\n"
        + "    columns: {visit: {type: integer}, line: {type: integer}}}\n"
        + "  lines: {source: visits.csv, columns: {a: {type: integer}, line: {type: integer}},\n"
        + "    unit: {via: {a: visits.visit, line: visits.line}, max_rows: 5}}\n"
    )
    (fresh / "visits.csv").write_text("visit,line,person,a\n1,1,7,1\n")
    assert main(["check", str(fresh / "policy.yaml")]) == 0
    out = re.sub(" +", " ", capsys.readouterr().out)
    for text in (
        "| one | Person, 1 row | Person | integer unique |",
        "| Visits | Person, 20 rows, 4 groups | Visit | integer |",
        "| parts | via Visits.Visit, 2,000 rows, 1 group of 3 rows | visit | integer primary key |",
        "| parts | via Visits.Visit, 2,000 rows, 1 group of 3 rows | line | integer primary key |",
        "| lines | via Visits.Visit and Visits.line, 5 rows | a | integer |",
        "| drinks | 2 | code BIGINT primary key, drink VARCHAR, price DOUBLE |",
    ):
        assert text in out, out


def test_check_lists_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "bad.yaml"
    (tmp_path / "people.csv").write_text(PEOPLE)
    policy.write_text(POLICY.replace("bounds: [0, 100]", "bounds: [100, 0]").replace("unit: row", "unti: row"))
    assert main(["check", str(policy)]) == 3
    err = capsys.readouterr().err
    assert err.count("error F0000") == int(err.splitlines()[-1].split()[0]) == 3
    assert f"{policy}:16: " in err and "did you mean 'unit'?" in err
    assert main(["check", str(tmp_path / "absent.yaml")]) == 3
    assert "1 problem\n" in capsys.readouterr().err


def test_check_compares_with_the_data(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fresh / "people.csv").write_text("name,age,code,since,cost\nAnn,3,1,,\n")
    (fresh / "drinks.csv").write_text("drink\ntea\n")
    assert main(["check", str(fresh / "policy.yaml")]) == 3
    err = capsys.readouterr().err
    assert "has no column pay" in err and "drinks has no column code" in err
    assert err.endswith("\n2 problems\n")


def test_check_finds_columns_of_another_type(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fresh / "people.csv").write_text("name,age,pay,code,since,cost\nAnn,3.5,1,1,,\nBob,4.5,1,1,,\n")
    assert main(["check", str(fresh / "policy.yaml")]) == 3
    err = capsys.readouterr().err
    assert "policy.yaml:16: column age of people is declared integer, but none of its 2 cells is one" in err
    assert "hint: write type: double" in err
    assert main(["query", str(fresh / "policy.yaml"), COUNT]) == 0  # only the owner learns it


def test_check_warns(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(config).parent
    (folder / "wild.csv").write_text(
        "name,age,pay,code,since,cost\nAnn,130,5000,1,2020-05-01,\nEve,,10,3,2021-01-01,0.5\n,30,10,,,0.5\n"
    )
    policy = folder / "wild.yaml"
    policy.write_text(POLICY.replace("people.csv", "wild.csv"), encoding="utf-8")
    assert main(["check", str(policy)]) == 0
    out = capsys.readouterr().out
    for text in (
        "| people |    3 | ",
        "warning: people: 1 cell of name is NULL but nullable is false: that row drops out of GROUP BY name",
        "warning: people: 1 row has a name that is not a key: dropped from GROUP BY name",
        "warning: people: 1 cell of age is NULL but nullable is false: that row drops out of COUNT(*) beside AVG(age); "
        "write nullable: true",
        "warning: people: 1 value of age is outside 0 to 100 and is moved to the nearer bound; GROUP BY age drops them",
        "warning: people: 1 value of pay is outside 0 to 1000 and is moved to the nearer bound\n",
        "warning: people: 1 row has a code that is not a key: dropped from GROUP BY code",
        "warning: people: 1 value of since is outside 2020-01-01 to 2020-12-31",
    ):
        assert text in out, text
    assert "cost is NULL" not in out and "pay is NULL" not in out


def test_check_warns_of_rows_without_a_unit(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = fresh / "policy.yaml"
    text = POLICY.replace("unit: row", "unit: {column: owner, max_rows: 2}")
    policy.write_text(text.replace("columns:\n", "columns:\n      owner: {type: integer}\n"), encoding="utf-8")
    (fresh / "people.csv").write_text("owner,name,age,pay,code,since,cost\n1,Ann,3,1,1,2020-05-01,0.5\n,Ann,3,1,1,,\n")
    assert main(["check", str(policy)]) == 0
    assert (
        "warning: people: 1 cell of owner is NULL but nullable is false: that row drops out of everything, being of no "
        "unit; write nullable: true if that is meant\n" in capsys.readouterr().out
    )


def test_check_warns_of_units_with_more_rows_than_count(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fresh / "policy.yaml").write_text(
        POLICY + "  homes: {source: homes.csv, unit: {column: hh}, columns: {no: {type: integer},\n"
        "    hh: {type: integer, unique: true}}}\n"
        "  rooms: {source: rooms.csv, unit: {via: {home: homes.no}, max_rows: 1}, primary_key: home,\n"
        "    columns: {home: {type: integer}}}\n"
        "  stays: {source: rooms.csv, unit: row, columns: {home: {type: integer}, hhid: {type: integer}}}\n"
    )
    (fresh / "homes.csv").write_text("no,hh\n1,5\n2,5\n3,6\n4,\n")
    (fresh / "rooms.csv").write_text("home,hhid\n1,1\n1,1\n3,2\n3,2\n")
    main(["check", str(fresh / "policy.yaml")])
    out = capsys.readouterr()
    for text in (
        "homes: 1 value of hh stands in several rows: remove unique: true, and write max_rows at its unit\n",
        "rooms: 2 values of home stand in several rows: remove primary_key\n",
        "homes: 1 of 2 units have more than 1 row: their rows count in proportion, all of one as 1\n",
        "rooms: 2 of 2 units have more than 1 row",
        "each row of stays is protected by itself, but hhid seems to say whose it is",
    ):
        assert text in out.out, out.out


def test_check_lists_the_problems_of_policy_and_data_together(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = fresh / "policy.yaml"
    text = POLICY.replace("drinks.code", "drinks.kode").replace("epsilon: 1e15", "epsilon: none")
    policy.write_text(text.replace("since:", "until:"), encoding="utf-8")
    (fresh / "people.csv").write_text("name,age,code,cost\nAnn,3.5,1,\n")
    assert main(["check", str(policy)]) == 3
    err = capsys.readouterr().err
    for found in (
        "budget.epsilon must be a number",
        "has no column pay",
        "has no column until",
        f"{policy}:18: people.code: keys come from drinks.kode, but table drinks has no column kode",
        "did you mean code?",
        "column age of people is declared integer, but its only cell is none",
    ):
        assert found in err, found
    assert err.endswith("\n5 problems\n")
    (fresh / "drinks.csv").unlink()
    assert main(["check", str(policy)]) == 3
    err = capsys.readouterr().err
    assert "drinks.csv does not exist" in err and "has no column pay" in err


def test_check_finds_keys_that_repeat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders.csv").write_text("id,person\n47114711,1\n47114711,2\n")
    (tmp_path / "items.csv").write_text("order,price\n47114711,1\n")
    (tmp_path / "shops.csv").write_text("shop\na\na\n")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "dpsql: 1\nbudget: {epsilon: 1}\nledger: x.ledger\ntables:\n"
        "  orders:\n    source: orders.csv\n    unit: {column: person, max_rows: 5}\n"
        "    columns: {id: {type: integer}, person: {type: integer}}\n"
        "  items:\n    source: items.csv\n    unit: {via: {order: orders.id}, max_rows: 5}\n"
        "    columns: {order: {type: integer}, price: {type: integer}}\n"
        "  shops:\n    source: shops.csv\n    public: true\n    primary_key: shop\n"
        "  more:\n    source: shops.csv\n    public: true\n    primary_key: ship\n"
        "  open:\n    source: shops.csv\n    public: true\n    columns: {shop: {type: text, unique: true}}\n",
        encoding="utf-8",
    )
    assert main(["check", str(policy)]) == 3
    err = capsys.readouterr().err
    for found in (
        f"{policy}:9: table items: its unit is found through orders (id), where rows have the same values",
        f"{policy}:13: table shops: rows have the same values in shop, which is its primary_key",
        f"{policy}:17: table more has no column ship, which its primary_key names",
        "did you mean shop?",
        f"{policy}:24: table open: rows have the same values in shop, which is declared unique",
    ):
        assert found in err, found
    assert err.endswith("\n4 problems\n")
    assert "47114711" not in err


def test_check_and_the_ledger(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = fresh / "var" / "the.ledger"
    ledger.write_bytes(b"no ledger")
    assert main(["check", str(fresh / "policy.yaml")]) == 5
    out, err = capsys.readouterr()
    assert "error 58030" in err
    everyone = next(line for line in out.splitlines() if "(everyone)" in line)
    assert "".join(everyone.split()) == "|(everyone)|1000000000000000||||||"  # what was charged is not known
    ledger.unlink()
    assert main(["check", str(fresh / "policy.yaml")]) == 0
    assert "does not exist" in capsys.readouterr().out
    assert main(["query", str(fresh / "policy.yaml"), COUNT]) == 5
    assert main(["budget", str(fresh / "policy.yaml")]) == 5
    err = capsys.readouterr().err
    assert "CONFIG" not in err and err.count(f"dpsql budget {fresh / 'policy.yaml'} --create") == 2


def test_hints_name_the_policy_as_it_was_given(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaced = fresh / "my policy.yaml"
    (fresh / "policy.yaml").rename(spaced)
    (fresh / "var" / "the.ledger").unlink()
    for arguments in (["query", str(spaced), COUNT], ["check", str(spaced)]):
        main(arguments)
        out, err = capsys.readouterr()
        assert f"hint: make it once with: dpsql budget '{spaced}' --create" in out + err
    assert main(["query", str(spaced), "-f", "-", COUNT]) == 2
    assert with_config("dpsql query CONFIG, CONFIG", "a b") == "dpsql query 'a b', CONFIG"
    (fresh / "people.csv").unlink()
    assert main(["query", os.path.relpath(spaced), COUNT]) == 3  # errors of YAML and of the data say it alike
    assert capsys.readouterr().err.splitlines()[-2].startswith(f"error F0000: {os.path.relpath(spaced)}:12: ")


def test_a_charged_ledger_that_is_gone(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(fresh / "policy.yaml")
    assert main(["query", config, COUNT]) == 0
    (fresh / "var" / "the.ledger").unlink()
    for arguments in (["query", config, COUNT], ["budget", config], ["budget", config, "--create"]):
        capsys.readouterr()
        assert main(arguments) == 5
        err = capsys.readouterr().err
        assert "the head the.ledger.head of a charged ledger is still there" in err and "--create" not in err
    assert main(["check", config]) == 5


# ---------------------------------------------------------------------------------------------- budget


def test_unlock(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(fresh / "policy.yaml")
    assert main(["query", config, COUNT, "--as", "poor", "--epsilon", "0.25"]) == 0
    with Ledger.open(load(config).ledger) as ledger:
        for _ in range(3):
            ledger.record_failure(1, "poor")
    assert main(["query", config, COUNT, "--as", "poor", "--epsilon", "0.25"]) == 4
    assert "error 55000" in capsys.readouterr().err
    assert main(["budget", config]) == 0
    shown = capsys.readouterr().out
    assert "locked" in shown and shown.count("charge 1 failed") == 3
    assert main(["budget", config, "--unlock", "nobody"]) == 1
    assert main(["budget", config, "--unlock", "poor"]) == 0
    assert main(["query", config, COUNT, "--as", "poor", "--epsilon", "0.25"]) == 0


def test_budget(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(fresh / "policy.yaml")
    assert main(["budget", config]) == 0
    assert capsys.readouterr().out.endswith("no charges\n")
    long = COUNT + " WHERE age > 0" * 1 + " AND age > 1" * 10
    for analyst, sql, epsilon in [("poor", COUNT, "0.25"), ("eve", long, "2"), ("poor", COUNT, "0.5")]:
        assert main(["query", config, sql, "--as", analyst, "--epsilon", epsilon]) == 0
    capsys.readouterr()
    assert main(["budget", config]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    cells = {row[0]: row[1:] for row in rows if row}
    assert cells["(everyone)"] == ["1000000000000000", "", "", "2.75", "0", "999999999999997.25"]
    assert cells["poor"][:5] == ["1", "", "month", "0.75", "0"] and cells["poor"][5].startswith("0.25, renews ")
    assert cells["rich"][1] == "0.000001" and cells["eve"][0] == "no limit"
    assert cells["2"][1:3] == ["eve", "2"] and cells["2"][3].endswith("…")
    assert main(["budget", config, "--last", "1"]) == 0
    assert "the newest 1 of 3 charges" in capsys.readouterr().out
    assert main(["budget", config, "--format", "json", "--last", "2"]) == 0
    assert [each["number"] for each in json.loads(capsys.readouterr().out)] == [2, 3]


def test_budget_shows_the_delta_of_each_charge(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = fresh / "policy.yaml"
    text = POLICY.replace("privacy: {", "privacy: {delta: 1e-7, ").replace(
        "epsilon: 1e15", "epsilon: 1e15\n  delta: 1e-3"
    )
    config.write_text(text.replace(', keys: [Ann, Bob, "日本"]', ""), encoding="utf-8")
    for sql in (COUNT, "SELECT name, COUNT(*) FROM people GROUP BY name"):
        assert main(["query", str(config), sql, "--as", "rich"]) == 0
    capsys.readouterr()
    assert main(["explain", str(config), sql, "--epsilons", "1", "--as", "rich", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["queries_left"] == 9  # of δ
    assert main(["budget", str(config), "--as", "rich"]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [row[3:5] for row in rows if row and row[0] in ("1", "2")] == [["1000000", "0"], ["1000000", "0.0000001"]]


def test_budget_as_csv_and_json(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(fresh / "policy.yaml")
    for analyst in ("ann", "bob", "ann"):
        assert main(["query", config, COUNT, "--as", analyst]) == 0
    capsys.readouterr()
    assert main(["budget", config, "--as", "ann", "--format", "csv"]) == 0
    assert [row["number"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["1", "3"]
    assert main(["budget", config, "--format", "json", "-o", str(fresh / "charges.json")]) == 0
    assert [c["analyst"] for c in json.loads((fresh / "charges.json").read_text())] == ["ann", "bob", "ann"]
    assert main(["budget", config, "--as", "ann"]) == 0
    out = capsys.readouterr().out
    assert "bob" not in out and "(everyone)" not in out
    assert main(["budget", config, "--as", "nobody"]) == 0
    assert "| nobody | no limit |" in capsys.readouterr().out
    (fresh / "policy.yaml").write_text(POLICY.replace("    rich: {", '    "*": {epsilon: 3}\n    rich: {'))
    assert main(["budget", config, "--as", "nobody"]) == 0
    assert "".join(capsys.readouterr().out.splitlines()[3].split()) == "|nobody|3||0|3|"
    assert main(["budget", config, "--create"]) == 5
    assert main(["budget", config, "--last", "many"]) == 2


# ---------------------------------------------------------------------------------------------- tables


def test_tables() -> None:
    heads = [Head("a"), Head("number", right=True)]
    rows = [["日本", "1"], ["e\u0301\x1b", "20"]]
    assert table(heads, rows, "box").splitlines() == [
        "┌───────┬────────┐",
        "│ a     │ number │",
        "├───────┼────────┤",
        "│ 日本  │      1 │",
        "│ e\u0301\\x1b │     20 │",
        "└───────┴────────┘",
    ]
    assert table(heads, [], "markdown") == "| a   | number |\n| --- | -----: |\n"


def test_numbers_in_tables() -> None:
    columns = (
        ResultColumn("n", "BIGINT", 8.2),
        ResultColumn("s", "DOUBLE", 343.0),
        ResultColumn("m", "DOUBLE", None, intervals((12.34567, 5.0), (0.0344, float("inf")))),
        ResultColumn("year", "BIGINT"),
        ResultColumn("d", "DOUBLE"),
    )
    rows = [(1250, 47983308.4, 12.34567, 2020, 10.0), (None, float("nan"), 5.0, 1999, 1234.56789)]
    result = Result(columns, Values(rows), Privacy("a", Fraction(1), Fraction(1), None))
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in answer(result, "table", "ascii").splitlines()]
    assert lines[3] == ["1,250 ± 9", "47,983,308 ± 343", "12.346 ± 0.035", "2020", "10"]
    assert lines[4] == ["NULL", "NaN", "5", "1999", "1234.57"]
    nothing = Result((ResultColumn("x", '"NULL"'),), Values([(None,)]), Privacy("a", Fraction(1), Fraction(0), None))
    assert '{"name": "x", "type": "NULL"}' in answer(nothing, "json", "ascii")
    assert '"half_widths": [' in answer(result, "json", "ascii")
    assert json.loads(answer(result, "json", "ascii"))["rows"][1][1] == "NaN"


def test_csv_works_out_no_errors_that_nobody_asks_for() -> None:
    def looked_at() -> Ends:
        raise AssertionError("it was looked at")

    column = ResultColumn("r", "DOUBLE", None, Intervals(looked_at, lambda: np.array([1.5]), drawn=True))
    result = Result((column,), Values([(1.5,)]), Privacy("a", Fraction(1), Fraction(1), None))
    assert answer(result, "csv", "ascii") == "r\n1.5\n"
    with pytest.raises(AssertionError, match="looked at"):
        answer(result, "csv", "ascii", half_widths=True)


def test_values_for_programs() -> None:
    values = {
        "DECIMAL(3,1)": (Decimal("1.5"), "1.5", 1.5),
        "DATE": (dt.date(2020, 1, 2), "2020-01-02", "2020-01-02"),
        "TIMESTAMP": (dt.datetime(2020, 1, 2, 3), "2020-01-02 03:00:00", "2020-01-02 03:00:00"),
        "BLOB": (b"\x01", "01", "01"),
        "BOOLEAN": (True, "true", True),
        "INTEGER[]": ([1, None], "[1, null]", [1, None]),
        "MAP": ({"a": Decimal(2)}, '{"a": 2}', {"a": 2}),
        "HUGEINT": (2**100, str(2**100), 2**100),
        "FLOAT": (float("-inf"), "-Infinity", "-Infinity"),
        "VARCHAR": ('a"b', 'a"b', 'a"b'),
        "INTERVAL": (dt.timedelta(days=1), "1 day, 0:00:00", "1 day, 0:00:00"),
    }
    columns = tuple(ResultColumn(type_, type_) for type_ in values)
    rows = [tuple(value for value, _, _ in values.values())]
    result = Result(columns, Values(rows), Privacy("a", Fraction(1), Fraction(0), None))
    assert next(csv.reader(answer(result, "csv", "ascii").splitlines()[1:])) == [text for _, text, _ in values.values()]
    assert json.loads(answer(result, "json", "ascii"))["rows"] == [[value for _, _, value in values.values()]]
    assert " 1.5 |" in answer(result, "table", "ascii")


def test_closed_streams(config: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = charges(config)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        assert main(["query", config, COUNT]) == 2
        patched.setattr(sys, "stderr", None)
        assert main(["query", config, COUNT]) == 2
    assert "standard output is closed" in capsys.readouterr().err
    assert charges(config) == before


# ---------------------------------------------------------------------------------------------- processes


def _run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-m", "dpsql", *arguments]
    return subprocess.run(command, capture_output=True, env=environment, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def test_demo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.cli.output.terminal_style", lambda stream: "box")
    assert main(["demo", "--verbose"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and out.count("┌") == 3
    assert out.count("charged ε 0.5, ") == 3 and "nothing charged, 3.5 left" in out


def test_demo_as_a_process(tmp_path: Path) -> None:
    done = _run("demo", env={"TMPDIR": str(tmp_path), "PYTHONIOENCODING": "utf-8"})
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    assert text.count("charged ε 0.5, ") == 3 and "3.5 left" in text and text.count(" ± ") >= 14
    assert "error 42501" in text and "nothing charged, 3.5 left" in text
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_without_unicode(config: str) -> None:
    done = _run("query", config, COUNT, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert b"4 +/- 0" in done.stdout and b"charged epsilon" in done.stdout
    assert len({len(line) for line in done.stdout.splitlines()[:-1]}) == 1


@pytest.mark.slow
def test_large_output_to_a_reader_that_goes_away(fresh: Path) -> None:
    (fresh / "drinks.csv").write_text("code,drink\n" + "".join(f"{i},{'x' * 40}\n" for i in range(20_000)))
    for unbuffered in ("", "1"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
        command = [sys.executable, "-m", "dpsql", "query", str(fresh / "policy.yaml"), "SELECT * FROM drinks"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.read(2) == b"+-"
            process.stdout.close()
            err = process.stderr.read()
        assert process.returncode == 141, unbuffered
        assert b"Traceback" not in err and b"Exception" not in err


def test_help_to_a_reader_that_went_away() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-m", "dpsql", "query", "--help"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_reader_that_goes_away(config: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dpsql", "query", config, "SELECT * FROM drinks"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, timeout=60)
    os.close(writer)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


def test_released_numbers_have_commas_and_keys_have_none() -> None:
    """Ends of intervals stand beside the numbers that they are of; a key may be a year."""
    noisy = ResultColumn("low", "BIGINT", noisy=True)
    assert cells(noisy, [19800]) == ["19,800"] and cells(noisy, [19800], separators=False) == ["19800"]
    assert cells(ResultColumn("year", "BIGINT", noisy=False), [2020]) == ["2020"]
