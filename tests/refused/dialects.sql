-- What other dialects add.

-- dialect: postgres
SELECT note::uuid, COUNT(*) FROM people GROUP BY 1
--> 0A000 a cast to UUID isn't supported over private rows
--> hint: cast to BOOLEAN, INTEGER, BIGINT, DECIMAL, DOUBLE, DATE or TIMESTAMP
--> at 7: note::uuid, COUNT(*) FROM peop

-- dialect: postgres
SELECT COUNT(*) FROM people WHERE note ~* 'a+'
--> 0A000 the function REGEXP_MATCHES(note, 'a+', 'i') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note ~* 'a+'

-- dialect: postgres
SELECT COUNT(*) FROM people WHERE ctid IS NULL
--> 42703 column ctid does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 34: ctid IS NULL

-- dialect: postgres
SELECT COUNT(*) FROM people WHERE pg_sleep(10) IS NULL
--> 0A000 the function PG_SLEEP isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: pg_sleep(10) IS NULL

-- dialect: postgres
SELECT COUNT(*) FROM generate_series(1, 10)
--> 0A000 GENERATE_SERIES(1, 10) is a table function, which isn't supported
--> hint: read tables of the policy
--> at 21: generate_series(1, 10)

-- dialect: postgres
SELECT xmlagg(note) FROM people
--> 0A000 the function XMLAGG isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 7: xmlagg(note) FROM people

-- dialect: postgres
SELECT COUNT(*) FROM ONLY people
--> 0A000 ONLY isn't supported here
--> hint: leave it out
--> at 26: people

-- dialect: postgres
COPY people TO STDOUT
--> 0A000 COPY is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: COPY people TO STDOUT

-- dialect: bigquery
SELECT APPROX_TOP_COUNT(city, 3) FROM people
--> 0A000 part of this bigquery query has no equivalent
--> hint: write it in plainer SQL

-- dialect: bigquery
SELECT COUNT(*) FROM `secret.people`
--> 42P01 table secret.people does not exist
--> hint: did you mean people? tables of this policy: cities, people, visits
--> at 21: `secret.people`

-- dialect: bigquery
SELECT AS STRUCT COUNT(*) FROM people
--> 0A000 lists and records of released numbers aren't supported
--> hint: name each number by itself
--> at 10: STRUCT COUNT(*) FROM people

-- dialect: bigquery
SELECT COUNT(*) FROM people, UNNEST([1, 2])
--> 0A000 UNNEST([1, 2]) isn't a table
--> hint: declared tables: cities, people, visits
--> at 29: UNNEST([1, 2])

-- dialect: spark
SELECT collect_list(note) FROM people
--> 0A000 the aggregate COLLECT_LIST(note) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 7: collect_list(note) FROM people

-- dialect: spark
SELECT percentile(age, 5) FROM people
--> 0A000 the fraction 5 of QUANTILE(age, 5) is not above 0 and below 1, by a millionth at least
--> hint: write MAX(x), or a fraction such as 0.5
--> at 23: 5) FROM people

-- dialect: spark
SELECT COUNT(*) FROM people LATERAL VIEW explode(array(1, 2)) AS x
--> 0A000 UNNEST([1, 2]) AS _t0(x) isn't a table
--> hint: declared tables: cities, people, visits
--> at 49: array(1, 2)) AS x

-- dialect: spark
SELECT TRANSFORM(age) USING 'cat' FROM people
--> 0A000 part of this spark query has no equivalent
--> hint: write it in plainer SQL

-- dialect: spark
SELECT COUNT(*) FROM csv.`/etc/passwd`
--> 42P01 table csv./etc/passwd does not exist
--> hint: tables of this policy: cities, people, visits
--> at 21: csv.`/etc/passwd`

-- dialect: postgres
SELECT AVG(CAST(1.0 / age AS BIGINT)) FROM people
--> 22023 AVG(CAST(1.0 / age AS BIGINT)) needs bounds: no bounds follow from the policy for CAST(1.0 / age AS BIGINT)
--> hint: clip it in the query: CLIP(CAST(1.0 / age AS BIGINT), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 11: CAST(1.0 / age AS BIGINT)) FRO

-- dialect: postgres
SELECT SUM(100 / (100 / age) + serial) FROM people
--> 22023 SUM(100 / (100 / age) + serial) needs bounds: column serial of people has no bounds
--> hint: the policy can set tables.people.columns.serial.bounds, or clip in the query: CLIP(serial, 0, 100), or WHERE serial BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 31: serial) FROM people

-- dialect: postgres
SELECT 1000000000 / age AS k, COUNT(*) FROM people GROUP BY k
--> 0A000 the group key 1000000000 / age has 990,000,001 values; at most 4,000,000 are allowed
--> hint: group by something coarser, such as FLOOR(1000000000 / age / 1000)
--> at 7: 1000000000 / age AS k, COUNT(*

-- dialect: postgres
SELECT AVG(age), CORR(age, income) FROM people WHERE age > 3
--> 0A000 the aggregate CORR(age, income) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 17: CORR(age, income) FROM people

-- dialect: bigquery
SELECT AVG(age), MAX(n), STRING_AGG(note, ',') FROM people
--> 0A000 the aggregate STRING_AGG(note, ',') isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 25: STRING_AGG(note, ',') FROM peo

-- dialect: bigquery
SELECT APPROX_QUANTILES(age, 4) FROM people
--> 0A000 APPROX_QUANTILES is answered for one of its quantiles, by its place in the list
--> hint: write APPROX_QUANTILES(age, 4)[OFFSET(2)], which is the median
--> at 7: APPROX_QUANTILES(age, 4) FROM

-- dialect: bigquery
SELECT SUM(CAST(1 / age AS INT64)) FROM people
--> 22023 SUM(CAST(1 / age AS BIGINT)) needs bounds: no bounds follow from the policy for CAST(1 / age AS BIGINT)
--> hint: clip it in the query: CLIP(CAST(1 / age AS BIGINT), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 11: CAST(1 / age AS INT64)) FROM p
