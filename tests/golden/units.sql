-- Rows that belong to units: what bounds a unit's contribution, and how its rows are found.

-- policy: people
-- The form by row: groups, each row joined to the weight of its unit; n counts all rows that pass WHERE.
SELECT status, COUNT(*) FROM orders WHERE priority > 2 GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   COUNT(*): ±10 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM (SELECT "_dpsql_key_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."orders" WHERE ("priority" > 2) AND NOT "cust" IS NULL) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM "memory"."main"."orders" WHERE ("priority" > 2) GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- A FILTER drops no row from n: the weights are those of all rows.
SELECT status, COUNT(*) FILTER (WHERE total > 0), SUM(total) FROM orders GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   COUNT(*) FILTER(WHERE total > 0): ±18 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: ±13 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 6
-->   SUM(total): ±3,594.88 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis sum, epsilon 0.5
-->     instead with cube noise: ±2,467.8 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     sum: Δf 600, scale 1,200
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", COALESCE(SUM("weight") FILTER(WHERE "when_0"), 0) AS "sum_1", COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) AS "sum_2" FROM (SELECT "_dpsql_key_0", "when_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "when_0" AS "when_0", "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "when_0" AS "when_0", "unit" AS "unit", ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0" FROM (SELECT "status" AS "_dpsql_key_0", (CASE WHEN "total" <= CAST('Infinity' AS DOUBLE) THEN "total" END > CAST(0 AS DOUBLE)) AS "when_0", "cust" AS "unit", "total" - 2.00000000000000000e+02 AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM "memory"."main"."orders" GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- The integer form of the clip, weighted by row.
SELECT status, SUM(priority), VARIANCE(priority) FROM orders GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   SUM(priority): ±52 at 95 %, bounds [1, 5], grain 1; discrete Laplace, basis Bernstein, epsilon 1
-->     instead with cube noise: ±58 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 48, scale 48
-->     middle: Δf 48, scale 48
-->     high: Δf 48, scale 48
-->   VARIANCE(priority): ±143.795/n at 95 %, ±56.6174/n for values spread evenly, bounds [1, 5], grain 1; discrete Laplace, basis Bernstein, epsilon 1
-->     instead with cube noise: ±164.472/n at 95 %, ±33.1594/n for values spread evenly
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 48, scale 48
-->     middle: Δf 48, scale 48
-->     high: Δf 48, scale 48
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", (COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) + CAST(COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS INT128) * 4) >> 1 AS "sum_1", COALESCE(SUM("weight" * CAST(((CAST("value_0" AS BIGINT) + 4) >> 1) * ((CAST("value_0" AS BIGINT) + 4) >> 1) AS BIGINT)), 0) AS "sum_2" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ABS("value_0" - 1) - ABS("value_0" - 5) AS "value_0" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit", CAST("priority" AS BIGINT) AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM "memory"."main"."orders" GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "variance" FROM "_dpsql_release_0"

-- policy: people
-- The form by unit: no groups, the sums of each unit and then their weight.
SELECT COUNT(*), SUM(total) FROM orders
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±15 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±13 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 750, scale 750
-->     high: Δf 750, scale 750
-->     nulls: Δf 3, scale 3
-->   SUM(total): ±1,836.16 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±2,467.8 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 750, scale 750
-->     high: Δf 750, scale 750
-->     nulls: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1", COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_2" AS INT128)), 0) AS "sum_2" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2" FROM (SELECT "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "unit" AS "unit", ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0" FROM (SELECT "cust" AS "unit", "total" - 2.00000000000000000e+02 AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- The form by pair: 2 groups of a unit with 3 rows in each are fewer than 12 rows.
SELECT clinic, COUNT(*), SUM(cost) FROM visit GROUP BY clinic
--> epsilon 1, charged 1
--> release 0 of visit: 3 groups, epsilon 1, unit visit.cust
-->   key clinic: 3 values from listed values: X, Y, Z
-->   COUNT(*): ±30 at 95 %, bounds [100, 110], grain 1; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±25 at 95 %
-->     counted in full: 2 groups of a unit with 3 rows each, which is less than 12 rows
-->     low: Δf 60, scale 60
-->     high: Δf 60, scale 60
-->     nulls: Δf 6, scale 6
-->   SUM(cost): ±2,595 at 95 %, bounds [100, 110], grain 1; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±2,715 at 95 %
-->     counted in full: 2 groups of a unit with 3 rows each, which is less than 12 rows
-->     low: Δf 60, scale 60
-->     high: Δf 60, scale 60
-->     nulls: Δf 6, scale 6
-->   inner SQL (on the private engine):
-->     WITH pairs AS MATERIALIZED (SELECT "unit", "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2" FROM (SELECT "clinic" AS "_dpsql_key_0", "cust" AS "unit", CAST(CASE WHEN "cost" < 100 THEN 100 WHEN "cost" > 110 THEN 110 ELSE "cost" END AS BIGINT) - 100 AS "value_0" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q GROUP BY "unit", "_dpsql_key_0") SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(((CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * "weight") >> 20) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(((CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * "weight") >> 20) * CAST("sum_1" AS INT128)), 0) AS "sum_1", COALESCE(SUM(((CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * "weight") >> 20) * CAST("sum_2" AS INT128)), 0) AS "sum_2" FROM pairs JOIN (SELECT "unit" AS "of_unit", CAST((2097152 // GREATEST(COUNT(*), 2)) AS INT) AS "weight" FROM pairs GROUP BY "unit") AS w ON "unit" = "of_unit" GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('X', 'Y', 'Z')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "clinic", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- Without groups the bound by groups says nothing.
SELECT AVG(cost) FROM visit
--> epsilon 1, charged 1
--> release 0 of visit: 1 group, epsilon 1, unit visit.cust
-->   AVG(cost): ±359.488/n at 95 %, ±246.78/n for values spread evenly, bounds [100, 110], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: ±392.869/n at 95 %, ±311.18/n for values spread evenly
-->     counted in full: 12 rows of a unit, of which more count in proportion
-->     low: Δf 120, scale 120
-->     high: Δf 120, scale 120
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COALESCE(SUM(CAST((12582912 // GREATEST("size", 12)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((12582912 // GREATEST("size", 12)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1" FROM (SELECT "unit", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT "cust" AS "unit", CAST(CASE WHEN "cost" < 100 THEN 100 WHEN "cost" > 110 THEN 110 ELSE "cost" END AS BIGINT) - 100 AS "value_0" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg" FROM "_dpsql_release_0"

-- policy: people
-- Units: one release of sensitivity 1.
SELECT COUNT(DISTINCT cust) FROM orders
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   COUNT(DISTINCT cust): ±3 at 95 %; discrete Laplace, basis present, epsilon 1
-->     no other mechanism for it
-->     counted in full: 1 group of a unit
-->     present: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT DISTINCT "unit" FROM (SELECT "cust" AS "unit" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Units of groups that are no more than a unit's rows: as many distinct pairs, without weights.
SELECT status, COUNT(DISTINCT cust) FROM orders GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   COUNT(DISTINCT cust): ±9 at 95 %; discrete Laplace, basis present, epsilon 1
-->     no other mechanism for it
-->     counted in full: 3 groups of a unit
-->     present: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT DISTINCT "unit", "_dpsql_key_0" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Units of groups that are more: a unit's pairs are weighted.
SELECT priority, COUNT(DISTINCT cust) FROM orders GROUP BY priority
--> epsilon 1, charged 1
--> release 0 of orders: 5 groups, epsilon 1, unit orders.cust
-->   key priority: 5 values from bounds: 1, 2, 3, 4, 5
-->   COUNT(DISTINCT cust): ±10 at 95 %; discrete Laplace, basis present, epsilon 1
-->     no other mechanism for it
-->     counted in full: 3 groups of a unit, of which more count in proportion
-->     present: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     WITH pairs AS MATERIALIZED (SELECT DISTINCT "unit", "_dpsql_key_0" FROM (SELECT "priority" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM pairs JOIN (SELECT "unit" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM pairs GROUP BY "unit") AS w ON "unit" = "of_unit" GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" BETWEEN 1 AND 5) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "priority", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Units of 3 groups, of which a unit may count in 2; rows beside are read in a pass of their own.
SELECT clinic, COUNT(DISTINCT cust), COUNT(*) FROM visit GROUP BY clinic
--> epsilon 1, charged 1
--> release 0 of visit: 3 groups, epsilon 1, unit visit.cust
-->   key clinic: 3 values from listed values: X, Y, Z
-->   COUNT(DISTINCT cust): ±19 at 95 %; discrete Laplace, basis present, epsilon 0.324781
-->     instead with cube noise for other numbers: the same
-->     counted in full: 2 groups of a unit, of which more count in proportion
-->     present: Δf 2, scale 6.158
-->   COUNT(*): ±27 at 95 %; discrete Laplace, basis rows, epsilon 0.675219
-->     instead with cube noise: the same
-->     counted in full: 2 groups of a unit with 3 rows each, which is less than 12 rows
-->     rows: Δf 6, scale 8.886
-->   inner SQL (on the private engine):
-->     WITH pairs AS MATERIALIZED (SELECT DISTINCT "unit", "_dpsql_key_0" FROM (SELECT "clinic" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q) SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM pairs JOIN (SELECT "unit" AS "of_unit", CAST((2097152 // GREATEST(COUNT(*), 2)) AS INT) AS "weight" FROM pairs GROUP BY "unit") AS w ON "unit" = "of_unit" GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('X', 'Y', 'Z')) ELSE FALSE END
-->     WITH pairs AS MATERIALIZED (SELECT "unit", "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "clinic" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q GROUP BY "unit", "_dpsql_key_0") SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(((CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * "weight") >> 20) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM pairs JOIN (SELECT "unit" AS "of_unit", CAST((2097152 // GREATEST(COUNT(*), 2)) AS INT) AS "weight" FROM pairs GROUP BY "unit") AS w ON "unit" = "of_unit" GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('X', 'Y', 'Z')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "clinic", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Units that have a row that passes.
SELECT COUNT(DISTINCT cust) FILTER (WHERE total > 0) FROM orders
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   COUNT(DISTINCT cust) FILTER(WHERE total > 0): ±3 at 95 %; discrete Laplace, basis present, epsilon 1
-->     no other mechanism for it
-->     counted in full: 1 group of a unit
-->     present: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT DISTINCT "unit" FROM (SELECT (CASE WHEN "total" <= CAST('Infinity' AS DOUBLE) THEN "total" END > CAST(0 AS DOUBLE)) AS "when_0", "cust" AS "unit" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q WHERE "when_0") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Other distinct values: a unit keeps as many pairs of group and value as its bound, by rank, over all groups.
SELECT status, COUNT(DISTINCT priority) FROM orders GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   COUNT(DISTINCT priority): ±9 at 95 %, bounds [1, 5], grain 1; discrete Laplace, basis present, epsilon 1
-->     no other mechanism for it
-->     counted in full: 3 values of a unit in all groups, chosen by a hash where it has more
-->     present: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(DISTINCT "value_0") FILTER(WHERE "rank" <= 3) AS "sum_0" FROM (SELECT "unit", "_dpsql_key_0", "value_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(3322782943029215385, "unit", "_dpsql_key_0", "value_0")), "_dpsql_key_0", "value_0") AS "rank" FROM (SELECT DISTINCT "unit", "_dpsql_key_0", "value_0" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit", "priority" AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q WHERE (NOT "value_0" IS NULL)) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Of doubles, without groups, some of the rows; the sum and the mean are of the same values.
SELECT COUNT(DISTINCT total) FILTER (WHERE status = 'F'), SUM(DISTINCT total), AVG(DISTINCT total) FROM orders
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   COUNT(DISTINCT total) FILTER(WHERE status = 'F'): ±24 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis present, epsilon 0.367889
-->     no other mechanism for it
-->     counted in full: 3 values of a unit in all groups, chosen by a hash where it has more
-->     present: Δf 3, scale 8.15464
-->   SUM(DISTINCT total): ±2,904.8 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints, epsilon 0.632111
-->     no other mechanism for it
-->     counted in full: 3 values of a unit in all groups, chosen by a hash where it has more
-->     low: Δf 750, scale 1,186.5
-->     high: Δf 750, scale 1,186.5
-->   AVG(DISTINCT total): ±3,554.44/n at 95 %, ±2,440.04/n for values spread evenly, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints, epsilon 0.632111
-->     no other mechanism for it
-->     counted in full: 3 values of a unit in all groups, chosen by a hash where it has more
-->     low: Δf 750, scale 1,186.5
-->     high: Δf 750, scale 1,186.5
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(DISTINCT "value_0") FILTER(WHERE "rank" <= 3) AS "sum_0" FROM (SELECT "unit", "value_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(617553253399255648, "unit", "value_0")), "value_0") AS "rank" FROM (SELECT DISTINCT "unit", "value_0" FROM (SELECT ("status" = 'F') AS "when_0", "cust" AS "unit", CASE WHEN NOT ISNAN("total") THEN "total" END AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q WHERE (NOT "value_0" IS NULL) AND "when_0") AS q) AS q) AS q
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT(DISTINCT "value_0") FILTER(WHERE "rank" <= 3) AS "sum_0", COALESCE(SUM(DISTINCT "value_0") FILTER(WHERE "rank" <= 3), 0) AS "sum_1" FROM (SELECT "unit", "value_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(635495903696635692, "unit", "value_0")), "value_0") AS "rank" FROM (SELECT DISTINCT "unit", "value_0" FROM (SELECT "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "unit" AS "unit", ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0" FROM (SELECT "cust" AS "unit", "total" - 2.00000000000000000e+02 AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q WHERE (NOT "value_0" IS NULL)) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum", "_dpsql_number_2" AS "avg" FROM "_dpsql_release_0"

-- policy: people
-- The unit one key away: the join to the parent is dpsql's.
SELECT COUNT(*), SUM(qty) FROM item
--> epsilon 1, charged 1
--> release 0 of item: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±21 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(qty) does: all of them, by the policy
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     low: Δf 45, scale 45
-->     high: Δf 45, scale 45
-->   SUM(qty): ±151 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     low: Δf 45, scale 45
-->     high: Δf 45, scale 45
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COALESCE(SUM(CAST((5242880 // GREATEST("size", 5)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((5242880 // GREATEST("size", 5)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1" FROM (SELECT "unit", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", (COALESCE(SUM("value_0"), 0) + CAST(COUNT("value_0") AS INT128) * 9) >> 1 AS "sum_1" FROM (SELECT "unit" AS "unit", ABS("value_0" - 1) - ABS("value_0" - 10) AS "value_0" FROM (SELECT "_dpsql_unit" AS "unit", CAST("qty" AS BIGINT) AS "value_0" FROM (SELECT "t0"."qty", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL) AS q) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- The unit two keys away, the first of two columns.
SELECT why, COUNT(*), SUM(unit) FROM refund GROUP BY why
--> epsilon 1, charged 1
--> release 0 of refund: 3 groups, epsilon 1, unit orders.cust
-->   key why: 3 values from listed values: late, broken, NULL
-->   COUNT(*): ±9 at 95 %, bounds [0, 9], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(unit) does: all of them, by the policy
-->     counted in full: 2 rows of a unit, of which more count in proportion
-->     low: Δf 18, scale 18
-->     high: Δf 18, scale 18
-->   SUM(unit): ±54 at 95 %, bounds [0, 9], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 2 rows of a unit, of which more count in proportion
-->     low: Δf 18, scale 18
-->     high: Δf 18, scale 18
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", (COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) + CAST(COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS INT128) * 9) >> 1 AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ABS("value_0") - ABS("value_0" - 9) AS "value_0" FROM (SELECT "why" AS "_dpsql_key_0", "_dpsql_unit" AS "unit", CAST("unit" AS BIGINT) AS "value_0" FROM (SELECT "t0"."why", "t0"."unit", "t2"."cust" AS "_dpsql_unit" FROM "memory"."main"."refund" AS "t0" JOIN "memory"."main"."payment" AS "t1" ON "t0"."order_id" = "t1"."order_id" AND "t0"."line" = "t1"."line" JOIN "memory"."main"."orders" AS "t2" ON "t1"."order_id" = "t2"."id") AS q WHERE NOT "_dpsql_unit" IS NULL) AS q) AS q JOIN (SELECT "_dpsql_unit" AS "of_unit", CAST((2097152 // GREATEST(COUNT(*), 2)) AS INT) AS "weight" FROM (SELECT "t2"."cust" AS "_dpsql_unit" FROM "memory"."main"."refund" AS "t0" JOIN "memory"."main"."payment" AS "t1" ON "t0"."order_id" = "t1"."order_id" AND "t0"."line" = "t1"."line" JOIN "memory"."main"."orders" AS "t2" ON "t1"."order_id" = "t2"."id") AS q GROUP BY "_dpsql_unit") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('late', 'broken') OR "_dpsql_key_0" IS NULL) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "why", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- A decimal, clipped exactly.
SELECT qty, SUM(price), COUNT(price) FROM item GROUP BY qty
--> epsilon 1, charged 1
--> release 0 of item: 10 groups, epsilon 1, unit orders.cust
-->   key qty: 10 values from bounds: 1, 2, 3, 4, 5, 6, 7, 8, …
-->   SUM(price): ±1,497.87 at 95 %, bounds [0, 100], grain 0.01; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: ±1,636.95 at 95 %
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     low: Δf 500, scale 500
-->     high: Δf 500, scale 500
-->   COUNT(price): ±21 at 95 %, bounds [0, 100], grain 0.01; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: ±20 at 95 %
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     low: Δf 500, scale 500
-->     high: Δf 500, scale 500
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "qty" AS "_dpsql_key_0", "_dpsql_unit" AS "unit", CAST((CAST(CASE WHEN "price" < 0 THEN 0 WHEN "price" > 100 THEN 100 ELSE "price" END AS DECIMAL(19, 2)) * 100) AS BIGINT) AS "value_0" FROM (SELECT "t0"."qty", "t0"."price", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL) AS q JOIN (SELECT "_dpsql_unit" AS "of_unit", CAST((5242880 // GREATEST(COUNT(*), 5)) AS INT) AS "weight" FROM (SELECT "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q GROUP BY "_dpsql_unit") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" BETWEEN 1 AND 10) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "qty", "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- A join on the unit, one row of it on the left by the policy: the bounds multiply.
SELECT segment, COUNT(*), SUM(total) FROM customer JOIN orders USING (cust) GROUP BY segment
--> epsilon 1, charged 1
--> release 0 of customer and orders: 3 groups, epsilon 1, unit customer.cust
-->   key segment: 3 values from listed values: A, B, NULL
-->   COUNT(*): ±15 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±13 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 750, scale 750
-->     high: Δf 750, scale 750
-->     nulls: Δf 3, scale 3
-->   SUM(total): ±1,836.16 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±2,467.8 at 95 %
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 750, scale 750
-->     high: Δf 750, scale 750
-->     nulls: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_1", COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) AS "sum_2" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0" FROM (SELECT "segment" AS "_dpsql_key_0", "cust" AS "unit", "total" - 2.00000000000000000e+02 AS "value_0" FROM (SELECT "l"."cust" AS "cust", "l"."segment" AS "segment", "r"."total" AS "total" FROM "memory"."main"."customer" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."cust" = "r"."cust") AS q WHERE NOT "cust" IS NULL) AS q) AS q) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM (SELECT "l"."cust" AS "cust" FROM "memory"."main"."customer" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."cust" = "r"."cust") AS q GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B') OR "_dpsql_key_0" IS NULL) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "segment", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- A join along a foreign key, the child first.
SELECT status, SUM(qty) FROM item JOIN orders ON order_id = id GROUP BY status
--> epsilon 1, charged 1
--> release 0 of item and orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   SUM(qty): ±150 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     sum: Δf 50, scale 50
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", (COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) + CAST(COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS INT128) * 9) >> 1 AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ABS("value_0" - 1) - ABS("value_0" - 10) AS "value_0" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit", CAST("qty" AS BIGINT) AS "value_0" FROM (SELECT "l"."qty" AS "qty", "r"."cust" AS "cust", "r"."status" AS "status" FROM "memory"."main"."item" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."order_id" = "r"."id") AS q WHERE NOT "cust" IS NULL) AS q) AS q JOIN (SELECT "cust" AS "of_unit", CAST((5242880 // GREATEST(COUNT(*), 5)) AS INT) AS "weight" FROM (SELECT "r"."cust" AS "cust" FROM "memory"."main"."item" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."order_id" = "r"."id") AS q GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- The parent first.
SELECT status, SUM(qty) FROM orders JOIN item ON order_id = id GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders and item: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   SUM(qty): ±150 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     sum: Δf 50, scale 50
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", (COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) + CAST(COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS INT128) * 9) >> 1 AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ABS("value_0" - 1) - ABS("value_0" - 10) AS "value_0" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit", CAST("qty" AS BIGINT) AS "value_0" FROM (SELECT "l"."cust" AS "cust", "l"."status" AS "status", "r"."qty" AS "qty" FROM "memory"."main"."orders" AS "l" JOIN "memory"."main"."item" AS "r" ON "l"."id" = "r"."order_id") AS q WHERE NOT "cust" IS NULL) AS q) AS q JOIN (SELECT "cust" AS "of_unit", CAST((5242880 // GREATEST(COUNT(*), 5)) AS INT) AS "weight" FROM (SELECT "l"."cust" AS "cust" FROM "memory"."main"."orders" AS "l" JOIN "memory"."main"."item" AS "r" ON "l"."id" = "r"."order_id") AS q GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- An outer join from the parent: parents without children count beside the children.
SELECT COUNT(*), SUM(qty) FROM orders LEFT JOIN item ON order_id = id
--> epsilon 1, charged 1
--> release 0 of orders and item: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±35 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±29 at 95 %
-->     counted in full: 7 rows of a unit, of which more count in proportion
-->     low: Δf 63, scale 63
-->     high: Δf 63, scale 63
-->     nulls: Δf 7, scale 7
-->   SUM(qty): ±211 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±288 at 95 %
-->     counted in full: 7 rows of a unit, of which more count in proportion
-->     low: Δf 63, scale 63
-->     high: Δf 63, scale 63
-->     nulls: Δf 7, scale 7
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT COALESCE(SUM(CAST((7340032 // GREATEST("size", 7)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((7340032 // GREATEST("size", 7)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1", COALESCE(SUM(CAST((7340032 // GREATEST("size", 7)) AS BIGINT) * CAST("sum_2" AS INT128)), 0) AS "sum_2" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", (COALESCE(SUM("value_0"), 0) + CAST(COUNT("value_0") AS INT128) * 9) >> 1 AS "sum_2" FROM (SELECT "unit" AS "unit", ABS("value_0" - 1) - ABS("value_0" - 10) AS "value_0" FROM (SELECT "cust" AS "unit", CAST("qty" AS BIGINT) AS "value_0" FROM (SELECT "l"."cust" AS "cust", "r"."qty" AS "qty" FROM "memory"."main"."orders" AS "l" LEFT JOIN "memory"."main"."item" AS "r" ON "l"."id" = "r"."order_id") AS q WHERE NOT "cust" IS NULL) AS q) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- A composite key.
SELECT SUM(amount), COUNT(*) FROM refund r JOIN payment p ON r.order_id = p.order_id AND r.line = p.line
--> epsilon 1, charged 1
--> release 0 of refund and payment: 1 group, epsilon 1, unit orders.cust
-->   SUM(amount): ±599.146 at 95 %, bounds [0, 100], grain 5.96046e-08; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±822.601 at 95 %
-->     counted in full: 2 rows of a unit, of which more count in proportion
-->     low: Δf 200, scale 200
-->     high: Δf 200, scale 200
-->     nulls: Δf 2, scale 2
-->   COUNT(*): ±10 at 95 %, bounds [0, 100], grain 5.96046e-08; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±9 at 95 %
-->     counted in full: 2 rows of a unit, of which more count in proportion
-->     low: Δf 200, scale 200
-->     high: Δf 200, scale 200
-->     nulls: Δf 2, scale 2
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT COALESCE(SUM(CAST((2097152 // GREATEST("size", 2)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((2097152 // GREATEST("size", 2)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1", COALESCE(SUM(CAST((2097152 // GREATEST("size", 2)) AS BIGINT) * CAST("sum_2" AS INT128)), 0) AS "sum_2" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2" FROM (SELECT "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 4.19430400000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "unit" AS "unit", ("value_0" - ABS("value_0")) + 2.00000000000000000e+02 AS "value_0" FROM (SELECT "_dpsql_unit_2" AS "unit", "amount" - 1.00000000000000000e+02 AS "value_0" FROM (SELECT "r"."amount" AS "amount", "r"."_dpsql_unit" AS "_dpsql_unit_2" FROM "memory"."main"."refund" AS "l" JOIN (SELECT "t0"."order_id", "t0"."line", "t0"."amount", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."payment" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS "r" ON "l"."order_id" = "r"."order_id" AND "l"."line" = "r"."line") AS q WHERE NOT "_dpsql_unit_2" IS NULL) AS q) AS q) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- A public table on its key.
SELECT kind, COUNT(*) FROM item JOIN product ON product = id GROUP BY kind
--> epsilon 1, charged 1
--> release 0 of item: 2 groups, epsilon 1, unit orders.cust
-->   key kind: 2 values from listed values: ink, pen
-->   COUNT(*): ±16 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     rows: Δf 5, scale 5
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM (SELECT "_dpsql_key_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "kind" AS "_dpsql_key_0", "_dpsql_unit" AS "unit" FROM (SELECT "l"."_dpsql_unit" AS "_dpsql_unit", "r"."kind" AS "kind" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS "l" JOIN "memory"."main"."product" AS "r" ON "l"."product" = "r"."id") AS q WHERE NOT "_dpsql_unit" IS NULL) AS q JOIN (SELECT "_dpsql_unit" AS "of_unit", CAST((5242880 // GREATEST(COUNT(*), 5)) AS INT) AS "weight" FROM (SELECT "l"."_dpsql_unit" AS "_dpsql_unit" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS "l" JOIN "memory"."main"."product" AS "r" ON "l"."product" = "r"."id") AS q GROUP BY "_dpsql_unit") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('ink', 'pen')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "kind", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- An outer join with a public table, and a condition on partners in ON.
SELECT COUNT(*), COUNT(name) FROM customer LEFT JOIN nation ON key = nation AND region <> 'EU'
--> epsilon 1, charged 1
--> release 0 of customer: 1 group, epsilon 1, unit customer.cust
-->   COUNT(*): ±5 at 95 %; discrete Laplace, basis present and nulls, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit, of which more count in proportion
-->     present: Δf 1, scale 1
-->     nulls: Δf 1, scale 1
-->   COUNT(name): ±4 at 95 %; discrete Laplace, basis present and nulls, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit, of which more count in proportion
-->     present: Δf 1, scale 1
-->     nulls: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COALESCE(SUM(CAST((1048576 // GREATEST("size", 1)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((1048576 // GREATEST("size", 1)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1" FROM (SELECT "cust" AS "unit", "name" AS "value_0" FROM (SELECT "l"."cust" AS "cust", "r"."name" AS "name" FROM "memory"."main"."customer" AS "l" LEFT JOIN "memory"."main"."nation" AS "r" ON "l"."nation" = "r"."key" AND (("r"."region" <> 'EU'))) AS q WHERE NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- An outer join on the unit with a condition: a filter of the partners, of no row on the left.
SELECT segment, COUNT(*), COUNT(o.id) FROM customer c LEFT JOIN orders o ON c.cust = o.cust AND o.total > 0 GROUP BY segment
--> epsilon 1, charged 1
--> release 0 of customer and orders: 3 groups, epsilon 1, unit customer.cust
-->   key segment: 3 values from listed values: A, B, NULL
-->   COUNT(*): ±13 at 95 %; discrete Laplace, basis present and nulls, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     present: Δf 3, scale 3
-->     nulls: Δf 3, scale 3
-->   COUNT(o.id): ±10 at 95 %; discrete Laplace, basis present and nulls, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     present: Δf 3, scale 3
-->     nulls: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "segment" AS "_dpsql_key_0", "cust" AS "unit", "id" AS "value_0" FROM (SELECT "l"."cust" AS "cust", "l"."segment" AS "segment", "r"."id" AS "id" FROM "memory"."main"."customer" AS "l" LEFT JOIN "memory"."main"."orders" AS "r" ON "l"."cust" = "r"."cust" AND ((CASE WHEN "r"."total" <= CAST('Infinity' AS DOUBLE) THEN "r"."total" END > CAST(0 AS DOUBLE)))) AS q WHERE NOT "cust" IS NULL) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM (SELECT "l"."cust" AS "cust" FROM "memory"."main"."customer" AS "l" LEFT JOIN "memory"."main"."orders" AS "r" ON "l"."cust" = "r"."cust" AND ((CASE WHEN "r"."total" <= CAST('Infinity' AS DOUBLE) THEN "r"."total" END > CAST(0 AS DOUBLE)))) AS q GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B') OR "_dpsql_key_0" IS NULL) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "segment", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- One row of each unit: a SUM of doubles in whole steps of a grid.
SELECT AVG(s), COUNT(*) FROM (SELECT cust, SUM(total) AS s FROM orders GROUP BY cust) AS q
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   AVG(s): ±2,246.8/n at 95 %, ±1,542.38/n for values spread evenly, bounds [-150, 600], grain 4.76837e-07; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±2,455.43/n at 95 %, ±1,944.87/n for values spread evenly
-->     counted in full: 1 row of a unit
-->     low: Δf 750, scale 750
-->     high: Δf 750, scale 750
-->     nulls: Δf 1, scale 1
-->   COUNT(*): ±5 at 95 %, bounds [-150, 600], grain 4.76837e-07; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit
-->     low: Δf 750, scale 750
-->     high: Δf 750, scale 750
-->     nulls: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 5.24288000000000000e+05 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 1.50000000000000000e+03 AS "value_0" FROM (SELECT "SUM(total)" - 6.00000000000000000e+02 AS "value_0" FROM (SELECT "cust", CASE WHEN COUNT("_dpsql_value_SUM(total)") > 0 THEN CAST((COALESCE(SUM("_dpsql_value_SUM(total)"), 0) + CAST(COUNT("_dpsql_value_SUM(total)") AS INT128) * (-419430400)) AS DOUBLE) * 1.19209289550781250e-07 END AS "SUM(total)" FROM (SELECT "cust" AS "cust", TRY_CAST(("_dpsql_value_SUM(total)" + ABS("_dpsql_value_SUM(total)")) * 2.09715200000000000e+06 AS BIGINT) AS "_dpsql_value_SUM(total)" FROM (SELECT "cust" AS "cust", ("_dpsql_value_SUM(total)" - ABS("_dpsql_value_SUM(total)")) + 5.00000000000000000e+02 AS "_dpsql_value_SUM(total)" FROM (SELECT "cust" AS "cust", "total" - 2.00000000000000000e+02 AS "_dpsql_value_SUM(total)" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "cust") AS q WHERE NOT "cust" IS NULL) AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg", "_dpsql_number_1" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- A SUM of integers stays whole and is moved into 64 bits; of a few of the rows.
SELECT SUM(s) FROM (SELECT cust, SUM(priority) FILTER (WHERE total > 0) AS s FROM orders GROUP BY cust) AS q
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   SUM(s): ±45 at 95 %, bounds [1, 15], grain 1; discrete Laplace, basis sum, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit
-->     sum: Δf 15, scale 15
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT CAST(CASE WHEN "SUM(priority) FILTER(WHERE total > 0)" < 1 THEN 1 WHEN "SUM(priority) FILTER(WHERE total > 0)" > 15 THEN 15 ELSE "SUM(priority) FILTER(WHERE total > 0)" END AS BIGINT) - 1 AS "value_0" FROM (SELECT "cust", CASE WHEN COUNT("_dpsql_value_SUM(priority) FILTER(WHERE total > 0)") FILTER(WHERE "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)") > 0 THEN CAST(LEAST(GREATEST((COALESCE((SUM("_dpsql_value_SUM(priority) FILTER(WHERE total > 0)") FILTER(WHERE "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)") + CAST(COUNT("_dpsql_value_SUM(priority) FILTER(WHERE total > 0)") FILTER(WHERE "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)") AS INT128) * 4) >> 1, 0) + CAST(COUNT("_dpsql_value_SUM(priority) FILTER(WHERE total > 0)") FILTER(WHERE "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)") AS INT128) * 1), (-9223372036854775808)), 9223372036854775807) AS BIGINT) END AS "SUM(priority) FILTER(WHERE total > 0)" FROM (SELECT "cust" AS "cust", "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)" AS "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)", ABS("_dpsql_value_SUM(priority) FILTER(WHERE total > 0)" - 1) - ABS("_dpsql_value_SUM(priority) FILTER(WHERE total > 0)" - 5) AS "_dpsql_value_SUM(priority) FILTER(WHERE total > 0)" FROM (SELECT "cust" AS "cust", (CASE WHEN "total" <= CAST('Infinity' AS DOUBLE) THEN "total" END > CAST(0 AS DOUBLE)) AS "_dpsql_when_SUM(priority) FILTER(WHERE total > 0)", CAST("priority" AS BIGINT) AS "_dpsql_value_SUM(priority) FILTER(WHERE total > 0)" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q GROUP BY "cust") AS q WHERE NOT "cust" IS NULL) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- A SUM of decimals, along a key.
SELECT AVG(s) FROM (SELECT cust, SUM(price) AS s FROM item JOIN orders ON order_id = id GROUP BY cust) AS q
--> epsilon 1, charged 1
--> release 0 of item and orders: 1 group, epsilon 1, unit orders.cust
-->   AVG(s): ±1,497.87/n at 95 %, ±1,028.25/n for values spread evenly, bounds [0, 500], grain 2.38419e-07; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: ±1,636.95/n at 95 %, ±1,296.58/n for values spread evenly
-->     counted in full: 1 row of a unit
-->     low: Δf 500, scale 500
-->     high: Δf 500, scale 500
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 1.04857600000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT ("value_0" - ABS("value_0")) + 1.00000000000000000e+03 AS "value_0" FROM (SELECT "SUM(price)" - 5.00000000000000000e+02 AS "value_0" FROM (SELECT "cust", CASE WHEN COUNT("_dpsql_value_SUM(price)") > 0 THEN CAST((COALESCE(SUM("_dpsql_value_SUM(price)"), 0) + CAST(COUNT("_dpsql_value_SUM(price)") AS INT128) * 0) AS DOUBLE) * 1.00000000000000002e-02 END AS "SUM(price)" FROM (SELECT "cust" AS "cust", CAST((CAST(CASE WHEN "price" < 0 THEN 0 WHEN "price" > 100 THEN 100 ELSE "price" END AS DECIMAL(19, 2)) * 100) AS BIGINT) AS "_dpsql_value_SUM(price)" FROM (SELECT "l"."price" AS "price", "r"."cust" AS "cust" FROM "memory"."main"."item" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."order_id" = "r"."id") AS q WHERE NOT "cust" IS NULL) AS q GROUP BY "cust") AS q WHERE NOT "cust" IS NULL) AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg" FROM "_dpsql_release_0"

-- policy: people
-- AVG and MIN: the first of whole steps, the second of clipped values.
SELECT AVG(a), AVG(m) FROM (SELECT cust, AVG(total) AS a, MIN(priority) AS m FROM orders GROUP BY cust) AS q
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 1, unit orders.cust
-->   AVG(a): ±1,140.63/n at 95 %, ±783.013/n for values spread evenly, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints and nulls, epsilon 0.656599
-->     instead with cube noise: ±991.264/n at 95 %, ±779.222/n for values spread evenly
-->     counted in full: 1 row of a unit
-->     low: Δf 250, scale 380.75
-->     high: Δf 250, scale 380.75
-->     nulls: Δf 1, scale 1.523
-->   AVG(m): ±22.4903/n at 95 %, ±17.4474/n for values spread evenly, bounds [1, 5], grain 1; discrete Laplace, basis centre, epsilon 0.343401
-->     instead with cube noise: ±18.4947/n at 95 %, ±12.4676/n for values spread evenly
-->     counted in full: 1 row of a unit
-->     centre: Δf 2, scale 5.82409
-->     low: Δf 250, scale 380.75
-->     high: Δf 250, scale 380.75
-->     nulls: Δf 1, scale 1.523
-->   inner SQL (on the private engine):
-->     SELECT "sum_0", "sum_1", "sum_2", CAST(("sum_3" >> 63) AS BIGINT) AS "high_3", CAST(("sum_3" & 9223372036854775807) AS BIGINT) AS "low_3", CAST(("sum_4" >> 63) AS BIGINT) AS "high_4", CAST(("sum_4" & 9223372036854775807) AS BIGINT) AS "low_4" FROM (SELECT COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COUNT("value_1") AS "sum_2", COALESCE(SUM("value_0"), 0) AS "sum_3", COALESCE(SUM("value_1"), 0) AS "sum_4" FROM (SELECT TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0", "value_1" AS "value_1" FROM (SELECT ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0", "value_1" AS "value_1" FROM (SELECT "AVG(total)" - 2.00000000000000000e+02 AS "value_0", CAST(CASE WHEN "MIN(priority)" < 1 THEN 1 WHEN "MIN(priority)" > 5 THEN 5 ELSE "MIN(priority)" END AS BIGINT) - 1 AS "value_1" FROM (SELECT "cust", CASE WHEN COUNT("_dpsql_value_AVG(total)") > 0 THEN (CAST((COALESCE(SUM("_dpsql_value_AVG(total)"), 0) + CAST(COUNT("_dpsql_value_AVG(total)") AS INT128) * (-419430400)) AS DOUBLE) * 1.19209289550781250e-07) / CAST(COUNT("_dpsql_value_AVG(total)") AS DOUBLE) END AS "AVG(total)", MIN("_dpsql_value_MIN(priority)") AS "MIN(priority)" FROM (SELECT "cust" AS "cust", TRY_CAST(("_dpsql_value_AVG(total)" + ABS("_dpsql_value_AVG(total)")) * 2.09715200000000000e+06 AS BIGINT) AS "_dpsql_value_AVG(total)", "_dpsql_value_MIN(priority)" AS "_dpsql_value_MIN(priority)" FROM (SELECT "cust" AS "cust", ("_dpsql_value_AVG(total)" - ABS("_dpsql_value_AVG(total)")) + 5.00000000000000000e+02 AS "_dpsql_value_AVG(total)", "_dpsql_value_MIN(priority)" AS "_dpsql_value_MIN(priority)" FROM (SELECT "cust" AS "cust", "total" - 2.00000000000000000e+02 AS "_dpsql_value_AVG(total)", CASE WHEN "priority" < 1 THEN 1 WHEN "priority" > 5 THEN 5 ELSE "priority" END AS "_dpsql_value_MIN(priority)" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "cust") AS q WHERE NOT "cust" IS NULL) AS q) AS q) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "avg", "_dpsql_number_1" AS "avg" FROM "_dpsql_release_0"

-- policy: people
-- A count of a unit as a key: units over the bound are counted with the last.
SELECT n, COUNT(*) FROM (SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) AS q GROUP BY n
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key n: 3 values from bounds: 1, 2, 3
-->   COUNT(*): ±3 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT CASE WHEN "COUNT(*)" < 1 THEN 1 WHEN "COUNT(*)" > 3 THEN 3 ELSE "COUNT(*)" END AS "_dpsql_key_0" FROM (SELECT "cust", COUNT(*) AS "COUNT(*)" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q GROUP BY "cust") AS q WHERE NOT "cust" IS NULL) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" BETWEEN 1 AND 3) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "n", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Several rows of a unit: further keys beside it.
SELECT status, AVG(s) FROM (SELECT cust, status, SUM(total) AS s FROM orders GROUP BY cust, status) AS q GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   AVG(s): ±6,740.4/n at 95 %, ±4,627.13/n for values spread evenly, bounds [-150, 600], grain 4.76837e-07; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: ±7,366.29/n at 95 %, ±5,834.62/n for values spread evenly
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 2,250, scale 2,250
-->     high: Δf 2,250, scale 2,250
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 5.24288000000000000e+05 AS BIGINT) AS "value_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ("value_0" - ABS("value_0")) + 1.50000000000000000e+03 AS "value_0" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit", "SUM(total)" - 6.00000000000000000e+02 AS "value_0" FROM (SELECT "cust", "status", CASE WHEN COUNT("_dpsql_value_SUM(total)") > 0 THEN CAST((COALESCE(SUM("_dpsql_value_SUM(total)"), 0) + CAST(COUNT("_dpsql_value_SUM(total)") AS INT128) * (-419430400)) AS DOUBLE) * 1.19209289550781250e-07 END AS "SUM(total)" FROM (SELECT "cust" AS "cust", "status" AS "status", TRY_CAST(("_dpsql_value_SUM(total)" + ABS("_dpsql_value_SUM(total)")) * 2.09715200000000000e+06 AS BIGINT) AS "_dpsql_value_SUM(total)" FROM (SELECT "cust" AS "cust", "status" AS "status", ("_dpsql_value_SUM(total)" - ABS("_dpsql_value_SUM(total)")) + 5.00000000000000000e+02 AS "_dpsql_value_SUM(total)" FROM (SELECT "cust" AS "cust", "status" AS "status", "total" - 2.00000000000000000e+02 AS "_dpsql_value_SUM(total)" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "cust", "status") AS q WHERE NOT "cust" IS NULL) AS q) AS q) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM (SELECT "cust" FROM (SELECT "cust" AS "cust", "status" AS "status" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q GROUP BY "cust", "status") AS q GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "avg" FROM "_dpsql_release_0"

-- policy: people
-- HAVING of a unit's own rows, and a join of what is left on the unit.
SELECT segment, AVG(n) FROM customer JOIN (SELECT cust, COUNT(*) AS n FROM visit GROUP BY cust HAVING COUNT(*) > 1) AS v USING (cust) GROUP BY segment
--> epsilon 1, charged 1
--> release 0 of customer and visit: 3 groups, epsilon 1, unit customer.cust
-->   key segment: 3 values from listed values: A, B, NULL
-->   AVG(n): ±29.9573/n at 95 %, ±20.565/n for values spread evenly, bounds [2, 12], grain 1; discrete Laplace, basis endpoints, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit, of which more count in proportion
-->     low: Δf 10, scale 10
-->     high: Δf 10, scale 10
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "segment" AS "_dpsql_key_0", "cust" AS "unit", CAST(CASE WHEN "COUNT(*)" < 2 THEN 2 WHEN "COUNT(*)" > 12 THEN 12 ELSE "COUNT(*)" END AS BIGINT) - 2 AS "value_0" FROM (SELECT "l"."cust" AS "cust", "l"."segment" AS "segment", "r"."COUNT(*)" AS "COUNT(*)" FROM "memory"."main"."customer" AS "l" JOIN (SELECT "cust", COUNT(*) AS "COUNT(*)" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q GROUP BY "cust") AS "r" ON "l"."cust" = "r"."cust") AS q WHERE ("COUNT(*)" > 1) AND NOT "cust" IS NULL) AS q JOIN (SELECT "cust" AS "of_unit", CAST((1048576 // GREATEST(COUNT(*), 1)) AS INT) AS "weight" FROM (SELECT "l"."cust" AS "cust", "r"."COUNT(*)" AS "COUNT(*)" FROM "memory"."main"."customer" AS "l" JOIN (SELECT "cust", COUNT(*) AS "COUNT(*)" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q GROUP BY "cust") AS "r" ON "l"."cust" = "r"."cust") AS q WHERE ("COUNT(*)" > 1) GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B') OR "_dpsql_key_0" IS NULL) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "segment", "_dpsql_number_0" AS "avg" FROM "_dpsql_release_0"

-- policy: people
-- UNION ALL: the bounds add up, NULL units of both sides are dropped.
SELECT what, COUNT(*), SUM(x) FROM (SELECT 'o' AS what, priority AS x FROM orders UNION ALL SELECT 'v', cost FROM visit) AS q GROUP BY what
--> epsilon 1, charged 1
--> release 0 of orders and visit: 2 groups, epsilon 1, unit orders.cust
-->   key what: 2 values from listed values: o, v
-->   COUNT(*): ±75 at 95 %, bounds [1, 110], grain 1; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±62 at 95 %
-->     counted in full: 15 rows of a unit, of which more count in proportion
-->     low: Δf 1,635, scale 1,635
-->     high: Δf 1,635, scale 1,635
-->     nulls: Δf 15, scale 15
-->   SUM(x): ±4,944 at 95 %, bounds [1, 110], grain 1; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±6,787 at 95 %
-->     counted in full: 15 rows of a unit, of which more count in proportion
-->     low: Δf 1,635, scale 1,635
-->     high: Δf 1,635, scale 1,635
-->     nulls: Δf 15, scale 15
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_1", COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) AS "sum_2" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "what" AS "_dpsql_key_0", "_dpsql_unit" AS "unit", CAST(CASE WHEN "x" < 1 THEN 1 WHEN "x" > 110 THEN 110 ELSE "x" END AS BIGINT) - 1 AS "value_0" FROM (SELECT "what", "x", "_dpsql_unit" FROM (SELECT "what" AS "what", "x" AS "x", "cust" AS "_dpsql_unit" FROM (SELECT 'o' AS "what", "priority" AS "x", "cust" AS "cust" FROM "memory"."main"."orders") AS q) AS q UNION ALL SELECT "what", "x", "_dpsql_unit" FROM (SELECT "?column?" AS "what", "cost" AS "x", "cust" AS "_dpsql_unit" FROM (SELECT 'v' AS "?column?", "cost" AS "cost", "cust" AS "cust" FROM "memory"."main"."visit") AS q) AS q) AS q WHERE NOT "_dpsql_unit" IS NULL) AS q JOIN (SELECT "_dpsql_unit" AS "of_unit", CAST((15728640 // GREATEST(COUNT(*), 15)) AS INT) AS "weight" FROM (SELECT "_dpsql_unit" FROM (SELECT "cust" AS "_dpsql_unit" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."orders") AS q) AS q UNION ALL SELECT "_dpsql_unit" FROM (SELECT "cust" AS "_dpsql_unit" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."visit") AS q) AS q) AS q GROUP BY "_dpsql_unit") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('o', 'v')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "what", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- IN over private rows: EXISTS with an equality of units.
SELECT COUNT(*) FROM customer WHERE cust IN (SELECT cust FROM orders WHERE total > 0)
--> epsilon 1, charged 1
--> release 0 of customer and orders: 1 group, epsilon 1, unit customer.cust
-->   COUNT(*): ±4 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit, of which more count in proportion
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((1048576 // GREATEST("size", 1)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "l"."cust" AS "cust", EXISTS(SELECT 1 FROM (SELECT "cust" AS "cust" FROM "memory"."main"."orders" WHERE (CASE WHEN "total" <= CAST('Infinity' AS DOUBLE) THEN "total" END > CAST(0 AS DOUBLE))) AS "r" WHERE "r"."cust" = "l"."cust") AS "_dpsql_mark_4" FROM "memory"."main"."customer" AS "l") AS q WHERE "_dpsql_mark_4" AND NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- NOT IN: the engine never sees it, and a NULL among the subquery's units decides nothing.
SELECT COUNT(*) FROM customer WHERE cust NOT IN (SELECT cust FROM visit)
--> epsilon 1, charged 1
--> release 0 of customer and visit: 1 group, epsilon 1, unit customer.cust
-->   COUNT(*): ±4 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit, of which more count in proportion
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((1048576 // GREATEST("size", 1)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "l"."cust" AS "cust", EXISTS(SELECT 1 FROM (SELECT "cust" AS "cust" FROM "memory"."main"."visit") AS "r" WHERE "r"."cust" = "l"."cust") AS "_dpsql_mark_4" FROM "memory"."main"."customer" AS "l") AS q WHERE (NOT "_dpsql_mark_4") AND NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- EXISTS along a foreign key.
SELECT COUNT(*) FROM orders WHERE EXISTS (SELECT 1 FROM item WHERE order_id = id AND qty > 3)
--> epsilon 1, charged 1
--> release 0 of orders and item: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±10 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "l"."cust" AS "cust", EXISTS(SELECT 1 FROM (SELECT "order_id" AS "item.order_id" FROM "memory"."main"."item" WHERE ("qty" > 3)) AS "r" WHERE "r"."item.order_id" = "l"."id") AS "_dpsql_mark_6" FROM "memory"."main"."orders" AS "l") AS q WHERE "_dpsql_mark_6" AND NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- NOT EXISTS, with a condition on both rows.
SELECT COUNT(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.cust = o.cust AND v.cost > o.priority)
--> epsilon 1, charged 1
--> release 0 of orders and visit: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±10 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "l"."cust" AS "cust", EXISTS(SELECT 1 FROM (SELECT "cust" AS "v.cust", "cost" AS "v.cost" FROM "memory"."main"."visit") AS "r" WHERE "r"."v.cust" = "l"."cust" AND ((CASE WHEN "r"."v.cost" < 100 THEN 100 WHEN "r"."v.cost" > 110 THEN 110 ELSE "r"."v.cost" END > CASE WHEN "l"."priority" < 1 THEN 1 WHEN "l"."priority" > 5 THEN 5 ELSE "l"."priority" END))) AS "_dpsql_mark_6" FROM "memory"."main"."orders" AS "l") AS q WHERE (NOT "_dpsql_mark_6") AND NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- IN and NOT IN over a public table: one private row is looked at.
SELECT COUNT(*) FROM item WHERE product NOT IN (SELECT id FROM product WHERE kind = 'pen')
--> epsilon 1, charged 1
--> release 0 of item: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±16 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     rows: Δf 5, scale 5
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((5242880 // GREATEST("size", 5)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "_dpsql_unit" AS "unit" FROM (SELECT "l"."_dpsql_unit" AS "_dpsql_unit", ("l"."product") IN (SELECT "r"."id" FROM (SELECT "id" AS "id" FROM "memory"."main"."product" WHERE ("kind" = 'pen')) AS "r") AS "_dpsql_mark_5" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS "l") AS q WHERE (NOT "_dpsql_mark_5") AND NOT "_dpsql_unit" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- EXISTS over a public table.
SELECT COUNT(*) FROM item WHERE EXISTS (SELECT 1 FROM tag WHERE tag.product = item.product)
--> epsilon 1, charged 1
--> release 0 of item: 1 group, epsilon 1, unit orders.cust
-->   COUNT(*): ±16 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     rows: Δf 5, scale 5
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((5242880 // GREATEST("size", 5)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "_dpsql_unit" AS "unit" FROM (SELECT "l"."_dpsql_unit" AS "_dpsql_unit", EXISTS(SELECT 1 FROM (SELECT "product" AS "tag.product" FROM "memory"."main"."tag") AS "r" WHERE "r"."tag.product" = "l"."product") AS "_dpsql_mark_5" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS "l") AS q WHERE "_dpsql_mark_5" AND NOT "_dpsql_unit" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- A released number is a constant of the inner query, and narrows nothing: the range of total is the policy's.
SELECT SUM(total) FROM orders WHERE total > (SELECT AVG(total) FROM orders)
--> epsilon 1, charged 1
--> release 0 of orders: 1 group, epsilon 0.5, unit orders.cust
-->   AVG(total): ±4,493.6/n at 95 %, ±3,084.75/n for values spread evenly, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis endpoints, epsilon 0.5
-->     instead with cube noise: ±4,910.86/n at 95 %, ±3,889.75/n for values spread evenly
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     low: Δf 750, scale 1,500
-->     high: Δf 750, scale 1,500
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1" FROM (SELECT "unit", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "unit" AS "unit", ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0" FROM (SELECT "cust" AS "unit", "total" - 2.00000000000000000e+02 AS "value_0" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "unit") AS q) AS q
--> release 1 of orders: 1 group, epsilon 0.5, unit orders.cust
-->   SUM(total): ±3,594.88 at 95 %, bounds [-50, 200], grain 1.19209e-07; discrete Laplace, basis sum, epsilon 0.5
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     sum: Δf 600, scale 1,200
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0", COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_1" AS INT128)), 0) AS "sum_1" FROM (SELECT "unit", COUNT(*) AS "size", COUNT("value_0") AS "sum_0", COALESCE(SUM("value_0"), 0) AS "sum_1" FROM (SELECT "unit" AS "unit", TRY_CAST(("value_0" + ABS("value_0")) * 2.09715200000000000e+06 AS BIGINT) AS "value_0" FROM (SELECT "unit" AS "unit", ("value_0" - ABS("value_0")) + 5.00000000000000000e+02 AS "value_0" FROM (SELECT "cust" AS "unit", "total" - 2.00000000000000000e+02 AS "value_0" FROM (SELECT "cust", "total", CAST($_dpsql_constant_0 AS DOUBLE) AS "_dpsql_constant_0" FROM "memory"."main"."orders") AS q WHERE (CASE WHEN "total" < (-5.00000000000000000e+01) THEN (-5.00000000000000000e+01) WHEN "total" <= 2.00000000000000000e+02 THEN "total" WHEN "total" <= CAST('Infinity' AS DOUBLE) THEN 2.00000000000000000e+02 END > CASE WHEN "_dpsql_constant_0" <= CAST('Infinity' AS DOUBLE) THEN "_dpsql_constant_0" END) AND NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "sum", "_dpsql_row" FROM "_dpsql_release_1"

-- policy: people
-- A public number is one too.
SELECT COUNT(*) FROM customer WHERE nation = (SELECT MIN(key) FROM nation)
--> epsilon 1, charged 1
--> release 0 of customer: 1 group, epsilon 1, unit customer.cust
-->   COUNT(*): ±4 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit, of which more count in proportion
-->     rows: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((1048576 // GREATEST("size", 1)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "cust", "nation", CAST($_dpsql_constant_0 AS BIGINT) AS "_dpsql_constant_0" FROM "memory"."main"."customer") AS q WHERE ("nation" = "_dpsql_constant_0") AND NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- A bound of the analyst's: it is in the weights and in the scale.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows = 2) status, COUNT(*) FROM orders GROUP BY status
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 1, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   COUNT(*): ±7 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 2 rows of a unit, of which more count in proportion
-->     rows: Δf 2, scale 2
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM (SELECT "_dpsql_key_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q JOIN (SELECT "cust" AS "of_unit", CAST((2097152 // GREATEST(COUNT(*), 2)) AS INT) AS "weight" FROM "memory"."main"."orders" GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "status", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Fewer groups of a unit.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) clinic, COUNT(*) FROM visit GROUP BY clinic
--> epsilon 1, charged 1
--> release 0 of visit: 3 groups, epsilon 1, unit visit.cust
-->   key clinic: 3 values from listed values: X, Y, Z
-->   COUNT(*): ±10 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 group of a unit with 3 rows each, which is less than 12 rows
-->     rows: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     WITH pairs AS MATERIALIZED (SELECT "unit", "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "clinic" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."visit" WHERE NOT "cust" IS NULL) AS q GROUP BY "unit", "_dpsql_key_0") SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(((CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * "weight") >> 20) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM pairs JOIN (SELECT "unit" AS "of_unit", CAST((1048576 // GREATEST(COUNT(*), 1)) AS INT) AS "weight" FROM pairs GROUP BY "unit") AS w ON "unit" = "of_unit" GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('X', 'Y', 'Z')) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "clinic", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: unique people
-- Where the engine keeps one row of a unit there is nothing to weigh.
SELECT segment, COUNT(*), AVG(balance) FROM customer GROUP BY segment
--> epsilon 1, charged 1
--> release 0 of customer: 3 groups, epsilon 1, unit customer.cust
-->   key segment: 3 values from listed values: A, B, NULL
-->   COUNT(*): ±5 at 95 %, bounds [100, 110], grain 7.45058e-09; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 1 row of a unit
-->     low: Δf 10, scale 10
-->     high: Δf 10, scale 10
-->     nulls: Δf 1, scale 1
-->   AVG(balance): ±29.9573/n at 95 %, ±20.565/n for values spread evenly, bounds [100, 110], grain 7.45058e-09; discrete Laplace, basis endpoints and nulls, epsilon 1
-->     instead with cube noise: ±32.739/n at 95 %, ±25.9317/n for values spread evenly
-->     counted in full: 1 row of a unit
-->     low: Δf 10, scale 10
-->     high: Δf 10, scale 10
-->     nulls: Δf 1, scale 1
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", "sum_0", "sum_1", CAST(("sum_2" >> 63) AS BIGINT) AS "high_2", CAST(("sum_2" & 9223372036854775807) AS BIGINT) AS "low_2" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) AS "sum_0", COUNT("value_0") AS "sum_1", COALESCE(SUM("value_0"), 0) AS "sum_2" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", TRY_CAST(("value_0" + ABS("value_0")) * 3.35544320000000000e+07 AS BIGINT) AS "value_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", ("value_0" - ABS("value_0")) + 2.00000000000000000e+01 AS "value_0" FROM (SELECT "segment" AS "_dpsql_key_0", "balance" - 1.10000000000000000e+02 AS "value_0" FROM "memory"."main"."customer" WHERE NOT "cust" IS NULL) AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('A', 'B') OR "_dpsql_key_0" IS NULL) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "segment", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "avg" FROM "_dpsql_release_0"

-- policy: unique people
-- Its union with itself has two rows of a unit.
SELECT COUNT(*) FROM (SELECT cust FROM customer UNION ALL SELECT cust FROM customer) AS q
--> epsilon 1, charged 1
--> release 0 of customer: 1 group, epsilon 1, unit customer.cust
-->   COUNT(*): ±6 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 2 rows of a unit
-->     rows: Δf 2, scale 2
-->   inner SQL (on the private engine):
-->     SELECT "sum_0" FROM (SELECT COUNT(*) AS "sum_0" FROM (SELECT 1 AS "one" FROM (SELECT "_dpsql_unit" FROM (SELECT "cust" AS "_dpsql_unit" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."customer") AS q) AS q UNION ALL SELECT "_dpsql_unit" FROM (SELECT "cust" AS "_dpsql_unit" FROM (SELECT "cust" AS "cust" FROM "memory"."main"."customer") AS q) AS q) AS q WHERE NOT "_dpsql_unit" IS NULL) AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: unique people
-- So has a join with many: weights again.
SELECT COUNT(*) FROM customer JOIN orders USING (cust)
--> epsilon 1, charged 1
--> release 0 of customer and orders: 1 group, epsilon 1, unit customer.cust
-->   COUNT(*): ±10 at 95 %; discrete Laplace, basis rows, epsilon 1
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 3
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "l"."cust" AS "cust" FROM "memory"."main"."customer" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."cust" = "r"."cust") AS q WHERE NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Private keys: the noisy number of a key's units, and the key where it is above the threshold.
SELECT product, COUNT(DISTINCT cust) FROM item JOIN orders ON order_id = id GROUP BY product
--> epsilon 1, charged 1 and delta 1e-06
--> release 0 of item and orders: groups found in the data, epsilon 1, unit orders.cust
-->   key product: from the data: shown if enough units have it
-->   keys are shown where more than 66 units have them, noise included; a unit counts for 5 groups; truncated geometric noise, epsilon 1, delta 1e-06
-->   COUNT(DISTINCT cust): ±15 at 95 %, more near the threshold; truncated geometric, basis units, epsilon 1
-->     no other mechanism for it
-->     counted in full: 5 rows of a unit
-->     units: Δf 5, scale 5
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) FILTER(WHERE "rank" <= 5) AS "sum_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "rank" FROM (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "cust" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "l"."product" AS "product", "r"."cust" AS "cust" FROM "memory"."main"."item" AS "l" JOIN "memory"."main"."orders" AS "r" ON "l"."order_id" = "r"."id") AS q WHERE NOT "cust" IS NULL AND NOT "product" IS NULL) AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE "sum_0" > 0
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "product", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Beside other aggregates, which read the rows of chosen pairs of unit and key, weighted by those.
SELECT product, COUNT(*), SUM(qty) FROM item GROUP BY product
--> epsilon 1, charged 1 and delta 1e-06
--> release 0 of item: groups found in the data, epsilon 1, unit orders.cust
-->   key product: from the data: shown if enough units have it
-->   keys are shown where more than 125 units have them, noise included; a unit counts for 5 groups; truncated geometric noise, epsilon 0.5, delta 1e-06
-->   COUNT(*): ±42 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis endpoints, epsilon 0.5
-->     instead with cube noise: the same
-->     counts the rows with a value, as SUM(qty) does: all of them, by the policy
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     low: Δf 45, scale 90
-->     high: Δf 45, scale 90
-->   SUM(qty): ±301 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis endpoints, epsilon 0.5
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     low: Δf 45, scale 90
-->     high: Δf 45, scale 90
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) FILTER(WHERE "rank" <= 5) AS "sum_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "rank" FROM (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE "sum_0" > 0
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0", CAST(("sum_1" >> 63) AS BIGINT) AS "high_1", CAST(("sum_1" & 9223372036854775807) AS BIGINT) AS "low_1" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS "sum_0", (COALESCE(SUM("weight" * CAST("value_0" AS BIGINT)), 0) + CAST(COALESCE(SUM(CASE WHEN NOT "value_0" IS NULL THEN "weight" END), 0) AS INT128) * 9) >> 1 AS "sum_1" FROM (SELECT "_dpsql_key_0", "value_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "unit" AS "unit", ABS("value_0" - 1) - ABS("value_0" - 10) AS "value_0" FROM (SELECT "product" AS "_dpsql_key_0", "_dpsql_unit" AS "unit", CAST("qty" AS BIGINT) AS "value_0" FROM (SELECT "l"."product", "l"."qty", "l"."_dpsql_unit" FROM (SELECT "product", "qty", "_dpsql_unit", "_dpsql_unit" AS "_dpsql_chosen_unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t0"."qty", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS "l" JOIN (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS "r" ON "l"."_dpsql_key_0" IS NOT DISTINCT FROM "r"."_dpsql_key_0" AND "l"."_dpsql_chosen_unit" = "r"."unit" AND "r"."rank" <= 5) AS q WHERE NOT "product" IS NULL AND NOT "_dpsql_unit" IS NULL) AS q) AS q JOIN (SELECT "_dpsql_unit" AS "of_unit", CAST((5242880 // GREATEST(COUNT(*), 5)) AS INT) AS "weight" FROM (SELECT "l"."_dpsql_unit" FROM (SELECT "_dpsql_unit", "_dpsql_unit" AS "_dpsql_chosen_unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS "l" JOIN (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS "r" ON "l"."_dpsql_key_0" IS NOT DISTINCT FROM "r"."_dpsql_key_0" AND "l"."_dpsql_chosen_unit" = "r"."unit" AND "r"."rank" <= 5) AS q GROUP BY "_dpsql_unit") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "product", "_dpsql_number_0" AS "count", "_dpsql_number_1" AS "sum" FROM "_dpsql_release_0"

-- policy: people
-- Beside public keys, all of which are shown for each private one.
SELECT product, qty, COUNT(*) FROM item GROUP BY product, qty
--> epsilon 1, charged 1 and delta 1e-06
--> release 0 of item: groups found in the data, 10 groups of each, epsilon 1, unit orders.cust
-->   key product: from the data: shown if enough units have it
-->   key qty: 10 values from bounds: 1, 2, 3, 4, 5, 6, 7, 8, …
-->   keys are shown where more than 125 units have them, noise included; a unit counts for 5 groups; truncated geometric noise, epsilon 0.5, delta 1e-06
-->   COUNT(*): ±30 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: the same
-->     counted in full: 5 rows of a unit, of which more count in proportion
-->     rows: Δf 5, scale 10
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) FILTER(WHERE "rank" <= 5) AS "sum_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "rank" FROM (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE "sum_0" > 0
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", CAST("_dpsql_key_1" AS BIGINT) AS "_dpsql_key_1", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", "_dpsql_key_1", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM (SELECT "_dpsql_key_0", "_dpsql_key_1", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "product" AS "_dpsql_key_0", "qty" AS "_dpsql_key_1", "_dpsql_unit" AS "unit" FROM (SELECT "l"."product", "l"."qty", "l"."_dpsql_unit" FROM (SELECT "product", "qty", "_dpsql_unit", "_dpsql_unit" AS "_dpsql_chosen_unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t0"."qty", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS "l" JOIN (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS "r" ON "l"."_dpsql_key_0" IS NOT DISTINCT FROM "r"."_dpsql_key_0" AND "l"."_dpsql_chosen_unit" = "r"."unit" AND "r"."rank" <= 5) AS q WHERE NOT "product" IS NULL AND NOT "_dpsql_unit" IS NULL) AS q JOIN (SELECT "_dpsql_unit" AS "of_unit", CAST((5242880 // GREATEST(COUNT(*), 5)) AS INT) AS "weight" FROM (SELECT "l"."_dpsql_unit" FROM (SELECT "_dpsql_unit", "_dpsql_unit" AS "_dpsql_chosen_unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS "l" JOIN (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS "r" ON "l"."_dpsql_key_0" IS NOT DISTINCT FROM "r"."_dpsql_key_0" AND "l"."_dpsql_chosen_unit" = "r"."unit" AND "r"."rank" <= 5) AS q GROUP BY "_dpsql_unit") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0", "_dpsql_key_1") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_1" BETWEEN 1 AND 10) ELSE FALSE END
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "product", "_dpsql_key_1" AS "qty", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Nothing but the keys.
SELECT DISTINCT product FROM item
--> epsilon 1, charged 1 and delta 1e-06
--> release 0 of item: groups found in the data, epsilon 1, unit orders.cust
-->   key product: from the data: shown if enough units have it
-->   keys are shown where more than 66 units have them, noise included; a unit counts for 5 groups; truncated geometric noise, epsilon 1, delta 1e-06
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) FILTER(WHERE "rank" <= 5) AS "sum_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "rank" FROM (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE "sum_0" > 0
--> outer SQL (over noisy rows):
-->   SELECT DISTINCT "_dpsql_key_0" AS "product" FROM "_dpsql_release_0"

-- policy: people
-- Distinct values of chosen pairs.
SELECT product, COUNT(DISTINCT qty) FROM item GROUP BY product
--> epsilon 1, charged 1 and delta 1e-06
--> release 0 of item: groups found in the data, epsilon 1, unit orders.cust
-->   key product: from the data: shown if enough units have it
-->   keys are shown where more than 125 units have them, noise included; a unit counts for 5 groups; truncated geometric noise, epsilon 0.5, delta 1e-06
-->   COUNT(DISTINCT qty): ±30 at 95 %, bounds [1, 10], grain 1; discrete Laplace, basis present, epsilon 0.5
-->     no other mechanism for it
-->     counted in full: 5 values of a unit in all groups, chosen by a hash where it has more
-->     present: Δf 5, scale 10
-->   inner SQL (on the private engine):
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(*) FILTER(WHERE "rank" <= 5) AS "sum_0" FROM (SELECT "_dpsql_key_0" AS "_dpsql_key_0", "rank" FROM (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS q) AS q GROUP BY "_dpsql_key_0") AS q WHERE "sum_0" > 0
-->     SELECT CAST("_dpsql_key_0" AS BIGINT) AS "_dpsql_key_0", "sum_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COUNT(DISTINCT "value_0") FILTER(WHERE "rank" <= 5) AS "sum_0" FROM (SELECT "unit", "_dpsql_key_0", "value_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(319971665193361848, "unit", "_dpsql_key_0", "value_0")), "_dpsql_key_0", "value_0") AS "rank" FROM (SELECT DISTINCT "unit", "_dpsql_key_0", "value_0" FROM (SELECT "product" AS "_dpsql_key_0", "_dpsql_unit" AS "unit", "qty" AS "value_0" FROM (SELECT "l"."product", "l"."qty", "l"."_dpsql_unit" FROM (SELECT "product", "qty", "_dpsql_unit", "_dpsql_unit" AS "_dpsql_chosen_unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t0"."qty", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS "l" JOIN (SELECT "unit", "_dpsql_key_0", ROW_NUMBER() OVER (PARTITION BY "unit" ORDER BY HASH(HASH(2488519894868634961, "unit", "_dpsql_key_0")), "_dpsql_key_0") AS "rank" FROM (SELECT DISTINCT "_dpsql_unit" AS "unit", "product" AS "_dpsql_key_0" FROM (SELECT "t0"."product", "t1"."cust" AS "_dpsql_unit" FROM "memory"."main"."item" AS "t0" JOIN "memory"."main"."orders" AS "t1" ON "t0"."order_id" = "t1"."id") AS q WHERE NOT "_dpsql_unit" IS NULL AND NOT "product" IS NULL) AS q) AS "r" ON "l"."_dpsql_key_0" IS NOT DISTINCT FROM "r"."_dpsql_key_0" AND "l"."_dpsql_chosen_unit" = "r"."unit" AND "r"."rank" <= 5) AS q WHERE NOT "product" IS NULL AND NOT "_dpsql_unit" IS NULL) AS q WHERE (NOT "value_0" IS NULL)) AS q) AS q GROUP BY "_dpsql_key_0") AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_key_0" AS "product", "_dpsql_number_0" AS "count" FROM "_dpsql_release_0"

-- policy: people
-- Released groups, joined on their key: public to what reads them.
SELECT COUNT(*) FROM orders JOIN (SELECT status AS s, COUNT(*) AS n FROM orders GROUP BY s) AS q ON s = status AND priority < n
--> epsilon 1, charged 1
--> release 0 of orders: 3 groups, epsilon 0.5, unit orders.cust
-->   key status: 3 values from listed values: F, O, P
-->   COUNT(*): ±18 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 6
-->   inner SQL (on the private engine):
-->     SELECT "_dpsql_key_0", CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT "_dpsql_key_0", COUNT(*) AS "size", COALESCE(SUM("weight"), 0) AS "sum_0" FROM (SELECT "_dpsql_key_0", CAST(ABS("weight") AS BIGINT) AS "weight" FROM (SELECT "status" AS "_dpsql_key_0", "cust" AS "unit" FROM "memory"."main"."orders" WHERE NOT "cust" IS NULL) AS q JOIN (SELECT "cust" AS "of_unit", CAST((3145728 // GREATEST(COUNT(*), 3)) AS INT) AS "weight" FROM "memory"."main"."orders" GROUP BY "cust") AS w ON "unit" = "of_unit") AS q GROUP BY "_dpsql_key_0") AS q WHERE CASE WHEN "size" >= 0 THEN ("_dpsql_key_0" IN ('F', 'O', 'P')) ELSE FALSE END
--> release 1 of orders: 1 group, epsilon 0.5, unit orders.cust
-->   COUNT(*): ±18 at 95 %; discrete Laplace, basis rows, epsilon 0.5
-->     instead with cube noise: the same
-->     counted in full: 3 rows of a unit, of which more count in proportion
-->     rows: Δf 3, scale 6
-->   inner SQL (on the private engine):
-->     SELECT CAST(("sum_0" >> 63) AS BIGINT) AS "high_0", CAST(("sum_0" & 9223372036854775807) AS BIGINT) AS "low_0" FROM (SELECT COALESCE(SUM(CAST((3145728 // GREATEST("size", 3)) AS BIGINT) * CAST("sum_0" AS INT128)), 0) AS "sum_0" FROM (SELECT "unit", COUNT(*) AS "size", COUNT(*) AS "sum_0" FROM (SELECT "cust" AS "unit" FROM (SELECT "l"."cust" AS "cust", "l"."priority" AS "priority", "r"."n" AS "n" FROM "memory"."main"."orders" AS "l" JOIN (SELECT "row".c0 AS "s", "row".c1 AS "n" FROM (SELECT UNNEST(CAST($_dpsql_constant_0 AS STRUCT(c0 TEXT, c1 BIGINT)[])) AS "row") AS q) AS "r" ON "l"."status" = "r"."s") AS q WHERE (CASE WHEN "priority" < 1 THEN 1 WHEN "priority" > 5 THEN 5 ELSE "priority" END < "n") AND NOT "cust" IS NULL) AS q GROUP BY "unit") AS q) AS q
--> outer SQL (over noisy rows):
-->   SELECT "_dpsql_number_0" AS "count", "_dpsql_row" FROM "_dpsql_release_1"
