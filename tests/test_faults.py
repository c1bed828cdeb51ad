"""Faults are not a channel: whatever ends a query while it reads private rows is charged, tells nothing, and counts."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql import postprocess
from dpsql.cli import main
from dpsql.engines import duckdb as engine
from dpsql.engines.duckdb_sources import driver
from dpsql.errors import LedgerError
from dpsql.ledger import Ledger, Receipt, store, under_way
from dpsql.ledger.under_way import UnderWay
from dpsql.policy import Budget, Limit
from dpsql.postprocess import Outer, Scratch
from dpsql.privacy.loss import PrivacyLoss
from tests.processes import Forked

pytestmark = pytest.mark.slow

QUERY = "SELECT COUNT(*) AS n FROM people"
SECRET = "SECRET"
BUDGET = Budget(Limit(Fraction(100)))
ONE = PrivacyLoss(Fraction(1))


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "people.csv").write_text("age\n30\n40\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nprivacy: {epsilon: 1}\nbudget: {epsilon: 100}\nledger: the.ledger\ntables:\n"
        "  people: {source: people.csv, unit: row, columns: {age: {type: integer}}}\n"
    )
    Ledger.create(tmp_path / "the.ledger").close()
    return str(tmp_path / "policy.yaml")


def ledger_of(config: str) -> Ledger:
    return Ledger.open(Path(config).with_name("the.ledger"))


def failures(config: str, analyst: str = "eve") -> int:
    with ledger_of(config) as ledger:
        return ledger.failures(analyst)


def charged(config: str) -> Fraction:
    with ledger_of(config) as ledger:
        return ledger.totals().everyone.epsilon


# ---------------------------------------------------------------------------------------------- the faults


def _runs_instead(monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """The private engine runs this in the place of every inner query."""
    real = engine._parsed
    monkeypatch.setattr(engine, "_parsed", lambda text: real(sql if text.startswith("SELECT") else text))


def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "STATEMENT_SECONDS", 0.05)
    _runs_instead(monkeypatch, "SELECT COUNT(*) FROM range(1000000000) a, range(1000) b WHERE a.range + b.range = 7")


def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(driver.CONFIG, "memory_limit", "20MB")
    _runs_instead(monkeypatch, "SELECT len(list(range)) FROM range(30000000)")


def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    _runs_instead(monkeypatch, f"SELECT error('{SECRET}')")


def odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the number of columns that was planned."""
    _runs_instead(monkeypatch, f"SELECT 1, '{SECRET}'")


def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    def release(*_: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr("dpsql.session.release", release)


def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_: object) -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background process ignores it
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, before)

    monkeypatch.setattr(engine.DuckDBTransaction, "fetch", fetch)


Fault = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[Fault, tuple[type[BaseException], str, int]] = {
    slow: (dpsql.EngineError, "58000", 6),
    without_memory: (dpsql.EngineError, "58000", 6),
    failing: (dpsql.EngineError, "58000", 6),
    odd: (dpsql.InternalError, "XX000", 6),
    faulty: (dpsql.InternalError, "XX000", 6),
    interrupted: (KeyboardInterrupt, "", 130),
}
"""Each with what is raised, its SQLSTATE, and the exit code of the command line."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_through_the_module(config: str, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    raised, sqlstate, _ = FAULTS[fault]
    with caplog.at_level(logging.DEBUG), pytest.MonkeyPatch.context() as patched:
        fault(patched)
        with dpsql.connect(config, analyst="eve") as connection:
            for count in (1, 2, 3):
                with pytest.raises(raised) as caught:
                    connection.cursor().execute(QUERY)
                if isinstance(caught.value, dpsql.Error):
                    assert caught.value.sqlstate == sqlstate
                    assert "the charge stands" in str(caught.value) and "unlock" in str(caught.value)
                assert SECRET not in str(caught.value)
                assert connection.session.ledger.failures("eve") == count
    assert SECRET not in caplog.text
    with dpsql.connect(config, analyst="eve") as connection:
        with pytest.raises(dpsql.AnalystLocked) as locked:
            connection.cursor().execute(QUERY)
        assert locked.value.sqlstate == "55000" and "--unlock eve" in str(locked.value.hint)
        assert connection.session.ledger.totals().everyone.epsilon == 3
        connection.session.ledger.unlock("eve")
        assert connection.cursor().execute(QUERY).rowcount == 1


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_through_the_command_line(config: str, fault: Fault, capsys: pytest.CaptureFixture[str]) -> None:
    _, sqlstate, code = FAULTS[fault]
    with pytest.MonkeyPatch.context() as patched:
        fault(patched)
        for count in (1, 2, 3):
            assert main(["query", config, QUERY, "--as", "eve", "-v"]) == code
            shown = capsys.readouterr()
            assert f"error {sqlstate}" in shown.err if sqlstate else "counts as a failure" in shown.err
            assert SECRET not in shown.out + shown.err and "Traceback" not in shown.err
            assert failures(config) == count
    assert main(["query", config, QUERY, "--as", "eve"]) == 4
    assert "error 55000: the analyst eve is locked" in capsys.readouterr().err
    assert main(["explain", config, QUERY, "--as", "eve"]) == 0
    assert "it would be refused: the analyst eve is locked" in capsys.readouterr().out
    assert charged(config) == 3
    assert main(["budget", config]) == 0
    assert capsys.readouterr().out.count("failed") == 3
    assert main(["budget", config, "--unlock", "eve"]) == 0
    assert main(["query", config, QUERY, "--as", "eve"]) == 0


def test_faults_over_noisy_rows_do_not_count(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They depend on noisy numbers alone. (Over the sample, a 1, it works.)"""
    sql = "SELECT 9223372036854775806 + COUNT(*) FROM people"
    for _ in range(4):
        assert main(["query", config, sql, "--as", "eve", "--epsilon", "9"]) == 6
        assert "the query over the noisy rows failed" in capsys.readouterr().err
    assert failures(config) == 0 and charged(config) == 9


