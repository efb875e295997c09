# SPDX-License-Identifier: Apache-2.0
"""Reads JSON objects and checks the types of their fields, so that an error names the file and the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

Extent = Tuple[int, int, int]
T = TypeVar("T")


class SessionError(ValueError):
    """A session directory cannot be read. The message is one line: where, what is wrong, and what was expected."""


class Fields:
    """The fields of a JSON object. ``place`` says where the object is, for messages."""

    def __init__(self, values: Dict[str, Any], place: str) -> None:
        self.values = values
        self._place = place

    def get(self, name: str, kind: Callable[[Any], T]) -> T:
        """Returns a field, converted by one of the functions below. Raises SessionError if it is missing."""
        if name not in self.values:
            raise SessionError(f"{self._place}{name}: is missing; expected {kind.__doc__}")
        value = self.values[name]
        try:
            return kind(value)
        except TypeError:
            text = json.dumps(value)
            shown = text if len(text) <= 40 else f"{text[:40]}..."
            raise SessionError(f"{self._place}{name}: is {shown}; expected {kind.__doc__}") from None

    def find(self, name: str, kind: Callable[[Any], T]) -> Optional[T]:
        """Returns a field, or None if it is missing or null."""
        return None if self.values.get(name) is None else self.get(name, kind)

    def objects(self, name: str) -> List[Fields]:
        """Returns the objects of an array."""
        elements = self.get(name, objects)
        return [Fields(element, f"{self._place}{name}[{i}].") for i, element in enumerate(elements)]

    def object(self, name: str) -> Fields:
        return Fields(self.get(name, json_object), f"{self._place}{name}.")


def integer(value: Any) -> int:
    """an integer"""
    if type(value) is not int:
        raise TypeError
    return value


def number(value: Any) -> float:
    """a number"""
    if type(value) not in (int, float):
        raise TypeError
    return value  # type: ignore[no-any-return]


def boolean(value: Any) -> bool:
    """true or false"""
    if type(value) is not bool:
        raise TypeError
    return value


def text(value: Any) -> str:
    """a string"""
    if type(value) is not str:
        raise TypeError
    return value


def texts(value: Any) -> Tuple[str, ...]:
    """an array of strings"""
    return tuple(text(element) for element in _array(value))


def extent(value: Any) -> Extent:
    """three integers"""
    if len(_array(value)) != 3:
        raise TypeError
    return integer(value[0]), integer(value[1]), integer(value[2])


def json_object(value: Any) -> Dict[str, Any]:
    """an object"""
    if type(value) is not dict:
        raise TypeError
    return value


def objects(value: Any) -> List[Dict[str, Any]]:
    """an array of objects"""
    return [json_object(element) for element in _array(value)]


def _array(value: Any) -> List[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def read_object(path: Path, schema: str) -> Fields:
    """Reads a file that contains one JSON object with a field ``schema``."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SessionError(f"{path}: cannot be read: {error.strerror}; expected a file of a session") from error
    except (ValueError, RecursionError) as error:
        raise SessionError(f"{path}: is not JSON: {error}; expected a complete file of a session") from error
    if type(values) is not dict or values.get("schema") != schema:
        found = values.get("schema") if type(values) is dict else type(values).__name__
        raise SessionError(f"{path}: schema is {found!r}; expected {schema!r}")
    return Fields(values, f"{path}: ")
