-- What the scratch engine may not do, though it sees noisy and public numbers only.

SELECT COUNT(*), random() FROM people
--> 0A000 RANDOM() isn't supported
--> hint: use plain SQL over the released numbers
--> at 17: random() FROM people

SELECT COUNT(*), now() FROM people
--> 0A000 the function now isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 17: now() FROM people

SELECT COUNT(*), CURRENT_TIMESTAMP FROM people
--> 0A000 CURRENT_TIMESTAMP isn't supported
--> hint: use plain SQL over the released numbers

SELECT COUNT(*), getenv('HOME') FROM people
--> 0A000 the function getenv isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 17: getenv('HOME') FROM people

SELECT COUNT(*), current_setting('threads') FROM people
--> 0A000 the function current_setting isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 17: current_setting('threads') FRO

SELECT COUNT(*), getvariable('x') FROM people
--> 0A000 the function getvariable isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 17: getvariable('x') FROM people

SELECT COUNT(*), version() FROM people
--> 0A000 the function version isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 17: version() FROM people

SELECT COUNT(*), current_user FROM people
--> 0A000 CURRENT_USER() isn't supported
--> hint: use plain SQL over the released numbers

SELECT repeat('x', COUNT(*)) FROM people
--> 0A000 the function repeat isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: repeat('x', COUNT(*)) FROM peo

SELECT lpad('x', COUNT(*), 'y') FROM people
--> 0A000 the function lpad isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: lpad('x', COUNT(*), 'y') FROM

SELECT range(COUNT(*)) FROM people
--> 0A000 the function range isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: range(COUNT(*)) FROM people

SELECT generate_series(1, COUNT(*)) FROM people
--> 0A000 the function generate_series isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: generate_series(1, COUNT(*)) F

SELECT UNNEST(range(COUNT(*))) FROM people
--> 0A000 lists and records of released numbers aren't supported
--> hint: name each number by itself
--> at 7: UNNEST(range(COUNT(*))) FROM p

SELECT [COUNT(*)] FROM people
--> 0A000 lists and records of released numbers aren't supported
--> hint: name each number by itself

SELECT {'n': COUNT(*)} FROM people
--> 0A000 lists and records of released numbers aren't supported
--> hint: name each number by itself

SELECT MAP {'n': COUNT(*)} FROM people
--> 0A000 lists and records of released numbers aren't supported
--> hint: name each number by itself
--> at 12: 'n': COUNT(*)} FROM people

SELECT list_transform([1], x -> x + COUNT(*)) FROM people
--> 0A000 [1] isn't supported
--> hint: use plain SQL over the released numbers
--> at 23: 1], x -> x + COUNT(*)) FROM pe

SELECT error('x' || COUNT(*)) FROM people
--> 0A000 the function error isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: error('x' || COUNT(*)) FROM pe

SELECT read_text('/etc/passwd') FROM cities
--> 0A000 the function read_text isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: read_text('/etc/passwd') FROM

SELECT city FROM cities LIMIT (SELECT 1)
--> 0A000 LIMIT (SELECT 1) isn't a whole number
--> hint: write LIMIT 10
--> at 38: 1)

SELECT city FROM cities LIMIT 1 + 1
--> 0A000 LIMIT 1 + 1 isn't a whole number
--> hint: write LIMIT 10
--> at 30: 1 + 1

SELECT city FROM cities LIMIT 50 PERCENT
--> 0A000 a LIMIT in percent isn't supported
--> hint: write LIMIT 10
--> at 30: 50 PERCENT

SELECT COUNT(*) AS n FROM people GROUP BY city ORDER BY n FETCH FIRST 3 ROWS WITH TIES
--> 0A000 FETCH … WITH TIES isn't supported
--> hint: write LIMIT 10, or QUALIFY RANK() OVER (ORDER BY …) <= 10
--> at 70: 3 ROWS WITH TIES

SELECT city FROM cities ORDER BY city FETCH FIRST 10 PERCENT ROWS ONLY
--> 0A000 a LIMIT in percent isn't supported
--> hint: write LIMIT 10
--> at 50: 10 PERCENT ROWS ONLY

SELECT nosuch(city) FROM cities
--> 0A000 the function nosuch isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 7: nosuch(city) FROM cities

SELECT main.lower(city) FROM cities
--> 0A000 main.lower(city) isn't supported
--> hint: use plain SQL over the released numbers
--> at 7: main.lower(city) FROM cities

SELECT city FROM cities, LATERAL (SELECT 1) AS q
--> 0A000 LATERAL (SELECT 1) AS q isn't a table
--> hint: declared tables: cities, people, visits
--> at 41: 1) AS q

SELECT city FROM cities TABLESAMPLE 10 PERCENT
--> 0A000 TABLESAMPLE isn't supported here
--> hint: leave it out
--> at 17: cities TABLESAMPLE 10 PERCENT

SELECT city + 1 FROM cities
--> 0A000 this query can't be answered: No function matches the given name and argument types '+(VARCHAR, INTEGER_LITERAL)'. You might need to add explicit type casts.
--> hint: check the names and types of columns in its SELECT, GROUP BY and ORDER BY

SELECT city, COUNT(*) FROM cities
--> 0A000 this query can't be answered: column "city" must appear in the GROUP BY clause or must be part of an aggregate function.
--> hint: check the names and types of columns in its SELECT, GROUP BY and ORDER BY

SELECT a FROM (SELECT COUNT(*) AS b FROM people) AS q
--> 42703 column a does not exist in this part of the query
--> hint: in SQL, text stands in single quotes, names in double quotes
--> at 7: a FROM (SELECT COUNT(*) AS b F

SELECT COUNT(*) + city FROM people
--> 42501 column city must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY city, or an aggregate such as COUNT(city)
--> at 18: city FROM people

SELECT COUNT(*) AS a FROM people ORDER BY nosuch
--> 42703 column nosuch does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 42: nosuch

VALUES (random())
--> 0A000 RANDOM() isn't supported
--> hint: use plain SQL over the released numbers
--> at 8: random())

SELECT * FROM (VALUES (1), (2)) AS v(x), (VALUES (getenv('HOME'))) AS w(y)
--> 0A000 the function getenv isn't on the list of functions allowed over released numbers
--> hint: use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching
--> at 50: getenv('HOME'))) AS w(y)

WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT * FROM r
--> 0A000 WITH RECURSIVE isn't supported
--> hint: write plain CTEs
--> at 15: r AS (SELECT 1 AS i UNION ALL

SELECT city FROM cities FOR UPDATE
--> 0A000 FOR UPDATE isn't supported
--> hint: leave it out
--> at 7: city FROM cities FOR UPDATE

SELECT city INTO x FROM cities
--> 0A000 INTO isn't supported
--> hint: leave it out
--> at 7: city INTO x FROM cities

SELECT COUNT(*) FROM people WINDOW w AS (ORDER BY age)
--> 42501 column age must appear in GROUP BY or inside an aggregate: its values are private
--> hint: write GROUP BY age, or an aggregate such as AVG(age)
--> at 50: age)
