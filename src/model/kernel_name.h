// SPDX-License-Identifier: Apache-2.0
//
// Comparison of kernel names that different tools print differently: mangled, demangled with or
// without template arguments and parameters, or the function name only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stemtap::model {

// Maximum bytes of the C++ form of a mangled name. Substitutions can repeat a part of a name, which
// may repeat other parts: 300 bytes demangle to gigabytes. If smaller, names of template-heavy
// libraries (about 5,000 bytes) keep their mangled form, which other tools do not print; if larger,
// a hostile profile costs more time and memory per name.
inline constexpr std::size_t kMaxDemangledBytes = 65536;

// Returns the C++ form of a mangled name. Returns `name` itself if it is not mangled, if its C++
// form has more than kMaxDemangledBytes, or if the demangler of libstdc++ rejects it, as it does
// with mangled names of more than 1,024 bytes.
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
