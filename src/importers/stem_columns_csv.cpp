// SPDX-License-Identifier: Apache-2.0
#include "importers/stem_columns_csv.h"

namespace stemtap {

bool LooksLikeStemColumnsCsv(std::string_view) {
  return false;
}

Result<std::unique_ptr<ProfileReader>> OpenStemColumnsCsv(std::unique_ptr<ByteSource> source) {
  return Error{source->name() + ": not read yet"};
}

}  // namespace stemtap
