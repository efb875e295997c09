# SPDX-License-Identifier: Apache-2.0
"""Marks steps and ranges of the running program, and switches its recording on and off.

The functions call ``libstemtap_inject.so`` (``stemtap/control.h``), which ``stemtap run`` loads into the processes
that it records. Whether this process is recorded is decided once, when the module is imported. If it is not, every
function is a no-op. Importing the module never fails and starts nothing.

All functions can be called from any thread, and in forked children.
"""

from __future__ import annotations

import inspect
import os
import warnings
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Type, TypeVar, cast

from stemtap._text import printable

if TYPE_CHECKING:
    import ctypes

_LIBRARY_NAME = "libstemtap_inject.so"
_FUNCTIONS = ("stemtap_step", "stemtap_range_push", "stemtap_range_pop", "stemtap_start", "stemtap_stop")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _recording_library(environment: Mapping[str, str]) -> Optional[str]:
    """Returns the path of the library that records this process, or None if the process is not recorded.

    >>> _recording_library({"CUDA_INJECTION64_PATH": "/opt/stemtap/lib/libstemtap_inject.so"})
    '/opt/stemtap/lib/libstemtap_inject.so'
    >>> _recording_library({"LD_PRELOAD": "libjemalloc.so:/opt/stemtap/lib/libstemtap_inject.so"})
    '/opt/stemtap/lib/libstemtap_inject.so'
    >>> _recording_library({"LD_PRELOAD": "libjemalloc.so"})
    """
    # CUDA's own variable comes first: if both are set, CUDA initializes the library that this one names.
    paths = [environment.get("CUDA_INJECTION64_PATH", "")]
    paths += environment.get("LD_PRELOAD", "").replace(":", " ").split()
    return next((path for path in paths if os.path.basename(path) == _LIBRARY_NAME), None)


def _load(path: Optional[str]) -> Optional[ctypes.PyDLL]:
    """Returns the library, or None if there is none. Warns if there is a path, but not a usable library."""
    if path is None:
        return None
    try:
        import ctypes  # takes milliseconds, and only a recorded process needs it

        # The functions never wait, so they keep the global interpreter lock (PyDLL). If it were released, another
        # thread could hold it for milliseconds.
        library = ctypes.PyDLL(path)
        for name in _FUNCTIONS:
            getattr(library, name).restype = None
    except (ImportError, OSError, AttributeError) as error:
        reason = f"{path}: cannot be used: {error}; steps and ranges are not recorded"
        warnings.warn(printable(reason), RuntimeWarning, stacklevel=4)
        return None
    return library


_library = _load(_recording_library(os.environ))


def step() -> None:
    """Begins the next step, for example an iteration of the main loop. The first call begins step 0.

    >>> step()
    """
    if _library is not None:
        _library.stemtap_step()


def start() -> None:
    """Resumes recording after ``stop()``, and begins it if ``stemtap run --paused`` or ``stemtap stop`` switched it off.

    Recording that was off begins within about a millisecond.

    >>> start()
    """
    if _library is not None:
        _library.stemtap_start()


def stop() -> None:
    """Pauses recording: kernels that start on the GPU before the next ``start()`` are only counted.

    Kernels that were launched before the call may start after it. Synchronize with the GPU first if that matters.
    Calls do not nest: one ``start()`` resumes.

    >>> stop()
    """
    if _library is not None:
        _library.stemtap_stop()


class Range:
    """A named part of the program, as a context manager and a decorator. Made by ``range(name)``.

    A Range can be entered any number of times, also by several threads at once and inside itself.
    """

    __slots__ = ("_library", "_name")

    def __init__(self, library: ctypes.PyDLL, name: str) -> None:
        self._library = library
        self._name = str(name).encode("utf-8", "replace")

    def __enter__(self) -> None:
        self._library.stemtap_range_push(self._name)

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._library.stemtap_range_pop()

    def __call__(self, function: _Function) -> _Function:
        _require_immediate(function)

        @wraps(function)
        def inside_range(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(_Function, inside_range)


class _UnrecordedRange(Range):
    """The range of a process that is not recorded: it has no effect."""

    __slots__ = ()

    # A function in C that accepts all arguments and returns an empty string, which is false, so exceptions propagate.
    # Two functions in Python would take most of the time of a ``with`` statement.
    __enter__ = "".format  # type: ignore[assignment]
    __exit__ = "".format  # type: ignore[assignment]

    def __init__(self) -> None:
        pass

    def __call__(self, function: _Function) -> _Function:
        _require_immediate(function)
        return function


_unrecorded_range = _UnrecordedRange()


def _require_immediate(function: Callable[..., Any]) -> None:
    """Rejects functions whose calls only return an object, whose code runs after the range is closed."""
    for is_deferred in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        if is_deferred(function):
            raise TypeError(f"{function!r}: is a coroutine or generator function; expected one that runs to its end")


def range(name: str) -> Range:
    """Returns a range that covers the launches in a ``with`` block or in a function.

    Ranges nest, and each thread has its own: a launch is in ``outer/inner``. The name is passed on as UTF-8. It ends
    at the first NUL character and after 250 bytes; characters that UTF-8 cannot encode (surrogates) become ``?``. Use
    few names: each process distinguishes 4,096 paths of ranges.

    >>> with range("decode"):
    ...     pass  # launch kernels
    >>> @range("prefill")
    ... def prefill(prompt):
    ...     return len(prompt)
    >>> prefill("hello")
    5

    A range belongs to a thread, so do not ``await`` inside a range: other tasks would run in it. Coroutine and
    generator functions cannot be decorated.
    """
    return _unrecorded_range if _library is None else Range(_library, name)
