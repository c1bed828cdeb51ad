"""What SET sets and SHOW shows: dpsql's own settings, and those of PostgreSQL that clients set or ask for.

PostgreSQL's settings change nothing about an answer: they are known so that drivers find what they expect. A value that
would promise something else than what is sent (another encoding, dates in another style) is refused. None of them says
who asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpsql.errors import InvalidParameter
from dpsql.privacy.interval import parse_level
from dpsql.wire.refusals import Refusal

SERVER_VERSION = "15.0"
"""PostgreSQL's version whose answers clients get."""
SEARCH_PATH = "search_path"
EPSILON, LEVEL, DRY_RUN, BUDGET = "dpsql.epsilon", "dpsql.level", "dpsql.dry_run", "dpsql.budget"
TIMEOUT, LEVEL_OF_MESSAGES = "statement_timeout", "client_min_messages"

_BOOLEANS = {"on": "on", "true": "on", "yes": "on", "1": "on", "t": "on", "y": "on",
             "off": "off", "false": "off", "no": "off", "0": "off", "f": "off", "n": "off"}  # fmt: skip
_UNITS = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _any(name: str, value: str) -> str:
    return value


def _boolean(name: str, value: str) -> str:
    if value.lower() not in _BOOLEANS:
        raise Refusal("22023", f"the setting {name} is on or off, not {value[:40]!r}")
    return _BOOLEANS[value.lower()]


def _only(*allowed: str) -> Callable[[str, str], str]:
    """One of a few words, without regard to case; the first is what is shown."""

    def check(name: str, value: str) -> str:
        if value.lower().replace(" ", "") not in allowed:
            raise Refusal("22023", f"the setting {name} can't be {value[:40]!r} here", hint=f"write {allowed[0]}")
        return allowed[0]

    return check


def _encoding(name: str, value: str) -> str:
    if value.lower().strip("'\"").replace("-", "").replace("_", "") not in ("utf8", "unicode"):
        raise Refusal("0A000", f"the encoding {value[:40]!r} isn't supported", hint="use UTF8")
    return "UTF8"


def _style(name: str, value: str) -> str:
    """ISO, with any order of day and month: dates are written year first."""
    words = [word.strip().lower() for word in value.split(",")]
    if any(word not in ("iso", "mdy", "dmy", "ymd", "us", "european") for word in words):
        raise Refusal("22023", f"dates can't be written in the style {value[:40]!r} here", hint="use ISO")
    order = next((word.upper() for word in words if word in ("mdy", "dmy", "ymd")), "MDY")
    return f"ISO, {order}"


def _digits(name: str, value: str) -> str:
    if not re.fullmatch("-?[0-9]{1,2}", value) or not -15 <= int(value) <= 3:
        raise Refusal("22023", f"the setting {name} is a whole number from -15 to 3, not {value[:40]!r}")
    return str(int(value))


def milliseconds(name: str, value: str) -> float:
    """A time as PostgreSQL writes it: `5s`, `200ms`, or milliseconds."""
    match = re.fullmatch(r"\s*([0-9]{1,10}(?:\.[0-9]{1,6})?)\s*(us|ms|s|min|h|d)?\s*", value)
    if match is None:
        raise Refusal("22023", f"the setting {name} is a time such as 5s, not {value[:40]!r}")
    return float(match[1]) * _UNITS[match[2] or "ms"]


def _time(name: str, value: str) -> str:
    milliseconds(name, value)
    return value.strip() if re.search("[a-z]", value) or float(value) == 0 else f"{value.strip()}ms"


_LEVELS = ("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error")


def _level(name: str, value: str) -> str:
    if value.lower() not in _LEVELS:
        raise Refusal("22023", f"the setting {name} can't be {value[:40]!r}", hint="notice, warning or error")
    return value.lower()


def _share(name: str, value: str) -> str:
    """The level of half-widths and intervals."""
    try:
        parse_level(value)
    except InvalidParameter as error:
        raise Refusal("22023", f"{name}: {error.message}", hint=f"SET {name} = 0.95") from None
    return value.strip()


@dataclass(frozen=True, slots=True)
class Known:
    """A setting: its name as SHOW writes it, its value at first, what may be set (None: nothing)."""

    shown: str
    default: str
    check: Callable[[str, str], str] | None = _any
    reported: bool = False


