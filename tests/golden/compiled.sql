-- Counts, sums and means of one expression share their basis, so that each gets the full epsilon.

SELECT COUNT(*) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT 1 AS "one" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

SELECT COUNT(*), COUNT(income) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   COUNT(*): ±4 at 95 %, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis present and nulls, epsilon 1
-->     instead with cube noise: the same
-->     present: Δf 1, scale 1
-->     nulls: Δf 1, scale 1
-->   COUNT(income): ±3 at 95 %, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis present and nulls, epsilon 1
-->     instead with cube noise: the same
-->     present: Δf 1, scale 1
-->     nulls: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1" FROM (SELECT COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1" FROM (SELECT CASE WHEN NOT ISNAN("income") THEN 1 END AS "value_0" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- the sum alone is measured from zero
SELECT SUM(age) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(age): ±300 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     sum: Δf 100, scale 100
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM("value_0"), 0) AS "sum_0" FROM (SELECT CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

SELECT SUM(age), AVG(age), COUNT(*) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(age): ±300 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   AVG(age): ±299.573/n at 95 %, ±205.65/n for values spread evenly, bounds [0, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   COUNT(*): ±4 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(age) does: all of them, by the policy
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "avg", "_dpsql_number_2" AS "count" FROM "_dpsql_release_0"

SELECT SUM(income), AVG(income), COUNT(income), COUNT(*) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(income): ±15,182.8 at 95 %, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±17,523.6 at 95 %
-->     low: Δf 6,000, scale 6,000
-->     high: Δf 6,000, scale 6,000
-->     nulls: Δf 1, scale 1
-->   AVG(income): ±17,974.4/n at 95 %, ±12,339/n for values spread evenly, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±19,643.4/n at 95 %, ±15,559/n for values spread evenly
-->     low: Δf 6,000, scale 6,000
-->     high: Δf 6,000, scale 6,000
-->     nulls: Δf 1, scale 1
-->   COUNT(income): ±4 at 95 %, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 6,000, scale 6,000
-->     high: Δf 6,000, scale 6,000
-->     nulls: Δf 1, scale 1
-->   COUNT(*): ±5 at 95 %, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 6,000, scale 6,000
-->     high: Δf 6,000, scale 6,000
-->     nulls: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 6.55360000000000000e+04 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 1.20000000000000000e+04 AS "value_0" FROM (SELECT "income" - 5.00000000000000000e+03 AS "value_0" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "avg", "_dpsql_number_2" AS "count", "_dpsql_number_3" AS "count" FROM "_dpsql_release_0"

SELECT AVG(income) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   AVG(income): ±17,974.4/n at 95 %, ±12,339/n for values spread evenly, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: ±19,643.4/n at 95 %, ±15,559/n for values spread evenly
-->     low: Δf 6,000, scale 6,000
-->     high: Δf 6,000, scale 6,000
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 6.55360000000000000e+04 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 1.20000000000000000e+04 AS "value_0" FROM (SELECT "income" - 5.00000000000000000e+03 AS "value_0" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg" FROM "_dpsql_release_0"

-- two expressions split epsilon
SELECT AVG(age), AVG(income) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   AVG(age): ±562.258/n at 95 %, ±436.185/n for values spread evenly, bounds [0, 100], grain 1; discrete Laplace, basis centre, epsilon 0.343401
-->     instead with cube noise: ±462.367/n at 95 %, ±311.689/n for values spread evenly
-->     centre: Δf 50, scale 145.602
-->     low: Δf 6,000, scale 9,138
-->     high: Δf 6,000, scale 9,138
-->     nulls: Δf 1, scale 1.523
-->   AVG(income): ±27,375/n at 95 %, ±18,792.3/n for values spread evenly, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis endpoints and nulls, epsilon 0.656599
-->     instead with cube noise: ±23,790.3/n at 95 %, ±18,701.3/n for values spread evenly
-->     low: Δf 6,000, scale 9,138
-->     high: Δf 6,000, scale 9,138
-->     nulls: Δf 1, scale 1.523
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1", "sum_2", CAST(("sum_3" >> 63) AS BIGINT) AS "high_3", CAST(("sum_3" & 9223372036854775807) AS BIGINT) AS "low_3", CAST(("sum_4" >> 63) AS BIGINT) AS "high_4", CAST(("sum_4" & 9223372036854775807) AS BIGINT) AS "low_4" FROM (SELECT COUNT("value_0") AS "sum_0", COUNT(*) AS "sum_1", COUNT("value_1") AS "sum_2", COALESCE(SUM("value_0"), 0) AS "sum_3", COALESCE(SUM("value_1"), 0) AS "sum_4" FROM (SELECT TRY_CAST(("value_1" + ABS("value_1")) * 6.55360000000000000e+04 AS BIGINT) AS "value_1", "value_0" AS "value_0" FROM (SELECT ("value_1" - ABS("value_1")) + 1.20000000000000000e+04 AS "value_1", "value_0" AS "value_0" FROM (SELECT CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0", "income" - 5.00000000000000000e+03 AS "value_1" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg", "_dpsql_number_1" AS "avg" FROM "_dpsql_release_0"

SELECT SUM(age * income) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(age * income): ±1,497,866 at 95 %, bounds [-100,000, 500,000], grain 0.000488281; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     sum: Δf 500,000, scale 500,000
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 5.12000000000000000e+02 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 1.20000000000000000e+06 AS "value_0" FROM (SELECT (CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS DOUBLE) * CASE WHEN "income" < (-1.00000000000000000e+03) THEN (-1.00000000000000000e+03) WHEN "income" <= 5.00000000000000000e+03 THEN "income" WHEN "income" <= CAST('Infinity' AS DOUBLE) THEN 5.00000000000000000e+03 END) - 5.00000000000000000e+05 AS "value_0" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

SELECT SUM(income * 0.2), SUM(-income) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(income * 0.2): ±5,991.46 at 95 %, bounds [-200, 1,000], grain 9.53674e-07; discrete Laplace, basis sum, epsilon 0.5
-->     instead with cube noise: ±4,113 at 95 %
-->     sum: Δf 1,000, scale 2,000
-->   SUM(-income): ±29,957.3 at 95 %, bounds [-5,000, 1,000], grain 3.8147e-06; discrete Laplace, basis sum, epsilon 0.5
-->     instead with cube noise: ±20,565 at 95 %
-->     sum: Δf 5,000, scale 10,000
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2", CAST(("sum_3" >> 63) AS BIGINT) AS "high_3", CAST(("sum_3" & 9223372036854775807) AS BIGINT) AS "low_3" FROM (SELECT COUNT("value_0") AS "sum_0", COUNT("value_1") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2", COALESCE(SUM("value_1"), 0) AS "sum_3" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 2.62144000000000000e+05 AS BIGINT) AS "value_0", TRY_CAST(("value_1" + ABS("value_1")) * 6.55360000000000000e+04 AS BIGINT) AS "value_1" FROM (SELECT ("value_0" - ABS("value_0")) + 2.40000000000000000e+03 AS "value_0", ("value_1" - ABS("value_1")) + 1.20000000000000000e+04 AS "value_1" FROM (SELECT (CASE WHEN "income" < (-1.00000000000000000e+03) THEN (-1.00000000000000000e+03) WHEN "income" <= 5.00000000000000000e+03 THEN "income" WHEN "income" <= CAST('Infinity' AS DOUBLE) THEN 5.00000000000000000e+03 END * CAST(0.2 AS DOUBLE)) - 1.00000000000000000e+03 AS "value_0", (CAST(0 AS DOUBLE) - CASE WHEN "income" < (-1.00000000000000000e+03) THEN (-1.00000000000000000e+03) WHEN "income" <= 5.00000000000000000e+03 THEN "income" WHEN "income" <= CAST('Infinity' AS DOUBLE) THEN 5.00000000000000000e+03 END) - 1.00000000000000000e+03 AS "value_1" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

SELECT SUM(CASE WHEN vip THEN income ELSE 0 END) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(CASE WHEN vip THEN income ELSE 0 END): ±14,978.7 at 95 %, bounds [-1,000, 5,000], grain 3.8147e-06; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     sum: Δf 5,000, scale 5,000
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 6.55360000000000000e+04 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 1.20000000000000000e+04 AS "value_0" FROM (SELECT CASE WHEN "vip" THEN CASE WHEN "income" < (-1.00000000000000000e+03) THEN (-1.00000000000000000e+03) WHEN "income" <= 5.00000000000000000e+03 THEN "income" WHEN "income" <= CAST('Infinity' AS DOUBLE) THEN 5.00000000000000000e+03 END ELSE CAST(0 AS DOUBLE) END - 5.00000000000000000e+03 AS "value_0" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

-- bounds from the query
SELECT SUM(LEAST(GREATEST(wealth, 0), 100)), COUNT(*) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(LEAST(GREATEST(wealth, 0), 100)): ±299.573 at 95 %, bounds [0, 100], grain 5.96046e-08; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   COUNT(*): ±4 at 95 %, bounds [0, 100], grain 5.96046e-08; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(LEAST(GREATEST(wealth, 0), 100)) does: all of them, by the policy
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 4.19430400000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 2.00000000000000000e+02 AS "value_0" FROM (SELECT LEAST(GREATEST(CASE WHEN "wealth" <= CAST('Infinity' AS DOUBLE) THEN "wealth" END, CAST(0 AS DOUBLE)), CAST(100 AS DOUBLE)) - 1.00000000000000000e+02 AS "value_0" FROM "memory"."main"."people") AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

SELECT SUM(wealth) FROM people WHERE wealth BETWEEN -5 AND 7.5
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(wealth): ±22.468 at 95 %, bounds [-5, 7.5], grain 7.45058e-09; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     sum: Δf 7.5, scale 7.5
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 3.35544320000000000e+07 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 2.50000000000000000e+01 AS "value_0" FROM (SELECT "wealth" - 7.50000000000000000e+00 AS "value_0" FROM "memory"."main"."people" WHERE (CASE WHEN "wealth" <= CAST('Infinity' AS DOUBLE) THEN "wealth" END BETWEEN CAST((-5) AS DOUBLE) AND CAST(7.5 AS DOUBLE))) AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

SELECT AVG(serial) FROM people WHERE serial > 10 AND serial * 2 <= 200
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   AVG(serial): ±266.62/n at 95 %, ±183.029/n for values spread evenly, bounds [11, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 89, scale 89
-->     high: Δf 89, scale 89
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT CAST(CASE WHEN "serial" < 11 THEN 11 WHEN "serial" > 100 THEN 100 ELSE "serial" END AS BIGINT) - 11 AS "value_0" FROM "memory"."main"."people" WHERE ("serial" > 10) AND ((CAST(CASE WHEN "serial" < 11 THEN 11 WHEN "serial" > 9223372036854775807 THEN 9223372036854775807 ELSE "serial" END AS INT128) * CAST(2 AS INT128)) <= 200)) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg" FROM "_dpsql_release_0"

-- a constant is counted, not summed
SELECT SUM(3), AVG(5) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(3): ±9 at 95 %; discrete Laplace, basis present, epsilon 0.990099
-->     instead with cube noise: ±16 at 95 %
-->     present: Δf 1, scale 1.01
-->   AVG(5): ±0 at 95 %; discrete Laplace, basis present, epsilon 0.00990099
-->     instead with cube noise: the same
-->     present: Δf 1, scale 101
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1" FROM (SELECT COUNT("value_0") AS "sum_0", COUNT("value_1") AS "sum_1" FROM (SELECT 3 AS "value_0", 5 AS "value_1" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "avg" FROM "_dpsql_release_0"

-- epsilon: 0.000001
SELECT SUM(wealth) FROM people WHERE wealth BETWEEN 0 AND 1e12
--> epsilon 1e-06, charged 1e-06
--> release 0 of people: 1 group, epsilon 1e-06, unit row
-->   SUM(wealth): ±2.99573e+18 at 95 %, bounds [0, 1,000,000,000,000], grain 512; discrete Laplace, basis sum, epsilon 1e-06
-->     instead with cube noise: the same
-->     sum: Δf 1,000,000,000,000, scale 1e+18
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM("value_0"), 0) AS "sum_0" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 4.88281250000000000e-04 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 2.00000000000000000e+12 AS "value_0" FROM (SELECT "wealth" - 1.00000000000000000e+12 AS "value_0" FROM "memory"."main"."people" WHERE (CASE WHEN "wealth" <= CAST('Infinity' AS DOUBLE) THEN "wealth" END BETWEEN CAST(0 AS DOUBLE) AND 1.00000000000000000e+12)) AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

SELECT SUM(age) FILTER (WHERE city = 'A'), COUNT(*) FILTER (WHERE vip) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(age) FILTER(WHERE city = 'A'): ±599 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis sum, epsilon 0.5
-->     instead with cube noise: ±411 at 95 %
-->     sum: Δf 100, scale 200
-->   COUNT(*) FILTER(WHERE vip): ±6 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: ±4 at 95 %
-->     rows: Δf 1, scale 2
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT(*) FILTER(WHERE "when_0") AS "sum_0", COALESCE(SUM("value_0") FILTER(WHERE "when_1"), 0) AS "sum_1" FROM (SELECT "vip" AS "when_0", ("city" = 'A') AS "when_1", CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

SELECT COUNT_IF(age > 30) FROM people WHERE CAST(note AS INTEGER) > 5
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   COUNT_IF(age > 30): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) FILTER(WHERE "when_0") AS "sum_0" FROM (SELECT ("age" > 30) AS "when_0" FROM "memory"."main"."people" WHERE (TRY_CAST("note" AS INT) > 5)) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count_if" FROM "_dpsql_release_0"

SELECT city, COUNT(*) FROM people GROUP BY city
--> epsilon 1, charged 1
--> release 0 of people: 3 groups, epsilon 1, unit row
-->   key city: 3 values from listed values: A, B, C
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "city" AS "_dpsql_key_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B', 'C')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "city", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

SELECT vip AS v, AVG(age) FROM people GROUP BY v ORDER BY 2 DESC LIMIT 1
--> epsilon 1, charged 1
--> release 0 of people: 2 groups, epsilon 1, unit row
-->   key vip: 2 values from boolean: false, true
-->   AVG(age): ±299.573/n at 95 %, ±205.65/n for values spread evenly, bounds [0, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT "vip" AS "_dpsql_key_0", CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN (0, 1)) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "v", "_dpsql_number_0" AS "avg", "_dpsql_row" FROM "_dpsql_release_0" ORDER BY 2 DESC LIMIT 1

SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n, SUM(n) FROM people GROUP BY decade HAVING COUNT(*) > 10
--> epsilon 1, charged 1
--> release 0 of people: 11 groups, epsilon 1, unit row
-->   key FLOOR(age / 10) * 10: 11 values from value set of the expression: 0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, …
-->   COUNT(*): ±4 at 95 %, bounds [0, 10], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(n) does: all of them, by the policy
-->     low: Δf 10, scale 10
-->     high: Δf 10, scale 10
-->   SUM(n): ±30 at 95 %, bounds [0, 10], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 10, scale 10
-->     high: Δf 10, scale 10
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST((FLOOR(CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS DOUBLE) / CAST(10 AS DOUBLE)) * CAST(10 AS DOUBLE)) / 1.00000000000000000e+01 AS BIGINT) AS "_dpsql_key_0", CAST(CASE WHEN "n" < 0 THEN 0 WHEN "n" > 10 THEN 10 ELSE "n" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" BETWEEN 0 AND 10) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "decade", "_dpsql_number_0" AS "n", "_dpsql_number_1" AS "sum", "_dpsql_row" FROM "_dpsql_release_0" WHERE "_dpsql_number_0" > 10

SELECT CASE WHEN age < 18 THEN 'young' WHEN age < 65 THEN 'middle' ELSE 'old' END AS stage, COUNT(*) FROM people GROUP BY 1
--> epsilon 1, charged 1
--> release 0 of people: 3 groups, epsilon 1, unit row
-->   key CASE WHEN age < 18 THEN 'young' WHEN age < 65 THEN 'middle'…: 3 values from value set of the expression: young, middle, old
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT CASE WHEN ("age" < 18) THEN 'young' WHEN ("age" < 65) THEN 'middle' ELSE 'old' END AS "_dpsql_key_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('young', 'middle', 'old')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "stage", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

SELECT DATE_TRUNC('year', day) AS y, city, COUNT(*) FROM people GROUP BY ALL
--> epsilon 1, charged 1
--> release 0 of people: 120 groups, epsilon 1, unit row
-->   key DATE_TRUNC('YEAR', day): 40 values from value set of the expression: 1990-01-01 00:00:00, 1991-01-01 00:00:00, 1992-01-01 00:00:00, 1993-01-01 00:00:00, 1994-01-01 00:00:00, 1995-01-01 00:00:00, 1996-01-01 00:00:00, 1997-01-01 00:00:00, …
-->   key city: 3 values from listed values: A, B, C
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "_dpsql_key_1", "sum_0" FROM (SELECT "_dpsql_key_0", "_dpsql_key_1", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT EPOCH_US(CAST(DATE_TRUNC('year', CAST(CASE WHEN "day" < CAST('1990-01-01' AS DATE) THEN CAST('1990-01-01' AS DATE) WHEN "day" > CAST('2029-12-31' AS DATE) THEN CAST('2029-12-31' AS DATE) ELSE "day" END AS TIMESTAMP)) AS TIMESTAMP)) AS "_dpsql_key_0", "city" AS "_dpsql_key_1" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0", "_dpsql_key_1") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN (631152000000000, 662688000000000, 694224000000000, 725846400000000, 757382400000000, 788918400000000, 820454400000000, 852076800000000, 883612800000000, 915148800000000, 946684800000000, 978307200000000, 1009843200000000, 1041379200000000, 1072915200000000, 1104537600000000, 1136073600000000, 1167609600000000, 1199145600000000, 1230768000000000, 1262304000000000, 1293840000000000, 1325376000000000, 1356998400000000, 1388534400000000, 1420070400000000, 1451606400000000, 1483228800000000, 1514764800000000, 1546300800000000, 1577836800000000, 1609459200000000, 1640995200000000, 1672531200000000, 1704067200000000, 1735689600000000, 1767225600000000, 1798761600000000, 1830297600000000, 1861920000000000)) AND ("_dpsql_key_1" IN ('A', 'B', 'C')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "y", "_dpsql_key_1" AS "city", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

SELECT EXTRACT(MONTH FROM day), COUNT(*) FROM people WHERE day >= DATE '2020-01-01' GROUP BY 1
--> epsilon 1, charged 1
--> release 0 of people: 12 groups, epsilon 1, unit row
-->   key EXTRACT(MONTH FROM day): 12 values from value set of the expression: 1, 2, 3, 4, 5, 6, 7, 8, …
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT CAST(DATE_PART('month', CASE WHEN "day" < CAST('2020-01-01' AS DATE) THEN CAST('2020-01-01' AS DATE) WHEN "day" > CAST('2029-12-31' AS DATE) THEN CAST('2029-12-31' AS DATE) ELSE "day" END) AS BIGINT) AS "_dpsql_key_0" FROM "memory"."main"."people" WHERE ("day" >= CAST('2020-01-01' AS DATE))) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" BETWEEN 1 AND 12) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "extract", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

SELECT note, COUNT(*) FROM people WHERE note IN ('x', 'y') GROUP BY note
--> epsilon 1, charged 1
--> release 0 of people: 2 groups, epsilon 1, unit row
-->   key note: 2 values from listed values: x, y
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "note" AS "_dpsql_key_0" FROM "memory"."main"."people" WHERE ("note" IN ('x', 'y'))) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('x', 'y')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "note", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- private rows in subqueries
WITH p AS (SELECT age + n AS x, city FROM people WHERE vip), q AS (SELECT x * 2 AS y FROM p WHERE city <> 'C') SELECT SUM(y) FROM q
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   SUM(y): ±659 at 95 %, bounds [0, 220], grain 1; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     sum: Δf 220, scale 220
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT (COALESCE(SUM("value_0"), 0) + CAST(COUNT("value_0") AS INT128) * 220) >> 1 AS "sum_0" FROM (SELECT ABS("value_0") - ABS("value_0" - 220) AS "value_0" FROM (SELECT CAST((CAST((CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) + CAST(CASE WHEN "n" < 0 THEN 0 WHEN "n" > 10 THEN 10 ELSE "n" END AS BIGINT)) AS BIGINT) * CAST(2 AS BIGINT)) AS BIGINT) AS "value_0" FROM "memory"."main"."people" WHERE ("city" <> 'C') AND "vip") AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

-- over noisy numbers
SELECT a / b, RANK() OVER (ORDER BY a) FROM (SELECT city, SUM(age) AS a, COUNT(*) AS b FROM people GROUP BY city) AS q
--> epsilon 1, charged 1
--> release 0 of people: 3 groups, epsilon 1, unit row
-->   key city: 3 values from listed values: A, B, C
-->   SUM(age): ±300 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   COUNT(*): ±4 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(age) does: all of them, by the policy
-->     low: Δf 100, scale 100
-->     high: Δf 100, scale 100
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT "city" AS "_dpsql_key_0", CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B', 'C')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "a" / "b" AS "?column?", RANK() OVER (ORDER BY "a") AS "rank", "_dpsql_row" FROM (SELECT "_dpsql_key_0" AS "city", "_dpsql_number_0" AS "a", "_dpsql_number_1" AS "b", "_dpsql_row" FROM "_dpsql_release_0") AS "q"

SELECT q.city, region, n FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS q JOIN cities USING (city)
--> epsilon 1, charged 1
--> release 0 of people: 3 groups, epsilon 1, unit row
-->   key city: 3 values from listed values: A, B, C
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "city" AS "_dpsql_key_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B', 'C')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "q"."city", "region", "n" FROM (SELECT "_dpsql_key_0" AS "city", "_dpsql_number_0" AS "n" FROM "_dpsql_release_0") AS "q" JOIN "cities" AS "cities" USING ("city")

SELECT COUNT(*) - (SELECT COUNT(*) FROM visits) AS difference FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 0.5, unit row
-->   COUNT(*): ±6 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 2
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT 1 AS "one" FROM "memory"."main"."people") AS q) AS q
--> release 1 of visits: 1 group, epsilon 0.5, unit row
-->   COUNT(*): ±6 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 2
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT 1 AS "one" FROM "memory"."main"."visits") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" - (SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_1") AS "difference" FROM "_dpsql_release_0"

