"""Whether a document obeys the published schema: by jsonschema where it is installed, else by the rules it uses."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

SCHEMA = json.loads(files("orthoboot.cli.answers").joinpath("schema.json").read_text(encoding="utf-8"))
_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def check_document(text: str) -> dict[str, Any]:
    """Return the document, which must obey the schema."""
    document = json.loads(text, parse_constant=_refused)
    check(document, SCHEMA, "$")
    try:
        import jsonschema
    except ImportError:
        return document
    jsonschema.validate(document, SCHEMA)
    return document


def _refused(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def check(value: Any, rule: dict[str, Any], place: str) -> None:
    """Raise unless a value obeys a rule; rules that this schema does not use are an error."""
    rule = {key: entry for key, entry in rule.items() if key not in ("$schema", "title", "description", "$defs")}
    for name, wanted in rule.items():
        _RULES[name](value, wanted, place, rule)


def _reference(value: Any, name: str, place: str, rule: dict[str, Any]) -> None:
    check(value, SCHEMA["$defs"][name.rpartition("/")[2]], place)


def _type(value: Any, kinds: str | list[str], place: str, rule: dict[str, Any]) -> None:
    assert any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)), (place, value, kinds)


def _is(value: Any, kind: str) -> bool:
    if kind in ("number", "integer"):
        return isinstance(value, (int, float) if kind == "number" else int) and not isinstance(value, bool)
    return isinstance(value, _TYPES[kind])


def _const(value: Any, wanted: Any, place: str, rule: dict[str, Any]) -> None:
    assert value == wanted, place


def _enum(value: Any, wanted: list[Any], place: str, rule: dict[str, Any]) -> None:
    assert value in wanted, place


def _required(value: Any, names: list[str], place: str, rule: dict[str, Any]) -> None:
    assert set(names) <= set(value), place


def _additional(value: Any, allowed: bool, place: str, rule: dict[str, Any]) -> None:
    assert allowed or set(value) <= set(rule["properties"]), place


def _properties(value: Any, rules: dict[str, Any], place: str, rule: dict[str, Any]) -> None:
    for name, entry in rules.items():
        if name in value:
            check(value[name], entry, f"{place}.{name}")


def _items(value: Any, entry: dict[str, Any], place: str, rule: dict[str, Any]) -> None:
    for number, one in enumerate(value):
        check(one, entry, f"{place}[{number}]")


def _least(value: Any, least: int, place: str, rule: dict[str, Any]) -> None:
    assert len(value) >= least, place


_RULES = {
    "$ref": _reference,
    "type": _type,
    "const": _const,
    "enum": _enum,
    "required": _required,
    "additionalProperties": _additional,
    "properties": _properties,
    "items": _items,
    "minItems": _least,
}
