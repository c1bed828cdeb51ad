"""The command line: its parser, and what its arguments mean."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import metadata
from pathlib import Path

from dpsql.cli.answer import FORMATS
from dpsql.cli.errors import EXIT_CODES, Usage
from dpsql.errors import ParseError
from dpsql.parse import statements
from dpsql.session import system_user

MOST_BYTES = 400_000
"""More than the longest statement that is parsed."""
MOST_BYTES_OF_QUERIES = 4_000_000
DEFAULT_CASES = 200

_INTEGER = re.compile(r"[+-]?[0-9]{1,38}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,3}", re.ASCII)
_WORDS = {"null": None, "true": True, "false": False}

_EXAMPLES = {
    "dpsql": """\
examples:
  dpsql demo
  dpsql init people.csv -o people.yaml
  dpsql check config/pums.yaml
  dpsql audit config/pums.yaml
  dpsql budget config/pums.yaml --create
  dpsql explain config/pums.yaml "SELECT COUNT(*) FROM people"
  dpsql query config/pums.yaml "SELECT COUNT(*) FROM people" --epsilon 0.1
  dpsql serve config/pums.yaml
""",
    "query": """\
examples:
  dpsql query config/pums.yaml "SELECT married, AVG(income) FROM people GROUP BY married"
  dpsql query config/pums.yaml --epsilon 0.1 --as alice "SELECT COUNT(*) FROM people"
  dpsql query config/pums.yaml "SELECT COUNT(*) FROM people WHERE age >= :age" -p age=65
  dpsql query config/pums.yaml -f report.sql --format csv -o report.csv
  dpsql query config/pums.yaml "SELECT educ, COUNT(*) FROM people GROUP BY educ" --plot educ.png
  echo "SELECT COUNT(*) FROM people" | dpsql query config/pums.yaml -

A parameter is a number where it looks like one, NULL, true or false where it is that word, else text; in
single quotes it is text whatever it looks like: -p "code='007'". Name parameters 1, 2, ... for ? and $1.
""",
    "explain": """\
examples:
  dpsql explain config/pums.yaml "SELECT married, AVG(income) FROM people GROUP BY married"
  dpsql explain config/pums.yaml "SELECT COUNT(*) FROM people" --epsilons 0.01,0.1,1,10
""",
    "init": """\
examples:
  dpsql init people.csv -o people.yaml
  dpsql init people.csv 'visits/*.parquet' -o clinic.yaml
  dpsql init clinic.duckdb

Names and types of columns are read, never a value. The draft does not load until the owner of the data has
decided what stands in it as DECIDE. DATA: a .csv or .parquet file; a folder of them (files with the same
columns are one table); a glob in quotes (its files are one table); a .duckdb file (all its tables).
""",
    "check": """\
examples:
  dpsql check config/pums.yaml

For the owner of the data: it prints exact numbers of rows and of cells that don't fit.
""",
    "audit": """\
examples:
  dpsql audit config/pums.yaml
  dpsql audit config/pums.yaml --queries dashboard.sql --cases 2000
  dpsql audit config/pums.yaml --format html -o audit.html
  dpsql audit config/pums.yaml --strict --format json -o audit.json

For the owner of the data. Statements and rows are made up from the policy, and every statement is asked
with and without the rows of one privacy unit; no private row is read, and nothing is charged. In the file of
--queries a ; divides statements.
""",
    "budget": """\
examples:
  dpsql budget config/pums.yaml --create
  dpsql budget config/pums.yaml
  dpsql budget config/pums.yaml --as alice --format csv -o charges.csv
""",
    "serve": """\
examples:
  dpsql serve config/pums.yaml
  dpsql serve config/pums.yaml --port 5433

Whatever connects to PostgreSQL connects to it: psql -h 127.0.0.1 -p 5432. Where it listens, encryption and
passwords stand in the policy's server section; without passwords the only analyst is who runs it. Ctrl-C ends
it, once the statements under way are answered.
""",
    "password": """\
examples:
  dpsql password
  dpsql password < file

It asks for a password, twice, or reads the first line of standard input, and prints the verifier that
server.users in the policy wants for it. Nobody can log in with the verifier.
""",
    "demo": """\
examples:
  dpsql demo

