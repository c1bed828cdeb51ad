-- Tables, columns and catalogues that don't exist for analysts.

SELECT COUNT(*) FROM nosuch
--> 42P01 table nosuch does not exist
--> hint: tables of this policy: cities, people, visits
--> at 21: nosuch

SELECT COUNT(*) FROM secret.people
--> 42P01 table secret.people does not exist
--> hint: did you mean people? tables of this policy: cities, people, visits
--> at 21: secret.people

SELECT COUNT(*) FROM memory.main.people
--> 42P01 table memory.main.people does not exist
--> hint: did you mean people? tables of this policy: cities, people, visits
--> at 21: memory.main.people

SELECT COUNT(*) FROM information_schema.tables
--> 42P01 table information_schema.tables does not exist
--> hint: tables of this policy: cities, people, visits
--> at 21: information_schema.tables

SELECT COUNT(*) FROM pg_catalog.pg_class
--> 42P01 table pg_catalog.pg_class does not exist
--> hint: tables of this policy: cities, people, visits
--> at 21: pg_catalog.pg_class

SELECT reltuples FROM pg_class
--> 42P01 table pg_class does not exist
--> hint: tables of this policy: cities, people, visits
--> at 22: pg_class

SELECT * FROM sqlite_master
--> 42P01 table sqlite_master does not exist
--> hint: tables of this policy: cities, people, visits
--> at 14: sqlite_master

SELECT estimated_size FROM duckdb_tables()
--> 0A000 DUCKDB_TABLES() is a table function, which isn't supported
--> hint: read tables of the policy
--> at 27: duckdb_tables()

SELECT * FROM duckdb_settings()
--> 0A000 DUCKDB_SETTINGS() is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: duckdb_settings()

SELECT * FROM pragma_storage_info('people')
--> 0A000 PRAGMA_STORAGE_INFO('people') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: pragma_storage_info('people')

SELECT * FROM 'people.csv'
--> 42P01 table people.csv does not exist
--> hint: did you mean people? tables of this policy: cities, people, visits
--> at 14: 'people.csv'

SELECT * FROM "people.csv"
--> 42P01 table people.csv does not exist
--> hint: did you mean people? tables of this policy: cities, people, visits
--> at 14: "people.csv"

SELECT * FROM read_csv('/etc/passwd')
--> 0A000 READ_CSV('/etc/passwd') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: read_csv('/etc/passwd')

SELECT * FROM read_text('/etc/passwd')
--> 0A000 READ_TEXT('/etc/passwd') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: read_text('/etc/passwd')

SELECT * FROM read_blob('/etc/passwd')
--> 0A000 READ_BLOB('/etc/passwd') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: read_blob('/etc/passwd')

SELECT * FROM read_parquet('x.parquet')
--> 0A000 READ_PARQUET('x.parquet') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: read_parquet('x.parquet')

SELECT * FROM glob('/*')
--> 0A000 GLOB('/*') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: glob('/*')

SELECT * FROM sniff_csv('x.csv')
--> 0A000 SNIFF_CSV('x.csv') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: sniff_csv('x.csv')

SELECT * FROM parquet_metadata('x.parquet')
--> 0A000 PARQUET_METADATA('x.parquet') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: parquet_metadata('x.parquet')

SELECT * FROM query('SELECT note FROM people')
--> 0A000 QUERY('SELECT note FROM people') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: query('SELECT note FROM people

SELECT * FROM query_table('people')
--> 0A000 QUERY_TABLE('people') is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: query_table('people')

SELECT * FROM range(1000000000)
--> 0A000 RANGE(0, 1000000000) is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: range(1000000000)

SELECT * FROM generate_series(1, 10)
--> 0A000 GENERATE_SERIES(1, 10) is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: generate_series(1, 10)

SELECT * FROM repeat_row(1, num_rows = 10)
--> 0A000 REPEAT_ROW(1, num_rows = 10) is a table function, which isn't supported
--> hint: read tables of the policy
--> at 14: repeat_row(1, num_rows = 10)

SELECT * FROM secret_df
--> 42P01 table secret_df does not exist
--> hint: tables of this policy: cities, people, visits
--> at 14: secret_df

SELECT * FROM _dpsql_release_0
--> 42P01 table _dpsql_release_0 does not exist
--> hint: tables of this policy: cities, people, visits
--> at 14: _dpsql_release_0

WITH _dpsql_release_0 AS (SELECT 1) SELECT * FROM _dpsql_release_0
--> 0A000 names starting with _dpsql are reserved
--> hint: choose another name
--> at 5: _dpsql_release_0 AS (SELECT 1)

SELECT COUNT(*) AS a FROM people AS _dpsql_x
--> 0A000 names starting with _dpsql are reserved
--> hint: choose another name
--> at 26: people AS _dpsql_x

SELECT COUNT(nosuch) FROM people
--> 42703 column nosuch does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 13: nosuch) FROM people

