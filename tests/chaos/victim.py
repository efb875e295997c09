# SPDX-License-Identifier: Apache-2.0
"""A Python program on the simulated GPU: the counterpart of tests/programs/chaos_victim.c.

    victim.py MODE LAUNCHES END

MODE: ctypes (this process), fork, spawn or forkserver (three processes of multiprocessing).
END: return, exit, _exit, abort, sigterm or wait (until it is killed).
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import time

KERNELS = [b"gemm_tile_128", b"_Z9softmax_fPKfPfi", b"void reduce<float, 256>(float const*, float*, int)"]


def check(result, what):
    if result != 0:
        os.write(2, f"{what}: CUDA error {result}\n".encode())
        sys.exit(3)


def launch(count):
    """Launches kernel i % 3 at step i; returns the total duration in nanoseconds."""
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0), "cuInit")
    context, module, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(cuda.cuModuleLoadData(ctypes.byref(module), b"image"), "cuModuleLoadData")
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1), "cuStreamCreate")
    functions = []
    for name in KERNELS:
        function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name), "cuModuleGetFunction")
        functions.append(function)
    total = 0
    for step in range(count):
        nanoseconds = ctypes.c_uint64(2000 + step % 3 * 10000 + step * 37 % 500)
        params = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
        check(cuda.cuLaunchKernel(functions[step % 3], 1, 2, 1, 128, 1, 1, 0, stream, params, None), "cuLaunchKernel")
        total += nanoseconds.value
    check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
    return total


def open_files():
    """Returns the number of open files, without those that other threads open briefly: the minimum
    of ten counts, as in chaos_victim.c."""
    counts = []
    for _ in range(10):
        counts.append(len(os.listdir("/proc/self/fd")))
        time.sleep(0.005)
    return min(counts)


def main():
    mode, count, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    os.write(1, b"begin\n")
    pids = os.environ.get("CHAOS_PIDS")
    if pids:
        os.makedirs(f"{pids}/{os.getpid()}", exist_ok=True)
    if mode == "ctypes":
        totals = [launch(count)]
    else:
        with multiprocessing.get_context(mode).Pool(3) as pool:
            totals = pool.map(launch, [count, count // 2, count // 3], chunksize=1)
            pool.close()
            pool.join()
        if mode == "fork":
            totals.append(launch(count))
    if end != "wait":
        os.write(1, f"{mode} {totals} files {open_files()}\n".encode())
    if end == "exit":
        sys.exit(7)
    if end == "_exit":
        os._exit(9)
    if end == "abort":
        os.abort()
    if end == "sigterm":
        os.kill(os.getpid(), signal.SIGTERM)
    while end == "wait":
        signal.pause()


if __name__ == "__main__":
    main()
