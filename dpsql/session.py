"""The spine: a policy, its engine, ledger and noise, and the pipeline that every front end goes through."""

from __future__ import annotations

import datetime as dt
import logging
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from operator import itemgetter
from typing import Literal

import numpy as np
from sqlglot import exp

from dpsql.analyze import analyze
from dpsql.answers import Answer, Answers, Question, answers_path, asker_of, declarations, questions
from dpsql.columns import Released, ends, listed, released, sample
from dpsql.engines import Engine, Transaction, open_engine
from dpsql.errors import AnalystLocked, BudgetExhausted, EngineError, Error, InternalError, UnsupportedQuery
from dpsql.explain import Cost, Known, explain
from dpsql.expressions import refuse, show
from dpsql.ledger import MAX_FAILURES, Ledger, Receipt, Remaining
from dpsql.monte_carlo import drawn_ends, draws_of, with_drawn
from dpsql.parse import Format, Parameters, Parser, Statement
from dpsql.plan import (
    Plan,
    ReleasePlan,
    charge_of,
    check_epsilon,
    plan_query,
)
from dpsql.policy import Column, Kind, Policy, Table
from dpsql.postprocess import Outer, Scratch
from dpsql.privacy.interval import parse_level
from dpsql.privacy.loss import PrivacyLoss, parse_epsilon
from dpsql.privacy.noise import NoiseSource, SystemNoise
from dpsql.query import (
    Constant,
    Query,
    direct_release,
    interval_names,
    key_name,
    number_name,
    reads_ends,
    release_name,
)
from dpsql.release import NoisyRows, release
from dpsql.result import (
    LEVEL,
    Array,
    Ends,
    Intervals,
    Privacy,
    Rank,
    Result,
    ResultColumn,
    Values,
    is_number_type,
    largest,
)
from dpsql.rewrite.inner import Inner, inner_queries
from dpsql.rewrite.intervals import (
    Errors,
    direct_ends,
    direct_lists,
    direct_numbers,
    with_asked_intervals,
    with_ends,
    with_error_columns,
    with_rows,
)
from dpsql.rewrite.lineage import Lineage, lineage
from dpsql.rewrite.outer import plain_columns, render, total, without_clock
from dpsql.rows import Catalogue
from dpsql.stored import StoredNumbers

CACHED_PLANS = 256
CACHED_CHARACTERS = 4_000_000
"""Of the statements and their inner queries, and of keys that are listed: with its trees a plan has some 30 bytes for
each."""
ATTEMPTS = 3
"""How often a query starts again because the data changed between compiling and opening them."""

