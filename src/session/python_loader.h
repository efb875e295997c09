// SPDX-License-Identifier: Apache-2.0
//
// LoadLibraryByPython loads a library into a process of Python 3.14 or later, and calls a function
// of it, with sys.remote_exec (PEP 768): the main thread does both between two Python instructions,
// where it holds no lock of the C library.
//
// THREADS: one caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace stemtap::session {

// Returns the path of the interpreter that the process runs, if it can load libraries this way:
// a python3.N program, N >= 14, of this user, whose files are those that this process sees.
std::optional<std::string> RemoteInterpreter(std::int32_t pid);

// `library` is an absolute path. `function` has no parameters and returns an int, which must be 0.
// Returns false if the process did not take the request, because remote debugging is disabled in
// it, or because its main thread executes no Python instruction for two seconds. In the second
// case, it may still call the function. Fails if the library cannot be loaded.
Result<bool> LoadLibraryByPython(std::int32_t pid, const std::string& interpreter,
                                 const std::string& library, const std::string& function);

}  // namespace stemtap::session