SELECT clinic, SUM(cost) FROM visits GROUP BY clinic UNION ALL SELECT 'people', COUNT(*) FROM people
--> epsilon 1, charged 1
--> release 0 of visits: 2 groups, epsilon 0.5, unit row
-->   key clinic: 2 values from listed values: X, Y
-->   SUM(cost): ±599 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis sum, epsilon 0.5
-->     instead with cube noise: the same
-->     sum: Δf 100, scale 200
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("value_0"), 0) AS "sum_0" FROM (SELECT "clinic" AS "_dpsql_key_0", CAST(CASE WHEN "cost" < 0 THEN 0 WHEN "cost" > 100 THEN 100 ELSE "cost" END AS BIGINT) AS "value_0" FROM "memory"."main"."visits") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('X', 'Y')) ELSE FALSE END
--> release 1 of people: 1 group, epsilon 0.5, unit row
-->   COUNT(*): ±6 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 2
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT 1 AS "one" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "clinic", "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0" UNION ALL SELECT 'people' AS "?column?", "_dpsql_number_0" AS "count" FROM "_dpsql_release_1"

SELECT city FROM cities
--> epsilon 0, charged 0
--> no private table is read: nothing is charged
--> outer SQL (over noisy rows):
-->   SELECT "city" FROM "cities" AS "cities"

