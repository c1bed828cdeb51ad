-- Expressions over private rows that can fail, amplify work, read state or aren't deterministic.

SELECT COUNT(*) FROM people WHERE random() < 0.5
--> 0A000 the function RANDOM() isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: random() < 0.5

SELECT COUNT(*) FROM people WHERE uuid() = 'x'
--> 0A000 the function UUID() isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: uuid() = 'x'

SELECT COUNT(*) FROM people WHERE now() > day
--> 0A000 the function now isn't on the list of expressions allowed over private rows
--> hint: write CURRENT_DATE, the day in UTC; over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: now() > day

SELECT COUNT(*) FROM people WHERE CURRENT_TIMESTAMP > day
--> 0A000 the function CURRENT_TIMESTAMP isn't on the list of expressions allowed over private rows
--> hint: write CURRENT_DATE, the day in UTC; over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 54: day

SELECT COUNT(*) FROM people WHERE txid_current() > 1
--> 0A000 the function txid_current isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: txid_current() > 1

SELECT COUNT(*) FROM people WHERE getvariable('x') > 1
--> 0A000 the function getvariable isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: getvariable('x') > 1

SELECT COUNT(*) FROM people WHERE setseed(0.5) IS NULL
--> 0A000 the function setseed isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: setseed(0.5) IS NULL

SELECT COUNT(*) FROM people WHERE nextval('s') > 1
--> 0A000 the function nextval isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: nextval('s') > 1

SELECT COUNT(*) FROM people WHERE current_user = 'x'
--> 0A000 the function CURRENT_USER() isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 49: 'x'

SELECT COUNT(*) FROM people WHERE version() = 'x'
--> 0A000 the function VERSION() isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: version() = 'x'

SELECT COUNT(*) FROM people WHERE current_setting('threads') = '1'
--> 0A000 the function current_setting isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: current_setting('threads') = '

SELECT COUNT(*) FROM people WHERE error(note) IS NULL
--> 0A000 the function error isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: error(note) IS NULL

SELECT SUM(CASE WHEN age > 3 THEN error('x') ELSE 1 END) FROM people
--> 0A000 the function error isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: error('x') ELSE 1 END) FROM pe

SELECT COUNT(*) FROM people WHERE stats(age) = 'x'
--> 0A000 the function stats isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: stats(age) = 'x'

SELECT COUNT(*) FROM people WHERE typeof(age) = 'BIGINT'
--> 0A000 the function TYPEOF(age) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: typeof(age) = 'BIGINT'

SELECT COUNT(*) FROM people WHERE repeat(note, 1000000) = 'x'
--> 0A000 the function REPEAT(note, 1000000) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: repeat(note, 1000000) = 'x'

SELECT COUNT(*) FROM people WHERE lpad(note, 100000000, 'x') = 'x'
--> 0A000 the function LPAD(note, 100000000, 'x') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: lpad(note, 100000000, 'x') = '

SELECT COUNT(*) FROM people WHERE note || note = 'xx'
--> 0A000 note || note isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note || note = 'xx'

SELECT COUNT(*) FROM people WHERE concat(note, note) = 'xx'
--> 0A000 the function CONCAT(note, note) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: concat(note, note) = 'xx'

SELECT COUNT(*) FROM people WHERE replace(note, 'a', 'bbbbbbbb') = 'x'
--> 0A000 the function REPLACE(note, 'a', 'bbbbbbbb') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: replace(note, 'a', 'bbbbbbbb')

SELECT COUNT(*) FROM people WHERE regexp_matches(note, '(a+)+b')
--> 0A000 the function REGEXP_MATCHES(note, '(a+)+b') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: regexp_matches(note, '(a+)+b')

SELECT COUNT(*) FROM people WHERE note SIMILAR TO 'a.*'
--> 0A000 note SIMILAR TO 'a.*' isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note SIMILAR TO 'a.*'

SELECT COUNT(*) FROM people WHERE note ~ 'a.*'
--> 0A000 the function REGEXP_MATCHES(note, 'a.*') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note ~ 'a.*'

SELECT COUNT(*) FROM people WHERE note GLOB 'a*'
--> 0A000 note GLOB 'a*' isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note GLOB 'a*'

