// SPDX-License-Identifier: Apache-2.0
//
// BriefName shortens a kernel name to the part that distinguishes it, for use in table columns.
//
//   void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int, float)
//   -> vectorized_elementwise_kernel<4, FillFunctor<float> >
//   _ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEvif
//   -> vectorized_elementwise_kernel<4, FillFunctor<float>>
//
// CUPTI reports mangled names. A brief name has at most max(kMaxNameText, size of the name) bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/name_text.h"

namespace stemtap::model {

// Returns `name` without return type, parameters, namespaces and classes, or with the `parts` of
// them that are requested. Returns all of `name` if these cannot be identified.
std::string BriefName(std::string_view name, NameParts parts = {});

// Returns the brief name of each kernel. Different names stay different: if several have the same
// brief name, they are shown with their namespaces, their parameters or both, and if that does not
// distinguish them, whole. Pass all kernels of a run, or a brief name may have two meanings in it.
// Takes O(total size of the names) time, unless longer forms of names collide again.
std::vector<std::string> BriefNames(std::span<const std::string_view> names);

// CutNames shortens the kernel names of a table so that they stay different. Names of one library
// often begin alike, and only an inner part distinguishes them:
//
//   elementwise_kernel<128, 4, gpu_kernel_impl_nocast<BinaryFunctor<float, float, MulFunctor>>>
//   -> elementwise_kernel..BinaryFunctor..MulFunctor..
//
// report/src/labels.ts is the same for the page of `stemtap report`.
//
// Returns names of at most `max_columns` columns; `mark` replaces the parts that are left out.
// Different names stay different: if all parts that differ are too long, the names are numbered.
// REQUIRES: names are escaped for the terminal, and max_columns >= 16.
std::vector<std::string> CutNames(std::span<const std::string> names, std::size_t max_columns,
                                  std::string_view mark = "..");

// Escapes names for the terminal and cuts them to `max_columns` columns, at least 16.
std::vector<std::string> NamesForTerminal(std::vector<std::string> names, std::size_t max_columns);

}  // namespace stemtap::model
