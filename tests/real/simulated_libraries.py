# SPDX-License-Identifier: Apache-2.0
"""Makes the CUDA libraries that a program links, for the simulated GPU.

A program such as PyTorch links a dozen of NVIDIA's libraries. Some of them have an implementation in this repository
(libcudart, libcublas, libcublasLt). All other functions that the program links become stubs, which print their name
once and return an error. So a library always has exactly the symbols, with the versions, that the program asks for,
and only the program itself has to be downloaded.
"""

import pathlib
import re
import subprocess
import sys

# What the stubs of a library return: "not supported" in its own numbers.
NOT_SUPPORTED = {'libcudart': 801, 'libcublas': 15, 'libcublasLt': 15, 'libcudnn': 3000, 'libcufft': 16,
                 'libcusparse': 10, 'libcusparseLt': 10, 'libcusolver': 9, 'libnccl': 5, 'libnvrtc': 4}
# These come from the build.
DRIVER_LIBRARIES = re.compile(r'lib(cuda\.so\.1|cupti\.so\.\d+)$')
NVIDIA_LIBRARY = re.compile(r'lib(cu|nv|nccl)')

STUB = '''__attribute__((visibility("default"))) {type} {name}(void) {{
  static int said;
  say(&said, "{name}");
  return {value};
}}
'''
PROLOGUE = '''#include <string.h>
#include <unistd.h>

static void say(int* said, const char* name) {{
  if (__atomic_exchange_n(said, 1, __ATOMIC_RELAXED)) return;
  char line[256] = "simulated {library}: ";
  strncat(line, name, 180);
  strcat(line, " is not implemented\\n");
  if (write(2, line, strlen(line)) < 0) return;
}}

'''


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{command[0]}: exit code {done.returncode}: {done.stderr.strip()}')
    return done.stdout


def needed(library):
    return re.findall(r'\(NEEDED\)\s+Shared library: \[([^]]+)\]', run('readelf', '-dW', library))


def dynamic_symbols(library):
    """Yields (name, version or None, is_defined) for each dynamic symbol."""
    for line in run('readelf', '--dyn-syms', '-W', library).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(':').isdigit() or fields[4] == 'LOCAL':
            continue
        name, _, version = fields[7].partition('@')
        yield name, version.lstrip('@') or None, fields[6] != 'UND'


def version_files(library):
    """Returns which library each version of undefined symbols belongs to."""
    files, current = {}, None
    for line in run('readelf', '-VW', library).splitlines():
        if found := re.search(r'Version: 1\s+File: (\S+)', line):
            current = found[1]
        elif current and (found := re.search(r'Name: (\S+)\s+Flags', line)):
            files[found[1]] = current
    return files


def symbols_by_library(programs):
    """Returns {library: {symbol: version or None}} for all libraries of NVIDIA that `programs` link."""
    own = {program.name for program in programs}
    libraries = {name: {} for program in programs for name in needed(program)
                 if name not in own and NVIDIA_LIBRARY.match(name) and not DRIVER_LIBRARIES.match(name)}
    defined, unversioned = set(), set()
    for program in programs:
        files = version_files(program)
        for name, version, is_defined in dynamic_symbols(program):
            if is_defined:
                defined.add(name)
            elif version is None:
                unversioned.add(name)
            elif files.get(version) in libraries:
                libraries[files[version]][name] = version
    # Some libraries have no versions: their functions begin with the name of the library.
    stems = {re.match(r'lib(\w+?)\.so', library)[1].lower(): library for library in libraries}
    for name in unversioned - defined:
        matching = [stem for stem in stems if name.lower().startswith(stem)]
        if matching:
            libraries[stems[max(matching, key=len)]].setdefault(name, None)
    return libraries


def stub(name, value):
    if re.search(r'Get(Last)?ErrorString$|StatusString$', name):
        return STUB.format(type='const char*', name=name, value='"not supported by the simulated library"')
    return STUB.format(type='long', name=name, value=value)


def make_library(library, symbols, archive, driver, out):
    """Links `archive`, if there is one, and stubs for the other `symbols` to out/library."""
    implemented = set()
    if archive:
        for line in run('nm', '--defined-only', '--extern-only', archive).splitlines():
            implemented.update(line.split()[2:])
    stubs = sorted(set(symbols) - implemented)
    stem = re.match(r'lib\w+', library)[0]
    source = out / f'{library}.c'
    source.write_text(PROLOGUE.format(library=library) +
                      ''.join(stub(name, NOT_SUPPORTED.get(stem, 1)) for name in stubs))
    versions = sorted({version for version in symbols.values() if version})
    if versions in ([], [library]):
        version_options = ['-Wl,--default-symver']
    else:
        script = out / f'{library}.map'
        script.write_text(''.join(
            f'{version} {{ global: {" ".join(f"{n};" for n, v in symbols.items() if v == version)} }};\n'
            for version in versions))
        version_options = [f'-Wl,--version-script={script}']
    archives = ['-Wl,--whole-archive', archive, '-Wl,--no-whole-archive', driver] if archive else []
    run('g++', '-shared', '-fPIC', '-O1', '-w', '-fvisibility=hidden', '-o', out / library, '-x', 'c', source, '-x',
        'none', *archives, f'-Wl,-soname,{library}', *version_options, '-Wl,-Bsymbolic')
    return len(stubs)


def make_all(programs, archives, driver, out):
    """Makes every library of NVIDIA that `programs` link, in the directory `out`.

    `archives` is the directory with the implementations: libcudart.so.13 comes from libfake_cudart.a. `driver` is
    the simulated libcuda.so.1.
    Returns the lines of a summary.
    """
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for library, symbols in sorted(symbols_by_library([pathlib.Path(program) for program in programs]).items()):
        archive = archives / (re.match(r'lib(\w+)', library)[0].replace('lib', 'libfake_', 1) + '.a')
        stubs = make_library(library, symbols, archive if archive.exists() else None, driver, out)
        lines.append(f'{library}: {len(symbols) - stubs} functions and {stubs} stubs')
    return lines
