# SPDX-License-Identifier: Apache-2.0
"""What must hold after a round of the fault test of --fleet. Each check returns the breaches that it finds."""

import collections
import json
import math
import os
import pathlib
import re

import fleet_round
import stemtap
import support
from fleet_round import CORRUPTING, LOSING, OF_VICTIMS

ALONE = re.compile(r"stemtap: warning: from launch \d+ on, this run decided alone for some time: ")
# Profiles are drawn at random, so ranks may well be slow.
SLOW = re.compile(r"stemtap: warning: rank \d+ on \S+ is slow: ")
NOT_IN_JOB = re.compile(
    r"stemtap: warning: (the job lacks this run: |.*; this run decides alone, and is not in the job$)")
MISSING = re.compile(
    r"stemtap: warning: rank (\d+) on \S+: its session is not in the job: \d+ launch(es)? are missing$")
# Why a merge may be refused if values of the job were changed.
DAMAGED = re.compile(r"the server returned an unexpected |WRONGTYPE|expected the sessions of the job|"
                     r"has no session that has ended|the captures of the job are not of its sessions")
# model::kSessionFiles
SESSION_FILES = {"mask.ndjson", "overview.json", "plan.json", "session.json", "summary.txt", "cells.json",
                 "stemtap.log"}
CRASH = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|terminate called|Assertion")
MAX_LINE = 400
MAX_MEMORY_KB = 1 << 20
MAX_IMPUTED_ERROR = 0.05


def is_clean(line):
    return line.startswith("stemtap: ") and len(line) < MAX_LINE and line.isprintable()


class Facts:
    """What has happened to a round, as far as the checks depend on it."""

    def __init__(self, round):
        self.round = round
        self.effects = {fault.kind for fault in round.faults if fault.effect}
        self.kinds = {fault.kind for fault in round.faults}
        # A fault without a noticed effect may have had one.
        self.may_lose = bool(self.kinds & LOSING)
        self.is_corrupt = bool(self.kinds & CORRUPTING)
        self.is_mixed = len({c.is_live for c in round.collectors}) > 1
        self.disturbs_all = not self.kinds <= OF_VICTIMS

    def may_fail_to_report(self, collector):
        """Whether the collector may end without its session in the job; it must report that."""
        return self.disturbs_all or bool(collector.faults)


def lines_of(text):
    return [line for line in text.splitlines() if line]


def kernels_of(directory):
    session = stemtap.Session(directory)
    kernels = collections.defaultdict(lambda: (0, 0))
    for kernel in session.kernels:
        launches, duration = kernels[kernel.name]
        kernels[kernel.name] = (launches + kernel.launches, duration + kernel.duration_ns)
    return session, dict(kernels)


def difference(got, expected):
    """Returns the first kernel with other launches or durations, or ""."""
    for name in sorted(set(got) | set(expected)):
        if got.get(name) != expected.get(name):
            return f"{name[:60]}: {got.get(name)}, expected {expected.get(name)}"
    return ""


def launches_of(kernels):
    return {name: launches for name, (launches, _) in kernels.items()}


def check_program(collector):
    """The traced program of a live run prints and ends as without stemtap, in the usual time."""
    if not collector.is_live:
        return
    begin, end = (collector.note.with_suffix(suffix) for suffix in (".begin", ".end"))
    if not collector.note.exists():
        if not collector.is_killed or begin.exists():
            yield "the program has no status"
        return
    status = int(collector.note.read_text())
    if status != 0:
        yield f"the program ended with {status}, expected 0"
    took = float(end.read_text()) - float(begin.read_text())
    if took > 1.5 * collector.seconds + 8:
        yield f"the program took {took:.1f} s, expected about {collector.seconds:.1f} s"
    profile = collector.profile
    expected = (rf"launches {profile.launches} duration_ns {profile.duration_ns} wall_ms [\d.]+ captured \d+ "
                r"capture_ms [\d.]+\n")
    if not re.fullmatch(expected, collector.text("out")):
        yield f"the program printed {collector.text('out')!r}, expected {expected!r}"
    logged = {}
    for line in collector.truth.read_text().splitlines()[1:]:
        launches, duration, name = line.split("\t", 2)
        logged[name] = (int(launches), int(duration))
    if different := difference(logged, profile.kernels):
        yield f"the simulated driver logged {different}"


def check_stderr(collector, facts):
    lines = lines_of(collector.text("err"))
    for line in lines:
        if CRASH.search(line) or not is_clean(line):
            yield f"stderr: {line[:300]!r}"
    warnings = [line for line in lines if NOT_IN_JOB.match(line)]
    collector.is_missing = bool(warnings)
    alone = [line for line in lines if ALONE.match(line)]
    others = [line for line in lines if line not in warnings + alone]
    if others and collector.code == 0 and not collector.is_live:
        yield f"unexpected message: {others[0]}"
    if collector.is_live and others:
        yield f"unexpected message: {others[0]}"
    if len(warnings) > 1:
        yield f"{len(warnings)} warnings"
    if alone and not facts.may_fail_to_report(collector):
        yield f"decided alone without a reason: {alone[0]}"
    if warnings and not facts.may_fail_to_report(collector):
        yield f"is not in the job without a reason: {warnings[0]}"