SELECT COUNT(*) FROM people WHERE note LIKE note
--> 0A000 the pattern of note LIKE note must be a text literal
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note LIKE note

SELECT COUNT(*) FROM people WHERE note LIKE '%a%b%c%d%e%f%'
--> 0A000 the pattern of note LIKE '%a%b%c%d%e%f%' has more than 5 wildcards
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note LIKE '%a%b%c%d%e%f%'

SELECT COUNT(*) FROM people WHERE note LIKE 'a!%' ESCAPE '!'
--> 0A000 note LIKE 'a!%' ESCAPE '!' isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note LIKE 'a!%' ESCAPE '!'

SELECT COUNT(*) FROM people WHERE note COLLATE NOCASE = 'a'
--> 0A000 the function note COLLATE NOCASE isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note COLLATE NOCASE = 'a'

SELECT COUNT(*) FROM people WHERE list_contains([1, 2], age)
--> 0A000 the function ARRAY_CONTAINS([1, 2], age) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: list_contains([1, 2], age)

SELECT COUNT(*) FROM people WHERE len(range(age)) > 3
--> 0A000 the function RANGE(0, age) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 38: range(age)) > 3

SELECT COUNT(*) FROM people WHERE json_extract(note, '$.a') = '1'
--> 0A000 the function note -> '$.a' isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: json_extract(note, '$.a') = '1

SELECT COUNT(*) FROM people WHERE CAST(note AS UUID) IS NULL
--> 0A000 a cast to UUID isn't supported over private rows
--> hint: cast to BOOLEAN, INTEGER, BIGINT, DECIMAL, DOUBLE, DATE or TIMESTAMP
--> at 39: note AS UUID) IS NULL

SELECT COUNT(*) FROM people WHERE CAST(note AS JSON) IS NULL
--> 0A000 a cast to JSON isn't supported over private rows
--> hint: cast to BOOLEAN, INTEGER, BIGINT, DECIMAL, DOUBLE, DATE or TIMESTAMP
--> at 39: note AS JSON) IS NULL

SELECT COUNT(*) FROM people WHERE CAST(note AS HUGEINT) > 3
--> 0A000 a cast to INT128 isn't supported over private rows
--> hint: cast to BOOLEAN, INTEGER, BIGINT, DECIMAL, DOUBLE, DATE or TIMESTAMP
--> at 39: note AS HUGEINT) > 3

SELECT COUNT(*) FROM people WHERE CAST(age AS VARCHAR) = '3'
--> 0A000 CAST(age AS TEXT) casts integer to text, which isn't supported
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 39: age AS VARCHAR) = '3'

SELECT COUNT(*) FROM people WHERE CAST(age AS INTEGER[]) IS NULL
--> 0A000 a cast to INT[] isn't supported over private rows
--> hint: cast to BOOLEAN, INTEGER, BIGINT, DECIMAL, DOUBLE, DATE or TIMESTAMP
--> at 39: age AS INTEGER[]) IS NULL

SELECT COUNT(*) FROM people WHERE TRY(1 / age) > 0
--> 0A000 the function TRY(1 / age) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: TRY(1 / age) > 0

SELECT COUNT(*) FROM people WHERE factorial(age) > 3
--> 0A000 the function FACTORIAL(age) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: factorial(age) > 3

SELECT COUNT(*) FROM people WHERE age << 60 > 0
--> 0A000 age << 60 isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: age << 60 > 0

SELECT COUNT(*) FROM people WHERE age & 1 = 1
--> 0A000 age & 1 isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: age & 1 = 1

SELECT COUNT(*) FROM people WHERE age ^ 100 > 3
--> 0A000 the exponent of POWER(age, 100) must be a whole number from 1 to 8
--> hint: multiply instead
--> at 34: age ^ 100 > 3

SELECT COUNT(*) FROM people WHERE POWER(income, 200) > 3
--> 0A000 the exponent of POWER(income, 200) must be a whole number from 1 to 8
--> hint: multiply instead
--> at 34: POWER(income, 200) > 3

SELECT COUNT(*) FROM people WHERE POWER(income, age) > 3
--> 0A000 the exponent of POWER(income, age) must be a whole number from 1 to 8
--> hint: multiply instead
--> at 34: POWER(income, age) > 3

