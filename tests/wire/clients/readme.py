"""How README says that each client connects: so they do it here, with another port, user, password and certificate."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from tests.wire.clients.servers import Address

_README = Path(__file__).parents[3] / "README.md"


def lines() -> dict[str, str]:
    """For each client of README's table, what it says that is to be written to connect."""
    section = (
        _README.read_text(encoding="utf-8").split("### Connect your tool\n")[1].split("\n### ")[0].split("\n## ")[0]
    )
    found = re.findall(r"^\| ([^|]*?) \| `([^`]*)` \|", section, re.MULTILINE)
    assert len(dict(found)) == len(found)
    return dict(found)


def line(name: str, address: Address) -> str:
    """What README says for a client, for the server at an address."""
    said = lines()[name]
    in_url = "://" in said
    for word, value in (("5433", str(address.port)), ("alice", address.user), ("pencil", address.password), ("server.crt", str(address.certificate))):  # fmt: skip  # noqa: E501
        said = said.replace(word, quote(value, safe="/") if in_url else value)
    return said
