"""Advice on policies: each rule speaks where it should, there alone, with a line of the policy and a way out."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpsql.audit import lint
from dpsql.audit.findings import Advice
from dpsql.audit.lint import files
from dpsql.ledger import Ledger
from dpsql.policy import Limit, Lines, load
from dpsql.policy import names as column_names
from tests.readme.product import copy_policies
from tests.tpch import generate

BASE = """\
dpsql: 1
privacy:
  epsilon: 1
  max_epsilon: 4
budget:
  epsilon: 20
  analysts:
    alice: {epsilon: 5, per: month}
    "*": {epsilon: 1}
ledger: var/the.ledger
tables:
  people:
    source: data/people.csv
    unit: row
    columns:
      id: {type: integer}
      age: {type: integer, bounds: [0, 120]}
      sex: {type: text, keys: [f, m]}
  visits:
    source: data/visits.csv
    unit: {column: patient_id, max_rows: 20}
    columns:
      patient_id: {type: integer}
      clinic_id: {type: integer, keys: [1, 2, 3]}
      cost: {type: "decimal(10,2)", bounds: [0, 1000]}
      weight: {type: double, bounds: [0, 300]}
      day: {type: date, bounds: [2020-01-01, 2030-12-31]}
      drug: {type: text, keys: {from: drugs.code}}
      note: {type: text}
  drugs:
    source: public/drugs.csv
    public: true
    primary_key: code
    columns:
      code: {type: text}
      price: {type: double, bounds: [0, 10]}
