// SPDX-License-Identifier: Apache-2.0
//
// Reads plan.json back. See docs/formats/plan.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

// A sample takes some 300 bytes here and ten times that while it is read: three million samples.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{1} << 30;

// The plan that PlanToJson wrote. `source` names the text in errors. Cells that are null are the
// kUnknown... values; fields of later versions are passed over, missing ones that cannot be done
// without are an error, and so is a plan that contradicts itself (plan_check.h).
Result<Plan> ParsePlan(std::string_view json, std::string_view source);

// The same from a file, plain, .gz or .zst.
Result<Plan> LoadPlan(const std::string& path);

}  // namespace stemtap
