"""README's reference of the policy, made from its JSON Schema: keys, what they take, defaults, meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.readme import code, table

SCHEMA = json.loads((Path(__file__).parents[2] / "dpsql" / "policy.schema.json").read_text(encoding="utf-8"))
HEADER = ("key", "value", "default", "meaning")


def tables() -> dict[str, str]:
    """The three tables, by name."""
    return {
        "policy file": table(HEADER, rows(SCHEMA)),
        "policy table": table(HEADER, rows(SCHEMA["$defs"]["table"])),
        "policy column": table(HEADER, rows(SCHEMA["$defs"]["column"])),
    }


def rows(section: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """One for each key of a section, those of sections inside it after it; tables and columns have their own."""
    for name, found in section["properties"].items():
        choices = _choices(found)
        inner = [c for c in choices if "properties" in c]
        yield (
            code(prefix + name),
            " or ".join(dict.fromkeys(_value(choice) for choice in choices)),
            _default(section, name, found),
            found["description"],
        )
        for choice in inner:
            yield from rows(choice, f"{prefix}{name}.")
        entries = found.get("additionalProperties")
        if isinstance(entries, dict) and entries.get("$ref") == "#/$defs/limit":
            yield from rows(SCHEMA["$defs"]["limit"], f"{prefix}{name}.NAME.")


def _choices(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What may stand there, apart from a variable of the environment."""
    listed = found.get("anyOf") or found.get("oneOf") or [found]
    return [choice for choice in listed if choice.get("$ref") != "#/$defs/substituted"]


def _value(choice: dict[str, Any]) -> str:
    if "const" in choice:
        return code(json.dumps(choice["const"]).strip('"'))
    if "enum" in choice:
        return ", ".join(code(value) for value in choice["enum"])
    match choice["type"]:
        case "number":
            return _number("number", choice)
        case "integer":
            return _number("whole number", choice)
        case "boolean":
            return "`true`, `false`"
        case "string":
            return "text"
        case "array":
            return "two values" if choice.get("maxItems") == 2 else "list"
        case "object":
            if "properties" in choice:
                return "section"
            return "sections by name" if "$ref" in choice["additionalProperties"] else "texts by name"
    raise AssertionError(choice)


def _number(kind: str, choice: dict[str, Any]) -> str:
    known = {"exclusiveMinimum": "> {}", "minimum": "≥ {}", "exclusiveMaximum": "< {}", "maximum": "≤ {}"}
    assert set(choice) - {"type", "description"} <= set(known), choice
    limits = {key: "2^30" if choice[key] == 2**30 else f"{choice[key]:g}" for key in known if key in choice}
    return f"{kind} " + ", ".join(known[key].format(limit) for key, limit in limits.items())


def _default(section: dict[str, Any], name: str, found: dict[str, Any]) -> str:
    if name in section.get("required", ()):
        return "required"
    if name in _required_of_private(section):
        return "required, unless public"
    return code(json.dumps(found["default"]).strip('"')) if "default" in found else "none"


def _required_of_private(section: dict[str, Any]) -> list[str]:
    """What a table needs where `public` is not true."""
    private = {"properties": {"public": {"const": False}}}
    return [name for rule in section.get("allOf", ()) if rule["if"] == private for name in rule["then"]["required"]]