def test_ctrl_c_while_the_engine_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has words of its own for it. Others are faults."""
    with pytest.raises(KeyboardInterrupt):
        driver.quietly(lambda: (_ for _ in ()).throw(RuntimeError("Query interrupted")))
    with pytest.raises(dpsql.EngineError):
        driver.quietly(lambda: (_ for _ in ()).throw(RuntimeError(SECRET)))
    with pytest.raises(dpsql.EngineError):
        driver.quietly(lambda: (_ for _ in ()).throw(duckdb.InterruptException("Query interrupted")))


def test_a_query_over_noisy_rows_that_takes_too_much_memory() -> None:
    """The reason names no class of the driver's. Before the charge it would have been refused (`Scratch.bind`)."""
    scratch = Scratch(memory="32MB")
    sql = "SELECT array_agg(i) AS v FROM generate_series(1, 100000000) AS g(i)"
    with pytest.raises(dpsql.EngineError) as raised:
        scratch.run(Outer(sql, None, ("v",), ("BIGINT[]",)), {})
    assert raised.value.message == "the query over the noisy rows took too much memory"
    assert raised.value.hint == "ask for less; what was charged stands"
    scratch.close()


@pytest.mark.parametrize(("words", "raised"), [("Query interrupted", KeyboardInterrupt), (SECRET, RuntimeError)])
def test_ctrl_c_over_noisy_rows(monkeypatch: pytest.MonkeyPatch, words: str, raised: type[BaseException]) -> None:
    class Cursor:
        def execute(self, *_: object) -> None:
            raise RuntimeError(words)

    scratch = Scratch()
    monkeypatch.setattr(scratch, "_cursor", Cursor)
    with pytest.raises(raised):
        scratch.run(Outer("SELECT 1", None, ("v",), ("INTEGER",)), {})
    scratch.close()


@pytest.mark.parametrize(
    ("limit", "value", "words"), [("MAX_ROWS", 2499, "2,499 rows"), ("MAX_CHARACTERS", 249_999, "249,999 characters")]
)
def test_results_that_fill_the_memory(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, words: str) -> None:
    """They are refused: a process that is killed takes the queries of others with it, which would count as failures."""
    scratch = Scratch()
    outer = Outer("SELECT range, repeat('x', 100) FROM range(2500)", None, ("n", "v"), ("BIGINT", "VARCHAR"))
    monkeypatch.setattr(postprocess, limit, value)
    with pytest.raises(dpsql.EngineError, match=words):
        scratch.run(outer, {})
    monkeypatch.setattr(postprocess, limit, value + 1)
    assert [row[0] for row in scratch.run(outer, {}).rows] == list(range(2500))
    scratch.close()


# ---------------------------------------------------------------------------------------------- killed

_KILLED = """
import os, signal
import dpsql
from dpsql.cli import main
from dpsql.engines.duckdb import DuckDBTransaction
fetch = DuckDBTransaction.fetch
def killed(self, *arguments):
    if moment == "after":
        fetch(self, *arguments)
    os.kill(os.getpid(), signal.SIGKILL)
for front in fronts:
    if os.fork() == 0:
        if moment != "answered":
            DuckDBTransaction.fetch = killed
        if front == "cli":
            main(["query", config, "SELECT COUNT(*) AS n FROM people", "--as", "eve"])
        connection = dpsql.connect(config, analyst="eve")
        connection.cursor().execute("SELECT COUNT(*) AS n FROM people")
        os.kill(os.getpid(), signal.SIGKILL)
    print(os.WTERMSIG(os.wait()[1]), flush=True)
"""


