"""Families of statements that get longer and longer, and what the work on each is: counted in calls, never in seconds.

A family is a text of any length, made from a number. What its statements cost to compile and to explain, which is free
for an analyst, is counted by cProfile: calls of Python functions and of those in C, which is the same number in every
run. DuckDB, in which the outer query is bound, is one call however long it takes: for that there is a limit of CPU time
alone.

`python -m tests.growth` prints the counts of all families, or of those named.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpsql.errors import Error, InternalError
from dpsql.parse import MAX_CHARACTERS
from tests import grammar, people, test_refused
from tests.harness import Bench, ForbiddenEngine, MemoryEngine, ZeroNoise, bench, make_policy

DIALECTS = ("duckdb", "postgres", "bigquery", "spark")
Family = Callable[[int], str]


def _listed(pattern: str, number: int, joint: str = ", ") -> str:
    """The pattern so many times, `#` being the number of each."""
    return joint.join(pattern.replace("#", str(i)) for i in range(number))


def _nested(before: str, inner: str, after: str, number: int) -> str:
    return before * number + inner + after * number


def _where(condition: Family, table: str = "t") -> Family:
    return lambda n: f"SELECT COUNT(*) FROM {table} WHERE {condition(n)}"


def _chain(first: str, step: str, last: str) -> Family:
    """A WITH list in which each (`#`) reads the one before it (`@`)."""

    def made(n: int) -> str:
        steps = [first, *(step.replace("#", str(i)).replace("@", str(i - 1)) for i in range(1, n))]
        return f"WITH {', '.join(steps)} {last.replace('@', str(n - 1))}"

    return made


def _filters(number: int, condition: Callable[[int, int], str]) -> str:
    """Counts under FILTERs, as many as each is long: the condition is made from the number of one, and that length."""
    size = round(number**0.5)
    return f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE {condition(i, size)})' for i in range(size))} FROM t"


FAMILIES: Mapping[str, Family] = {
    "IN list": _where(lambda n: f"n IN ({_listed('#', n)})"),
    "NOT IN list": _where(lambda n: f"n NOT IN ({_listed('#', n)})"),
    "IN texts": _where(lambda n: f"note IN ({_listed(chr(39) + 'v#' + chr(39), n)})"),
    "IN doubles": _where(lambda n: f"x IN ({_listed('#.5', n)})"),
    "IN dates": _where(lambda n: f"dn IN ({', '.join(f'DATE {chr(39)}{1000 + i}-01-01{chr(39)}' for i in range(n))})"),
    "ANDs": _where(lambda n: _listed("n <> #", n, " AND ")),
    "ORs": _where(lambda n: _listed("n = #", n, " OR ")),
    "ORs of texts": _where(lambda n: _listed("note = 'v#'", n, " OR ")),
    "ORs of ANDs": _where(lambda n: _listed("(n = # AND x > #)", n, " OR ")),
    "ORs of BETWEENs": _where(lambda n: _listed("x BETWEEN # AND # + 1", n, " OR ")),
    "NOTs of ORs": _where(lambda n: f"NOT ({_listed('NOT (n = #)', n, ' OR ')})"),
    "ANDs of LIKEs": _where(lambda n: _listed("note NOT LIKE 'v#%'", n, " AND ")),
    "CASE arms": _where(lambda n: f"CASE {_listed('WHEN n = # THEN # + 1', n, ' ')} ELSE 0 END > 3"),
    "CASE of texts": lambda n: (f"SELECT CASE {_listed('WHEN n = # THEN ' + chr(39) + 'v#' + chr(39), n, ' ')} "
                                "ELSE 'x' END AS k, COUNT(*) FROM t GROUP BY 1"),
    "CASE n WHEN": _where(lambda n: f"CASE n {_listed('WHEN # THEN #', n, ' ')} END = 1"),
    "CASE under SUM": lambda n: f"SELECT SUM(CASE {_listed('WHEN x > # THEN x + #', n, ' ')} ELSE 0 END) FROM t",
    "COALESCE": _where(lambda n: f"COALESCE({_listed('NULLIF(n, #)', n)}) > 1"),
    "GREATEST": _where(lambda n: f"GREATEST({_listed('n + #', n)}) > 1"),
    "additions": _where(lambda n: _listed("n", n, " + ") + " > 1"),
    "additions of numbers": _where(lambda n: "n + " + _listed("#", n, " + ") + " > 1"),
    "multiplications": _where(lambda n: _listed("x", n, " * ") + " > 1"),
    "concatenations": lambda n: f"SELECT 'a' || {_listed(chr(39) + 'v#' + chr(39), n, ' || ')}, COUNT(*) FROM t",
    "comparisons of sums": _where(lambda n: _listed("n + # > m - #", n, " AND ")),
    "aggregates": lambda n: f"SELECT {_listed('SUM(n + #)', n)} FROM t",
    "one aggregate again": lambda n: f"SELECT {_listed('SUM(n)', n)} FROM t",
    "aggregates with FILTER": lambda n: f"SELECT {_listed('COUNT(*) FILTER (WHERE n = #)', n)} FROM t",
    "FILTERs of IN lists": lambda n: _filters(n, lambda i, m: f"n IN ({_listed(f'#{i}', m)})"),
    "FILTERs of texts": lambda n: _filters(n, lambda i, m: f"note IN ({_listed(f'{chr(39)}v#w{i}{chr(39)}', m)})"),
    "FILTERs of ORs": lambda n: _filters(n, lambda i, m: f"{_listed('n > #', m, ' OR ')} OR n < {i}"),
    "FILTERs of ANDs": lambda n: _filters(n, lambda i, m: f"{_listed('n + # <> m', m, ' AND ')} AND n = {i}"),
    "aggregates in one number": lambda n: f"SELECT {_listed('SUM(n + #)', n, ' + ')} FROM t",
    "FILTERs beside aggregates": lambda n: (f"SELECT {_listed('COUNT(*) FILTER (WHERE n = #)', n)}, "
                                            f"{_listed('SUM(n + #), AVG(n + #)', n)} FROM t"),
    "means and variances": lambda n: f"SELECT {_listed('AVG(n + #), VARIANCE(n + #)', n)} FROM t",
    "intervals": lambda n: f"SELECT COUNT(*) AS c, {_listed('DP_INTERVAL_LOW(c, 0.5#)', n)} FROM t",
    "aggregates of groups": lambda n: f"SELECT k, {_listed('SUM(n + #)', n)} FROM t GROUP BY k",
    "HAVING": lambda n: f"SELECT k, COUNT(*) FROM t GROUP BY k HAVING {_listed('COUNT(*) <> #', n, ' AND ')}",
    "ORDER BY": lambda n: f"SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY {_listed('c + #', n)}",
    "GROUP BY": lambda n: f"SELECT COUNT(*) FROM t GROUP BY {_listed('b', n)}",
    "GROUP BY of conditions": lambda n: f"SELECT COUNT(*) FROM t GROUP BY {_listed('n > #', n)}",
    "columns": lambda n: f"SELECT k, {_listed('k + # AS c#', n)}, COUNT(*) FROM t GROUP BY k",
    "columns of a subquery": lambda n: f"SELECT SUM(c0) FROM (SELECT {_listed('n + # AS c#', n)} FROM t) AS q",
    "all columns of a subquery": lambda n: (f"SELECT {_listed('SUM(c#)', n)} FROM "
                                            f"(SELECT {_listed('n + # AS c#', n)} FROM t) AS q"),
    "outer columns": lambda n: f"SELECT {_listed('c + #', n)} FROM (SELECT COUNT(*) AS c FROM t) AS q",
    "lateral aliases": lambda n: f"SELECT COUNT(*) AS c0, {_listed('c0 + # AS d#', n)} FROM t",
    "constants": lambda n: f"SELECT COUNT(*), {_listed('#', n)} FROM t",
    "sums of constants": lambda n: f"SELECT COUNT(*) + {_listed('#', n, ' + ')} FROM t",
    "plain constants": lambda n: f"SELECT {_listed('#', n, ' + ')}",
    "constant subqueries": _where(lambda n: _listed("n > (SELECT COUNT(*) FROM t) - #", n, " AND ")),
    "CTEs": lambda n: f"WITH {_listed('c# AS (SELECT n FROM t)', n)} SELECT COUNT(*) FROM c0",
    "CTEs in turn": _chain("c0 AS (SELECT n FROM t)", "c# AS (SELECT n + 1 AS n FROM c@)", "SELECT SUM(n) FROM c@"),
    "CTEs that filter": _chain("c0 AS (SELECT n FROM t)", "c# AS (SELECT n FROM c@ WHERE n <> #)",
                               "SELECT COUNT(*) FROM c@"),
    "CTEs of releases": lambda n: (f"WITH {_listed('c# AS (SELECT COUNT(*) AS n FROM t WHERE n > #)', n)} "
                                   f"SELECT {_listed('c#.n', n, ' + ')} FROM {_listed('c#', n)}"),
    "CTEs over one release": _chain("c0 AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k)",
                                    "c# AS (SELECT k, n + 1 AS n FROM c@)", "SELECT k, n FROM c@"),
    "CTEs that double": _chain("c0 AS (SELECT n FROM t)", "c# AS (SELECT n + n AS n FROM c@)", "SELECT SUM(n) FROM c@"),
    "CTEs that join": _chain("c0 AS (SELECT 1 AS n)", "c# AS (SELECT a.n FROM c@ AS a JOIN c@ AS b ON a.n = b.n)",
                             "SELECT n, (SELECT COUNT(*) FROM t) FROM c@"),
    "CTEs unused": _chain("c0 AS (SELECT cust FROM visit)",
                          "c# AS (SELECT a.cust FROM c@ AS a WHERE a.cust IN (SELECT cust FROM c@))",
                          "SELECT COUNT(*) FROM t"),
    "CTEs of units": _chain("c0 AS (SELECT cust, cost FROM visit)",
                            "c# AS (SELECT cust, cost FROM c@ WHERE cust IN (SELECT cust FROM c@))",
                            "SELECT COUNT(*) FROM c@"),
    "nested WITH": lambda n: _nested("WITH c AS (", "SELECT n FROM t", ") SELECT n FROM c", n)
    .replace("SELECT n FROM c", "SELECT COUNT(*) FROM c", 1),
    "UNION ALL of private rows": lambda n: (f"SELECT COUNT(*) FROM "
                                            f"({_listed('SELECT cust, # AS n FROM visit', n, ' UNION ALL ')}) AS q"),
    "UNION ALL of releases": lambda n: _listed("SELECT COUNT(*) FROM t WHERE n > #", n, " UNION ALL "),
    "UNION ALL of constants": lambda n: (f"SELECT COUNT(*) FROM t UNION ALL "
                                         f"{_listed('SELECT # AS n', n, ' UNION ALL ')}"),
    "UNIONs": lambda n: _listed("SELECT # AS n", n, " UNION "),
    "VALUES": lambda n: f"SELECT n, (SELECT COUNT(*) FROM t) FROM (VALUES {_listed('(#)', n)}) AS v(n)",
    "wide VALUES": lambda n: f"SELECT * FROM (VALUES ({_listed('#', n)})) AS v",
    "deep subqueries": lambda n: _nested("SELECT * FROM (", "SELECT COUNT(*) AS c FROM t", ") AS q", n),
    "deep subqueries of rows": lambda n: f"SELECT COUNT(*) FROM {_nested('(SELECT * FROM ', 't', ') AS q', n)}",
    "scalar subqueries": lambda n: f"SELECT {_listed('(SELECT COUNT(*) FROM t WHERE n > #)', n)}",
    "EXISTS": _where(lambda n: _listed("EXISTS (SELECT 1 FROM visit AS v WHERE v.cust = c.cust AND v.cost > #)",
                                       n, " AND "), "customer AS c"),
    "IN subqueries": _where(lambda n: _listed("cust IN (SELECT cust FROM visit WHERE cost > #)", n, " AND "),
                            "customer"),
    "nested IN subqueries": _where(lambda n: _nested("cust IN (SELECT cust FROM visit WHERE ", "cost > 1", ")", n),
                                   "customer"),
    "public IN subqueries": _where(lambda n: _listed("product IN (SELECT id FROM product WHERE id <> #)", n, " AND "),
                                   "item"),
    "JOINs of one table": lambda n: (f"SELECT COUNT(*) FROM customer AS c "
                                     f"{_listed('JOIN nation AS n# ON c.nation = n#.key', n, ' ')}"),
    "JOINs of private rows": lambda n: (f"SELECT COUNT(*) FROM customer AS c "
                                        f"{_listed('JOIN visit AS v# ON c.cust = v#.cust', n, ' ')}"),
    "JOINs with USING": lambda n: f"SELECT COUNT(*) FROM customer {_listed('JOIN orders AS o# USING (cust)', n, ' ')}",
    "JOINs of releases": lambda n: (f"SELECT a.n FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS a "
                                    f"{_listed('JOIN (SELECT # AS k) AS b# ON a.k = b#.k', n, ' ')}"),
    "JOIN with conditions": lambda n: (f"SELECT COUNT(*) FROM customer AS c JOIN nation AS n ON c.nation = n.key AND "
                                       f"{_listed('n.key <> #', n, ' AND ')}"),
    "cross joins": lambda n: f"SELECT COUNT(*) FROM {_listed('(SELECT 1) AS n#', n)}",
    "nested functions": _where(lambda n: _nested("ABS(", "n", ")", n) + " > 1"),
    "nested COALESCE": _where(lambda n: _nested("COALESCE(", "n", ", 1)", n) + " > 1"),
    "nested CASE": _where(lambda n: _nested("CASE WHEN b THEN ", "n", " ELSE 1 END", n) + " > 1"),
    "nested GREATEST": _where(lambda n: _nested("GREATEST(n, ", "n", ")", n) + " > 1"),
    "nested brackets": _where(lambda n: _nested("(", "n", ")", n) + " > 1"),
    "nested outer functions": lambda n: f"SELECT {_nested('ABS(1 + ', 'COUNT(*)', ')', n)} FROM t",
    "wide functions": lambda n: f"SELECT CONCAT({_listed('COUNT(*)', n)}) FROM t",
    "functions side by side": _where(lambda n: _listed("ABS(n - #) > 1", n, " AND ")),
    "casts": _where(lambda n: _listed("CAST(x AS INTEGER) <> #", n, " AND ")),
    "dates": _where(lambda n: _listed("DATE_TRUNC('month', d) <> DATE '2020-01-15'", n, " AND ")),
    "keys of dates": lambda n: f"SELECT COUNT(*) FROM t GROUP BY d, {_listed('n // (# + 1)', n)}",
    "windows": lambda n: (f"SELECT k, {_listed('SUM(COUNT(*)) OVER (ORDER BY k ROWS # PRECEDING)', n)} "
                          "FROM t GROUP BY k"),
    "named windows": lambda n: (f"SELECT k, SUM(COUNT(*)) OVER w0 FROM t GROUP BY k "
                                f"WINDOW {_listed('w# AS (ORDER BY k)', n)}"),
    "ROLLUP": lambda n: f"SELECT COUNT(*) FROM t GROUP BY ROLLUP ({_listed('n > #', n)})",
    "CUBE": lambda n: f"SELECT COUNT(*) FROM t GROUP BY CUBE ({_listed('n > #', n)})",
    "outer CUBE": lambda n: (f"SELECT {_listed('c#', n)} FROM (SELECT {_listed('COUNT(*) AS c#', n)} FROM t) AS q "
                             f"GROUP BY CUBE ({_listed('c#', n)})"),
    "outer ORs": lambda n: f"SELECT c FROM (SELECT COUNT(*) AS c FROM t) AS q WHERE {_listed('c = #', n, ' OR ')}",
    "outer IN list": lambda n: f"SELECT c FROM (SELECT COUNT(*) AS c FROM t) AS q WHERE c IN ({_listed('#', n)})",
    "outer CASE arms": lambda n: (f"SELECT CASE c {_listed('WHEN # THEN # + 1', n, ' ')} END "
                                  "FROM (SELECT COUNT(*) AS c FROM t) AS q"),
    "outer IN subqueries": lambda n: (f"SELECT c FROM (SELECT COUNT(*) AS c FROM t) AS q WHERE "
                                      f"{_listed('c IN (SELECT key + # FROM nation)', n, ' AND ')}"),
    "outer cross joins": lambda n: (f"SELECT q.c FROM (SELECT COUNT(*) AS c FROM t) AS q, "
                                    f"{_listed('(SELECT 1) AS n#', n)}"),
    "outer UNION ALL": lambda n: (f"SELECT COUNT(*) FROM t UNION ALL "
                                  f"{_listed('(SELECT key FROM nation WHERE key > #)', n, ' UNION ALL ')}"),
    "GROUPING SETS": lambda n: f"SELECT b, k, COUNT(*) FROM t GROUP BY GROUPING SETS ({_listed('(b, k)', n)})",
    "comments": lambda n: f"SELECT COUNT(*) {_listed('/* # */', n, ' ')} FROM t",
    "line comments": lambda n: f"SELECT COUNT(*) FROM t\n{_listed('-- comment #', n, chr(10))}\n",
    "a long comment": lambda n: f"SELECT COUNT(*) /* {'x' * n * 8} */ FROM t",
    "a long text": _where(lambda n: f"note = '{'x' * n * 8}'"),
    "a text of quotes": _where(lambda n: f"note = '{chr(39) * 2 * n * 4}'"),
    "a long number": _where(lambda n: f"n = {'1' * n * 8}"),
    "a long fraction": _where(lambda n: f"x = 0.{'1' * n * 8}"),
    "a long pattern": _where(lambda n: f"note LIKE '{'x' * n * 8}%'"),
    "a long name": lambda n: f"SELECT COUNT(*) AS {'x' * n * 8} FROM t",
    "a long alias": lambda n: f"SELECT COUNT(*) FROM t AS {'x' * n * 8}",
    "a long unknown name": lambda n: f"SELECT {'x' * n * 8} FROM t",
    "dots": lambda n: f"SELECT {_listed('a', n, '.')} FROM t",
    "blanks": lambda n: f"SELECT COUNT(*) FROM{' ' * n * 8}t",
    "lines": lambda n: f"SELECT COUNT(*) FROM{chr(10) * n * 8}u",
    "unknown columns": lambda n: f"SELECT {_listed('u#', n)} FROM t",
    "unknown tables": lambda n: f"SELECT COUNT(*) FROM {_listed('u#', n)}",
    "unknown functions": _where(lambda n: _listed("F#(n)", n, " AND ")),
    "semicolons": lambda n: "SELECT COUNT(*) FROM t" + ";" * n,
    "statements": lambda n: _listed("SELECT COUNT(*) FROM t", n, "; "),
    "options": lambda n: (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, {_listed('max_rows = 3', n)}) "
                          "COUNT(*) FROM t"),
    "many with options": lambda n: _listed("(SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.00#1) COUNT(*) "
                                           "FROM t)", n, " UNION ALL "),
    "stars": lambda n: f"SELECT {_listed('*', n)} FROM (SELECT COUNT(*) AS c FROM t) AS q",
    "stars of tables": lambda n: f"SELECT {_listed('q.*', n)} FROM (SELECT k, COUNT(*) FROM t GROUP BY k) AS q",
    "EXCLUDE": lambda n: f"SELECT COUNT(*) FROM (SELECT * EXCLUDE ({_listed('n', n)}) FROM t) AS q",
    "REPLACE": lambda n: f"SELECT COUNT(*) FROM (SELECT * REPLACE ({_listed('n + # AS n', n)}) FROM t) AS q",
    "structs": lambda n: f"SELECT {{{_listed(chr(39) + 'k#' + chr(39) + ': #', n)}}}",
    "lists": lambda n: f"SELECT [{_listed('#', n)}]",
    "subscripts of fields": lambda n: f"SELECT x{'[1].a' * n} FROM t",
    "many subscripts": lambda n: f"SELECT {_listed('x[#]', n)} FROM t",
    "subscripts": lambda n: f"SELECT x{'[1]' * n} FROM t",
    "dollar quotes": _where(lambda n: f"note = $a${'x' * n * 8}$a$"),
}  # fmt: skip


def of_length(family: Family, characters: int) -> int:
    """The largest power of two for which the text is at most so long."""
    number = 1
    while len(family(2 * number)) <= characters:
        number *= 2
    return number


def made(dialect: str, engine: type[MemoryEngine] = ForbiddenEngine) -> Bench:
    """Tables of rows, of people, and public ones: all that statements of tests are about."""
    policy = make_policy(grammar.TABLES + people.TABLES + test_refused.TABLES, dialect=dialect)
    types = grammar.TYPES | people.TYPES | test_refused.TYPES
    return bench(policy, types, ZeroNoise(), engine, people.PUBLIC | test_refused.PUBLIC)


@dataclass(frozen=True)
class Work:
    """What compiling one statement takes. `outcome` is the refusal, "" where it is accepted; `calls` by function."""

    length: int
    outcome: str
    calls: Counter[str]
    seconds: float


def work(where: Bench, sql: str, *, counted: bool = True) -> Work:
    """Compile a statement, counting calls (which takes twice the time). Raises whatever is no refusal."""
    profile = cProfile.Profile()
    outcome = ""
    start = time.process_time()
    if counted:
        profile.enable()
    try:
        where.session.explain(sql, epsilon=1, analyst="anyone")
    except InternalError:
        raise
    except Error as error:
        assert error.message and error.sqlstate != "XX000"
        assert error.position is None or 0 <= error.position <= len(sql)
        outcome = error.message
    finally:
        profile.disable()
    seconds = time.process_time() - start
    calls: Counter[str] = Counter()
    for entry in profile.getstats():  # type: ignore[attr-defined]
        code = entry.code
        calls[code if isinstance(code, str) else f"{code.co_filename}:{code.co_name}"] += entry.callcount
    return Work(len(sql), outcome, calls, seconds)


def compile_texts(where: Bench, lines: Iterable[str]) -> None:
    """Compile each text (a line of JSON), and print what became of it: its length, the outcome, CPU seconds."""
    for line in lines:
        done = work(where, json.loads(line), counted=False)
        print(json.dumps([done.length, done.outcome, done.seconds]), flush=True)
    print(_megabytes(), flush=True)


def _megabytes() -> int:
    """The most memory that this process had. What getrusage tells is at least what the one had that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) // 1024  # type: ignore[index]


