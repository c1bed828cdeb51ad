"""Statements that are no queries, read from their text: a word that begins none of them begins a query, which the
session answers or refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from dpsql.parse import MAX_CHARACTERS
from dpsql.wire.copying import Form
from dpsql.wire.lexer import Token, first_word, tokens
from dpsql.wire.refusals import Refusal, check_name
from dpsql.wire.utility import (
    ALL,
    Begin,
    CloseCursor,
    Commit,
    Copy,
    Deallocate,
    Declare,
    Discard,
    Fetch,
    Nothing,
    Release,
    Reset,
    Rollback,
    RollbackTo,
    Savepoint,
    Set,
    SetTransaction,
    Show,
    Utility,
)


def command(sql: str) -> Utility | None:
    """The statement, None where it is a query. Raises Refusal for one that can't be read, or does what isn't done."""
    word = first_word(sql)
    if word in _REFUSED:
        raise Refusal("0A000", f"{word.upper()} isn't supported", hint=_REFUSED[word])
    if word not in _READERS:
        return None
    if len(sql) > MAX_CHARACTERS:
        raise Refusal("54000", f"the statement has {len(sql)} characters; at most {MAX_CHARACTERS} are allowed")
    words = _Words(sql, tokens(sql))
    words.next()
    found = _READERS[word](words)
    words.end()
    return found


_REFUSED = {
    "prepare": "drivers prepare statements by the protocol; in SQL, send the query",
    "execute": "drivers execute statements by the protocol; in SQL, send the query",
    "listen": "this server notifies nobody",
    "notify": "this server notifies nobody",
    "lock": "answers come from one version of the data each, without locks",
}


class _Words:
    """The statement's tokens, taken one by one."""

    def __init__(self, sql: str, found: list[Token]) -> None:
        self.sql = sql
        self._tokens = [t for t in found if not (t.kind == "sign" and t.value == ";")]
        self._at = 0

    def peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def next(self) -> Token:
        token = self.peek()
        if token is None:
            raise Refusal("42601", "the statement ends too early", position=len(self.sql.rstrip()))
        self._at += 1
        return token

    def take(self, *words: str) -> str | None:
        """The next word, if it is one of these."""
        token = self.peek()
        if token is None or token.kind not in ("word", "sign") or token.value not in words:
            return None
        self._at += 1
        return token.value

    def need(self, *words: str) -> str:
        found = self.take(*words)
        if found is None:
            raise self.wrong(f"{' or '.join(words).upper()} should stand here")
        return found

    def name(self) -> str:
        """A name: quoted as it is, else in lower case."""
        token = self.next()
        if token.kind not in ("word", "name"):
            self._at -= 1
            raise self.wrong("a name should stand here")
        check_name(token.value)
        return token.value

    def dotted(self) -> str:
        """The name of a setting: one or more parts."""
        name = self.name()
        while self.take("."):
            name += f".{self.name()}"
        return name.lower()

    def rest(self) -> tuple[str, int]:
        """The text from here to the end, and where it starts."""
        token = self.next()
        self._at = len(self._tokens)
        return self.sql[token.start : self._tokens[-1].end], token.start

    def inside(self) -> tuple[str, int]:
        """The text between brackets that open here, and where it starts."""
        self.need("(")
        first, depth = self.next(), 1
        last = first
        token = first
        while True:
            if token.kind == "sign":
                depth += (token.value == "(") - (token.value == ")")
            if not depth:
                return self.sql[first.start : last.end] if last is not token else "", first.start
            last, token = token, self.next()

    def skip(self) -> None:
        self._at = len(self._tokens)

    def end(self) -> None:
        if self.peek() is not None:
            raise self.wrong("the statement should end here")

    def wrong(self, message: str) -> Refusal:
        token = self.peek()
        return Refusal("42601", message, position=token.start if token else len(self.sql.rstrip()))


# ---------------------------------------------------------------------------------------------- transactions


def _begin(words: _Words) -> Utility:
    words.take("transaction", "work")
    while words.take(*_MODES):  # an answer reads one version of the data, whatever they are
        pass
    return Begin()


_MODES = (
    "isolation", "level", "serializable", "repeatable", "read", "committed", "uncommitted", "only", "write", "not",
    "deferrable", ",",
)  # fmt: skip


def _start(words: _Words) -> Utility:
    words.need("transaction")
    return _begin(words)


def _chained(words: _Words) -> bool:
    """Whether AND CHAIN follows."""
    if not words.take("and"):
        return False
    no = words.take("no")
    words.need("chain")
    return no is None


def _commit(words: _Words) -> Utility:
    if words.take("prepared"):
        raise Refusal("0A000", "transactions of two phases aren't supported", hint="write COMMIT")
    words.take("transaction", "work")
    return Commit(_chained(words))


def _rollback(words: _Words) -> Utility:
    words.take("transaction", "work")
    if words.take("to"):
        words.take("savepoint")
        return RollbackTo(words.name())
    return Rollback(_chained(words))


