// SPDX-License-Identifier: Apache-2.0
//
// NameText writes a parsed name in C++ syntax: as c++filt does, or without the parts that a reader
// of a table does not need.
//
// THREADS: none; the function is pure.
#pragma once

#include <cstddef>
#include <string>

#include "model/mangled_name.h"

namespace stemtap::model {

// NameParts is what the text of a name contains in addition to the function and its template
// arguments. A scope that has template arguments is always shown.
struct NameParts {
  bool scopes = false;      // all namespaces and classes
  bool parameters = false;  // types of the parameters of the function
  bool everything = false;  // the text of c++filt; implies the others
};

// Limits of a text, because a substitution may repeat a part of the name that has substitutions.
// The longest name of a kernel in PyTorch 2.15 takes 3,664 bytes, and 12,945 with everything.
inline constexpr std::size_t kMaxNameText = 32'768;   // bytes; limits the size of reports
inline constexpr std::size_t kMaxNameSteps = 32'768;  // halves of nodes, real names: up to 5,157

// Returns the text of `name`, or "" if it is beyond a limit or has no meaning. Takes
// O(kMaxNameSteps) time.
std::string NameText(const ParsedName& name, NameParts parts);

}  // namespace stemtap::model
