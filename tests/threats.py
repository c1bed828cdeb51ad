"""Which tests answer which number of THREATS.md: kinds B (sensitivity) and C (keys and the shape of results).

Neighbours differ by one unit that is there or not, so what THREATS.md asks of replaced units doesn't arise (B5, B14).
"""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "tests/test_threats.py::"
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
    "B15": (f"{_HERE}test_a_unit_with_ten_thousand_rows",),
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
