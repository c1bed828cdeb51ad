"""Broken messages in every state of the protocol, over sockets: see tests.wire.fuzz, which does the same at length."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from dpsql.wire import codec
from tests.wire import fuzz
from tests.wire.clinic import charges

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fuzz.Servers]:
    with fuzz.servers(tmp_path_factory.mktemp("clinic")) as servers:
        yield servers


def test_whatever_is_broken_is_answered_or_ends_the_connection(made: fuzz.Servers) -> None:
    with fuzz.logged() as log:
        cases = list(fuzz.cases(random.Random(6), 3))
        assert len(cases) == 3 * len(fuzz.STATES) * len(fuzz.WHOLE)
        assert [(case, wrong) for case in cases if (wrong := made.wrong(case)) is not None] == []
    assert log == []
    assert charges(made.session) == 0


@pytest.mark.parametrize("fault", [KeyError, RuntimeError])
def test_a_fault_is_noticed(made: fuzz.Servers, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]) -> None:
    def broken(*_: object) -> None:
        raise fault

    case = fuzz.Case("ready", "Describe", "whole", fuzz.WHOLE["Describe"])
    monkeypatch.setitem(codec._READERS, "D", broken)
    with fuzz.logged() as log:
        assert made.wrong(case) is not None or log
    monkeypatch.undo()
    with fuzz.logged() as log:
        assert made.wrong(case) is None and not log
