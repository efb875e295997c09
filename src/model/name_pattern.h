// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions that users write to select kernels by name (--exclude, --filter).
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace stemtap::model {

// Compiles a regular expression (RE2), which matches a name if it matches a part of it. Fails with
// a usage error that begins with the expression. RE2 takes time linear in the length of the name;
// backtracking engines overflow the stack on long template names.
Result<std::unique_ptr<re2::RE2>> CompilePattern(const std::string& text);

}  // namespace stemtap::model