def check_collector(collector, facts):
    """A collector that was not killed exits as expected and leaves an exact session."""
    if collector.memory_kb > MAX_MEMORY_KB:
        yield f"took {collector.memory_kb >> 10} MiB of memory"
    yield from check_program(collector)
    yield from check_stderr(collector, facts)
    if collector.is_killed:
        collector.is_missing = True
        return
    expected = collector.own_status if collector.is_live else 0
    if collector.code == 1 and not collector.is_live and not collector.output.exists():
        # A replay refuses to start without the job.
        collector.is_missing = True
        line = collector.text("err").strip()
        if not facts.may_fail_to_report(collector) or "\n" in line or not is_clean(line):
            yield f"does not start: {line!r}"
        return
    if collector.code != expected:
        yield f"exit code {collector.code}, expected {expected}: {collector.text('err').strip()[-300:]}"
        return
    try:
        session, kernels = kernels_of(collector.output)
    except stemtap.SessionError as error:
        yield f"session: {error}"
        return
    expected_kernels = collector.profile.kernels
    if collector.slows:
        collector.recorded = (kernels, sum(duration for _, duration in kernels.values()))
        kernels, expected_kernels = launches_of(kernels), launches_of(expected_kernels)
        if abs(collector.recorded[1] / collector.profile.duration_ns - 1) > MAX_IMPUTED_ERROR:
            yield f"imputed time is {collector.recorded[1]}, expected about {collector.profile.duration_ns}"
    if different := difference(kernels, expected_kernels):
        yield f"session has {different}"
    if session.exit_code not in (None, expected):
        yield f"the session's exit code is {session.exit_code}"
    left = {path.name for path in collector.output.iterdir()} - SESSION_FILES
    if left:
        yield f"left over in the session: {sorted(left)}"
    done = facts.round.run_stemtap("stats", collector.output, "--json")
    if done.returncode != 0 or done.stderr:
        yield f"stemtap stats: exit code {done.returncode}: {done.stderr.strip()}"


def check_samples(plan, runs):
    """Samples are launches of the profiles."""
    for kernel in plan["kernels"]:
        for cluster in kernel["clusters"]:
            for sample in cluster["samples"]:
                at = next((i for i, s in enumerate(plan["sessions"])
                           if 0 <= sample["index"] - s["first_index"] < s["launches"]), None)
                if at is None:
                    yield f"sample {sample['index']} is in no session"
                    continue
                row = runs[at].profile.rows[sample["index"] - plan["sessions"][at]["first_index"]]
                if row[0] != kernel["name"] or row[1] != sample["duration_ns"] and not runs[at].slows:
                    yield f"sample {sample['index']} is {kernel['name'][:40]} {sample['duration_ns']}, expected {row}"


def runs_of(sessions, collectors):
    """Returns the collectors of the sessions of a merged plan; None for a session of none."""
    left = list(collectors)
    runs = []
    for session in sessions:
        run = next((c for c in left if session["folder"] == f"rank-{c.rank}" and
                    session["launches"] == c.profile.launches and
                    (c.recorded is None or session["duration_ns"] == c.recorded[1])), None)
        if run is not None:
            left.remove(run)
        runs.append(run)
    return runs


def check_merge(done, output, facts, totals):
    """The merged session has exact sums of its runs, or the merge names what is missing."""
    collectors = facts.round.collectors
    lines = [line for line in lines_of(done.stderr) if not SLOW.match(line)]
    for line in lines:
        if CRASH.search(line) or not is_clean(line):
            yield f"stderr: {line[:300]!r}"
    expected = [c for c in collectors if not c.is_missing]
    if done.returncode != 0:
        totals.failed += 1
        totals.reasons[re.sub(r"\S*/\S*|\d+|'.*?'|launches of .*, its", "...", (lines or [""])[0])] += 1
        if done.returncode != 1 or len(lines) != 1 or done.stdout:
            yield f"exit code {done.returncode}: {done.stderr.strip()[:300]}"
        elif output.exists():
            yield "left its output after an error"
        elif facts.is_mixed and "expected sessions with the same options" in lines[0]:
            totals.mixed += 1
        elif facts.is_corrupt:
            if not DAMAGED.search(lines[0]):
                yield f"fails for another reason: {lines[0]}"
        elif expected and not facts.may_lose or "has no session that has ended" not in lines[0]:
            yield f"fails without a reason: {lines[0]}"
        return
    try:
        _, kernels = kernels_of(output)
    except stemtap.SessionError as error:
        yield f"merged session: {error}"
        return
    plan = json.loads((output / "plan.json").read_text())
    merged = runs_of(plan["sessions"], collectors)
    if None in merged:
        session = plan["sessions"][merged.index(None)]
        yield "has a session of no run: " + str([session[name] for name in ("folder", "launches", "duration_ns")])
        return
    sums = collections.defaultdict(lambda: (0, 0))
    for collector in merged:
        for name, (launches, duration) in (collector.recorded or (collector.profile.kernels,))[0].items():
            sums[name] = (sums[name][0] + launches, sums[name][1] + duration)
    if any(collector.recorded is None for collector in merged):  # it was killed
        kernels, sums = launches_of(kernels), launches_of(sums)
    if different := difference(kernels, dict(sums)):
        yield f"has {different}"
    yield from check_samples(plan, merged)
    named = [MISSING.match(line) for line in lines]
    if None in named:
        yield f"unexpected message: {lines[named.index(None)]}"
    missing = collections.Counter(int(match[1]) for match in named if match)
    present = collections.Counter(c.rank for c in merged)
    of_rank = collections.Counter(c.rank for c in collectors)
    for rank in of_rank:
        if present[rank] + missing[rank] > of_rank[rank]:
            yield f"rank {rank} is there {present[rank]} times and missing {missing[rank]} times"
    for rank in missing:
        if rank not in of_rank and not facts.is_corrupt:
            yield f"names rank {rank}, which is not in the job"
    for collector in collectors:
        if collector in merged or facts.may_lose or facts.is_corrupt:
            continue
        if not collector.is_missing:
            yield f"lacks collector {collector.number}, which reported nothing"
        elif collector.is_killed and not missing[collector.rank] and not facts.disturbs_all and \
                not collector.faults - {"killed"}:
            yield f"does not name collector {collector.number}, which was killed"
    if len(merged) == len(collectors) and not lines:
        totals.complete += 1
        of_plan = plan["totals"]
        if of_plan["observed_error"] is not None and of_plan["observed_error"] > of_plan["certified_bound"]:
            totals.bound_misses += 1
    else:
        totals.partial += 1


