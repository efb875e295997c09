# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tools/gpu_check and compares their results. See tools/gpu_check."""

import argparse
import collections
import ctypes
import datetime
import gzip
import json
import os
import pathlib
import runpy
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

MODES = {"eager": [], "graph": ["--cuda-graph"]}
RUN_TIMEOUT_S = 300  # a run takes seconds; the limit ends a run that hangs
PROBE_TIMEOUT_S = 600  # gpu_probe takes two to three minutes


# --- names ---------------------------------------------------------------------------------------

def make_demangler():
    """Returns a function that demangles names: CUPTI reports mangled names, torch.profiler demangled names."""
    try:
        demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return lambda name: name
    demangle.restype = ctypes.c_void_p
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free.argtypes = [ctypes.c_void_p]

    def readable(name):
        if not name.startswith("_Z"):
            return name
        text = demangle(name.encode(), None, None, None)
        if not text:
            return name
        result = ctypes.string_at(text).decode()
        free(text)
        return result

    return readable


# --- runs ----------------------------------------------------------------------------------------

class Check:
    def __init__(self, options):
        self.options = options
        self.example = [options.python, str(options.example), "--tokens", str(options.tokens)]
        if options.tiny:
            self.example.append("--tiny")

    def run(self, command, environment=None):
        """Runs decode.py to completion; returns its output and the wall time."""
        begin = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=RUN_TIMEOUT_S)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            raise SystemExit(f"gpu_check: exit code {done.returncode} of {' '.join(command)}\n"
                             f"{done.stdout[-2000:]}{done.stderr[-4000:]}")
        printed = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
        return {"tokens_per_s": float(printed["tokens/s"]), "checksum": printed["checksum"],
                "wall_s": seconds}

    def bare(self, mode):
        return self.run(self.example + MODES[mode])

    def sampled(self, mode, level, folder):
        """Runs decode.py under stemtap. Python does not use the libraries that were packed for stemtap."""
        environment = dict(os.environ)
        program = self.example + MODES[mode]
        if self.options.library_path:
            before = environment.get("LD_LIBRARY_PATH")
            environment["LD_LIBRARY_PATH"] = ":".join(
                [str(self.options.library_path)] + ([before] if before else []))
            restore = [f"LD_LIBRARY_PATH={before}"] if before else ["-u", "LD_LIBRARY_PATH"]
            program = ["env"] + restore + program
        return self.run([str(self.options.stemtap), "run", "--output", str(folder), "--level", level,
                         "--quiet", "--", *program], environment)

    def other(self, mode, tool, scratch):
        """Runs decode.py under another tool to measure its overhead; discards the recording."""
        if tool == "torch.profiler":
            return self.reference(mode, scratch / "other.json.gz")
        result = self.run(["nsys", "profile", "--trace=cuda", "--cuda-graph-trace=node",
                           "--force-overwrite=true", "--output", str(scratch / "other"), "--",
                           *self.example, *MODES[mode]])
        for file in scratch.glob("other*"):
            file.unlink()
        return result

    def reference(self, mode, trace):
        """Runs decode.py under torch.profiler; writes the kernels to `trace`, in a format that stemtap reads."""
        return self.run([self.options.python, __file__, "--reference", str(trace), "--",
                         *self.example[1:], *MODES[mode]])


