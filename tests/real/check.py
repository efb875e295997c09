# SPDX-License-Identifier: Apache-2.0
"""Runs a real program on the simulated GPU without and with stemtap, and compares what stemtap recorded with what the
simulated GPU ran."""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
import urllib.request

LEVELS = ('graph', 'kernels', 'gate')
TIMEOUT_S = 600
KERNELS_PER_BUFFER = 2500  # 512 KiB / 216 bytes
# Counters among the losses of a session that count no lost record.
NOT_LOST = ('captures_denied', 'captures_throttled', 'graph_launches', 'ranges_refused', 'names_cut')


@dataclasses.dataclass
class Outcome:
    """Outcome is what a program printed and how it ended, and what the simulated GPU ran meanwhile."""
    code: int
    out: str
    err: str
    seconds: float
    kernels: collections.Counter  # launches by name
    graph_launches: int
    graph_kernels: int
    unrecorded: int  # launches while CUPTI recorded none

    @property
    def launches(self):
        return sum(self.kernels.values())


def read_truth(directory):
    """Adds up the files that the simulated GPU wrote, one per process."""
    kernels, graph_launches, graph_kernels, unrecorded = collections.Counter(), 0, 0, 0
    for file in directory.glob('truth.*'):
        for line in file.read_text(encoding='utf-8').splitlines():
            if line.startswith('#'):
                fields = line.split()
                values = dict(zip(fields[1::2], fields[2::2]))
                graph_launches += int(values['graph_launches'])
                graph_kernels += int(values['graph_kernels'])
                unrecorded += int(values['unrecorded'])
            else:
                launches, _, name = line.split('\t')
                kernels[name] += int(launches)
    return kernels, graph_launches, graph_kernels, unrecorded


def environment_of(build, program):
    libraries = [*program.library_path, build / 'lib/fake_gpu']
    return dict(program.environment, LD_LIBRARY_PATH=':'.join(str(path) for path in libraries))


def shell_command(build, program):
    """Returns a command line that runs a program on the simulated GPU."""
    words = [f'{name}={value}' for name, value in environment_of(build, program).items()]
    return shlex.join(['env', *words, *(str(word) for word in program.command)])


