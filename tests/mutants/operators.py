"""General faults: what can go wrong in any line, as exact edits of a module's text.

The kinds are those of the planted faults: a comparison that takes in its end or the contrary, a constant off by one,
the larger for the smaller, + for −, a missing `not`, a condition that is half checked, a statement, a check or a
branch left out, arguments in the wrong order, an absolute value left out. Annotations, docstrings and words of
messages are left alone.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache

from tests.mutants.trees import ROOT, Edit

AT_LARGE = ("dpsql/privacy", "dpsql/rewrite", "dpsql/release.py", "dpsql/ledger")
"""The modules that privacy rests on."""

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,), ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_TWINS = {
    "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "ceil": "floor", "floor": "ceil",
    "GT": "GTE", "GTE": "GT", "LT": "LTE", "LTE": "LT", "Add": "Sub", "Sub": "Add", "any": "all", "all": "any",
    "and_": "or_", "or_": "and_",
}  # fmt: skip
"""Functions and SQL nodes that are taken for each other."""
_WORDS = {"greatest": "least", "least": "greatest"}
_KEPT_CALLS = frozenset({"cast", "TypeVar", "dataclass", "isinstance", "getattr", "field"})
"""Whose arguments in another order make no program."""

_KEPT_KEYWORDS = frozenset({"copy", "strict", "repr", "compare"})
"""What is copied or checked once more, which changes no result."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """An edit with a name that stays when other lines change: file, function, what became what, which of equal ones."""

    name: str
    operator: str
    line: int
    edit: Edit

    @property
    def draw(self) -> float:
        """A number in [0, 1) by which samples are taken: the same mutant is in or out, whatever else changes."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:6], "big") / 2**48


def modules() -> list[str]:
    """The files that `AT_LARGE` names."""
    found: list[str] = []
    for name in AT_LARGE:
        path = ROOT / name
        files = sorted(path.glob("**/*.py")) if path.is_dir() else [path]
        found += [str(file.relative_to(ROOT)) for file in files]
    return found


def of_text(file: str, text: str) -> list[Mutant]:
    """All mutants of a file's text, in the order of its lines."""
    return _Operators(file, text).found()


@cache
def every() -> tuple[Mutant, ...]:
    """The mutants of all modules."""
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in modules()}
    return tuple(mutant for file, text in texts.items() for mutant in of_text(file, text))


