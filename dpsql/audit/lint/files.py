"""Advice on files: who may read and write them, and what they stand beside. Only their metadata is read."""

from __future__ import annotations

import fnmatch
import glob
import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dpsql.audit.findings import Advice
from dpsql.policy import Lines, Policy, Table
from dpsql.policy.problems import one_of, printable
from dpsql.policy.sources import database_file

_NETWORK = frozenset("nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre fuse.sshfs fuse.s3fs fuse.gcsfuse".split())
_VOLATILE = frozenset(("tmpfs", "ramfs"))
_MOUNTS = Path("/proc/self/mountinfo")
_SERVED = ("/public_html/", "/htdocs/", "/wwwroot/", "/var/www/", "/srv/http/", "/srv/www/", "/nginx/html/")
_FIRST_USER = 1000
"""The numbers of people's accounts begin here, on most systems."""
_NOBODY = 65534
_MOST_NEIGHBOURS = 10_000
_MOST_NAMED = 5


def writable(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Files that others can change or replace: policy, ledger, data. One place may hold several of them."""
    loose: dict[Path, tuple[int, _Loose, list[str]]] = {}
    for line, files, harm in (
        (0, [policy.path], "what is protected"),
        (lines.of("ledger"), [policy.ledger, *_companions(policy.ledger)], "what is left of the budget"),
        *(
            (lines.of("tables", table.name, "source"), _files(policy, table), f"the rows of {printable(table.name)}")
            for table in policy.tables.values()
        ),
    ):
        for found in filter(None, map(_loose, files)):
            loose.setdefault(found.place, (line, found, []))[2].append(harm)
    for line, found, harms in loose.values():
        named = _first(list(dict.fromkeys(harms)))
        yield Advice(
            line,
            f"{found.who} may write to {_shown(found.place)}, and so change {one_of(named)}",
            f"chmod {found.mode} {shlex.quote(str(found.place))}",
        )


def beside_writable(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Files that everyone may write in the ledger's folder: it is no place of the owner's alone."""
    if _loose(policy.ledger) is not None:
        return  # told already
    own = {policy.ledger.name, *(file.name for file in _companions(policy.ledger))}
    for file in _neighbours(policy.ledger):
        with suppress(OSError):
            found = file.lstat()
            if file.name not in own and stat.S_ISREG(found.st_mode) and found.st_mode & stat.S_IWOTH:
                yield Advice(
                    lines.of("ledger"),
                    f"beside the ledger stands {_shown(file)}, which everyone may write, and fill the ledger's disk",
                    "give the ledger a folder of its own, where only its owner may write",
                )
                return


def ledger_filesystem(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """A ledger where locks or files don't last."""
    kind = _filesystem(policy.ledger)
    if kind in _NETWORK:
        why = "where locks don't hold: charges of several processes may be lost"
    elif kind in _VOLATILE:
        why = "which is gone when the machine restarts: what was charged is forgotten"
    else:
        return
    yield Advice(lines.of("ledger"), f"the ledger is on {kind}, {why}", "write the path of a file on a local disk")


def ledger_among_data(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """A ledger in a folder of the data: with the data an old copy of it is put back, and nothing notices."""
    folder = os.path.realpath(policy.ledger.parent)
    for table in policy.tables.values():
        source = database_file(policy.engine) or table.source.location
        head, recursive, _ = source.partition("**")
        root = os.path.realpath(head if recursive else os.path.dirname(source))
        below = bool(recursive) and Path(folder).is_relative_to(root)
        if below or folder == root or fnmatch.fnmatch(folder, root):
            yield Advice(
                lines.of("ledger"),
                f"the ledger stands in a folder of data, {_shown(Path(root))}: where that is restored from a copy, an "
                "old ledger comes back with it, and what was spent since is forgotten",
                "give the ledger a folder of its own, such as ledger: ledgers/name.ledger",
            )
            return


def served(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Private data, or the ledger with all queries, in the folder of a web server."""
    places = {str(policy.ledger): ("the ledger", lines.of("ledger"))}
    for table in policy.tables.values():
        if not table.public:
            what = f"the source of the private {printable(table.name)}"
            location = database_file(policy.engine) or table.source.location
            places.setdefault(location, (what, lines.of("tables", table.name, "source")))
    for location, (what, line) in places.items():
        if any(part in f"{os.path.realpath(location)}/" for part in _SERVED):
            yield Advice(
                line,
                f"{what} is {_shown(Path(location))}, where web servers look for what they show to everyone",
                "move it to a folder that no server shows",
            )


def readable(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Private data that other people with an account on this machine can read without asking dpsql."""
    private = {
        file: lines.of("tables", table.name, "source")
        for table in policy.tables.values()
        if not table.public
        for file in _files(policy, table)
    }
    read = {file: line for file, line in private.items() if _is_read_by_others(file)}
    if read:
        first, *others = read
        more = f" and {len(others)} other file{'s' * (len(others) > 1)}" if others else ""
        yield Advice(
            read[first],
            f"every account of this machine may read {_shown(first)}{more}, without asking dpsql",
            f"chmod o= {' '.join(shlex.quote(str(file)) for file in list(read)[:_MOST_NAMED])}",
        )


RULES = (writable, beside_writable, ledger_filesystem, ledger_among_data, served, readable)


# ---------------------------------------------------------------------------------------------- files


def _first(names: list[str]) -> list[str]:
    """All of a few, else the first and how many more there are."""
    return names if len(names) <= _MOST_NAMED else [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} others"]


def _shown(path: Path) -> str:
    return printable(str(path), 200)


def _files(policy: Policy, table: Table) -> list[Path]:
    database = database_file(policy.engine)
    if table.source.kind == "table":
        return [Path(database)] if database is not None else []
    location = table.source.location
    if os.path.exists(location):
        return [Path(location)]
    return [Path(file) for file in sorted(glob.glob(location, recursive=True))]


def _neighbours(path: Path) -> list[Path]:
    """The first files in the folder."""
    try:
        with os.scandir(path.parent) as entries:
            found = [path.parent / entry.name for entry, _ in zip(entries, range(_MOST_NEIGHBOURS), strict=False)]
    except OSError:
        return []
    return sorted(found)


def _companions(ledger: Path) -> list[Path]:
    """The files that the ledger keeps beside it: its head, its lock, SQLite's log."""
    return [file for file in _neighbours(ledger) if file.name.startswith((f"{ledger.name}.", f"{ledger.name}-"))]


@dataclass(frozen=True, slots=True)
class _Loose:
    """A file or folder in which others may write: who, and what chmod is to take away."""

    place: Path
    who: str
    mode: str


def _loose(file: Path) -> _Loose | None:
    """The first of the file and the folders above it in which others may write: there they can change or replace it.

    In a folder with the sticky bit others can't replace what isn't theirs.
    """
    for place in (file, *file.parents):
        try:
            found = place.stat()
        except OSError:
            continue  # not there yet
        if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
            continue
        if found.st_mode & stat.S_IWOTH:
            return _Loose(place, "everyone", "o-w")
        group = _shared_group(found) if found.st_mode & stat.S_IWGRP else None
        if group is not None:
            return _Loose(place, f"the group {printable(group)}", "g-w")
    return None


def _shared_group(found: os.stat_result) -> str | None:
    """The name of a file's group, if anyone but the file's owner is in it."""
    try:
        group = grp.getgrgid(found.st_gid)
    except KeyError:
        return None
    members = {user.pw_name for user in pwd.getpwall() if user.pw_gid == found.st_gid and user.pw_uid != found.st_uid}
    with suppress(KeyError):
        members |= {*group.gr_mem} - {pwd.getpwuid(found.st_uid).pw_name}
    return group.gr_name if members else None


def _is_read_by_others(file: Path) -> bool:
    """Whether everyone may read the file and reach it, and there are others: accounts with which people log in, but
    for the file's owner and whoever runs this.
    """
    try:
        found = file.stat()
        reached = all(folder.stat().st_mode & stat.S_IXOTH for folder in file.resolve().parents)
    except OSError:
        return False
    return bool(reached and found.st_mode & stat.S_IROTH) and any(
        _FIRST_USER <= user.pw_uid < _NOBODY
        and user.pw_uid not in (found.st_uid, os.getuid())
        and not user.pw_shell.endswith(("nologin", "false"))
        for user in pwd.getpwall()
    )


def _filesystem(path: Path) -> str:
    """The kind of file system that a path lies on, as Linux calls it; "" where that can't be told."""
    try:
        text = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    place, best, kind = Path(os.path.realpath(path)), -1, ""
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(_unescaped(fields.split(" ")[4]))
        if place.is_relative_to(point) and len(point.parts) >= best:  # a later mount hides an earlier one
            best, kind = len(point.parts), rest.split(" ")[0]
    return kind


def _unescaped(text: str) -> str:
    """A path as mountinfo has it: blanks are \\040."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