@pytest.mark.parametrize("moment", ["before", "after", "answered"])
def test_a_process_that_is_killed(config: str, moment: str) -> None:
    """Killed while it reads, it counts, whichever way it was asked; killed after the answer, it doesn't."""
    fronts = ["module", "cli", "module"] if moment != "answered" else ["module"]
    printed, code = Forked(exec, _KILLED, {"config": config, "moment": moment, "fronts": fronts}).ended()
    assert (printed.split(), code) == (["9"] * len(fronts), 0)
    if moment == "answered":
        assert list(Path(config).parent.glob("*.open-*"))
        assert failures(config) == 0 and charged(config) == 1
    else:
        assert main(["query", config, QUERY, "--as", "eve"]) == 4
        assert failures(config) == 3 and charged(config) == 3
    assert not list(Path(config).parent.glob("*.open-*"))


# ---------------------------------------------------------------------------------------------- the file of a process


@pytest.fixture
def place(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "x.ledger").close()
    return tmp_path / "x.ledger"


def charge(ledger: Ledger, analyst: str = "eve") -> Receipt:
    return ledger.charge(ONE, analyst=analyst, budget=BUDGET, query=QUERY)


def left_behind(place: Path) -> list[Path]:
    return sorted(place.parent.glob("x.ledger.open-*"))


def counted(place: Path, analyst: str = "eve") -> int:
    with Ledger.open(place) as ledger:
        return ledger.failures(analyst)


def test_a_process_that_lives_is_left_alone(place: Path) -> None:
    with Ledger.open(place) as ledger:
        receipt = charge(ledger)
        with ledger.reading(receipt, "eve"):
            assert counted(place) == 0
            assert len(left_behind(place)) == 1
    assert counted(place) == 0 and not left_behind(place)


def test_each_query_under_way_counts(place: Path) -> None:
    """Of several analysts, in several threads; those that ended do not."""
    under = UnderWay(place)
    with Ledger.open(place) as ledger:
        numbers = [charge(ledger, analyst).number for analyst in ("ann", "eve", "bob", "eve")]
        genesis = ledger._genesis
    under.prepare(genesis)
    places = [under.begin(number) for number in numbers]
    under.end(places[2])
    assert under.begin(numbers[3]) == places[2]
    under.end(places[3])
    under.close()
    assert [counted(place, analyst) for analyst in ("ann", "eve", "bob")] == [1, 2, 0]
    assert not left_behind(place)


def test_many_threads_share_the_file(place: Path) -> None:
    with Ledger.open(place) as ledger:
        ready, go = threading.Barrier(9), threading.Event()

        def read() -> None:
            receipt = charge(ledger)
            with ledger.reading(receipt, "eve"):
                ready.wait()
                go.wait()

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        ready.wait()
        (file,) = left_behind(place)
        numbers = under_way._charges(file.read_bytes(), ledger._genesis)
        assert sorted(numbers) == list(range(1, 9))
        go.set()
        for thread in threads:
            thread.join()
        assert under_way._charges(file.read_bytes(), ledger._genesis) == []
    assert counted(place) == 0


@pytest.mark.parametrize("content", [b"", b"x" * 64 + (1).to_bytes(8), None, b"short"])
def test_what_another_ledger_left_means_nothing(place: Path, content: bytes | None) -> None:
    with Ledger.open(place) as ledger:
        charge(ledger)
        if content is None:  # a charge that this ledger, an older copy, doesn't have
            content = ledger._genesis.encode() + (7).to_bytes(8)
    place.with_name("x.ledger.open-0123456789abcdef").write_bytes(content)
    assert counted(place) == 0 and not left_behind(place)


