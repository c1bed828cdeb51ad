-- Group keys that are private, endless or not what a key can be.

SELECT note, COUNT(*) FROM people GROUP BY note
--> 22023 the values of column note of people are private, so they can't be group keys
--> hint: the policy can list tables.people.columns.note.keys, or list them in the query: WHERE note IN ('a', 'b'); or the policy can allow keys that aren't public: privacy.delta
--> at 43: note

SELECT COUNT(*) FROM people GROUP BY note
--> 22023 the values of column note of people are private, so they can't be group keys
--> hint: the policy can list tables.people.columns.note.keys, or list them in the query: WHERE note IN ('a', 'b'); or the policy can allow keys that aren't public: privacy.delta
--> at 37: note

SELECT income, COUNT(*) FROM people GROUP BY income
--> 0A000 column income of people holds floating-point numbers, which can't be group keys
--> hint: group by bins: FLOOR(income / 100) * 100
--> at 45: income

SELECT serial, COUNT(*) FROM people GROUP BY serial
--> 22023 the group key serial has no finite set of values: column serial of people has no bounds
--> hint: the policy can set tables.people.columns.serial.bounds, or clip in the query: CLIP(serial, 0, 100), or WHERE serial BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect; or the policy can allow keys that aren't public: privacy.delta
--> at 45: serial

SELECT age + 0.3 * income, COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key age + 0.3 * income has no finite set of values that follows from the policy
--> hint: use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys
--> at 7: age + 0.3 * income, COUNT(*) F

SELECT income / 7, COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key income / 7 has no finite set of values that follows from the policy
--> hint: use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys
--> at 7: income / 7, COUNT(*) FROM peop

SELECT ROUND(income, 1), COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key ROUND(income, 1) takes fractional floating-point values
--> hint: use FLOOR to get whole numbers
--> at 7: ROUND(income, 1), COUNT(*) FRO

SELECT moment, COUNT(*) FROM people GROUP BY moment
--> 22023 the group key moment has no finite set of values: column moment of people has no bounds
--> hint: the policy can set tables.people.columns.moment.bounds, or clip in the query: WHERE moment BETWEEN DATE '2020-01-01' AND DATE '2029-12-31'; or the policy can allow keys that aren't public: privacy.delta
--> at 45: moment

SELECT LOWER(note), COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key LOWER(note) has no finite set of values that follows from the policy
--> hint: use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys; or the policy can allow keys that aren't public: privacy.delta
--> at 7: LOWER(note), COUNT(*) FROM peo

SELECT SUBSTRING(note, 1, 1), COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key SUBSTRING(note, 1, 1) has no finite set of values that follows from the policy
--> hint: use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys; or the policy can allow keys that aren't public: privacy.delta
--> at 17: note, 1, 1), COUNT(*) FROM peo

SELECT CAST(note AS INTEGER), COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key CAST(note AS INT) has no finite set of values that follows from the policy
--> hint: use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys; or the policy can allow keys that aren't public: privacy.delta
--> at 12: note AS INTEGER), COUNT(*) FRO

SELECT LENGTH(note), COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key LENGTH(note) has no finite set of values that follows from the policy
--> hint: use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys; or the policy can allow keys that aren't public: privacy.delta
--> at 7: LENGTH(note), COUNT(*) FROM pe

SELECT YEAR(moment), COUNT(*) FROM people GROUP BY 1
--> 22023 the group key YEAR(moment) has no finite set of values: column moment of people has no bounds
--> hint: the policy can set tables.people.columns.moment.bounds, or clip in the query: WHERE moment BETWEEN DATE '2020-01-01' AND DATE '2029-12-31'; or the policy can allow keys that aren't public: privacy.delta
--> at 12: moment), COUNT(*) FROM people

SELECT serial % 100000000, COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key serial % 100000000 has 199,999,999 values; at most 4,000,000 are allowed
--> hint: group by something coarser, such as FLOOR((serial % 100000000) / 1000)
--> at 7: serial % 100000000, COUNT(*) F

SELECT 1 AS one, COUNT(*) FROM people GROUP BY one
--> 0A000 the group key 1 is the same for every row
--> hint: leave it out of GROUP BY
--> at 7: 1 AS one, COUNT(*) FROM people

