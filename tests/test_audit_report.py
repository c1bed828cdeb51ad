"""What is made of an audit: text, JSON, a page. Each says whether everything held, and lets nothing be markup."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpsql.audit.binomial import binomial_band
from dpsql.audit.findings import Audit, Case, Coverage
from dpsql.audit.report import plots, words
from dpsql.audit.report.as_html import as_html
from dpsql.audit.report.as_json import as_json
from dpsql.audit.report.as_text import as_text
from dpsql.audit.report.markup import Markup, element, text
from tests import audits

ROOT = Path(__file__).parent.parent
SCHEMA: dict[str, Any] = json.loads((ROOT / "dpsql" / "audit.schema.json").read_text(encoding="utf-8"))
ALL = {"held": audits.HELD, "violated": audits.VIOLATED, "seldom": audits.SELDOM, "empty": audits.EMPTY}
COMMAND = "dpsql audit 'a <b>.yaml' --cases 400 --seed 42"
VOID = {"meta", "br"}

every = pytest.mark.parametrize("audit", ALL.values(), ids=ALL)


# ---------------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize(("trials", "probability"), [(1, 0.5), (30, 0.95), (200, 0.9)])
def test_the_band_of_chance(trials: int, probability: float) -> None:
    miss = 1e-3
    low, high = binomial_band(trials, probability, miss=miss)
    law = [math.comb(trials, k) * Fraction(probability) ** k * Fraction(1 - probability) ** (trials - k)
           for k in range(trials + 1)]  # fmt: skip
    assert sum(law[:low]) <= miss / 2 < sum(law[: low + 1])
    assert sum(law[high + 1 :]) <= miss / 2 < sum(law[high:])


def test_what_holds() -> None:
    assert [ALL[name].held for name in ALL] == [True, False, False, True]
    low, high = audits.CUSTOMER.coverage[0].band
    assert (low, high) == binomial_band(2000, 0.95, miss=1e-6) == (1849, 1944)
    assert [Coverage("x", 0.95, 2000, inside).held for inside in (low - 1, low, 2000)] == [False, True, True]
    assert not audits.VIOLATED.tables[1].held and not audits.VIOLATED.queries[0].held
    assert not audits.SELDOM.tables[0].held and not list(audits.SELDOM.violations)
    assert len(list(audits.VIOLATED.violations)) == 2 and audits.HELD.cases == 1803


def test_a_violation_of_a_statement_alone_counts() -> None:
    only = Audit("p", "f", "v", 1, (audits.CUSTOMER,), audits.VIOLATED.queries, ())
    assert not only.held


# ---------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("held", "Every declared sensitivity held, in 1,803 cases of 2 tables and 2 statements of yours."),
        ("violated", "NOT PRIVATE as declared: 2 violations in 1,803 cases."),
        ("seldom", "NOT as declared: 1 interval held too seldom, though sensitivities did."),
        ("empty", "Nothing was tested: there is no case."),
    ],
)
def test_the_first_line_is_the_verdict(name: str, verdict: str) -> None:
    shown = as_text(ALL[name], "ascii", command=COMMAND)
    assert shown.splitlines()[0] == verdict
    assert _plain(as_html(ALL[name], command=COMMAND)).count(verdict) == 1


def test_both_kinds_of_fault_are_told() -> None:
    both = Audit("p", "f", "v", 1, (*audits.VIOLATED.tables, *audits.SELDOM.tables), (), ())
    assert words.verdict(both) == "NOT PRIVATE as declared: 1 violation in 2,195 cases, and 1 interval held too seldom."


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (Fraction(1), "100 %"), (Fraction(9999, 10000), "99.9 %"), (Fraction(1, 3), "33.3 %"), (Fraction(0), "0 %"),
        (Fraction(3, 2), "150 %"), (Fraction(100001, 100000), "100.1 %"), (Fraction(1, 10), "10 %"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_of_it(share: Fraction, shown: str) -> None:
    assert words.percent(Case("", Fraction(1), share).share) == shown


# ---------------------------------------------------------------------------------------------- text


def test_the_text_says_everything() -> None:
    shown = as_text(audits.HELD, "ascii", command=COMMAND)
    row = "| customer | c_custkey | max_rows 1 | of 2 columns | 412 | 18 | 100 % of ε 1 | yes |"
    other = (
        "| lineitem | via orders.o_orderkey | max_rows 1,200, max_groups 7 | l_shipmode: 7 | 1,371 | 0 | 66.6 % of ε"
    )
    for part in (
        row,
        other,
        "  customer: 100 % of ε 1\n    SELECT c_mktsegment, COUNT(*)\n    FROM customer\n    GROUP BY c_mktsegment\n",
        "| customer | AVG(c_acctbal) |  95 % | 1,849 |    2,000 |",
        "| often enough |",
        "|    3 | SELECT COUNT(*) FROM orders |    20 | 100 % of ε 1 | held ",
        "|    7 | SELECT MAX(x) FROM orders   |     0 |              | refused: the aggregate MAX(x) isn't supported |",
        "advice: config/tpch.yaml:9: one query may ask for ε 11\nhint: write max_epsilon: 4\n",
        f"The same again: {COMMAND}\n",
        "Seed 42.\n",
    ):
        assert re.sub(" +", " ", part) in re.sub(" +", " ", shown), part
    assert "violation" not in shown and "too seldom" not in shown


def test_the_text_of_faults() -> None:
    shown = as_text(audits.VIOLATED, "ascii", command=COMMAND)
    escaped = "</pre><script>alert('1 & 2')</script><!-- \\u202e\\x1b[31m"
    fault = f"violation: one unit moved SUM(x) by 1.5 of its bound (ε 1, seed 4711)\n    {escaped}\n"
    assert shown.count(fault) == 2
    assert "| NO   |" in shown and "| NOT as charged  " in shown
    assert f"advice: {escaped}: {escaped}\nhint: {escaped}\n" in shown
    assert "too seldom" in as_text(audits.SELDOM, "ascii", command=COMMAND)


@every
def test_the_text_holds_nothing_that_commands_a_terminal(audit: Audit) -> None:
    for style in ("box", "ascii", "spelled"):
        shown = as_text(audit, style, command=COMMAND)  # type: ignore[arg-type]
        assert all(line.isprintable() for line in shown.splitlines())


# ---------------------------------------------------------------------------------------------- JSON


@every
def test_the_json_is_of_its_schema(audit: Audit) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(as_json(audit, command=COMMAND)), SCHEMA)


def test_the_json_says_everything() -> None:
    found = json.loads(as_json(audits.VIOLATED, command=COMMAND))
    assert [found[key] for key in ("held", "policy", "seed", "command")] == [False, audits.HOSTILE, 42, COMMAND]
    table = found["tables"][1]
    assert table["bounds"] == {"max_rows": 1200, "max_groups": 7} and table["keys"] == {"l_shipmode": 7}
    assert table["tightest"] == {"sql": audits.HOSTILE, "epsilon": 1, "loss": 1.5, "share": 1.5}
    assert table["violations"] == [{"sql": audits.HOSTILE, "epsilon": 1, "seed": 4711, "what": audits.VIOLATION.what}]
    coverage = found["tables"][0]["coverage"][1]
    assert (coverage["inside"], coverage["least"], coverage["held"]) == (1849, 1849, True)
    assert [each["line"] for each in found["statements"]] == [3, 7]
    assert found["statements"][1]["tightest"] is None and found["statements"][1]["refused"] == audits.HOSTILE
    assert found["advice"] == [{"line": 0, "what": audits.HOSTILE, "hint": audits.HOSTILE}]


def test_every_value_of_an_audit_is_in_the_json() -> None:
    """A value that is added to the findings must be added to the format."""
    shown = as_json(audits.HELD, command=COMMAND)
    for value in _values(audits.HELD):
        assert (
            json.dumps(float(value) if isinstance(value, Fraction) else value, ensure_ascii=False).removesuffix(".0")
            in shown
        ), value


def _values(value: object) -> Iterator[object]:
    if is_dataclass(value):
        for each in fields(value):
            yield from _values(getattr(value, each.name))
    elif isinstance(value, tuple):
        for one in value:
            yield from _values(one)
    else:
        yield value


def test_the_schema_lets_nothing_else_in() -> None:
    found = json.loads(as_json(audits.HELD, command=COMMAND))
    jsonschema.validate(found, SCHEMA)
    for place in (
        found,
        found["tables"][0],
        found["statements"][0],
        found["advice"][0],
        found["tables"][0]["tightest"],
    ):
        place["more"] = 1
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(found, SCHEMA)
        del place["more"]


# ---------------------------------------------------------------------------------------------- the page


class _Page(HTMLParser):
    """The elements, attributes and texts of a page; unbalanced elements fail."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")