"""
COST = 'cost: {type: "decimal(10,2)", bounds: [0, 1000]}'
BUDGET = "budget:\n  epsilon: 20\n  analysts:\n    alice: {epsilon: 5, per: month}\n"
MAX_EPSILON = "  max_epsilon: 4\n"
CLINICS = "clinic_id: {type: integer, keys: [1, 2, 3]}"
ROWS = "max_rows: 20}"

# The rule that is to speak; what is written in the place of what; what it says, and what it tells to write.
SPOKEN: tuple[tuple[str, str, str, str, str], ...] = (
    ("query_epsilon", "  epsilon: 1\n  max_epsilon: 4\n", "  epsilon: 12\n  max_epsilon: 12\n",
     "asks for no ε has ε 12: one person may change the chance of its answer by a factor of 162,755", "epsilon: 1"),
    ("query_epsilon", MAX_EPSILON + BUDGET, "  max_epsilon: 11\n" + BUDGET.replace("5, per: month", "15"),
     "one query may ask for ε 11", "max_epsilon: 4"),
    ("query_epsilon", MAX_EPSILON + BUDGET, BUDGET.replace("5, per: month", "15"),
     "one query may ask for ε 15, all that the budget has", "max_epsilon: 4"),
    ("yearly_epsilon", "  epsilon: 20\n", "  epsilon: 21\n",
     "may spend ε 21, whatever single analysts may spend: a person is promised a factor of e^21", "epsilon: 20 or"),
    ("yearly_epsilon", "  epsilon: 20\n", "  epsilon: 2\n  per: month\n", "ε 2 each month, ε 24 a year",
     "epsilon: 1.5 with per: month"),
    ("yearly_epsilon", "  epsilon: 20\n", "  epsilon: 1\n  per: day\n", "ε 1 each day, ε 366 a year",
     "epsilon: 0.05 with per: day"),
    ("yearly_epsilon", BUDGET + '    "*": {epsilon: 1}\n', "budget:\n  epsilon: 20.5\n",
     "may spend ε 20.5: a person is promised a factor of e^20.5", "write epsilon: 20 or less, without per"),
    ("unnamed_analysts", '    "*": {epsilon: 1}\n', "", "an analyst who is not named here has all of ε 20",
     '"*": {epsilon: 0}'),
    ("unnamed_analysts", '    "*": {epsilon: 1}\n', "    bob: {epsilon: 20}\n", "has all of ε 20", '"*": {epsilon: 0}'),
    ("many_queries", MAX_EPSILON, MAX_EPSILON + "  min_epsilon: 1e-6\n", "allows 20,000,000 queries a year",
     "min_epsilon: 0.00002 or more"),
    ("floor_above_default", "  epsilon: 1\n", "  epsilon: 0.1\n  min_epsilon: 0.5\n",
     "has the noise of ε 0.1 and is charged min_epsilon, 0.5", "epsilon: 0.5"),
    ("delta", "  epsilon: 20\n", "  epsilon: 20\n  delta: 1e-4\n", "δ 0.0001: of 10,000 people", "delta: 1e-6"),
    ("delta", "  epsilon: 20\n", "  epsilon: 0.3\n  delta: 1e-6\n  per: week\n",
     "δ 0.000001 each week, δ 0.000053 a year", "delta: 1e-6"),
    ("averaging", "ledger: var/the.ledger\n", "ledger: var/the.ledger\nanswers: off\n",
     "repeating it averages the noise away", "remove answers: off"),
    ("groups_of_one", "cost: {", "Email: {type: text, keys: [a, b]}\n      cost: {",
     "visits.Email seems to tell who a person is, and each of its 2 keys is a group", "remove keys of Email"),
    ("groups_of_one", "      id: {type: integer}", "      id: {type: integer, bounds: [1, 1000]}",
     "people.id seems to number something, and each of its values within the bounds is a group", "remove bounds of id"),
    ("groups_of_one", CLINICS, f"clinic_id: {{type: integer, keys: {[*range(101)]}}}",
     "visits.clinic_id seems to number something, and each of its 101 keys", "remove keys of clinic_id"),
    ("groups_of_one", "sex: {type: text, keys: [f, m]}", "sex: {type: text, keys: [f, m], unique: true}",
     "people.sex has another value in each row", "remove keys of sex"),
    ("groups_of_one", "    unit: {column: patient_id, max", "    primary_key: cost\n    unit: {column: patient_id, max",
     "visits.cost has another value in each row", "remove bounds of cost"),
    ("many_keys", "sex: {type: text, keys: [f, m]}", f"zip: {{type: integer, keys: {[*range(10_001)]}}}",
     "people.zip lists 10,001 keys", "keys: {from: table.column}"),
    ("type_limits", COST, f"cost: {{type: integer, bounds: [0, {2**31 - 1}]}}",
     "the noise of SUM(cost) has the scale 42,900,000,000, as much as 1,000 rows of 42,900,000 each", "lowest and the"),
    ("type_limits", COST, f"cost: {{type: integer, bounds: [{-(2**63)}, 0]}}", "visits.cost has bounds as wide",
     "from what is known"),
    ("type_limits", COST, 'cost: {type: "decimal(10,2)", bounds: [0, 99999999.99]}', "visits.cost has bounds as wide",
     "from what is known"),
    ("type_limits", COST, "cost: {type: double, bounds: [-1e308, 1e308]}", "more than 1e300", "from what is known"),
    ("type_limits", COST, "price: {type: double, bounds: [0, 1e12]}", "visits.price has bounds as wide", "from what"),
    ("known_ranges", "bounds: [0, 120]", "bounds: [0, 1200]", "people.age has bounds 10 times as wide as 0 to 120",
     "bounds: [0, 120]"),
    ("known_ranges", "weight: {type: double, bounds: [0, 300]}", "birthYear: {type: integer, bounds: [0, 2100]}",
     "visits.birthYear has bounds 10.5 times as wide as 1900 to 2100", "bounds: [1900, 2100]"),
    ("wider_namesakes", COST, "Price: {type: integer, bounds: [0, 10000]}",
     "visits.Price has bounds 1,000 times as wide as drugs.price", "the same bounds for both"),
    ("centuries", "bounds: [2020-01-01, 2030-12-31]", "bounds: [1900-01-01, 9999-12-31]",
     "visits.day has bounds over 8,099 years: groups by month are 97,188", "bounds: [2015-01-01, 2030-12-31]"),
    ("categories_without_keys", "note: {type: text}", "home_country: {type: text}",
     "no query can group by visits.home_country", "keys: [a, b, c]"),
    ("rows_of_persons", "      sex:", "      custKey: {type: integer}\n      sex:",
     "custKey seems to say whose it is: a person with k rows", "unit: {column: custKey, max_rows: 20}"),
    ("rows_of_persons", "      sex:", "      user_id: {type: integer}\n      client_no: {type: integer}\n      sex:",
     "user_id seems to say whose it is", "unit: {column: user_id, max_rows: 20}"),  # once for a table
    ("rows_of_persons", "      sex:", "      PATIENT_id: {type: integer}\n      sex:",
     "PATIENT_id seems to say whose it is, as the rows of visits are", "unique: true at PATIENT_id"),
    ("rows_of_persons", "visits:", "other:\n    source: data/people.csv\n    unit: {column: whose, max_rows: 3}\n"
     "    columns: {whose: {type: integer}}\n  more:\n    source: data/people.csv\n    unit: row\n"
     "    columns: {whose: {type: integer}}\n  visits:", "as the rows of other are",
     "unit: {column: whose, max_rows: 20}"),
    ("public_units", "      price:", "      patient_id: {type: integer}\n      price:",
     "drugs is public and has patient_id, which in visits names the privacy unit", "unit: {column: patient_id"),
    ("public_units", "    primary_key: code\n    columns:\n      code: {type: text}\n"
     "      price: {type: double, bounds: [0, 10]}\n", "  info: {source: public/drugs.csv, public: true, primary_key: "
     "patient_id}\n", "info is public and has patient_id", "in the place of public"),
    ("wide_max_rows", ROWS, "max_rows: 1001}", "1,001 rows, so at ε 1 a count of visits is known to ± 2,999",
     "what nearly all units stay below"),
    ("loose_groups", ROWS, "max_rows: 500, max_groups: 3, max_rows_per_key: 4}",
     "an answer has 41 times the noise", "max_rows: 12"),
)  # fmt: skip

# What is written in the place of what, and is no reason to speak.
SILENT: tuple[tuple[str, str], ...] = (
    ("  epsilon: 1\n" + MAX_EPSILON, "  epsilon: 10\n  max_epsilon: 10\n"),
    ("  max_epsilon: 4\nbudget:\n  epsilon: 20\n", "budget:\n  epsilon: 10\n"),
    (MAX_EPSILON + BUDGET + '    "*": {epsilon: 1}\n', "budget:\n  epsilon: 10\n"),
    ("  max_epsilon: 4\n", ""),  # the analysts' limits are the ceiling
    ("  epsilon: 20\n", "  epsilon: 1.5\n  per: month\n"),
    ("  epsilon: 20\n", "  epsilon: 0.35\n  per: week\n"),
    ("  epsilon: 20\n", "  epsilon: 0.05\n  per: day\n"),
    ('  epsilon: 20\n  analysts:\n    alice: {epsilon: 5, per: month}\n    "*": {epsilon: 1}\n',
     "  epsilon: 20\n  analysts:\n    alice: {epsilon: 20}\n"),
    (MAX_EPSILON, MAX_EPSILON + "  min_epsilon: 2e-5\n"),
    (MAX_EPSILON, MAX_EPSILON + "  min_epsilon: 1\n"),
    ("  epsilon: 20\n", "  epsilon: 20\n  delta: 1e-5\n"),
    ("sex: {", "surname: {type: text}\n      sex: {"),
    (CLINICS, f"clinic_id: {{type: integer, keys: {[*range(100)]}}}"),
    (CLINICS, "drug_id: {type: text, keys: {from: drugs.code}}"),
    ("    unit: {column: patient_id, max", "    primary_key: [cost, day]\n    unit: {column: patient_id, max"),
    ("sex: {type: text, keys: [f, m]}", f"zip: {{type: integer, keys: {[*range(10_000)]}}}"),
    (COST, "cost: {type: integer, bounds: [0, 1000000000]}"),
    (COST, 'grade: {type: "decimal(3,2)", bounds: [0, 9.99]}'),
    ("bounds: [0, 120]", "bounds: [0, 240]"),
    ("weight: {type: double, bounds: [0, 300]}", "month: {type: integer, bounds: [202001, 203012]}"),
    ("weight: {type: double, bounds: [0, 300]}", "age_days: {type: integer, bounds: [0, 40000]}"),
    (COST, "Price: {type: integer, bounds: [0, 9999]}"),
    ("price: {type: double, bounds: [0, 10]}", "cost: {type: double, bounds: [0, 1e9]}"),  # it is public
    ("bounds: [2020-01-01, 2030-12-31]", "bounds: [1900-01-01, 2050-12-31]"),
    ("note: {type: text}", "country: {type: text, keys: [x]}"),
    ("  max_epsilon: 4\nbudget:\n", "  max_epsilon: 4\n  delta: 1e-8\nbudget:\n  delta: 1e-6\n"),
    ("      sex:", "      patient_id: {type: integer, unique: true}\n      sex:"),
    ("    unit: row\n", "    unit: row\n    primary_key: user_id\n"),
    ("    unit: {column: patient_id, max_rows: 20}\n    columns:\n",
     "    unit: {column: id, max_rows: 20}\n    columns:\n      id: {type: integer}\n"),  # people has one of its own
    (ROWS, "max_rows: 1000}"),
    (ROWS, "max_rows: 120, max_groups: 3, max_rows_per_key: 4}"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine where all is in order: a local disk, nobody else in any group, files for their owner alone."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n", encoding="utf-8")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a policy with the files that it names."""

    def written(text: str = BASE, folder: Path | None = None) -> Path:
        place = folder or tmp_path / "owner"
        for name in ("data/people.csv", "data/visits.csv", "public/drugs.csv"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).touch()
        (place / "policy.yaml").write_text(text, encoding="utf-8")
        return place / "policy.yaml"

    return written