SELECT COUNT(*) FROM people WHERE sin(income) > 0
--> 0A000 the function SIN(income) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: sin(income) > 0

SELECT COUNT(*) FROM people WHERE isnan(income)
--> 0A000 ISNAN(income) isn't needed: dpsql reads NaN as NULL
--> hint: write income IS NULL
--> at 34: isnan(income)

SELECT COUNT(*) FROM people WHERE make_date(age, n, n) > day
--> 0A000 the function MAKE_DATE(age, n, n) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: make_date(age, n, n) > day

SELECT COUNT(*) FROM people WHERE strptime(note, '%Y') > day
--> 0A000 the function STRPTIME(note, '%Y') isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: strptime(note, '%Y') > day

SELECT COUNT(*) FROM people WHERE strftime(day, '%A') = 'Monday'
--> 0A000 STRFTIME(day, '%A') isn't supported
--> hint: write a format of %Y, %m, %d, %H and %M: '%Y-%m'
--> at 34: strftime(day, '%A') = 'Monday'

SELECT COUNT(*) FROM people WHERE date_trunc(city, day) > day
--> 0A000 DATE_TRUNC('CITY', day) isn't supported
--> hint: truncate to one of year, quarter, month, week, day, hour, minute
--> at 34: date_trunc(city, day) > day

SELECT COUNT(*) FROM people WHERE date_trunc('millennium', day) > day
--> 0A000 DATE_TRUNC('MILLENNIUM', day) isn't supported
--> hint: truncate to one of year, quarter, month, week, day, hour, minute
--> at 34: date_trunc('millennium', day)

SELECT COUNT(*) FROM people WHERE extract('epoch' FROM day) > 3
--> 0A000 the date part epoch isn't supported
--> hint: use one of year, quarter, month, week, day, dayofweek, dow, isodow, dayofyear, doy, hour, minute, second
--> at 42: 'epoch' FROM day) > 3

SELECT COUNT(*) FROM people WHERE date_part(city, day) > 3
--> 0A000 DATE_PART(city, day) isn't supported
--> hint: write date_part('year', column)
--> at 34: date_part(city, day) > 3

SELECT COUNT(*) FROM people WHERE day + INTERVAL (age) DAY > day
--> 0A000 INTERVAL (age) DAY isn't supported
--> hint: write INTERVAL 30 DAY (or WEEK, MONTH, QUARTER, YEAR)
--> at 34: day + INTERVAL (age) DAY > day

SELECT COUNT(*) FROM people WHERE day + INTERVAL 1000000 YEAR > day
--> 0A000 INTERVAL '1000000' YEAR isn't supported
--> hint: write INTERVAL 30 DAY (or WEEK, MONTH, QUARTER, YEAR)
--> at 34: day + INTERVAL 1000000 YEAR >

SELECT COUNT(*) FROM people WHERE day + age > day
--> 0A000 day + age isn't supported
--> hint: subtract two dates, or add INTERVAL n DAY
--> at 34: day + age > day

SELECT COUNT(*) FROM people WHERE age(day) > INTERVAL 3 DAY
--> 0A000 the function age isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: age(day) > INTERVAL 3 DAY

SELECT COUNT(*) FROM people WHERE day AT TIME ZONE 'Europe/Berlin' > day
--> 0A000 day AT TIME ZONE 'Europe/Berlin' isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: day AT TIME ZONE 'Europe/Berli

SELECT COUNT(*) FROM people WHERE serial * serial > 3
--> 22023 serial * serial could overflow: column serial of people has no bounds
--> hint: the policy can set tables.people.columns.serial.bounds, or clip in the query: CLIP(serial, 0, 100), or WHERE serial BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 34: serial * serial > 3

SELECT COUNT(*) FROM people WHERE serial * serial * serial > 3
--> 22023 serial * serial could overflow: column serial of people has no bounds
--> hint: the policy can set tables.people.columns.serial.bounds, or clip in the query: CLIP(serial, 0, 100), or WHERE serial BETWEEN 0 AND 100, for 0 and 100 the least and the greatest value that you expect
--> at 34: serial * serial * serial > 3

SELECT COUNT(*) FROM people WHERE age / 2 = city
--> 0A000 age / 2 = city compares text with double
--> hint: write text in single quotes ('5'), or cast the text: CAST(x AS INTEGER)
--> at 34: age / 2 = city

