// SPDX-License-Identifier: Apache-2.0
//
// Reads plan.json. See docs/formats/plan.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap::model {

// Room for three million samples of about 300 bytes. Parsing takes ten times as much memory.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{1} << 30;

// Number of leading bytes that contain the schema of a plan.json. The schema is the first field;
// white space and a byte order mark may precede it.
inline constexpr std::size_t kPlanSchemaWithin = 256;

// Returns whether a file that starts with `leading` is a plan.json of any version.
bool LooksLikePlan(std::string_view leading);

// Parses the output of PlanToJson. Null becomes a kUnknown... value. Unknown fields, which later
// versions may add, are ignored. A missing required field and an inconsistent plan (plan_check.h)
// are errors. `source` is the name of the text in error messages.
Result<Plan> ParsePlan(std::string_view json, std::string_view source);

// Like ParsePlan, but reads a file, which may be compressed with gzip or zstd.
Result<Plan> LoadPlan(const std::string& path);

}  // namespace stemtap::model
