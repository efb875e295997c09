// SPDX-License-Identifier: Apache-2.0
//
// Stepper runs the first thread of a program one instruction at a time and counts the instructions
// in one library. The result is exact and the same on every machine and under any load.
//
//   Process program({"step_launches", ...});
//   program.WaitForOutput("ready\n");
//   Stepper stepper(program.pid(), "libstemtap_inject.so");
//   <let the program continue>
//   const Steps steps = stepper.CountBetweenSignals(SIGUSR1);
//
// The constructor stops all other threads of the program so that the count does not depend on
// their scheduling.
//
// ERRORS: throws std::runtime_error if the program does something unexpected.
// THREADS: one caller, because the kernel ties a tracer to its thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace stemtap::test {

// Visit is a call into the library, including everything that the call executes.
struct Visit {
  std::uint64_t entry = 0;      // entry point, as an offset into the library
  std::uint64_t own = 0;        // instructions in the library
  std::uint64_t libc = 0;       // in libc, called from the library
  std::uint64_t elsewhere = 0;  // in other code, called from the library
};

struct Steps {
  std::uint64_t total = 0;  // instructions of the thread
  std::vector<Visit> visits;

  std::uint64_t own() const {
    std::uint64_t sum = 0;
    for (const Visit& visit : visits) sum += visit.own;
    return sum;
  }
};

class Stepper {
 public:
  // Forbidden means that tracing is not allowed because of seccomp, Yama or a different tracer.
  struct Forbidden : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  // Stops every thread of `pid` except the first. `library` is part of a path. Throws Forbidden.
  Stepper(pid_t pid, std::string library);
  // Detaches from the program and lets it continue.
  ~Stepper();
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  // Runs the first thread until it sends `signal` to itself, then counts until it does so again.
  // The program does not receive the signals.
  Steps CountBetweenSignals(int signal);

 private:
  pid_t pid_;
  std::string library_;
  std::vector<pid_t> others_;
};

}  // namespace stemtap::test
