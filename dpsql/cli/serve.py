"""`dpsql serve`: PostgreSQL's protocol, until it is told to end."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from dataclasses import replace
from typing import NoReturn

from dpsql.cli.errors import OK
from dpsql.cli.output import say
from dpsql.policy import Server as Settings
from dpsql.policy import load
from dpsql.session import Session, open_session, system_user

_GARBAGE = (20_000, 10, 2)
"""New objects between collections of garbage, and how often older ones are looked at. A syntax tree is some thousands,
in cycles that only a collection frees; the modules and the policy, which are frozen, are not looked through at all."""


def serve(arguments: argparse.Namespace) -> int:
    """Serve. Everything that can be wrong shows before the first connection."""
    import asyncio  # here: other commands need not wait for it

    policy = load(arguments.config)
    settings = policy.server
    if arguments.port is not None:
        settings = replace(settings, port=arguments.port)
    session = open_session(policy)
    ended = True
    try:
        ended = asyncio.run(_run(session, settings, arguments.config))
    finally:
        if ended:
            session.close()
    if not ended:
        _die()
    return OK


def _die() -> NoReturn:
    """End while threads run, which the interpreter would wait for. What is charged is on disk; a statement that reads
    private rows counts as failed, as if the process had been killed.
    """
    say("ending: statements that take longer are left\n")
    sys.stderr.flush()
    os._exit(OK)


async def _run(session: Session, settings: Settings, config: str) -> bool:
    """Whether all statements under way have ended, once the process was told to end."""
    import asyncio

    from dpsql.wire.server import Server

    server = Server(session, settings)
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    host, port = await server.start()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    say(f"{config}: listening on {host}, port {port}, {_whom(settings)}\n")
    await told.wait()
    say("ending: statements under way are answered\n")
    return await server.stop()


def _whom(settings: Settings) -> str:
    who = f"for {', '.join(sorted(settings.users))}" if settings.users else f"for {system_user()} without a password"
    return who if settings.certificate is None else f"{who}; encrypted"