class _Operators(ast.NodeVisitor):
    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text
        self._offsets = [0]
        for line in text.splitlines(keepends=True):
            self._offsets.append(self._offsets[-1] + len(line))
        self._lines = text.splitlines(keepends=True)
        self._function: list[str] = []
        self._found: list[tuple[str, str, int, Edit]] = []
        self.visit(ast.parse(text))

    def found(self) -> list[Mutant]:
        seen: Counter[str] = Counter()
        mutants = []
        for name, operator, line, edit in sorted(self._found, key=lambda each: (each[3].start, each[0])):
            seen[name] += 1
            number = f" #{seen[name]}" if seen[name] > 1 else ""
            mutants.append(Mutant(name + number, operator, line, edit))
        return mutants

    # ------------------------------------------------------------------------------------------ edits

    def _place(self, line: int, column: int) -> int:
        """Columns are of UTF-8 bytes."""
        return self._offsets[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _replace(self, operator: str, node: ast.expr | ast.stmt, new: str) -> None:
        start, end = self._span(node)
        self._edit(operator, node.lineno, start, self._text[start:end], new)

    def _between(self, operator: str, before: ast.expr, after: ast.expr, old: str, new: str) -> None:
        """Change an operator that stands between two operands."""
        start, end = self._span(before)[1], self._span(after)[0]
        place = self._text.find(old, start, end)
        if place >= 0:
            self._edit(operator, before.lineno, place, old, new, around=self._text[start:end])

    def _edit(self, operator: str, line: int, start: int, old: str, new: str, around: str = "") -> None:
        where = ".".join(self._function) or "module"
        context = self._lines[self._text.count("\n", 0, start)].strip() if around else ""
        text = f"{old} → {new}" + (f" in {context}" if context else "")
        name = f"{self._file} {where}: {' '.join(text.split())}"
        self._found.append(
            (name if len(name) <= 260 else name[:260] + "…", operator, line, Edit(self._file, start, old, new))
        )

    # ------------------------------------------------------------------------------------------ nodes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function.append(node.name)
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(default)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._body(node.body)
        self._function.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._function.append(node.name)
        self._body(node.body)
        self._function.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace("drop a check", node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        """Only a reader's help: what is asserted can't be otherwise, or types couldn't be told."""

    def visit_If(self, node: ast.If) -> None:
        if not self._is_name(node.test, "TYPE_CHECKING"):
            if not (len(node.body) == 1 and isinstance(node.body[0], ast.Raise)):
                self._replace("drop a branch", node.test, "False")
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._replace("drop a statement", node, "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("drop a statement", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets):
            self._replace("drop a statement", node, "pass")
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Words of messages."""

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for i, operator in enumerate(node.ops):
            for other in _COMPARE.get(type(operator), ()):
                old, new = _SYMBOLS[type(operator)], _SYMBOLS[other]
                self._between("flip a comparison", operands[i], operands[i + 1], old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _BINARY.get(type(node.op))
        if other is not None and not self._is_text(node.left) and not self._is_type(node):
            self._between("swap an operator", node.left, node.right, _SYMBOLS[type(node.op)], _SYMBOLS[other])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._between("and for or", node.values[0], node.values[1], f"{old} ", f"{new} ")
        self._replace("drop a condition", node, ast.unparse(node.values[0]))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub)):
            self._replace("drop a sign", node, ast.unparse(node.operand))
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._replace("drop a branch", node, f"({ast.unparse(node.orelse)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace("flip a constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace("off by one", node, f"({node.value} + 1)" if node.value > 9 else str(node.value + 1))
        elif isinstance(node.value, str) and node.value in _WORDS:
            self._replace("larger for smaller", node, repr(_WORDS[node.value]))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _TWINS:
            start, end = self._span(node.func)
            head = self._text[start:end]
            self._edit("larger for smaller", node.lineno, start, head, head[: -len(name)] + _TWINS[name], around=" ")
        if name == "abs" and len(node.args) == 1:
            self._replace("drop a sign", node, f"({ast.unparse(node.args[0])})")
        if len(node.args) == 2 and name not in _KEPT_CALLS | set(_TWINS) and not any(map(_is_starred, node.args)):
            first, second = (self._text[slice(*self._span(arg))] for arg in node.args)
            start, end = self._span(node.args[0])[0], self._span(node.args[1])[1]
            between = self._text[self._span(node.args[0])[1] : self._span(node.args[1])[0]]
            if first != second:
                self._edit("swap arguments", node.lineno, start, self._text[start:end], second + between + first)
        self.visit(node.func)
        if name not in ("TypeVar", "cast"):
            for argument in node.args:
                self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in _KEPT_KEYWORDS:
                self.visit(keyword)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not self._is_type(node):
            self.generic_visit(node)

    # ------------------------------------------------------------------------------------------ kinds

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    @staticmethod
    def _is_name(node: ast.expr, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name

    @staticmethod
    def _is_text(node: ast.expr) -> bool:
        return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))

    @staticmethod
    def _is_type(node: ast.expr) -> bool:
        """Whether an expression is a type: an alias, written at the module's top."""
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        return any(n in ("Callable", "Union", "Literal", "tuple", "dict", "Mapping") for n in names) or (
            isinstance(node, ast.BinOp) and bool(names) and all(n[0].isupper() and n != n.upper() for n in names)
        )


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
    ast.FloorDiv: "//", ast.Div: "/", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip
