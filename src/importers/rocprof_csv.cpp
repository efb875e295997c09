// SPDX-License-Identifier: Apache-2.0
#include "importers/rocprof_csv.h"

namespace stemtap {

bool LooksLikeRocprofCsv(std::string_view) {
  return false;
}

Result<std::unique_ptr<ProfileReader>> OpenRocprofCsv(std::unique_ptr<ByteSource> source) {
  return Error{source->name() + ": not read yet"};
}

}  // namespace stemtap