def spoken(path: Path) -> list[tuple[str, Advice]]:
    """What each rule says, by its name."""
    policy = load(path)
    lines = Lines(policy.text)
    found = [(rule.__name__, each) for rule in lint.RULES for each in rule(policy, lines)]
    assert sorted(map(repr, lint.advice(policy))) == sorted(repr(each) for _, each in found)
    return found


# ---------------------------------------------------------------------------------------------- the policy


def test_nothing_is_said_of_a_sound_policy(write: Callable[..., Path]) -> None:
    assert spoken(write()) == []


@pytest.mark.parametrize(("rule", "old", "new", "what", "hint"), SPOKEN, ids=lambda value: str(value)[:40])
def test_each_rule_speaks(write: Callable[..., Path], rule: str, old: str, new: str, what: str, hint: str) -> None:
    assert BASE.count(old) == 1
    text = BASE.replace(old, new)
    [(name, advice)] = spoken(write(text))
    assert name == rule
    assert what in advice.what and hint in advice.hint
    written = text.splitlines()[advice.line - 1]
    assert any(word in written for word in (*new.split(), "analysts:", "privacy:", "unit: row", "public: true"))


@pytest.mark.parametrize(("old", "new"), SILENT, ids=lambda value: str(value)[:40])
def test_no_rule_speaks_too_soon(write: Callable[..., Path], old: str, new: str) -> None:
    assert BASE.count(old) == 1
    text = BASE.replace(old, new)
    if "user_id" in new:
        text = text.replace("      sex:", "      user_id: {type: integer}\n      sex:")
    assert spoken(write(text)) == []


