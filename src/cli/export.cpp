// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace stemtap::cli {

void AddExport(CLI::App&, int&) {}

}  // namespace stemtap::cli