def _release(words: _Words) -> Utility:
    words.take("savepoint")
    return Release(words.name())


# ---------------------------------------------------------------------------------------------- settings


def _set(words: _Words) -> Utility:
    scope = words.take("session", "local")
    if words.take("characteristics", "transaction"):
        words.skip()
        return SetTransaction()
    local = scope == "local"
    if words.take("time"):
        words.need("zone")
        return Set("timezone", _zone(words), local)
    if words.take("names"):
        return Set("client_encoding", words.next().value if words.peek() else None, local)
    if words.take("role", "authorization"):
        raise Refusal("0A000", "who asks can't be changed", hint="connect as somebody else")
    name = words.dotted()
    words.need("=", "to")
    return Set(name, _value(words), local)


def _zone(words: _Words) -> str | None:
    token = words.next()
    if token.kind == "word" and token.value in ("default", "local"):
        return None
    if token.kind == "word" and token.value == "interval":
        token = words.next()
        words.skip()
    if token.kind == "sign" and token.value in "+-":
        return token.value + words.next().value
    return token.value


def _value(words: _Words) -> str | None:
    """The value, or values with commas between them; None: DEFAULT."""
    parts: list[str] = []
    while True:
        token = words.next()
        if token.kind == "word" and token.value == "default" and not parts:
            return None
        sign = token.value if token.kind == "sign" and token.value in ("-", "+") else ""
        token = words.next() if sign else token
        if token.kind == "sign":
            raise words.wrong("a value should stand before here")
        text = words.sql[token.start : token.end] if token.kind == "word" else token.value
        parts.append(sign.replace("+", "") + text)
        if not words.take(","):
            return ", ".join(parts)


def _reset(words: _Words) -> Utility:
    name = words.dotted()
    return Reset(None if name == "all" else name)


def _show(words: _Words) -> Utility:
    if words.take("time"):
        words.need("zone")
        return Show("timezone")
    if words.take("transaction"):
        words.need("isolation")
        words.need("level")
        return Show("transaction_isolation")
    name = words.dotted()
    return Show(None if name == "all" else name)


def _discard(words: _Words) -> Utility:
    return Discard(words.need("all", "plans", "temp", "temporary", "sequences"))


def _deallocate(words: _Words) -> Utility:
    words.take("prepare")
    return Deallocate(None if words.take("all") else words.name())


# ---------------------------------------------------------------------------------------------- cursors


def _declare(words: _Words) -> Utility:
    name = words.name()
    binary = hold = False
    while (option := words.take("binary", "insensitive", "asensitive", "no", "scroll")) is not None:
        binary = binary or option == "binary"
    words.need("cursor")
    kind = words.take("with", "without")
    if kind is not None:
        words.need("hold")
        hold = kind == "with"
    words.need("for")
    query, start = words.rest()
    return Declare(name, query, start, binary, hold)


def _fetch(words: _Words) -> Utility:
    found = _direction(words)
    words.take("from", "in")
    return replace(found, name=words.name())


def _move(words: _Words) -> Utility:
    found = _fetch(words)
    assert isinstance(found, Fetch)
    return replace(found, move=True)


def _direction(words: _Words) -> Fetch:
    """Cursors go forward only, as those of DECLARE without SCROLL may."""
    if words.take("next"):
        return Fetch("", 1)
    if words.take("all"):
        return Fetch("", ALL)
    if words.take("first"):
        return Fetch("", 1, absolute=True)
    word = words.take("forward", "absolute", "relative", "backward", "prior", "last")
    if word in ("backward", "prior", "last"):
        raise Refusal("55000", "cursors only go forward", hint="fetch all rows and go back in them")
    if word == "forward" and words.take("all"):
        return Fetch("", ALL)
    negative = words.take("-") is not None
    words.take("+")
    token = words.peek()
    if token is not None and token.kind == "number" and token.value.isdigit():
        words.next()
        if negative:
            raise Refusal("55000", "cursors only go forward", hint="fetch all rows and go back in them")
        digits = token.value.lstrip("0") or "0"
        count = int(digits) if len(digits) < len(str(ALL)) else ALL
        return Fetch("", count, absolute=word == "absolute")
    if negative or word in ("absolute", "relative"):
        raise words.wrong("a number should stand here")
    return Fetch("", 1)


def _close(words: _Words) -> Utility:
    return CloseCursor(None if words.take("all") else words.name())


# ---------------------------------------------------------------------------------------------- COPY


def _copy(words: _Words) -> Utility:
    token = words.peek()
    if token is None or token.value != "(" or token.kind != "sign":
        raise Refusal(
            "42501", "COPY of a table would be its rows", hint="COPY (SELECT COUNT(*) FROM …) TO STDOUT",
            position=token.start if token else None,
        )  # fmt: skip
    query, start = words.inside()
    words.need("to")
    if not words.take("stdout"):
        raise Refusal("42501", "COPY gives its rows to the client only", hint="COPY (SELECT …) TO STDOUT")
    words.take("with")
    form = _listed_form(words) if words.take("(") else _old_form(words)
    _check_form(form)
    return Copy(query, start, form)


