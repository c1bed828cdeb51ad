"""README's generated parts are what the product says, and nothing that it answers is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from dpsql import aggregates, expressions
from dpsql.analyze import scopes
from dpsql.expressions import compiler
from dpsql.policy import load
from dpsql.rewrite import outer
from tests.readme import functions, policy, sql, with_generated
from tests.readme.product import ROOT, compilers, generated


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sql.Compilers]:
    with compilers(tmp_path_factory.mktemp("readme")) as found:
        yield found


@pytest.mark.slow
def test_the_generated_parts_of_readme(made: sql.Compilers) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_generated(text, generated(made)) == text


@pytest.mark.parametrize("example", [example for clause in sql.CLAUSES for example in clause.examples])
def test_what_readme_says_is_answered_compiles(made: sql.Compilers, example: str) -> None:
    assert made.rows(example)


@pytest.mark.parametrize("example", [example for clause in sql.UNIT_CLAUSES for example in clause.examples])
def test_what_readme_says_is_answered_of_units_compiles(made: sql.Compilers, example: str) -> None:
    assert made.units(example)


def test_every_clause_that_is_answered_has_a_row() -> None:
    """A part of SELECT or a kind of node that becomes allowed needs an example."""
    trees = []
    for clause in (*sql.CLAUSES, *sql.UNIT_CLAUSES):
        for example in clause.examples:
            plain = re.sub(r"^EXPLAIN (\(.*?\) )?|WITH DIFFERENTIAL_PRIVACY OPTIONS\(.*?\) ", "", example)
            trees.append(sqlglot.parse_one(plain, dialect="duckdb"))
    nodes = [node for tree in trees for node in tree.walk()]
    parts = {name for node in nodes if isinstance(node, exp.Select) for name, value in node.args.items() if value}
    assert parts == scopes._SELECT_PARTS
    missing = [kind for kind in outer._NODES if not any(isinstance(node, kind) for node in nodes)]
    refused_by_word = {"Lambda", "IntervalSpan"}
    assert {kind.__name__ for kind in missing} == refused_by_word


def test_every_aggregate_has_a_row() -> None:
    assert set(sql.CALLS) == set(aggregates.found())


def test_every_function_has_its_place() -> None:
    listed = {entry for names in functions.PRIVATE.values() for entry in names}
    allowed = {node.__name__ for node in expressions.supported()} - functions.NO_FUNCTIONS
    assert listed == allowed | set(compiler._FUNCTIONS)


def test_the_defaults_of_the_schema_are_those_of_the_loader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n", encoding="utf-8")
    path = tmp_path / "least.yaml"
    path.write_text(
        "dpsql: 1\nbudget: {epsilon: 1}\nledger: l\n"
        "tables: {t: {source: t.csv, unit: row, columns: {x: {type: text}}}}\n",
        encoding="utf-8",
    )
    least = load(path)
    properties, definitions = policy.SCHEMA["properties"], policy.SCHEMA["$defs"]
    column, settings = least.tables["t"].columns["x"], least.privacy
    for section, name, found in (
        (properties, "engine", least.engine),
        (properties, "dialect", least.dialect),
        (properties["privacy"]["properties"], "epsilon", settings.epsilon),
        (properties["privacy"]["properties"], "max_epsilon", settings.max_epsilon),
        (properties["privacy"]["properties"], "min_epsilon", settings.min_epsilon),
        (properties["privacy"]["properties"], "delta", settings.delta),
        (properties["privacy"]["properties"], "mechanism", settings.mechanism),
        (properties["privacy"]["properties"], "counts", least.counts),
        (properties, "answers", least.answers),
        (properties, "data_version", least.data_version),
        (definitions["table"]["properties"], "public", least.tables["t"].public),
        (definitions["column"]["properties"], "bounds", column.bounds),
        (definitions["column"]["properties"], "keys", column.keys),
        (definitions["column"]["properties"], "grain", column.grain),
        (definitions["column"]["properties"], "nullable", column.nullable),
        (definitions["column"]["properties"], "unique", column.unique),
    ):
        default = section[name].get("default")
        assert (Fraction(str(default)) if isinstance(found, Fraction) else default) == found, name
