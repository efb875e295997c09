// SPDX-License-Identifier: Apache-2.0
//
// LoadLibraryInto loads a library into a process that runs, with ptrace, and calls a function of
// it, as a debugger would.
//
// It uses the main thread of the process, at a system call that is not one of the allocator's or
// of the dynamic linker's: there the thread holds none of their locks, the program has begun, and
// no vector register is in use. The other threads continue. The thread runs dlopen and the
// function, and then continues with its system call.
//
// THREADS: one caller; the kernel ties a tracer to its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace stemtap::session {

// `library` is a path as the process sees it. `function` has no parameters and returns an int,
// which must be 0. `why_not` returns why the program in the process is not suitable, or an empty
// string; it is called when the process is traced, since before that the process may start another
// program (exec), or when it cannot be traced. Fails with that reason, or if the process cannot be
// traced, has no dynamic linker, is stopped, starts another program, makes no suitable system call
// for five seconds, or cannot load the library.
Status LoadLibraryInto(std::int32_t pid, const std::string& library, const std::string& function,
                       const std::function<std::string()>& why_not);

}  // namespace stemtap::session
