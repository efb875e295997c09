// SPDX-License-Identifier: Apache-2.0
//
// LoadLibraryInto loads a library into a process that runs, with ptrace, and calls a function of
// it, as a debugger would.
//
// It uses the main thread of the process, at a system call that is not one of the allocator's:
// there the thread holds no lock of malloc, and no vector register is in use. The other threads
// continue. The thread runs dlopen and the function, and then continues with its system call.
//
// THREADS: one caller; the kernel ties a tracer to its thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace stemtap::session {

// `library` is a path as the process sees it. `function` has no parameters and returns an int,
// which must be 0. Fails with the reason if the process cannot be traced, has no dynamic loader,
// makes no system call for five seconds, or cannot load the library.
Status LoadLibraryInto(std::int32_t pid, const std::string& library, const std::string& function);

}  // namespace stemtap::session