def _plain(page: str) -> str:
    """What is to be read on it."""
    return "\n".join(_Page(page).texts)


@every
def test_the_page_is_whole_and_alone(audit: Audit) -> None:
    page = _Page(as_html(audit, command=COMMAND))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a", "use", "image"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "href", "style", "xlink:href")}
    policy = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    style = re.search("<style>(.*?)</style>", as_html(audit, command=COMMAND), re.DOTALL)
    assert style and "url(" not in style[1] and "@import" not in style[1]
    assert [a for tag, a in page.elements if tag == "html"] == [{"lang": "en"}]


def test_nothing_that_an_owner_writes_is_markup() -> None:
    page = as_html(audits.VIOLATED, command=audits.HOSTILE)
    assert "<script" not in page and "<!--" not in page and "alert('" not in page
    assert "\u202e" not in page and "\x1b" not in page
    plain = _plain(page)
    assert plain.count("</pre><script>alert('1 & 2')</script><!-- \\u202e\\x1b[31m") >= 10


@every
def test_figures_are_told_to_those_who_do_not_see_them(audit: Audit) -> None:
    page = as_html(audit, command=COMMAND)
    images = re.findall("<svg.*?</svg>", page, re.DOTALL)
    figures = re.findall("<figure>.*?</figure>", page, re.DOTALL)
    assert len(images) == len(figures) and all("<figcaption>" in figure for figure in figures)
    for image in images:
        root = ET.fromstring(image)
        assert root.get("role") == "img" and root.get("aria-label")
        title, described, *_ = root
        assert title.tag.endswith("title") and title.text and described.tag.endswith("desc") and described.text
    heads = [attributes for tag, attributes in _Page(page).elements if tag == "th"]
    assert all(attributes.get("scope") == "col" for attributes in heads)
    assert page.count("<table>") == page.count("<caption>") >= 1