_REPEATABLE = _only("repeatableread", "readcommitted", "readuncommitted", "serializable")
_KNOWN = (
    Known("application_name", "", _any, True),
    Known("backslash_quote", "safe_encoding"),
    Known("bytea_output", "hex"),
    Known("client_encoding", "UTF8", _encoding, True),
    Known(LEVEL_OF_MESSAGES, "notice", _level),
    Known("DateStyle", "ISO, MDY", _style, True),
    Known("default_table_access_method", "heap"),
    Known("default_transaction_isolation", "repeatable read"),
    Known("default_transaction_read_only", "on", _boolean, True),
    Known("escape_string_warning", "on", _boolean),
    Known("extra_float_digits", "1", _digits),
    Known("idle_in_transaction_session_timeout", "0", _time),
    Known("in_hot_standby", "off", None, True),
    Known("integer_datetimes", "on", None, True),
    Known("IntervalStyle", "postgres", _any, True),
    Known("is_superuser", "off", None, True),
    Known("jit", "off", _boolean),
    Known("lc_collate", "C", None),
    Known("lc_ctype", "C.UTF-8", None),
    Known("lc_messages", "C"),
    Known("lc_monetary", "C"),
    Known("lc_numeric", "C"),
    Known("lc_time", "C"),
    Known("lock_timeout", "0", _time),
    Known("max_identifier_length", "255", None),
    Known("max_index_keys", "32", None),
    Known("password_encryption", "scram-sha-256", None),
    Known("quote_all_identifiers", "off", _boolean),
    Known("row_security", "on", _boolean),
    Known(SEARCH_PATH, "public"),
    Known("server_encoding", "UTF8", None, True),
    Known("server_version", SERVER_VERSION, None, True),
    Known("server_version_num", "150000", None),
    Known("session_authorization", "", None, True),
    Known("standard_conforming_strings", "on", _only("on"), True),
    Known(TIMEOUT, "0", _time),
    Known("TimeZone", "UTC", _any, True),
    Known("transaction_deferrable", "off", _boolean),
    Known("transaction_isolation", "repeatable read", None),
    Known("transaction_read_only", "on", _boolean),
    Known("xmloption", "content"),
    Known(EPSILON, ""),
    Known(LEVEL, "0.95", _share),
    Known(DRY_RUN, "off", _boolean),
)
KNOWN: Mapping[str, Known] = MappingProxyType({known.shown.lower(): known for known in _KNOWN})
"""By name in lower case."""
LONGEST = 1_000
"""Characters of a value."""


def known_setting(name: str) -> Known:
    """The setting of a name in lower case. Raises Refusal."""
    if name not in KNOWN:
        own = "dpsql's settings are dpsql.epsilon, dpsql.level, dpsql.dry_run"
        other = "SHOW ALL lists the settings, SELECT * FROM dpsql.tables the tables"
        hint = own if name.startswith("dpsql.") else other
        raise Refusal("42704", f'there is no setting "{name[:80]}"', hint=hint)
    return KNOWN[name]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a connection. `defaults` are those that it began with."""

    values: Mapping[str, str]
    defaults: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def show(self, name: str) -> tuple[str, str]:
        """Its name and value as SHOW gives them. Raises Refusal."""
        known = known_setting(name)
        return known.shown, self.values[name]

    def with_value(self, name: str, value: str | None) -> Settings:
        """With one of them set; None: as it was at first. Raises Refusal."""
        known = known_setting(name)
        if known.check is None:
            raise Refusal("55P02", f'the setting "{known.shown}" can\'t be changed')
        if value is not None and len(value) > LONGEST:
            raise Refusal("22023", f"the value of {known.shown} is longer than {LONGEST} characters")
        new = self.defaults[name] if value is None else known.check(known.shown, value)
        return Settings({**self.values, name: new}, self.defaults)

    def reset(self) -> Settings:
        """All as they were at first."""
        return Settings(self.defaults, self.defaults)

    def reported(self) -> dict[str, str]:
        """Those that clients are told of."""
        return {known.shown: self.values[name] for name, known in KNOWN.items() if known.reported}

    @property
    def timeout(self) -> float | None:
        """Seconds that a statement may take, None: as long as the server lets it."""
        return milliseconds(TIMEOUT, self.values[TIMEOUT]) / 1000 or None


def at_first(analyst: str, policy: Mapping[str, str], parameters: Mapping[str, str]) -> Settings:
    """The settings of a new connection: the product's, the policy's, those of its startup message. Raises Refusal.

    A startup message sets them by name (asyncpg's server_settings) and by `options=-c name=value` (libpq's PGOPTIONS).
    """
    values = {name: known.default for name, known in KNOWN.items()}
    values |= {"session_authorization": analyst, **policy}
    found = Settings(values, values)
    asked = [(n.lower(), v) for n, v in parameters.items() if n not in _NO_SETTINGS and not n.startswith("_pq_.")]
    for name, value in (*options(parameters.get("options", "")), *asked):
        found = found.with_value(name, value)
    return Settings(found.values, found.values)


_NO_SETTINGS = frozenset({"user", "database", "options", "replication"})


def options(text: str) -> Iterator[tuple[str, str]]:
    """`-c name=value` and `--name=value`, separated by blanks, which a backslash makes part of a value."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:\\.|[^\s\\])+", text)]
    at = 0
    while at < len(words):
        word = words[at]
        if word == "-c" and at + 1 < len(words):
            at += 1
            word = words[at]
        elif word.startswith(("-c", "--")):
            word = word[2:]
        else:
            raise Refusal("42601", f"the option {word[:40]!r} isn't supported", hint="write -c dpsql.epsilon=0.5")
        name, equals, value = word.partition("=")
        if not equals:
            raise Refusal("42601", f"the option {word[:40]!r} has no value", hint="write -c dpsql.epsilon=0.5")
        yield name.lower().replace("-", "_"), value
        at += 1
