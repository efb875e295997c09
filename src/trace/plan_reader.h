// SPDX-License-Identifier: Apache-2.0
//
// Reads plan.json back. See docs/formats/plan.md.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/plan.h"

namespace stemtap {

// The plan that PlanToJson wrote. `source` names the text in errors. Cells that are null are the
// kUnknown... values; fields of later versions are passed over, missing ones that cannot be done
// without are an error.
Result<Plan> ParsePlan(std::string_view json, std::string_view source);

// The same from a file, plain, .gz or .zst.
Result<Plan> LoadPlan(const std::string& path);

}  // namespace stemtap