SELECT COUNT(*) FROM people GROUP BY 2
--> 0A000 GROUP BY 2 names no column: the SELECT list has 1
--> hint: write a number from 1, or the column's name
--> at 37: 2

SELECT COUNT(*) FROM people GROUP BY 0
--> 0A000 GROUP BY 0 names no column: the SELECT list has 1
--> hint: write a number from 1, or the column's name
--> at 37: 0

SELECT COUNT(*) FROM people GROUP BY 1
--> 0A000 the aggregate COUNT(*) can't be a group key
--> hint: group by columns
--> at 7: COUNT(*) FROM people GROUP BY

SELECT city, COUNT(*) FROM people GROUP BY ROLLUP (city)
--> 0A000 GROUP BY ROLLUP (city) isn't supported
--> hint: release the finest GROUP BY in a subquery, and group that: SELECT … SUM(n) FROM (…) AS q GROUP BY ROLLUP (…)
--> at 51: city)

SELECT city, COUNT(*) FROM people GROUP BY CUBE (city, age)
--> 0A000 GROUP BY CUBE (city, age) isn't supported
--> hint: release the finest GROUP BY in a subquery, and group that: SELECT … SUM(n) FROM (…) AS q GROUP BY ROLLUP (…)
--> at 49: city, age)

SELECT city, COUNT(*) FROM people GROUP BY GROUPING SETS ((city), ())
--> 0A000 GROUP BY GROUPING SETS ((city), ()) isn't supported
--> hint: release the finest GROUP BY in a subquery, and group that: SELECT … SUM(n) FROM (…) AS q GROUP BY ROLLUP (…)
--> at 59: city), ())

SELECT city, COUNT(*) FROM people GROUP BY city WITH ROLLUP
--> 0A000 GROUP BY ROLLUP isn't supported
--> hint: release the finest GROUP BY in a subquery, and group that: SELECT … SUM(n) FROM (…) AS q GROUP BY ROLLUP (…)
--> at 43: city WITH ROLLUP

SELECT city, GROUPING(city), COUNT(*) FROM people GROUP BY city
--> 0A000 the aggregate GROUPING(city) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 13: GROUPING(city), COUNT(*) FROM

SELECT COUNT(*) FROM people GROUP BY (city, age)
--> 0A000 GROUP BY (city, age) isn't supported
--> hint: release the finest GROUP BY in a subquery, and group that: SELECT … SUM(n) FROM (…) AS q GROUP BY ROLLUP (…)
--> at 38: city, age)

SELECT COUNT(*) FROM people GROUP BY (SELECT MAX(age) FROM people)
--> 0A000 a subquery can't be part of a group key
--> hint: group by columns
--> at 49: age) FROM people)

SELECT city COLLATE NOCASE, COUNT(*) FROM people GROUP BY 1
--> 0A000 the function city COLLATE NOCASE isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 7: city COLLATE NOCASE, COUNT(*)

SELECT age, n, day, income > 3, COUNT(*) FROM people GROUP BY 1, 2, 3, 4
--> 0A000 the keys of this GROUP BY make 48695130 groups; at most 4000000 are allowed
--> hint: group by fewer or coarser keys
--> at 7: age, n, day, income > 3, COUNT

SELECT n * 1000000000000000000000000000000, COUNT(*) FROM people GROUP BY 1
--> 0A000 the group key n * 1000000000000000000000000000000 takes values beyond 64 bits
--> hint: group by something smaller
--> at 7: n * 10000000000000000000000000

SELECT [age], COUNT(*) FROM people GROUP BY 1
--> 0A000 the function [age] isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 8: age], COUNT(*) FROM people GRO

SELECT {'a': age}, COUNT(*) FROM people GROUP BY 1
--> 0A000 the function {'a': age} isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 13: age}, COUNT(*) FROM people GRO

SELECT HASH(note) % 10, COUNT(*) FROM people GROUP BY 1
--> 0A000 the function HASH isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 7: HASH(note) % 10, COUNT(*) FROM

SELECT SUM(age) AS a, COUNT(*) FROM people GROUP BY a
--> 0A000 the aggregate SUM(age) can't be a group key
--> hint: group by columns
--> at 7: SUM(age) AS a, COUNT(*) FROM p
