-- Joins, set operations, subqueries and windows over private rows.

SELECT COUNT(*) FROM people AS a JOIN people AS b ON a.city = b.city
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: aggregate each in a subquery, then join the results
--> at 38: people AS b ON a.city = b.city

SELECT COUNT(*) FROM people AS a JOIN people AS b USING (city)
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: aggregate each in a subquery, then join the results
--> at 38: people AS b USING (city)

SELECT COUNT(*) FROM people NATURAL JOIN visits
--> 0A000 NATURAL JOIN with private rows isn't supported
--> hint: name the columns: JOIN … USING (column)
--> at 41: visits

SELECT COUNT(*) FROM people, visits
--> 0A000 a row of visits is a unit of its own, so no row of another private table belongs to it
--> hint: aggregate each in a subquery, then join the results
--> at 29: visits

SELECT COUNT(*) FROM people CROSS JOIN cities
--> 0A000 the public table cities has no key that is declared unique, so a private row could meet many of its rows
--> hint: the policy can say which columns are one: tables.cities.primary_key
--> at 39: cities

SELECT COUNT(*) FROM people JOIN cities ON people.city = cities.city
--> 0A000 the public table cities has no key that is declared unique, so a private row could meet many of its rows
--> hint: the policy can say which columns are one: tables.cities.primary_key
--> at 33: cities ON people.city = cities

SELECT COUNT(*) FROM cities LEFT JOIN people ON people.city = cities.city
--> 0A000 a LEFT JOIN of the private people to public rows isn't supported
--> hint: write people first: FROM people LEFT JOIN … ON …
--> at 38: people ON people.city = cities

SELECT COUNT(*) FROM people JOIN visits ON people.age = visits.cost OR people.n = visits.cost
--> 0A000 a row of visits is a unit of its own, so no row of another private table belongs to it
--> hint: aggregate each in a subquery, then join the results
--> at 33: visits ON people.age = visits.

SELECT COUNT(*) FROM people SEMI JOIN visits ON people.age = visits.cost
--> 0A000 SEMI JOIN with private rows isn't supported
--> hint: write WHERE unit IN (SELECT unit FROM …)
--> at 38: visits ON people.age = visits.

SELECT COUNT(*) FROM people ANTI JOIN visits ON people.age = visits.cost
--> 0A000 ANTI JOIN with private rows isn't supported
--> hint: write WHERE unit NOT IN (SELECT unit FROM …)
--> at 38: visits ON people.age = visits.

SELECT COUNT(*) FROM people ASOF JOIN visits ON people.age >= visits.cost
--> 0A000 ASOF JOIN with private rows isn't supported
--> hint: write JOIN … ON, or LEFT JOIN … ON
--> at 38: visits ON people.age >= visits

SELECT COUNT(*) FROM people POSITIONAL JOIN visits
--> 0A000 POSITIONAL JOIN with private rows isn't supported
--> hint: write JOIN … ON, or LEFT JOIN … ON
--> at 44: visits

SELECT COUNT(*) FROM people, LATERAL (SELECT people.age) AS q
--> 0A000 LATERAL (SELECT people.age) AS q isn't a table
--> hint: declared tables: cities, people, visits
--> at 45: people.age) AS q

SELECT COUNT(*) FROM people, UNNEST([1, 2]) AS u(x)
--> 0A000 UNNEST([1, 2]) AS u(x) isn't a table
--> hint: declared tables: cities, people, visits
--> at 37: 1, 2]) AS u(x)

SELECT COUNT(*) FROM people, range(10)
--> 0A000 RANGE(0, 10) is a table function, which isn't supported
--> hint: read tables of the policy
--> at 29: range(10)

SELECT COUNT(*) FROM (SELECT age FROM people UNION SELECT cost FROM visits) AS q
--> 0A000 UNION over private rows isn't supported
--> hint: aggregate each side in a subquery, then combine the results
--> at 29: age FROM people UNION SELECT c

SELECT COUNT(*) FROM (SELECT age FROM people EXCEPT SELECT cost FROM visits) AS q
--> 0A000 EXCEPT over private rows isn't supported
--> hint: aggregate each side in a subquery, then combine the results
--> at 29: age FROM people EXCEPT SELECT

SELECT COUNT(*) FROM (SELECT age FROM people INTERSECT SELECT cost FROM visits) AS q
--> 0A000 INTERSECT over private rows isn't supported
--> hint: aggregate each side in a subquery, then combine the results
--> at 29: age FROM people INTERSECT SELE

WITH p AS (SELECT age FROM people) SELECT COUNT(*) FROM p AS a JOIN p AS b ON a.age = b.age
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: aggregate each in a subquery, then join the results
--> at 68: p AS b ON a.age = b.age

WITH RECURSIVE p AS (SELECT age FROM people UNION ALL SELECT age FROM p) SELECT COUNT(*) FROM p
--> 0A000 WITH RECURSIVE isn't supported
--> hint: write plain CTEs
--> at 15: p AS (SELECT age FROM people U

SELECT COUNT(*) FROM (SELECT DISTINCT city FROM people) AS q
--> 0A000 SELECT DISTINCT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 38: city FROM people) AS q

SELECT COUNT(*) FROM (SELECT DISTINCT ON (city) age FROM people) AS q
--> 0A000 SELECT DISTINCT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 42: city) age FROM people) AS q

SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 5) AS q
--> 0A000 LIMIT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 51: 5) AS q

