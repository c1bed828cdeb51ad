"""Clients that are no Python: psql, JDBC and node-postgres. What is missing of them is told by name."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.programs import need, skip
from tests.wire.clients.readme import line
from tests.wire.clients.script import Answer, Client, dollars, same
from tests.wire.clients.servers import Address

HERE = Path(__file__).parent
DRIVER = Path("/usr/share/java/postgresql.jar")
"""Where Debian has the driver of JDBC."""


class Told(Exception):
    """What a program tells of an error."""

    def __init__(self, sqlstate: str | None, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


# ---------------------------------------------------------------------------------------------- psql


class Psql(Client):
    """Each statement in a process of its own. Parameters are variables, which it writes into the statement."""

    name = "psql"

    def __init__(self, address: Address) -> None:
        self._call = [*shlex.split(line("psql", address)), "--no-psqlrc", "--quiet"]
        self._environment = {**os.environ, "PGPASSWORD": address.password}

    def close(self) -> None:
        pass

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        names = [f":'p{n}'" if isinstance(v, (str, dt.date)) else f":p{n}" for n, v in enumerate(values)]
        variables = [part for n, v in enumerate(values) for part in ("-v", f"p{n}={v}")]
        text = sql.format(*names)
        printed = self._run(f"{text} \\gdesc\n\\echo {_MARK}\n{text};\n", "--csv", "-P", f"null={_NULL}", *variables)
        described, _, found = printed.partition(f"{_MARK}\n")
        columns = tuple((name, kind) for name, kind in list(csv.reader(io.StringIO(described)))[1:])
        rows = list(csv.reader(io.StringIO(found)))[1:]
        kinds = [_MEANING[kind] for _, kind in columns]
        return Answer(columns, tuple(tuple(map(_read, kinds, row)) for row in rows))

    def _run(self, text: str, *options: str) -> str:
        done = subprocess.run(
            [*self._call, *options, "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-f", "-"], input=text,
            env=self._environment, capture_output=True, encoding="utf-8", check=False, timeout=60,
        )  # fmt: skip
        _check(done.returncode, done.stderr)
        return done.stdout

    def cancel(self, sql: str) -> None:
        """As Ctrl-C does. A process that had not begun just ends: then another."""
        code = -signal.SIGINT
        while code == -signal.SIGINT:
            process = subprocess.Popen(
                [*self._call, "-v", "VERBOSITY=verbose", "-c", sql], env=self._environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
            )  # fmt: skip
            told = None
            while told is None:
                try:
                    _, told = process.communicate(timeout=0.3)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)
            code = process.returncode
        _check(code, told)

    def introspect(self) -> dict[str, Any]:
        commands = ("\\d", "\\dt", "\\dv", "\\dn", "\\d people", "\\d+ people", "\\d+ kinds", "\\d regions", "\\df",
                    "\\dT", "\\di", "\\dp people")  # fmt: skip
        return {command: self._run(f"{command}\n") for command in commands}


_MARK, _NULL = "-- that was its description --", "-- null --"
_MEANING: dict[str, Callable[[str], Any]] = {
    "bigint": int, "double precision": float, "text": str, "boolean": lambda text: {"t": True, "f": False}[text],
    "date": dt.date.fromisoformat, "timestamp without time zone": dt.datetime.fromisoformat,
}  # fmt: skip


def _read(meaning: Callable[[str], Any], text: str) -> Any:
    return None if text == _NULL else meaning(text)


def _check(code: int, told: str) -> None:
    found = re.search(r"ERROR:  (\w{5}): (.*)", told, re.DOTALL)
    if found:
        raise Told(found[1], found[2])
    assert code == 0, told


# ---------------------------------------------------------------------------------------------- programs


class Program:
    """A process that answers lines."""

    def __init__(self, *command: str | Path, folder: Path | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", cwd=folder,
            env={**os.environ, "TZ": "UTC"},
        )  # fmt: skip

    def ask(self, text: str) -> Any:
        """What it answers to a line. Raises Told."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        if "message" in found:
            raise Told(found["state"], found["message"])
        return found

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing more is asked: it ends."""
        self._process.communicate(timeout=30)
        assert self._process.returncode == 0


class Jdbc(Client):
    name = "JDBC"
    options = ""

    @staticmethod
    def program() -> Program:
        """Java, with a connection for each client; little is compiled, since it runs once."""
        fast = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
        return Program("java", *fast, "-cp", DRIVER, HERE / "Jdbc.java")

    def __init__(self, program: Program, address: Address) -> None:
        self._program = program
        self._name = f"{self.name} {address.kind}"
        self._do("connect", line("JDBC", address) + self.options)

    def _do(self, task: str, *words: str) -> Any:
        return self._program.ask(" ".join(quote(word, safe="") for word in (task, self._name, *words)))

    def close(self) -> None:
        self._do("close")

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        return _of_java(self._do("ask", sql.replace("{}", "?"), *(_typed(value) for value in values)))

    def cancel(self, sql: str) -> None:
        self._do("cancel", sql)

    def introspect(self) -> dict[str, Any]:
        found = self._do("find")
        answers = {name: _of_java(part) for name, part in found.items()}
        plain = sorted((row for row in answers["types"].rows if row[1] not in _MADE_OF_OTHERS), key=str)
        answers["types"] = Answer(answers["types"].columns, tuple(plain))
        return {name: ([column for column, _ in answer.columns], answer.rows) for name, answer in answers.items()}


_MADE_OF_OTHERS = (2001, 2002, 2003)
"""In java.sql.Types: domains, rows and arrays. PostgreSQL has one of each for each table of its catalogue."""


class JdbcBinary(Jdbc):
    """It goes over to named statements and binary values at the second time, not at the fifth."""

    name = "JDBC-binary"
    options = "&prepareThreshold=1"

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        first, second = super().ask(sql, values), super().ask(sql, values)
        assert same(first.rows, second.rows) and first.columns == second.columns
        return second


def _typed(value: Any) -> str:
    return f"{type(value).__name__}:{str(value).lower() if isinstance(value, bool) else value}"


def _of_java(found: dict[str, Any]) -> Answer:
    columns = tuple((name, kind) for name, kind in found["columns"])
    return Answer(columns, tuple(tuple(map(_untyped, row)) for row in found["rows"]))


_READ = {"float": float, "date": dt.date.fromisoformat, "datetime": dt.datetime.fromisoformat}


def _untyped(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _READ[kind](text)


class Node(Client):
    name = "node-postgres"
    lists = True

    @staticmethod
    def program(folder: Path) -> Program:
        """node, in a folder where its packages are."""
        return Program("node", "client.js", folder=folder)

    def __init__(self, program: Program, address: Address) -> None:
        self._program = program
        self._name = address.kind
        self._line = line("node-postgres", address)
        self._do("connect", line=self._line)

    def _do(self, task: str, **more: Any) -> Any:
        return self._program.ask(json.dumps({"task": task, "name": self._name, **more}))

    def close(self) -> None:
        self._do("close")

    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        plain = [str(value) if isinstance(value, dt.date) else value for value in values]
        found = self._do("ask", sql=dollars(sql), values=plain)
        kinds = [_OF_NODE.get(kind, _same) for _, kind in found["columns"]]
        columns = tuple((name, kind) for name, kind in found["columns"])
        rows = tuple(
            tuple(None if v is None else k(v) for k, v in zip(kinds, row, strict=True)) for row in found["rows"]
        )
        return Answer(columns, rows)

    def cancel(self, sql: str) -> None:
        self._do("cancel", line=self._line, sql=sql)


def _same(value: Any) -> Any:
    return value


_OF_NODE: dict[str, Callable[[Any], Any]] = {
    "20": int, "701": float, "1082": dt.date.fromisoformat, "1114": dt.datetime.fromisoformat,
}  # fmt: skip
"""node shows int8 as text, since its numbers have 53 bits, and a whole float8 as one of its numbers."""


def install(folder: Path) -> None:
    """Put what client.js needs there, unless it is there. Skips the test where that can't be."""
    need("nodejs, npm", "node", "npm")
    for file in (HERE / "node").iterdir():
        shutil.copy(file, folder)
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    found = {name: folder / "node_modules" / name / "package.json" for name in wanted}
    if all(f.exists() and json.loads(f.read_text())["version"] == wanted[name] for name, f in found.items()):
        return
    options = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error")
    done = subprocess.run(["npm", "install", *options], cwd=folder, capture_output=True, check=False, timeout=300)
    if done.returncode != 0:
        skip(", ".join(f"{name} {version} of npm, which can't be fetched now" for name, version in wanted.items()))
