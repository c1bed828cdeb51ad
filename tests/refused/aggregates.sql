-- Aggregates that aren't answered, and arguments that can't be bounded.

SELECT MODE(city) FROM people
--> 0A000 the aggregate MODE(city) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: MODE(city) FROM people

SELECT FIRST(note) FROM people
--> 0A000 the aggregate FIRST(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: FIRST(note) FROM people

SELECT LAST(note) FROM people
--> 0A000 the aggregate LAST(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: LAST(note) FROM people

SELECT ANY_VALUE(note) FROM people
--> 0A000 the aggregate ANY_VALUE(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 17: note) FROM people

SELECT ARG_MAX(note, income) FROM people
--> 0A000 the aggregate ARG_MAX(note, income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 15: note, income) FROM people

SELECT MAX_BY(note, income) FROM people
--> 0A000 the aggregate ARG_MAX(note, income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 14: note, income) FROM people

SELECT STRING_AGG(note, ',') FROM people
--> 0A000 the aggregate STRING_AGG(note, ',') isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: STRING_AGG(note, ',') FROM peo

SELECT LISTAGG(note, ',') FROM people
--> 0A000 the aggregate LISTAGG(note, ',') isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: LISTAGG(note, ',') FROM people

SELECT GROUP_CONCAT(note) FROM people
--> 0A000 the aggregate GROUP_CONCAT(note, ',') isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: GROUP_CONCAT(note) FROM people

SELECT LIST(note) FROM people
--> 0A000 the aggregate LIST(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: LIST(note) FROM people

SELECT ARRAY_AGG(note) FROM people
--> 0A000 the aggregate ARRAY_AGG(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: ARRAY_AGG(note) FROM people

SELECT HISTOGRAM(age) FROM people
--> 0A000 the aggregate HISTOGRAM(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: HISTOGRAM(age) FROM people

SELECT APPROX_COUNT_DISTINCT(note) FROM people
--> 0A000 the aggregate APPROX_COUNT_DISTINCT(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: APPROX_COUNT_DISTINCT(note) FR

SELECT PRODUCT(age) FROM people
--> 0A000 the aggregate PRODUCT(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: PRODUCT(age) FROM people

SELECT BIT_XOR(age) FROM people
--> 0A000 the aggregate BIT_XOR(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: BIT_XOR(age) FROM people

SELECT BOOL_OR(vip) FROM people
--> 0A000 the aggregate BOOL_OR(CAST(vip AS BOOLEAN)) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: BOOL_OR(vip) FROM people

SELECT BOOL_AND(vip) FROM people
--> 0A000 the aggregate BOOL_AND(CAST(vip AS BOOLEAN)) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: BOOL_AND(vip) FROM people

SELECT CORR(age, income) FROM people
--> 0A000 the aggregate CORR(age, income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: CORR(age, income) FROM people

SELECT COVAR_POP(age, income) FROM people
--> 0A000 the aggregate COVAR_POP(age, income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: COVAR_POP(age, income) FROM pe

SELECT REGR_SLOPE(age, income) FROM people
--> 0A000 the aggregate REGR_SLOPE(age, income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: REGR_SLOPE(age, income) FROM p

SELECT SKEWNESS(age) FROM people
--> 0A000 the aggregate SKEWNESS(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: SKEWNESS(age) FROM people

SELECT ENTROPY(city) FROM people
--> 0A000 the aggregate ENTROPY(city) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: ENTROPY(city) FROM people

SELECT FSUM(income) FROM people
--> 0A000 the aggregate FSUM(income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: FSUM(income) FROM people

SELECT FAVG(income) FROM people
--> 0A000 the aggregate FAVG(income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: FAVG(income) FROM people

SELECT KAHAN_SUM(income) FROM people
--> 0A000 the aggregate KAHAN_SUM(income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: KAHAN_SUM(income) FROM people

SELECT SUM_NO_OVERFLOW(age) FROM people
--> 0A000 the aggregate SUM_NO_OVERFLOW(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: SUM_NO_OVERFLOW(age) FROM peop

SELECT SUM(age ORDER BY income) FROM people
--> 0A000 SUM(age ORDER BY income) isn't supported
--> hint: write SUM(expression)
--> at 7: SUM(age ORDER BY income) FROM

SELECT AVG(age ORDER BY income) FROM people
--> 0A000 AVG(age ORDER BY income) isn't supported
--> hint: write AVG(expression)
--> at 7: AVG(age ORDER BY income) FROM

SELECT SUM(age, 1) FROM people
--> 42601 the statement isn't valid SQL near )
--> hint: SELECT COUNT(*) FROM …
--> at 17: ) FROM people

SELECT SUM() FROM people
--> 42601 the statement isn't valid SQL near )
--> hint: SELECT COUNT(*) FROM …
--> at 11: ) FROM people

SELECT SUM(*) FROM people
--> 0A000 SUM(*) isn't supported
--> hint: write SUM(expression)
--> at 7: SUM(*) FROM people

SELECT SUM(SUM(age)) FROM people
--> 0A000 SUM(SUM(age)) nests aggregates
--> hint: aggregate in a subquery first
--> at 7: SUM(SUM(age)) FROM people

SELECT SUM(COUNT(*) + age) FROM people
--> 0A000 SUM(COUNT(*) + age) nests aggregates
--> hint: aggregate in a subquery first
--> at 7: SUM(COUNT(*) + age) FROM peopl

SELECT COUNT(*) FILTER (WHERE COUNT(*) > 1) FROM people
--> 0A000 COUNT(*) FILTER(WHERE COUNT(*) > 1) nests aggregates
--> hint: aggregate in a subquery first
--> at 7: COUNT(*) FILTER (WHERE COUNT(*

SELECT SUM(age) FILTER (WHERE age) FROM people
--> 0A000 age is used as a condition but is not boolean
--> hint: compare it with a value
--> at 30: age) FROM people

SELECT SUM(city) FROM people
--> 0A000 SUM(city) needs a number, not text
--> hint: count instead: COUNT(city)
--> at 11: city) FROM people

SELECT AVG(day) FROM people
--> 0A000 AVG(day) needs a number, not date
--> hint: use the days since a date: AVG(DATE_DIFF('day', DATE '2020-01-01', day))
--> at 11: day) FROM people

SELECT SUM(wealth) FROM people
--> 22023 SUM(wealth) needs bounds: column wealth of people has no bounds
--> hint: the policy can set tables.people.columns.wealth.bounds, or clip in the query: CLIP(wealth, 0, 100), or WHERE wealth BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 11: wealth) FROM people

SELECT AVG(wealth * 2) FROM people
--> 22023 AVG(wealth * 2) needs bounds: column wealth of people has no bounds
--> hint: the policy can set tables.people.columns.wealth.bounds, or clip in the query: CLIP(wealth, 0, 100), or WHERE wealth BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 11: wealth * 2) FROM people

SELECT SUM(age / n) FROM people
--> 22023 SUM(age / n) needs bounds: no bounds follow from the policy for age / n
--> hint: clip it in the query: CLIP(age / n, 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 11: age / n) FROM people

SELECT SUM(1 / (age - 50)) FROM people
--> 22023 SUM(1 / (age - 50)) needs bounds: no bounds follow from the policy for 1 / (age - 50)
--> hint: clip it in the query: CLIP(1 / (age - 50), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 11: 1 / (age - 50)) FROM people

SELECT SUM(LENGTH(note)) FROM people
--> 22023 SUM(LENGTH(note)) needs bounds: no bounds follow from the policy for LENGTH(note)
--> hint: clip it in the query: CLIP(LENGTH(note), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 11: LENGTH(note)) FROM people

SELECT AVG(CAST(note AS INTEGER)) FROM people
--> 22023 AVG(CAST(note AS INT)) needs bounds: no bounds follow from the policy for CAST(note AS INT)
--> hint: clip it in the query: CLIP(CAST(note AS INT), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 16: note AS INTEGER)) FROM people

SELECT SUM(LN(n)) FROM people
--> 22023 SUM(LN(n)) needs bounds: no bounds follow from the policy for LN(n)
--> hint: clip it in the query: CLIP(LN(n), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 11: LN(n)) FROM people

SELECT SUM(serial * serial) FROM people
--> 22023 serial * serial could overflow: column serial of people has no bounds
--> hint: the policy can set tables.people.columns.serial.bounds, or clip in the query: CLIP(serial, 0, 100), or WHERE serial BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 11: serial * serial) FROM people

SELECT SUM(GREATEST(wealth, 0)) FROM people
--> 22023 SUM(GREATEST(wealth, 0)) needs bounds: column wealth of people has no bounds
--> hint: the policy can set tables.people.columns.wealth.bounds, or clip in the query: CLIP(wealth, 0, 100), or WHERE wealth BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 20: wealth, 0)) FROM people

SELECT SUM(age) FROM people WHERE wealth > (SELECT AVG(wealth) FROM people)
--> 22023 AVG(wealth) needs bounds: column wealth of people has no bounds
--> hint: the policy can set tables.people.columns.wealth.bounds, or clip in the query: CLIP(wealth, 0, 100), or WHERE wealth BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 55: wealth) FROM people)

SELECT COUNT(DISTINCT *) FROM people
--> 0A000 COUNT(DISTINCT *) isn't supported
--> hint: write COUNT(expression)
--> at 7: COUNT(DISTINCT *) FROM people

SELECT VARIANCE(note) FROM people
--> 0A000 VARIANCE(note) needs a number, not text
--> hint: count instead: COUNT(note)
--> at 16: note) FROM people

SELECT VARIANCE(DISTINCT wealth) FROM people
--> 22023 VARIANCE(wealth) needs bounds: column wealth of people has no bounds
--> hint: the policy can set tables.people.columns.wealth.bounds, or clip in the query: CLIP(wealth, 0, 100), or WHERE wealth BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 25: wealth) FROM people

SELECT STDDEV(age, income) FROM people
--> 42601 the statement isn't valid SQL near )
--> hint: SELECT COUNT(*) FROM …
--> at 25: ) FROM people

SELECT COUNT(DISTINCT age ORDER BY age) FROM people
--> 0A000 DISTINCT age ORDER BY age isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 22: age ORDER BY age) FROM people

SELECT MIN(note) FROM people
--> 0A000 MIN(note) needs a number or a date, not text
--> hint: count instead: COUNT(note)
--> at 11: note) FROM people

