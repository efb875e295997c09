# SPDX-License-Identifier: Apache-2.0
"""Sample the GPU kernels of a program, mark its steps and ranges, and read the results.

While a program runs under ``stemtap run``, it can mark what it does:

>>> import stemtap
>>> for batch in ["first", "second"]:
...     stemtap.step()
...     with stemtap.range("forward"):
...         pass  # launch kernels

In a process that is not recorded, these calls do nothing and cost less than a microsecond.

Afterwards, ``Session`` reads the session directory of the run:

>>> session = stemtap.Session("first-run")
>>> len(session.kernels), len(session.samples)
(3, 13)
"""

from stemtap._control import Range, start, step, stop
from stemtap._control import range as range  # not in __all__: a star import must keep the built-in range
from stemtap._program import include_path, library_path, program_path
from stemtap._snapshot import snapshot
from stemtap.session import Cluster, Kernel, Sample, Session, SessionError, Stats

__version__ = "0.1.0"

__all__ = [
    "Cluster",
    "Kernel",
    "Range",
    "Sample",
    "Session",
    "SessionError",
    "Stats",
    "include_path",
    "library_path",
    "program_path",
    "snapshot",
    "start",
    "step",
    "stop",
]
