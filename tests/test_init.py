"""`dpsql init`: drafts say what the schema says, never what the values are, and load once the owner has decided."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dpsql.cli import main
from dpsql.engines import open_engine
from dpsql.policy import ForeignKey, Kind, Policy, Unit, load, load_all_errors
from dpsql.policy.draft import DraftColumn, DraftTable, draft_policy, plain_name, yaml_text
from tests.processes import held_for_writing

CANARY = "Rumpelstilzchen"
TYPES = {
    "i": ("INTEGER", "integer"),
    "big": ("BIGINT", "integer"),
    "tiny": ("UTINYINT", "integer"),
    "price": ("DECIMAL(10,2)", "decimal(10,2)"),
    "f": ("FLOAT", "double"),
    "d": ("DOUBLE", "double"),
    "word": ("VARCHAR", "text"),
    "b": ("BOOLEAN", "boolean"),
    "day": ("DATE", "date"),
    "moment": ("TIMESTAMP", "timestamp"),
}
UNUSABLE = {
    "blob": "BLOB", "list": "INTEGER[]", "struct": "STRUCT(a INTEGER)", "map": "MAP(INTEGER, INTEGER)", "time": "TIME",
    "huge": "HUGEINT", "unsigned": "UBIGINT", "uuid_": "UUID", "ns": "TIMESTAMP_NS", "zoned": "TIMESTAMPTZ",
}  # fmt: skip


@dataclass(frozen=True)
class Done:
    """What a run of `dpsql init` gave."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in the test's folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(["init", *arguments])
        return Done(code, *capsys.readouterr())

    return run


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def sql(*statements: str, database: Path | str = ":memory:") -> None:
    with duckdb.connect(str(database)) as connection:
        for statement in statements:
            connection.execute(statement)