SELECT MAX(vip, 3) FROM people
--> 0A000 MAX(vip, 3) isn't supported
--> hint: write MAX(x)
--> at 11: vip, 3) FROM people

SELECT MAX(age) OVER () FROM people
--> 0A000 the window function MAX(age) OVER () would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 11: age) OVER () FROM people

SELECT MEDIAN(note) FROM people
--> 0A000 MEDIAN(note) needs a number or a date, not text
--> hint: count instead: COUNT(note)
--> at 14: note) FROM people

SELECT MEDIAN(DISTINCT age) FROM people
--> 0A000 MEDIAN(DISTINCT age) isn't supported
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 7: MEDIAN(DISTINCT age) FROM peop

SELECT QUANTILE_CONT(age) FROM people
--> 0A000 QUANTILE_CONT(age) names no fraction: one number from above 0 to below 1
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 21: age) FROM people

SELECT QUANTILE_CONT(age, 0) FROM people
--> 0A000 the fraction 0 of QUANTILE_CONT(age, 0) is not above 0 and below 1, by a millionth at least
--> hint: write MIN(x), or a fraction such as 0.5
--> at 26: 0) FROM people

SELECT QUANTILE_DISC(age, 1.5) FROM people
--> 0A000 the fraction 1.5 of QUANTILE_DISC(age, 1.5) is not above 0 and below 1, by a millionth at least
--> hint: write MAX(x), or a fraction such as 0.5
--> at 26: 1.5) FROM people