SELECT COUNT(*) FROM (SELECT age FROM people ORDER BY age LIMIT 5 OFFSET 2) AS q
--> 0A000 LIMIT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 64: 5 OFFSET 2) AS q

SELECT COUNT(*) FROM (SELECT age, ROW_NUMBER() OVER (ORDER BY income) AS r FROM people) AS q WHERE r < 3
--> 0A000 the window function ROW_NUMBER() OVER (ORDER BY income) would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 34: ROW_NUMBER() OVER (ORDER BY in

SELECT COUNT(*) FROM (SELECT age FROM people QUALIFY ROW_NUMBER() OVER (ORDER BY age) < 3) AS q
--> 0A000 QUALIFY over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 53: ROW_NUMBER() OVER (ORDER BY ag

SELECT COUNT(*) FROM people TABLESAMPLE 10 PERCENT
--> 0A000 TABLESAMPLE isn't supported here
--> hint: leave it out
--> at 21: people TABLESAMPLE 10 PERCENT

SELECT COUNT(*) FROM people USING SAMPLE 10
--> 0A000 TABLESAMPLE isn't supported
--> hint: leave it out
--> at 7: COUNT(*) FROM people USING SAM

SELECT COUNT(*) FROM people AT (VERSION => 1)
--> 0A000 the argument VERSION isn't supported
--> hint: leave it out: aggregates take epsilon and contribution_bounds_per_row alone
--> at 32: VERSION => 1)

SELECT COUNT(*) FROM people WHERE age IN (SELECT cost FROM visits)
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: ask a query of each table
--> at 34: age IN (SELECT cost FROM visit

SELECT COUNT(*) FROM people WHERE age NOT IN (SELECT cost FROM visits)
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: ask a query of each table
--> at 34: age NOT IN (SELECT cost FROM v

SELECT COUNT(*) FROM people WHERE city IN (SELECT city FROM people WHERE age = 99)
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: ask a query of each table
--> at 34: city IN (SELECT city FROM peop

SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE cost = people.age)
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: ask a query of each table
--> at 49: 1 FROM visits WHERE cost = peo

SELECT COUNT(*) FROM people WHERE NOT EXISTS (SELECT 1 FROM visits)
--> 0A000 a row of people is a unit of its own, so no row of another private table belongs to it
--> hint: ask a query of each table
--> at 53: 1 FROM visits)

SELECT COUNT(*) FROM people WHERE age > ALL (SELECT cost FROM visits)
--> 0A000 ALL (SELECT cost FROM visits) isn't supported
--> hint: write IN or EXISTS
--> at 52: cost FROM visits)

SELECT COUNT(*) FROM people WHERE age = ANY (SELECT cost FROM visits)
--> 0A000 ANY (SELECT cost FROM visits) isn't supported
--> hint: write IN or EXISTS
--> at 52: cost FROM visits)

SELECT COUNT(*) FROM people WHERE (SELECT TRUE)
--> 0A000 the subquery is used as a condition but is not boolean
--> hint: compare it with a value

SELECT (SELECT MODE(age) FROM people)
--> 0A000 the aggregate MODE(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 15: MODE(age) FROM people)

SELECT (SELECT age FROM people LIMIT 1)
--> 0A000 LIMIT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 37: 1)

SELECT COUNT(*), (SELECT note FROM people LIMIT 1) FROM people
--> 0A000 LIMIT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 48: 1) FROM people

SELECT COUNT(*) FROM people HAVING COUNT(*) > (SELECT MODE(age) FROM people)
--> 0A000 the aggregate MODE(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 54: MODE(age) FROM people)

SELECT COUNT(*) FROM people ORDER BY (SELECT MODE(age) FROM people)
--> 0A000 the aggregate MODE(age) isn't supported
--> hint: use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX
--> at 45: MODE(age) FROM people)

SELECT COUNT(*) FROM people LIMIT (SELECT MAX(age) FROM people)
--> 0A000 LIMIT (SELECT MAX(age) FROM people) isn't a whole number
--> hint: write LIMIT 10
--> at 46: age) FROM people)

SELECT COUNT(*) FROM cities WHERE city IN (SELECT city FROM people)
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 50: city FROM people)

SELECT COUNT(*) FROM cities WHERE EXISTS (SELECT 1 FROM people WHERE people.city = cities.city)
--> 42P01 table cities is not in this FROM clause
--> hint: it has people
--> at 83: cities.city)

SELECT region, (SELECT COUNT(*) FROM people WHERE people.city = cities.city) FROM cities
--> 42P01 table cities is not in this FROM clause
--> hint: it has people
--> at 64: cities.city) FROM cities

SELECT q.n + people.age FROM (SELECT COUNT(*) AS n FROM people) AS q, people
--> 0A000 a join of the private people with this result of a query isn't supported: only the groups of one release with their numbers can be joined to private rows
--> hint: aggregate people in a subquery first, then join its result: SELECT … FROM (SELECT key, COUNT(*) AS n FROM people GROUP BY key) AS q JOIN …
--> at 37: COUNT(*) AS n FROM people) AS

SELECT COUNT(*) FROM people PIVOT (COUNT(*) FOR city IN ('A', 'B'))
--> 0A000 PIVOT isn't supported here
--> hint: leave it out
--> at 21: people PIVOT (COUNT(*) FOR cit

SELECT COUNT(*) FROM (SELECT age AS a FROM people) JOIN (SELECT age AS b FROM people) ON a = b
--> 0A000 two of FROM have no name
--> hint: give each an alias of its own
--> at 29: age AS a FROM people) JOIN (SE