def test_every_rule_has_a_policy_that_makes_it_speak() -> None:
    in_files = {rule.__name__ for rule in files.RULES}
    assert {rule for rule, *_ in SPOKEN} == {rule.__name__ for rule in lint.RULES} - in_files
    tests = "".join(name for name in globals() if name.startswith("test_"))
    assert all(f"test_{name}" in tests for name in in_files)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("privacy", "max_epsilon"), "max_epsilon: 4"),
        (("budget", "analysts", "*"), '"*": {epsilon: 1}'),
        (("tables", "VISITS", "columns", "Cost", "bounds"), COST),
        (("tables", "visits", "unit", "max_groups"), "unit: {column: patient_id, max_rows: 20}"),
        (("budget", "delta"), "budget:"),
    ],
)
def test_lines(path: tuple[str, ...], line: str) -> None:
    assert BASE.splitlines()[Lines(BASE).of(*path) - 1].strip() == line


def test_what_is_not_written_has_no_line() -> None:
    assert Lines(BASE).of("engine") == Lines("dpsql: [").of("dpsql") == 0


def test_a_budget_without_a_limit(write: Callable[..., Path]) -> None:
    policy = load(write())
    free = replace(policy, budget=replace(policy.budget, everyone=Limit()))
    assert ["there is no budget for everyone" in each.what for each in lint.advice(free)] == [True]
    ceiling = replace(free, privacy=replace(policy.privacy, max_epsilon=None), budget=replace(free.budget, analysts={}))
    assert any("one query may ask for any ε" in each.what for each in lint.advice(ceiling))
    unnamed = replace(free, budget=replace(free.budget, analysts={"alice": Limit(policy.privacy.epsilon)}))
    assert any("not named here has no limit" in each.what for each in lint.advice(unnamed))


