# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests of the Python package. Each test script takes the build directory as its first argument."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = SOURCE / "python"
DATA = SOURCE / "tests" / "data" / "python"
BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SOURCE / "build" / "release"
STEMTAP = BUILD / "bin" / "stemtap"

sys.path.insert(0, str(PACKAGE))
sys.dont_write_bytecode = True


def run(arguments, **options):
    """Runs a command to completion and captures its output as text."""
    options.setdefault("timeout", 60)
    return subprocess.run([str(argument) for argument in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, **options)


def python(code, path=PACKAGE, **variables):
    """Runs code in a new Python process that finds the package. Of the variables that affect stemtap, sets only the
    given ones."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CUDA_INJECTION64_PATH", "LD_PRELOAD")}
    environment.update(PYTHONPATH=str(path), PYTHONDONTWRITEBYTECODE="1", **variables)
    return run([sys.executable, "-c", code], env=environment)


def wait_for(condition, seconds=30, what="nothing has happened in time"):
    """Waits until condition() is true, and returns its value. `what`: the message of the error, or a function for it."""
    limit = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > limit:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.01)


def main():
    """Runs the tests of the script. Prints each skipped test with its reason; exits with 77 if all were skipped."""
    result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False).result
    for test, reason in result.skipped:
        # The id of a class is "setUpClass (__main__.Name)".
        print(f"SKIPPED: {test.id().rstrip(')').split('.', 1)[-1]}: {reason}")
    # A skipped module counts as no test that ran.
    is_skipped = result.skipped and len(result.skipped) >= result.testsRun
    sys.exit(1 if not result.wasSuccessful() else 77 if is_skipped else 0)
