"""An audit as a page that a person can hand to a reviewer: one file, nothing beside it, no script.

It prints, follows light and dark, and says in tables what its figures show. All text goes through `markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dpsql.audit.findings import Audit, Violation
from dpsql.audit.report import plots, words
from dpsql.audit.report.markup import Content, Markup, element, style
from dpsql.policy import at_line

_LONGEST_SQL = 120


def as_html(audit: Audit, *, command: str) -> str:
    """The page. `command` is what makes it again."""
    title = f"dpsql audit of {audit.policy}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        style(_STYLE),
    )
    body = element("body", element("main", _header(audit, title), *_sections(audit, command)))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _header(audit: Audit, title: str) -> Iterator[Markup]:
    yield element("h1", title)
    yield element("p", words.verdict(audit), class_="verdict held" if audit.held and audit.cases else "verdict fault")
    facts = (
        ("policy", audit.policy), ("fingerprint", audit.fingerprint), ("dpsql", audit.version),
        ("seed", str(audit.seed)),
    )  # fmt: skip
    yield element("dl", ((element("dt", name), element("dd", value)) for name, value in facts))


def _sections(audit: Audit, command: str) -> Iterator[Markup]:
    if any(True for _ in audit.violations):
        yield _section("Violations", *(_violation(each) for each in audit.violations))
    yield _section(
        "What was tested",
        element("p", _TESTED),
        element("dl", ((element("dt", name), element("dd", meaning)) for name, meaning in words.MEANINGS),
                class_="meanings"),
    )  # fmt: skip
    yield _section("Tables", _tables(audit), *_figures(audit))
    if any(table.coverage for table in audit.tables):
        yield _section("Intervals", *_coverage(audit))
    if audit.queries:
        yield _section("The owner's statements", _queries(audit))
    yield _section("Advice on the policy", *_advice(audit))
    yield _section("What an audit can't show", element("ul", (element("li", limit) for limit in words.LIMITS)))
    yield _section("The same again", element("p", _AGAIN), element("pre", command))


def _section(title: str, *content: Content) -> Markup:
    return element("section", element("h2", title), *content)


def _violation(violation: Violation) -> Markup:
    return element(
        "div", element("p", violation.what), element("pre", violation.sql),
        element("p", f"charged {words.epsilon(violation.epsilon)}; seed {violation.seed} finds it again",
                class_="note"),
        class_="violation",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- tables, figures


def _tables(audit: Audit) -> Markup:
    heads = ("table", "privacy unit", "contribution bounds", "declared keys", "#cases", "#refused", "#tightest", "held")
    rows = [
        (table.name, table.unit, words.bounds(table), words.keys(table), f"{table.cases:,}", f"{table.refused:,}",
         words.of_epsilon(table.tightest), words.held(table))
        for table in audit.tables
    ]  # fmt: skip
    return _table("Each private table, whose its rows are, and what was found", heads, rows)


def _figures(audit: Audit) -> Iterator[Markup]:
    tightest = list(words.tightest((*audit.tables, *audit.queries)))
    if tightest:
        bars = [plots.Bar(name, case.share, words.of_epsilon(case)) for name, case in tightest]
        yield _figure(
            plots.against_limit(bars, title="The tightest case of each, as a share of ε", limit="ε charged"),
            "How much of what was charged the tightest case of each needed. At the line a bound is reached exactly, "
            "beyond it broken.",
        )
        yield element(
            "details",
            element("summary", "The statements of these cases"),
            ((element("p", f"{name}: {words.of_epsilon(case)}"), element("pre", case.sql)) for name, case in tightest),
            open=True,
        )
    spread = words.spread(audit)
    if spread:
        yield _figure(
            plots.columns(spread, title="How much of ε the cases needed", below="% of the ε that was charged"),
            "How many cases needed how much of what was charged. Most units change a number by less than the worst one "
            "could; it is the last column that shows how near the test came.",
        )
    parts = [plots.Parts(table.name, table.cases, table.refused) for table in audit.tables]
    if parts:
        yield _figure(
            plots.in_parts(parts, title="Cases of each table", first="compared cases", second="refused statements"),
            "How much was tried: pairs of databases that were compared, and made-up statements that were refused, "
            "which costs nothing and tells nothing.",
        )


def _coverage(audit: Audit) -> Iterator[Markup]:
    found = [(table.name, each) for table in audit.tables for each in table.coverage]
    points = [
        plots.Point(
            f"{name} {each.aggregate}", each.share, each.level, (each.band[0] / each.draws, each.band[1] / each.draws),
            words.covered(each), not each.held,
        )
        for name, each in found
    ]  # fmt: skip
    yield _figure(
        plots.with_band(points, title="How often intervals held the number without noise"),
        "Each point is a share of all draws; the tick is the level, the band what chance leaves around it but for one "
        "in a million. To the right of the band is no fault: noise comes in whole steps.",
    )
    heads = ("table", "aggregate", "#level", "#held", "#of draws", "#at least, but for chance", "verdict")
    rows = [
        (name, each.aggregate, words.level(each), f"{each.inside:,}", f"{each.draws:,}", f"{each.band[0]:,}",
         words.often(each))
        for name, each in found
    ]  # fmt: skip
    yield _table("The same in numbers", heads, rows)


def _queries(audit: Audit) -> Markup:
    heads = ("#line", "statement", "#cases", "#tightest", "outcome")
    rows = [
        (f"{each.line:,}", element("code", words.first_line(each.sql, _LONGEST_SQL)), f"{each.cases:,}",
         words.of_epsilon(each.tightest) if each.tightest else "", words.outcome(each))
        for each in audit.queries
    ]  # fmt: skip
    return _table("Each statement with the line of its file on which it begins", heads, rows)


def _advice(audit: Audit) -> Iterator[Markup]:
    if not audit.advice:
        yield element("p", "No advice: nothing in the policy is allowed that is seldom wise.")
        return
    yield element("p", "What the policy allows and is seldom wise. It breaks no promise, but makes it worth less.")
    yield element(
        "ul",
        (
            element(
                "li", element("code", at_line(audit.policy, each.line)), f": {each.what}.", element("br"),
                element("span", each.hint, class_="note"),
            )
            for each in audit.advice
        ),
        class_="advice",
    )  # fmt: skip


def _figure(image: Markup, caption: str) -> Markup:
    return element("figure", image, element("figcaption", caption))


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table; a head that begins with # is one of numbers."""
    right = [head.startswith("#") for head in heads]
    head = (
        element("th", name.removeprefix("#"), scope="col", class_="number" if number else False)
        for name, number in zip(heads, right, strict=True)
    )
    body = (
        element(
            "tr",
            (
                element("td", cell, class_="number" if number else False)
                for cell, number in zip(row, right, strict=True)
            ),
        )
        for row in rows
    )
    return element(
        "div",
        element("table", element("caption", caption), element("thead", element("tr", head)), element("tbody", body)),
        class_="wide",
    )


