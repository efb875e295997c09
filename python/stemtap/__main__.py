# SPDX-License-Identifier: Apache-2.0
"""Runs the program stemtap: ``python -m stemtap ARGUMENT...`` is the same as ``stemtap ARGUMENT...``."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from stemtap._program import program_path
from stemtap._text import printable


def main() -> NoReturn:
    """Replaces this process with the program, so that signals and the exit code need no forwarding."""
    # Python ignores these signals, and the program would inherit that.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        program = str(program_path())
    except FileNotFoundError as error:
        sys.exit(f"stemtap: {error}")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(printable(f"stemtap: {program}: cannot be started: {error.strerror}"))


if __name__ == "__main__":
    main()