def test_the_page_says_what_was_tested_and_what_not() -> None:
    plain = _plain(as_html(audits.HELD, command=COMMAND))
    for told in (
        *(meaning for _, meaning in words.MEANINGS), *words.LIMITS, audits.HELD.fingerprint, "0.1.0", "42", COMMAND,
        "customer", "via orders.o_orderkey", "max_rows 1,200, max_groups 7", "c_nationkey: 25, c_mktsegment: 5",
        "SELECT c_mktsegment, COUNT(*)\nFROM customer\nGROUP BY c_mktsegment", "66.6 % of ε 0.5", "1,931",
        "90–100", "201",
        "refused: the aggregate MAX(x) isn't supported", "config/tpch.yaml:9", "write max_epsilon: 4",
    ):  # fmt: skip
        assert told in plain, told
    assert "Violations" not in plain
    assert "seed 4711 finds it again" in _plain(as_html(audits.VIOLATED, command=COMMAND))
    assert "No advice" in _plain(as_html(audits.EMPTY, command=COMMAND))


# ---------------------------------------------------------------------------------------------- figures


def test_a_bar_is_as_long_as_its_share() -> None:
    bars = [plots.Bar("half", 0.5, "50 %"), plots.Bar("all", 1.0, "100 %"), plots.Bar("over", 1.25, "125 %")]
    half, whole, over = _of(plots.against_limit(bars, title="t", limit="ε charged"), "rect")
    assert float(whole["width"]) == pytest.approx(2 * float(half["width"]))
    assert float(over["width"]) == pytest.approx(2.5 * float(half["width"]))
    assert [each["class"] for each in (half, whole, over)] == ["bar", "bar", "over"]
    [limit] = [
        line for line in _of(plots.against_limit(bars, title="t", limit="l"), "line") if line["class"] == "limit"
    ]
    assert float(limit["x1"]) == pytest.approx(float(whole["x"]) + float(whole["width"]), abs=1e-3)


