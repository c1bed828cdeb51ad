-- Intervals of what has none: see also tests/test_intervals.py.

SELECT RANK() OVER (ORDER BY COUNT(*)) AS c, DP_INTERVAL_LOW(c) FROM people GROUP BY city
--> 0A000 c has no interval: a window function is part of it
--> hint: ask for the interval of arithmetic on this SELECT's aggregates: SUM(x) / COUNT(*)
--> at 61: c) FROM people GROUP BY city

SELECT COUNT(*) + (SELECT COUNT(*) FROM people) AS c, DP_INTERVAL_HIGH(c) FROM people
--> 0A000 c has no interval: a subquery is part of it
--> hint: ask for the interval of arithmetic on this SELECT's aggregates: SUM(x) / COUNT(*)
--> at 71: c) FROM people

SELECT COUNT(*) > 5 AS c, DP_INTERVAL_HIGH(c) FROM people
--> 0A000 c is no number, so it has no interval
--> hint: ask for that of an aggregate, or of arithmetic on some: SUM(x) / COUNT(*)
--> at 43: c) FROM people

SELECT CAST(COUNT(*) AS VARCHAR) AS c, DP_INTERVAL_LOW(c) FROM people
--> 0A000 c is no number, so it has no interval
--> hint: ask for that of an aggregate, or of arithmetic on some: SUM(x) / COUNT(*)
--> at 55: c) FROM people

SELECT city AS c, COUNT(*) AS n, DP_INTERVAL_LOW(c) FROM people GROUP BY city
--> 0A000 c is not an aggregate of this SELECT, nor arithmetic on some
--> hint: write DP_INTERVAL_LOW(n)
--> at 49: c) FROM people GROUP BY city

SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) - 1 AS c, DP_INTERVAL_LOW(c) FROM people
--> 0A000 c is not an aggregate of this SELECT, nor arithmetic on some
--> hint: write DP_INTERVAL_LOW(n)
--> at 67: c) FROM people

SELECT COUNT(*) * 2 AS c, DP_INTERVAL_LOW(c, 0.9999999) FROM people
--> 0A000 the interval of c takes too many draws: at level 0.9999999, for 1 group
--> hint: ask for fewer groups or a lower level, or for the intervals of the aggregates in it
--> at 42: c, 0.9999999) FROM people

SELECT MEDIAN(age) AS m, DP_INTERVAL_LOW(m) FROM people
--> 0A000 the interval of MEDIAN(age) isn't known
--> hint: have its ends chosen too: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(quantile_intervals = true) …
--> at 7: MEDIAN(age) AS m, DP_INTERVAL_

SELECT MAX(age) AS m, DP_INTERVAL_HIGH(m) FROM people
--> 0A000 the interval of MAX(age) isn't known
--> hint: about how many rows lie beyond it is known: EXPLAIN SELECT MAX(age) FROM people; QUANTILE_CONT(x, 0.99) has an interval, with OPTIONS(quantile_intervals = true)
--> at 11: age) AS m, DP_INTERVAL_HIGH(m)

SELECT m, DP_INTERVAL_LOW(m) FROM (SELECT MIN(income) AS m FROM people) AS q
--> 0A000 the interval of MIN(income) isn't known
--> hint: about how many rows lie beyond it is known: EXPLAIN SELECT MIN(income) FROM people; QUANTILE_CONT(x, 0.01) has an interval, with OPTIONS(quantile_intervals = true)
--> at 46: income) AS m FROM people) AS q

SELECT MAX(day) AS m, DP_INTERVAL_LOW(m) FROM people
--> 0A000 the interval of MAX(day) isn't known
--> hint: about how many rows lie beyond it is known: EXPLAIN SELECT MAX(day) FROM people; QUANTILE_DISC(x, 0.99) has an interval, with OPTIONS(quantile_intervals = true)
--> at 11: day) AS m, DP_INTERVAL_LOW(m)

SELECT MAX(age) - MIN(age) AS r, DP_INTERVAL_LOW(r) FROM people
--> 0A000 the interval of arithmetic on MAX(age) isn't known
--> hint: intervals are known of COUNT, SUM, AVG, VARIANCE and STDDEV, and of arithmetic on these
--> at 11: age) - MIN(age) AS r, DP_INTER

SELECT MEDIAN(age) / COUNT(*) AS r, DP_INTERVAL_LOW(r) FROM people
--> 0A000 the interval of arithmetic on MEDIAN(age) isn't known
--> hint: intervals are known of COUNT, SUM, AVG, VARIANCE and STDDEV, and of arithmetic on these
--> at 7: MEDIAN(age) / COUNT(*) AS r, D

SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n, 1) FROM people
--> 0A000 the level of DP_INTERVAL_LOW(n, 1) must be a number from 0.01 to below 1
--> hint: write 0.95
--> at 41: 1) FROM people

SELECT city, DP_INTERVAL_LOW(city, 0.9) FROM people GROUP BY city
--> 0A000 city is not an aggregate of this SELECT, nor arithmetic on some
--> hint: write SELECT city, COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM people GROUP BY city
--> at 29: city, 0.9) FROM people GROUP B