def test_a_failure_that_cannot_be_recorded_is_recorded_later(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise LedgerError("the disk is full")

    with Ledger.open(place) as ledger, caplog.at_level(logging.ERROR, "dpsql"):
        receipt = charge(ledger)
        with monkeypatch.context() as patched:
            patched.setattr(ledger._writer, "record", full)
            with pytest.raises(ValueError, match="read"), ledger.reading(receipt, "eve"):
                raise ValueError("read")
        assert "the failure of charge 1 could not be recorded" in caplog.text
        assert ledger.failures("eve") == 0
    assert counted(place) == 1
    assert counted(place) == 1


def test_without_the_file_nothing_is_charged(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with Ledger.open(place) as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(UnderWay, "_make", full)
            with pytest.raises(LedgerError, match="the disk is full"):
                charge(ledger)
        assert ledger.totals().count == 0
        receipt = charge(ledger)
        with monkeypatch.context() as patched:
            patched.setattr(under_way.os, "pwrite", full)
            with pytest.raises(LedgerError, match="the disk is full"), ledger.reading(receipt, "eve"):
                raise AssertionError("rows were read")
    assert counted(place) == 0


def test_a_file_that_is_taken_before_it_is_locked_is_made_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, taken = fcntl.flock, []

    def flock(file: int, kind: int) -> None:
        if not taken:
            taken.extend(left_behind(place))
            taken[0].unlink()
        real(file, kind)

    with Ledger.open(place) as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(under_way.fcntl, "flock", flock)
            ledger._writer.under_way.prepare(ledger._genesis)
        assert len(taken) == 1 and len(left_behind(place)) == 1 and left_behind(place) != taken


_FORKING = """
import os, signal, sys, time
from dpsql.ledger import Ledger
from dpsql.policy import Budget
from dpsql.privacy.loss import PrivacyLoss
ledger = Ledger.open(sys.argv[1])
receipt = ledger.charge(PrivacyLoss(1), analyst="eve", budget=Budget(), query="")
with ledger.reading(receipt, "eve"):
    child = os.fork()
    if child == 0:
        own = ledger.charge(PrivacyLoss(1), analyst="child", budget=Budget(), query="")
        with ledger.reading(own, "child"):
            print("ready", os.getpid(), flush=True)
            time.sleep(60)
    time.sleep(60)
"""


def test_a_child_does_not_hide_that_its_parent_died(place: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _FORKING, str(place)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        _, child = parent.stdout.readline().split()
        assert len(left_behind(place)) == 2
        parent.kill()
        os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
        assert [counted(place, analyst) for analyst in ("eve", "child")] == [1, 0]
        os.kill(int(child), signal.SIGKILL)
    for _ in range(200):
        if counted(place, "child"):
            break
        threading.Event().wait(0.02)
    assert [counted(place, analyst) for analyst in ("eve", "child")] == [1, 1]


_WORKERS = """
import os
from dpsql.errors import AnalystLocked
from dpsql.ledger import Ledger
from dpsql.policy import Budget
from dpsql.privacy.loss import PrivacyLoss
ledger = Ledger.open(path)
for _ in range(5):
    if os.fork() == 0:
        try:
            receipt = ledger.charge(PrivacyLoss(1), analyst="eve", budget=Budget(), query="")
        except AnalystLocked:
            os._exit(3)
        with ledger.reading(receipt, "eve"):
            os._exit(9)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def test_workers_that_die_are_counted_by_those_forked_next(place: Path) -> None:
    """Nobody opens the ledger meanwhile: all workers have it from the process that forks them."""
    assert Forked(exec, _WORKERS, {"path": str(place)}).ended() == ("9\n9\n9\n3\n3\n", 0)
    assert counted(place) == 3


def test_a_fork_while_the_file_is_made(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child closes it too: it would keep the lock of a parent that died."""
    real, making = fcntl.flock, threading.Event()

    def slow(file: int, kind: int) -> None:
        making.set()
        threading.Event().wait(0.1)
        real(file, kind)

    with Ledger.open(place) as ledger:
        monkeypatch.setattr(under_way.fcntl, "flock", slow)
        under = ledger._writer.under_way
        thread = threading.Thread(target=under.prepare, args=(ledger._genesis,))
        thread.start()
        making.wait()
        child = os.fork()
        if child == 0:  # pragma: no cover - the child
            named = (file for file in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{file}"))
            os._exit(any(".open-" in os.readlink(f"/proc/self/fd/{file}") for file in named))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        thread.join()
        assert under.is_prepared


def test_the_files_of_another_ledger_are_left_alone(place: Path) -> None:
    """Also where its name begins as the name of a process's file does."""
    other = place.with_name("x.ledger.open-data")
    Ledger.create(other).close()
    assert counted(place) == 0
    Ledger.open(other).close()


def test_failures_of_the_dead_are_in_the_chain(place: Path) -> None:
    under = UnderWay(place)
    with Ledger.open(place) as ledger:
        number = charge(ledger).number
        under.prepare(ledger._genesis)
    under.begin(number)
    under.close()
    with Ledger.open(place) as ledger:
        assert [event.charge for event in ledger.events()] == [number]  # type: ignore[union-attr]
    assert store.read_head(store.head_path(place)).count == 2
