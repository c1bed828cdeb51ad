"""README does what it says: every command in it is run, what it prints is compared, unless noise is in it.

A fenced block of `console` holds commands, each after `$ `, and what they print. A comment above it may say
`<!-- test: random -->` (noise or dates are in it: the words are compared, not the numbers), `<!-- test: exit 1 -->`
(the exit code), `<!-- test: install -->` (makes an environment: its parts are checked, not run), `<!-- test: long -->`
(takes too long: a test elsewhere runs it on less) or `<!-- test: server -->` (runs until the end, on a free port
instead of 5433). Blocks of `python` are run, and those of
`ipython`, whose cells are divided by empty lines; a block of `text` holds what the last one before it prints. Blocks of
`yaml` are loaded as policies. All run in their order in a copy of `config/` and the demo's data.

`python -m tests.test_docs` writes what the commands print into README, and the parts that are made from the product
(`tests/readme`), and draws its pictures anew if they look otherwise; `python -m tests.test_docs generated` writes those
parts alone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dpsql.policy import load
from tests.notebook import run_cells
from tests.processes import dpsql, python
from tests.readme import with_generated
from tests.readme.product import compilers, copy_policies, generated

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(
    r"(?:<!-- test: (?P<mark>[^>]*?) -->\n)?```(?P<language>console|python|ipython|text|yaml)\n(?P<body>.*?)```\n",
    re.DOTALL,
)
NOT_RUN = ("install", "long")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the test's mark above it, its text and where that is."""

    language: str
    mark: str
    body: str
    start: int

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Each command and what it prints."""
        found: list[list[str]] = []
        unfinished = False
        for line in self.body.splitlines(keepends=True):
            if line.startswith("$ ") and not unfinished:
                found.append([line[2:], ""])
            elif unfinished:
                found[-1][0] += line
            else:
                found[-1][1] += line
                continue
            unfinished = found[-1][0].endswith("\\\n") or found[-1][0].count('"') % 2 == 1
        return [(command, output) for command, output in found]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of README, in their order."""
    for match in _BLOCK.finditer(text):
        yield Block(match["language"], match["mark"] or "", match["body"], match.start("body"))