def parquet(path: Path, query: str) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    sql(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def decided(draft: str, types: str = "text") -> str:
    """The draft once an owner has decided."""
    text = draft.replace("unit: DECIDE", "unit: row").replace("epsilon: DECIDE", "epsilon: 20")
    text = text.replace("type: DECIDE", f"type: {types}")
    return re.sub(r"bounds: DECIDE +# lowest and highest, such as (\[.*?\]);.*", r"bounds: \1", text)


def decide(path: Path, types: str = "text") -> Policy:
    """Decide everything in a draft, load it and compare it with its data."""
    path.write_text(decided(path.read_text("utf-8"), types), "utf-8")
    policy = load(path)
    open_engine(policy).close()
    return policy


def columns(policy: Policy, table: str) -> dict[str, Kind]:
    return {column.name: column.type.kind for column in policy.tables[table].columns.values()}


# ---------------------------------------------------------------------------------------------- drafts


def test_a_csv_file(init: Run, tmp_path: Path) -> None:
    write(tmp_path / "People.csv", "age, Name ,e-mail,,größe", f"30,{CANARY},x@y,,1.5")
    done = init("People.csv", "-o", "p.yaml")
    assert done.code == 0 and done.out == ""
    assert done.err == "wrote p.yaml: 6 decisions to make; then: dpsql check p.yaml; dpsql budget p.yaml --create\n"
    text = (tmp_path / "p.yaml").read_text("utf-8")
    assert CANARY not in text and "30" not in text
    assert "      # left out, it has no name\n" in text
    assert re.search(
        r"^      Name: +# may tell who a person is: better delete the column, unless unit needs it$", text, re.M
    )
    assert re.search(r'^      "e-mail": +# may tell', text, re.M) or re.search(
        r"^      e-mail: +# may tell", text, re.M
    )
    assert "ledger: var/p.ledger " in text and "engine" not in text
    policy = decide(tmp_path / "p.yaml")
    assert list(policy.tables) == ["people"] and policy.tables["people"].source.location == str(tmp_path / "People.csv")
    assert list(columns(policy, "people")) == ["age", "Name", "e-mail", "größe"]


def test_the_units_that_a_draft_explains_load(init: Run, tmp_path: Path) -> None:
    for name in ("visits", "parts"):
        write(tmp_path / f"{name}.csv", "visit_id,person_id")
    draft = init("visits.csv", "parts.csv").out
    by_column, by_key = re.findall(r"^ +#   (unit: \{.*?\}) ", draft, re.M)[:2]
    draft = draft.replace("unit: DECIDE", by_column, 1).replace("unit: DECIDE", by_key, 1)
    (tmp_path / "p.yaml").write_text(draft, "utf-8")
    tables = decide(tmp_path / "p.yaml", "integer").tables
    assert tables["visits"].unit == Unit("person_id", None, 20)
    assert tables["parts"].unit == Unit(None, ForeignKey("visits", ("visit_id",), ("visit_id",)), 60)


def test_a_draft_on_standard_output(init: Run, tmp_path: Path) -> None:
    write(tmp_path / "deep" / "people.csv", "age,name")
    done = init("deep/people.csv")
    assert done.code == 0 and "source: deep/people.csv\n" in done.out
    assert done.err == "4 decisions to make: save it as a .yaml file here, decide, then run dpsql check on it\n"
    assert init("deep/people.csv", "-o", "-").out == done.out


def test_paths_are_seen_from_the_policy(init: Run, tmp_path: Path) -> None:
    write(tmp_path / "data" / "people.csv", "age")
    sql("CREATE TABLE t(a INTEGER)", database=tmp_path / "data" / "x.duckdb")
    (tmp_path / "policies").mkdir()
    assert init(str(tmp_path / "data" / "people.csv"), "data/x.duckdb", "-o", "policies/p.yaml").code == 0
    text = (tmp_path / "policies" / "p.yaml").read_text("utf-8")
    assert "source: ../data/people.csv\n" in text and "engine: duckdb:///../data/x.duckdb\n" in text
    policy = decide(tmp_path / "policies" / "p.yaml")
    assert list(policy.tables) == ["t", "people"]


def test_the_types_of_a_parquet_file(init: Run, tmp_path: Path) -> None:
    listed = ", ".join(f"NULL::{stored} AS {name}" for name, (stored, _) in TYPES.items())
    other = "NULL::TIMESTAMPTZ AS zoned, NULL::TIMESTAMP_NS AS ns, NULL::BLOB AS blob, [1] AS list, {'a': 1} AS struct"
    parquet(tmp_path / "t.parquet", f"SELECT {listed}, {other}")
    done = init("t.parquet", "-o", "p.yaml")
    assert done.code == 0
    text = (tmp_path / "p.yaml").read_text("utf-8")
    for name, (_, declared) in TYPES.items():
        assert re.search(rf"^      {name}:.*\n        type: {re.escape(declared)}$", text, re.M), name
    assert "      # blob: left out, its type BLOB can't be used\n" in text
    assert "      # list: left out, its type INTEGER[] can't be used\n" in text
    assert "      # struct: left out, its type STRUCT can't be used\n" in text
    assert not re.search(r"^ +nullable:", text, re.M)
    expected = {name: Kind(declared.partition("(")[0]) for name, (_, declared) in TYPES.items()}
    assert columns(decide(tmp_path / "p.yaml"), "t") == {**expected, "zoned": Kind.TIMESTAMP, "ns": Kind.TIMESTAMP}


def test_milliseconds_are_left_out(init: Run, tmp_path: Path) -> None:
    arrow, files = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"ms": arrow.array([0], arrow.timestamp("ms")), "us": arrow.array([0], arrow.timestamp("us"))})
    files.write_table(table, tmp_path / "t.parquet")
    assert init("t.parquet", "-o", "p.yaml").code == 0
    text = (tmp_path / "p.yaml").read_text("utf-8")
    assert "# ms: left out, its type TIMESTAMP_MS can't be used; store it as TIMESTAMP\n" in text
    assert list(columns(decide(tmp_path / "p.yaml"), "t")) == ["us"]


