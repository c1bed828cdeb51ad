"""The schema of data that no policy names yet: what `dpsql init` drafts a policy from. No value is read.

Of a CSV file that is its header line. Of a Parquet file it is the names and types in its footer, and not the rest of
it: statistics are values, and writers mark a column REQUIRED where no value happens to be NULL. Of a database it is the
catalogue.
"""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dpsql.engines import declared
from dpsql.engines.duckdb_sources import database_file, parquet_files
from dpsql.engines.duckdb_sources.driver import CONFIG, FAULTS
from dpsql.engines.duckdb_sources.fingerprint import matches
from dpsql.policy.draft import DraftColumn, DraftTable, plain_name
from dpsql.policy.section import folded
from dpsql.policy.sources import DEFAULT_SCHEMA, table_source

_FILES = (".csv", ".parquet")
_DATABASES = (".duckdb", ".ddb", ".db")
_FORMAT = "a CSV file is UTF-8 text: a line with the columns' names, then one line for each row, commas between cells"
_FOLDERS = "for files in folders give a glob in quotes: 'data/**/*.parquet'"
_STORE_AS = {
    "HUGEINT": "BIGINT", "UHUGEINT": "BIGINT", "UBIGINT": "BIGINT", "ENUM": "VARCHAR", "UUID": "VARCHAR",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP", "TIMESTAMP_NS": "TIMESTAMP", "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_S": "TIMESTAMP",
}  # fmt: skip


class Unusable(Exception):
    """No policy can be drafted from this: one sentence, and what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables found, the engine that reads them, and what can't be declared."""

    tables: tuple[DraftTable, ...]
    engine: str
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Files:
    """One table: its files, and the file or glob that names them."""

    location: str
    name: str
    files: tuple[str, ...]


def read(data: Sequence[str], base: str) -> Schema:
    """The schema of files, directories, globs and at most one database; paths are written as seen from `base`.

    Raises Unusable.
    """
    databases = [given for given in data if os.path.isfile(given) and _suffix(given) in _DATABASES]
    if len(databases) > 1:
        raise Unusable(f"{databases[0]} and {databases[1]} are two databases", "draft a policy for each")
    with duckdb.connect(config=CONFIG) as connection:
        groups = [group for given in data if given not in databases for group in _groups(connection, given)]
        tables = [_table(connection, group, base) for group in groups]
        if not databases:
            return Schema(tuple(tables), "duckdb", ())
        found, views = _database(connection, databases[0])
        return Schema((*found, *tables), f"duckdb:///{_seen_from(base, databases[0], r'[?#]')}", tuple(views))


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _seen_from(base: str, path: str, forbidden: str = r"(?!)") -> str:
    """The path relative to where the policy will be."""
    relative = os.path.relpath(path, base)
    if re.search(rf"[\x00-\x1f\ud800-\udfff]|{forbidden}", relative):
        raise Unusable(f"the path {path} can't be written in a policy", "rename the file or its folder")
    return relative


# ---------------------------------------------------------------------------------------------- which files


def _groups(connection: duckdb.DuckDBPyConnection, given: str) -> list[_Files]:
    """The tables that one argument names."""
    if os.path.isdir(given):
        return _directory(connection, given)
    if os.path.isfile(given):
        return [_Files(given, plain_name(Path(given).stem), (given,))]
    if not glob.has_magic(given):
        what = "is not a regular file" if os.path.exists(given) else "does not exist"
        raise Unusable(f"{given} {what}", "name a .csv or .parquet file, a folder or glob of them, or a .duckdb file")
    if _suffix(given) not in _FILES:
        raise Unusable(f"{given} may match files of any kind", "end the glob in .csv or .parquet")
    if given.count("**") > 1:
        raise Unusable(f"{given} has more than one **", "keep one **")
    if not (files := tuple(matches(given))):
        raise Unusable(f"no file matches {given}", _FOLDERS)
    group = _Files(given, _name(given), files)
    _check_alike(connection, group)
    return [group]


