# SPDX-License-Identifier: Apache-2.0
"""Reads finished session directories: kernels, clusters, samples, counters and warnings.

Fields of ``session.json`` and ``plan.json`` that this module does not know are ignored; they are in
``Session.session`` and ``Session.plan``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

from stemtap import _fields, _render
from stemtap._fields import Extent, Fields, SessionError

__all__ = ["Cluster", "Kernel", "Sample", "Session", "SessionError", "Stats"]


@dataclass(frozen=True)
class Sample:
    """A launch that represents ``weight`` launches of its kernel.

    ``index`` counts all launches of the run and ``occurrence`` the launches of the kernel, both from 0. ``grid``,
    ``block``, ``device`` and ``stream`` are None if the recording does not contain them; ``range`` and ``step`` are
    None if the program marked none. If the sample is ``imputed``, its own capture slowed it, and its duration is an
    estimate.
    """

    kernel: str
    index: int
    occurrence: int
    cluster: int
    weight: float
    duration_ns: float
    device: Optional[int]
    stream: Optional[int]
    grid: Optional[Extent]
    block: Optional[Extent]
    process: Optional[int]
    range: Optional[str]
    step: Optional[int]
    imputed: bool


@dataclass(frozen=True)
class Cluster:
    """Launches of one kernel with similar durations. ``number`` is its position among the clusters of the kernel.

    ``target`` samples were wanted, and ``captured`` were obtained. ``joined`` launches have other durations than those
    that samples were drawn from.
    """

    kernel: str
    number: int
    launches: int
    lower_ns: float
    upper_ns: float
    mean_ns: float
    stddev_ns: float
    target: int
    captured: int
    joined: int
    process: Optional[int]
    samples: Tuple[Sample, ...] = field(repr=False)

    @property
    def duration_ns(self) -> float:
        """The sum of the durations of the launches."""
        return self.launches * self.mean_ns


@dataclass(frozen=True)
class Kernel:
    """A GPU function and its launches.

    ``short_name`` is the name without return type, namespaces and parameters. No two kernels of a plan share one,
    except those of several processes or launch configurations.
    ``process`` is set if the kernels of the processes were kept separate (``--share-captures off``), ``grid`` and
    ``block`` if launch configurations were (``--group-by launch``).
    """

    name: str
    short_name: str
    launches: int
    duration_ns: int
    share: float
    process: Optional[int]
    grid: Optional[Extent]
    block: Optional[Extent]
    clusters: Tuple[Cluster, ...] = field(repr=False)

    @property
    def mean_ns(self) -> float:
        """The mean duration of a launch."""
        return self.duration_ns / self.launches if self.launches else 0.0

    @property
    def samples(self) -> Tuple[Sample, ...]:
        """The samples of all clusters."""
        return tuple(sample for cluster in self.clusters for sample in cluster.samples)


class Stats(Tuple[Kernel, ...]):
    """Kernels, sorted by time. It prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        return _render.text_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _render.html_table(self)