def besieged(dialect: str, texts: Sequence[str], *, stack: int = 512) -> tuple[list[Work], int]:
    """Compile texts in a process of its own, in a thread with so many kB of stack; also the megabytes that it took.

    Fails, naming the text, where the process dies or hangs.
    """
    command = [sys.executable, "-m", "tests.growth", "--dialect", dialect, "--stack", str(stack)]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(command, input=lines, text=True, capture_output=True, timeout=600, env=environment,
                          preexec_fn=_limited, check=False)  # fmt: skip
    printed = done.stdout.splitlines()
    assert done.returncode == 0, (
        f"{texts[min(len(printed), len(texts) - 1)][:200]} ended the process: {done.returncode}, {done.stderr[-2000:]}"
    )
    found = [Work(length, outcome, Counter(), seconds) for length, outcome, seconds in map(json.loads, printed[:-1])]
    return found, int(printed[-1])


def _limited() -> None:
    """A guard against what hangs: the kernel ends a process that took so much of the processor."""
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="count the calls of compiling longer and longer statements")
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--dialect", choices=DIALECTS, default="duckdb")
    parser.add_argument("--stack", type=int, metavar="KB", help="compile the texts of standard input, with that stack")
    chosen = parser.parse_args(arguments)
    where = made(chosen.dialect)
    if chosen.stack is not None:
        threading.stack_size(chosen.stack * 1024)
        failures: list[BaseException] = []
        thread = threading.Thread(target=lambda: _kept(failures, lambda: compile_texts(where, sys.stdin)))
        thread.start()
        thread.join()
        sys.exit(f"{failures[0]!r}" if failures else 0)
    for name in chosen.families:
        top = of_length(FAMILIES[name], MAX_CHARACTERS)
        for number in sorted({max(1, top // 2**i) for i in range(9)}):
            done = work(where, FAMILIES[name](number))
            print(
                f"{name}, {number}: {done.calls.total():,} calls, {done.seconds:.2f} s, {done.outcome[:80]}", flush=True
            )


def _kept(failures: list[BaseException], task: Callable[[], None]) -> None:
    try:
        task()
    except BaseException as failure:  # noqa: BLE001 - the other thread raises it
        failures.append(failure)


if __name__ == "__main__":
    main()