def _directory(connection: duckdb.DuckDBPyConnection, given: str) -> list[_Files]:
    """Files with the same columns are one table, others one each."""
    try:
        inside = os.listdir(given)
    except OSError as error:
        raise Unusable(f"the folder {given} can't be read: {error.strerror}", "name files in it, or another") from None
    listed = sorted(name for name in inside if not name.startswith(".") and _suffix(name) in _FILES)
    files = tuple(path for name in listed if os.path.isfile(path := os.path.join(given, name)))
    if not files:
        raise Unusable(f"{given} holds no .csv or .parquet file", _FOLDERS)
    endings = {os.path.splitext(file)[1] for file in files}
    if len(endings) == 1 and (len(files) > 1 or _suffix(os.path.abspath(given)) in _FILES):
        pattern = os.path.join(glob.escape(given), f"*{endings.pop()}")
        group = _Files(pattern, _name(pattern), files)
        if len({_signature(_columns(connection, file)) for file in files}) == 1:
            return [group]
    return [_Files(file, plain_name(Path(file).stem), (file,)) for file in files]


def _name(pattern: str) -> str:
    """A name for the files of a glob: its last part that says something."""
    parts = reversed(Path(os.path.abspath(pattern)).parts)
    heads = (re.split(r"[*?\[]", os.path.splitext(part)[0] if _suffix(part) in _FILES else part)[0] for part in parts)
    return next(filter(None, map(plain_name, heads)), "data")


def _check_alike(connection: duckdb.DuckDBPyConnection, group: _Files) -> None:
    first = dict(_signature(_columns(connection, group.files[0])))
    for file in group.files[1:]:
        other = dict(_signature(_columns(connection, file)))
        differing = sorted(name for name in {*first, *other} if first.get(name, 0) != other.get(name, 0))
        if differing:
            raise Unusable(
                f"{group.files[0]} and {file}, both of {group.location}, differ in the column {differing[0]}",
                "give a glob for each kind of files, or the files one by one",
            )


def _signature(columns: Sequence[DraftColumn]) -> tuple[tuple[str, str | None], ...]:
    """What files of one table must have in common: names and types, in any order."""
    types = ((folded(c.name), c.obstacle or (c.stored if c.type == "timestamp" else c.type)) for c in columns)
    return tuple(sorted(types, key=str))


def _table(connection: duckdb.DuckDBPyConnection, group: _Files, base: str) -> DraftTable:
    several = len(group.files) > 1
    columns = _columns(connection, group.files[0])
    return DraftTable(group.name, _seen_from(base, group.location), columns, several)


# ---------------------------------------------------------------------------------------------- files


def _columns(connection: duckdb.DuckDBPyConnection, file: str) -> tuple[DraftColumn, ...]:
    if not os.access(file, os.R_OK):
        raise Unusable(f"{file} is not readable for this user", "give this user the permission to read it")
    if not os.path.getsize(file):
        raise Unusable(f"{file} is empty", "name a file that has at least the names of its columns")
    match _suffix(file):
        case ".csv":
            return tuple(DraftColumn(name) for name in _header(file))
        case ".parquet":
            return tuple(_parquet(connection, file))
    raise Unusable(
        f"{file} is none of the files that are read", "save it as .csv or .parquet, or load it into a .duckdb"
    )


def _header(file: str) -> list[str]:
    """The names in a CSV file's first line."""
    try:
        names = [name.strip() for name in declared.header(Path(file))]
    except UnicodeError:
        raise Unusable(f"{file} is not UTF-8 text", "save it as UTF-8") from None
    except (csv.Error, OSError):
        raise Unusable(f"{file} is not a CSV file", _FORMAT) from None
    if not any(names):
        raise Unusable(f"{file} has no names of columns in its first line", _FORMAT)
    _check_header(file, names)
    return names


def _check_header(file: str, names: Sequence[str]) -> None:
    """Refuse a first line that isn't one of names. Only names of distinct columns are ever shown: the rest may be a row
    of data.
    """
    if any("\n" in name or "\r" in name for name in names):
        raise Unusable(f"a name in the header of {file} runs over several lines", "write each name on one line")
    if len(names) == 1 and (found := re.search("[;\t|]", names[0])):
        kind = {";": "semicolons", "\t": "tabs", "|": "bars"}[found[0]]
        raise Unusable(f"{file} has {kind} and no commas between its cells", _FORMAT)
    for number, name in enumerate(names, 1):
        if name and ("@" in name or not any(c.isalpha() for c in name)):
            raise Unusable(
                f"the first line of {file} has no name for column {number}, but what looks like a value",
                "a CSV file begins with a line of names, each with a letter in it",
            )
    known: set[str] = set()
    for name in filter(None, names):
        if folded(name) in known:
            raise Unusable(f"{file} has two columns named {name}", "rename one of them in the file's first line")
        known.add(folded(name))


