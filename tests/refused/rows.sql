-- What would return rows of a private table, or one of their values.

SELECT * FROM people
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 7: * FROM people

SELECT age FROM people
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 7: age FROM people

SELECT 1 FROM people
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 7: 1 FROM people

SELECT people FROM people
--> 42703 column people does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 7: people FROM people

SELECT people.* FROM people
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 7: people.* FROM people

SELECT COUNT(*), age FROM people
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 17: age FROM people

SELECT *, COUNT(*) FROM people
--> 42501 * in an aggregating SELECT would return private rows
--> hint: name the group keys and aggregates
--> at 7: *, COUNT(*) FROM people

SELECT age, COUNT(*) FROM people
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 7: age, COUNT(*) FROM people

SELECT age + 1, COUNT(*) FROM people GROUP BY age % 3
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 7: age + 1, COUNT(*) FROM people

SELECT * EXCLUDE (note) FROM people
--> 0A000 * EXCLUDE (note) isn't supported
--> hint: name the columns
--> at 7: * EXCLUDE (note) FROM people

SELECT * REPLACE (1 AS age) FROM people
--> 0A000 * REPLACE (1 AS age) isn't supported
--> hint: name the columns
--> at 7: * REPLACE (1 AS age) FROM peop

SELECT COLUMNS('a.*') FROM people
--> 0A000 the function COLUMNS('a.*') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 7: COLUMNS('a.*') FROM people

SELECT MAX(COLUMNS(*)) FROM people
--> 0A000 the function COLUMNS(*) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 11: COLUMNS(*)) FROM people

SELECT #1 FROM people
--> 0A000 #1 isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH

SELECT rowid FROM people
--> 42703 column rowid does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 7: rowid FROM people

SELECT COUNT(rowid) FROM people
--> 42703 column rowid does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 13: rowid) FROM people

SELECT COUNT(*) FROM (SELECT DISTINCT city FROM people) AS q
--> 0A000 SELECT DISTINCT over rows of the private table people isn't supported
--> hint: aggregate first: SELECT … COUNT(*) FROM people GROUP BY …
--> at 38: city FROM people) AS q

SELECT DISTINCT ON (city) age FROM people
--> 0A000 SELECT DISTINCT over rows of the private table people isn't supported
--> hint: rows are never shown, only aggregates of them: SELECT COUNT(*) FROM people
--> at 20: city) age FROM people

SELECT COUNT(*) FROM (SELECT city FROM people GROUP BY city) AS q
--> 0A000 a subquery that only lists the groups of a private table would list its public keys
--> hint: add an aggregate such as COUNT(*)
--> at 29: city FROM people GROUP BY city

SELECT age FROM people LIMIT 1
--> 0A000 LIMIT over rows of the private table people isn't supported
--> hint: rows are never shown, only aggregates of them: SELECT COUNT(*) FROM people
--> at 29: 1

SELECT age FROM people ORDER BY age DESC LIMIT 1
--> 0A000 LIMIT over rows of the private table people isn't supported
--> hint: rows are never shown, only aggregates of them: SELECT COUNT(*) FROM people
--> at 47: 1

WITH p AS (SELECT * FROM people) SELECT * FROM p
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 5: p AS (SELECT * FROM people) SE

WITH p AS (SELECT age FROM people) SELECT age FROM p
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 5: p AS (SELECT age FROM people)

SELECT * FROM (SELECT age FROM people) AS q
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 7: * FROM (SELECT age FROM people

(SELECT age FROM people)
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 8: age FROM people)

SELECT age FROM people UNION ALL SELECT 1
--> 0A000 UNION over private rows isn't supported
--> hint: aggregate each side in a subquery, then combine the results
--> at 7: age FROM people UNION ALL SELE

SELECT age FROM people EXCEPT SELECT 1
--> 0A000 EXCEPT over private rows isn't supported
--> hint: aggregate each side in a subquery, then combine the results
--> at 7: age FROM people EXCEPT SELECT

SELECT COUNT(*) FROM people UNION ALL SELECT age FROM people
--> 0A000 UNION over private rows isn't supported
--> hint: aggregate each side in a subquery, then combine the results
--> at 7: COUNT(*) FROM people UNION ALL

SELECT CASE WHEN COUNT(*) > 3 THEN age END FROM people
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 35: age END FROM people

SELECT COUNT(*) FROM people HAVING age > 3
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 35: age > 3

SELECT COUNT(*) FROM people ORDER BY age
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 37: age

SELECT COUNT(*) OVER () FROM people
--> 0A000 the window function COUNT(*) OVER () would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 7: COUNT(*) OVER () FROM people

SELECT SUM(age) OVER (PARTITION BY city) FROM people
--> 0A000 the window function SUM(age) OVER (PARTITION BY city) would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 7: SUM(age) OVER (PARTITION BY ci

SELECT ROW_NUMBER() OVER (ORDER BY income) FROM people
--> 0A000 the window function ROW_NUMBER() OVER (ORDER BY income) would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 7: ROW_NUMBER() OVER (ORDER BY in

SELECT LAG(age) OVER (ORDER BY income) FROM people
--> 0A000 the window function LAG(age) OVER (ORDER BY income) would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 7: LAG(age) OVER (ORDER BY income

SELECT COUNT(*) FROM people GROUP BY ALL ORDER BY note
--> 42501 column note must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY note, or an aggregate such as COUNT(note)
--> at 50: note

SELECT age, COUNT(*) FROM people GROUP BY city
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 7: age, COUNT(*) FROM people GROU

SELECT note, COUNT(*) FROM people GROUP BY ALL
--> 22023 the values of column note of people are private, so they can't be group keys
--> hint: the policy can list tables.people.columns.note.keys, or list them in the query: WHERE note IN ('a', 'b'); or the policy can allow keys that aren't public: privacy.delta
--> at 7: note, COUNT(*) FROM people GRO
