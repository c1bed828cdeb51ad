"""Which tests answer which number of THREATS.md: kinds B (sensitivity) and C (keys and the shape of results).

And which hold the counterexamples of PROOFS.md to bounding what units contribute.

Neighbours differ by one unit that is there or not, so what THREATS.md asks of replaced units doesn't arise (B5, B14).
"""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "tests/test_threats.py::"
_PROOFS = "tests/test_proofs.py::"
_UNITS = "tests/test_units.py::"
_PRIVATE_KEYS = "tests/test_private_keys.py::"
_ENGINE = "tests/test_engine_duckdb.py::"
_REFUSED = "tests/refused/"

ANSWERED: Mapping[str, tuple[str, ...]] = {
    "B1": (f"{_HERE}test_the_order_of_rows_does_not_show_in_a_sum",
           f"{_UNITS}test_the_order_of_rows_does_not_show_in_the_sign_of_zero"),
    "B2": (f"{_HERE}test_a_row_moves_a_long_sum_by_its_own_steps",),
    "B3": (f"{_HERE}test_no_row_overflows_an_expression", f"{_UNITS}test_no_units_total_overflows",
           f"{_ENGINE}test_sums_are_exact_beyond_float_and_beyond_64_bits"),
    "B4": (f"{_HERE}test_a_value_is_clipped_before_it_is_added",),
    "B5": (f"{_HERE}test_the_sensitivity_of_a_sum",),
    "B6": (f"{_HERE}test_the_sensitivity_of_a_sum",
           "tests/contracts/test_aggregates.py::test_no_value_moves_a_release_by_more_than_it_is_charged"),
    "B7": ("tests/test_policy.py::test_wrong_columns",),
    "B8": ("tests/contracts/test_aggregates.py::test_no_row_moves_a_basis_by_more_than_its_bound",),
    "B9": (f"{_HERE}test_an_average_is_of_noisy_numbers",),
    "B10": (f"{_HERE}test_noise_makes_no_nan_and_no_error",),
    "B11": (f"{_HERE}test_noise_makes_no_nan_and_no_error",),
    "B12": (f"{_HERE}test_bounds_belong_to_what_is_computed_not_to_names",
            "tests/test_record_replay.py::test_generated_statements_replay"),
    "B13": (f"{_HERE}test_bounds_belong_to_what_is_computed_not_to_names",),
    "B14": (f"{_UNITS}test_the_declared_sensitivity_is_reached",),
    "B15": (f"{_HERE}test_a_unit_with_thousands_of_rows",),
    "B16": (f"{_UNITS}test_an_analyst_may_ask_for_another_bound",
            f"{_UNITS}test_the_smaller_bound_is_taken_and_explained"),
    "B17": (f"{_HERE}test_joins_that_repeat_rows_are_refused", f"{_ENGINE}test_declared_keys_of_public_tables",
            f"{_ENGINE}test_a_public_key_that_repeats_later",
            f"{_REFUSED}joins.sql: SELECT COUNT(*) FROM people AS a JOIN people AS b USING (city)"),
    "B18": (f"{_HERE}test_joins_that_repeat_rows_are_refused",
            f"{_UNITS}test_one_unit_without_partners_decides_for_itself_alone"),
    "B19": (f"{_HERE}test_distinct_values_of_a_victim_with_many",
            f"{_UNITS}test_distinct_values_of_a_unit_are_capped_over_all_groups"),
    "B20": ("tests/test_refused.py::test_every_other_aggregate_is_refused",),
    "B21": (f"{_REFUSED}aggregates.sql: SELECT MAX(income) FROM people",),
    "B22": (f"{_REFUSED}aggregates.sql: SELECT SUM(age ORDER BY income) FROM people",
            f"{_REFUSED}aggregates.sql: SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM people",
            f"{_UNITS}test_no_unit_moves_more_than_its_bound"),
    "B23": (f"{_REFUSED}joins.sql: SELECT COUNT(*) FROM (SELECT age FROM people "
            "QUALIFY ROW_NUMBER() OVER (ORDER BY age) < 3) AS q",
            f"{_REFUSED}joins.sql: WITH RECURSIVE p AS (SELECT age FROM people "
            "UNION ALL SELECT age FROM p) SELECT COUNT(*) FROM p",
            f"{_REFUSED}rows.sql: SELECT LAG(age) OVER (ORDER BY income) FROM people",
            f"{_REFUSED}keys.sql: SELECT city, COUNT(*) FROM people GROUP BY GROUPING SETS ((city), ())",
            f"{_REFUSED}joins.sql: SELECT COUNT(*) FROM people PIVOT (COUNT(*) FOR city IN ('A', 'B'))"),
    "B24": (f"{_HERE}test_bounds_that_are_missing_are_not_looked_up",),
    "C1": (f"{_HERE}test_the_keys_are_those_of_the_policy",),
    "C2": (f"{_PRIVATE_KEYS}test_without_delta_the_two_ways_are_named",
           f"{_PRIVATE_KEYS}test_one_unit_more_changes_what_is_shown_by_no_more_than_it_may",
           f"{_PRIVATE_KEYS}test_a_unit_counts_for_no_more_keys_than_it_may"),
    "C3": (f"{_HERE}test_an_empty_group_has_noise",),
    "C4": (f"{_HERE}test_the_keys_are_those_of_the_policy",),
    "C5": (f"{_ENGINE}test_only_base_tables", "tests/test_policy.py::test_wrong_columns",
           f"{_REFUSED}keys.sql: SELECT city COLLATE NOCASE, COUNT(*) FROM people GROUP BY 1",
           f"{_UNITS}test_the_order_of_rows_does_not_show_in_the_sign_of_zero"),
    "C6": (f"{_REFUSED}keys.sql: SELECT income, COUNT(*) FROM people GROUP BY income",),
    "C7": (f"{_HERE}test_the_keys_are_those_of_the_policy",
           f"{_HERE}test_bounds_belong_to_what_is_computed_not_to_names"),
    "C8": (f"{_HERE}test_a_key_computed_from_a_row_has_all_its_values",),
    "C9": (f"{_HERE}test_what_filters_groups_reads_noisy_numbers",),
    "C10": (f"{_REFUSED}joins.sql: SELECT COUNT(*) FROM people LIMIT (SELECT MAX(age) FROM people)",
            f"{_REFUSED}joins.sql: SELECT COUNT(*) FROM people TABLESAMPLE 10 PERCENT"),
    "C11": (f"{_HERE}test_the_order_of_rows_does_not_show_in_that_of_groups",),
    "C12": (f"{_HERE}test_units_are_no_keys",),
    "C13": (f"{_REFUSED}keys.sql: SELECT city, COUNT(*) FROM people GROUP BY ROLLUP (city)",
            f"{_REFUSED}keys.sql: SELECT city, COUNT(*) FROM people GROUP BY CUBE (city, age)"),
    "C14": (f"{_HERE}test_a_number_of_no_rows_is_a_noisy_number",),
}  # fmt: skip