-- dialect: postgres
SELECT AVG(age / 2) AS half, count(*) / 7 FROM people WHERE note::int % 2 = 1
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   AVG(age / 2): ±149.787/n at 95 %, ±102.825/n for values spread evenly, bounds [0, 50], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     low: Δf 50, scale 50
-->     high: Δf 50, scale 50
-->   COUNT(*): ±4 at 95 %, bounds [0, 50], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as AVG(age / 2) does: all of them, by the policy
-->     low: Δf 50, scale 50
-->     high: Δf 50, scale 50
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", (COALESCE(SUM("value_0"), 0) + CAST(COUNT("value_0") AS INT128) * 50) >> 1 AS "sum_1" FROM (SELECT ABS("value_0") - ABS("value_0" - 50) AS "value_0" FROM (SELECT CAST(TRY_CAST(CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) // CAST(2 AS BIGINT) AS BIGINT) AS BIGINT) AS "value_0" FROM "memory"."main"."people" WHERE ((CAST(TRY_CAST("note" AS INT) AS INT128) % CAST(2 AS INT128)) = 1)) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "half", TRY_CAST(TRUNC("_dpsql_number_1" / 7) AS BIGINT) AS "?column?", "_dpsql_row" FROM "_dpsql_release_0"

-- dialect: bigquery
SELECT COUNTIF(city = 'A'), SUM(IF(vip, 1, 0)), SUM(n) / 2 FROM `people`
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   COUNT_IF(city = 'A'): ±8 at 95 %; discrete Laplace, basis rows, epsilon 0.360561
-->     instead with cube noise: ±5 at 95 %
-->     rows: Δf 1, scale 2.77346
-->   SUM(CASE WHEN vip THEN 1 ELSE 0 END): ±8 at 95 %, bounds [0, 1], grain 1; discrete Laplace, basis centre, epsilon 0.226898
-->     instead with cube noise: ±5 at 95 %
-->     centre: Δf 0.5, scale 2.20364
-->     low: Δf 10, scale 24.24
-->     high: Δf 10, scale 24.24
-->   SUM(n): ±73 at 95 %, bounds [0, 10], grain 1; discrete Laplace, basis endpoints, epsilon 0.412541
-->     instead with cube noise: ±46 at 95 %
-->     low: Δf 10, scale 24.24
-->     high: Δf 10, scale 24.24
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1", "sum_2", CAST(("sum_3" >> 63) AS BIGINT) AS "high_3", CAST(("sum_3" & 9223372036854775807) AS BIGINT) AS "low_3", CAST(("sum_4" >> 63) AS BIGINT) AS "high_4", CAST(("sum_4" & 9223372036854775807) AS BIGINT) AS "low_4" FROM (SELECT COUNT("value_0") AS "sum_0", COUNT("value_1") AS "sum_1", COUNT(*) FILTER(WHERE "when_0") AS "sum_2", (COALESCE(SUM("value_0"), 0) + CAST(COUNT("value_0") AS INT128) * 1) >> 1 AS "sum_3", COALESCE(SUM("value_1"), 0) AS "sum_4" FROM (SELECT "when_0" AS "when_0", ABS("value_0") - ABS("value_0" - 1) AS "value_0", "value_1" AS "value_1" FROM (SELECT ("city" = 'A') AS "when_0", CAST(CASE WHEN "vip" THEN 1 ELSE 0 END AS BIGINT) AS "value_0", CAST(CASE WHEN "n" < 0 THEN 0 WHEN "n" > 10 THEN 10 ELSE "n" END AS BIGINT) AS "value_1" FROM "memory"."main"."people") AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "countif", "_dpsql_number_1" AS "sum", "_dpsql_number_2" / 2 AS "?column?", "_dpsql_row" FROM "_dpsql_release_0"

