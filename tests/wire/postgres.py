"""A PostgreSQL 15 of our own, where it is on the machine: what it says is right."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
"""Where Debian puts it."""
ATTEMPTS = 5
"""To start on a port that is free, before another process takes it."""


@contextmanager
def running(superuser: str = "postgres", tls: tuple[Path, Path] | None = None) -> Iterator[int]:
    """A server that trusts everyone on the loopback interface: its port.

    With `tls`, a certificate and its key, it trusts the superuser alone; others come encrypted, with passwords.
    """
    folder = Path(tempfile.mkdtemp(prefix="dpsql-pg-"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:  # it doesn't run as root
        account = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(folder, "postgres", "postgres")
    try:
        subprocess.run(
            [PROGRAMS / "initdb", "-D", folder / "data", "-U", superuser, "-A", "trust", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-sync", "--no-instructions"],
            check=True, stdout=subprocess.DEVNULL, cwd=folder, **account,
        )  # fmt: skip
        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off",
            "autovacuum": "off", "shared_buffers": "8MB", "timezone": "UTC",
        }  # fmt: skip
        if tls is not None:
            settings |= _encrypted(folder, superuser, tls, account)
        process, port = _started(folder, settings, account)
        try:
            yield port
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            finally:
                process.kill()
    finally:
        shutil.rmtree(folder)


def _started(folder: Path, settings: dict[str, Any], account: dict[str, Any]) -> tuple[subprocess.Popen[bytes], int]:
    """A server that is ready, and its port: one that was free, and that nobody took before it did."""
    for _ in range(ATTEMPTS):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        named = {**settings, "port": port}
        options = [part for name, value in named.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [PROGRAMS / "postgres", "-D", folder / "data", *options], stdout=log, stderr=log, cwd=folder, **account
            )
        if _is_ready(process, folder / "data" / "postmaster.pid"):
            return process, port
    raise AssertionError((folder / "log").read_text())


def _encrypted(folder: Path, superuser: str, tls: tuple[Path, Path], account: dict[str, Any]) -> dict[str, object]:
    """Copies of the files that the server may read, who has to come how, and the settings for both."""
    names = ("server.crt", "server.key")
    for file, name in zip(tls, names, strict=True):
        shutil.copy(file, folder / name)
        (folder / name).chmod(0o600)
        if account:
            shutil.chown(folder / name, account["user"], account["group"])
    rules = f"host all {superuser} 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
    (folder / "data" / "pg_hba.conf").write_text(rules)
    return {"ssl": "on", "ssl_cert_file": folder / names[0], "ssl_key_file": folder / names[1]}


def _is_ready(process: subprocess.Popen[bytes], told: Path) -> bool:
    """Whether it takes connections: once the file of its own says so. False where it ended instead."""
    while process.poll() is None:
        with suppress(FileNotFoundError):
            if told.read_text().endswith("ready   \n"):
                return True
        time.sleep(0.05)
    return False
