"""Many clients at once, in short: see tests.benchmarks.soak, which goes on for minutes and measures memory."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from dpsql.policy import load
from dpsql.session import open_session
from tests.benchmarks.soak import Soak
from tests.benchmarks.wire import POLICY
from tests.wire.live import serving

pytestmark = pytest.mark.slow

CLIENTS, CONVERSATIONS = 16, 130


def test_each_charge_is_told_and_each_that_is_told_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.soak.VALUES", 100)
    (tmp_path / "people.csv").write_text("age,city\n" + "".join(f"{i},Oslo\n" for i in range(100)))
    (tmp_path / "policy.yaml").write_text(POLICY)
    turns = itertools.count()
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    try:
        with serving(session) as running:
            soak = Soak(running.port, lambda: next(turns) < CONVERSATIONS)
            asyncio.run(soak.run(CLIENTS))
        assert soak.wrong(session.ledger) == []
        assert soak.done.total() == CONVERSATIONS and len(soak.done) == 7
        assert len(soak.charged) > 20 and soak.free and soak.cut
    finally:
        session.close()