DATABASE = (
    "CREATE TABLE people(" + ", ".join(f"{n} {stored}" for n, (stored, _) in TYPES.items()) + ")",
    "CREATE TABLE rest(a INTEGER NOT NULL, " + ", ".join(f'"{n}" {stored}' for n, stored in UNUSABLE.items())
    + ", g INTEGER GENERATED ALWAYS AS (a + 1), c VARCHAR COLLATE NOCASE, \"É\" INTEGER, \"é\" INTEGER, \"no\" DATE)",
    f"CREATE TYPE mood AS ENUM ('{CANARY}'); ALTER TABLE rest ADD COLUMN mood mood",
    'CREATE SCHEMA sales; CREATE TABLE sales.orders("Order Date" TIMESTAMP, "x.y" BOOLEAN DEFAULT true)',
    'CREATE TABLE sales."2020.csv"("1e3" BIGINT PRIMARY KEY CHECK ("1e3" > 4711))',
    "CREATE TABLE lists(l INTEGER[])",
    'CREATE TABLE "<<"(a BOOLEAN); CREATE TABLE " x"(a BOOLEAN)',
    "CREATE VIEW v AS FROM people",
    "CREATE MACRO m() AS TABLE SELECT 1",
)  # fmt: skip


def test_a_database(init: Run, tmp_path: Path) -> None:
    sql(*DATABASE, database=tmp_path / "clinic.duckdb")
    done = init("clinic.duckdb", "-o", "p.yaml")
    assert done.code == 0, done.err
    text = (tmp_path / "p.yaml").read_text("utf-8")
    assert "engine: duckdb:///clinic.duckdb\n" in text
    assert CANARY not in text and "4711" not in text and "DEFAULT" not in text
    for name, stored in UNUSABLE.items():
        kind = "TIMESTAMP WITH TIME ZONE" if stored == "TIMESTAMPTZ" else stored.partition("(")[0]
        assert f"      # {name}: left out, its type {kind} can't be used" in text
    for name, why in {
        "mood": "its type ENUM",
        "g": "it is generated",
        "c": "it has a collation",
        "É": "it has cap",
    }.items():
        assert f"      # {name}: left out, {why}" in text
    assert "  # left out: the view main.v; declare what it reads, or make it a table: CREATE TABLE main.v_table" in text
    assert (
        "  # left out: main.lists, no column of which can be declared (l: its type INTEGER[] can't be used)\n" in text
    )
    assert len(re.findall(r"^        nullable: false +# NOT NULL in the database$", text, re.M)) == 2
    policy = decide(tmp_path / "p.yaml")
    assert list(policy.tables) == ["x", "data", "people", "rest", "sales.2020_csv", "sales.orders"]
    assert columns(policy, "rest") == {"a": Kind.INTEGER, "é": Kind.INTEGER, "no": Kind.DATE}
    assert columns(policy, "sales.orders") == {"Order Date": Kind.TIMESTAMP, "x.y": Kind.BOOLEAN}
    assert columns(policy, "sales.2020_csv") == {"1e3": Kind.INTEGER}
    assert policy.tables["sales.2020_csv"].source.location == 'sales."2020.csv"'


