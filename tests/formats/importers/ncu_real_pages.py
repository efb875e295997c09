#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares real ncu pages as stemtap reads them with the same pages read by Python's csv module.

    ncu_real_pages.py NCU STEMTAP SCRATCH REPORT...

`NCU --import` prints every report, and one report that contains all launches twice, as several
pages. stemtap reads each page as a profile, and all reports together as results of a plan and as
metrics of a profile. Prints the number of compared values; exits with 1 at the first difference.
"""
import csv
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from ncu_report import merge, run  # noqa: E402

NCU, STEMTAP, SCRATCH = sys.argv[1:4]
REPORTS = sys.argv[4:]
NOT_METRICS = {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
               "Block Size", "Grid Size", "Device", "CC"}
PAGES = [
    ["--page", "raw"],
    ["--page", "raw", "--print-units", "base"],
    ["--page", "raw", "--print-fp"],
    ["--page", "raw", "--print-metric-instances", "values"],
    [],
    ["--page", "details", "--print-units", "base"],
    ["--page", "details", "--print-details", "all"],
    ["--page", "details", "--print-details", "all", "--print-units", "base",
     "--print-metric-name", "name", "--print-metric-instances", "values"],
    ["--page", "details", "--print-metric-name", "label-name", "--print-fp"],
]
UNITS = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Khz": 1e3, "Mhz": 1e6, "Ghz": 1e9,
         "us": 1e3, "ms": 1e6, "s": 1e9}


def factor(unit):
    top, _, below = unit.partition("/")
    result = UNITS.get(top, 1.0)
    return result * {"ms": 1e3, "us": 1e6, "ns": 1e9}.get(below, 1.0)


def number(cell, unit):
    cell = re.sub(r"\s*\(.*\)$", "", cell)  # removes the values of instances
    is_number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", cell)
    return float(cell) * factor(unit) if is_number else None


def table(path):
    """Returns the launches of a page: kernel, grid, block and a dictionary of metrics."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    header = rows[0]
    at = {name: header.index(name) for name in header}
    launches, seen = {}, {}
    raw = "Metric Name" not in at
    for row in rows[1:]:
        if row == header or len(row) < 15 or not row[0].isdigit():
            continue
        key = (row[at["Process ID"]], row[0])
        launch = launches.setdefault(key, (row[at["Kernel Name"]], row[at["Grid Size"]],
                                           row[at["Block Size"]], {}))
        if raw:
            for i, name in enumerate(header):
                value = None if name in NOT_METRICS else number(row[i], rows[1][i])
                if value is not None:
                    launch[3][name] = value
        elif row[at["Metric Name"]]:
            label, section = row[at["Metric Name"]], row[at["Section Name"]]
            item = row[at["Body Item Label"]] if "Body Item Label" in at else ""
            value = number(row[at["Metric Value"]], row[at["Metric Unit"]])
            names = [label, f"{section}: {label}", f"{section}: {item}: {label}"]
            for name in names:  # the first name that no other metric has
                if seen.setdefault(name, (section, item, label)) == (section, item, label):
                    break
            if value is not None and name not in launch[3]:
                launch[3][name] = value
    return list(launches.values())


def same(a, b):
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=0.0)


