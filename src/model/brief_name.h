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

#include <string>
#include <string_view>

#include "model/name_text.h"

namespace stemtap::model {

// Returns `name` without return type, parameters, namespaces and classes, or with the `parts` of
// them that are requested. Returns all of `name` if these cannot be identified.
std::string BriefName(std::string_view name, NameParts parts = {});

}  // namespace stemtap::model