NOTHING = PrivacyLoss(Fraction(0))
FAILED = f"the charge stands; tell the operator: after {MAX_FAILURES} such failures the owner must unlock the analyst"
"""The hint of every failure between the charge and the noisy rows."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement ready to run: its plan, the inner queries and the question of each release, the bound outer query."""

    plan: Plan
    inner: tuple[tuple[Inner, ...], ...]
    questions: tuple[Question, ...]
    outer: Outer
    constants: Mapping[str, tuple[Constant, Outer]]
    columns: tuple[ResultColumn, ...]
    errors: Errors | None
    explain: Format | None
    level: Fraction

    @property
    def characters(self) -> int:
        """About how many characters its inner queries and listed keys have together: what it takes to keep it."""
        keys = [key.domain for release in self.plan.releases for key in release.query.keys]
        listed = sum(len(domain.values) for domain in keys if domain.values is not None)
        return listed + sum(len(inner.sql) for queries in self.inner for inner in queries)

    @property
    def outer_sql(self) -> str:
        """The outer query's text; where the engine isn't asked, written when it is wanted."""
        return self.outer.sql or render(with_rows(self.plan)[0])


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that was compiled, for the data as they were: what is asked, and where its outer query runs."""

    sql: str
    parameters: Parameters
    epsilon: Fraction
    compiled: Compiled
    scratch: Scratch
    version: str


@dataclass(frozen=True, slots=True)
class Data:
    """What statements are compiled against, for one data version.

    policy    with what public tables hold filled in
    declared  what a question says of tables and data
    scratch   the engine of outer queries, which holds the public tables
    """

    version: str
    policy: Policy
    catalogue: Catalogue
    parser: Parser
    declared: Mapping[str, object]
    scratch: Scratch


class Session:
    """Answers statements under one policy. Safe for many threads.

    `noise` is the only source of randomness. Zero noise exists in tests alone: the product always passes SystemNoise.
    Without `answers` none is stored.
    """

    def __init__(
        self, policy: Policy, engine: Engine, ledger: Ledger, noise: NoiseSource, answers: Answers | None = None
    ) -> None:
        self.policy = policy
        self.engine = engine
        self.ledger = ledger
        self.answers = answers
        self._noise = noise
        self._lock = threading.Lock()
        self._plans: OrderedDict[Hashable, tuple[Compiled, int]] = OrderedDict()
        self._version = engine.version
        self._data: Data | None = None

    # ------------------------------------------------------------------------------------------ answering

    def execute(
        self, sql: str, parameters: Parameters = (), *, epsilon: object = None, level: object = None, analyst: str
    ) -> Result:
        """Answer one statement: the only path from exact rows to a caller. Raises dpsql.Error and nothing else.

        `level` is that of half-widths, and of intervals that name none (default: 0.95). It changes no noise.
        """
        prepared = self.prepare(sql, parameters, epsilon=epsilon, level=level, analyst=analyst)
        return self.answer(prepared, analyst=analyst)

    def prepare(
        self,
        sql: str,
        parameters: Parameters = (),
        *,
        epsilon: object = None,
        level: object = None,
        analyst: str | None = None,
    ) -> Prepared:
        """A statement compiled, for `answer`, and for front ends that show it. No data is read. Raises dpsql.Error.

        What was compiled is kept for the analyst alone: how long it takes doesn't tell what others asked.
        """
        try:
            return self._compile(sql, parameters, self.epsilon(epsilon), _level(level), analyst)
        except Error:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: no other exception may leave
            raise internal_error(error) from None

    def answer(self, prepared: Prepared, *, analyst: str) -> Result:
        """Answer a statement that was prepared. Raises dpsql.Error."""
        try:
            return self._answer(prepared, analyst)
        except Error:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary
            raise internal_error(error) from None

    def _answer(self, prepared: Prepared, analyst: str) -> Result:
        compiled, scratch, version = prepared.compiled, prepared.scratch, prepared.version
        if compiled.explain is not None:
            return self._explained(compiled, scratch, analyst)
        if not compiled.plan.epsilon:
            left = self.ledger.remaining(analyst, self.policy.budget)
            return self._result(self._begin(compiled, scratch, analyst), analyst, NOTHING, left)
        for _ in range(ATTEMPTS):
            run = self._begin(compiled, scratch, analyst)
            if run.is_complete:
                assert run.left is not None
                return self._result(run, analyst, NOTHING, run.left)
            with self.engine.transaction() as transaction:
                unchanged = transaction.version == version
                receipt = self._release(prepared.sql, run, transaction, analyst) if unchanged else None
            if receipt is not None:
                return self._result(run, analyst, receipt.loss, receipt.remaining)
            prepared = self._compile(prepared.sql, prepared.parameters, prepared.epsilon, compiled.level, analyst)
            compiled, scratch, version = prepared.compiled, prepared.scratch, prepared.version
        raise EngineError("the data is being changed; nothing was charged", hint="try again")

    def _begin(self, compiled: Compiled, scratch: Scratch, analyst: str) -> Run:
        """The statement with the releases that need no data: those that only list keys, and those that are stored.

        Privacy: it depends on public things and on answers that were released, so what is to be charged is known before
        any data is read. A release that uses numbers of an earlier one is stored if it was with these very numbers.

        For someone who may have no stored answer nothing is looked for: what a statement would cost, and what goes
        wrong when it is computed, would tell of its numbers.
        """
        run = Run(compiled, scratch, self.policy.counts)
        if self.answers is not None and any(compiled.inner):
            with suppress(AnalystLocked, BudgetExhausted):
                run.left = self.ledger.admit(analyst, self.policy.budget)
        for index, queries in enumerate(compiled.inner):
            if not queries:
                run.list_keys(index)
            elif run.left is not None and run.can_ask(index):
                self._find(run, index, analyst)
        return run

    def _find(self, run: Run, index: int, analyst: str) -> bool:
        """Whether the release is stored; then the run has it."""
        if self.answers is None:
            return False
        answer = self.answers.find(asker_of(self.policy, analyst), run.question(index))
        if answer is not None:
            run.add_stored(index, answer)
        return answer is not None

    def _release(self, sql: str, run: Run, transaction: Transaction, analyst: str) -> Receipt:
        """Charge, then read, then release: in this order. The charge is durable before the first row is read.

        A release may use constants of the noisy numbers of those before it: the whole statement is planned and charged
        before the first of them is known. What was released is stored, also where a constant can't be computed from it,
        but not where rows were then read in vain: what is stored would tell which of the releases failed, and a failure
        may tell one bit. What was stored meanwhile, or for the very numbers that are known only now, is not made again:
        one question, one answer.
        """
        charge = charge_of(run.missing, self.policy.privacy)
        receipt = self.ledger.charge(charge, analyst=analyst, budget=self.policy.budget, query=sql)
        fresh: list[tuple[Question, NoisyRows]] = []
        try:
            for index, (part, queries) in enumerate(zip(run.compiled.plan.releases, run.compiled.inner, strict=True)):
                if run.has(index) or self._find(run, index, analyst):
                    continue
                constants = run.constants(index)
                with self._reading(receipt, analyst, fresh):
                    exact = tuple(
                        transaction.fetch(
                            q.sql, q.keys, q.sums, q.counts, {name: constants[name] for name in q.constants}
                        )
                        for q in queries
                    )
                    noisy = release(exact, part, queries, self._noise)
                fresh.append((run.question(index), noisy))
                run.add(index, noisy)
        finally:
            if self.answers is not None and fresh:
                asker = asker_of(self.policy, analyst)
                self.answers.keep(asker, fresh, charge=receipt.number, moment=receipt.time)
        return receipt

    @contextmanager
    def _reading(self, receipt: Receipt, analyst: str, fresh: list[tuple[Question, NoisyRows]]) -> Iterator[None]:
        """Private rows are read in here. That it fails is counted, since it may depend on their values; then nothing
        that the charge paid for is given, nor what was `fresh` before.

        What comes after it sees noisy rows and public tables alone, so whether that fails is post-processing and tells
        nothing more than the noisy rows do.
        """
        try:
            with self.ledger.reading(receipt, analyst):
                yield
        except BaseException as error:  # the boundary
            fresh.clear()
            if not isinstance(error, Exception):
                raise
            failure = error if isinstance(error, Error) else internal_error(error)
            failure.hint = FAILED
            raise failure from None

    def _result(self, run: Run, analyst: str, charged: PrivacyLoss, remaining: Remaining) -> Result:
        compiled = run.compiled
        columns, values = run.with_intervals(run.scratch.run(compiled.outer, run.rows))
        thresholds = [r.selection.threshold for r in compiled.plan.releases if r.selection is not None]
        privacy = Privacy(
            analyst,
            compiled.plan.epsilon,
            charged.epsilon,
            remaining.epsilon,
            float(compiled.level),
            charged.delta,
            max(thresholds, default=None),
            min(run.stored.values(), default=None),
        )
        return Result(columns, values, privacy)

    # ------------------------------------------------------------------------------------------ explaining

    def explain(
        self,
        sql: str,
        parameters: Parameters = (),
        *,
        epsilon: object = None,
        level: object = None,
        analyst: str,
        form: Format = "text",
    ) -> str:
        """What a statement would release and cost, with no data read and no charge; `level` is that of half-widths."""
        prepared = self.prepare(sql, parameters, epsilon=epsilon, level=level, analyst=analyst)
        try:
            cost = self._cost(prepared.compiled, prepared.scratch, analyst)
            return self._explanation(prepared.compiled, cost, form)
        except Error:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary
            raise internal_error(error) from None

    def _explained(self, compiled: Compiled, scratch: Scratch, analyst: str) -> Result:
        cost = self._cost(compiled, scratch, analyst)
        text = self._explanation(compiled, cost, compiled.explain or "text")
        lines = [text] if compiled.explain == "json" else text.splitlines()
        privacy = Privacy(analyst, compiled.plan.epsilon, Fraction(0), cost.left, float(compiled.level))
        return Result((ResultColumn("QUERY PLAN", "VARCHAR"),), Values([(line,) for line in lines]), privacy)

    def _cost(self, compiled: Compiled, scratch: Scratch, analyst: str) -> Cost:
        refused = None
        try:
            left = (self.ledger.admit if any(compiled.inner) else self.ledger.remaining)(analyst, self.policy.budget)
        except (AnalystLocked, BudgetExhausted) as refusal:
            left, refused = self.ledger.remaining(analyst, self.policy.budget), refusal.message
        run = self._begin(compiled, scratch, analyst)
        known: Mapping[tuple[int, int], Known] = {}
        if self.answers is not None and run.left is not None:
            stored = StoredNumbers(self.answers, self.policy, self.engine, self._current().declared, analyst)
            known = stored.of(compiled.plan, compiled.inner)
        return Cost(charge_of(run.missing, self.policy.privacy), left.epsilon, run.stored, refused, known)

    def _explanation(self, compiled: Compiled, cost: Cost, form: Format) -> str:
        choice = self.policy.privacy.mechanism
        return explain(compiled.plan, compiled.inner, compiled.outer_sql, cost, form, compiled.level, choice)

    def plan(self, sql: str, parameters: Parameters = (), *, epsilon: object = None) -> Compiled:
        """The compiled statement alone."""
        return self.prepare(sql, parameters, epsilon=epsilon).compiled

    def parameter_types(self, sql: str) -> tuple[str | None, ...]:
        """The SQL type that a statement wants of each of its parameters, None where any would do. No data is read.

        Raises ParseError, UnsupportedQuery; what else is wrong in it shows once the values are known.
        """
        try:
            return self._current().parser.placeholder_types(sql)
        except Error:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary
            raise internal_error(error) from None

    def public_columns(self) -> dict[str, dict[str, str]]:
        """The columns of each public table and the engine's types of them, by the tables' lower-case names."""
        return {
            name: dict(self.engine.public_table(table).columns)
            for name, table in self.policy.tables.items()
            if table.public
        }

    def epsilon(self, asked: object) -> Fraction:
        """The ε of a query: what was asked for, or the policy's."""
        settings = self.policy.privacy
        value = settings.epsilon if asked is None else parse_epsilon(asked)
        check_epsilon(settings, value)
        return value

    # ------------------------------------------------------------------------------------------ compiling

    def _compile(
        self, sql: str, parameters: Parameters, epsilon: Fraction, level: Fraction, analyst: str | None
    ) -> Prepared:
        data = self._current()
        today = dt.datetime.now(dt.UTC).date()
        key = (sql, _hashable(parameters), epsilon, level, today, data.version, analyst)
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                return Prepared(sql, parameters, epsilon, found[0], data.scratch, data.version)
        try:
            compiled = self._compiled(data, sql, parameters, epsilon, level, today)
        except RecursionError:  # translated into DuckDB's SQL, a tree can be deeper than what was written
            raise UnsupportedQuery("the statement nests too deep", hint="use fewer levels, or plainer ones") from None
        self._keep(key, compiled, len(sql))
        return Prepared(sql, parameters, epsilon, compiled, data.scratch, data.version)

    def _keep(self, key: Hashable, compiled: Compiled, length: int) -> None:
        """Keep a plan, and let go of those that have been asked for least lately where all together are too large."""
        size = length + compiled.characters
        with self._lock:
            self._plans.pop(key, None)
            self._plans[key] = compiled, size
            while len(self._plans) > CACHED_PLANS or sum(each for _, each in self._plans.values()) > CACHED_CHARACTERS:
                self._plans.popitem(last=False)

    def _compiled(
        self, data: Data, sql: str, parameters: Parameters, epsilon: Fraction, level: Fraction, today: dt.date
    ) -> Compiled:
        policy = data.policy
        statement = data.parser.parse(sql, parameters)
        query = without_clock(analyze(statement.tree, policy, data.catalogue, today=today, level=level), today)
        _check_typed(statement)
        _check_bounds(statement, query)
        plan = plan_query(query, policy.privacy, epsilon=epsilon)
        plan = with_asked_intervals(plan, level)
        inner = tuple(inner_queries(r, self.engine) for r in plan.releases)
        asked = questions(plan, inner, data.declared)

        bind = _binding(plan, data.scratch, statement.tree)
        _check_drawn(plan, bind)
        outer, errors = _bound(plan, bind)
        if policy.error_columns and errors is not None:
            names = outer.names[: _visible(outer, errors)]
            plan = with_error_columns(plan, _for_all_rows(plan, errors, level), names, level)
            bind = _binding(plan, data.scratch, statement.tree)
            outer, errors = _bound(plan, bind)
        constants = {c.name: (c, bind(render(total(c.tree)))) for c in plan.constants}
        for constant in plan.constants:
            if constant.guessed:
                _check_number(bind(render(total(_written(constant.tree)))))
        found = lineage(plan.outer)
        columns = _columns(plan, outer, found, _visible(outer, errors), level)
        if errors is not None and found is not None:
            errors = with_ends(plan, errors, found, level)
        return Compiled(plan, inner, asked, outer, constants, columns, errors, statement.explain, level)

    def _catalogue(self) -> Catalogue:
        """What the engine says of the tables' columns: it refuses where that changes while it is open."""
        tables = self.policy.tables.values()
        types = {table.name.lower(): self.engine.physical_types(table) for table in tables}
        return Catalogue(types, {table.name.lower(): self.engine.unique_columns(table) for table in tables})

    def _current(self) -> Data:
        """What statements are compiled against, for the data as they are now."""
        version = self.engine.version
        with self._lock:
            if self._data is None or version != self._version:
                if version != self._version:
                    with self.engine.transaction() as transaction:  # makes the engine load what changed
                        version = transaction.version
                policy = resolved_policy(self.policy, self.engine)
                public = [self.engine.public_table(t) for t in self.policy.tables.values() if t.public]
                parser = Parser(policy.dialect, _types(policy, self.engine))
                declared = declarations(self.policy, policy.data_version or version)
                self._data = Data(version, policy, self._catalogue(), parser, declared, Scratch(public))
                self._version = version
                self._plans.clear()
            return self._data

    def close(self) -> None:
        """Let engine, ledger and stored answers go."""
        self.engine.close()
        self.ledger.close()
        if self.answers is not None:
            self.answers.close()