SELECT COUNT(*) FROM people WHERE age = 'abc'
--> 0A000 'abc' in age = 'abc' is not a valid integer
--> hint: write a whole number, such as 42
--> at 34: age = 'abc'

SELECT COUNT(*) FROM people WHERE day = '2020-13-45'
--> 0A000 '2020-13-45' in day = '2020-13-45' is not a valid date
--> hint: write a date as '2024-12-31'
--> at 34: day = '2020-13-45'

SELECT COUNT(*) FROM people WHERE city = 5
--> 0A000 city = 5 compares text with integer
--> hint: write text in single quotes ('5'), or cast the text: CAST(x AS INTEGER)
--> at 34: city = 5

SELECT COUNT(*) FROM people WHERE age
--> 0A000 age is used as a condition but is not boolean
--> hint: compare it with a value
--> at 34: age

SELECT COUNT(*) FROM people WHERE note
--> 0A000 note is used as a condition but is not boolean
--> hint: compare it with a value
--> at 34: note

SELECT COUNT(*) FROM people WHERE 'x'
--> 0A000 'x' is used as a condition but is not boolean
--> hint: compare it with a value
--> at 34: 'x'

SELECT COUNT(*) FROM people WHERE age AND vip
--> 0A000 age is used as a condition but is not boolean
--> hint: compare it with a value
--> at 34: age AND vip

SELECT COUNT(*) FROM people WHERE NOT age
--> 0A000 age is used as a condition but is not boolean
--> hint: compare it with a value
--> at 38: age

SELECT COUNT(*) FROM people WHERE age % 2.5 = 0
--> 0A000 age % 2.5 needs integers on both sides
--> hint: use FLOOR(a / b) for other numbers
--> at 34: age % 2.5 = 0

SELECT COUNT(*) FROM people WHERE income // 2 = 0
--> 0A000 income // 2 needs integers on both sides
--> hint: use FLOOR(a / b) for other numbers
--> at 34: income // 2 = 0

SELECT COUNT(*) FROM people WHERE (age, n) = (1, 2)
--> 0A000 (age, n) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 35: age, n) = (1, 2)

SELECT COUNT(*) FROM people WHERE (age, n) IN ((1, 2))
--> 0A000 (age, n) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 35: age, n) IN ((1, 2))

SELECT COUNT(*) FROM people WHERE age IN ()
--> 0A000 age IN () isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: age IN ()

SELECT COUNT(*) FROM people WHERE age IS age
--> 0A000 age IS age isn't supported
--> hint: use IS NULL, IS NOT NULL, IS TRUE or IS FALSE
--> at 34: age IS age

SELECT COUNT(*) FROM people WHERE age IS DISTINCT FROM city
--> 0A000 age IS DISTINCT FROM city compares text with integer
--> hint: write text in single quotes ('5'), or cast the text: CAST(x AS INTEGER)
--> at 34: age IS DISTINCT FROM city

SELECT COUNT(*) FROM people WHERE ROUND(income, n) > 3
--> 0A000 the digits of ROUND(income, n) must be a whole number from -15 to 15
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: ROUND(income, n) > 3

SELECT COUNT(*) FROM people WHERE SUBSTRING(note, n, 3) = 'abc'
--> 0A000 n in SUBSTRING(note, n, 3) must be a whole number from 1 to 1000000
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 44: note, n, 3) = 'abc'

SELECT COUNT(*) FROM people WHERE LEFT(note, -1) = 'abc'
--> 0A000 -1 in LEFT(note, -1) must be a whole number from 0 to 1000000
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: LEFT(note, -1) = 'abc'

SELECT COUNT(*) FROM people WHERE people.note.x = 1
--> 42P01 table people.note is not in this FROM clause
--> hint: it has people
--> at 34: people.note.x = 1

SELECT COUNT(*) FROM people WHERE note[1] = 'a'
--> 0A000 note[1] isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: note[1] = 'a'