def check_job_stats(done, facts):
    lines = lines_of(done.stderr)
    if done.returncode not in (0, 1) or len(lines) != done.returncode or not all(map(is_clean, lines)):
        yield f"exit code {done.returncode}: {done.stderr.strip()[:300]}"
        return
    if done.returncode == 1:
        if not (facts.is_corrupt or facts.may_lose or all(c.is_missing for c in facts.round.collectors)):
            yield f"fails without a reason: {lines[0]}"
        return
    ranks = collections.Counter((row["rank"], row["launches"], row["duration_ns"], row["ended"])
                                for row in json.loads(done.stdout)["ranks"])
    if facts.is_corrupt or facts.may_lose:
        return
    for collector in facts.round.collectors:
        if not collector.is_missing and not ranks[collector.rank, collector.profile.launches,
                                                  collector.recorded[1], True]:
            yield f"lacks collector {collector.number}"


def check_hostile(facts):
    """Commands that read a hostile server fail with one line."""
    round = facts.round
    for kind in round.answers[:1]:
        for _ in range(2):
            proxy = fleet_round.FaultProxy(round.directory, round.server.path, False, round.number)
            proxy.answer = kind
            output = round.directory / "of-hostile"
            for name, done in (("merge", round.merge(output, proxy.url())), ("stats", round.stats(proxy.url()))):
                lines = lines_of(done.stderr)
                if done.returncode != 1 or len(lines) != 1 or not is_clean(lines[0]) or output.exists():
                    yield (f"{name} of a hostile server ({kind}): exit code {done.returncode}: "
                           f"{done.stderr.strip()[:300]}")
            proxy.close()


def check_left_over(round):
    """No process of the round, no socket and no temporary file is left."""
    mark = f"FLEET_FAULTS_ROUND={round.mark}".encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                yield f"process {process.name} is left: {(process / 'cmdline').read_bytes()[:200]!r}"
        except OSError:
            continue
    if left := os.listdir(round.scratch):
        yield f"temporary files are left: {left}"
    sockets = [line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
               if str(round.directory) in line and not line.endswith(("redis.sock",)) and "/proxy" not in line]
    if sockets:
        yield f"sockets are left: {sockets}"
    for name in os.listdir("/dev/shm"):
        try:
            if str(round.directory).encode() in (pathlib.Path("/dev/shm") / name).read_bytes():
                yield f"/dev/shm/{name} is left"
        except OSError:
            continue


class Totals:
    """Counts over all rounds."""

    def __init__(self):
        self.reasons = collections.Counter()
        self.complete = self.partial = self.failed = self.mixed = self.bound_misses = 0

    def too_many_misses(self):
        """Whether a bound that holds with 95 % misses so often with less than one chance in a million."""
        n, p = self.complete, 0.05
        tail = sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k) for k in range(self.bound_misses, n + 1))
        return self.bound_misses > 0 and tail < 1e-6


def check(round, totals):
    """Returns all breaches of a round that was played, and counts in `totals`."""
    facts = Facts(round)
    breaches = list(round.problems)
    for collector in round.collectors:
        breaches += [f"collector {collector.number}: {breach}" for breach in check_collector(collector, facts)]
    breaches += [f"stats --fleet: {breach}" for breach in check_job_stats(round.stats(), facts)]
    output = round.directory / "merged"
    breaches += [f"merge --fleet: {breach}" for breach in check_merge(round.merge(output), output, facts, totals)]
    breaches += check_hostile(facts)
    if all(not c.is_killed or not c.is_live for c in round.collectors):
        breaches += check_left_over(round)
    return breaches