class Run:
    """A statement under way: the releases that it has so far, and what is computed from them."""

    def __init__(self, compiled: Compiled, scratch: Scratch, counts: Literal["clamp", "raw"]) -> None:
        self.compiled = compiled
        self.scratch = scratch
        self.rows: dict[str, Released] = {}
        self.noisy: dict[int, NoisyRows] = {}
        self.stored: dict[int, dt.datetime] = {}
        """When each stored release was made, by its number."""
        self.left: Remaining | None = None
        """What the budget leaves an analyst who may have stored answers."""
        self._counts = counts
        self._values: dict[str, object] = {}

    def has(self, index: int) -> bool:
        """Whether the release is there."""
        return release_name(index) in self.rows

    @property
    def missing(self) -> list[ReleasePlan]:
        """The releases that are still to be made, and paid."""
        return [r for index, r in enumerate(self.compiled.plan.releases) if not self.has(index)]

    @property
    def is_complete(self) -> bool:
        return not self.missing

    def list_keys(self, index: int) -> None:
        """Add a release of no numbers."""
        self.rows[release_name(index)] = listed(self.compiled.plan.releases[index])

    def add(self, index: int, noisy: NoisyRows) -> None:
        """Add a release."""
        part = self.compiled.plan.releases[index]
        self.noisy[index] = noisy
        self.rows[release_name(index)] = with_drawn(released(noisy, part, counts=self._counts), noisy, part)

    def with_intervals(self, values: Values) -> tuple[tuple[ResultColumn, ...], Values]:
        """The columns of the result with their intervals, which are worked out where someone looks at them, and their
        values alone.
        """
        columns, errors, level = list(self.compiled.columns), self.compiled.errors, self.compiled.level
        if errors is None:
            return self.compiled.columns, values
        rows: Array | None = None
        if self.compiled.outer.plain is None:
            rows = np.fromiter(map(itemgetter(len(columns)), values.rows), dtype=np.int64, count=len(values))
            values = values.without_columns_from(len(columns))
        noisy, part = self.noisy[errors.release], self.compiled.plan.releases[errors.release]

        def of_number(number: int) -> Ends:
            low, high = ends(noisy, part, number, level)
            return (low, high) if rows is None else (low[rows], high[rows])

        def of_columns(low: int, high: int) -> Ends:
            found, other = (np.ma.filled(values.column(i).astype(np.float64), np.nan) for i in (low, high))
            return found, other

        trees = {i: tree for i, tree in errors.expressions if i not in errors.ends}
        drawn = cache(lambda: dict(zip(trees, drawn_ends(noisy, part, list(trees.values()), level, rows), strict=True)))
        made: list[tuple[int, Callable[[], Ends]]] = [(i, partial(of_number, number)) for i, number in errors.numbers]
        made += [(i, partial(of_columns, *pair)) for i, pair in errors.ends.items()]
        made += [(i, partial(lambda position: drawn()[position], i)) for i in trees]
        for index, make in made:
            intervals = Intervals(make, partial(values.column, index), drawn=index in trees)
            columns[index] = replace(columns[index], intervals=intervals)
        return tuple(columns), values

    def add_stored(self, index: int, answer: Answer) -> None:
        """Add a release that was made before."""
        self.add(index, answer.noisy)
        self.stored[index] = answer.time

    def can_ask(self, index: int) -> bool:
        """Whether all releases are there whose numbers the inner queries of this one use."""
        trees = (self.compiled.constants[name][0].tree for name in self._names(index))
        used = {table.name for tree in trees for table in tree.find_all(exp.Table)}
        return not any(release_name(i) in used and not self.has(i) for i in range(len(self.compiled.inner)))

    def question(self, index: int) -> Question:
        """What the release is a release of."""
        return self.compiled.questions[index].with_constants(self.constants(index))

    def constants(self, index: int) -> dict[str, object]:
        """The values that the release's inner queries use: post-processing of releases before it."""
        for name in self._names(index):
            if name not in self._values:
                self._values[name] = self.scratch.value(*self.compiled.constants[name], self.rows)
        return {name: self._values[name] for name in self._names(index)}

    def _names(self, index: int) -> Iterator[str]:
        return (name for inner in self.compiled.inner[index] for name in inner.constants)