-- dialect: spark
SELECT COUNT(*) FROM people WHERE age / 2 > 20.5 AND upper(city) = 'B'
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT 1 AS "one" FROM "memory"."main"."people" WHERE ((CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS DOUBLE) / CAST(NULLIF(2, 0) AS DOUBLE)) > CAST(20.5 AS DOUBLE)) AND (UPPER("city") = 'B')) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

SELECT VARIANCE(age), COUNT(*) FROM people
--> epsilon 1, charged 1
--> release 0 of people: 1 group, epsilon 1, unit row
-->   VARIANCE(age): ±29,957.3/n at 95 %, ±11,795.3/n for values spread evenly, bounds [0, 100], grain 1; discrete Laplace, basis Bernstein, epsilon 1
-->     instead with cube noise: ±34,265/n at 95 %, ±6,908.21/n for values spread evenly
-->     low: Δf 10,000, scale 10,000
-->     middle: Δf 10,000, scale 10,000
-->     high: Δf 10,000, scale 10,000
-->   COUNT(*): ±5 at 95 %, bounds [0, 100], grain 1; discrete Laplace, basis Bernstein, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as VARIANCE(age) does: all of them, by the policy
-->     low: Δf 10,000, scale 10,000
-->     middle: Δf 10,000, scale 10,000
-->     high: Δf 10,000, scale 10,000
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1", COALESCE(SUM(CAST("value_0" AS BIGINT) * CAST("value_0" AS BIGINT)), 0) AS "sum_2" FROM (SELECT CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT) AS "value_0" FROM "memory"."main"."people") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "variance", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

