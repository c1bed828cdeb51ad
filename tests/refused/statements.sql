-- What is not one SELECT: other statements, several statements, text that no parser takes.

SELECT COUNT(*) FROM people; SELECT note FROM people
--> 42601 there are 2 statements; send one SELECT
--> hint: SELECT COUNT(*) FROM …

SELECT COUNT(*) FROM people; DROP TABLE people
--> 42601 there are 2 statements; send one SELECT
--> hint: SELECT COUNT(*) FROM …

;
--> 42601 the statement is empty; send one SELECT
--> hint: SELECT COUNT(*) FROM …

-- an empty text

/* nothing */
--> 42601 the statement is empty; send one SELECT
--> hint: SELECT COUNT(*) FROM …

INSERT INTO people VALUES (1)
--> 0A000 INSERT is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: INSERT INTO people VALUES (1)

UPDATE people SET age = 1
--> 0A000 UPDATE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: UPDATE people SET age = 1

DELETE FROM people
--> 0A000 DELETE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: DELETE FROM people

CREATE TABLE copy AS SELECT * FROM people
--> 0A000 CREATE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: CREATE TABLE copy AS SELECT *

CREATE TEMP VIEW v AS SELECT * FROM people
--> 0A000 CREATE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: CREATE TEMP VIEW v AS SELECT *

CREATE MACRO f() AS TABLE SELECT * FROM people
--> 0A000 CREATE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: CREATE MACRO f() AS TABLE SELE

DROP TABLE people
--> 0A000 DROP is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: DROP TABLE people

ALTER TABLE people ADD COLUMN z INTEGER
--> 0A000 ALTER is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: ALTER TABLE people ADD COLUMN

COPY people TO 'out.csv'
--> 0A000 COPY is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: COPY people TO 'out.csv'

COPY (SELECT note FROM people) TO 'out.csv'
--> 0A000 COPY is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: COPY (SELECT note FROM people)

EXPORT DATABASE 'out'
--> 42601 the statement isn't valid SQL near 'out'
--> hint: SELECT COUNT(*) FROM …
--> at 16: 'out'

ATTACH 'other.duckdb'
--> 0A000 ATTACH is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: ATTACH 'other.duckdb'

DETACH other
--> 0A000 DETACH is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: DETACH other

USE other
--> 0A000 USE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: USE other

INSTALL httpfs
--> 0A000 INSTALL is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: INSTALL httpfs

LOAD httpfs
--> 0A000 LOAD is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: LOAD httpfs

SET threads = 8
--> 0A000 SET is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: SET threads = 8

