"""Faults that are planted one at a time: what other systems shipped, or this one nearly did, by kind of threat.

Each is an exact replacement in one file, whose old text stands there once, and names the tests that must kill it. To
add one, add it here: CI checks that it applies and makes a program, and kills it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants.trees import ROOT, Edit


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault, the number in THREATS.md that it is an example of, where it is made, and the tests that kill it."""

    threat: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def edit(self) -> Edit:
        """Raises AssertionError where the old text doesn't stand in the file exactly once."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.name}: stands {text.count(self.old)} times in {self.file}"
        return Edit(self.file, text.index(self.old), self.old, self.new)


def _planted(threat: str, name: str, file: str, old: str, new: str, *tests: str) -> Planted:
    return Planted(threat, name, f"dpsql/{file}", old, new, tuple(f"tests/{test}" for test in tests))


PLANTED = (
    # A: noise and numbers
    _planted(
        "A4", "half the noise: every ε is doubled", "privacy/noise.py",
        "return discrete_laplace(scale).sample(size, self.source)",
        "return discrete_laplace(scale / 2).sample(size, self.source)",
        "test_noise.py::test_system_noise_has_the_law[20-SystemRandom]",
    ),
    _planted(
        "A4", "the tail of the noise is cut off", "privacy/mechanisms/laplace.py",
        "numbers[i] = int(numbers[i]) + self._rest_of_tail(source)", "numbers[i] = int(numbers[i])",
        "test_laplace.py::test_tail",
    ),
    _planted(
        "A4", "noise beyond the bound is moved onto it, not drawn again", "privacy/mechanisms/truncated_geometric.py",
        "noise[outside] = law.sample(len(outside), source)",
        "noise[outside] = np.clip(noise[outside], -bound, bound)",
        "test_private_keys.py::test_the_noise_is_the_laplace_noise_that_is_not_beyond_the_bound",
    ),
    _planted(
        "A4", "cube noise of too small a radius", "privacy/mechanisms/cube.py",
        "self._geometric.geometrics((self.dimensions + 1) * size, source)\n"
        "        radii = np.zeros(size, dtype=np.int64)\n"
        "        for summand in geometrics.reshape(self.dimensions + 1, size):",
        "self._geometric.geometrics(self.dimensions * size, source)\n"
        "        radii = np.zeros(size, dtype=np.int64)\n"
        "        for summand in geometrics.reshape(self.dimensions, size):",
        "test_cube.py::test_law",
    ),
    _planted(
        "A4", "a radius of cube noise is given whether it is accepted or not", "privacy/mechanisms/cube.py",
        "(values <= 2 * radii).all(axis=0)", "(values <= 2 * radii).any(axis=0)",
        "test_cube.py::test_of_all_words_those_that_are_given_are_each_point_of_the_cube_once",
    ),
    _planted(
        "A4", "a choice as if the scores moved one way alone", "privacy/mechanisms/permute_and_flip.py",
        "return 2 * _sensitivity(node.fraction) * self.bound / node.epsilon",
        "return _sensitivity(node.fraction) * self.bound / node.epsilon",
        "test_quantiles.py::test_no_row_changes_the_law_of_a_choice_by_more_than_epsilon",
    ),
    _planted(
        "B5", "a quantile as if it were the median", "privacy/mechanisms/permute_and_flip.py",
        "return max(a, b - a)", "return min(a, b - a)",
        "test_quantiles.py::test_no_row_changes_the_law_of_a_choice_by_more_than_epsilon",
    ),
    _planted(
        "B5", "an end of an interval is chosen with half its noise", "privacy/mechanisms/permute_and_flip.py",
        "return 2 * _sensitivity(self.fraction) * self.bound / self.epsilon",
        "return _sensitivity(self.fraction) * self.bound / self.epsilon",
        "test_quantiles.py::test_no_row_changes_the_law_of_an_end_by_more_than_epsilon",
    ),
    _planted(
        "B5", "what a rung pays hangs on the rows", "privacy/mechanisms/permute_and_flip.py",
        "np.maximum(outermost - rung, 0) *", "np.maximum(outermost - rung, 0) * (1 + total % 3) *",
        "test_quantiles.py::test_no_row_changes_the_law_of_an_end_by_more_than_epsilon",
    ),
    _planted(
        "B9", "each level of a recursion has all of ε", "privacy/mechanisms/permute_and_flip.py",
        "left = epsilon - share", "left = epsilon",
        "test_quantiles.py::test_each_way_down_has_all_of_epsilon",
    ),
    _planted(
        "B9", "a cell's rows are on both sides of where it is cut", "privacy/mechanisms/permute_and_flip.py",
        "rest = int(within[chosen]) - lower", "rest = int(within[chosen])",
        "test_quantiles.py::test_a_row_in_the_very_cell_that_is_cut_is_on_one_side_alone",
    ),
    _planted(
        "A4", "a cut is given as often as its block may be at most", "privacy/mechanisms/exponential.py",
        "if not beyond or Event(beyond / scale, is_digit=False, head=0).settle(0, block.level, source):", "if True:",
        "test_exponential.py::test_law",
    ),
    _planted(
        "A4", "a cut is given as often as if its block were of level 0", "privacy/mechanisms/exponential.py",
        ".settle(0, block.level, source)", ".settle(0, 0, source)",
        "test_exponential.py::test_law",
    ),
    _planted(
        "A4", "many equal rows are as likely as each of few", "privacy/mechanisms/exponential.py",
        "[1 << depth - block.level - block.halvings for block in blocks]",
        "[1 << depth - block.level for block in blocks]",
        "test_exponential.py::test_law",
    ),
    _planted(
        "B15", "rows are counted by cell without their weights", "rewrite/inner.py",
        "return none_is_zero(exp.Sum(this=column(WEIGHT_COLUMN))) if self.weighted else exp.Count(this=exp.Star())",
        "return exp.Mul(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(2**20))",
        "test_units.py::test_no_unit_moves_a_choice_by_more_than_its_bound",
    ),
    _planted(
        "A3", "values are cut off to the grid, not rounded", "privacy/mechanism.py",
        "return below.astype(np.int64) + (numbers - below >= 0.5)", "return below.astype(np.int64)",
        "test_mechanism.py::test_rounding_is_half_up",
    ),
    _planted(
        "A10", "a sum and its noise overflow 64 bits", "release.py",
        "if a.dtype == object or b.dtype == object or largest(a) + largest(b) > INT64_MAX:",
        "if a.dtype == object or b.dtype == object:",
        "test_release.py::test_sums_and_products_are_exact_where_they_pass_64_bits",
    ),
    _planted(
        "A13", "all groups share one draw of noise", "privacy/mechanisms/laplace.py",
        "return tuple(noise.laplace(scale, size) for scale in scales)",
        "return tuple(noise.laplace(scale, 1).repeat(size) for scale in scales)",
        "test_threats.py::test_an_empty_group_has_noise",
    ),
    # B: sensitivity and bounds
    _planted(
        "B5", "|L| for |U|: the upper bound alone is the sensitivity", "aggregates/aggregate.py",
        "return max(abs(self.low_steps), abs(self.high_steps))", "return max(1, abs(self.high_steps))",
        "test_threats.py::test_the_sensitivity_of_a_sum",
    ),
    _planted(
        "B5", "the least that a row may add is taken for the most", "privacy/sensitivity.py",
        "return max(absent, *ends)", "return max(absent, min(ends))",
        "contracts/test_aggregates.py::test_no_row_moves_a_basis_by_more_than_its_bound",
    ),
    _planted(
        "B5", "of the sums of a cube the one that moves least is taken", "privacy/sensitivity.py",
        "return max([absent, *(max(map(abs, ends)) for ends in extremes)])",
        "return min([max(absent, *map(abs, ends)) for ends in extremes])",
        "contracts/test_aggregates.py::test_no_row_moves_a_basis_by_more_than_its_bound",
    ),
    _planted(
        "B9", "each basis of a cube has noise of its own", "release.py",
        "numbers.setdefault(plan.bases[index].block, [])", "numbers.setdefault(index, [])",
        "test_layouts.py::test_a_cube_is_drawn_once",
    ),
    _planted(
        "B15", "cap off by one: one row more of a unit counts in full", "rewrite/bound.py",
        "exp.IntDiv(this=exp.Literal.number(full * WEIGHT), expression=most)",
        "exp.IntDiv(this=exp.Literal.number((full + 1) * WEIGHT), expression=most)",
        "test_threats.py::test_a_unit_with_thousands_of_rows",
    ),
    _planted(
        "B19", "cap off by one: one distinct value more of a unit is kept", "rewrite/inner.py",
        "self._kept = exp.LTE(this=column(RANK), expression=exp.Literal.number(self._bound.rows))",
        "self._kept = exp.LTE(this=column(RANK), expression=exp.Literal.number(self._bound.rows + 1))",
        "test_units.py::test_distinct_values_of_a_unit_are_capped_over_all_groups",
    ),
    _planted(
        "B16", "noise for one row where a unit may have several", "plan.py",
        "return part.unit * self.bound.total / self.epsilon", "return part.unit * self.bound.steps / self.epsilon",
        "test_units.py::test_the_declared_sensitivity_is_reached",
    ),
    _planted(
        "B4", "decimals are added as they are, not clipped", "rewrite/clip.py",
        "offset = _minus(cast(_clipped(value), f\"DECIMAL({width}, {value.set.type.scale or 0})\"), grid.lower)",
        "offset = _minus(cast(value.source, f\"DECIMAL({width}, {value.set.type.scale or 0})\"), grid.lower)",
        "test_clip.py::test_the_index_is_total_in_range_and_right",
    ),
    _planted(
        "B4", "doubles above the upper bound are added as they are", "rewrite/clip.py",
        "twice_min = exp.Paren(this=exp.Sub(this=x, expression=func(\"abs\", x)))",
        "twice_min = exp.Paren(this=exp.Add(this=x, expression=x.copy()))",
        "test_clip.py::test_the_index_is_total_in_range_and_right",
    ),
    _planted(
        "B9", "conditions on one value are taken to be disjoint, whatever they are", "disjoint.py",
        "cases is not None and not one.truths(subject, cases).true & other.truths(subject, cases).true",
        "cases is not None",
        "test_layouts.py::test_conditions_are_disjoint_where_that_is_certain",
    ),
    _planted(
        "B9", "of a partition any two parts are taken to be apart", "plan.py",
        "if not all(_are_apart(parts) for parts in self._partitions()):", "if False:",
        "test_layouts.py::test_what_is_not_apart_is_no_partition",
    ),
    _planted(
        "B9", "each of several aggregates gets the whole ε", "plan.py",
        "measure, grid_of(measure), (), block.bound, share * epsilon,",
        "measure, grid_of(measure), (), block.bound, epsilon,",
        "test_threats.py::test_numbers_of_one_statement_share_its_epsilon",
    ),
    _planted(
        "B12", "the bounds of −x are those of x", "valueset.py",
        "return Interval(-self.upper, -self.lower)", "return Interval(self.lower, self.upper)",
        "test_threats.py::test_bounds_belong_to_what_is_computed_not_to_names",
    ),
    _planted(
        "B17", "a join pairs many rows of a unit with many", "analyze/joins.py",
        "if min(left.bound.rows, right.bound.rows) > 1:", "if False:",
        "test_units.py::test_two_tables_of_many_rows_of_a_unit_are_not_joined",
    ),
    # C: keys and the shape of results
    _planted(
        "C3", "empty groups get no noise", "release.py",
        "noisy[index][part.name] = narrowest(_add(sums, added))",
        "noisy[index][part.name] = narrowest(np.where(sums == 0, 0, _add(sums, added)))",
        "test_threats.py::test_an_empty_group_has_noise",
    ),
    _planted(
        "C1", "keys that are not declared count for the nearest that is", "release.py",
        "place = np.where((place >= 0) & (place < domain.count), place, -1)",
        "place = np.clip(place, 0, domain.count - 1)",
        "test_proofs.py::test_groups_that_are_not_declared_are_ignored_once_more",
    ),
    _planted(
        "C1", "keys that are not declared come out of the engine", "rewrite/inner.py",
        "elif declared:", "elif False:",
        "test_golden.py::test_golden[compiled: SELECT city, COUNT(*) FROM people GROUP BY city]",
    ),
    _planted(
        "C2", "the threshold forgets in how many groups a unit is", "privacy/mechanisms/truncated_geometric.py",
        "d = _decimal(delta) / groups", "d = _decimal(delta)",
        "test_private_keys.py::test_one_unit_more_changes_what_is_shown_by_no_more_than_it_may",
    ),
    _planted(
        "C2", "private keys are selected by their exact counts", "release.py",
        "noisy = _add(counts, noise.truncated(selection.scale, selection.bound, len(exact)))", "noisy = counts",
        "test_private_keys.py::test_keys_are_selected_by_their_noisy_numbers",
    ),
    _planted(
        "C2", "keys at the threshold are shown", "release.py",
        "if number > selection.threshold]", "if number >= selection.threshold]",
        "test_private_keys.py::test_a_key_may_be_asked_to_have_more_units",
    ),
    _planted(
        "C2", "a unit counts for one private key more than it may", "rewrite/inner.py",
        "self._kept = exp.LTE(this=column(RANK), expression=exp.Literal.number(self._chosen.groups))",
        "self._kept = exp.LTE(this=column(RANK), expression=exp.Literal.number(self._chosen.groups + 1))",
        "test_private_keys.py::test_a_unit_counts_for_no_more_keys_than_it_may",
    ),
    _planted(
        "C9", "HAVING pushed inside: groups are left out by their exact sizes", "rewrite/inner.py",
        "always = exp.GTE(this=column(\"size\"), expression=exp.Literal.number(0))",
        "always = exp.GTE(this=column(\"size\"), expression=exp.Literal.number(2))",
        "test_golden.py::test_golden[compiled: SELECT city, COUNT(*) FROM people GROUP BY city]",
    ),
    _planted(
        "C11", "private keys come in the order of the data", "release.py",
        "shown.sort(key=lambda pair: _order(pair[0]))", "pass",
        "test_proofs.py::test_the_order_of_rows_does_not_show_in_that_of_private_keys",
    ),
    # D: errors, NULL and NaN that turn on the data
    _planted(
        "D1", "CAST for TRY_CAST: a text that is no number is an error", "expressions/literals.py",
        "return exp.TryCast(this=node, to=data_type(to))", "return exp.Cast(this=node, to=data_type(to))",
        "test_threats.py::test_a_text_that_is_no_number_is_none",
    ),
    _planted(
        "D3", "a divisor may be zero", "expressions/numbers.py",
        "if right.set.machine.contains(0):\n        divisor = exp.Nullif", "if False:\n        divisor = exp.Nullif",
        "test_threats.py::test_dividing_by_a_row_s_zero_is_no_value",
    ),
    _planted(
        "D7", "NULL to a bound: LEAST passes over it", "rewrite/clip.py",
        "    return case_when(\n        (exp.LT(this=paren(x.copy()), expression=lower), lower.copy()),\n"
        "        (exp.GT(this=paren(x.copy()), expression=upper), upper.copy()),\n        default=x.copy(),\n    )",
        "    return func(\"greatest\", lower, func(\"least\", upper, paren(x.copy())))",
        "test_clip.py::test_the_index_is_total_in_range_and_right",
    ),
    _planted(
        "D8", "a sum of no rows is NULL", "rewrite/steps.py",
        "return exp.Coalesce(this=total, expressions=[exp.Literal.number(0)])", "return total",
        "test_threats.py::test_a_number_of_no_rows_is_a_noisy_number",
    ),
    # E: what SQL can say
    _planted(
        "E1", "of several statements the first is answered", "parse.py",
        "if len(trees) != 1:", "if not trees:",
        "test_refused.py::test_refused[statements: SELECT COUNT(*) FROM people; SELECT note FROM people]",
    ),
    _planted(
        "E9", "EXPLAIN ANALYZE is answered", "parse.py",
        "raise UnsupportedQuery(\"EXPLAIN ANALYZE would run the query\", hint=\"write EXPLAIN SELECT …\")", "pass",
        "test_refused.py::test_refused[statements: EXPLAIN ANALYZE SELECT COUNT(*) FROM people]",
    ),
    _planted(
        "E22", "a column that changes its type is read on", "engines/duckdb.py",
        "if new.types != self._types:", "if False:", "test_engine_duckdb.py::test_drift_is_refused",
    ),
    # F: side channels
    _planted(
        "F4", "TRY(…) stands where a cast may fail", "expressions/literals.py",
        "return exp.TryCast(this=node, to=data_type(to))",
        "return exp.Try(this=exp.Cast(this=node, to=data_type(to)))",
        "test_golden.py::test_golden[compiled: SELECT AVG(income) FROM people]",
    ),
    _planted(
        "F5", "a failure after the charge is not counted", "ledger/__init__.py",
        "                self.record_failure(charge, analyst)\n            except Error:",
        "                pass\n            except Error:",
        "test_session.py::test_a_failure_after_the_charge_stands_and_counts",
    ),
    # G: the budget
    _planted(
        "G1", "a charge is checked against sums that another process has changed since", "ledger/store.py",
        "connection.execute(\"BEGIN IMMEDIATE\")\n            self._catch_up(connection)",
        "connection.execute(\"BEGIN IMMEDIATE\")",
        "test_ledger.py::test_a_lock_binds_other_processes",
    ),
    _planted(
        "G2", "charge after run: what fails in between is free", "session.py",
        "        charge = charge_of(run.missing, self.policy.privacy)\n",
        "        charge = charge_of(run.missing, self.policy.privacy)\n"
        "        for queries in run.compiled.inner:\n"
        "            for q in queries:\n"
        "                transaction.fetch(q.sql, q.keys, q.sums, q.counts, {})\n",
        "test_session.py::test_what_the_budget_refuses_reads_nothing",
        "test_session.py::test_a_failure_after_the_charge_stands_and_counts",
    ),
    _planted(
        "G3", "refund on failure: the failed query's charge is taken off the analyst's sum", "ledger/store.py",
        "self.failures[record.analyst] = self.failed(record.analyst) + 1",
        "self.failures[record.analyst] = self.failed(record.analyst) + 1\n"
        "                self.analysts[record.analyst] = NOTHING",
        "test_ledger.py::test_failures_charge_nothing_and_are_no_charges",
    ),
    _planted(
        "G4", "float ledger: small charges are lost", "privacy/loss.py",
        "return -(-value.numerator * unit // value.denominator)", "return round(float(value) * unit)",
        "test_ledger.py::test_losses_are_rounded_up_and_limits_down",
    ),
    _planted(
        "G4", "limits are rounded up", "ledger/limits.py",
        "max(0, units_below(limit.epsilon, EPSILON_PLACES) - epsilon)",
        "max(0, round(float(limit.epsilon) * 10**EPSILON_PLACES + 0.5) - epsilon)",
        "test_ledger.py::test_losses_are_rounded_up_and_limits_down",
    ),
    _planted(
        "G6", "of several releases the largest is charged", "plan.py",
        "epsilon = sum(shares, Fraction(0))", "epsilon = max(shares)",
        "test_units.py::test_no_unit_moves_more_than_its_bound"
        "[SELECT COUNT(*) FROM orders WHERE total > (SELECT AVG(total) FROM orders)]",
    ),
    _planted(
        "G10", "kept plans are found without their ε", "session.py",
        "key = (sql, _hashable(parameters), epsilon, level, today, data.version, analyst)",
        "key = (sql, _hashable(parameters), level, today, data.version, analyst)",
        "test_session.py::test_a_kept_plan_is_that_of_its_epsilon",
    ),
    _planted(
        "F8", "kept plans are found by others, in less time", "session.py",
        "key = (sql, _hashable(parameters), epsilon, level, today, data.version, analyst)",
        "key = (sql, _hashable(parameters), epsilon, level, today, data.version)",
        "test_session.py::test_a_plan_is_kept_for_who_asked_alone",
    ),
    _planted(
        "G10", "cached answers are found without their ε", "answers/question.py",
        "hashlib.sha256(self.text.encode()).digest()",
        "hashlib.sha256(__import__(\"re\").sub(r'(epsilon|scale)\": \"[^\"]*', \"\", self.text).encode()).digest()",
        "test_answers.py::test_another_question_is_charged",
    ),
    _planted(
        "A13", "equal releases of one statement share a cached answer", "answers/question.py",
        "json.dumps(facts | {\"copy\": copy}, sort_keys=True)", "json.dumps(facts, sort_keys=True)",
        "test_answers.py::test_equal_releases_of_one_statement_have_noise_of_their_own",
    ),
    _planted(
        "G13", "a ledger that is gone is made anew", "session.py",
        "absent = create_ledger and not policy.ledger.exists()", "absent = not policy.ledger.exists()",
        "test_dbapi.py::test_what_connect_refuses",
    ),
    _planted(
        "G14", "δ is not charged", "plan.py",
        "delta = sum((r.delta for r in releases), Fraction(0))\n    return", "delta = Fraction(0)\n    return",
        "test_private_keys.py::test_several_releases_share_delta",
    ),
    _planted(
        "G17", "a clock moved back renews the budget", "ledger/writer.py",
        "time = max(wanted.now, draft.newest)", "time = wanted.now",
        "test_ledger.py::test_a_clock_moved_back_renews_nothing",
    ),
    # H: the process around it
    _planted(
        "H1", "noise from numpy's generator", "privacy/random_bytes.py",
        "        \"\"\"`size` bytes of os.urandom.\"\"\"\n        return os.urandom(size)",
        "        import numpy.random\n\n        return numpy.random.default_rng().bytes(size)",
        "test_noise.py::test_no_other_randomness_and_no_switch_in_the_layer",
    ),
    _planted(
        "H3", "seed from the environment", "privacy/random_bytes.py",
        "return AesCtr() if HAS_AES else SystemRandom()",
        "return AesCtr() if HAS_AES and \"DPSQL_SEED\" not in os.environ else SystemRandom()",
        "test_noise.py::test_no_other_randomness_and_no_switch_in_the_layer",
    ),
    _planted(
        "H4", "one key for all keystreams", "privacy/random_bytes.py",
        "Cipher(AES(os.urandom(32)), CTR(bytes(16)))",
        "Cipher(AES(self.__class__.__dict__.get(\"key\") or (setattr(AesCtr, \"key\", os.urandom(32)) or AesCtr.key)), "
        "CTR(bytes(16)))",
        "test_noise.py::test_every_keystream_has_its_own_key_from_the_system",
    ),
    _planted(
        "H5", "error text with value: the engine's own words leave", "engines/duckdb_sources/driver.py",
        "        kind, interrupted = type(fault).__name__, is_interrupt(fault)\n    if interrupted:\n"
        "        raise KeyboardInterrupt\n    reference = secrets.token_hex(4)\n",
        "        kind, interrupted = type(fault).__name__, is_interrupt(fault)\n        reference = str(fault)\n"
        "    if interrupted:\n        raise KeyboardInterrupt\n",
        "test_engine_duckdb.py::test_failures_say_nothing",
    ),
    _planted(
        "H6", "log with exact values", "release.py",
        "sums = _cells(_part(part, basis, exact, inner), positions, cells)\n",
        "sums = _cells(_part(part, basis, exact, inner), positions, cells)\n"
        "        __import__(\"logging\").getLogger(\"dpsql\").debug(\"%s\", sums)\n",
        "test_session.py::test_no_log_holds_exact_numbers",
    ),
    _planted(
        "H16", "data that changed meanwhile are read under the old plan", "session.py",
        "unchanged = transaction.version == version", "unchanged = bool(transaction.version)",
        "test_session.py::test_a_plan_is_run_on_the_data_that_it_was_made_for",
    ),
)  # fmt: skip