SELECT QUANTILE_CONT(age, age) FROM people
--> 0A000 QUANTILE_CONT(age, age) names no fraction: one number from above 0 to below 1
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 21: age, age) FROM people

SELECT QUANTILE_CONT(age, []) FROM people
--> 0A000 QUANTILE_CONT(age, []) names no fraction: one number from above 0 to below 1
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 21: age, []) FROM people

SELECT QUANTILE_CONT(age, [0.5, [0.9]]) FROM people
--> 0A000 QUANTILE_CONT(age, [0.5, [0.9]]) names no fraction: one number from above 0 to below 1
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 21: age, [0.5, [0.9]]) FROM people

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, income) FROM people
--> 0A000 QUANTILE_CONT(age, 0.5 ORDER BY age, income) isn't supported
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 7: PERCENTILE_CONT(0.5) WITHIN GR

SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY note) FROM people
--> 0A000 QUANTILE_DISC(note) needs a number or a date, not text
--> hint: count instead: COUNT(note)
--> at 51: note) FROM people

SELECT QUANTILE_CONT(age, 0.5 ORDER BY income) FROM people
--> 0A000 QUANTILE_CONT(age, 0.5 ORDER BY income) isn't supported
--> hint: write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
--> at 21: age, 0.5 ORDER BY income) FROM

SELECT MODE() WITHIN GROUP (ORDER BY age) FROM people
--> 0A000 the aggregate MODE() WITHIN GROUP (ORDER BY age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: MODE() WITHIN GROUP (ORDER BY

SELECT MEDIAN(MEDIAN(age)) FROM people
--> 0A000 MEDIAN(MEDIAN(age)) nests aggregates
--> hint: aggregate in a subquery first
--> at 7: MEDIAN(MEDIAN(age)) FROM peopl

SELECT MEDIAN(1 / age) FROM people
--> 22023 MEDIAN(1 / age) needs bounds: no bounds follow from the policy for 1 / age
--> hint: clip it in the query: CLIP(1 / age, 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 14: 1 / age) FROM people

SELECT AVG(age), WHATEVER(age) FROM people
--> 0A000 the function WHATEVER isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 17: WHATEVER(age) FROM people

SELECT PERCENTILE_CONT(0.5) FROM people
--> 0A000 PERCENTILE_CONT(0.5) names no column
--> hint: write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
--> at 7: PERCENTILE_CONT(0.5) FROM peop

SELECT SUM(income, epsilon = 0.3) FROM people
--> 42601 epsilon can't be written like this
--> hint: write SUM(x, epsilon => 0.3)
--> at 19: epsilon = 0.3) FROM people

SELECT GEOMEAN(age) FROM people
--> 0A000 the aggregate GEOMEAN(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: GEOMEAN(age) FROM people
