// SPDX-License-Identifier: Apache-2.0
#include "recording/name_ids.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "shm/context_key.h"

namespace stemtap::inject {
namespace {

std::uint64_t HashOf(const std::string& name) {
  return shm::NameHash(name.data(), name.size());
}

TEST_CASE("equal names have equal ids at any address") {
  const auto ids = std::make_unique<NameIds>();
  const std::string here = "gemm_tile_128";
  const std::string there = here;
  REQUIRE(here.data() != there.data());
  CHECK(ids->Find(HashOf(here)) == NameIds::kNone);
  CHECK(ids->Add(HashOf(here)) == 0);
  CHECK(ids->Find(HashOf(there)) == 0);

  // The address contains a different name, as after a module is unloaded.
  std::string reused = "first_name";
  CHECK(ids->Add(HashOf(reused)) == 1);
  reused.replace(0, 5, "other");
  CHECK(ids->Find(HashOf(reused)) == NameIds::kNone);
}

TEST_CASE("ids are dense and stable, and no id is assigned when the table is full") {
  const auto ids = std::make_unique<NameIds>();
  for (std::uint32_t i = 0; i < NameIds::kMaxNames; ++i) {
    REQUIRE_FALSE(ids->full());
    REQUIRE(ids->Add(HashOf("kernel_" + std::to_string(i))) == i);
  }
  CHECK(ids->full());
  for (std::uint32_t i = 0; i < NameIds::kMaxNames; ++i) {
    REQUIRE(ids->Find(HashOf("kernel_" + std::to_string(i))) == i);
  }
  CHECK(ids->Find(HashOf("one more")) == NameIds::kNone);
}

TEST_CASE("colliding hashes have different ids, even across the end of the table") {
  const auto ids = std::make_unique<NameIds>();
  // The first hash takes the last entry of the table, 2^17 - 1. The second and third wrap around to
  // the first entries.
  const std::uint64_t last = std::uint64_t{0x1FFFF} << 32;
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(ids->Add(last | (i + 1)) == i);
  CHECK(ids->Add(7) == 3);  // entry 0 is already occupied
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(ids->Find(last | (i + 1)) == i);
  CHECK(ids->Find(7) == 3);
  CHECK(ids->Find(last | 9) == NameIds::kNone);
}

}  // namespace
}  // namespace stemtap::inject
