# SPDX-License-Identifier: Apache-2.0
"""Finds the stemtap program, its injected library and its headers.

A wheel contains them in the package. In a source checkout, they are next to the ``stemtap`` that is on ``PATH``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterable

from stemtap._text import printable

_PACKAGE = Path(__file__).resolve().parent


def program_path() -> Path:
    """Returns the path of the program ``stemtap``. Raises FileNotFoundError if there is none."""
    candidates = [_PACKAGE / "bin" / "stemtap"]
    candidates += [Path(directory) / "stemtap" for directory in os.get_exec_path()]
    for candidate in candidates:
        if _is_program(candidate):
            return candidate
    raise FileNotFoundError("the program stemtap is neither in the Python package nor on PATH; install stemtap")


def library_path() -> Path:
    """Returns the path of ``libstemtap_inject.so``, for ``LD_PRELOAD``. Raises FileNotFoundError if there is none."""
    root = _installation()
    directories = [root / "lib", root / "lib64", *sorted(root.glob("lib/*-linux-gnu"))]
    return _first_existing(directory / "libstemtap_inject.so" for directory in directories)


def include_path() -> Path:
    """Returns the directory that contains ``stemtap/control.h``. Raises FileNotFoundError if there is none."""
    return _first_existing([_installation() / "include" / "stemtap" / "control.h"]).parent.parent


def _installation() -> Path:
    """Returns the directory that contains ``bin/stemtap``."""
    return program_path().resolve().parent.parent


def _is_program(path: Path) -> bool:
    """Returns whether the file is an executable binary.

    A script on PATH may be the console script of this package, which would start itself again and again.
    """
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False


def _first_existing(paths: Iterable[Path]) -> Path:
    missing = []
    for path in paths:
        if path.exists():
            return path
        missing.append(path)
    raise FileNotFoundError(printable(f"{missing[0]}: does not exist; expected a complete installation of stemtap"))
