// SPDX-License-Identifier: Apache-2.0
//
// Reads the canonical profile CSV: one row per launch, in launch order. Columns are found by name;
// see docs/formats/canonical-csv.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

// Returns whether `leading`, the first bytes of a file, starts with a header line that contains a
// canonical column.
bool LooksLikeCanonicalCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenCanonicalCsv(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats
