# SPDX-License-Identifier: Apache-2.0
"""Escapes text for terminals."""

from __future__ import annotations


def printable(text: str) -> str:
    """Returns the text with control characters escaped, because they could change what a terminal shows.

    >>> printable("gemm\\x1b[2J")
    'gemm\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
