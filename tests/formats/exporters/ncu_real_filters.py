#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the runs of `stemtap export --to ncu` select the planned launches in real ncu.

    ncu_real_filters.py NCU STEMTAP SCRATCH REPORT...

ncu applies the same filters to an imported report as to a program. Exits with 1 at the first
difference.
"""
import csv
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from ncu_report import merge, rows, run  # noqa: E402

NCU, STEMTAP, SCRATCH = sys.argv[1:4]
REPORTS = {os.path.basename(path).removesuffix(".ncu-rep"): path for path in sys.argv[4:]}
ORDER = ["sobelFloat", "sobelDouble", "sobelFloat", "transposeCoalesced", "sobelDouble",
         "transposeNoBankConflicts", "sobelFloat", "addConstDouble", "sobelDouble",
         "addConstDouble3", "transposeCoalesced", "addConstDouble"]
# A name that ncu prints without its namespaces and casts.
RENAME = [(b"addConstDouble(int, double *, double, double *)",
           b"void at::native::add<(int)4>(at::Tensor *, int)")]
BASES = {"mangled": ["--print-kernel-base", "mangled"],
         "demangled": ["--rename-kernels", "no"],
         "function": ["--print-kernel-base", "function"]}
SEEDS = 3


def path(name):
    return os.path.join(SCRATCH, name)


def write_page(report, file_name, *options):
    """Writes the raw page as a profile; returns the names of the launches."""
    table = rows(NCU, report, "--print-units", "base", *options)
    with open(path(file_name), "w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    return [row[table[0].index("Kernel Name")] for row in table[2:]]


def plan_of(profile, seed):
    """Returns the launches of a plan of the profile."""
    run(STEMTAP, "plan", path(profile), "--seed", seed, "-o", path("plan.json"))
    with open(path("plan.json")) as file:
        return sorted(sample["index"] for kernel in json.load(file)["kernels"]
                      for cluster in kernel["clusters"] for sample in cluster["samples"])


def selected_by(report, response, known={}):
    """Returns the launches of a report that ncu selects with a response file."""
    with open(response) as file:
        options = file.read()
    if options not in known:
        table = run(NCU, f"@{response}", "--import", report, "--csv", "--page", "raw",
                    "--metrics", "gpu__time_duration.sum").splitlines()
        known[options] = [int(row[0]) for row in csv.reader(table) if row and row[0].isdigit()]
    return known[options]


def check(report, what, planned, *options):
    """Exports the plan; returns the notes and the number of runs."""
    for name in os.listdir(SCRATCH):
        if name.startswith("ncu.sh"):
            os.remove(path(name))
    export = json.loads(run(STEMTAP, "export", "--plan", path("plan.json"), "--to", "ncu", "-o",
                            path("ncu.sh"), "--json", *options))
    responses = [file for file in export["files"] if file.endswith(".rsp")]
    selected = sorted(launch for file in responses for launch in selected_by(report, file))
    if selected != planned:
        sys.exit(f"{what}: selects {selected}; expected {planned}")
    return export["notes"], len(responses)


def main():
    report = path("merged.ncu-rep")
    merge(NCU, [REPORTS[name] for name in ORDER], report, RENAME)
    exports = runs = 0
    plans = set()
    for base, options in BASES.items():
        profile = f"{base}.csv"
        if len(write_page(report, profile, *options)) != len(ORDER):
            sys.exit(f"{base}: expected {len(ORDER)} launches")
        for seed in range(SEEDS):
            planned = plan_of(profile, seed)
            plans.add(tuple(planned))
            for mode in ("auto", "windows", "kernels"):
                _, count = check(report, f"{base}, seed {seed}, {mode}", planned, "--mode", mode,
                                 "--kernel-name-base", base)
                exports += 1
                runs += count
    if len(plans) < 3:
        sys.exit(f"{len(plans)} different plans; expected at least 3")
    # By default, ncu prints simplified names, which no filter matches. The export reports this.
    names = write_page(report, "renamed.csv")
    originals = write_page(report, "demangled.csv", *BASES["demangled"])
    planned = plan_of("renamed.csv", 0)
    matched = [launch for launch in planned if names[launch] == originals[launch]]
    if matched == planned or not matched:
        sys.exit(f"names are {names}; expected some of the planned ones to be simplified")
    notes, _ = check(report, "renamed", matched, "--mode", "kernels")
    if not any("--rename-kernels no" in note for note in notes):
        sys.exit(f"notes are {notes}; expected one about --rename-kernels no")
    check(report, "renamed, auto", planned)
    print(f"{exports} exports, {runs} runs of ncu select the planned launches")


main()