def workplace(folder: Path) -> Path:
    """A copy of what the commands need, and a `dpsql` and a `python` to call."""
    copy_policies(folder)
    (folder / "bin").mkdir()
    for name, call in (("dpsql", "-m dpsql"), ("python", "")):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" {call} "$@"\n')
        program.chmod(0o755)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """What commands there find."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}


def run(command: str, folder: Path) -> tuple[str, int]:
    """Run a command of a shell there: both streams in one, and the exit code.

    A call of `dpsql`, alone or at the head of a pipe, is split as the shell does, and begins with dpsql imported.
    """
    call = re.fullmatch(r"""dpsql((?:"[^"$`]*"|[^"|<>;&$`])*)(?:\|(.*))?""", command, re.DOTALL)
    if call is not None:
        words = shlex.split(call[1].replace("\\\n", ""))
        return dpsql(folder, environment(folder), words, call[2] or "").ended()
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=120, encoding="utf-8", check=False,
    )  # fmt: skip
    return done.stdout, done.returncode


@dataclass
class Servers:
    """Servers that README starts. What follows asks them on a port of the test's."""

    folder: Path
    port: str = "5433"
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, block: Block) -> str:
        """Run the block's command until `stop`; what it prints first."""
        ((command, _),) = block.commands
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        process = subprocess.Popen(
            ["sh", "-c", f"exec {self.asking(command)}"], cwd=self.folder, env=environment(self.folder),
            stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        self.running.append(process)
        assert process.stderr is not None
        return process.stderr.readline().replace(self.port, "5433")

    def asking(self, text: str) -> str:
        """The text with the port where the server is."""
        return text.replace("5433", self.port)

    def stop(self) -> None:
        """End them."""
        for process in self.running:
            process.terminate()
            process.communicate(timeout=30)


def printed_by(block: Block, folder: Path, servers: Servers) -> str:
    """What a block of Python prints; what the last cell of a notebook gives."""
    code = servers.asking(block.body)
    if block.language == "ipython":
        cells = code.strip("\n").split("\n\n")
        told = run_cells(folder, cells, {**environment(folder), "PYTHONPATH": str(ROOT)})
        assert not any(cell["error"] for cell in told), told
        return f"{told[-1]['value']}\n"
    printed, ended = python(folder, environment(folder), code).ended()
    assert ended == 0, f"{block.body}\n{printed}"
    return printed


def expected_code(mark: str) -> int:
    """The exit code that a mark announces."""
    found = re.fullmatch(r"exit (\d+)", mark)
    return int(found[1]) if found else 0


# ---------------------------------------------------------------------------------------------- tests


@pytest.mark.slow
def test_every_command_of_readme(tmp_path: Path) -> None:
    folder = workplace(tmp_path)
    servers = Servers(folder)
    try:
        _run_all(folder, servers)
    finally:
        servers.stop()


def _run_all(folder: Path, servers: Servers) -> None:
    ran = 0
    printed = ""
    for block in blocks(README.read_text(encoding="utf-8")):
        if block.mark == "server":
            began = servers.start(block)
            assert began.partition(", for ")[0] == block.commands[0][1].partition(", for ")[0], began
            continue
        if block.language in ("python", "ipython"):
            printed = printed_by(block, folder, servers)
            ran += 1
        if block.language == "text":
            assert _same(block, printed, block.body), printed
        if block.language != "console" or block.mark in NOT_RUN:
            continue
        for command, output in block.commands:
            printed, ended = run(command, folder)
            assert ended == expected_code(block.mark), f"{command}\n{printed}"
            assert "Traceback" not in printed
            assert _same(block, printed, output), f"{command}\n{printed}"
            ran += 1
    assert ran >= 10
    shown = list(pictures(README.read_text(encoding="utf-8")))
    assert shown and all(_same_picture(folder / drawn, ROOT / name) for name, drawn in shown)


def _same(block: Block, printed: str, shown: str) -> bool:
    """Whether README shows what is printed; of what is random, the words, unless it shows nothing."""
    if block.mark == "random":
        return not shown or _shape(printed) == _shape(shown)
    return printed == shown


def pictures(text: str) -> Iterator[tuple[str, str]]:
    """The pictures that README shows: each file, and where a command of README draws it anew."""
    for name in re.findall(r"!\[[^\]]*\]\((tests/readme/[^)]*)\)", text):
        yield name, f"config/var/{Path(name).name}"


def _same_picture(drawn: Path, shown: Path) -> bool:
    """Whether two drawings have the same words and as many bars."""
    one, other = (path.read_text(encoding="utf-8") for path in (drawn, shown))
    bars = 'aria-roledescription="bar"'
    return set(_shape(one)) == set(_shape(other)) and one.count(bars) == other.count(bars) > 0


def _shape(output: str) -> list[str]:
    """What stays of an answer when its noise changes: the words."""
    return re.findall(r"[A-Za-zε]{3,}|±", output)


def test_the_policies_of_readme_load(tmp_path: Path) -> None:
    folder = workplace(tmp_path)
    found = [block for block in blocks(README.read_text(encoding="utf-8")) if block.language == "yaml"]
    assert found
    for number, block in enumerate(found):
        path = folder / "config" / f"readme{number}.yaml"
        path.write_text(block.body, encoding="utf-8")
        policy, shipped = load(path), load(folder / "config" / "pums.yaml")
        assert (policy.privacy, policy.budget) == (shipped.privacy, shipped.budget)
        assert list(policy.tables) == list(shipped.tables)


def test_the_install_commands_name_what_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = [b.body for b in blocks(README.read_text(encoding="utf-8")) if b.mark == "install"]
    assert len(install) == 2 and all(body.count("\n") == 1 for body in install)
    assert "dpsql demo" in install[0] and project["scripts"]["dpsql"] == "dpsql.__main__:main"
    assert "'.[test]'" in install[1] and "-m pytest -n" in install[1]
    assert any(requirement.startswith("pytest-xdist") for requirement in project["optional-dependencies"]["test"])


def test_every_key_of_the_policy_is_in_readme_and_template() -> None:
    schema = json.loads((ROOT / "dpsql" / "policy.schema.json").read_text(encoding="utf-8"))
    readme = README.read_text(encoding="utf-8")
    template = (ROOT / "config" / "template.yaml").read_text(encoding="utf-8")
    for key in set(_keys(schema)):
        assert re.search(rf"`([a-z]+\.)*{key}`|\b{key}:", readme), key
        assert re.search(rf"\b{key}:", template), key


def _keys(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from (key for key in properties)
        for value in schema.values():
            yield from _keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _keys(value)


def test_the_exit_codes_of_readme() -> None:
    from dpsql.cli.errors import EXIT_CODES

    readme = README.read_text(encoding="utf-8").replace("ε", "epsilon")
    for line in EXIT_CODES.splitlines()[1:9]:
        code, meaning = line.split(None, 1)
        assert f"| {code} | {meaning} |" in readme


def test_links_within_readme() -> None:
    text = README.read_text(encoding="utf-8")
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for target in re.findall(r"\]\(#([^)]*)\)", text):
        assert target in headings


def test_modules_of_readme_exist() -> None:
    text = README.read_text(encoding="utf-8").split("| layer | modules |")[1].split("\n\n")[0]
    for row in text.splitlines()[2:]:
        for name in re.findall(r"`(\w+)`", row.split("|")[2]):
            assert (ROOT / "dpsql" / name).is_dir() or (ROOT / "dpsql" / f"{name}.py").is_file(), name


def test_it_fits_a_screen() -> None:
    prose = re.sub(r"```.*?```", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert all(len(line) <= 120 or line.startswith("|") for line in prose.splitlines())


# ---------------------------------------------------------------------------------------------- writing


def write_generated() -> None:
    """Put the parts that are made from the product into README."""
    with tempfile.TemporaryDirectory() as name, compilers(Path(name)) as made:
        text = with_generated(README.read_text(encoding="utf-8"), generated(made))
    README.write_text(text, encoding="utf-8")


def write_outputs() -> None:
    """Put what the commands print into README."""
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = workplace(Path(name))
        servers = Servers(folder)
        parts, end, printed = [], 0, ""
        for block in blocks(text):
            if block.mark == "server":
                servers.start(block)
                continue
            if block.language in ("python", "ipython"):
                printed = printed_by(block, folder, servers)
            if block.language not in ("console", "text") or block.mark in NOT_RUN:
                continue
            if block.language == "text":
                body = _kept(block, printed, block.body)
            else:
                body = ""
                for command, old in block.commands:
                    body += f"$ {command}{_kept(block, run(command, folder)[0], old)}"
            parts.append(text[end : block.start] + body)
            end = block.start + len(block.body)
        servers.stop()
        for name, drawn in pictures(text):
            if not (ROOT / name).exists() or not _same_picture(folder / drawn, ROOT / name):
                (ROOT / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(folder / drawn, ROOT / name)
    README.write_text("".join(parts) + text[end:], encoding="utf-8")


def _kept(block: Block, new: str, old: str) -> str:
    """The old text where only noise is new."""
    return old if block.mark == "random" and _shape(new) == _shape(old) else new


if __name__ == "__main__":
    if sys.argv[1:] != ["generated"]:
        write_outputs()
    write_generated()
