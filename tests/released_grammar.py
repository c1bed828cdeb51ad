"""A grammar of statements over noisy numbers: releases, and what SQL does with them.

Every release can have the same six columns, so that every template fits every release: a number `g`, a text `h`, a
moment `w`, a truth `v` (each of them a group key or computed), a count `a` and a sum `r`. It has those that are used.
All numbers are exact without noise (counts, sums of integers, no empty groups), so the very same text must give the
same rows in plain DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

KEYS = {
    "g": ("k", "n // 4", "QUARTER(d)", "n % 3", "CASE WHEN n < 5 THEN k ELSE 2 END"),
    "h": ("city", "tier", "CASE WHEN n < 3 THEN 'low' WHEN n < 7 THEN 'mid' ELSE 'high' END", "LOWER(tier)"),
    "w": ("DATE_TRUNC('month', d)", "DATE_TRUNC('quarter', d)", "DATE_TRUNC('year', d)"),
    "v": ("b", "n > 5", "bn IS NULL", "k = 1"),
}
COMPUTED = {
    "g": ("COUNT(m) + 1", "COUNT(*) % 3"),
    "h": ("CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END", "CONCAT('Group ', COUNT(m))"),
    "w": ("TIMESTAMP '2020-01-31 10:20:30.5' + TO_HOURS(COUNT(*))",),
    "v": ("COUNT(*) > 2", "COUNT(m) < COUNT(*)"),
}
"""What stands for a key that a release does not group by."""
COUNTS = (
    *["COUNT(*)"] * 6, "COUNT(m)", "COUNT(DISTINCT n)", "COALESCE(CAST(COUNT_IF(n > 3) AS BIGINT), 0)", "COUNT(bn)",
    "COUNT(*) FILTER (WHERE n > 2)",
)  # fmt: skip
SUMS = (
    *["CAST(COALESCE(SUM(m), 0) AS BIGINT)"] * 4, "CAST(COALESCE(SUM(n), 0) AS BIGINT)",
    "CAST(COALESCE(SUM(n * k), 0) AS BIGINT)", "CAST(COALESCE(SUM(DISTINCT k), 0) AS BIGINT)",
    "CAST(COALESCE(SUM(n - 5) FILTER (WHERE NOT b), 0) AS BIGINT)",
)  # fmt: skip
WHERES = (
    *[""] * 20, "n >= 2", "n BETWEEN 1 AND 9", "tier = 'Gold' OR n > 3", "NOT b OR k IN (1, 3)", "m IS NOT NULL",
    "x > -500 OR x IS NULL", "d >= DATE '2020-01-01'", "note LIKE '%a%' OR note IS NULL",
)  # fmt: skip
GROUPINGS = ("{aliases}", "{ordinals}", "ALL", "{expressions}")
COLUMNS = ("g", "h", "w", "v", "a", "r")

_TEXT = {
    "int": """
        {int} + {int} | {int} - {int} | {int} * {small} | -({int}) | {int} // {pos} | {int} % {pos} | ABS({int})
        ASCII({text}) | UNICODE({text}) | ORD({text}) | CHAR_LENGTH({text}) | CHARACTER_LENGTH({text}) | LEN({text})
        LENGTH({text}) | STRLEN({text}) | INSTR({text}, 'a') | POSITION('o' IN {text}) | STRPOS({text}, 'e')
        DATE_DIFF('day', {ts}, {ts}) | DATEDIFF('month', {date}, {ts}) | DATE_SUB('month', {ts}, {ts})
        DATESUB('day', {date}, {date}) | DATE_PART('year', {ts}) | DATEPART('hour', {ts}) | EXTRACT(DOY FROM {ts})
        EXTRACT(MINUTE FROM {ts}) | YEAR({ts}) | QUARTER({date}) | MONTH({ts}) | WEEK({date}) | WEEKOFYEAR({ts})
        DAY({date}) | DAYOFMONTH({ts}) | DAYOFWEEK({date}) | DAYOFYEAR({ts}) | WEEKDAY({ts}) | ISODOW({date})
        ISOYEAR({ts}) | YEARWEEK({date}) | CENTURY({ts}) | DECADE({date}) | MILLENNIUM({ts}) | ERA({date})
        HOUR({ts}) | MINUTE({ts}) | SECOND({ts}) | MILLISECOND({ts}) | MICROSECOND({ts}) | EPOCH_MS({ts})
        EPOCH_US({ts}) | EPOCH_NS({ts}) | FACTORIAL(CAST({small} AS INTEGER)) | GCD({int}, {int})
        GREATEST_COMMON_DIVISOR({int}, 12) | LCM({small}, {pos}) | LEAST_COMMON_MULTIPLE({small}, 4)
        GREATEST({int}, {int}) | LEAST({int}, {int}, 7) | IF({bool}, {int}, {int}) | IFNULL(NULLIF({int}, 2), -1)
        COALESCE(NULLIF({int}, 1), {int}) | MOD({int}, {pos}) | ADD({int}, {int}) | SUBTRACT({int}, {int})
        MULTIPLY({int}, {small}) | DIVIDE({int}, {pos}) | SIGN({int}) | XOR({int}, {int})
        CASE WHEN {bool} THEN {int} WHEN {bool} THEN {int} ELSE 0 END | CASE {g} WHEN 1 THEN {int} END
        CAST({dbl} AS BIGINT) | TRY_CAST({text} AS INTEGER) | CAST({bool} AS INTEGER) | ({int})
    """,
    "dbl": """
        {int} / {pos} | {dbl} + {int} | {dbl} - {dbl} | {dbl} * 0.5 | -({dbl}) | {int} * 1.25 | ABS({dbl})
        ACOS({unit}) | ACOSH({pos}) | ASIN({unit}) | ASINH({dbl}) | ATAN({dbl}) | ATAN2({dbl}, {dbl})
        ATANH({unit} * 0.5) | CBRT({dbl}) | CEIL({dbl}) | CEILING({dbl}) | FLOOR({dbl}) | COS({dbl}) | COSH({unit})
        COT({pos}) | DEGREES({dbl}) | RADIANS({dbl}) | EVEN({dbl}) | EXP({unit}) | FMOD({dbl}, 3.5) | GAMMA({small} + 1)
        LGAMMA({pos}) | LN({pos}) | LOG({pos}) | LOG(3, {pos}) | LOG2({pos}) | LOG10({pos}) | NEXTAFTER({dbl}, 100.0)
        PI() | POW({dbl}, 2) | POWER({unit}, 3) | {unit} ** 2 | ROUND({dbl}) | ROUND({dbl}, 1) | ROUND_EVEN({dbl}, 0)
        SIN({dbl}) | SINH({unit}) | SQRT({pos}) | TAN({unit}) | TANH({dbl}) | TRUNC({dbl}) | EPOCH({ts}) | JULIAN({ts})
        CAST({int} AS DOUBLE) | CAST({int} AS DECIMAL(18, 2)) | CASE WHEN {bool} THEN {dbl} ELSE {int} END
        COALESCE({dbl}, 0) | LEAST(GREATEST({dbl}, -3), 3) | 100.0 * {a} / (SELECT COUNT(*) + 1 FROM t)
    """,
    "text": """
        CHR(CAST(65 + {small} AS INTEGER)) | CONCAT({text}, {int}) | CONCAT_WS('-', {text}, {int}) | {text} || {int}
        DAYNAME({date}) | MONTHNAME({ts}) | LCASE({text}) | LOWER({text}) | UCASE({text}) | UPPER({text})
        LEFT({text}, 2) | RIGHT({text}, 1) | LTRIM({text}) | RTRIM({text}) | TRIM({text}) | TRIM({text}, 'aA')
        REVERSE({text}) | REGEXP_EXTRACT({text}, '[a-z]+') | STRFTIME({ts}, '%Y-%m-%d %H') | STRIP_ACCENTS({text})
        SUBSTR({text}, 2, 2) | SUBSTRING({text}, 2) | TRANSLATE({text}, 'abe', 'xy') | TYPEOF({any})
        COALESCE({text}, 'none') | NULLIF({text}, 'low') | CASE WHEN {bool} THEN {text} ELSE 'x' END
        CAST({any} AS VARCHAR)
    """,
    "bool": """
        {int} = {int} | {int} <> {int} | {int} < {dbl} | {int} <= {int} | {int} > {small} | {dbl} >= {int}
        {int} >= {small} | {text} = 'low' | {text} < 'm' | {ts} < {ts} | {date} >= DATE '2020-02-01' | {bool} AND {bool}
        {bool} OR {bool} | NOT {bool} | {int} BETWEEN {small} AND 9 | {int} NOT BETWEEN 2 AND 4 | {int} IN (1, 2, {int})
        {text} NOT IN ('A', 'Gold') | {h} IS NULL | {any} IS NOT NULL | {bool} IS TRUE | {bool} IS NOT FALSE
        {int} IS DISTINCT FROM {int} | {text} IS NOT DISTINCT FROM {text} | {text} LIKE '%a%' | {text} NOT ILIKE 'G%'
        {text} LIKE '%#_%' ESCAPE '#' | {text} SIMILAR TO '[a-z]+' | CONTAINS({text}, 'o') | STARTS_WITH({text}, 'G')
        PREFIX({text}, 'm') | ENDS_WITH({text}, 'd') | SUFFIX({text}, 'w') | REGEXP_MATCHES({text}, '^[a-m]')
        REGEXP_FULL_MATCH({text}, '.*') | ISFINITE({dbl}) | ISINF({dbl}) | ISNAN({dbl}) | SIGNBIT({dbl})
        {int} IN (SELECT n % 5 + COUNT(*) FROM t GROUP BY n HAVING COUNT(*) > 0) | {int} NOT IN (SELECT COUNT(*) FROM t)
        EXISTS (SELECT k FROM t GROUP BY k HAVING COUNT(*) > 5) | {int} > (SELECT COUNT(*) // 8 FROM t)
        NOT EXISTS (SELECT 1 FROM cities WHERE country = 'none')
        {int} >= ALL (SELECT COUNT(*) // 9 FROM t GROUP BY b HAVING COUNT(*) > 0)
        {int} = ANY (SELECT k FROM t GROUP BY k HAVING COUNT(*) > 0) | TRUE
    """,
    "date": """
        {date} + {small} | {date} - 3 | CAST({ts} AS DATE) | LAST_DAY({date}) | MAKE_DATE(2020, 1 + {small}, 3)
        GREATEST({date}, DATE '2020-01-15') | COALESCE({date}, DATE '2020-01-01')
    """,
    "ts": """
        DATE_TRUNC('month', {ts}) | DATETRUNC('hour', {ts}) | TIME_BUCKET(INTERVAL 7 DAY, {ts})
        MAKE_TIMESTAMP(2020, 1 + {small}, 2, 3, 4, 5.5) | TRY_STRPTIME('2020-0' || {small}, '%Y-%m') | {ts} + {span}
        {ts} - INTERVAL 1 MONTH | {ts} + INTERVAL '3' DAY | CAST({date} AS TIMESTAMP) | LEAST({ts}, {ts})
    """,
    "span": """
        TO_DAYS(CAST({small} AS INTEGER)) | TO_HOURS({int}) | TO_MINUTES({int}) | TO_MONTHS(CAST({small} AS INTEGER))
        TO_SECONDS({int}) | TO_WEEKS(CAST({small} AS INTEGER)) | TO_YEARS(CAST({small} AS INTEGER))
    """,
    "time": """
        MAKE_TIME(1 + {small}, 2, 3.5) | CAST({ts} AS TIME)
    """,
    "small": """
        ABS({int}) % 7 | LEAST({pos}, 8)
    """,
    "pos": """
        ABS({int}) + 1 | GREATEST({int}, 1)
    """,
    "unit": """
        1.0 / {pos} | 1 / (1 + ABS({dbl}))
    """,
}
LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("{a}", "{r}", "{g}", "{a}", "{r}", "3", "-2"),
    "dbl": ("{a} / 4", "{r} * 0.125", "{a} + 0.5"),
    "text": ("{h}", "{h}", "{h}", "'Hello, World'", "' é_a '"),
    "bool": ("{v}", "{a} > 2"),
    "date": ("CAST({w} AS DATE)", "DATE '2020-02-29'"),
    "ts": ("{w}", "{w}", "TIMESTAMP '2021-03-04 05:06:07.25'"),
    "span": ("INTERVAL 2 DAY",),
    "time": ("TIME '01:02:03'",),
    "small": ("1", "3"),
    "pos": ("2", "5"),
    "unit": ("0.25", "1.0"),
}
ANY = ("int", "dbl", "text", "bool", "date", "ts", "time", "span")

_AGGREGATES = """
    ANY_VALUE({int} ORDER BY {unique}) | APPROX_COUNT_DISTINCT({text}) | ARBITRARY({text} ORDER BY {unique})
    FIRST({int} ORDER BY {unique}) | LAST({text} ORDER BY {unique}) | ARGMAX({int}, {id}) | ARGMIN({text}, {id})
    ARG_MAX({int}, {id}) | ARG_MIN({int}, {id}) | MAX_BY({text}, {id}) | MIN_BY({int}, {id}) | AVG({int}) | MEAN({dbl})
    FAVG({int}) | FSUM({dbl}) | SUM({int}) | SUM(DISTINCT {int}) | PRODUCT({unit}) | MIN({text}) | MAX({int})
    MAX({ts}) | BIT_AND({int}) | BIT_OR({int}) | BIT_XOR({int}) | BOOL_AND({bool}) | BOOL_OR({bool}) | COUNT({text})
    COUNT(*) | COUNT(DISTINCT {int}) | COUNT_STAR() | COUNTIF({bool}) | COUNT_IF({bool}) | CORR({int}, {dbl})
    COVAR_POP({int}, {int}) | COVAR_SAMP({int}, {dbl}) | ENTROPY({int}) | KURTOSIS({int}) | KURTOSIS_POP({int})
    SKEWNESS({int}) | SEM({int}) | MAD({int}) | MEDIAN({int}) | MODE({small} - {small} + 1)
    QUANTILE({int}, 0.5) | QUANTILE_CONT({int}, 0.25) | QUANTILE_DISC({int}, 0.75)
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {int}) | PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {int} DESC)
    REGR_AVGX({int}, {int}) | REGR_AVGY({int}, {int}) | REGR_COUNT({int}, {int}) | REGR_INTERCEPT({r}, {a})
    REGR_R2({r}, {a}) | REGR_SLOPE({r}, {a}) | REGR_SXX({int}, {int}) | REGR_SXY({int}, {int}) | REGR_SYY({int}, {int})
    STDDEV({int}) | STDDEV_POP({int}) | STDDEV_SAMP({int}) | VARIANCE({int}) | VAR_POP({int}) | VAR_SAMP({int})
    STRING_AGG({text}, ',' ORDER BY {unique}) | GROUP_CONCAT({text} ORDER BY {unique})
    LISTAGG({text}, '; ' ORDER BY {unique}) | SUM({int}) FILTER (WHERE {bool}) | COUNT(*) FILTER (WHERE {bool})
    AVG({int}) * COUNT(*) | CASE WHEN COUNT(*) > 2 THEN MAX({int}) ELSE MIN({int}) END | ROUND(AVG({int}), 3)