def open_session(policy: Policy, *, create_ledger: bool = False) -> Session:
    """A session under `policy`: its engine and ledger opened, noise from the operating system.

    With `create_ledger` a ledger that does not exist is made; one that exists is used as it is. Raises PolicyError
    for what doesn't fit the data, EngineError for data that can't be opened now, LedgerError.
    """
    engine = open_engine(policy)
    try:
        absent = create_ledger and not policy.ledger.exists()
        ledger = Ledger.create(policy.ledger) if absent else Ledger.open(policy.ledger)
    except BaseException:
        engine.close()
        raise
    answers = None if policy.answers == "off" else Answers(answers_path(ledger.path))
    return Session(policy, engine, ledger, SystemNoise(), answers)


def system_user() -> str:
    """The operating system's name for whoever runs this process: the analyst, where none is named.

    Not from LOGNAME or USER, which anyone can set; a user without a name is called by number.
    """
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
    except ImportError:  # Windows
        return os.getlogin()


def internal_error(error: Exception) -> InternalError:
    """One text for every fault: an exception's own words may hold values."""
    reference = secrets.token_hex(4)
    logging.getLogger("dpsql").error("internal error %s: %s", reference, type(error).__name__)
    return InternalError(
        f"internal error {reference}",
        hint="any charge stands; tell the operator the reference in this message",
    )