def test_a_decided_draft_answers(init: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql(*DATABASE, "INSERT INTO sales.orders VALUES ('2020-05-01', true)", database=tmp_path / "clinic.duckdb")
    init("clinic.duckdb", "-o", "p.yaml")
    assert main(["check", "p.yaml"]) == 3
    decide(tmp_path / "p.yaml")
    assert main(["check", "p.yaml"]) == 0
    assert main(["budget", "p.yaml", "--create"]) == 0
    capsys.readouterr()
    assert main(["query", "p.yaml", 'SELECT "x.y", COUNT(*) FROM sales.orders GROUP BY 1', "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("x.y,count\n")


# ---------------------------------------------------------------------------------------------- decisions


def test_every_decision_is_an_error_at_its_line(init: Run, tmp_path: Path) -> None:
    sql(*DATABASE, database=tmp_path / "clinic.duckdb")
    write(tmp_path / "DECIDE.csv", "DECIDE,unit: DECIDE,b")
    done = init("clinic.duckdb", "DECIDE.csv", "-o", "p.yaml")
    lines = (tmp_path / "p.yaml").read_text("utf-8").splitlines()
    places = [number for number, line in enumerate(lines, 1) if re.search(r"^ *\w+: DECIDE( |$)", line)]
    policy, errors = load_all_errors("p.yaml")
    assert policy is None and f"wrote p.yaml: {len(places)} decisions to make" in done.err
    assert [int(error.message.split(":")[1]) for error in errors] == places
    assert all(error.message.endswith(" is still to be decided") and error.hint for error in errors)


def test_deciding_some_leaves_the_others(init: Run, tmp_path: Path) -> None:
    parquet(tmp_path / "t.parquet", "SELECT 1 AS a, DATE '2020-01-01' AS d")
    init("t.parquet", "-o", "p.yaml")
    text = (tmp_path / "p.yaml").read_text("utf-8").replace("epsilon: DECIDE", "epsilon: 20")
    text = re.sub(r"^ +bounds: DECIDE.*\n", "", text, flags=re.M)  # as the comment allows
    (tmp_path / "p.yaml").write_text(text, "utf-8")
    _, (error,) = load_all_errors("p.yaml")
    assert error.message.endswith("t.unit is still to be decided")


# ---------------------------------------------------------------------------------------------- no value is read

HEADER = b"age,name,city\n"


@pytest.mark.parametrize(
    "rows",
    [b"30,Rumpelstilzchen,Oslo\n", b"1\n2,3,4,5\n", b"\xff\xfe\x00\n" * 9, b'"', b'30,"x\n', b"a,b,c\r\nd,e,f\r",
     b"1,x,y\n" * 99_999, b"age,name\n", b",,\n"],
)  # fmt: skip
def test_rows_of_csv_files_change_nothing(init: Run, tmp_path: Path, rows: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(HEADER)
    empty = init("t.csv")
    (tmp_path / "t.csv").write_bytes(HEADER + rows)
    assert init("t.csv") == empty and empty.code == 0
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + HEADER.rstrip() + b"\r\n" + rows)
    assert init("t.csv") == empty


PARQUET = "SELECT a::INTEGER AS a, b::VARCHAR AS b, c::DATE AS c FROM (VALUES {}) t(a, b, c)"


def test_values_in_parquet_files_change_nothing(init: Run, tmp_path: Path) -> None:
    drafts = set()
    for rows in (
        "(1, 'x', '2020-01-01')",
        f"(99, '{CANARY}', '1999-09-09'), (-1, 'y', '2020-01-01')",
        "(NULL, NULL, NULL), (1, 'x', NULL)",
    ):
        parquet(tmp_path / "t.parquet", PARQUET.format(rows))
        drafts.add(init("t.parquet"))
    parquet(tmp_path / "t.parquet", PARQUET.format("(1, 'x', '2020-01-01')") + " WHERE false")
    drafts.add(init("t.parquet"))
    (draft,) = drafts
    assert draft.code == 0 and CANARY not in draft.out


def test_of_parquet_files_only_the_footer_is_read(init: Run, tmp_path: Path) -> None:
    parquet(tmp_path / "t.parquet", f"SELECT range AS a, '{CANARY}' || range AS b FROM range(10000)")
    whole = init("t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    (tmp_path / "t.parquet").write_bytes(data[:4] + b"\xff" * (footer - 4) + data[footer:])
    with pytest.raises(duckdb.Error), duckdb.connect() as connection:
        connection.execute(f"SELECT SUM(a) FROM '{tmp_path}/t.parquet'").fetchall()
    assert init("t.parquet") == whole and whole.code == 0


def test_values_in_databases_change_nothing(init: Run, tmp_path: Path) -> None:
    drafts = set()
    for number, rows in enumerate(
        ("", f"INSERT INTO t VALUES (99, '{CANARY}', 'x')", "INSERT INTO t SELECT 1, NULL, 'y' FROM range(9999)")
    ):
        label = ("x", CANARY, "y")[number]
        (tmp_path / "t.duckdb").unlink(missing_ok=True)
        create = "CREATE TABLE t(a INTEGER NOT NULL, b VARCHAR, m mood)"
        sql(
            f"CREATE TYPE mood AS ENUM ('x', '{label}s', 'y')",
            create,
            rows or "SELECT 1",
            database=tmp_path / "t.duckdb",
        )
        drafts.add(init("t.duckdb"))
    (draft,) = drafts
    assert draft.code == 0 and CANARY not in draft.out


# ---------------------------------------------------------------------------------------------- one table, many files


def test_a_folder_of_equal_files_is_one_table(init: Run, tmp_path: Path) -> None:
    for year in (2020, 2021):
        write(tmp_path / "my visits" / f"{year}.csv", "day,cost" if year == 2020 else "Cost,day", "x,1")
    for hidden in (".x.csv", "_SUCCESS", "notes.txt"):
        write(tmp_path / "my visits" / hidden, "other")
    (tmp_path / "my visits" / "folder.csv").mkdir()
    assert init("my visits", "-o", "p.yaml").code == 0
    text = (tmp_path / "p.yaml").read_text("utf-8")
    assert re.search(r'^    source: "my visits/\*\.csv" +# all these files are one table$', text, re.M)
    assert list(columns(decide(tmp_path / "p.yaml"), "my_visits")) == ["day", "cost"]


def test_a_folder_of_other_files_is_a_table_for_each(init: Run, tmp_path: Path) -> None:
    write(tmp_path / "data" / "people.csv", "age")
    write(tmp_path / "data" / "visits.csv", "day")
    parquet(tmp_path / "data" / "people.parquet", "SELECT 1 AS age")
    assert init("data/", "-o", "p.yaml").code == 0
    policy = decide(tmp_path / "p.yaml")
    assert {name: os.path.basename(t.source.location) for name, t in policy.tables.items()} == {
        "people": "people.csv",
        "people_2": "people.parquet",
        "visits": "visits.csv",
    }


def test_a_folder_that_is_named_like_a_file(init: Run, tmp_path: Path) -> None:
    parquet(tmp_path / "people.parquet" / "part-0.parquet", "SELECT 1 AS age")
    assert init("people.parquet", "-o", "p.yaml").code == 0
    assert decide(tmp_path / "p.yaml").tables["people"].source.location == str(tmp_path / "people.parquet/*.parquet")


def test_a_glob_is_one_table(init: Run, tmp_path: Path) -> None:
    for place in ("data/a.csv", "data/2020/b.csv", "data/2021/q1/c.csv", "data/.hidden/d.csv", "data/.e.csv"):
        write(tmp_path / place, "other" if "." in place[:-4] else "age")
    assert init("data/**/*.csv", "-o", "p.yaml").code == 0
    policy = decide(tmp_path / "p.yaml", "integer")
    assert policy.tables["data"].source.location == str(tmp_path / "data/**/*.csv")
    assert init("data/.*.csv").out.count("other:") == 1


@pytest.mark.parametrize(
    ("first", "second", "differs"),
    [("a,b", "a,c", "b"), ("a,b", "a", "b"), ("a,b", "B,A", ""), ("a", "a,b", "b")],
)
def test_globs_of_files_with_other_names(init: Run, tmp_path: Path, first: str, second: str, differs: str) -> None:
    write(tmp_path / "1.csv", first)
    write(tmp_path / "2.csv", second)
    done = init("*.csv")
    expected = f"error: 1.csv and 2.csv, both of *.csv, differ in the column {differs}\nhint: give a glob for each kind"
    assert done.err.startswith(expected) if differs else done.code == 0


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [("INTEGER", "BIGINT", True), ("INTEGER", "VARCHAR", False), ("TIMESTAMP", "TIMESTAMPTZ", False),
     ("FLOAT", "DOUBLE", True), ("DECIMAL(4,2)", "DECIMAL(4,1)", False), ("BLOB", "BLOB", True)],
)  # fmt: skip
def test_globs_of_files_with_other_types(init: Run, tmp_path: Path, first: str, second: str, fits: bool) -> None:
    parquet(tmp_path / "1.parquet", f"SELECT NULL::{first} AS a, 1 AS b")
    parquet(tmp_path / "2.parquet", f"SELECT NULL::{second} AS a, 1 AS b")
    done = init("*.parquet", "-o", "p.yaml")
    assert (done.code, "differ in the column a" in done.err) == ((0, False) if fits else (2, True))
    if fits:
        decide(tmp_path / "p.yaml")


def test_a_glob_that_the_shell_has_written_out(init: Run, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        write(tmp_path / name, "age")
    done = init("a.csv", "b.csv", "a.csv")
    assert done.out.count("source:") == 2
    assert done.err.startswith("note: a.csv and b.csv have the same columns; to make files one table, give a glob in")


# ---------------------------------------------------------------------------------------------- names

HARD = [
    "no", "NO", "on", "y", "null", "~", "1e3", "0x1f", "010", "2020-01-01", "12:30", "a: b", "a #b", "- a", "?", "*a",
    "&a", "!a", "|", ">", "%a", "@a", "`a`", "{a}", "[a]", "a,b", "'a'", '"a"', "a\\b", "${HOME}", "$${x}", "<<", "=",
    "größe", "日本", "e\u0301", "a\u00a0b", "😀", "DECIDE", "type", "true", "a b", ".5", "a:", "x" * 255, "\ue000",
]  # fmt: skip


def read_back(text: str) -> tuple[Policy, list[str]]:
    """The decided draft as dpsql reads it, and the columns' names as YAML 1.1 does."""
    (path := Path("names.yaml")).write_text(decided(text), "utf-8")
    names = list(yaml.safe_load(decided(text))["tables"]["t"]["columns"])
    return load(path, environ={}), names


def test_hard_names(init: Run, tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([f"c{name}" if not any(c.isalpha() for c in name) or "@" in name else name
                                   for name in HARD])  # fmt: skip
    assert init("t.csv", "-o", "p.yaml").code == 2  # no and NO are one name
    text = draft_policy([DraftTable("t", "t.csv", tuple(map(DraftColumn, HARD)))], engine="duckdb", ledger="l").text
    policy, names = read_back(text)
    kept = [name for name in HARD if name not in ("NO", "<<")]
    assert list(policy.tables["t"].columns) == [name.lower() for name in kept]
    assert [name.replace("$${", "${") for name in names] == kept
    assert "      # NO: left out, its name is that of another column but for its case\n" in text
    assert "      # <<: left out, its name can't be declared\n" in text


@pytest.mark.slow
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6))
def test_any_name_is_declared_or_left_out(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    os.chdir(tmp_path_factory.getbasetemp())
    Path("t.csv").write_bytes(b"")
    table = DraftTable("t", "t.csv", (*map(DraftColumn, names), DraftColumn("last one of all")))
    text = draft_policy([table], engine="duckdb", ledger="l").text
    policy, again = read_back(text)
    found = [column.name for column in policy.tables["t"].columns.values()]
    assert found == [name.replace("$${", "${") for name in again]
    assert set(found) <= {*names, "last one of all"}
    assert text.count("left out, ") == len(names) + 1 - len(found)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_written_as_yaml(text: str) -> None:
    assert yaml.safe_load(f"{yaml_text(text)}: {yaml_text(text)}") == {
        text.replace("${", "$${"): text.replace("${", "$${")
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [("People", "people"), ("2020-01 sales", "table_2020_01_sales"), ("dpsql_x", "table_dpsql_x"), ("--", ""),
     ("_dpsql", "dpsql"), ("größe", "größe"), ("a.b", "a_b")],
)  # fmt: skip
def test_names_of_tables(text: str, name: str) -> None:
    assert plain_name(text) == name


def test_files_with_hard_names(init: Run, tmp_path: Path) -> None:
    for name in ("${HOME}.csv", "it's [1].csv", "-.csv", "#x: y.csv", "no.csv", '"q".csv'):
        write(tmp_path / "d" / name, f"a{len(name)}")
    assert init("d", "-o", "p.yaml").code == 0
    policy = decide(tmp_path / "p.yaml")
    assert {os.path.basename(t.source.location) for t in policy.tables.values()} == set(os.listdir("d"))
    assert set(policy.tables) == {"home", "it_s_1", "data", "x_y", "no", "q"}


# ---------------------------------------------------------------------------------------------- refusals


def test_a_policy_is_never_overwritten(init: Run, tmp_path: Path) -> None:
    write(tmp_path / "people.csv", "age")
    write(tmp_path / "p.yaml", "mine")
    (tmp_path / "dangling.yaml").symlink_to("elsewhere.yaml")
    for name in ("p.yaml", "dangling.yaml"):
        done = init("people.csv", "-o", name)
        assert done == Done(
            2, "", f"error: {name} exists, and a policy is never overwritten\nhint: name another file with -o\n"
        )
    assert (tmp_path / "p.yaml").read_text() == "mine\n" and not (tmp_path / "elsewhere.yaml").exists()
    done = init("people.csv", "-o", "none/p.yaml")
    assert done.code == 2 and "none/p.yaml can't be written: No such file or directory" in done.err


@pytest.fixture(scope="module")
def odd_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of data that `init` refuses; it writes nothing there."""
    folder = tmp_path_factory.mktemp("odd")
    contents = {
        "a.txt": b"age\n", "empty.csv": b"", "empty.parquet": b"", "empty.duckdb": b"", "blank.csv": b"\n1,2\n",
        "latin.csv": b"gr\xf6\xdfe\n", "utf16.csv": "age,name\n".encode("utf-16"), "twice.csv": b"age,Age\n1,2\n",
        "forms.csv": "é,e\u0301\n".encode(), "semicolons.csv": b"age;name\n", "tabs.csv": b"age\tname\n",
        "lines.csv": b'age,"na\nme"\n', "quote.csv": b'age,"name\n1,x\n', "values.csv": b"Ann,4711,x\n",
        "mail.csv": b"ann@b.com,Ann\n", "a.parquet": b"nothing", "p[1].parquet": b"x", "a.duckdb": b"nothing",
        "wide.csv": ",".join(f"column{i}" for i in range(9999)).encode(),
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe.csv")
    for name in ("fresh", "what?"):
        sql("CREATE TYPE x AS ENUM ('y')", database=folder / f"{name}.duckdb")
    sql("CREATE TABLE t(a INTEGER)", database=folder / "what?.duckdb")
    sql("CREATE VIEW v AS SELECT 1", database=folder / "views.duckdb")
    sql("CREATE TABLE t(a INTEGER[])", database=folder / "lists.duckdb")
    return folder


@pytest.mark.parametrize(
    ("data", "found", "hint"),
    [
        ("gone.csv", "gone.csv does not exist", "name a .csv"),
        ("gone*.csv", "no file matches gone*.csv", "**"),
        ("**/**/*.csv", "**/**/*.csv has more than one **", "keep one"),
        ("*", "* may match files of any kind", "end the glob in .csv or .parquet"),
        ("a.txt", "a.txt is none of the files that are read", "save it as .csv"),
        ("empty.csv", "empty.csv is empty", "names of its columns"),
        ("empty.parquet", "empty.parquet is empty", "names of its columns"),
        ("empty.duckdb", "empty.duckdb can't be opened as a DuckDB database", "check that it is one"),
        ("blank.csv", "blank.csv has no names of columns in its first line", "a line with the columns' names"),
        ("latin.csv", "latin.csv is not UTF-8 text", "UTF-8"),
        ("utf16.csv", "utf16.csv is not UTF-8 text", "UTF-8"),
        ("twice.csv", "twice.csv has two columns named Age", "rename one"),
        ("forms.csv", "forms.csv has two columns named", "rename one"),
        ("semicolons.csv", "semicolons.csv has semicolons and no commas", "commas between cells"),
        ("tabs.csv", "tabs.csv has tabs and no commas", "commas between cells"),
        ("lines.csv", "a name in the header of lines.csv runs over several lines", "one line"),
        ("quote.csv", "quote.csv is not a CSV file", "commas between cells"),
        ("values.csv", "the first line of values.csv has no name for column 2", "begins with a line of names"),
        ("mail.csv", "the first line of mail.csv has no name for column 1", "begins with a line of names"),
        ("a.parquet", "a.parquet is not a Parquet file", "write the file anew"),
        ("p[1].parquet", "the path p[1].parquet has one of * ? [", "rename the Parquet file"),
        ("a.duckdb", "a.duckdb can't be opened as a DuckDB database", "check that it is one"),
        ("fresh.duckdb", "fresh.duckdb has no tables", "load the data into it first"),
        ("views.duckdb", "views.duckdb has no tables", "CREATE TABLE ... AS FROM v"),
        ("lists.duckdb", "no column of these data can be declared", "types that dpsql knows"),
        ("fresh.duckdb views.duckdb", "fresh.duckdb and views.duckdb are two databases", "draft a policy for each"),
        ("what?.duckdb", "the path what?.duckdb can't be written in a policy", "rename"),
        ("folder", "folder holds no .csv or .parquet file", "glob in quotes"),
        ("pipe.csv", "pipe.csv is not a regular file", "name a .csv"),
        ("wide.csv", "these data have too many columns for one policy", "name fewer files"),
    ],
)
def test_what_is_refused(
    init: Run, odd_data: Path, monkeypatch: pytest.MonkeyPatch, data: str, found: str, hint: str
) -> None:
    monkeypatch.chdir(odd_data)
    done = init(*data.split(" "), "-o", "p.yaml")
    assert done.code == 2 and done.out == ""
    first, second = done.err.splitlines()
    assert first.startswith(f"error: {found}") and second.startswith("hint: ") and hint in second
    assert "4711" not in done.err and "ann@b" not in done.err
    assert not (odd_data / "p.yaml").exists()


def test_an_encrypted_database(init: Run, tmp_path: Path) -> None:
    attach = f"ATTACH '{tmp_path}/x.duckdb' AS x (ENCRYPTION_KEY 'secret')"
    sql("SET force_mbedtls_unsafe = 'true'", attach, "CREATE TABLE x.t(a INTEGER)")
    done = init("x.duckdb")
    assert done.code == 2 and done.err.startswith("error: x.duckdb is encrypted\nhint: copy the tables")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[None]:
    """Another process has clock.duckdb open for writing."""
    with held_for_writing(tmp_path / "clock.duckdb", 60):
        yield


def test_a_database_that_is_open_elsewhere(init: Run, held: None) -> None:
    done = init("clock.duckdb")
    assert done.code == 2
    assert (
        done.err == "error: clock.duckdb is open for writing in another process\nhint: close it there, then try again\n"
    )


def test_files_that_this_user_may_not_read(init: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.csv", "age")
    sql("CREATE TABLE t(a INTEGER)", database=tmp_path / "x.duckdb")

    def listdir(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", listdir)
    monkeypatch.setattr(os, "access", lambda *_: False)
    for name in ("a.csv", "x.duckdb"):
        assert init(name).err.startswith(f"error: {name} is not readable for this user\nhint: ")
    assert init(str(tmp_path)).err.startswith(f"error: the folder {tmp_path} can't be read: Permission denied\nhint: ")