def start(build, program, work, before=(), environment=None):
    """Starts a program on the simulated GPU; its files go to the directory `work`, which is emptied."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(('FAKE_', 'STEMTAP_', 'LD_'))}
    env.update(environment_of(build, program), FAKE_GPU_TRUTH=str(work / 'truth.%p'), **(environment or {}))
    command = [str(word) for word in (*before, *program.command)]
    return subprocess.Popen(command, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(process, work):
    begin = time.monotonic()
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        process.kill()
        out, err = process.communicate()
        err += f'\nended after {TIMEOUT_S} seconds'
    return Outcome(process.returncode, out, err, time.monotonic() - begin, *read_truth(work))


def run(build, program, work, before=(), environment=None):
    return finish(start(build, program, work, before, environment), work)


def read_session(directory):
    """Returns the launches by name and the counters of a session."""
    plan = json.loads((directory / 'plan.json').read_text(encoding='utf-8'))
    session = json.loads((directory / 'session.json').read_text(encoding='utf-8'))
    return collections.Counter({kernel['name']: kernel['invocations'] for kernel in plan['kernels']}), session


def differences(recorded, outcome, level):
    """Returns how the recorded launches differ from the launches of the simulated GPU, as lines of text."""
    if level != 'graph' or outcome.graph_launches == 0:
        names = sorted(set(recorded) | set(outcome.kernels))
        return [f'{name[:100]}: {recorded[name]} recorded, {outcome.kernels[name]} launched'
                for name in names if recorded[name] != outcome.kernels[name]]
    graphs = sum(count for name, count in recorded.items() if name.startswith('graph '))
    others = sum(recorded.values()) - graphs
    lines = []
    if graphs != outcome.graph_launches:
        lines.append(f'{graphs} graph launches recorded, {outcome.graph_launches} launched')
    if others != outcome.launches - outcome.graph_kernels:
        lines.append(f'{others} kernels recorded outside of graphs, '
                     f'{outcome.launches - outcome.graph_kernels} launched')
    return lines


def dropped(session):
    """Returns what a session lost, as lines of text."""
    return [f'{name}: {count}' for name, count in session['counters']['losses'].items()
            if count != 0 and name not in NOT_LOST]


def changes(bare, outcome):
    """Returns what stemtap changed about the program, as lines of text."""
    lines = []
    if outcome.code != bare.code:
        lines.append(f'exit code {outcome.code}, without stemtap {bare.code}: {outcome.err[-2000:]}')
    if outcome.out != bare.out:
        lines.append(f'printed {outcome.out[-300:]!r}, without stemtap {bare.out[-300:]!r}')
    return lines


def stemtap_run(build, level, session):
    return [build / 'bin/stemtap', 'run', '-q', '--level', level, '-o', session, '--']


def check_run(build, program, work, bare, level):
    """Runs a program under `stemtap run`. Returns a summary and the list of faults."""
    session = work.parent / f'{work.name}-session'
    shutil.rmtree(session, ignore_errors=True)
    outcome = run(build, program, work, stemtap_run(build, level, session))
    return judge(bare, outcome, level, [session])


def check_preload(build, program, work, bare):
    """Runs a program with only the library, which prints nothing."""
    sessions = work.parent / f'{work.name}-sessions'
    shutil.rmtree(sessions, ignore_errors=True)
    sessions.mkdir()
    outcome = run(build, program, work, environment={
        'LD_PRELOAD': str(build / 'lib/libstemtap_inject.so'),
        'STEMTAP_OPTIONS': f'-q -o {sessions}/session'})
    return judge(bare, outcome, 'kernels', sorted(sessions.iterdir()))


def judge(bare, outcome, level, sessions):
    faults = changes(bare, outcome)
    recorded = collections.Counter()
    for directory in sessions:
        if not (directory / 'plan.json').exists():
            faults.append(f'{directory.name} contains no plan.json: {outcome.err[-500:]}')
            continue
        kernels, session = read_session(directory)
        recorded += kernels
        faults += dropped(session)
    if not sessions:
        faults.append('no session was written')
    faults += differences(recorded, outcome, level)
    if outcome.launches == 0:
        faults.append('the program launched no kernels')
    text = f'{sum(recorded.values()):,} launches of {len(recorded)} kernels recorded'
    return f'{text}, {outcome.launches:,} launched, {outcome.seconds:.1f} s', faults


def range_launches(plan):
    """Returns the launches of a plan by range."""
    return collections.Counter({entry['range']: entry['invocations'] for entry in plan.get('ranges', [])})


# Windows that have ended before the memory is compared: about four rounds, if nothing else runs on the machine.
FIRST_WINDOWS = 14
SERVER_RANGES = {'', 'request/prefill', 'request/decode'}


def check_server(build, program, work):
    """Runs a server with prefill and decode ranges, windows, snapshots, pauses and metrics at once. Every launch is in
    a window, or was made while recording was off. Returns a summary and the list of faults."""
    session = work.parent / f'{work.name}-session'
    shutil.rmtree(session, ignore_errors=True)
    stemtap = build / 'bin/stemtap'
    process = start(build, program, work,
                    [stemtap, 'run', '-q', '-o', session, '--level', 'gate', '--ranges', '--bound', 'range', '--window',
                     '20000launches', '--keep', '10000', '--metrics-address', '127.0.0.1:0', '--'])
    faults, rounds, memory, scraped = [], 0, [], 0.0

    def control(*words):
        return subprocess.run([stemtap, *words], capture_output=True, text=True, check=False).returncode == 0

    deadline = time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(1)
        log = session / 'stemtap.log'
        address = re.search(r'metrics are at (http://\S+)', log.read_text(encoding='utf-8')) if log.exists() else None
        now = work.parent / f'{work.name}-now'
        if address is None or not control('snapshot', session, '-q', '-o', now, '--force'):
            continue
        plan = json.loads((now / 'plan.json').read_text(encoding='utf-8'))
        if not set(range_launches(plan)) <= SERVER_RANGES:
            faults.append(f'a snapshot has the ranges {sorted(range_launches(plan))}')
        # The first launches, before the first request, must not be while recording is off.
        if plan['totals']['invocations'] == 0 or not control('stop', session, '-q'):
            continue
        time.sleep(0.3)
        control('start', session, '-q')
        with contextlib.suppress(OSError, AttributeError):
            with urllib.request.urlopen(address[1], timeout=5) as answer:
                text = answer.read().decode()
            launches = float(re.search(r'^stemtap_launches_observed_total (\S+)$', text, re.M)[1])
            if launches < scraped:
                faults.append(f'the launches of the metrics decrease from {scraped} to {launches}')
            scraped = launches
            status = pathlib.Path(f'/proc/{process.pid}/status').read_text(encoding='utf-8')
            rounds += 1
            if len(list(session.glob('window-*'))) >= FIRST_WINDOWS:
                memory.append(int(re.search(r'VmRSS:\s+(\d+)', status)[1]))
    outcome = finish(process, work)
    if outcome.code != 0:
        return 'ended early', [*faults, f'exit code {outcome.code}: {outcome.err[-2000:]}']
    kept, windows, ranges = 0, 0, collections.Counter()
    for directory in [session, *sorted(session.glob('window-*'))]:
        plan = json.loads((directory / 'plan.json').read_text(encoding='utf-8'))
        counters = json.loads((directory / 'session.json').read_text(encoding='utf-8'))['counters']
        kept += counters['kept'] + counters['dropped']
        windows += 1
        ranges += range_launches(plan)
        if sum(range_launches(plan).values()) != plan['totals']['invocations']:
            faults.append(f'{directory.name}: the ranges do not add up to {plan["totals"]["invocations"]} launches')
    if kept + outcome.unrecorded != outcome.launches:
        faults.append(f'{kept} launches in windows and {outcome.unrecorded} while off; {outcome.launches} launched')
    if set(ranges) != SERVER_RANGES:
        faults.append(f'ranges are {sorted(ranges)}')
    if rounds < 5 or outcome.unrecorded == 0 or windows < 3:
        faults.append(f'only {rounds} rounds of commands, {windows} windows, {outcome.unrecorded} launches while off')
    if len(memory) < 5:
        faults.append(f'only {len(memory)} rounds after {FIRST_WINDOWS} windows, in which the memory is compared')
    first = memory[0] if memory else 0
    if max(memory, default=0) > first + 5 * 1024:
        faults.append(f'memory grew from {first} to {max(memory)} KiB: {memory}')
    summary = (f'{outcome.launches:,} launches, {outcome.unrecorded:,} while off, {windows} windows, {rounds} rounds; '
               f'prefill {ranges["request/prefill"]:,}, decode {ranges["request/decode"]:,}; '
               f'memory {first} to {max(memory, default=0)} KiB')
    return summary, [*faults, *whole_ranges(build, program, work)]


def whole_ranges(build, program, work):
    """Returns what is wrong with the launches by range of a run without pauses: every forward pass launches as many
    kernels as every other of its kind."""
    session = work.parent / f'{work.name}-whole'
    shutil.rmtree(session, ignore_errors=True)
    short = dataclasses.replace(program, command=[*program.command[:-1], '--requests=20'])
    outcome = run(build, short, work, [build / 'bin/stemtap', 'run', '-q', '-o', session, '--ranges', '--'])
    if outcome.code != 0:
        return [f'with --requests=20: exit code {outcome.code}: {outcome.err[-500:]}']
    counts = json.loads(outcome.out.splitlines()[-1])
    plan = json.loads((session / 'plan.json').read_text(encoding='utf-8'))
    ranges = range_launches(plan)
    decoded = counts['passes'] - counts['requests']
    faults = []
    if sum(ranges.values()) != outcome.launches:
        faults.append(f'at level kernels, {sum(ranges.values())} launches in ranges; {outcome.launches} launched')
    for name, passes in (('request/prefill', counts['requests']), ('request/decode', decoded)):
        if ranges[name] == 0 or ranges[name] % passes != 0:
            faults.append(f'{ranges[name]} launches in {name}, for {passes} equal forward passes')
    return faults


def read_trace(file):
    """Returns the launches by name in a trace of torch.profiler."""
    events = json.loads(file.read_text(encoding='utf-8'))['traceEvents']
    return collections.Counter(event['name'] for event in events if event.get('cat') == 'kernel')


def demangled(kernels):
    names = subprocess.run(['c++filt'], input='\n'.join(kernels), capture_output=True, text=True, check=True).stdout
    result = collections.Counter()
    for name, count in zip(names.splitlines(), kernels.values()):
        result[name] += count
    return result


def check_profiler(build, program, work, bare, level, part):
    """Runs a program that runs torch.profiler in a part of its time, under stemtap or (level None) alone.

    The clock is real, because the profiler leaves out kernels that run outside of its time.
    """
    session = work.parent / f'{work.name}-session'
    shutil.rmtree(session, ignore_errors=True)
    before = stemtap_run(build, level, session) if level else ()
    outcome = run(build, program, work, before, {'FAKE_GPU_CLOCK': 'real'})
    faults = changes(bare, outcome)
    trace = work / 'trace.json'
    if not trace.exists():
        return 'no trace', [*faults, f'torch.profiler wrote no trace: {outcome.err[-1000:]}']
    traced = read_trace(trace)
    text = f'{sum(traced.values()):,} launches traced, {outcome.launches:,} launched'
    # The profiler runs all the time: its trace has every kernel, also if stemtap lost CUPTI to it.
    if part == 'all' and traced != demangled(outcome.kernels):
        difference = (traced - demangled(outcome.kernels)) + (demangled(outcome.kernels) - traced)
        faults.append(f'the trace differs: {difference.most_common(3)}')
    if level is None:
        return text, faults
    kernels, details = read_session(session) if (session / 'plan.json').exists() else (collections.Counter(), None)
    recorded = sum(kernels.values())
    text += f', {recorded:,} recorded'
    if recorded + sum(traced.values()) > outcome.launches:
        faults.append('launches were recorded by both')
    gaps = details and details['counters']['losses']['gaps']
    remarks = ' '.join(process['reason'] for process in details['processes']) if details else outcome.err
    if not gaps and 'another' not in remarks:
        faults.append(f'the session does not report the other profiler: {remarks}')
    # Launches before and after the profile are recorded, except for those of two flush periods. The profile can lack the
    # launches of one buffer, which CUPTI had from stemtap.
    if part == 'middle' and recorded < outcome.launches / 2:
        faults.append(f'{recorded} launches recorded; expected at least half of {outcome.launches}')
    if part == 'middle' and sum(traced.values()) < outcome.launches / 3 - KERNELS_PER_BUFFER:
        faults.append(f'{sum(traced.values())} launches traced; expected about a third of {outcome.launches}')
    return text, faults


def measure(build, program, work, levels, rounds):
    """Returns the seconds of alternating runs by level; level None is without stemtap."""
    seconds = {level: [] for level in (None, *levels)}
    session = work.parent / f'{work.name}-session'
    for _ in range(rounds):
        for level, measured in seconds.items():
            shutil.rmtree(session, ignore_errors=True)
            outcome = run(build, program, work, stemtap_run(build, level, session) if level else ())
            measured.append(outcome.seconds)
    return seconds


def check_signal(build, program, work, bare, number):
    """Sends a signal to a program under stemtap at a random time.

    SIGINT goes to both, as from a terminal; SIGKILL goes to the program. The session must be readable, and may contain
    only launches that the program made.
    """
    session = work.parent / f'{work.name}-session'
    shutil.rmtree(session, ignore_errors=True)
    delay = random.uniform(0.3, 1.2) * bare.seconds  # programs load libraries at first
    # A program can also end before the signal, or choose its own exit code: ffmpeg exits with 255.
    codes = {0, 1, 128 + number, -number}
    if number == signal.SIGINT:
        alone = start(build, program, work)
        time.sleep(0.6 * bare.seconds)  # when it has loaded its libraries and has not ended
        os.killpg(alone.pid, number)
        codes.add(finish(alone, work).code)
    process = start(build, program, work, stemtap_run(build, 'kernels', session))
    time.sleep(delay)
    children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    elif process.poll() is None and (found := children.read_text(encoding='utf-8').split()):
        os.kill(int(found[0]), number)
    outcome = finish(process, work)
    faults = []
    if outcome.code not in codes:
        faults.append(f'exit code {outcome.code} after signal {number} at {delay:.1f} s: {outcome.err[-500:]}')
    if not (session / 'plan.json').exists():
        if outcome.code == -number:
            return 'ended before stemtap handled signals', faults
        return 'no session', [*faults, f'no session after signal {number} at {delay:.1f} s: {outcome.err[-500:]}']
    kernels, details = read_session(session)
    faults += dropped(details)
    faults += [f'{name[:80]}: {count} launches recorded, {bare.kernels[name]} expected at most'
               for name, count in kernels.items() if count > bare.kernels[name]]
    return f'{sum(kernels.values()):,} launches recorded after {delay:.1f} s', faults
