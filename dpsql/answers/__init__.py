"""Stored answers: the same question again gets the same noisy numbers, and costs nothing.

So asking again tells nothing more: noise can't be averaged away by repetition, and a dashboard may refresh for free.
What is stored are the noisy integers of each release, as they left the privacy line; the numbers of an answer are
computed from them by the same code whether they are fresh or stored (dpsql.columns).

Privacy: an answer is stored after it was charged and released, and giving it again is post-processing. Whether one is
found depends on earlier questions and on public things, so what a statement costs is known before any data is read. By
default an answer is only for the analyst who asked: what it costs or how fast it comes tells nobody what others asked
(THREATS F8). Two processes that ask the same at once both pay and draw; the answer that is stored first stays.

    question  what two statements must have in common
    record    an answer as bytes
    store     the file
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

from dpsql.answers.question import Question, declarations, questions
from dpsql.answers.store import Answer, Answers
from dpsql.policy import Policy

__all__ = ["Answer", "Answers", "Question", "answers_path", "asker_of", "declarations", "questions"]


def answers_path(ledger: Path) -> Path:
    """Where the answers beside a ledger are."""
    return ledger.with_name(ledger.name + ".answers")


def asker_of(policy: Policy, analyst: str) -> str:
    """Whose answers an analyst may have: their own, under the name that the ledger charges; or everyone's."""
    return "" if policy.answers == "shared" else unicodedata.normalize("NFC", analyst)
