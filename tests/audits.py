"""Audits as an engine would find them, for the tests of what is made of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpsql.audit.findings import Advice, Audit, Case, Coverage, QueryAudit, TableAudit, Violation

HOSTILE = "</pre><script>alert('1 & 2')</script><!-- \u202e\x1b[31m"
"""Text that would be markup, a comment, or a command to a terminal."""

_SQL = "SELECT c_mktsegment, COUNT(*)\nFROM customer\nGROUP BY c_mktsegment"
CUSTOMER = TableAudit(
    name="customer",
    unit="c_custkey",
    bounds=(("max_rows", 1),),
    keys=(("c_nationkey", 25), ("c_mktsegment", 5)),
    cases=412,
    refused=18,
    tightest=Case(_SQL, Fraction(1), Fraction(1)),
    violations=(),
    coverage=(Coverage("COUNT(*)", 0.95, 2000, 1931), Coverage("AVG(c_acctbal)", 0.95, 2000, 1849)),
    spread=(201, 30, 0, 12, 31, 44, 9, 5, 2, 11, 67),
)
LINEITEM = TableAudit(
    name="lineitem",
    unit="via orders.o_orderkey",
    bounds=(("max_rows", 1200), ("max_groups", 7)),
    keys=(("l_shipmode", 7),),
    cases=1371,
    refused=0,
    tightest=Case("SELECT COUNT(*) FROM lineitem", Fraction(1, 2), Fraction(1, 3)),
    violations=(),
    coverage=(),
)
QUERIES = (
    QueryAudit(
        "SELECT COUNT(*)\n  FROM orders", 3, None, 20, Case("SELECT COUNT(*) FROM orders", Fraction(1), Fraction(1)), ()
    ),
    QueryAudit("SELECT MAX(x) FROM orders", 7, "the aggregate MAX(x) isn't supported", 0, None, ()),
)
ADVICE = Advice(9, "one query may ask for ε 11", "write max_epsilon: 4")
HELD = Audit(
    policy="config/tpch.yaml",
    fingerprint="3fa4" * 16,
    version="0.1.0",
    seed=42,
    tables=(CUSTOMER, LINEITEM),
    queries=QUERIES,
    advice=(ADVICE,),
)
VIOLATION = Violation(HOSTILE, Fraction(1), 4711, "one unit moved SUM(x) by 1.5 of its bound")
VIOLATED = replace(
    HELD,
    policy=HOSTILE,
    tables=(
        CUSTOMER,
        replace(
            LINEITEM,
            name=HOSTILE,
            unit=HOSTILE,
            tightest=Case(HOSTILE, Fraction(1), Fraction(3, 2)),
            violations=(VIOLATION,),
        ),
    ),
    queries=(replace(QUERIES[0], sql=HOSTILE, violations=(VIOLATION,)), replace(QUERIES[1], refused=HOSTILE)),
    advice=(Advice(0, HOSTILE, HOSTILE),),
)
SELDOM = replace(
    HELD, tables=(replace(CUSTOMER, coverage=(Coverage(HOSTILE, 0.95, 2000, 1848),)),), queries=(), advice=()
)
EMPTY = replace(HELD, tables=(), queries=(), advice=())
