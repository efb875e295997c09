// SPDX-License-Identifier: Apache-2.0
//
// Kernel names as different tools print them: mangled, demangled with or without template arguments
// and parameters, or the bare function.
#pragma once

#include <string>
#include <string_view>

namespace stemtap {

// The function alone: "gemm" of "void lib::gemm<float, 4>(float const*)", of "_ZN3lib4gemmEv", of
// "gemm". The name itself where it cannot be told.
std::string BaseName(std::string_view name);

// The name without return type, parameters, blanks and casts, but with template arguments:
// "lib::gemm<float,4>" of "void lib::gemm<float, (int)4>(float const*)".
std::string Spelling(std::string_view name);

// Whether both may name the same kernel.
bool MaySameKernel(std::string_view a, std::string_view b);

}  // namespace stemtap
