"""Each expression and each group key that is accepted, on neighbouring databases with every extreme value.

How neighbours are compared stands in dpsql.audit.replay. Whole statements over all sorts of policies: test_worlds.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import sqlglot

from dpsql.audit.replay import RecordingNoise, compare, record
from dpsql.errors import Error, InternalError
from dpsql.expressions import supported
from tests import features, grammar
from tests.features import Feature
from tests.harness import Bench, bench, make_policy

pytestmark = pytest.mark.slow

EPSILONS = ("1", "0.000001", "0.37", "50")


@pytest.fixture(scope="module")
def made() -> Bench:
    return bench(make_policy(grammar.TABLES), grammar.TYPES, RecordingNoise())


def compile_or_none(made: Bench, sql: str, epsilon: object = 1):  # type: ignore[no-untyped-def]
    """The compiled statement, None where it is refused. A fault is no refusal."""
    try:
        return made.session.plan(sql, epsilon=epsilon)
    except InternalError:
        raise
    except Error:
        return None


def check_neighbours(made: Bench, sql: str, victims: list, epsilon: str = "1") -> bool:
    """Compare the run over the rows of t with the run with each victim; False where the statement is refused."""
    compiled = compile_or_none(made, sql, epsilon)
    if compiled is None:
        return False
    without = record(made, sql, epsilon)
    for victim in victims:
        with made.engine.adding({"t": [victim]}):
            with_victim = record(made, sql, epsilon)
        loss = compare(compiled.plan, without, with_victim)
        assert loss <= Fraction(epsilon), f"loss {float(loss)} of {epsilon}"
        assert made.ledger.charges[-1] >= Fraction(epsilon)
    return True


def test_every_node_of_the_allow_list_has_a_production() -> None:
    templates = [t for kind in grammar.PRODUCTIONS.values() for t in kind]
    random = Random(0)
    found = set()
    for template in (*templates, *grammar.KEYS):
        for _ in range(20):
            tree = sqlglot.parse_one(grammar.fill(random, template, 0), read="duckdb")
            found |= {type(node) for node in tree.walk()}
    missing = {cls.__name__ for cls in set(supported()) - found}
    assert missing == {"IsNan"}, "give tests/grammar.py productions for these"


def test_everything_that_is_accepted_is_replayed(made: Bench) -> None:
    """Found by scan: what is new needs a template or a key below, which are replayed one by one."""
    used: set[Feature] = set()
    pieces = [(kind, template) for kind, templates in grammar.PRODUCTIONS.items() for template in templates]
    statements = [f"SELECT {key} AS g, COUNT(*) FROM t GROUP BY {key}" for key in grammar.KEYS]
    with features.watching() as watch:
        for number, (kind, template) in enumerate(pieces):
            statements += [_asked(kind, grammar.fill(Random(f"{number} {i}"), template, 0)) for i in range(4)]
        for sql in statements:
            watch.clear()
            compiled = compile_or_none(made, sql)
            used |= set() if compiled is None else watch.used(sql, compiled.plan)
    elsewhere = features.OVER_NOISY_NUMBERS | {"aggregate", "aggregate's other name"}  # see test_worlds
    lacking = {feature for feature in features.required() if feature[0] not in elsewhere} - used
    assert not lacking, "give dpsql.audit.expressions templates or tests.grammar keys for these"


@pytest.mark.parametrize("kind", grammar.PRODUCTIONS)
def test_every_production_is_accepted_and_replays(made: Bench, kind: str) -> None:
    """Each template with bare columns, as an aggregate's argument, over all extreme values."""
    made.engine.set_rows("t", list(grammar.all_extremes()))
    for number, template in enumerate(grammar.PRODUCTIONS[kind]):
        random, accepted = Random(number), 0
        for _ in range(12):
            accepted += check_neighbours(made, _asked(kind, grammar.fill(random, template, 0)), [])
            if accepted == 2:
                break
        assert accepted, template


def _asked(kind: str, text: str) -> str:
    """A statement about an expression of some kind."""
    if kind in ("int", "dbl", "dec"):
        return f"SELECT SUM(LEAST(GREATEST({text}, 100), 110)) AS a, COUNT({text}) AS b FROM t"
    return f"SELECT COUNT({text}) AS a, COUNT(*) FILTER (WHERE ({text}) IS NULL) AS b FROM t"


@pytest.mark.parametrize("key", grammar.KEYS)
def test_every_key_is_accepted_and_replays(made: Bench, key: str) -> None:
    rows = list(grammar.all_extremes())
    random = Random(key)
    victims = [*rows[:6], *(grammar.extreme_row(random) for _ in range(4))]
    made.engine.set_rows("t", rows)
    assert check_neighbours(made, f"SELECT {key} AS g, COUNT(*), SUM(y), AVG(m) FROM t GROUP BY {key}", victims)
