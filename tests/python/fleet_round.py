# SPDX-License-Identifier: Apache-2.0
"""One round of the fault test of --fleet: a job of replays and live runs on a real Redis server, and faults."""

import collections
import csv
import dataclasses
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import support
from fault_proxy import ANSWERS, CONNECTION_FAULTS, FaultProxy
from redis_server import Client, RedisError, Server

PLAY = support.BUILD / "lib" / "fake_gpu" / "stemtap_play"
INJECTOR = support.BUILD / "lib" / "libstemtap_inject.so"

# Kinds of faults, by what they affect.
COLLECTOR_FAULTS = ("killed", "paused")
PROXY_FAULTS = (*CONNECTION_FAULTS, "refused", *ANSWERS)
SERVER_FAULTS = ("restarted_empty", "restarted_persistent", "restarted_old", "away", "server_paused", "out_of_memory",
                 "flushed", "password_changed", "wrong_type", "bits_flipped", "values_truncated", "values_swapped",
                 "evicted")
START_FAULTS = ("password_wrong", "name_reused")
KINDS = (*COLLECTOR_FAULTS, *PROXY_FAULTS, *SERVER_FAULTS, *START_FAULTS)

# After these, the server may lack what collectors have stored, or have something else.
LOSING = {"restarted_empty", "restarted_old", "flushed", "evicted"}
CORRUPTING = {"wrong_type", "bits_flipped", "values_truncated", "values_swapped", "evicted"}
# These do not disturb a collector that is not their victim.
OF_VICTIMS = {*COLLECTOR_FAULTS, *PROXY_FAULTS, *START_FAULTS}
# Faults that need no collector: they may also come after the job has ended, before it is merged.
AT_REST = ("restarted_empty", "restarted_persistent", "restarted_old", "flushed", "wrong_type", "bits_flipped",
           "values_truncated", "values_swapped", "evicted")

LEASE_S = 5.0  # fleet::Job::kLease
# A collector that gathers with others waits 10 s, one that keeps pace with slow ones 60 s in all.
LIMIT_S = 100
# Parts of the collectors that are live runs, on average. Sessions of replays and of live runs have different options,
# so the merge of a job with both is refused.
LIVE_SHARES = (0, 0, 0, 0.4, 1, 1)
FED_LAUNCHES = 60_000
PASSWORD = "open-sesame"
WORKLOADS = ("llm-decode", "llm-serve", "phases")

# Runs the program of a live run, and notes its status and times.
WRAPPER = 'date +%s.%N >"$1.begin"; own=$2; note=$1; shift 2; "$@"; code=$?; date +%s.%N >"$note.end"; ' \
          'echo $code >"$note.part"; mv "$note.part" "$note"; [ $code = 0 ] && exit $own; exit $code'


@dataclasses.dataclass
class Profile:
    """A recorded run and its launches, as the canonical CSV has them."""
    path: pathlib.Path
    rows: list  # (name, duration_ns)

    def __post_init__(self):
        self.kernels = collections.defaultdict(lambda: (0, 0))
        for name, duration in self.rows:
            launches, total = self.kernels[name]
            self.kernels[name] = (launches + 1, total + duration)
        self.kernels = dict(self.kernels)
        self.launches = len(self.rows)
        self.duration_ns = sum(duration for _, duration in self.rows)


class Profiles:
    """Generates profiles once."""

    def __init__(self, directory):
        self.directory = directory
        self.known = {}
        self.lock = threading.Lock()

    def get(self, workload, launches, seed):
        with self.lock:
            key = (workload, launches, seed)
            if key not in self.known:
                path = self.directory / f"{workload}-{launches}-{seed}.stemtap"
                table = path.with_suffix(".csv")
                for words in (("generate", workload, "--launches", launches, "--seed", seed, "-o", path),
                              ("convert", path, "-o", table)):
                    done = support.run([support.STEMTAP, *words])
                    if done.returncode != 0:
                        raise RuntimeError(done.stderr)
                with table.open() as lines:
                    rows = [(row["name"], int(row["duration_ns"])) for row in csv.DictReader(lines)]
                table.unlink()
                self.known[key] = Profile(path, rows)
            return self.known[key]