Four queries on 1000 people of the US census. The ledger is in a temporary directory, removed afterwards.
""",
}


def parse(argv: Sequence[str], into: argparse.Namespace) -> None:
    """Read the command line into `into`; `command` is its command. Raises SystemExit, after telling why.

    Options may stand anywhere among the command's arguments.
    """
    main, commands = _parsers()
    if argv and argv[0] in commands:
        into.command = argv[0]
        commands[argv[0]].parse_intermixed_args(argv[1:], into)
    else:
        main.parse_args(argv, into)


def _parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    main = argparse.ArgumentParser(
        prog="dpsql",
        description="SQL answers about private tables, with differential privacy.",
        epilog=_EXAMPLES["dpsql"] + "\n" + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    main.add_argument("--version", action="version", version=f"dpsql {version()}")
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _query(_command(commands, "query", "answer a query, and charge it"))
    _explain(_command(commands, "explain", "show what a query would release and cost, free"))
    _init(_command(commands, "init", "draft a policy from the schema of data, never from its values"))
    check = _command(commands, "check", "list everything wrong in a policy, or what it protects and how")
    _common(check)
    _audit(_command(commands, "audit", "attack a policy on made-up rows, and advise on what is seldom wise in it"))
    _budget(_command(commands, "budget", "show who was charged what and when, and what is left"))
    _serve(_command(commands, "serve", "answer whatever connects to PostgreSQL"))
    password = _command(commands, "password", "make the verifier of a password, for server.users in the policy")
    password.add_argument("-v", "--verbose", action="store_true", help="write the operator's log to standard error")
    demo = _command(commands, "demo", "four queries on census data")
    demo.add_argument("-v", "--verbose", action="store_true", help="write the operator's log to standard error")
    return main, commands.choices


def version() -> str:
    """The version of the installed package."""
    try:
        return metadata.version("dpsql")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=_EXAMPLES[name] + "\n" + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("config", metavar="CONFIG", help="the policy, a YAML file")
    command.add_argument("-v", "--verbose", action="store_true", help="write the operator's log to standard error")


def _init(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", nargs="+", help="a file, a folder, a glob in quotes, a .duckdb file")
    command.add_argument("-o", "--output", metavar="FILE", help="a new file, instead of standard output")
    command.add_argument("-v", "--verbose", action="store_true", help="write the operator's log to standard error")


def _statement(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("sql", metavar="SQL", nargs="?", help="the query; -: standard input")
    command.add_argument("-f", "--file", metavar="FILE", help="a file (UTF-8) with the query")
    command.add_argument("-p", dest="parameters", metavar="NAME=VALUE", action="append", default=[],
                         help="the value of a parameter :NAME; may be repeated")  # fmt: skip
    _analyst(command, "who asks and is charged (default: the operating system's user)")


def _analyst(command: argparse.ArgumentParser, meaning: str) -> None:
    command.add_argument("--as", dest="analyst", metavar="ANALYST", help=meaning)


def _output(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")


def _query(command: argparse.ArgumentParser) -> None:
    _statement(command)
    command.add_argument("--epsilon", metavar="E", help="the ε of this query (default: the policy's)")
    command.add_argument("--level", metavar="L", help="of ±, and of intervals that name none (default: 0.95)")
    command.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    command.add_argument("--half-widths", action="store_true",
                         help="add half-widths to csv; the other formats always have them")  # fmt: skip
    command.add_argument("--plot", metavar="FILE", help="draw the answer too: a .png, .svg or .html file")
    _output(command)


def _explain(command: argparse.ArgumentParser) -> None:
    _statement(command)
    chosen = command.add_mutually_exclusive_group()
    chosen.add_argument("--epsilon", metavar="E", help="the ε of this query (default: the policy's)")
    comparison = "compare: scale, ± and how many such queries the budget allows"
    chosen.add_argument("--epsilons", metavar="E,E,...", help=comparison)
    command.add_argument("--level", metavar="L", help="of ± (default: 0.95)")
    command.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    _output(command)


def _audit(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("--queries", metavar="FILE", help="a file (UTF-8) of your own statements, to be tried too")
    cases = f"how many pairs of databases to compare for each table (default: {DEFAULT_CASES})"
    command.add_argument("--cases", metavar="N", type=_positive, default=DEFAULT_CASES, help=cases)
    seed = "make the statements and rows of an earlier audit again (default: new ones)"
    command.add_argument("--seed", metavar="N", type=_seed, help=seed)
    command.add_argument("--strict", action="store_true", help="exit code 3 also where there is only advice")
    command.add_argument("--format", choices=("text", "json", "html"), default="text", help="default: text")
    _output(command)


def _budget(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("--create", action="store_true", help="make the ledger, once")
    unlock = "let an analyst ask again who was locked after queries that failed past their charge"
    command.add_argument("--unlock", metavar="ANALYST", help=unlock)
    _analyst(command, "only the charges of this analyst")
    more = "the newest N charges alone (default: 20 in a table, all in csv and json)"
    command.add_argument("--last", metavar="N", type=_count, help=more)
    command.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: table")
    _output(command)


def _serve(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("--port", metavar="PORT", type=_port, help="listen there instead of on server.port; 0: any")


def _port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or int(text) > 65_535:
        raise argparse.ArgumentTypeError("a number from 0 to 65535 is needed")
    return int(text)


def _count(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError("a whole number is needed")
    return int(text)


def _positive(text: str) -> int:
    if not (number := _count(text)):
        raise argparse.ArgumentTypeError("a whole number from 1 is needed")
    return number


def _seed(text: str) -> int:
    if not re.fullmatch("[0-9]{1,30}", text):
        raise argparse.ArgumentTypeError("a whole number is needed")
    return int(text)


# ---------------------------------------------------------------------------------------------- statement


def analyst(given: str | None) -> str:
    """Who asks: whoever --as names, else the operating system's user."""
    return system_user() if given is None else given


