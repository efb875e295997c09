# SPDX-License-Identifier: Apache-2.0
"""What tests of jobs on several hosts share: a server with a password, programs under `stemtap run`, the check of a
merged job, and the commands and files that the guide shows."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import hosts
import support

PLAY = support.BUILD / "lib" / "fake_gpu" / "stemtap_play"
GUIDE = support.SOURCE / "docs" / "guide" / "fleet.md"
PASSWORD = "secret"
PORT = 16379


def require():
    """Skips the tests of a script if this machine or this build lacks what all of them need."""
    for program in ("redis-server", "ip", "nsenter", "ss"):
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"requires {program}")
    if not PLAY.exists() or not (support.BUILD / "lib" / "libstemtap_inject.so").exists():
        raise unittest.SkipTest("this build has no simulated GPU, which needs CUPTI headers")
    hosts.require()


def generate(path, launches, seed):
    done = support.run([support.STEMTAP, "generate", "llm-decode", "--launches", launches, "--seed", seed, "-o", path])
    assert done.returncode == 0, done.stderr


def environment(**variables):
    """Returns the environment of a program on the simulated GPU, without the variables of launchers."""
    removed = ("STEMTAP_FLEET", "STEMTAP_JOB", "RANK", "WORLD_SIZE", "CUDA_INJECTION64_PATH", "LD_PRELOAD")
    return {**{name: value for name, value in os.environ.items()
               if name not in removed and not name.startswith(("SLURM_", "OMPI_", "PMI_", "JOB_"))},
            "LD_LIBRARY_PATH": str(PLAY.parent), "FAKE_GPU_CLOCK": "real",
            "PATH": f"{support.STEMTAP.parent}:{os.environ['PATH']}", **variables}


class Truth:
    """What stemtap_play prints when it ends: launches, their time, and how long the program ran."""

    def __init__(self, line):
        words = line.split()
        values = dict(zip(words[::2], words[1::2]))
        self.launches, self.duration_ns = int(values["launches"]), int(values["duration_ns"])
        self.seconds = float(values["wall_ms"]) / 1000


class Run:
    """A program of a host that launches the kernels of a profile, under `stemtap run` in a job."""

    def __init__(self, test, host, rank, url, profile, rate, job="train-7"):
        self.rank, self.host, self.rate = rank, host, rate
        self.output = test.directory / f"run-{rank}"
        self.process = host.start(
            support.STEMTAP, "run", "-q", "--level", "gate", "-o", self.output, "--job", job, "--rank", rank, "--",
            PLAY, profile, "--rate", rate, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment(STEMTAP_FLEET=url))
        test.addCleanup(self.end)

    def finish(self, seconds=60):
        out, self.stderr = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, self.stderr
        self.truth = Truth(out)

    def end(self):
        self.process.kill()
        self.process.communicate()


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="fleet"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(hosts.end_all)

    def start(self, host, *words):
        """Starts a program on a host that runs until the test ends."""
        process = host.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def server(self, host):
        """Starts a server of jobs on a host, reachable at all of its addresses. Returns its URL."""
        self.start(host, "redis-server", "--port", PORT, "--bind", "*", "-::*", "--requirepass", PASSWORD, "--save", "",
                   "--dir", self.directory)
        support.wait_for(lambda: host.listens(PORT))
        return f"redis://:{PASSWORD}@{host.address}:{PORT}"

    def redis(self, host, *words):
        return host.call("redis-cli", "-p", PORT, "-a", PASSWORD, "--no-auth-warning", *words).strip()

    def joined(self, host, job="train-7"):
        """Returns the number of runs that are in a job and have not ended."""
        return int(self.redis(host, "ZCARD", "stemtap:{%s}:progress" % job))

    def stemtap(self, host, *words):
        """Runs stemtap on a host. Returns what it prints to stdout and to stderr."""
        done = host.run(support.STEMTAP, *words, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def ranks(self, host, url, job="train-7"):
        """Returns the ranks of a job with the name of their host and the number of their launches."""
        out, _ = self.stemtap(host, "stats", "--fleet", url, "--job", job, "--json")
        return {rank["rank"]: (rank["host"], rank["launches"]) for rank in json.loads(out)["ranks"]}

    def merge(self, host, url, truths, missing=(), unsure=(), job="train-7"):
        """Merges a job of the runs with these truths by rank, and checks that each one is counted exactly once, except
        that `missing` are named with their launches. Runs in `unsure` are counted or named: they got no reply. Returns
        the merged plan."""
        merged = self.directory / f"merged-{job}"
        out, err = self.stemtap(host, "merge", "--fleet", url, "--job", job, "-o", merged, "-q", "--json")
        named = re.findall(r"^stemtap: warning: rank (\d+) on (\S+): its session is not in the job: \d+ launches are "
                           "missing", err, re.M)
        missing = sorted({*missing, *(int(rank) for rank, _ in named if int(rank) in unsure)})
        self.assertEqual(err.count("\n"), len(missing), err)
        self.assertEqual(sorted(int(rank) for rank, _ in named), sorted(missing), err)
        self.check_totals(json.loads(out), [truth for rank, truth in truths.items() if rank not in missing])
        return json.loads((merged / "plan.json").read_text())

    def check_totals(self, totals, truths):
        self.assertEqual(totals["invocations"], sum(truth.launches for truth in truths))
        self.assertEqual(totals["duration_ns"], sum(truth.duration_ns for truth in truths))


def blocks(title, guide=GUIDE):
    """Returns the blocks of a section of a guide and of the sections below it, as (language, text)."""
    found, level, language, lines = [], None, None, []
    for line in guide.read_text().splitlines(keepends=True):
        if line.startswith("```"):
            if level and language:
                found.append((language, "".join(lines)))
            language, lines = None if language else line[3:].strip(), []
        elif language:
            lines.append(line)
        elif level and re.match(rf"#{{1,{level}}} ", line):
            break
        elif re.match(rf"#+ {re.escape(title)}$", line):
            level = line.index(" ")
    assert found, f"{guide}: no section {title} with blocks"
    return found


def write_files(title, directory):
    """Writes the files that a section of the guide shows. Their first line is a comment with their name. Returns the
    paths."""
    written = {}
    for _, text in blocks(title):
        name = re.match(r"(?:#!.*\n)?[#;] (\S+\.(?:conf|yaml|sh))\n", text)
        if name:
            written[name[1]] = directory / name[1]
            written[name[1]].write_text(text)
    return written


def commands(title, guide=GUIDE):
    """Returns the command lines of a section of a guide, block by block."""
    found = []
    for language, text in blocks(title, guide):
        if language == "sh" and not text.startswith("#!"):
            lines = re.sub(r"\\\n\s*", "", text).splitlines()
            found.append([line for line in lines if line and not line.startswith("#")])
    return found