def test_text_can_be_grouped_by_for_a_delta(write: Callable[..., Path]) -> None:
    text = BASE.replace("note: {type: text}", "country: {type: text}")
    with_delta = text.replace("max_epsilon: 4\nbudget:\n", "max_epsilon: 4\n  delta: 1e-8\nbudget:\n  delta: 1e-6\n")
    assert [name for name, _ in spoken(write(text))] == ["categories_without_keys"]
    assert spoken(write(with_delta)) == []


def test_a_source_whose_name_looks_like_a_glob(write: Callable[..., Path]) -> None:
    path = write()
    source = path.parent / "data" / "people[1].csv"
    source.touch(0o602)
    source.chmod(0o602)
    path.write_text(BASE.replace("data/people.csv", "data/people[1].csv"), encoding="utf-8")
    assert [advice.hint for _, advice in spoken(path)] == [f"chmod o-w '{source}'"]


def test_keys_of_a_public_table_are_no_secret(write: Callable[..., Path]) -> None:
    """Also where they are known: in a policy that is compared with the data."""
    text = BASE.replace("keys: [1, 2, 3]", "keys: {from: drugs.number}").replace(
        "price:", "number: {type: integer}\n      price:"
    )
    policy = load(write(text))
    assert policy.tables["visits"].columns["clinic_id"].keys_from == ("drugs", "number")
    for column in policy.tables["visits"].columns.values():
        if column.keys_from is not None:
            policy.tables["visits"].columns[column.name] = replace(column, keys=tuple(range(20_000)))
    assert lint.advice(policy) == ()


@pytest.mark.parametrize(
    ("name", "person"),
    [("patient_id", True), ("custKey", True), ("USER_NO", True), ("ssn", True), ("work_email", True), ("id", False),
     ("visit_id", False), ("customers", False), ("age", False), ("grid", False), ("", False), ("pid", True),
     ("uid", True), ("HHID", True), ("household", True), ("household_id", True), ("SERIALNO", True), ("patient", True),
     ("client_id", True), ("serial", False), ("pids", False), ("client_type", False)],
)  # fmt: skip
def test_names_of_persons(name: str, person: bool) -> None:
    assert column_names.names_person(name) == person