def _written(tree: exp.Expr) -> exp.Expr:
    """A constant's tree with its value as it was written, not cast to the type that it is taken for."""
    tree = tree.copy()
    value = tree.expressions[0].this
    value.replace(value.this)
    return tree


def _check_number(value: Outer) -> None:
    """Refuse a subquery for one value that is taken for a number and is none: nothing would compare with it."""
    if not is_number_type(value.types[0]) and value.types[0] not in ("BOOLEAN", '"NULL"'):
        raise UnsupportedQuery(
            f"a subquery gives a value of the type {value.types[0]}, where a number is compared with it",
            hint="compare with a plain aggregate, or make a number of it in the subquery",
        )


def _check_typed(statement: Statement) -> None:
    if not statement.typed:
        raise UnsupportedQuery("the types in this query can't be worked out", hint="qualify and cast its columns")


def _check_bounds(statement: Statement, query: Query) -> None:
    """Bounds per group are taken for bounds per row, which they are where a unit is a row."""
    if statement.bounds_per_group is not None and any(r.rows.unit is not None for r in query.releases):
        raise UnsupportedQuery(
            "contribution_bounds_per_group isn't supported where a unit has many rows",
            hint="bound each row with contribution_bounds_per_row => (0, 10), and how many count with "
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows = 5) …",
            position=statement.bounds_per_group,
        )


