"""`dpsql password`: the verifier of a password."""

from __future__ import annotations

import argparse
import getpass
import sys

from dpsql.cli.errors import OK, Usage
from dpsql.cli.output import Output
from dpsql.passwords import make_verifier

_LONGEST = 1_024


def password(arguments: argparse.Namespace) -> int:
    """Print the verifier. The password is never shown, nor taken from the command line, which others can see."""
    with Output(None) as output:
        output.write(f"{make_verifier(_asked())}\n")
    return OK


def _asked() -> str:
    try:
        given = _typed() if sys.stdin is not None and sys.stdin.isatty() else _first_line()
    except EOFError:
        given = ""
    except UnicodeDecodeError:
        raise Usage("the password is not UTF-8 text", "choose another one, or write it in UTF-8") from None
    if not given:
        raise Usage("there is no password", "write one, or give it on standard input: dpsql password < file")
    if len(given) > _LONGEST or "\0" in given:
        raise Usage(f"the password is longer than {_LONGEST} characters, or holds a NUL", "choose another one")
    return given


def _typed() -> str:
    """Asked for twice. Raises EOFError where input ends (Ctrl-D)."""
    given = getpass.getpass("password: ")
    if given and given != getpass.getpass("again: "):
        raise Usage("the passwords differ", "write the same one twice")
    return given


def _first_line() -> str:
    line = sys.stdin.readline(_LONGEST + 1) if sys.stdin is not None else ""
    return line.removesuffix("\n").removesuffix("\r")