def compare(what, expected, path):
    """Compares launches to the canonical profile at `path`; returns the number of values."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    header = rows[0]
    own = header.index("name") + 1
    if len(rows) - 1 != len(expected):
        sys.exit(f"{what}: {len(rows) - 1} launches; expected {len(expected)}")
    values = 0
    for row, (kernel, grid, block, metrics) in zip(rows[1:], expected):
        cells = dict(zip(header[:own], row))
        extents = [f"({cells[k + '_x']}, {cells[k + '_y']}, {cells[k + '_z']})"
                   for k in ("grid", "block")]
        if [cells["name"], *extents] != [kernel, grid, block]:
            sys.exit(f"{what}: {[cells['name'], *extents]}; expected {[kernel, grid, block]}")
        got = {n: float(c) for n, c in zip(header[own:], row[own:]) if c}
        if got.keys() != metrics.keys():
            sys.exit(f"{what}: metrics differ: {sorted(got.keys() ^ metrics.keys())[:5]}")
        for name, value in metrics.items():
            if not same(got[name], value):
                sys.exit(f"{what}: {name} is {got[name]}; expected {value}")
        duration = metrics.get("gpu__time_duration.sum", metrics.get("Duration"))
        if duration is not None and int(cells["duration_ns"]) != round(duration):
            sys.exit(f"{what}: duration {cells['duration_ns']}; expected {duration}")
        values += len(metrics)
    return values


def page(report, options, path):
    with open(path, "w") as file:
        file.write(run(NCU, "--import", report, "--csv", *options))


def scratch(name):
    return os.path.join(SCRATCH, name)


def main():
    pages = values = 0
    ncu_csv, profile, all_csv = scratch("ncu.csv"), scratch("profile.csv"), scratch("all.csv")
    several = scratch("several.ncu-rep")
    merge(NCU, [*REPORTS, *reversed(REPORTS)], several)
    for options in PAGES:
        for report in [*REPORTS, several]:
            page(report, options, ncu_csv)
            expected = table(ncu_csv)
            what = f"{os.path.basename(report)} {' '.join(options)}"
            if not expected or not all(len(launch[3]) >= 50 for launch in expected):
                sys.exit(f"{what}: expected at least 50 metrics for each launch")
            # Pages without durations are only valid as metrics of a profile.
            if any("Duration" in l[3] or "gpu__time_duration.sum" in l[3] for l in expected):
                run(STEMTAP, "convert", ncu_csv, "-o", profile)
            else:
                with open(all_csv, "w") as file:
                    csv.writer(file).writerows([["duration_ns", "name"]] +
                                               [[1, launch[0]] for launch in expected])
                run(STEMTAP, "convert", all_csv, "--metrics", ncu_csv, "-o", profile)
                # This profile has neither grid nor block.
                expected = [(l[0], "(, , )", "(, , )", l[3]) for l in expected]
            if len(expected) != (2 * len(REPORTS) if report == several else 1):
                sys.exit(f"{what}: {len(expected)} launches")
            values += compare(what, expected, profile)
            pages += 1
    # All reports together: each kernel has one launch, which is also its sample.
    for options in (["--page", "raw"], []):
        parts = []
        for i, report in enumerate(REPORTS):
            parts.append(scratch(f"part{i}.csv"))
            page(report, options, parts[-1])
        with open(all_csv, "w") as file:
            for part in parts:
                with open(part) as one:
                    file.write(one.read())
        expected = [launch for part in parts for launch in table(part)]
        plan = scratch("plan.json")
        bare = scratch("bare.csv")
        with open(bare, "w") as file:
            csv.writer(file).writerows([["duration_ns", "name"]] +
                                       [[1000 + i, l[0]] for i, l in enumerate(expected)])
        run(STEMTAP, "plan", bare, "--metrics", all_csv, "-o", plan)
        with open(plan) as file:
            samples = sum(len(c["samples"]) for k in json.load(file)["kernels"]
                          for c in k["clusters"])
        if samples != len(expected):
            sys.exit(f"{samples} samples; expected {len(expected)}")
        for results in ([all_csv], parts):
            got = json.loads(run(STEMTAP, "extrapolate", "--plan", plan, "--results", *results,
                                 "--json"))
            if got["matched"] != len(expected):
                sys.exit(f"{got['matched']} results match; expected {len(expected)}")
            sums = 0
            for metric in got["metrics"]:
                numbers = [l[3][metric["name"]] for l in expected if metric["name"] in l[3]]
                if len(numbers) != metric["samples"]:
                    sys.exit(f"{metric['name']}: {metric['samples']} samples, "
                             f"expected {len(numbers)}")
                if metric["how"] == "sum" and len(numbers) == len(expected):
                    sums += 1
                    if not same(metric["plain"]["value"], math.fsum(numbers)):
                        sys.exit(f"{metric['name']}: total {metric['plain']['value']}; expected "
                                 f"{math.fsum(numbers)}")
            if sums < 10:
                sys.exit(f"{sums} totals compared; expected at least 10")
            pages += len(parts)
            values += sums
    print(f"{pages} pages of {len(REPORTS)} reports, {values} values equal")


main()