def test_points_lie_where_their_shares_are() -> None:
    points = [
        plots.Point("good", 0.95, 0.95, (0.925, 0.975), "95 %", fault=False),
        plots.Point("bad", 0.85, 0.95, (0.925, 0.975), "85 %", fault=True),
    ]
    image = plots.with_band(points, title="t")
    bands = [each for each in _of(image, "rect") if each["class"] == "band"][1:]
    wanted = [each for each in _of(image, "line") if each["class"] == "wanted"][1:]
    [_, dot] = _of(image, "circle")
    middle = float(bands[0]["x"]) + float(bands[0]["width"]) / 2
    assert float(dot["cx"]) == pytest.approx(middle, abs=1e-3)
    assert float(wanted[0]["x1"]) == pytest.approx(middle, abs=1e-3)
    [cross] = _of(image, "path")
    assert cross["class"] == "cross"
    left = float(cross["d"].split()[0].removeprefix("M")) + 5
    per_share = float(bands[0]["width"]) / 0.05
    assert left == pytest.approx(middle - 0.1 * per_share, abs=0.1)


def test_parts_stand_end_to_end() -> None:
    image = plots.in_parts([plots.Parts("a", 30, 10), plots.Parts("b", 0, 0)], title="t", first="f", second="s")
    first, rest, *others = _of(image, "rect")[2:]
    assert float(first["width"]) == pytest.approx(3 * float(rest["width"]))
    assert float(rest["x"]) == pytest.approx(float(first["x"]) + float(first["width"]))
    assert [float(each["width"]) for each in others] == [0, 0]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 1.5), (0.9237, 1), (0, 443), (0, 1), (0, 20_000), (0, 3), (0.2, 1)]
)
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    ticks = plots._ticks(low, high)
    assert 2 <= len(ticks) <= 6 and all(low <= tick <= high + 1e-9 for tick in ticks)
    step = ticks[1] - ticks[0]
    assert f"{step:.3e}"[0] in "125" and f"{step:.3e}"[1:5] == ".000"


def test_columns_are_as_high_as_their_counts() -> None:
    first, second, third = _of(plots.columns([("a", 20), ("b", 5), ("c", 0)], title="t", below="x"), "rect")
    assert float(first["height"]) == pytest.approx(4 * float(second["height"]))
    assert float(third["height"]) == 0
    assert float(first["y"]) + float(first["height"]) == pytest.approx(float(second["y"]) + float(second["height"]))


def test_cases_are_counted_by_tenths() -> None:
    shares = [Fraction(0), Fraction(99, 1000), Fraction(1, 10), Fraction(999, 1000), Fraction(1), Fraction(3, 2)]
    assert [Case("", Fraction(2), 2 * share).tenths for share in shares] == [0, 0, 1, 9, 10, 10]
    counted = words.spread(Audit("p", "f", "v", 1, (audits.CUSTOMER, audits.LINEITEM, audits.CUSTOMER), (), ()))
    assert counted[0] == ("0–10", 402) and counted[-2:] == [("90–100", 22), ("100", 134)] and len(counted) == 11
    assert words.spread(audits.EMPTY) == []


def test_long_names_are_cut_and_told_whole() -> None:
    image = plots.against_limit([plots.Bar("x" * 60, 0.5, "")], title="t", limit="")
    assert f"<title>{'x' * 60}</title>{'x' * 23}…" in image


def _of(image: str, kind: str) -> list[dict[str, str]]:
    root = ET.fromstring(image)
    return [each.attrib for each in root.iter() if each.tag.endswith(f"}}{kind}") or each.tag == kind]


# ---------------------------------------------------------------------------------------------- markup


def test_elements_escape_what_they_hold() -> None:
    assert element("p", "<b>", element("br"), ["&", [element("i", '"')]], class_="a'b") == (
        '<p class="a&#x27;b">&lt;b&gt;<br>&amp;<i>&quot;</i></p>'
    )
    assert element("details", open=True, hidden=False, aria_label="x", width=2.5) == (
        '<details open aria-label="x" width="2.5"></details>'
    )
    assert element("rect", x=1) == '<rect x="1"/>'
    assert text("a\nb\x00\t") == "a\nb\\x00\\t" and isinstance(text(""), Markup)