_FLAGS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def _flag(words: _Words) -> bool:
    token = words.peek()
    if token is None or token.kind == "sign":
        return True
    words.next()
    if token.value.lower() not in _FLAGS:
        raise Refusal("42601", f"{token.value} is neither true nor false", position=token.start)
    return _FLAGS[token.value.lower()]


def _format(words: _Words) -> Literal["text", "csv", "binary"]:
    token = words.next()
    match token.value.lower():
        case "text":
            return "text"
        case "csv":
            return "csv"
        case "binary":
            return "binary"
    raise Refusal("22023", f"the format {token.value} of COPY is not known", hint="text, csv or binary",
                  position=token.start)  # fmt: skip


_OPTIONS: dict[str, Callable[[Form, _Words], Form]] = {
    "format": lambda form, words: replace(form, format=_format(words)),
    "delimiter": lambda form, words: replace(form, delimiter=words.next().value),
    "null": lambda form, words: replace(form, null=words.next().value),
    "header": lambda form, words: replace(form, header=_flag(words)),
    "quote": lambda form, words: replace(form, quote=words.next().value),
    "escape": lambda form, words: replace(form, escape=words.next().value),
}


def _option(form: Form, name: str, words: _Words) -> Form:
    if name in _OPTIONS:
        return _OPTIONS[name](form, words)
    if name == "encoding":
        if words.next().value.lower() not in ("utf8", "utf-8"):
            raise Refusal("0A000", "COPY writes UTF-8 only", hint="leave ENCODING out")
        return form
    if name == "force_quote":
        words.need("*")
        return replace(form, force_quote=True)
    raise Refusal(
        "42601", f"the option {name} of COPY is not known", hint="format, delimiter, null, header, quote, escape"
    )


def _listed_form(words: _Words) -> Form:
    """(FORMAT csv, HEADER true)."""
    form = Form()
    while True:
        form = _option(form, words.name(), words)
        if words.need(",", ")") == ")":
            return form


def _old_form(words: _Words) -> Form:
    """BINARY, or CSV HEADER, as before PostgreSQL 9."""
    form = Form()
    while (token := words.peek()) is not None:
        if token.kind == "word" and token.value in ("binary", "csv"):
            words.next()
            form = replace(form, format="binary" if token.value == "binary" else "csv")
        elif words.take("header"):
            form = replace(form, header=True)
        elif words.take("force"):
            words.need("quote")
            form = _option(form, "force_quote", words)
        else:
            name = words.need("delimiter", "null", "quote", "escape", "encoding")
            words.take("as")
            form = _option(form, name, words)
    return form


LONGEST_NULL = 100
"""Characters: it may stand in each column of each row."""


def _check_form(form: Form) -> None:
    """What PostgreSQL checks, too: a reader must be able to tell the parts of a row apart."""
    csv = form.format == "csv"
    between = form.delimiter if form.delimiter is not None else ("," if csv else "\t")
    null = form.null if form.null is not None else ("" if csv else "\\N")
    if form.format == "binary" and (form.delimiter is not None or form.null is not None or form.header):
        raise Refusal("42601", "the binary format has no delimiter, null or header")
    if (
        len(between.encode()) != 1
        or between in "\r\n"
        or (not csv and between in "\\.abcdefghijklmnopqrstuvwxyz0123456789")
    ):
        raise Refusal("22023", "the delimiter of COPY must be one plain character", hint="a comma, a tab, a bar")
    if len(null) > LONGEST_NULL:
        raise Refusal("22023", f"the null of COPY has more than {LONGEST_NULL} characters")
    if any(c in null for c in ("\r", "\n", between)):
        raise Refusal("22023", "the null of COPY can't hold a delimiter or a line's end")
    if not csv and (form.quote != '"' or form.escape is not None or form.force_quote):
        raise Refusal("0A000", "only the CSV format has quotes", hint="COPY (…) TO STDOUT (FORMAT csv)")
    for name, text in (("quote", form.quote), ("escape", form.escape or form.quote)):
        if len(text.encode()) != 1 or text in "\r\n" or text == between:
            raise Refusal("22023", f"the {name} of COPY must be one character, and not the delimiter")
    if csv and form.quote in null:
        raise Refusal("22023", "the null of COPY can't hold a quote")


def _unlisten(words: _Words) -> Utility:
    words.skip()
    return Nothing("UNLISTEN")


_READERS: dict[str, Callable[[_Words], Utility]] = {
    "begin": _begin,
    "start": _start,
    "commit": _commit,
    "end": _commit,
    "rollback": _rollback,
    "abort": _rollback,
    "savepoint": lambda words: Savepoint(words.name()),
    "release": _release,
    "set": _set,
    "reset": _reset,
    "show": _show,
    "discard": _discard,
    "deallocate": _deallocate,
    "declare": _declare,
    "fetch": _fetch,
    "move": _move,
    "close": _close,
    "copy": _copy,
    "unlisten": _unlisten,
}
