# SPDX-License-Identifier: Apache-2.0
"""Creates reports with several launches from the one-launch reports that ship with real ncu.

A report is a file header followed by blocks of results. The blocks of several reports after one
header are also a report. ncu keeps their order if all blocks are from one process.
"""
import csv
import struct
import subprocess


def run(*command):
    """Returns the standard output of a command; ends the test if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n"
                         f"{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def rows(ncu, report, *options):
    """Returns the raw page of a report as rows of cells: header, units, launches."""
    return list(csv.reader(run(ncu, "--import", report, "--csv", "--page", "raw", "--metrics",
                               "gpu__time_duration.sum", *options).splitlines()))


def _varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def merge(ncu, reports, path, rename=()):
    """Writes the launches of `reports`, in this order, as launches of one process. `rename` contains
    replacements: pairs of byte strings of equal length."""
    merged, process = b"", b""
    for report in reports:
        with open(report, "rb") as file:
            content = file.read()
        magic, size = struct.unpack("<4sI", content[:8])
        if magic != b"NVR\0":
            raise SystemExit(f"{report}: is not an ncu report")
        table = rows(ncu, report)
        own = _varint(int(table[2][table[0].index("Process ID")]))
        if not merged:
            merged, process = content[:8 + size], own
        if len(own) != len(process):
            raise SystemExit(f"{report}: process ids of different lengths")
        block = content[8 + size:].replace(own, process)
        for old, new in rename:
            assert len(old) == len(new)
            block = block.replace(old, new)
        merged += block
    with open(path, "wb") as file:
        file.write(merged)