class Collector:
    """A replay or a live run of the job. `fed`: its launches come through a pipe while the round goes on."""

    def __init__(self, number, rng, workload, live_share):
        self.number = self.rank = number
        self.is_live = rng.random() < live_share
        self.is_fed = not self.is_live and rng.random() < 0.75
        launches = rng.choice((2000, 8000, 20_000)) if self.is_live else rng.choice((5000, 20_000, 60_000, 120_000))
        self.profile_key = (workload, launches, rng.randint(1, 6))
        self.own_status = rng.choice((0, 0, 7))
        self.seconds = rng.uniform(2.0, 4.0)  # of the program of a live run
        self.keeps_pace = rng.random() < 0.5
        self.slows = False  # captures slow launches of the live run, so their durations are imputed
        self.sampling_seed = rng.randint(1, 10 ** 6)
        self.through = ""  # how it reaches the server: "tcp" or "unix" by a proxy
        self.proxy = None
        self.faults = set()  # of which it is the victim
        self.wrong_password = False
        self.process = None
        self.is_killed = False
        self.is_earlier = False  # of an earlier job with the name
        self.took = None
        self.memory_kb = 0

    def __str__(self):
        kind = "live" if self.is_live else "fed replay" if self.is_fed else "replay"
        return f"{self.number}: {kind} of {self.profile_key[0]} {self.profile_key[1]} seed {self.profile_key[2]}" + (
            f", exits with {self.own_status}" if self.is_live and self.own_status else "") + (
            ", slow captures" if self.slows else "") + (
            ", keeps pace" if self.keeps_pace and not self.is_live else "")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def start(self, scratch, profile, url, job, runs, environment):
        self.profile = profile
        # Of its session: kernels as in Profile, and the time. None if durations are imputed and not known yet.
        self.recorded = None if self.slows else (profile.kernels, profile.duration_ns)
        self.output = scratch / f"d{self.number}"
        self.note = scratch / f"status{self.number}"
        self.truth = scratch / f"truth{self.number}"
        self.log = {name: (scratch / f"{name}{self.number}").open("w+b") for name in ("out", "err")}
        common = ["--job", job, "--rank", self.rank, "--seed", self.sampling_seed, "-q", "-o", self.output]
        environment = dict(environment, STEMTAP_FLEET=url)
        if self.is_live:
            actuator = ["--actuator", "profiler"] if self.slows else []
            words = ["run", *common, "--level", "gate", *actuator, "--fleet", url, "--", "sh", "-c", WRAPPER, "sh",
                     self.note, self.own_status, PLAY, profile.path, "--rate", profile.launches / self.seconds]
            environment.update(FAKE_GPU_CLOCK="real", FAKE_GPU_TRUTH=str(self.truth),
                               LD_LIBRARY_PATH=str(PLAY.parent))
            if self.slows:
                environment.update(FAKE_GPU_CAPTURE_FACTOR="100", FAKE_GPU_CAPTURE_SLOWS_RECORDS="1")
        else:
            words = ["replay", "-" if self.is_fed else profile.path, *common, "--json", "--fleet", url, "--threads", 1]
            if self.is_fed:
                words += ["--lag", 500]
            if self.keeps_pace:
                environment["WORLD_SIZE"] = str(runs)
        self.process = subprocess.Popen(
            [str(word) for word in (support.STEMTAP, *words)], stdout=self.log["out"], stderr=self.log["err"],
            stdin=subprocess.PIPE if self.is_fed else subprocess.DEVNULL, env=environment, start_new_session=True)
        self.started = time.monotonic()

    def feed(self, content):
        try:
            self.process.stdin.write(content)
            self.process.stdin.flush()
        except OSError:  # it has ended
            pass

    def end_of_input(self):
        if self.is_fed:
            try:
                self.process.stdin.close()
            except OSError:
                pass

    def wait(self, seconds):
        """Waits for the end of the collector. Returns False if it does not end in time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def text(self, name):
        self.log[name].seek(0)
        return self.log[name].read().decode(errors="replace")

    @property
    def code(self):
        return self.process.returncode


@dataclasses.dataclass
class Fault:
    kind: str
    at: float  # part of the time in which launches are fed; 1: after the end of the job
    seconds: float  # how long it lasts; infinite: until all collectors have ended
    victim: object = None
    direction: str = "up"
    seed: int = 0
    effect: str = ""  # what it has done; empty: nothing
    begun: threading.Event = dataclasses.field(default_factory=threading.Event)

    def __str__(self):
        return self.kind + (f" ({self.direction})" if self.kind in CONNECTION_FAULTS else "") + (
            f" of {self.victim.number}" if self.victim else "") + (
            " after the end" if self.at >= 1 else f" at {self.at:.2f} for {self.seconds:.1f} s")


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


class Round:
    """Draws a round from a seed and its number, and plays it. After play(), it has what the checks need."""

    def __init__(self, seed, number, kinds, profiles, root, can_be_live=True):
        self.seed, self.number, self.profiles = seed, number, profiles
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"round{number}-", dir=root))
        self.mark = f"{os.getpid()}-{seed}-{number}-{random.randrange(10 ** 9)}"
        self.job = f"job-{number}"
        self.problems = []  # breaches that play() sees
        rng = self.rng = random.Random(f"{seed}/{number}")
        workload = rng.choice(WORKLOADS)
        live_share = rng.choice(LIVE_SHARES) * can_be_live
        self.collectors = [Collector(i, rng, workload, live_share) for i in range(rng.randint(2, 6))]
        # Sessions with and without imputed durations cannot be merged.
        if live_share == 1 and random.Random(f"{seed}/{number}/slows").random() < 0.5:
            for collector in self.collectors:
                collector.slows = True
        self.feed_s = rng.uniform(1.5, 4.0)
        self.has_password = rng.random() < 0.3 or bool({"password_wrong", "password_changed"} & set(kinds))
        self.password = PASSWORD if self.has_password else None
        self.faults = [self._draw(kind) for kind in kinds]
        of_server = [fault for fault in self.faults if fault.kind in SERVER_FAULTS and fault.at < 1]
        for fault in of_server[1:] and of_server:
            fault.seconds = min(fault.seconds, 2.0)  # they take turns
        if not any(c.is_fed or c.is_live for c in self.collectors):
            self.collectors[0].is_fed = True
        for collector in self.collectors:
            if collector.is_fed:  # a fifth of its launches suffices to enter the job
                name, launches, profile_seed = collector.profile_key
                collector.profile_key = (name, max(launches, FED_LAUNCHES), profile_seed)
            through_proxy = collector.faults & set(PROXY_FAULTS) or self.has_password or rng.random() < 0.2
            collector.through = ("tcp" if self.has_password or rng.random() < 0.4 else "unix") if through_proxy else ""
        self.earlier = []  # collectors of an earlier job with the name
        self.server_lock = threading.Lock()
        self.is_over = threading.Event()  # all collectors have ended

    def _draw(self, kind):
        rng = self.rng
        fault = Fault(kind, rng.uniform(0.05, 0.7), rng.choice((0.3, 1.0, 2.5, 6.0, float("inf"))),
                      direction=rng.choice(("up", "down")), seed=rng.randrange(10 ** 9))
        if kind in AT_REST and rng.random() < 0.4:
            fault.at = 1
        if kind == "paused":
            fault.seconds = rng.uniform(LEASE_S + 0.3, LEASE_S + 2.5)
        elif kind == "server_paused":
            fault.seconds = rng.choice((0.5, 2.0, LEASE_S + 1))
        elif kind in ("restarted_empty", "restarted_persistent", "restarted_old"):
            fault.seconds = rng.choice((0.0, 0.3, 1.0, 2.0))
        elif kind == "away":
            fault.seconds = rng.choice((4.0, float("inf")))
        elif kind in PROXY_FAULTS and rng.random() < 0.15:
            fault.at = 0
        if kind in COLLECTOR_FAULTS or kind in PROXY_FAULTS or kind == "password_wrong":
            # Victims that others do not have, if there are any.
            free = [c for c in self.collectors if not c.faults] or self.collectors
            fault.victim = rng.choice(free)
            fault.victim.faults.add(kind)
            if kind == "password_wrong":
                fault.victim.wrong_password = True
            elif not fault.victim.is_live:
                fault.victim.is_fed = True
        return fault

    def describe(self):
        return [f"collector {c}" + (f", through {c.through}" if c.through else "") for c in self.collectors] + [
            f"fault {fault}" for fault in self.faults]

    # The server.

    def client(self):
        return Client(self.server.path, self.current_password)

    def set_password(self, password):
        with self.client() as client:
            client.call("CONFIG", "SET", "requirepass", password or "")
        self.current_password = password

    def start_server(self, options=()):
        self.server.options = (*options, *(("--requirepass", self.password) if self.password else ()))
        self.server.start()
        self.current_password = self.password

    def keys(self, client):
        return sorted(client.call("KEYS", "stemtap:{%s}:*" % self.job))

    def any_alive(self):
        return any(c.alive() for c in self.collectors)

    def joined(self):
        with self.client() as client:
            return client.call("HLEN", "stemtap:{%s}:runs" % self.job)

    # The round.

    def play(self):
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("STEMTAP_") and name != "WORLD_SIZE"}
        self.scratch = self.directory / "tmp"
        self.scratch.mkdir()
        self.environment.update(FLEET_FAULTS_ROUND=self.mark, TMPDIR=str(self.scratch))
        self.server = Server(self.directory, *(("--requirepass", self.password) if self.password else ()))
        self.current_password = self.password
        for collector in self.collectors:
            collector.content = b""
            if collector.through:
                collector.proxy = FaultProxy(self.directory, self.server.path, collector.through == "tcp",
                                             collector.sampling_seed)
        if any(fault.kind == "name_reused" for fault in self.faults):
            self.play_earlier()
        for fault in self.faults:
            if fault.kind in PROXY_FAULTS and fault.at == 0:
                self.begin_on_proxy(fault)
        for collector in self.collectors:
            self.start(collector)
        threading.Thread(target=self.watch_memory, daemon=True).start()
        feeders = [threading.Thread(target=self.feed, args=(c,)) for c in self.collectors if c.is_fed]
        self.may_feed = threading.Event()
        self.may_end = threading.Event()
        for feeder in feeders:
            feeder.start()
        self.wait_for_joins()
        self.may_feed.set()
        faults = [threading.Thread(target=self.run_fault, args=(fault,)) for fault in self.faults
                  if fault.at < 1 and fault.kind not in START_FAULTS]
        for fault in faults:
            fault.start()
        limit = time.monotonic() + self.feed_s + 12
        for fault in self.faults:
            if fault.at < 1 and fault.kind not in START_FAULTS:
                fault.begun.wait(max(limit - time.monotonic(), 0.01))
        self.may_end.set()
        limit = time.monotonic() + LIMIT_S
        for collector in self.collectors:
            if not collector.wait(max(limit - time.monotonic(), 0.1)):
                self.problems.append(f"collector {collector.number} has not ended after {LIMIT_S} s")
                collector.process.kill()
            collector.took = time.monotonic() - collector.started
        self.is_over.set()
        self.collectors += self.earlier
        for thread in feeders + faults:
            thread.join()
        self.wait_for_programs()
        if self.password != self.current_password:
            self.set_password(self.password)
        for fault in self.faults:
            if fault.kind == "password_wrong" and "the server refuses the password" in fault.victim.text("err"):
                fault.effect = "refused"
            if fault.at >= 1:
                self.run_server_fault(fault)
        self.answers = [fault.kind for fault in self.faults if fault.kind in ANSWERS]
        for collector in self.collectors:
            if collector.proxy:
                collector.proxy.heal()

    def start(self, collector):
        password = "xyzzy" if collector.wrong_password else self.password
        url = collector.proxy.url(password) if collector.proxy else self.server.url
        collector.start(self.directory, self.profiles.get(*collector.profile_key), url, self.job, len(self.collectors),
                        self.environment)

    def play_earlier(self):
        """Plays another job with the same name to its end."""
        earlier = []
        for number in range(2):
            collector = Collector(100 + number, self.rng, "llm-decode", 0)
            collector.is_fed = collector.keeps_pace = False
            collector.is_earlier = True
            collector.rank = number
            collector.content = b""
            if self.has_password:
                collector.through = "tcp"
                collector.proxy = FaultProxy(self.directory, self.server.path, True, 1)
            self.start(collector)
            earlier.append(collector)
        for collector in earlier:
            if not collector.wait(LIMIT_S):
                self.problems.append("the earlier job does not end")
                collector.process.kill()
        done = self.merge(self.directory / "earlier")
        self.problems += [f"merge of the earlier job: exit code {done.returncode}: {done.stderr.strip()}"
                          ] * (done.returncode != 0)
        next(f for f in self.faults if f.kind == "name_reused").effect = "ended"
        self.earlier = earlier

    def wait_for_joins(self):
        """Waits until the collectors have entered the job, as far as they can."""
        handicapped = sum(c.wrong_password or (c.proxy is not None and bool(
            c.proxy.answer or c.proxy.refuses or any(c.proxy.faults.values()))) for c in self.collectors)
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            entered = self.joined() + handicapped
            if entered >= len(self.collectors):
                break
            time.sleep(0.02)

    def feed(self, collector):
        content = collector.profile.path.read_bytes()
        parts = 20
        for part in range(parts):
            if part == 4:
                self.may_feed.wait()
            if part == parts - 3:
                self.may_end.wait()  # the faults find it at work
            collector.feed(content[part * len(content) // parts:(part + 1) * len(content) // parts])
            if part >= 4 and not self.may_end.is_set():
                time.sleep(self.feed_s / parts)
        collector.end_of_input()

    def watch_memory(self):
        while not self.is_over.wait(0.1):
            for collector in self.collectors:
                try:
                    status = pathlib.Path(f"/proc/{collector.process.pid}/status").read_text()
                except OSError:
                    continue
                for line in status.splitlines():
                    if line.startswith("VmHWM:"):
                        collector.memory_kb = max(collector.memory_kb, int(line.split()[1]))

    def wait_for_programs(self):
        """Waits for programs whose collector was killed."""
        for collector in self.collectors:
            if collector.is_live and (collector.note.with_suffix(".begin").exists() or not collector.is_killed):
                try:
                    support.wait_for(collector.note.exists, collector.seconds + 30)
                except AssertionError:
                    self.problems.append(f"the program of collector {collector.number} has not ended")

    # The faults.

    def run_fault(self, fault):
        if fault.at > 0:
            time.sleep(fault.at * self.feed_s)
        try:
            if fault.kind == "killed":
                self.kill(fault)
            elif fault.kind == "paused":
                self.pause(fault)
            elif fault.kind in PROXY_FAULTS:
                self.run_proxy_fault(fault)
            else:
                with self.server_lock:
                    self.run_server_fault(fault)
        finally:
            fault.begun.set()

    def last(self, fault):
        """Waits until the fault is over. Collectors may end meanwhile."""
        fault.begun.set()
        self.is_over.wait(None if fault.seconds == float("inf") else fault.seconds)

    def kill(self, fault):
        victim = fault.victim
        if victim.alive():
            victim.is_killed = True
            victim.process.send_signal(signal.SIGKILL)
            victim.process.wait()
            if victim.code == -signal.SIGKILL:
                fault.effect = "killed"
            else:
                victim.is_killed = False

    def pause(self, fault):
        process = fault.victim.process
        if not fault.victim.alive():
            return
        process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        was_stopped = False
        fault.begun.set()
        while time.monotonic() < begin + fault.seconds and fault.victim.alive():
            was_stopped = was_stopped or state_of(process.pid) == "T"
            time.sleep(0.05)
        if fault.victim.alive():
            process.send_signal(signal.SIGCONT)
            if was_stopped and time.monotonic() - begin > LEASE_S:
                fault.effect = "paused"

    def begin_on_proxy(self, fault):
        proxy = fault.victim.proxy
        if fault.kind == "refused":
            proxy.refuses = True
            proxy.cut_all()
        elif fault.kind in ANSWERS:
            proxy.answer = fault.kind
        else:
            proxy.faults[fault.direction] = fault.kind

    def run_proxy_fault(self, fault):
        proxy = fault.victim.proxy
        self.begin_on_proxy(fault)
        begin = time.monotonic()
        while proxy.hits[fault.kind] == 0 and fault.victim.alive() and time.monotonic() < begin + 10:
            time.sleep(0.02)
        self.last(fault)
        if proxy.hits[fault.kind]:
            fault.effect = f"{proxy.hits[fault.kind]} times"
        if fault.kind == "refused":
            proxy.refuses = False
        elif fault.kind in ANSWERS:
            proxy.answer = None
            proxy.cut_all()
        else:
            proxy.faults[fault.direction] = None

    def run_server_fault(self, fault):
        rng = random.Random(fault.seed)
        if not self.any_alive() and fault.at < 1:
            return
        getattr(self, "fault_" + fault.kind)(fault, rng)

    def restart(self, fault, options=()):
        self.server.kill()
        if fault.seconds:
            self.last(fault)
        self.start_server(options)
        fault.effect = "restarted"

    def fault_restarted_empty(self, fault, rng):
        del rng
        for name in ("dump.rdb", "appendonlydir"):
            path = self.server.directory / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        self.restart(fault)

    def fault_restarted_persistent(self, fault, rng):
        del rng
        with self.client() as client:
            client.call("CONFIG", "SET", "appendonly", "yes")
            client.call("CONFIG", "SET", "appendfsync", "always")
            support.wait_for(lambda: b"aof_rewrite_in_progress:0" in (info := client.call("INFO", "persistence")) and
                     b"aof_rewrite_scheduled:0" in info)
        self.restart(fault, ("--appendonly", "yes", "--appendfsync", "always"))

    def fault_restarted_old(self, fault, rng):
        with self.client() as client:
            client.call("SAVE")
        time.sleep(rng.uniform(0.1, 1.0))
        shutil.rmtree(self.server.directory / "appendonlydir", ignore_errors=True)
        self.restart(fault)

    def fault_away(self, fault, rng):
        del rng
        with self.client() as client:
            client.call("SAVE")
        self.restart(fault)

    def fault_server_paused(self, fault, rng):
        del rng
        self.server.process.send_signal(signal.SIGSTOP)
        support.wait_for(lambda: state_of(self.server.process.pid) == "T")
        self.last(fault)
        fault.effect = "paused"
        self.server.process.send_signal(signal.SIGCONT)

    def errors(self, client, name):
        """The number of errors of this name that the server has returned."""
        for line in client.call("INFO", "errorstats").decode().splitlines():
            if line.startswith(f"errorstat_{name}:count="):
                return int(line.partition("=")[2])
        return 0

    def until_error(self, client, name):
        """Waits until the server returns an error to a collector, or all have ended."""
        before = self.errors(client, name)
        limit = time.monotonic() + 10
        while self.errors(client, name) == before and self.any_alive() and time.monotonic() < limit:
            time.sleep(0.05)
        return before

    def fault_out_of_memory(self, fault, rng):
        del rng
        with self.client() as client:
            client.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
            client.call("CONFIG", "SET", "maxmemory", "1")
            before = self.until_error(client, "OOM")
            self.last(fault)
            count = self.errors(client, "OOM") - before
            client.call("CONFIG", "SET", "maxmemory", "0")
        if count:
            fault.effect = f"{count} times"

    def fault_password_changed(self, fault, rng):
        del rng
        self.set_password("changed")
        with self.client() as client:
            client.call("CLIENT", "KILL", "TYPE", "normal")
            before = self.until_error(client, "WRONGPASS")
            self.last(fault)
            count = self.errors(client, "WRONGPASS") - before
        if count:
            fault.effect = f"{count} times"
        self.set_password(self.password)

    def fault_flushed(self, fault, rng):
        del rng
        with self.client() as client:
            if client.call("DBSIZE"):
                client.call("FLUSHALL")
                fault.effect = "flushed"

    def fault_evicted(self, fault, rng):
        with self.client() as client:
            keys = self.keys(client)
            for key in rng.sample(keys, min(len(keys), rng.choice((1, 1, 3)))):
                if client.call("DEL", key):
                    fault.effect += f" {key.decode().rpartition('}:')[2]}"

    def fault_wrong_type(self, fault, rng):
        with self.client() as client:
            keys = self.keys(client)
            if not keys:
                return
            key = rng.choice(keys)
            is_hash = client.call("TYPE", key) == b"hash"
            client.call("DEL", key)
            client.call(*(("SET", key, "x") if is_hash else ("HSET", key, "x", "y")))
            fault.effect = key.decode().rpartition("}:")[2]

    def values(self, client):
        """Yields the places of all values of the job: (key, field), field None for a string."""
        for key in self.keys(client):
            kind = client.call("TYPE", key)
            if kind == b"hash":
                for field in sorted(client.call("HKEYS", key)):
                    yield key, field
            elif kind == b"string":
                yield key, None

    def read(self, client, place):
        return client.call("GET", place[0]) if place[1] is None else client.call("HGET", *place)

    def write(self, client, place, value):
        client.call(*(("SET", place[0], value, "KEEPTTL") if place[1] is None else ("HSET", *place, value)))

    def garble(self, fault, rng, change):
        with self.client() as client:
            places = list(self.values(client))
            by_key = collections.defaultdict(list)
            for place in places:
                by_key[place[0]].append(place)
            for _ in range(rng.choice((1, 1, 1, 5))):
                if not by_key:
                    return
                place = rng.choice(by_key[rng.choice(sorted(by_key))])
                value = self.read(client, place)
                if value:
                    change(client, place, value, by_key)
                    fault.effect += f" {place[0].decode().rpartition('}:')[2]}"

    def fault_bits_flipped(self, fault, rng):
        def change(client, place, value, by_key):
            del by_key
            changed = bytearray(value)
            for _ in range(rng.choice((1, 1, 3))):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            self.write(client, place, bytes(changed))

        self.garble(fault, rng, change)

    def fault_values_truncated(self, fault, rng):
        self.garble(fault, rng,
                    lambda client, place, value, _: self.write(client, place, value[:rng.randrange(len(value))]))

    def fault_values_swapped(self, fault, rng):
        def change(client, place, value, by_key):
            key = place[0] if rng.random() < 0.7 else rng.choice(sorted(by_key))
            other = rng.choice(by_key[key])
            self.write(client, place, self.read(client, other) or b"")
            self.write(client, other, value)

        self.garble(fault, rng, change)

    # What follows the job.

    def run_stemtap(self, *words):
        return support.run([support.STEMTAP, *words], timeout=LIMIT_S, env=self.environment)

    def reader_url(self):
        """The URL of the server for commands that only read, and a proxy to close, if there is one."""
        if not self.password:
            return self.server.url
        if not hasattr(self, "reader"):
            self.reader = FaultProxy(self.directory, self.server.path, True, 1)
        return self.reader.url(self.password)

    def merge(self, output, url=None):
        return self.run_stemtap("merge", "--fleet", url or self.reader_url(), "--job", self.job, "-o", output, "-q",
                                "--json")

    def stats(self, url=None):
        return self.run_stemtap("stats", "--fleet", url or self.reader_url(), "--job", self.job, "--json")

    def shut_down(self):
        for collector in self.collectors:
            if collector.process is None:
                continue
            if collector.alive():
                collector.process.kill()
                collector.process.wait()
            collector.text_of_err = collector.text("err").strip()
            for log in collector.log.values():
                log.close()
            if collector.proxy:
                collector.proxy.close()
        if hasattr(self, "reader"):
            self.reader.close()
        if hasattr(self, "server") and self.server.process.poll() is None:
            self.server.kill()

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
