"""The main proof: a query on neighbouring databases, with the mechanism's outputs frozen.

Everything that could be seen or measured from outside must be the same byte for byte: the SQL that ran, the
parameters of each draw of noise, names, types, rows and order of the answer. The exact integers that met the noise
may differ by no more than the charge pays for. One run on each side finds what thousands of samples would miss.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import sqlglot
from hypothesis import event, given

from dpsql.errors import Error, InternalError
from dpsql.expressions import supported
from tests import grammar
from tests.harness import Bench, RecordingNoise, bench, examples, make_policy, realised_loss, record

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


def check_neighbours(made: Bench, sql: str, rows: list, victims: list, epsilon: str = "1") -> bool:
    """Compare the run without with the run with each victim; False where the statement is refused."""
    compiled = compile_or_none(made, sql, epsilon)
    if compiled is None:
        return False
    made.engine.set_rows("t", rows)
    without = record(made, sql, epsilon)
    for victim in victims:
        made.engine.set_rows("t", [*rows, victim])
        with_victim = record(made, sql, epsilon)
        assert with_victim.sql == without.sql
        assert with_victim.answer == without.answer
        loss = realised_loss(compiled.plan, without, with_victim)
        assert loss <= Fraction(epsilon), f"loss {float(loss)} of {epsilon}"
        assert made.ledger.charges[-1] >= Fraction(epsilon)
    return True


def test_every_node_of_the_allow_list_has_a_production() -> None:
    templates = [t for kind in grammar.productions().values() for t in kind]
    random = Random(0)
    found = set()
    for template in (*templates, *grammar.KEYS):
        for _ in range(20):
            tree = sqlglot.parse_one(grammar.fill(random, template, 0), read="duckdb")
            found |= {type(node) for node in tree.walk()}
    missing = {cls.__name__ for cls in set(supported()) - found}
    assert missing == {"IsNan"}, "give tests/grammar.py productions for these"


@pytest.mark.parametrize("kind", grammar.productions())
def test_every_production_is_accepted_and_replays(made: Bench, kind: str) -> None:
    """Each template with bare columns, as an aggregate's argument, over all extreme values."""
    rows = list(grammar.all_extremes())
    for number, template in enumerate(grammar.productions()[kind]):
        random, accepted = Random(number), 0
        for _ in range(12):
            text = grammar.fill(random, template, 0)
            sql = f"SELECT COUNT({text}) AS a, COUNT(*) FILTER (WHERE ({text}) IS NULL) AS b FROM t"
            if kind in ("int", "dbl", "dec"):
                sql = f"SELECT SUM(LEAST(GREATEST({text}, 100), 110)) AS a, COUNT({text}) AS b FROM t"
            accepted += check_neighbours(made, sql, rows, [])
            if accepted == 3:
                break
        assert accepted, template


@pytest.mark.parametrize("key", grammar.KEYS)
def test_every_key_is_accepted_and_replays(made: Bench, key: str) -> None:
    rows = list(grammar.all_extremes())
    random = Random(key)
    victims = [*rows[:6], *(grammar.extreme_row(random) for _ in range(4))]
    assert check_neighbours(made, f"SELECT {key} AS g, COUNT(*), SUM(y), AVG(m) FROM t GROUP BY {key}", rows, victims)


@pytest.mark.slow
@given(random=grammar.randoms)
@examples(150)
def test_generated_statements_replay(made: Bench, random: Random) -> None:
    sql = grammar.statement(random).sql()
    rows = [grammar.extreme_row(random) for _ in range(random.choice((0, 1, 3, 6)))]
    victims = [grammar.extreme_row(random) for _ in range(4)]
    event("accepted" if check_neighbours(made, sql, rows, victims, random.choice(EPSILONS)) else "refused")