class Session:
    """A finished session directory of ``stemtap run``, ``replay``, ``merge`` or ``demo``, or a plan alone.

    >>> session = Session("first-run")
    >>> print(session)
    180 launches of 3 kernels, 5.115 ms of GPU time
    13 samples in 7 clusters, 0.695 ms: 7.4x less to trace
    error bound 0.61 %, uncovered time 0.00 %
    >>> session.stats()
       time     total ms     launches   mean us  samples  kernel
     84.4 %        4.317           60     71.94        9  gemm<Tile<128, 64> >
      9.6 %        0.489           60      8.15        2  softmax<float>
      6.1 %        0.310           60      5.16        2  layer_norm

    The sum of weight x duration over the samples estimates the GPU time, here the time in a range:

    >>> forward = [sample for sample in session.samples if sample.range == "train/forward"]
    >>> round(sum(sample.weight * sample.duration_ns for sample in forward))
    5115277
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        """Reads a directory, the directory of one of its files, or a plan that ``stemtap plan`` wrote.

        Raises SessionError if it is neither a finished session nor a plan. A plan alone has the mode "plan", and what
        only session.json contains is empty or None.
        """
        self.path = Path(path)
        if self.path.name in _FILES and (self.path.parent / "session.json").is_file():
            self.path = self.path.parent
        session: Optional[Fields] = None
        if self.path.is_file():
            plan = _fields.read_object(self.path, "stemtap.plan/1")
        else:
            _require_finished(self.path)
            session = _fields.read_object(self.path / "session.json", "stemtap.session/1")
            plan = _fields.read_object(self.path / "plan.json", "stemtap.plan/1")
        totals = plan.object("totals")

        #: session.json (empty if there is none) and plan.json as dictionaries, with all of their fields.
        self.session: Dict[str, Any] = session.values if session else {}
        self.plan: Dict[str, Any] = plan.values

        #: "live", "replay", "gate" or "merged"; "plan" for a plan alone.
        self.mode: str = session.get("mode", _fields.text) if session else "plan"
        #: The program and its arguments; empty if there was none or if merged sessions differ in it.
        self.command: Tuple[str, ...] = session.get("command", _fields.texts) if session else ()
        #: The exit code of the program, and the number of the signal that ended it, or 0. A plan alone has None.
        self.exit_code: Optional[int] = session.get("exit_code", _fields.integer) if session else None
        self.signal: Optional[int] = session.get("signal", _fields.integer) if session else None
        self.elapsed_s: Optional[float] = session.get("elapsed_s", _fields.number) if session else None
        #: Reasons why the figures may be incomplete, one line each.
        self.warnings: Tuple[str, ...] = session.get("warnings", _fields.texts) if session else ()
        #: Counters of the recording: "seen", "kept", "dropped" and others; "losses" counts losses by reason.
        self.counters: Dict[str, Any] = session.object("counters").values if session else {}

        self.launches: int = totals.get("invocations", _fields.integer)
        self.duration_ns: int = totals.get("duration_ns", _fields.integer)
        self.sampled_duration_ns: float = totals.get("sampled_duration_ns", _fields.number)
        #: The GPU time of all launches divided by the GPU time of the samples.
        self.speedup: float = totals.get("speedup", _fields.number)
        #: The bound on the relative error of the estimated total, or None if none can be stated.
        self.bound: Optional[float] = totals.find("bound", _fields.number)
        #: The actual relative error of the estimated total, or None if it is not known.
        self.observed_error: Optional[float] = totals.find("observed_error", _fields.number)
        #: The share of the GPU time in clusters without a sample.
        self.uncovered_fraction: float = totals.get("uncovered_fraction", _fields.number)

        #: In the order of the plan; ``stats()`` sorts them by time.
        self.kernels: Tuple[Kernel, ...] = tuple(
            _kernel(kernel, self.duration_ns) for kernel in plan.objects("kernels")
        )
        self.clusters: Tuple[Cluster, ...] = tuple(
            cluster for kernel in self.kernels for cluster in kernel.clusters
        )
        self.samples: Tuple[Sample, ...] = tuple(
            sample for cluster in self.clusters for sample in cluster.samples
        )

    @cached_property
    def overview(self) -> Optional[Dict[str, Any]]:
        """overview.json as a dictionary (timeline, histograms), or None if there is no such file."""
        path = self.path / "overview.json"  # does not exist below a file
        return _fields.read_object(path, "stemtap.overview/1").values if path.exists() else None

    @cached_property
    def summary(self) -> Optional[str]:
        """The text of summary.txt, which the command printed, or None if there is no such file."""
        path = self.path / "summary.txt"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None

    def stats(self) -> Stats:
        """Returns the kernels, the one with the most time first, as a tuple that prints as a table."""
        return Stats(sorted(self.kernels, key=lambda kernel: -kernel.duration_ns))

    def to_pandas(self, table: str = "samples") -> Any:
        """Returns the samples, "clusters" or "kernels" as a pandas.DataFrame with a row for each."""
        if table not in _COLUMNS:
            raise ValueError(f"table is {table!r}; expected one of {', '.join(map(repr, _COLUMNS))}")
        try:
            pandas: Any = import_module("pandas")
        except ImportError as error:
            raise ImportError("pandas is not installed; run 'pip install pandas' to use to_pandas()") from error
        columns = _COLUMNS[table]
        rows = [[getattr(entry, column) for column in columns] for entry in getattr(self, table)]
        return pandas.DataFrame(rows, columns=list(columns))

    def __str__(self) -> str:
        return _render.summary(self)

    def __repr__(self) -> str:
        return (
            f"<stemtap.Session {str(self.path)!r}: {self.launches} launches, {len(self.samples)} samples, "
            f"{_render.bound(self)}>"
        )

    def _repr_html_(self) -> str:
        return _render.html(self)


# Files of a session. Any of them stands for its directory.
_FILES = ("plan.json", "session.json", "overview.json", "summary.txt", "mask.ndjson", "stemtap.log")

# The columns of the tables of to_pandas().
_COLUMNS = {
    "samples": (
        "kernel", "index", "occurrence", "cluster", "weight", "duration_ns", "device", "stream", "grid", "block",
        "process", "range", "step", "imputed",
    ),
    "clusters": (
        "kernel", "number", "launches", "duration_ns", "lower_ns", "upper_ns", "mean_ns", "stddev_ns", "target",
        "captured", "joined", "process",
    ),
    "kernels": ("name", "short_name", "launches", "duration_ns", "share", "mean_ns", "process", "grid", "block"),
}  # fmt: skip


def _require_finished(path: Path) -> None:
    if not path.is_dir():
        raise SessionError(f"{path}: is not a directory; expected a session directory")
    if (path / "plan.json").exists():
        return
    if any((path / file).exists() for file in ("overview.json", "mask.ndjson", "session.json")):
        raise SessionError(
            f"{path}: has no plan.json: the session is still running or was killed ('stemtap recover' completes it); "
            "expected a finished session"
        )
    raise SessionError(f"{path}: is not a session directory; expected one that contains plan.json")


def _kernel(kernel: Fields, total_ns: int) -> Kernel:
    name = kernel.get("name", _fields.text)
    process = kernel.find("process", _fields.integer)
    duration_ns = kernel.get("duration_ns", _fields.integer)
    return Kernel(
        name=name,
        short_name=kernel.find("short_name", _fields.text) or name,
        launches=kernel.get("invocations", _fields.integer),
        duration_ns=duration_ns,
        share=duration_ns / total_ns if total_ns else 0.0,
        process=process,
        grid=kernel.find("grid", _fields.extent),
        block=kernel.find("block", _fields.extent),
        clusters=tuple(
            _cluster(cluster, name, process, number) for number, cluster in enumerate(kernel.objects("clusters"))
        ),
    )


def _cluster(cluster: Fields, kernel: str, process: Optional[int], number: int) -> Cluster:
    return Cluster(
        kernel=kernel,
        number=number,
        launches=cluster.get("count", _fields.integer),
        lower_ns=cluster.get("lower_ns", _fields.number),
        upper_ns=cluster.get("upper_ns", _fields.number),
        mean_ns=cluster.get("mean_ns", _fields.number),
        stddev_ns=cluster.get("stddev_ns", _fields.number),
        target=cluster.get("target", _fields.integer),
        captured=cluster.get("captured", _fields.integer),
        joined=cluster.find("joined", _fields.integer) or 0,
        process=process,
        samples=tuple(_sample(sample, kernel, process, number) for sample in cluster.objects("samples")),
    )


def _sample(sample: Fields, kernel: str, process: Optional[int], cluster: int) -> Sample:
    return Sample(
        kernel=kernel,
        index=sample.get("index", _fields.integer),
        occurrence=sample.get("occurrence", _fields.integer),
        cluster=cluster,
        weight=sample.get("weight", _fields.number),
        duration_ns=sample.get("duration_ns", _fields.number),
        device=sample.find("device", _fields.integer),
        stream=sample.find("stream", _fields.integer),
        grid=sample.find("grid", _fields.extent),
        block=sample.find("block", _fields.extent),
        process=process,
        range=sample.find("range", _fields.text),
        step=sample.find("step", _fields.integer),
        imputed=sample.find("imputed", _fields.boolean) or False,
    )