def _hashable(parameters: Parameters) -> Hashable:
    items = parameters.items() if hasattr(parameters, "items") else enumerate(parameters)
    return tuple((k, type(v).__name__, repr(v)) for k, v in items)


_KEY_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


Bind = Callable[[str], Outer]


def _binding(plan: Plan, scratch: Scratch, tree: exp.Expr) -> Bind:
    """What binds queries over samples of the plan's releases, which are made once one is bound."""
    samples = cache(lambda: {release_name(i): sample(r) for i, r in enumerate(plan.releases)})
    return lambda sql: scratch.bind(sql, samples(), tree)


def _bound(plan: Plan, bind: Bind) -> tuple[Outer, Errors | None]:
    """The outer query bound, and the columns of its result of which errors are known.

    Those of an expression are where it gives a number, which shows once it is bound.
    """
    tree, errors = with_rows(plan)
    outer = _plain_outer(plan, tree) or bind(render(total(tree)))
    if errors is not None:
        numeric = tuple((i, e) for i, e in errors.expressions if is_number_type(outer.types[i]))
        errors = replace(errors, expressions=numeric)
    return outer, errors


def _visible(outer: Outer, errors: Errors | None) -> int:
    """How many columns the result has: the last one that the engine gives may number its rows."""
    return len(outer.names) - (errors is not None and outer.plain is None)