def test_the_shipped_policies_need_no_advice(tmp_path: Path) -> None:
    config = copy_policies(tmp_path).parent
    generate.write(config / "data", scale=0.001)
    for path in (*sorted(config.glob("*.yaml")), tmp_path / "dpsql" / "demo" / "pums.yaml"):
        assert spoken(path) == [], path


# ---------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("loose", "harm"),
    [
        ("policy.yaml", "what is protected"),
        ("var/the.ledger", "what is left of the budget"),
        ("var/the.ledger.head", "what is left of the budget"),
        ("var", "what is left of the budget"),
        ("data/visits.csv", "the rows of visits"),
        ("data", "the rows of people or the rows of visits"),
        ("public", "the rows of drugs"),
        (".", "what is protected, what is left of the budget, the rows of people, the rows of visits or the rows of "
         "drugs"),
    ],
)  # fmt: skip
def test_writable(write: Callable[..., Path], loose: str, harm: str) -> None:
    path = write()
    Ledger.create(load(path).ledger).close()
    assert spoken(path) == []
    place = path.parent / loose
    mode = place.stat().st_mode
    place.chmod(mode | 0o002)
    [(rule, advice)] = spoken(path)
    assert rule == "writable" and advice.what == f"everyone may write to {place}, and so change {harm}"
    assert advice.hint == f"chmod o-w {place}"
    place.chmod(mode | 0o1002)  # sticky: nobody can replace what is another's
    assert (spoken(path) == []) == place.is_dir()
    place.chmod(mode | 0o020)
    assert spoken(path) == []  # nobody else is in the group


@pytest.mark.parametrize("primary", [True, False])
def test_writable_by_a_group_that_others_are_in(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, primary: bool
) -> None:
    path = write()
    path.chmod(0o660)
    found = path.stat()
    mallory = SimpleNamespace(pw_name="mallory", pw_uid=found.st_uid + 1, pw_gid=found.st_gid if primary else -5)
    group = SimpleNamespace(gr_name="staff", gr_mem=[] if primary else ["mallory"])
    monkeypatch.setattr(pwd, "getpwall", lambda: [mallory])
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    [(_, advice)] = spoken(path)
    assert advice.what == f"the group staff may write to {path}, and so change what is protected"
    assert (advice.line, advice.hint) == (0, f"chmod g-w {path}")
    mallory.pw_uid, mallory.pw_gid, group.gr_mem = found.st_uid, found.st_gid, [pwd.getpwuid(found.st_uid).pw_name]
    assert spoken(path) == []  # the owner is in it alone


def test_beside_writable(write: Callable[..., Path]) -> None:
    path = write()
    (path.parent / "var").mkdir()
    other = path.parent / "var" / "upload.tmp"
    other.touch()
    assert spoken(path) == []
    other.chmod(0o666)
    [(rule, advice)] = spoken(path)
    assert rule == "beside_writable" and str(other) in advice.what
    assert BASE.splitlines()[advice.line - 1].startswith("ledger:")
    (path.parent / "var").chmod(0o777)
    assert [rule for rule, _ in spoken(path)] == ["writable"]  # which says more


@pytest.mark.parametrize(
    ("kind", "says"), [("nfs4", "the ledger is on nfs4, where locks don't hold"), ("tmpfs", "gone when the machine")]
)
def test_ledger_filesystem(write: Callable[..., Path], tmp_path: Path, kind: str, says: str) -> None:
    path = write()
    point = path.parent / "var"
    root, other = "27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n", f"28 27 0:9 / {point}iety rw - {kind} x rw\n"
    (tmp_path / "mountinfo").write_text(root + other, encoding="utf-8")
    assert spoken(path) == []
    (tmp_path / "mountinfo").write_text(f"{root}{other}29 27 0:9 / {point} rw - {kind} x rw\n", encoding="utf-8")
    [(rule, advice)] = spoken(path)
    assert rule == "ledger_filesystem" and says in advice.what and "local disk" in advice.hint
    hidden = f"29 27 0:9 / {point} rw - {kind} x rw\n30 29 254:1 / {point} rw - xfs /dev/vdb rw\n"
    (tmp_path / "mountinfo").write_text(root + hidden, encoding="utf-8")
    assert spoken(path) == []
    (tmp_path / "mountinfo").unlink()  # not Linux
    assert spoken(path) == []