SELECT COUNT(*) FROM people WHERE list_transform([age], lambda x: x + 1) IS NULL
--> 0A000 the function LIST_TRANSFORM([age], LAMBDA x : x + 1) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: list_transform([age], lambda x

SELECT COUNT(*) FROM people WHERE age = 1e400
--> 0A000 the number 1e400 is too large
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 40: 1e400

SELECT COUNT(*) FROM people WHERE age = 0x10
--> 42601 the statement isn't valid SQL near x10
--> hint: SELECT COUNT(*) FROM …
--> at 41: x10

SELECT COUNT(*) FROM people WHERE age = 99999999999999999999999999999999999999999999
--> 0A000 the number 99999999999999999999… has too many digits
--> hint: use at most 37 digits, or an exponent
--> at 40: 999999999999999999999999999999

SELECT COUNT(*) FROM people WHERE COUNT(*) > 3
--> 0A000 COUNT(*) stands where a value of one row is needed
--> hint: compute the aggregate in a subquery in FROM, and use it outside
--> at 34: COUNT(*) > 3

SELECT COUNT(*) FROM people WHERE SUM(age) OVER () > 3
--> 0A000 the window function SUM(age) OVER () would read private rows
--> hint: aggregate in a subquery, then use the window function on its result
--> at 34: SUM(age) OVER () > 3

SELECT COUNT(*) FROM people WHERE COALESCE() IS NULL
--> 42601 the statement isn't valid SQL near )
--> hint: SELECT COUNT(*) FROM …
--> at 43: ) IS NULL

SELECT COUNT(*) FROM people WHERE CASE age WHEN 'x' THEN TRUE END
--> 0A000 'x' in age = 'x' is not a valid integer
--> hint: write a whole number, such as 42
--> at 39: age WHEN 'x' THEN TRUE END

SELECT COUNT(*) FROM people WHERE CASE WHEN vip THEN 1 ELSE 'x' END = 1
--> 0A000 'x' in CASE WHEN vip THEN 1 ELSE 'x' END is not a valid integer
--> hint: write a whole number, such as 42
--> at 44: vip THEN 1 ELSE 'x' END = 1

SELECT COUNT(*) FROM people WHERE GREATEST(city, 'x') = 'x'
--> 0A000 GREATEST(city, 'x') needs numbers or dates
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: GREATEST(city, 'x') = 'x'

SELECT COUNT(*) FROM people WHERE nosuch(age) = 1
--> 0A000 the function nosuch isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: nosuch(age) = 1

SELECT COUNT(*) FROM people WHERE main.upper(note) = 'X'
--> 0A000 main.upper(note) isn't on the list of expressions allowed over private rows
--> hint: over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 34: main.upper(note) = 'X'

SELECT SUM(CAST(EXP(age) AS BIGINT)) FROM people
--> 22023 SUM(CAST(EXP(age) AS BIGINT)) needs bounds: no bounds follow from the policy for CAST(EXP(age) AS BIGINT)
--> hint: clip it in the query: CLIP(CAST(EXP(age) AS BIGINT), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 16: EXP(age) AS BIGINT)) FROM peop

SELECT MEDIAN(CAST(1 / age AS DECIMAL(18, 3))) FROM people
--> 22023 MEDIAN(CAST(1 / age AS DECIMAL(18, 3))) needs bounds: no bounds follow from the policy for CAST(1 / age AS DECIMAL(18, 3))
--> hint: clip it in the query: CLIP(CAST(1 / age AS DECIMAL(18, 3)), 0, 100), for 0 and 100 the least and the greatest value that you expect
--> at 19: 1 / age AS DECIMAL(18, 3))) FR

SELECT cout(*) FROM people
--> 0A000 the function cout isn't on the list of expressions allowed over private rows
--> hint: did you mean COUNT? over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 7: cout(*) FROM people

SELECT SUM(lenght(note)) FROM people
--> 0A000 the function lenght isn't on the list of expressions allowed over private rows
--> hint: did you mean LENGTH? over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 11: lenght(note)) FROM people

SELECT WIDTH_BUCKET(age, 0, 100, 10), COUNT(*) FROM people GROUP BY 1
--> 0A000 the function WIDTH_BUCKET(age, 0, 100, 10) isn't on the list of expressions allowed over private rows
--> hint: write FLOOR(x / 10) * 10 for bins of 10; over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, UPPER, LENGTH
--> at 7: WIDTH_BUCKET(age, 0, 100, 10),
