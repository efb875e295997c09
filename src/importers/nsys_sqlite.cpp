// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_sqlite.h"

namespace stemtap {

bool LooksLikeNsysSqlite(std::string_view) {
  return false;
}

Result<std::unique_ptr<ProfileReader>> OpenNsysSqlite(std::unique_ptr<ByteSource> source) {
  return Error{source->name() + ": not read yet"};
}

}  // namespace stemtap
