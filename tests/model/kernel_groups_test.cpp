// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_groups.h"

#include <doctest/doctest.h>

#include "model/name_table.h"

namespace stemtap::model {
namespace {

TEST_CASE("configurations beyond the limit are one kernel per name without a configuration") {
  KernelGroups groups = KernelGroups::Create(GroupBy::kLaunch, "").value();
  NameTable names;
  shm::KernelRecord record;
  record.block[0] = 128;
  const auto group = [&](const char* name, std::uint32_t grid) {
    record.name_id = names.Intern(name);
    record.grid[0] = grid;
    return groups.Of(record, names);
  };
  for (std::uint32_t i = 0; i < KernelGroups::kMaxConfigs; ++i) REQUIRE(group("a", i + 1) == i);
  const std::uint32_t other_a = KernelGroups::kMaxConfigs;
  const std::uint32_t other_b = other_a + 1;
  CHECK(group("a", 1'000'000) == other_a);
  CHECK(group("b", 1) == other_b);
  CHECK(group("b", 2) == other_b);
  CHECK(group("a", 2'000'000) == other_a);
  CHECK(group("a", 77) == 76);  // known
  CHECK(groups.size() == KernelGroups::kMaxConfigs + 2);
  CHECK(groups.group(other_a).name == "a");
  CHECK(groups.group(other_a).config.grid[0] == 0);
  CHECK(groups.group(other_a).config.block[0] == 0);
}

}  // namespace
}  // namespace stemtap::model
