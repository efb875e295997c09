# SPDX-License-Identifier: Apache-2.0
"""Marks steps and ranges of the running program, and switches its recording on and off.

The functions call ``libstemtap_inject.so`` (``stemtap/control.h``), which ``stemtap run`` loads into the processes
that it records. Whether this process is recorded is decided once, when the module is imported. If it is not, every
function is a no-op. Importing the module never fails and starts nothing.

All functions can be called from any thread. After ``os.fork``, the child can call them as the parent does.
"""

from __future__ import annotations

import inspect
import os
import warnings
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Type, TypeVar, cast

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Protocol

    class Library(Protocol):
        """The functions of ``stemtap/control.h``."""

        def stemtap_step(self) -> None: ...
        def stemtap_range_push(self, name: bytes) -> None: ...
        def stemtap_range_pop(self) -> None: ...
        def stemtap_start(self) -> None: ...
        def stemtap_stop(self) -> None: ...


_LIBRARY_NAME = "libstemtap_inject.so"

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _library_path(environment: Mapping[str, str]) -> Optional[str]:
    """Returns the path of the library that records this process, or None if the process is not recorded.

    >>> _library_path({"CUDA_INJECTION64_PATH": "/opt/stemtap/lib/libstemtap_inject.so"})
    '/opt/stemtap/lib/libstemtap_inject.so'
    >>> _library_path({"LD_PRELOAD": "libjemalloc.so:/opt/stemtap/lib/libstemtap_inject.so"})
    '/opt/stemtap/lib/libstemtap_inject.so'
    >>> _library_path({"LD_PRELOAD": "libjemalloc.so"})
    """
    # CUDA's own variable comes first: if both are set, CUDA initializes the library that this one names.
    paths = [environment.get("CUDA_INJECTION64_PATH", "")]
    paths += environment.get("LD_PRELOAD", "").replace(":", " ").split()
    return next((path for path in paths if os.path.basename(path) == _LIBRARY_NAME), None)


def _load_library(path: Optional[str]) -> Optional[Library]:
    """Returns the functions of the library, or None if there are none to call. Warns if they should be there."""
    if path is None:
        return None
    try:
        import ctypes  # takes milliseconds, and only a recorded process needs it

        library = ctypes.CDLL(path)
        for name in ("stemtap_step", "stemtap_range_push", "stemtap_range_pop", "stemtap_start", "stemtap_stop"):
            getattr(library, name).restype = None
        library.stemtap_range_push.argtypes = [ctypes.c_char_p]
    except (ImportError, OSError, AttributeError) as error:
        reason = f"{path}: cannot be used: {error}; steps and ranges are not recorded"
        warnings.warn(reason, RuntimeWarning, stacklevel=2)
        return None
    return cast("Library", library)


_library = _load_library(_library_path(os.environ))


def step() -> None:
    """Marks the end of a step, for example of a training iteration or of a generated token.

    >>> step()
    """
    if _library is not None:
        _library.stemtap_step()


def start() -> None:
    """Starts recording, for example after ``stemtap run --paused`` or ``stop()``.

    >>> start()
    """
    if _library is not None:
        _library.stemtap_start()


def stop() -> None:
    """Stops recording until ``start()`` is called.

    >>> stop()
    """
    if _library is not None:
        _library.stemtap_stop()


class Range:
    """A named part of the program, as a context manager and a decorator. Made by ``range(name)``.

    A Range can be entered any number of times, also by several threads at once and inside itself.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = str(name).encode("utf-8", "replace")

    def __enter__(self) -> None:
        if _library is not None:
            _library.stemtap_range_push(self._name)

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if _library is not None:
            _library.stemtap_range_pop()

    def __call__(self, function: _Function) -> _Function:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(f"{function!r} is a coroutine or generator; a range covers one call on one thread")
        if _library is None:
            return function

        @wraps(function)
        def inside_range(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(_Function, inside_range)


_unrecorded_range = Range("")


def range(name: str) -> Range:
    """Returns a range that covers the launches in a ``with`` block or in a function.

    Ranges nest, and each thread has its own. The name is passed on as UTF-8; it ends at the first NUL character,
    and characters that UTF-8 cannot encode (surrogates) become ``?``.

    >>> with range("decode"):
    ...     pass  # launch kernels
    >>> @range("prefill")
    ... def prefill(prompt):
    ...     return len(prompt)
    >>> prefill("hello")
    5

    A range is a property of a thread, so do not ``await`` inside one: other tasks would run in it. Coroutine and
    generator functions cannot be decorated.
    """
    return _unrecorded_range if _library is None else Range(name)
