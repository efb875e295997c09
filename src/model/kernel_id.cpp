// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_id.h"

#include <fmt/core.h>

namespace stemtap::model {

std::string KernelLabel(const KernelId& id) {
  std::string label = id.name;
  const auto& [grid, block] = id.config;
  if (id.has_config()) {
    label += fmt::format(" grid {}x{}x{} block {}x{}x{}", grid[0], grid[1], grid[2], block[0],
                         block[1], block[2]);
  }
  if (id.process != 0) label += fmt::format(" process {}", id.process);
  if (!id.range.empty()) label += " in " + id.range;
  return label;
}

}  // namespace stemtap::model