def test_a_mount_with_a_blank_in_its_name(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(folder=tmp_path / "my place")
    point = str(path.parent).replace(" ", "\\040")
    (tmp_path / "mountinfo").write_text(f"27 1 254:0 / {point} rw - ramfs none rw\n", encoding="utf-8")
    assert [name for name, _ in spoken(path)] == ["ledger_filesystem"]


@pytest.mark.parametrize(
    ("ledger", "source"),
    [
        ("data/the.ledger", "data/people.csv"),
        ("data/deep/the.ledger", "data/**/*.csv"),
        ("data/the.ledger", "data/p*.csv"),
        ("years/2020/the.ledger", "years/*/people.csv"),
    ],
)
def test_ledger_among_data(write: Callable[..., Path], ledger: str, source: str) -> None:
    text = BASE.replace("var/the.ledger", ledger).replace("data/people.csv", source)
    years = write(text).parent / "years" / "2020"
    years.mkdir(parents=True)
    (years / "people.csv").touch()
    [(rule, advice)] = spoken(years.parents[1] / "policy.yaml")
    assert rule == "ledger_among_data" and "an old ledger comes back with it" in advice.what
    assert "ledger: ledgers/" in advice.hint


def test_a_database(tmp_path: Path) -> None:
    config = copy_policies(tmp_path).with_name("tpch.yaml")
    generate.write(config.parent / "data", scale=0.001)
    database = config.parent / "data" / "tpch.duckdb"
    database.chmod(0o622)
    [(rule, advice)] = spoken(config)
    assert rule == "writable" and advice.what == (
        f"everyone may write to {database}, and so change the rows of customer, the rows of orders, the rows of "
        "lineitem, the rows of part or 4 others"
    )
    database.chmod(0o600)
    config.write_text(config.read_text(encoding="utf-8").replace("ledger: var/", "ledger: data/"), encoding="utf-8")
    assert [name for name, _ in spoken(config)] == ["ledger_among_data"]


def test_served(write: Callable[..., Path], tmp_path: Path) -> None:
    found = spoken(write(folder=tmp_path / "public_html" / "site"))
    assert [rule for rule, _ in found] == ["served"] * 3  # the ledger, people, visits: not what is public
    assert all("where web servers look" in advice.what for _, advice in found)


def test_readable(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    users = [SimpleNamespace(pw_uid=4711, pw_gid=-5, pw_name="mallory", pw_shell="/bin/bash")]
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    place = Path(tempfile.mkdtemp(prefix="dpsql-test-", dir="/tmp"))  # everyone can reach it
    try:
        path = write(folder=place)
        for folder in (place, place / "data", place / "public"):
            folder.chmod(0o755)
        people, visits = (place / "data" / f"{name}.csv" for name in ("people", "visits"))
        (place / "public" / "drugs.csv").chmod(0o644)
        assert spoken(path) == []  # it is public
        people.chmod(0o644)
        visits.chmod(0o644)
        [(rule, advice)] = spoken(path)
        assert rule == "readable" and f"may read {people} and 1 other file" in advice.what
        assert advice.hint == f"chmod o= {people} {visits}"
        users[0].pw_shell = "/usr/sbin/nologin"
        assert spoken(path) == []
        users[0].pw_shell, users[0].pw_uid = "/bin/bash", 33
        assert spoken(path) == []  # of the system
        users[0].pw_uid = 4711
        with monkeypatch.context() as running:
            running.setattr(os, "getuid", lambda: 4711)
            assert spoken(path) == []  # runs this
        assert len(spoken(path)) == 1
        (place / "data").chmod(0o750)  # nobody can reach it
        assert spoken(path) == []
    finally:
        shutil.rmtree(place)
