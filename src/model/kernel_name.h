// SPDX-License-Identifier: Apache-2.0
//
// Comparison of kernel names that different tools print differently: mangled, demangled with or
// without template arguments and parameters, or the function name only.
#pragma once

#include <string>
#include <string_view>

namespace stemtap::model {

// Returns the C++ form of a mangled name, as c++filt writes it. Returns `name` itself if it is not
// mangled or beyond a limit (mangled_name.h, name_text.h).
std::string Demangled(std::string_view name);

// Returns the unqualified function name: "gemm" for "void lib::gemm<float, 4>(float const*)", for
// "_ZN3lib4gemmEv", and for "gemm". Returns `name` if the function cannot be determined.
std::string BaseName(std::string_view name);

// Returns the function name with its namespaces, without return type, template arguments and
// parameters: "lib::gemm" for "void lib::gemm<float, 4>(float const*)" and for
// "_ZN3lib4gemmIfLi4EEEvPf". Returns `name` if it is not a C++ signature.
std::string FunctionName(std::string_view name);

// Returns the name without return type, parameters, spaces, and casts, but with template arguments:
// "lib::gemm<float,4>" for "void lib::gemm<float, (int)4>(float const*)".
std::string Spelling(std::string_view name);

// Returns whether both names may belong to the same kernel.
bool MaySameKernel(std::string_view a, std::string_view b);

}  // namespace stemtap::model