COUNTEREXAMPLES: Mapping[str, tuple[str, ...]] = {
    "P3": (f"{_PROOFS}test_many_rows_at_the_upper_bound_do_not_overflow", f"{_ENGINE}test_floats_are_refused",
           f"{_ENGINE}test_sums_are_exact_beyond_float_and_beyond_64_bits"),
    "P4a": (f"{_UNITS}test_rows_repeated_by_a_union_count_twice",),
    "P4b": (f"{_PROOFS}test_a_key_is_unique_as_it_is_stored_alone",
            f"{_ENGINE}test_keys_are_compared_as_they_are_stored",
            f"{_ENGINE}test_collations_are_dropped_from_public_tables"),
    "P4c": (f"{_PROOFS}test_a_key_is_unique_as_it_is_stored_alone",),
    "P4d": (f"{_ENGINE}test_a_public_key_that_repeats_later", f"{_ENGINE}test_a_constraint_that_goes_is_drift"),
    "P4e": (f"{_PROOFS}test_what_is_unique_in_a_table_is_not_in_a_relation",
            f"{_UNITS}test_what_the_engine_keeps_unique_needs_no_weights"),
    "P5": (f"{_UNITS}test_one_unit_without_partners_decides_for_itself_alone",
           f"{_PROOFS}test_no_row_decides_for_other_units",
           f"{_PROOFS}test_no_private_row_filters_public_or_released_ones"),
    # no quantiles yet: they are refused, and weights are those of the whole relation, not of a group
    "P9": (f"{_UNITS}test_the_declared_sensitivity_is_reached",
           f"{_REFUSED}aggregates.sql: SELECT MEDIAN(age) FROM people",
           f"{_REFUSED}aggregates.sql: SELECT QUANTILE_CONT(age, 0.5) FROM people"),
    "P10": (f"{_UNITS}test_distinct_values_of_a_unit_are_capped_over_all_groups",
            f"{_PROOFS}test_other_distinct_values_are_another_release"),
    "P11": (f"{_UNITS}test_distinct_values_of_a_unit_are_capped_over_all_groups",
            f"{_PROOFS}test_the_choice_of_values_does_not_rest_on_the_hash",
            f"{_PRIVATE_KEYS}test_a_unit_counts_for_no_more_keys_than_it_may"),
    "P16": (f"{_PROOFS}test_the_order_of_rows_does_not_show", f"{_PROOFS}test_threads_do_not_show",
            f"{_UNITS}test_the_order_of_rows_does_not_show_in_the_sign_of_zero"),
    "A1": (f"{_PRIVATE_KEYS}test_delta_is_charged_and_ends", f"{_PRIVATE_KEYS}test_several_releases_share_delta"),
    "A2": (f"{_PRIVATE_KEYS}test_other_aggregates_read_rows_of_chosen_keys_alone",
           f"{_PRIVATE_KEYS}test_on_the_same_keys_no_unit_moves_more_than_its_bound",
           f"{_PRIVATE_KEYS}test_what_the_selection_costs",
           f"{_PRIVATE_KEYS}test_one_unit_more_changes_what_is_shown_by_no_more_than_it_may",
           f"{_PROOFS}test_the_order_of_rows_does_not_show_in_that_of_private_keys"),
    "A3": (f"{_PROOFS}test_how_many_rows_of_a_unit_a_relation_has",
           f"{_PROOFS}test_what_is_unique_in_a_table_is_not_in_a_relation",
           f"{_UNITS}test_children_of_one_parent_are_not_paired_with_each_other"),
    "A4": (f"{_ENGINE}test_the_parent_of_a_unit_has_a_key", f"{_ENGINE}test_a_constraint_that_goes_is_drift"),
    "A5": (f"{_PROOFS}test_groups_that_are_not_declared_are_ignored_once_more",
           f"{_HERE}test_the_keys_are_those_of_the_policy"),
    "A6": (f"{_PROOFS}test_values_are_clipped_whatever_the_policy_says_of_them",),
    "A7": (f"{_UNITS}test_a_released_number_narrows_nothing",
           f"{_UNITS}test_everything_is_charged_before_the_first_number_is_known",
           f"{_PROOFS}test_subqueries_that_are_no_released_number_are_refused"),
    "A8": (f"{_PROOFS}test_only_the_same_rows_share_their_noise",),
    "A9": (f"{_PROOFS}test_rows_that_units_would_share_are_refused",),
    "A10": (f"{_PROOFS}test_an_outer_join_keeps_the_unit_of_the_rows_that_it_keeps",
            f"{_UNITS}test_rows_that_belong_to_nobody_are_dropped"),
}  # fmt: skip
