"""Where the data is: the engine's URL, files and globs, tables of the engine. Paths become absolute here."""

from __future__ import annotations

import glob
import os
import re

from dpsql.policy.model import Source, SourceKind
from dpsql.policy.problems import one_of, printable, quoted, similar
from dpsql.policy.section import Section

IN_MEMORY = "duckdb"
DIALECTS = ("duckdb", "postgres", "bigquery", "spark")

_PREFIX = "duckdb:///"
_FILE_KINDS: dict[str, SourceKind] = {".csv": "csv", ".parquet": "parquet"}
_FILE_LIKE = re.compile(
    r"[/\\*?\[\]]|\.(tsv|txt|json|jsonl|ndjson|xlsx?|gz|zst|bz2|zip|feather|arrow|orc|avro|db|sqlite3?|duckdb|ddb|pq)$",
    re.IGNORECASE,
)
_IDENTIFIER = r'(?:[^\W\d][\w$]*|"(?:[^"\x00-\x1f]|"")+")'
_TABLE = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER}){{0,2}}")
_GLOB = re.compile(r"[*?\[]")


def absolute(base: str, path: str) -> str:
    """The path, seen from the directory of the policy."""
    return os.path.abspath(os.path.join(base, path))


def read_engine(top: Section, base: str) -> str | None:
    """`duckdb` or `duckdb:///` and an absolute path."""
    if "engine" not in top:
        return IN_MEMORY
    url = top.text("engine", IN_MEMORY)
    if url is None or url == IN_MEMORY:
        return url
    if not url.startswith(_PREFIX):
        _refuse_engine(top, url)
        return None
    path = url.removeprefix(_PREFIX)
    if path in ("", ":memory:") or re.search("[?#]", path):
        top.problem(
            "engine",
            f"engine {quoted(url)} names no file",
            "write duckdb:///file.duckdb (relative to the policy), duckdb:////absolute/file.duckdb, "
            "or duckdb for an engine in memory; there are no options after ? or #",
        )
        return None
    location = absolute(base, path)
    if problem := _unreadable(location):
        top.problem("engine", f"the engine's file {printable(location, 200)} {problem}", "correct the path in engine")
        return None
    return _PREFIX + location


def _refuse_engine(top: Section, url: str) -> None:
    scheme = url.partition(":")[0]
    meant = similar(scheme, (IN_MEMORY,))
    if scheme == IN_MEMORY:
        message = f"engine {quoted(url)} is not a URL that can be read"
        hint = "three slashes and a path relative to the policy, four and an absolute one: duckdb:///clinic.duckdb"
    else:
        message = f"the engine {quoted(scheme)} is unknown"
        hint = "did you mean 'duckdb'?" if meant else "write duckdb, or duckdb:///file.duckdb"
    top.problem("engine", message, hint)


def read_source(table: Section, base: str, engine: str | None) -> Source | None:
    """A file, a glob of files, or a table of the engine."""
    if not table.require("source", "write source: and a .csv or .parquet file, or a table of the engine"):
        return None
    text = table.text("source", "people.csv")
    if text is None:
        return None
    if "://" in text:
        table.problem("source", f"{table.where('source')} is a URL, {quoted(text)}", "write the path of a local file")
        return None
    extension = os.path.splitext(text)[1].lower()
    if extension in _FILE_KINDS:
        return _file(table, _FILE_KINDS[extension], absolute(base, text))
    if _FILE_LIKE.search(text) or os.path.exists(absolute(base, text)) or not _TABLE.fullmatch(text):
        table.problem(
            "source",
            f"{table.where('source')} is {quoted(text)}: no {one_of(_FILE_KINDS)} file and no table name",
            "write a path that ends in .csv or .parquet (globs too), or a table name such as main.people",
        )
        return None
    return _table(table, text, engine)


def _file(table: Section, kind: SourceKind, location: str) -> Source | None:
    where, shown = table.where("source"), printable(location, 200)
    if os.path.exists(location) or not _GLOB.search(location):
        if problem := _unreadable(location):
            table.problem("source", f"{where}: {shown} {problem}", "correct the path; it is relative to the policy")
            return None
    elif location.count("**") > 1:
        table.problem("source", f"{where} has more than one **", "keep one **")
        return None
    elif next(glob.iglob(location, recursive=True), None) is None:
        table.problem("source", f"{where}: no file matches {shown}", "correct the glob; it is relative to the policy")
        return None
    return Source(kind, location)


def _table(table: Section, name: str, engine: str | None) -> Source | None:
    if engine == IN_MEMORY:
        table.problem(
            "source",
            f"{table.where('source')} is the table {quoted(name)}, but an engine in memory has no tables",
            f"write a file (source: {printable(name)}.csv), or give the engine one (engine: duckdb:///file.duckdb)",
        )
        return None
    return Source("table", name)


def _unreadable(location: str) -> str | None:
    """Why the file can't be read, or None where it can."""
    if os.path.isdir(location):
        return "is a directory"
    if not os.path.isfile(location):
        return "does not exist" if not os.path.exists(location) else "is not a regular file"
    return None if os.access(location, os.R_OK) else "is not readable for this user"


def read_ledger(top: Section, base: str, others: dict[str, str]) -> str | None:
    """The ledger's absolute path. It need not exist: only `dpsql budget --create` makes it."""
    if not top.require("ledger", "write ledger: var/name.ledger: the file that records every charge"):
        return None
    text = top.text("ledger", "var/name.ledger")
    if text is None:
        return None
    location = absolute(base, text)
    if text.endswith("/") or os.path.isdir(location):
        top.problem(
            "ledger",
            f"ledger {quoted(text)} is a directory",
            "write the path of a file, such as var/name.ledger",
        )
        return None
    if location in others:
        top.problem("ledger", f"ledger {quoted(text)} is also {others[location]}", "give the ledger a file of its own")
        return None
    return location
