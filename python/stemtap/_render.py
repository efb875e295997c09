# SPDX-License-Identifier: Apache-2.0
"""Text and HTML of sessions, for terminals and notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, List, Sequence

from stemtap._text import printable

if TYPE_CHECKING:
    from stemtap.session import Kernel, Session

_HTML_KERNELS = 10


def summary(session: Session) -> str:
    """Returns the first lines of the summary that ``stemtap run`` prints, and the warnings."""
    lines = [
        f"{_count(session.launches, 'launch')} of {_count(len(session.kernels), 'kernel')}, "
        f"{_ms(session.duration_ns)} ms of GPU time",
        f"{_count(len(session.samples), 'sample')} in {_count(len(session.clusters), 'cluster')}, "
        f"{_ms(session.sampled_duration_ns)} ms: {session.speedup:.1f}x less to trace",
        f"{bound(session)}, uncovered time {_percent(session.uncovered_fraction)}",
    ]
    return "\n".join(lines + _warnings(session))


def bound(session: Session) -> str:
    return "no error bound" if session.bound is None else f"error bound {_percent(session.bound)}"


def text_table(kernels: Sequence[Kernel]) -> str:
    """Returns a table with a line for each kernel."""
    lines = ["   time     total ms     launches   mean us  samples  kernel"]
    lines += [
        f"{100 * kernel.share:5.1f} % {_ms(kernel.duration_ns):>12} {kernel.launches:>12} "
        f"{kernel.mean_ns * 1e-3:>9.2f} {len(kernel.samples):>8}  {_label(kernel)}"
        for kernel in kernels
    ]
    return "\n".join(lines)


def html_table(kernels: Sequence[Kernel]) -> str:
    """Returns the same table as HTML. Full names are in the tooltips."""
    head = "".join(_cell("th", title) for title in ("time", "total ms", "launches", "mean us", "samples"))
    rows = "".join(_html_row(kernel) for kernel in kernels)
    return f"<table><thead><tr>{head}{_cell('th', 'kernel', 'left')}</tr></thead><tbody>{rows}</tbody></table>"


def html(session: Session) -> str:
    """Returns a summary that a notebook can show: figures, warnings and the kernels with the most time."""
    command = " ".join(session.command) or session.mode
    figures = summary(session).splitlines()
    shown = session.stats()[:_HTML_KERNELS]
    more = len(session.kernels) - len(shown)
    parts = [f"<p><b>{escape(printable(str(session.path)))}</b>: <code>{escape(printable(command))}</code><br>"]
    parts += ["<br>".join(escape(line) for line in figures), "</p>", html_table(shown)]
    if more > 0:
        parts.append(f"<p>... and {_count(more, 'more kernel')}</p>")
    return f"<div>{''.join(parts)}</div>"


def _warnings(session: Session) -> List[str]:
    lines = []
    if session.counters.get("dropped"):
        lines.append(f"{session.counters['dropped']} records were dropped; the figures are based on incomplete data")
    if session.counters.get("gaps"):
        lines.append(f"{session.counters['gaps']} gaps with an unknown number of launches")
    return [f"warning: {printable(line)}" for line in [*lines, *session.warnings]]


def _label(kernel: Kernel) -> str:
    """Returns the short name of a kernel, after the process and launch configuration that distinguish it."""
    parts = [str(kernel.process)] if kernel.process is not None else []
    if kernel.grid is not None and kernel.block is not None:
        parts.append("x".join(map(str, kernel.grid)) + "/" + "x".join(map(str, kernel.block)))
    return " ".join([*parts, printable(kernel.short_name)])


def _html_row(kernel: Kernel) -> str:
    figures = (
        f"{100 * kernel.share:.1f} %",
        _ms(kernel.duration_ns),
        str(kernel.launches),
        f"{kernel.mean_ns * 1e-3:.2f}",
        str(len(kernel.samples)),
    )
    cells = "".join(_cell("td", figure) for figure in figures)
    name = f'<code title="{escape(printable(kernel.name))}">{escape(_label(kernel))}</code>'
    return f'<tr>{cells}<td style="text-align:left">{name}</td></tr>'


def _cell(tag: str, text: str, side: str = "right") -> str:
    return f'<{tag} style="text-align:{side};white-space:nowrap">{escape(text)}</{tag}>'


def _count(count: int, noun: str) -> str:
    plural = "es" if noun.endswith("ch") else "s"
    return f"{count} {noun if count == 1 else noun + plural}"


def _ms(ns: float) -> str:
    return f"{ns * 1e-6:.3f}"


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.2f} %"
