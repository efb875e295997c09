// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace stemtap::cli {

void AddExtrapolate(CLI::App&, int&) {}

}  // namespace stemtap::cli