"""
_WINDOWS = """
    ROW_NUMBER() OVER (ORDER BY {unique}) | RANK() OVER (ORDER BY {int}) | DENSE_RANK() OVER (ORDER BY {int} DESC)
    RANK() OVER (PARTITION BY {v} ORDER BY {text} NULLS FIRST) | CUME_DIST() OVER (ORDER BY {int})
    PERCENT_RANK() OVER (PARTITION BY {v} ORDER BY {int}) | NTILE(3) OVER (ORDER BY {unique})
    LAG({int}) OVER (ORDER BY {unique}) | LEAD({text}, 2, 'end') OVER (PARTITION BY {g} ORDER BY {unique})
    LAG({int}, 1, -1) OVER (ORDER BY {unique}) | LAG({h} IGNORE NULLS) OVER (ORDER BY {unique})
    FIRST_VALUE({int}) OVER (PARTITION BY {v} ORDER BY {unique})
    LAST_VALUE({h} RESPECT NULLS) OVER (ORDER BY {unique} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    NTH_VALUE({int}, 2) OVER (ORDER BY {unique}) | SUM({int}) OVER () | SUM({int}) OVER (PARTITION BY {g})
    SUM({int}) OVER (ORDER BY {unique} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
    COUNT(*) OVER (ORDER BY {a} RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
    MAX({int}) OVER (ORDER BY {a} GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES)
    AVG({int}) OVER (PARTITION BY {v} ORDER BY {unique} ROWS 2 PRECEDING) | {int} * 100.0 / SUM({a}) OVER ()
    COUNT({int}) FILTER (WHERE {bool}) OVER (ORDER BY {unique}) | {int} - LAG({int}, 1, 0) OVER (ORDER BY {unique})
"""

DIRECT = (
    "SELECT {keep}, {items} FROM {private} HAVING {some}",
    "SELECT {keep}, {windows} FROM {private} HAVING {some} AND {bool}",
    "SELECT {keep}, {items}, {a} AS a FROM {private} HAVING {some} ORDER BY {a} DESC, {unique}",
    "SELECT {keep}, {items}, {a} AS b FROM {private} HAVING {some} ORDER BY b, {names} LIMIT 3",
    "SELECT {keep}, {items} FROM {private} HAVING {some} ORDER BY {ordinals} LIMIT 2 OFFSET 1",
    "SELECT DISTINCT {items} FROM {private} HAVING {some}",
    "SELECT {keep}, {windows} FROM {private} HAVING {some}",
    "SELECT {keep}, {items}, {windows} FROM {private} HAVING {some} QUALIFY RANK() OVER (ORDER BY {a}) < 4",
    "SELECT {keep}, SUM({a}) OVER z AS z FROM {private} HAVING {some} WINDOW z AS (PARTITION BY {v} ORDER BY {unique})",
)
"""Statements that aggregate private rows and work with the numbers in the same SELECT."""
OVER = (
    "SELECT {items} FROM {q}",
    "SELECT q.*, {windows} FROM {q} WHERE {bool}",
    "SELECT {keep}, {items} FROM {q} WHERE {bool} ORDER BY {r} % 3 NULLS LAST, {unique}",
    "SELECT {keep}, {items} FROM {q} ORDER BY {h} DESC NULLS FIRST, {unique} LIMIT 4",
    "SELECT {keep}, {items} FROM {q} ORDER BY {unique} LIMIT 3 OFFSET 2",
    "SELECT {keep}, {items}, {windows} FROM {q} ORDER BY ALL OFFSET 1",
    "SELECT {keep}, {windows} FROM {q} ORDER BY {unique} FETCH FIRST 2 ROWS ONLY",
    "SELECT DISTINCT {items} FROM {q}",
    "SELECT * FROM {q} WHERE {bool} AND {bool}",
    "SELECT {keep}, {windows} FROM {q}",
    "SELECT {keep}, {windows} FROM {q} WHERE {bool} QUALIFY ROW_NUMBER() OVER (PARTITION BY {v} ORDER BY {unique}) < 3",
    "SELECT {keep}, RANK() OVER z AS i, SUM({int}) OVER z AS j FROM {q} WINDOW z AS (PARTITION BY {v} ORDER BY {a})",
    "SELECT {aggregates} FROM {q}",
    "SELECT {v} AS v, {aggregates} FROM {q} GROUP BY {v}",
    "SELECT {g} AS i, {aggregates} FROM {q} GROUP BY i",
    "SELECT {text} AS i, {aggregates} FROM {q} GROUP BY 1",
    "SELECT {v}, {g} % 2 AS i, {aggregates} FROM {q} WHERE {bool} GROUP BY ALL",
    "SELECT {h}, {v}, {aggregates} FROM {q} GROUP BY ROLLUP ({h}, {v})",
    "SELECT {g}, {v}, {aggregates} FROM {q} GROUP BY CUBE ({g}, {v})",
    "SELECT {g}, {h}, {aggregates} FROM {q} GROUP BY GROUPING SETS (({g}, {h}), ({g}), ())",
    "SELECT {g}, {aggregates} FROM {q} GROUP BY {g} HAVING COUNT(*) > 1 ORDER BY {g} DESC",
    "SELECT {keep}, {a}, {a} - z.a AS i FROM {q} CROSS JOIN (SELECT AVG(a) AS a FROM ({slim}) AS y) AS z",
    "SELECT {keep}, c.* FROM {q} JOIN cities AS c ON c.name = {h}",
    "SELECT {keep}, {items}, c.country FROM {q} LEFT JOIN cities AS c ON c.name = {h} AND c.size > {a}",
    "SELECT {g}, {a}, z.r AS i FROM {q} JOIN ({slim}) AS z ON {g} = z.g AND {a} <> z.r",
    "SELECT {g}, {items} FROM {q} WHERE {a} >= (SELECT AVG(y.a) FROM ({slim}) AS y WHERE y.g = {g})",
    "SELECT {g}, {items} FROM {q} WHERE EXISTS (SELECT 1 FROM ({slim}) AS y WHERE y.g = {g} AND y.a > 1)",
    "SELECT {g}, {a} FROM {q} WHERE {g} IN (SELECT y.g FROM ({slim}) AS y WHERE y.r > 2)",
    "SELECT {g}, {a}, (SELECT SUM(y.a) FROM ({slim}) AS y WHERE y.g < {g}) AS i FROM {q}",
)
"""Statements over one released subquery."""
_TWO = "WITH y AS ({slim}), z AS ({slim}) "
JOINED = (
    _TWO + "SELECT g, y.a AS b, z.a AS c, {items} FROM y JOIN z USING (g) ORDER BY g",
    _TWO + "SELECT y.g AS b, z.g AS c, {items} FROM y JOIN z ON y.a >= z.a",
    _TWO + "SELECT 1 AS i, g, y.a AS b, z.r AS c FROM y LEFT JOIN z USING (g) UNION ALL "
    "SELECT 2, g, y.a, z.r FROM y RIGHT JOIN z USING (g) UNION ALL SELECT 3, g, y.a, z.r FROM y FULL JOIN z USING (g)",
    _TWO + "SELECT 1 AS i, y.g AS b, z.g AS c FROM y LEFT OUTER JOIN z ON y.a < z.a UNION ALL "
    "SELECT 2, y.g, z.g FROM y RIGHT JOIN z ON y.r = z.r AND y.g > 1 UNION ALL "
    "SELECT 3, y.g, z.g FROM y FULL OUTER JOIN z ON y.g = z.g + 1",
    _TWO + "SELECT 1 AS i, y.g AS b FROM y SEMI JOIN z ON y.a = z.a UNION ALL "
    "SELECT 2, y.g FROM y ANTI JOIN z ON y.a = z.r UNION ALL SELECT 3, y.a FROM y NATURAL JOIN z",
    "SELECT y.g AS b, z.a AS c, {items} FROM ({slim}) AS y, ({one}) AS z",
    "SELECT y.g AS b, y.a * 1.0 / z.a AS c, {items} FROM ({slim}) AS y CROSS JOIN ({one}) AS z WHERE z.a > 0",
    "SELECT y.g, z.label, {items} FROM ({slim}) AS y JOIN (VALUES (1, 'one'), (2, 'two')) AS z(g, label) ON y.g = z.g",
    "WITH y AS ({slim}), z AS (SELECT SUM(a) AS a FROM y) SELECT y.g, z.a AS b, {items} FROM y, z",
    _TWO + "SELECT 1 AS i, * FROM (SELECT a % 3 AS a FROM y UNION SELECT g FROM z) AS u UNION ALL "
    "SELECT 2, * FROM (SELECT a % 2 FROM y EXCEPT SELECT g FROM z) AS u UNION ALL "
    "SELECT 3, * FROM (SELECT a % 2 FROM y INTERSECT SELECT g - 1 FROM z) AS u ORDER BY i, a",
    _TWO + "(SELECT a % 3 AS b, r > 5 AS c FROM y EXCEPT ALL SELECT g, r > 5 FROM z) UNION ALL "
    "(SELECT g % 2, r > 5 FROM y INTERSECT ALL SELECT a % 2, r > 5 FROM z) ORDER BY b DESC, c LIMIT 9",
    "{slim} UNION ALL BY NAME SELECT COUNT(*) AS a, 0 AS g FROM t",
    "{slim} UNION ALL SELECT size, size, size FROM cities ORDER BY ALL LIMIT 5",
    "SELECT {aggregates} FROM ({slim} UNION ALL {slim}) AS y",
    "SELECT ({count}) AS b, ({count}) - ({count}) AS c, {items} FROM ({slim}) AS y",
    "SELECT CASE WHEN ({count}) > 3 THEN ({count}) END AS b, TYPEOF(({count}) / 2) AS c",
    "SELECT c.name, y.a AS b, {items} FROM cities AS c LEFT JOIN ({cities}) AS y ON c.name = y.city",
    "SELECT country, {aggregates} FROM cities AS c JOIN ({cities}) AS y ON y.city = c.name "
    "GROUP BY country HAVING SUM(y.a) > 0 ORDER BY country",
)
"""Statements over several released subqueries."""
LISTING = (
    "SELECT DISTINCT {keys} FROM t",
    "SELECT {keys} FROM t GROUP BY ALL",
    "SELECT DISTINCT {keys} FROM t ORDER BY ALL DESC LIMIT 3",
    "SELECT {keys} FROM t GROUP BY ALL ORDER BY ALL LIMIT 2 OFFSET 1",
)
"""Statements that list groups; the same as in DuckDB where every group occurs."""
LISTED = (
    "k", "city", "tier", "b", "CASE WHEN n < 5 THEN 1 ELSE 2 END", "LOWER(tier)", "n > 5", "k, b", "tier, b",
    "b, n > 5", "n > 5, k", "LOWER(tier), b", "tier, CASE WHEN n < 5 THEN 'few' END", "bn IS NULL, tier", "k % 2, b",
    "k - 1 AS k, tier = 'Gold'",
)  # fmt: skip

_SLOT = re.compile(r"\{(\w+)\}")
Scope = Mapping[str, str]
"""What the six columns are called where an expression stands."""


def _split(text: str) -> tuple[str, ...]:
    return tuple(p.strip() for line in text.splitlines() for p in line.split(" | ") if p.strip())


PRODUCTIONS = {kind: _split(text) for kind, text in _TEXT.items()}
AGGREGATES, WINDOWS = _split(_AGGREGATES), _split(_WINDOWS)
ITEMS = tuple((kind, template) for kind in ANY for template in PRODUCTIONS[kind])


def expression(random: Random, kind: str, scope: Scope, depth: int) -> str:
    """A random expression; parenthesised unless it is a leaf."""
    kind = random.choice(ANY[:6]) if kind == "any" else kind
    if depth <= 0 or random.choice((True, False)):
        return fill(random, random.choice(LEAVES[kind]), scope, 0)
    return "(" + fill(random, random.choice(PRODUCTIONS[kind]), scope, depth - 1) + ")"


def fill(random: Random, template: str, scope: Scope, depth: int) -> str:
    """A template with its slots filled: columns from the scope, everything else at random."""

    def slot(match: re.Match[str]) -> str:
        name = match[1]
        if name in scope:
            return scope[name]
        return expression(random, name, scope, depth)

    return _SLOT.sub(slot, template)


def _where(condition: str) -> str:
    return f" WHERE {condition}" if condition else ""


@dataclass(frozen=True)
class Release:
    """A SELECT that aggregates private rows: its columns as expressions, and which of them are its groups."""

    columns: Scope
    keys: tuple[str, ...]
    where: str
    grouping: str

    @property
    def source(self) -> str:
        """FROM what, filtered and grouped how."""
        group = self.grouping.format(
            aliases=", ".join(self.keys),
            ordinals=", ".join(str(i + 1) for i in range(len(self.keys))),
            expressions=", ".join(self.columns[name] for name in self.keys),
        )
        return f"t{_where(self.where)} GROUP BY {group}"

    def names(self, text: str) -> tuple[str, ...]:
        """The columns that a statement over this release, called q, uses; the keys first."""
        everything = "q.*" in text or "SELECT *" in text
        others = [name for name in COLUMNS if name not in self.keys and (everything or f"q.{name}" in text)]
        return (*self.keys, *others)

    def sql(self, names: tuple[str, ...]) -> str:
        items = ", ".join(f"{self.columns[name]} AS {name}" for name in names)
        return f"SELECT {items} FROM {self.source} HAVING COUNT(*) > 0"

    def scope(self, prefix: str = "") -> Scope:
        """The columns as expressions, for what stands in the same SELECT; or with a prefix, for what stands outside."""
        names = {name: f"{prefix}{name}" if prefix else self.columns[name] for name in COLUMNS}
        keys = [names[name] for name in self.keys]
        return {
            **names,
            "unique": ", ".join(keys),
            "id": f"CONCAT_WS('/', {', '.join(keys)}, COALESCE({keys[-1]} IS NULL, FALSE))",
            "keep": ", ".join(f"{names[name]} AS {name}" for name in self.keys),
            "names": ", ".join(self.keys),
            "ordinals": ", ".join(f"{i + 1} DESC NULLS {('LAST', 'FIRST')[i]}" for i in range(len(keys))),
            "some": "COUNT(*) > 0",
            "private": self.source,
        }


_KEY_NAMES = (("g",), ("g",), ("h",), ("h",), ("w",), ("v",), ("g", "h"), ("g", "v"), ("h", "v"), ("w", "g"))


def release(random: Random) -> Release:
    """A random release with one or two keys."""
    keys = random.choice(_KEY_NAMES)
    columns = {name: random.choice((KEYS if name in keys else COMPUTED)[name]) for name in "ghwv"}
    columns |= {"a": random.choice(COUNTS), "r": random.choice(SUMS)}
    return Release(columns, keys, random.choice(WHERES), random.choice(GROUPINGS))


def slim(random: Random) -> str:
    """A release of one key `g` and two numbers."""
    return (
        f"SELECT {random.choice(KEYS['g'])} AS g, COUNT(*) AS a, {random.choice(SUMS)} AS r "
        f"FROM t{_where(random.choice(WHERES))} GROUP BY g HAVING COUNT(*) > 0"
    )


# ---------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Statement:
    """SQL that plain DuckDB understands too.

    ordered   whether the order of rows is the statement's own
    complete  whether DuckDB gives the same rows only where every group occurs
    """

    sql: str
    ordered: bool = False
    complete: bool = False


_WRAPS = (
    *["; ({release}) AS q"] * 6,
    "WITH q AS ({release}) ; q",
    "WITH y AS ({release}), q AS (SELECT * FROM y) ; q",
    "WITH q AS (WITH y AS ({release}) SELECT * FROM y) ; q",
    "WITH y({names}) AS ({release}) ; y AS q",
    "; (SELECT y.* FROM ({release}) AS y) AS q",
)
"""How a statement gets at the release that it calls q: what stands before SELECT; what it reads."""
_SHAPES = (LISTING, *[JOINED] * 6, *[DIRECT] * 4, *[OVER] * 9)
_BRACKETS = re.compile(r"\([^()]*\)")


def statement(random: Random, size: int) -> Statement:
    """A random statement with lists of `size` items; nearly all are accepted."""
    shape = random.choice(_SHAPES)
    skeleton = random.choice(shape)
    if shape is LISTING:
        return Statement(skeleton.replace("{keys}", random.choice(LISTED)), "ORDER" in skeleton, complete=True)
    if shape is JOINED:
        return Statement(_filled(random, skeleton, _JOINED_SCOPE, size), _is_ordered(skeleton))
    made = release(random)
    if shape is DIRECT:
        if made.grouping == "ALL" or "{keep}" not in skeleton:  # ALL would be each item without an aggregate
            made = replace(made, grouping="{expressions}")
        return Statement(_filled(random, skeleton, made.scope(), size), _is_ordered(skeleton))
    start, source = random.choice(_WRAPS).split("; ")
    text = _filled(random, skeleton, {**made.scope("q."), "q": source}, size)
    names = made.names(text)
    sql = (start + text).replace("{names}", ", ".join(names)).replace("{release}", made.sql(names))
    return Statement(sql, _is_ordered(skeleton))


_JOINED_SCOPE = {
    "g": "y.g", "a": "y.a", "r": "y.r", "h": "CASE WHEN y.a > 2 THEN 'many' ELSE 'few' END",
    "unique": "y.g, y.a, y.r", "id": "(y.g * 999 + y.a * 99 + y.r)", "v": "(y.r > 3)",
    "w": "TIMESTAMP '2020-01-31 10:20:30.5'",
}  # fmt: skip


def _is_ordered(skeleton: str) -> bool:
    """Whether there is an ORDER BY outside of all brackets."""
    inside = 1
    while inside:
        skeleton, inside = _BRACKETS.subn("", skeleton)
    return "ORDER BY" in skeleton


def _filled(random: Random, skeleton: str, scope: Scope, size: int) -> str:
    """The skeleton with its lists written out and all else filled in."""

    def slot(match: re.Match[str]) -> str:
        match match[1]:
            case "items":
                return _listed(random, [random.choice(ITEMS)[1] for _ in range(size)], scope, "i")
            case "aggregates":
                return _listed(random, [random.choice(AGGREGATES) for _ in range(size)], scope, "c")
            case "windows":
                return _listed(random, [random.choice(WINDOWS) for _ in range(1 + size // 2)], scope, "o")
            case "slim":
                return slim(random)
            case "cities":
                columns = f"city, 1 AS g, COUNT(*) AS a, {random.choice(SUMS)} AS r"
                return f"SELECT {columns} FROM t GROUP BY 1 HAVING COUNT(*) > 0"
            case "count":
                return f"SELECT {random.choice(COUNTS)} FROM t{_where(random.choice(WHERES))}"
            case "one":
                return f"SELECT {random.choice(COUNTS)} AS a, {random.choice(SUMS)} AS r FROM t"
        return fill(random, match[0], scope, 1)

    return _SLOT.sub(slot, skeleton)


def _listed(random: Random, templates: Sequence[str], scope: Scope, name: str) -> str:
    return ", ".join(f"{fill(random, template, scope, 0)} AS {name}{i}" for i, template in enumerate(templates))
