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
_DATABASE_LIKE = re.compile(r"\.(duckdb|ddb|db)$", re.IGNORECASE)
_PLAIN = r"[^\W\d][\w$]*"
_PART = re.compile(rf'{_PLAIN}|"(?:[^"\x00-\x1f]|"")+"')
_TABLE = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern})){{0,2}}")
_GLOB = re.compile(r"[*?\[]")
DEFAULT_SCHEMA = "main"


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


def database_file(engine: str) -> str | None:
    """The absolute path of the database of a checked engine; None for one in memory."""
    return engine.removeprefix(_PREFIX) if engine.startswith(_PREFIX) else None


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


def table_parts(source: str) -> tuple[str, ...]:
    """The parts of a table's name as it is written in `source`, unquoted: `sales."2020"` is sales and 2020.

    Empty where it can't be one.
    """
    if not _TABLE.fullmatch(source):
        return ()
    found = [part[0] for part in _PART.finditer(source)]
    return tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in found)


def schema_and_name(source: str) -> tuple[str, str]:
    """Schema and name of the table of the engine that a checked `source` names."""
    *schema, name = table_parts(source)
    return (schema[-1] if schema else DEFAULT_SCHEMA), name


def table_source(schema: str, name: str) -> str:
    """How `source` names a table of the engine: always with its schema, so that it is no file by any chance."""
    return ".".join(_part(part) for part in (schema, name))


def _part(name: str) -> str:
    plain = re.fullmatch(_PLAIN, name) and not _FILE_LIKE.search(f".{name}") and f".{name.lower()}" not in _FILE_KINDS
    return name if plain else '"' + name.replace('"', '""') + '"'


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
    if '"' in text and table_parts(text) and not os.path.exists(absolute(base, text)):
        return _table(table, text, engine)
    if os.path.isdir(absolute(base, text)):
        table.problem("source", f"{table.where('source')} is the directory {quoted(text)}", _files_of(base, text))
        return None
    if extension in _FILE_KINDS:
        return _file(table, _FILE_KINDS[extension], absolute(base, text))
    if _DATABASE_LIKE.search(text) and os.path.isfile(absolute(base, text)):
        table.problem(
            "source",
            f"{table.where('source')} is {quoted(text)}, a database",
            f"write engine: {_PREFIX}{printable(text, 200)} at the top, and here a table of it, such as main.people",
        )
        return None
    if _FILE_LIKE.search(text) or os.path.exists(absolute(base, text)) or not _TABLE.fullmatch(text):
        table.problem(
            "source",
            f"{table.where('source')} is {quoted(text)}: no {one_of(_FILE_KINDS)} file and no table name",
            "write a path that ends in .csv or .parquet (globs too), or a table name such as main.people",
        )
        return None
    return _table(table, text, engine)


def _files_of(base: str, directory: str) -> str:
    """What to write in the place of a directory."""
    try:
        names = [name for name in os.listdir(absolute(base, directory)) if not name.startswith(".")]
    except OSError:
        names = []
    kinds = [kind for kind in _FILE_KINDS if any(name.endswith(kind) for name in names)]
    if not kinds:
        return "it holds no .csv or .parquet file: correct the path; it is relative to the policy"
    globs = [printable(os.path.join(glob.escape(directory), f"*{kind}"), 200) for kind in kinds]
    return f"write source: {one_of(globs)}, if its files are one table; else a table for each of them"


def _file(table: Section, kind: SourceKind, location: str) -> Source | None:
    where, shown = table.where("source"), printable(location, 200)
    if os.path.exists(location) or not _GLOB.search(location):
        if problem := _unreadable(location):
            table.problem("source", f"{where}: {shown} {problem}", "correct the path; it is relative to the policy")
            return None
    elif location.count("**") > 1:
        table.problem("source", f"{where} has more than one **", "keep one **")
        return None
    elif not any(os.path.isfile(path) for path in glob.iglob(location, recursive=True)):
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
    if len(table_parts(name)) > 2:
        table.problem(
            "source",
            f"{table.where('source')} is {quoted(name)}, a table with a catalogue",
            "write schema and table alone, such as main.people: the catalogue is the one file of the engine",
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