_TESTED = (
    "dpsql made rows that fit the policy, without reading any of the private data, and statements of every kind that "
    "it answers. It asked each of them of two such databases that differ by all rows of one privacy unit, and compared "
    "all that an analyst could see, and the exact numbers before the noise. The owner's own statements, if there are "
    "any, went the same way."
)
_AGAIN = "With the same version and policy, this command makes the same statements and rows again. Noise is always new."
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2127; --soft: #57606a; --paper: #ffffff; --shade: #f4f6f8; --rule: #d0d7de;
  --bar: #2f6fb0; --rest: #c3cfdb; --good: #1a7f4b; --good-shade: #e6f4ec; --bad: #b3261e; --bad-shade: #fbeae9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa4ae; --paper: #14181d; --shade: #1d232a;
  --rule: #39424c; --bar: #6aa8e6; --rest: #46525f; --good: #5cc98d; --good-shade: #14301f; --bad: #ff8a80;
  --bad-shade: #3a1715; } }
@media print { :root { color-scheme: light; --ink: #000000; --soft: #444444; --paper: #ffffff; --shade: #f4f6f8;
  --rule: #bbbbbb; --bar: #2f6fb0; --rest: #c3cfdb; --good: #14693d; --good-shade: #ffffff; --bad: #9b1c15;
  --bad-shade: #ffffff; } section, figure, tr { break-inside: avoid; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--rule); }
.verdict { font-size: 1.15rem; font-weight: 600; padding: .8rem 1rem; border-left: .4rem solid; border-radius: .25rem; }
.held { color: var(--good); background: var(--good-shade); }
.fault { color: var(--bad); background: var(--bad-shade); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.meanings { grid-template-columns: 1fr; gap: 0; } .meanings dt { color: var(--ink); font-weight: 600; }
.meanings dd { margin: 0 0 .6rem; }
pre, code { font-family: ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; font-size: .86rem; }
pre { background: var(--shade); padding: .7rem .9rem; border-radius: .3rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
code { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .5rem 0 1rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; } td { overflow-wrap: break-word; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
figure { margin: 1.5rem 0; overflow-x: auto; } figcaption, .note, summary { color: var(--soft); font-size: .92rem; }
.violation { border-left: .3rem solid var(--bad); padding-left: 1rem; margin: 1rem 0 1.6rem; }
.violation > p:first-child { font-weight: 600; }
.advice li { margin-bottom: .7rem; }
svg { width: 100%; min-width: 34rem; height: auto; display: block; }
svg text { font-size: 13px; fill: var(--ink); } svg .tick { font-size: 12px; fill: var(--soft); }
svg .over-says { fill: var(--bad); font-weight: 600; }
.bar { fill: var(--bar); } .rest { fill: var(--rest); } .over { fill: var(--bad); } .band { fill: var(--rest); }
.axis { stroke: var(--rule); } .limit { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
.wanted { stroke: var(--ink); stroke-width: 1.5; } .dot { fill: var(--bar); stroke: var(--paper); stroke-width: 1.5; }
.cross { stroke: var(--bad); stroke-width: 3; fill: none; }
"""
