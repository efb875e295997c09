// SPDX-License-Identifier: Apache-2.0
//
// CutNames shortens the kernel names of a table so that they stay different. Names of one library
// often begin alike, and only an inner part distinguishes them:
//
//   elementwise_kernel<128, 4, gpu_kernel_impl_nocast<BinaryFunctor<float, float, MulFunctor>>>
//   -> elementwise_kernel..BinaryFunctor..MulFunctor..
//
// report/src/labels.ts is the same for the page of `stemtap report`.  THREADS: none.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stemtap {

// Returns the brief name of each kernel. Kernels with different names and the same brief name keep
// their names.
std::vector<std::string> BriefNames(std::span<const std::string_view> names);

// Returns names of at most `max_columns` columns; `mark` replaces what is left out. Different names
// stay different: if no part of them fits that differs, they are numbered. Names must be escaped
// for the terminal. REQUIRES: max_columns >= 16.
std::vector<std::string> CutNames(std::span<const std::string> names, std::size_t max_columns,
                                  std::string_view mark = "..");

}  // namespace stemtap