SET VARIABLE x = (SELECT MAX(age) FROM people)
--> 0A000 SET is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: SET VARIABLE x = (SELECT MAX(a

RESET threads
--> 0A000 RESET is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: RESET threads

PRAGMA database_list
--> 0A000 PRAGMA is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: PRAGMA database_list

CHECKPOINT
--> 0A000 CHECKPOINT is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: CHECKPOINT

VACUUM
--> 0A000 VACUUM is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: VACUUM

CALL pragma_storage_info('people')
--> 0A000 CALL is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: CALL pragma_storage_info('peop

DESCRIBE people
--> 0A000 DESCRIBE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: people (age, income, wealth, n, serial, vip, city, note, day, moment); visits (cost, clinic); cities (city, region)
--> at 0: DESCRIBE people

SHOW TABLES
--> 0A000 SHOW is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: people (age, income, wealth, n, serial, vip, city, note, day, moment); visits (cost, clinic); cities (city, region)
--> at 0: SHOW TABLES

SUMMARIZE people
--> 0A000 SUMMARIZE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: people (age, income, wealth, n, serial, vip, city, note, day, moment); visits (cost, clinic); cities (city, region)
--> at 0: SUMMARIZE people

PREPARE q AS SELECT COUNT(*) FROM people
--> 0A000 PREPARE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: PREPARE q AS SELECT COUNT(*) F

EXECUTE q
--> 0A000 EXECUTE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: EXECUTE q

DEALLOCATE q
--> 0A000 DEALLOCATE is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: DEALLOCATE q

BEGIN
--> 0A000 BEGIN is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: BEGIN

COMMIT
--> 0A000 COMMIT is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: COMMIT

EXPLAIN ANALYZE SELECT COUNT(*) FROM people
--> 0A000 EXPLAIN ANALYZE would run the query
--> hint: write EXPLAIN SELECT …

EXPLAIN (FORMAT yaml) SELECT COUNT(*) FROM people
--> 42601 EXPLAIN's format is JSON or TEXT
--> hint: EXPLAIN (FORMAT json) SELECT …

FROM people
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 0: FROM people

TABLE people
--> 42501 this query returns rows of the private table people; only aggregates of them can be released
--> hint: ask for an aggregate: SELECT COUNT(*) FROM people
--> at 6: people

PIVOT people ON city USING COUNT(*)
--> 0A000 PIVOT is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: PIVOT people ON city USING COU

UNPIVOT people ON age INTO NAME n VALUE v
--> 0A000 UNPIVOT is not a query: only SELECT and EXPLAIN SELECT are answered
--> hint: write SELECT COUNT(*) FROM …
--> at 0: UNPIVOT people ON age INTO NAM

SELECT * FROM SELECT * FROM people
--> 0A000 SELECT * FROM people isn't a table
--> hint: declared tables: cities, people, visits
--> at 21: * FROM people

SELECT COUNT(* FROM people
--> 42601 the statement isn't valid SQL near FROM
--> hint: SELECT COUNT(*) FROM …
--> at 15: FROM people

SELECT 'unclosed
--> 42601 the statement can't be split into words: a quote or comment isn't closed
--> hint: close it

SELECT "unclosed
--> 42601 the statement can't be split into words: a quote or comment isn't closed
--> hint: close it

SELECT COUNT(*) FROM people WHERE age >
--> 42601 the statement isn't valid SQL near >
--> hint: SELECT COUNT(*) FROM …
--> at 38: >

SELECT COUNT(*) FROM people )
--> 42601 the statement isn't valid SQL near )
--> hint: SELECT COUNT(*) FROM …
--> at 28: )

SELECT ((((((((((((((((((((((((((((((COUNT(*)))))))))))))))))))))))))))))))) FROM people
--> 42601 the statement nests deeper than 24 levels
--> hint: use WITH to name the inner parts
--> at 31: ((((((COUNT(*)))))))))))))))))

SELECT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT TRUE FROM people
--> 42601 the statement nests deeper than 24 levels
--> hint: use WITH to name the inner parts
--> at 87: NOT NOT TRUE FROM people

SELECT COUNT(*) FROM people WHERE age > ?
--> 22P02 parameter 1 has no value
--> hint: give one value for each placeholder

SELECT COUNT(*) FROM people WHERE age > $1
--> 22P02 parameter 1 has no value
--> hint: give one value for each placeholder

SELECT COUNT(*) FROM people WHERE age > :limit
--> 22P02 parameter limit has no value
--> hint: give one value for each placeholder

EXPLAIN (ANALYZE, BUFFERS) SELECT COUNT(*) FROM people
--> 0A000 EXPLAIN ANALYZE would run the query
--> hint: write EXPLAIN SELECT …

EXPLAIN VERBOSE SELECT COUNT(*) FROM people
--> 0A000 EXPLAIN has no options here but FORMAT alone
--> hint: write EXPLAIN SELECT …, or EXPLAIN (FORMAT json) SELECT …

EXPLAIN (FORMAT json, COSTS off) SELECT COUNT(*) FROM people
--> 0A000 EXPLAIN has no options here but FORMAT alone
--> hint: write EXPLAIN SELECT …, or EXPLAIN (FORMAT json) SELECT …

EXPLAIN (COSTS off) SELECT COUNT(*) FROM people
--> 0A000 EXPLAIN has no options here but FORMAT alone
--> hint: write EXPLAIN SELECT …, or EXPLAIN (FORMAT json) SELECT …

-- dialect: postgres
EXPLAIN SELECT COUNT(*) FROM people AS p q
--> 42601 the statement isn't valid SQL near q
--> hint: SELECT COUNT(*) FROM …
--> at 41: q

SELECT COUNT(*) FROM people OPTIONS(epsilon = 0.5)
--> 42601 OPTIONS can't be written like this
--> hint: write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM …
--> at 28: OPTIONS(epsilon = 0.5)