def _parquet(connection: duckdb.DuckDBPyConnection, file: str) -> Iterator[DraftColumn]:
    if glob.has_magic(file):
        raise Unusable(f"the path {file} has one of * ? [", "rename the Parquet file, or its folder")
    try:
        stored = parquet_files.stored_types(lambda sql: connection.execute(sql).fetchall(), file)
    except FAULTS as fault:
        if "is encrypted, but" in str(fault):
            raise Unusable(f"{file} is encrypted", "write the file anew without encryption") from None
        raise Unusable(f"{file} is not a Parquet file", "write the file anew, as Parquet") from None
    for name, type_ in stored.items():
        yield _typed(name, type_, scanned=type_ in declared.SCANNED_TIMESTAMPS)


def _typed(name: str, stored: str, required: bool = False, obstacle: str = "", *, scanned: bool = False) -> DraftColumn:
    """A column that DuckDB stores so. Of a type only its name is shown: an ENUM lists values."""
    type_ = "timestamp" if scanned else declared.written(stored)
    if type_ is None and not obstacle:
        kind = stored.partition("(")[0]
        better = f"; store it as {_STORE_AS[kind]}" if kind in _STORE_AS else ""
        obstacle = f"its type {kind} can't be used{better}"
    return DraftColumn(name, type_, stored, required, obstacle)


# ---------------------------------------------------------------------------------------------- a database


def _database(connection: duckdb.DuckDBPyConnection, file: str) -> tuple[list[DraftTable], list[str]]:
    """The base tables of a database, and why each of its views is none."""
    _attach(connection, file)
    try:
        tables = connection.execute(
            "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = ? AND NOT internal "
            "ORDER BY schema_name <> 'main', schema_name, table_name",
            [database_file.ATTACHED],
        ).fetchall()
        found = [_base_table(connection, *row) for row in tables]
        views = connection.execute(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal ORDER BY ALL",
            [database_file.ATTACHED],
        ).fetchall()
    except FAULTS:
        raise Unusable(f"the catalogue of {file} can't be read", "look at the database with DuckDB") from None
    if not found:
        hint = "a view can't be a source: make it a table, CREATE TABLE ... AS FROM " + (
            views[0][1] if views else "..."
        )
        raise Unusable(f"{file} has no tables", hint if views else "load the data into it first")
    return found, [_why_no_view(*view) for view in views]


def _attach(connection: duckdb.DuckDBPyConnection, file: str) -> None:
    if not os.access(file, os.R_OK):
        raise Unusable(f"{file} is not readable for this user", "give this user the permission to read it")
    try:
        free = database_file.attach(connection, Path(file).absolute())
    except FAULTS as fault:
        if "Cannot open encrypted database" in str(fault):
            raise Unusable(f"{file} is encrypted", "copy the tables that queries need to a file that is not") from None
        raise Unusable(f"{file} can't be opened as a DuckDB database", "check that it is one") from None
    if not free:
        raise Unusable(f"{file} is open for writing in another process", "close it there, then try again")


def _why_no_view(schema: str, view: str) -> str:
    name, copy = table_source(schema, view), table_source(schema, f"{view}_table")
    return f"the view {name}; declare what it reads, or make it a table: CREATE TABLE {copy} AS FROM {name}"


def _base_table(connection: duckdb.DuckDBPyConnection, schema: str, name: str, create_table: str) -> DraftTable:
    columns = connection.execute(
        "SELECT column_name, data_type, NOT is_nullable, is_generated FROM duckdb_columns() "
        "WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index",
        [database_file.ATTACHED, schema, name],
    ).fetchall()
    collated = declared.collated(create_table, [str(row[0]) for row in columns])
    parts = [name] if schema == DEFAULT_SCHEMA else [schema, name]
    return DraftTable(
        ".".join(part.replace(".", "_") for part in parts),
        table_source(schema, name),
        tuple(
            _typed(column, stored, required, _obstacle(column, generated, column.lower() in collated))
            for column, stored, required, generated in columns
        ),
    )


def _obstacle(column: str, generated: bool, collated: bool) -> str:
    """Why a column of a database can't be declared: see database_file."""
    if generated:
        return "it is generated"
    if collated:
        return "it has a collation; store it without COLLATE"
    if not column.isascii() and column != column.lower():
        return "it has capitals beyond A to Z; rename it to small letters"
    return ""
