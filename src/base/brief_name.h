// SPDX-License-Identifier: Apache-2.0
//
// What a column of a table has room for: the part of a kernel's name that tells it from others.
//
//   void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int, float)
//   -> vectorized_elementwise_kernel<4, FillFunctor<float> >
//   _ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEvif
//   -> vectorized_elementwise_kernel<4 FillFunctor float>
//
// Mangled names, which CUPTI gives, are not demangled: one of some hundred bytes can stand for gigabytes.
// Identifiers, numbers and types are picked out of them. A brief name is at most seven times as long as the name.
#pragma once

#include <string>
#include <string_view>

namespace stemtap {

// The name without return type, parameters, namespaces and classes; all of it where these cannot be told.
std::string BriefName(std::string_view name);

}  // namespace stemtap