SELECT COUNT(people.nosuch) FROM people
--> 42703 column nosuch does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 13: people.nosuch) FROM people

SELECT COUNT(other.age) FROM people
--> 42P01 table other is not in this FROM clause
--> hint: it has people
--> at 13: other.age) FROM people

SELECT COUNT(p.age) FROM people
--> 42P01 table p is not in this FROM clause
--> hint: it has people
--> at 13: p.age) FROM people

SELECT COUNT(people.age) FROM people AS p
--> 42P01 table people is not in this FROM clause
--> hint: it has p
--> at 13: people.age) FROM people AS p

SELECT COUNT(social_security) FROM people
--> 42703 column social_security does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 13: social_security) FROM people

SELECT COUNT(*) FROM people WHERE salary > 3
--> 42703 column salary does not exist in people
--> hint: columns: age, city, day, income, moment, n, note, serial, vip, wealth
--> at 34: salary > 3

SELECT COUNT(*) FROM (SELECT age FROM people) AS q WHERE n > 3
--> 42703 column n does not exist in q
--> hint: columns: age
--> at 57: n > 3

SELECT COUNT(*) FROM (SELECT age AS a, n AS a FROM people) AS q
--> 0A000 column a appears twice in a subquery
--> hint: give each its own name
--> at 39: n AS a FROM people) AS q

SELECT COUNT(*) FROM (SELECT age, n FROM people) AS q(a, a)
--> 0A000 a column name is given twice
--> hint: give each its own name
--> at 29: age, n FROM people) AS q(a, a)

SELECT COUNT(*) FROM (SELECT age FROM people) AS q(a, b)
--> 0A000 there are 2 column names for 1 columns
--> hint: leave names out: the columns are age
--> at 29: age FROM people) AS q(a, b)

SELECT COUNT(*) FROM people JOIN (SELECT age, COUNT(*) FROM people GROUP BY age) AS q(k, n, x) ON age = k
--> 0A000 there are 3 column names for 2 columns
--> hint: leave names out: the columns are age, count
--> at 41: age, COUNT(*) FROM people GROU

WITH q(k, n) AS (SELECT age, COUNT(*) FROM people GROUP BY age) SELECT COUNT(*) FROM people JOIN q ON people.age = q.age
--> 0A000 the released groups q must be joined on the whole of its key, by plain equality of columns of the same type
--> hint: write JOIN q ON q.k = …
--> at 97: q ON people.age = q.age

SELECT nosuch FROM cities
--> 42703 column nosuch does not exist in this part of the query
--> hint: in SQL, text stands in single quotes, names in double quotes
--> at 7: nosuch FROM cities

SELECT cities.nosuch FROM cities
--> 42703 column nosuch does not exist in this part of the query
--> hint: in SQL, text stands in single quotes, names in double quotes
--> at 7: cities.nosuch FROM cities

SELECT COUNT(*) AS _dpsql_key_0 FROM people
--> 0A000 names starting with _dpsql are reserved
--> hint: choose another name
--> at 7: COUNT(*) AS _dpsql_key_0 FROM

SELECT a FROM (SELECT COUNT(*) AS a FROM people) AS _dpsql_release_0
--> 0A000 names starting with _dpsql are reserved
--> hint: choose another name
--> at 22: COUNT(*) AS a FROM people) AS

SELECT a AS _dpsql_number_0 FROM (SELECT COUNT(*) AS a FROM people) AS q
--> 0A000 names starting with _dpsql are reserved
--> hint: choose another name
--> at 7: a AS _dpsql_number_0 FROM (SEL

SELECT q.a FROM (SELECT COUNT(*) FROM people) AS q (_dpsql_number_0)
--> 42703 column a does not exist in this part of the query
--> hint: in SQL, text stands in single quotes, names in double quotes
--> at 7: q.a FROM (SELECT COUNT(*) FROM
