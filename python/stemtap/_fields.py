# SPDX-License-Identifier: Apache-2.0
"""Reads JSON objects and checks the types of their fields, so that an error names the file and the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

from stemtap._text import printable

Extent = Tuple[int, int, int]
T = TypeVar("T")

_MISSING = object()


class SessionError(ValueError):
    """A session directory cannot be read. The message is one line: where, what is wrong, and what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Fields:
    """The fields of a JSON object. ``place`` is the position of the object, for messages."""

    def __init__(self, values: Dict[str, Any], place: str) -> None:
        self.values = values
        self._place = place

    def get(self, name: str, kind: Callable[[Any], T]) -> T:
        """Returns a field, checked by one of the functions below. Raises SessionError if it is wrong or missing."""
        value = self.values.get(name, _MISSING)
        try:
            return kind(value)
        except TypeError as expected:
            raise SessionError(f"{self._place}{name}: {_description(value)}; expected {expected}") from None

    def find(self, name: str, kind: Callable[[Any], T]) -> Optional[T]:
        """Returns a field, or None if it is missing or null."""
        return None if self.values.get(name) is None else self.get(name, kind)

    def object(self, name: str) -> Fields:
        return Fields(self.get(name, json_object), f"{self._place}{name}.")

    def objects(self, name: str) -> List[Fields]:
        """Returns the objects of an array."""
        elements = self.get(name, json_objects)
        return [Fields(element, f"{self._place}{name}[{i}].") for i, element in enumerate(elements)]


# Each of these functions returns a value if it has the right type. If not, it raises TypeError with the expected type.
def integer(value: Any) -> int:
    if type(value) is int:
        return value
    raise TypeError("an integer")


def number(value: Any) -> float:
    if type(value) is int or type(value) is float:
        return value
    raise TypeError("a number")


def boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise TypeError("true or false")


def text(value: Any) -> str:
    if type(value) is str:
        return value
    raise TypeError("a string")


def texts(value: Any) -> Tuple[str, ...]:
    if type(value) is list and all(type(element) is str for element in value):
        return tuple(value)
    raise TypeError("an array of strings")


def extent(value: Any) -> Extent:
    if type(value) is list and len(value) == 3 and all(type(element) is int for element in value):
        return value[0], value[1], value[2]
    raise TypeError("three integers")


def json_object(value: Any) -> Dict[str, Any]:
    if type(value) is dict:
        return value
    raise TypeError("an object")


def json_objects(value: Any) -> List[Dict[str, Any]]:
    if type(value) is list and all(type(element) is dict for element in value):
        return value
    raise TypeError("an array of objects")


def _description(value: Any) -> str:
    if value is _MISSING:
        return "is missing"
    shown = json.dumps(value)
    return f"is {shown}" if len(shown) <= 40 else f"is {shown[:40]}..."


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def read_object(path: Path, schema: str) -> Fields:
    """Reads a file that contains one JSON object with a field ``schema``."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"), parse_constant=_reject)
    except OSError as error:
        raise SessionError(f"{path}: cannot be read: {error.strerror}; expected a file of a session") from error
    except (ValueError, RecursionError) as error:
        raise SessionError(f"{path}: is not JSON: {error}; expected a complete file of a session") from error
    if type(values) is not dict:
        raise SessionError(f"{path}: is not an object; expected one with schema {schema!r}")
    if values.get("schema") != schema:
        raise SessionError(f"{path}: schema is {values.get('schema')!r}; expected {schema!r}")
    return Fields(values, f"{path}: ")