def _check_drawn(plan: Plan, bind: Bind) -> None:
    """Refuse intervals of expressions that give no number, or of more rows than are drawn for."""
    for index, release_plan in enumerate(plan.releases):
        query = release_plan.query
        for asked, level in query.intervals:
            if not isinstance(asked, exp.Expr):
                continue
            node = asked.meta["asked"]
            select = exp.select(asked.copy()).from_(exp.to_identifier(release_name(index), quoted=True))
            if not is_number_type(bind(render(total(select))).types[0]):
                raise refuse(
                    node, f"{show(node)} is no number, so it has no interval",
                    "ask for that of an aggregate, or of arithmetic on some: SUM(x) / COUNT(*)",
                )  # fmt: skip
            if not query.private_keys and not draws_of(query.cells, level):
                raise refuse(
                    node, f"the interval of {show(node)} takes too many draws: at level {float(level):.9g}, for "
                    f"{query.cells:,} group{'s' * (query.cells != 1)}",
                    "ask for fewer groups or a lower level, or for the intervals of the aggregates in it",
                )  # fmt: skip


def _for_all_rows(plan: Plan, errors: Errors, level: Fraction) -> Errors:
    """The columns of which errors are known for every row of the release."""
    query = plan.releases[errors.release].query
    drawn = bool(query.private_keys) or draws_of(query.cells, level) > 0
    return errors if drawn else replace(errors, expressions=())