def statement(sql: str | None, file: str | None) -> str:
    """The SQL text: the argument, or what a file or standard input holds. Raises Usage."""
    if sql is not None and file is not None:
        raise Usage("both SQL and -f are given", "give one of them")
    if file not in (None, "-"):
        return _read_file(str(file), MOST_BYTES, "a query", "name a file that holds one query")
    if sql not in (None, "-"):
        return str(sql)
    if sys.stdin is None or (sql is None and file is None and sys.stdin.isatty()):
        raise Usage("there is no SQL", 'write dpsql query CONFIG "SELECT COUNT(*) FROM ..."')
    return _decoded(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input", MOST_BYTES, "a query")


def queries(file: str, dialect: str) -> tuple[tuple[int, str], ...]:
    """The statements in a file, each with its line. Raises Usage, ParseError."""
    text = _read_file(file, MOST_BYTES_OF_QUERIES, "a file of queries", "name a file of queries, with ; between them")
    try:
        found = statements(text, dialect)
    except ParseError as error:
        raise ParseError(f"{file}: {error.message}", hint=error.hint) from None
    if not found:
        raise Usage(f"{file} holds no statement", "write SELECT statements into it, with ; between them")
    return found


def _read_file(name: str, most: int, what: str, hint: str) -> str:
    try:
        with open(Path(name), "rb") as file:
            return _decoded(file.read(most + 1), name, most, what)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise Usage(f"{name} can't be read: {reason}", hint) from None


def _decoded(data: bytes, name: str, most: int, what: str) -> str:
    if len(data) > most:
        raise Usage(f"{name} is too long for {what}", f"give at most {most} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Usage(f"{name} is not UTF-8 text (byte {error.start})", "save it as UTF-8") from None


# ---------------------------------------------------------------------------------------------- parameters


def parameters(given: Sequence[str]) -> Mapping[str, object] | tuple[object, ...]:
    """The values of -p: by name, or by place where the names are 1, 2, ... Raises Usage."""
    values: dict[str, object] = {}
    for argument in given:
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise Usage(f"-p {argument} has no name", "write -p NAME=VALUE")
        if name in values:
            raise Usage(f"parameter {name} is given twice", "give it once")
        values[name] = value(text)
    places = [str(i + 1) for i in range(len(values))]
    return tuple(values[p] for p in places) if set(places) == set(values) else values


def value(text: str) -> object:
    """A number where the text looks like one, NULL, true, false; else, or in single quotes, text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