def record_reference(trace, script, arguments):
    """Must run in a separate process, because a process can have only one CUPTI subscriber."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.zeros(1, device="cuda")  # initializes CUDA before profiling starts
    torch.cuda.synchronize()
    sys.argv = [script, *arguments]
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        runpy.run_path(script, run_name="__main__")
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "trace.json")
        recorded.export_chrome_trace(whole)
        with open(whole, encoding="utf-8") as file:
            content = json.load(file)
    # Keeps only the kernels: the other events are large and not needed.
    content["traceEvents"] = [e for e in content["traceEvents"] if e.get("cat") == "kernel"]
    content.pop("traceName", None)  # the path of the temporary file
    with gzip.open(trace, "wt", encoding="utf-8") as file:
        json.dump(content, file)


# --- comparison ----------------------------------------------------------------------------------

def kernels_of_trace(trace):
    totals = collections.defaultdict(lambda: [0, 0.0])
    with gzip.open(trace, "rt", encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            entry = totals[event["name"]]
            entry[0] += 1
            entry[1] += event["dur"] * 1000.0  # us to ns
    return totals


def kernels_of_session(folder, readable):
    totals = collections.defaultdict(lambda: [0, 0.0])
    with open(folder / "plan.json", encoding="utf-8") as file:
        plan = json.load(file)
    for kernel in plan["kernels"]:
        entry = totals[readable(kernel["name"])]
        entry[0] += kernel["invocations"]
        entry[1] += kernel["duration_ns"]
    return totals, plan["totals"]


def compare(expected, found):
    rows = []
    for name in expected.keys() | found.keys():
        count, duration = expected.get(name, (0, 0.0))
        our_count, our_duration = found.get(name, (0, 0.0))
        rows.append({"name": name, "count_profiler": count, "count_stemtap": our_count,
                     "duration_profiler_ns": round(duration), "duration_stemtap_ns": round(our_duration),
                     "duration_ratio": our_duration / duration if duration else None})
    rows.sort(key=lambda row: (-row["duration_profiler_ns"], row["name"]))
    return rows


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "values": values}


def check_mode(check, mode, sessions, output, save):
    """Runs all pairs of a mode. Calls `save` with the results after each pair, so that an interrupted check keeps
    them."""
    options = check.options
    print(f"{mode}: torch.profiler", flush=True)
    trace = output / f"profile-{mode}.json.gz"
    check.reference(mode, trace)

    check.bare(mode)  # warms up the file cache and the GPU clocks
    bare = []
    sampled = {level: [] for level in options.levels}
    others = {tool: [] for tool in options.others}
    for pair in range(options.pairs):
        # Reverses every second round, so that clock drift affects all modes equally.
        order = ["bare", *options.levels, *options.others]
        for what in order if pair % 2 == 0 else reversed(order):
            if what == "bare":
                result = check.bare(mode)
                bare.append(result)
            elif what in others:
                result = check.other(mode, what, sessions)
                others[what].append(result)
            else:
                folder = sessions / f"{mode}-{what}-{pair}"
                result = check.sampled(mode, what, folder)
                sampled[what].append(result)
                if pair > 0:
                    shutil.rmtree(folder)
            print(f"{mode}: pair {pair + 1} of {options.pairs}, {what}: "
                  f"{result['tokens_per_s']:.1f} tokens/s", flush=True)
        save(results_of_mode(mode, trace, sessions, bare, sampled, others))


def results_of_mode(mode, trace, sessions, bare, sampled, others):
    readable = make_demangler()
    expected = kernels_of_trace(trace)

    def slowdowns(runs):
        return {
            "slowdown_of_decoding": spread([b["tokens_per_s"] / s["tokens_per_s"]
                                            for b, s in zip(bare, runs)]),
            "slowdown_of_process": spread([s["wall_s"] / b["wall_s"] for b, s in zip(bare, runs)]),
        }

    levels = {}
    for level, runs in sampled.items():
        found, totals = kernels_of_session(sessions / f"{mode}-{level}-0", readable)
        rows = compare(expected, found)
        whole_graphs = totals.get("graph_launches", 0) != 0  # if so, kernels cannot be counted
        levels[level] = {
            **slowdowns(runs),
            "counts_agree": whole_graphs or all(r["count_profiler"] == r["count_stemtap"] for r in rows),
            "output_unchanged": {r["checksum"] for r in runs} == {r["checksum"] for r in bare},
            "kernels_profiler": sum(r["count_profiler"] for r in rows),
            "kernels_stemtap": sum(r["count_stemtap"] for r in rows),
            "plan": totals,
            "kernels": rows,
        }
    return {"pairs": len(bare), "bare_tokens_per_s": spread([r["tokens_per_s"] for r in bare]), "levels": levels,
            "others": {tool: slowdowns(runs) for tool, runs in others.items()}}


# --- report --------------------------------------------------------------------------------------

def describe_machine(python):
    text = subprocess.run(
        [python, "-c",
         "import json, platform, torch\n"
         "p = torch.cuda.get_device_properties(0)\n"
         "print(json.dumps({'gpu': p.name, 'capability': f'{p.major}.{p.minor}',\n"
         "  'torch': torch.__version__, 'cuda': torch.version.cuda,\n"
         "  'python': platform.python_version(), 'system': platform.platform()}))"],
        capture_output=True, text=True)
    if text.returncode != 0:
        raise SystemExit(f"gpu_check: needs PyTorch with a GPU\n{text.stderr[-2000:]}")
    machine = json.loads(text.stdout)
    try:
        machine["driver"] = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        machine["driver"] = "unknown"
    machine["date"] = datetime.date.today().isoformat()
    return machine


def shown(values, form="{:.3f}"):
    return (f"{form} ({form} to {form})").format(values["median"], values["min"], values["max"])


def percent(value):
    # A plan with real captures has no observed error.
    return "unknown" if value is None else f"{100 * value:.2f} %"


def shorten(name, most=80):
    name = name.replace("|", "\\|")
    return name if len(name) <= most else name[:most - 1] + "…"


def to_markdown(results):
    machine, options = results["machine"], results["options"]
    lines = ["# GPU check", "",
             f"{machine['gpu']}, driver {machine['driver']}, PyTorch {machine['torch']}, CUDA "
             f"{machine['cuda']}, {machine['date']}. {options['tokens']} tokens; "
             + ", ".join(f"{mode}: {result['pairs']}" for mode, result in results["modes"].items())
             + f" of {options['pairs']} pairs of runs; median (minimum to maximum).", "",
             "Slowdown is the time of a run under stemtap divided by the time of the bare run of the same "
             "pair; 1.000 means no overhead. Differences within the spread of the bare runs are noise.", "",
             "| mode | level | bare tokens/s | slowdown of decoding | slowdown of the process | kernels, "
             "torch.profiler | kernels, stemtap | dropped | counts agree | output unchanged |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for mode, result in results["modes"].items():
        for level, r in result["levels"].items():
            lines.append(
                f"| {mode} | {level} | {shown(result['bare_tokens_per_s'], '{:.1f}')} | "
                f"{shown(r['slowdown_of_decoding'])} | {shown(r['slowdown_of_process'])} | "
                f"{r['kernels_profiler']} | {r['kernels_stemtap']} | {r['plan']['dropped']} | "
                f"{'yes' if r['counts_agree'] else '**no**'} | "
                f"{'yes' if r['output_unchanged'] else '**no**'} |")
        for tool, r in result["others"].items():
            lines.append(
                f"| {mode} | {tool} | {shown(result['bare_tokens_per_s'], '{:.1f}')} | "
                f"{shown(r['slowdown_of_decoding'])} | {shown(r['slowdown_of_process'])} | | | | | |")
    if "probe" in results:
        lines += ["", "## Cost and behavior of CUPTI", "",
                  "Results of `gpu_probe`; docs/measurements/README.md explains them. Times are in ns.", "",
                  "```", json.dumps(results["probe"], indent=1), "```"]
    for mode, result in results["modes"].items():
        for level, r in result["levels"].items():
            lines += ["", f"## {mode}, level {level}", "",
                      f"Plan: {r['plan']['samples']} samples in {r['plan']['clusters']} clusters, speedup "
                      f"{r['plan']['speedup']:.1f}, bound {100 * r['plan']['bound']:.2f} %, certified bound "
                      f"{percent(r['plan'].get('certified_bound'))}, observed error "
                      f"{percent(r['plan']['observed_error'])}.", "",
                      "| kernel | count, torch.profiler | count, stemtap | time, torch.profiler (us) | time, "
                      "stemtap (us) | ratio |", "|---|---|---|---|---|---|"]
            for row in r["kernels"]:
                ratio = row["duration_ratio"]
                lines.append(
                    f"| `{shorten(row['name'])}` | {row['count_profiler']} | {row['count_stemtap']} | "
                    f"{row['duration_profiler_ns'] / 1000:.1f} | {row['duration_stemtap_ns'] / 1000:.1f} | "
                    f"{'-' if ratio is None else f'{ratio:.3f}'} |")
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description="Check stemtap on a real GPU.")
    parser.add_argument("--stemtap", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--library-path", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--example", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="directory for the results")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs (default and minimum: 5)")
    parser.add_argument("--tokens", type=int, default=512, help="tokens per run (default: 512)")
    parser.add_argument("--tiny", action="store_true", help="use a small model, to test this check")
    parser.add_argument("--modes", default="eager,graph", help="default: eager,graph")
    parser.add_argument("--levels", default="graph,kernels,gate",
                        help="default: graph,kernels,gate")
    parser.add_argument("--others", default="torch.profiler,nsys",
                        help="other tools to compare with, if installed "
                             "(default: torch.profiler,nsys)")
    parser.add_argument("--probe", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--cupti", help="libcupti that gpu_probe loads (default: that of PyTorch's wheels, or "
                                        "found by the loader)")
    parser.add_argument("--probe-only", action="store_true", help="run only gpu_probe; needs no PyTorch")
    parser.add_argument("--python", default=sys.executable, help="Python with PyTorch")
    options = parser.parse_args()
    options.modes = options.modes.split(",")
    options.levels = options.levels.split(",")
    options.others = [tool for tool in options.others.split(",") if tool]
    unknown = [tool for tool in options.others if tool not in ("torch.profiler", "nsys")]
    if unknown:
        parser.error(f"--others: expected torch.profiler or nsys, not {unknown[0]}")
    if "nsys" in options.others and shutil.which("nsys") is None:
        options.others.remove("nsys")
    if options.pairs < 5:
        parser.error("--pairs: expected at least 5")
    unknown = [mode for mode in options.modes if mode not in MODES]
    if unknown:
        parser.error(f"--modes: expected eager or graph, not {unknown[0]}")
    return options


def find_cupti(python):
    """Returns the libcupti that PyTorch uses, if it came with NVIDIA's wheels, else the loader's."""
    found = subprocess.run(
        [python, "-c",
         "import glob, nvidia\n"
         "print(*(f for p in nvidia.__path__ for f in glob.glob(p + '/*/lib/libcupti.so.1?')), sep='\\n')"],
        capture_output=True, text=True).stdout.splitlines()
    return found[0] if found else "libcupti.so"


def ask_probe(options):
    """Returns the results of gpu_probe, or its output if it fails."""
    environment = dict(os.environ)
    if options.library_path:
        environment["LD_LIBRARY_PATH"] = ":".join(
            [str(options.library_path), environment.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    print("gpu_probe", flush=True)
    cupti = options.cupti or find_cupti(options.python)
    done = subprocess.run([str(options.probe), "--cupti", cupti, "--images", str(options.output)],
                          env=environment, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"error": f"exit code {done.returncode}: {done.stderr[-2000:]}"}


def main():
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    probe = ask_probe(options) if options.probe else None
    if probe:
        (options.output / "probe.json").write_text(json.dumps(probe, indent=1) + "\n")
    if options.probe_only:
        print(json.dumps(probe, indent=1))
        return 1 if not probe or "error" in probe else 0
    results = {"schema": "stemtap.gpu_check/1", "machine": describe_machine(options.python),
               "options": {"pairs": options.pairs, "tokens": options.tokens, "tiny": options.tiny},
               "modes": {}}
    if probe:
        results["probe"] = probe
    check = Check(options)
    with tempfile.TemporaryDirectory() as scratch:
        sessions = pathlib.Path(scratch) / "sessions"
        sessions.mkdir()
        for mode in options.modes:
            def save(result, mode=mode):
                results["modes"][mode] = result
                (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
                (options.output / "results.md").write_text(to_markdown(results))

            check_mode(check, mode, sessions, options.output, save)
        with tarfile.open(options.output / "sessions.tar.gz", "w:gz") as archive:
            archive.add(sessions, "sessions")
    print(to_markdown(results))
    levels = [r for m in results["modes"].values() for r in m["levels"].values()]
    failed = sum(not (r["counts_agree"] and r["output_unchanged"]) for r in levels)
    print(f"gpu_check: {len(levels) - failed} passed, {failed} failed; results in {options.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reference"]:
        record_reference(sys.argv[2], sys.argv[4], sys.argv[5:])
    else:
        sys.exit(main())