def _plain_outer(plan: Plan, tree: exp.Expr) -> Outer | None:
    """The outer query where it only lists a release's columns, whose types are known without asking the engine."""
    columns, index = plain_columns(tree), direct_release(tree)
    if columns is None or index is None or len(plan.releases) > 1:
        return None
    release_plan = plan.releases[index]
    types = {key_name(i): _KEY_TYPES.get(k.domain.kind, "") for i, k in enumerate(release_plan.query.keys)}
    types |= {number_name(i): number.call.sql_type for i, number in enumerate(release_plan.numbers)}
    for i, (asked, _) in enumerate(release_plan.query.intervals):
        of_number = types[number_name(asked)] if isinstance(asked, int) else "DOUBLE"
        types |= dict.fromkeys(interval_names(i), of_number)
    names = tuple(item.alias_or_name for item in tree.expressions)
    return Outer("", None, names, tuple(types[c] for c in columns), columns)


def _level(asked: object) -> Fraction:
    return LEVEL if asked is None else parse_level(asked)


def _columns(
    plan: Plan, outer: Outer, found: Lineage | None, visible: int, level: Fraction
) -> tuple[ResultColumn, ...]:
    widths: dict[int, float] = {}
    ranks: dict[int, Rank | None] = {}
    noisy: dict[int, bool] = {}
    levels: dict[int, float] = {}
    ends: set[int] = set()
    written: dict[int, str] = {}
    if found is not None:
        noisy = {i: column.noisy for i, column in enumerate(found.columns)}
        ends = {i for i, column in enumerate(found.columns) if column.tree is not None and reads_ends(column.tree)}
        release_plan = plan.releases[found.release]
        levels = {i: float(release_plan.query.intervals[n][1]) for i, n in direct_ends(found)}
        for position, number in direct_numbers(found):
            planned = release_plan.numbers[number]
            ranks[position] = release_plan.rank_of(planned, level)
            written[position] = str(planned.call.text)
            if planned.way.half_width is not None and planned.way.interval is None:
                grid = release_plan.bases[planned.basis].grid
                widths[position] = planned.way.half_width(release_plan.law(planned), grid, float(level))
        for position, numbers in direct_lists(found):
            ranks[position] = largest(release_plan.rank_of(release_plan.numbers[n], level) for n in numbers)
    named = zip(outer.names[:visible], outer.types[:visible], strict=True)
    return tuple(
        ResultColumn(
            n, t, widths.get(i), None, ranks.get(i), noisy.get(i), levels.get(i), i in ends, written.get(i, "")
        )
        for i, (n, t) in enumerate(named)
    )


def _types(policy: Policy, engine: Engine) -> dict[str, dict[str, str]]:
    """Every declared column's SQL type, for translating dialects."""
    names = {
        Kind.BOOLEAN: "boolean", Kind.INTEGER: "bigint", Kind.DOUBLE: "double", Kind.TEXT: "text", Kind.DATE: "date",
        Kind.TIMESTAMP: "timestamp",
    }  # fmt: skip
    types: dict[str, dict[str, str]] = {}
    for name, table in policy.tables.items():
        if table.public:
            types[name] = {c.lower(): t.lower() for c, t in engine.public_table(table).columns}
        else:
            types[name] = {
                c: names.get(col.type.kind, f"decimal({col.type.precision}, {col.type.scale})")
                for c, col in table.columns.items()
            }
    return types


def resolved_policy(policy: Policy, engine: Engine) -> Policy:
    """The policy with what public tables hold: their columns with value sets, and the values of each
    `keys: {from: table.column}`.
    """

    def filled(column: Column) -> Column:
        if column.keys_from is None:
            return column
        table, name = column.keys_from
        return replace(column, keys=engine.distinct_public(policy.tables[table], name))

    tables: dict[str, Table] = {}
    for name, table in policy.tables.items():
        columns = engine.public_columns(table) if table.public else table.columns
        tables[name] = replace(table, columns={c: filled(col) for c, col in columns.items()})
    return replace(policy, tables=tables)