SELECT city, COUNT(DISTINCT note), STDDEV_POP(DISTINCT income) FROM people GROUP BY city
--> epsilon 1, charged 1
--> release 0 of people: 3 groups, epsilon 1, unit row
-->   key city: 3 values from listed values: A, B, C
-->   COUNT(DISTINCT note): ±11 at 95 %; discrete Laplace, basis present, epsilon 0.28418
-->     no other mechanism for it
-->     present: Δf 1, scale 3.51889
-->   STDDEV_POP(DISTINCT income): ±75,330,684/(n·s) at 95 %, s the number itself, ±29,660,421/(n·s) for values spread evenly, bounds [-1,000, 5,000], grain 3.05176e-05; discrete Laplace, basis Bernstein, epsilon 0.71582
-->     no other mechanism for it
-->     low: Δf 36,000,000, scale 50,292,000
-->     middle: Δf 36,000,000, scale 50,292,000
-->     high: Δf 36,000,000, scale 50,292,000
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0", "sum_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2", CAST(("sum_3" >> 63) AS BIGINT) AS "high_3", CAST(("sum_3" & 9223372036854775807) AS BIGINT) AS "low_3" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(DISTINCT "value_1") AS "sum_0", COUNT(DISTINCT "value_0") AS "sum_1", COALESCE(SUM(DISTINCT "value_0"), 0) AS "sum_2", COALESCE(SUM(DISTINCT CAST("value_0" AS BIGINT) * CAST("value_0" AS BIGINT)), 0) AS "sum_3" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", TRY_CAST(("value_0" + ABS("value_0")) * 8.19200000000000000e+03 AS BIGINT) AS "value_0", "value_1" AS "value_1" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", ("value_0" - ABS("value_0")) + 1.20000000000000000e+04 AS "value_0", "value_1" AS "value_1" FROM (SELECT "city" AS "_dpsql_key_0", "income" - 5.00000000000000000e+03 AS "value_0", "note" AS "value_1" FROM "memory"."main"."people") AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B', 'C')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "city", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "stddev_pop" FROM "_dpsql_release_0"

-- dialect: postgres
SELECT 100 / age AS k, COUNT(*) FROM people GROUP BY k
--> epsilon 1, charged 1
--> release 0 of people: 101 groups, epsilon 1, unit row
-->   key 100 / age: 101 values from value set of the expression: 1, 2, 3, 4, 5, 6, 7, 8, …
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT TRY_CAST(CAST(100 AS BIGINT) // NULLIF(CAST(CASE WHEN "age" < 0 THEN 0 WHEN "age" > 100 THEN 100 ELSE "age" END AS BIGINT), 0) AS BIGINT) AS "_dpsql_key_0" FROM "memory"."main"."people") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" BETWEEN 1 AND 100 OR "_dpsql_key_0" IS NULL) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "k", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"
