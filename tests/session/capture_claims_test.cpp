// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "session/traced_processes.h"

namespace stemtap::session {
namespace {

shm::KernelRecord Explored(std::uint32_t name_id) {
  shm::KernelRecord record;
  record.name_id = name_id;
  record.flags = shm::kFlagCaptured | shm::kFlagExploratory;
  return record;
}

shm::KernelRecord ByCredit(std::uint16_t slot) {
  shm::KernelRecord record;
  record.flags = shm::kFlagCaptured;
  record.credit_slot = slot;
  return record;
}

TEST_CASE("a process explores a kernel once") {
  CaptureClaims claims;
  CHECK(claims.Accept(Explored(5), 0, 0));
  CHECK_FALSE(claims.Accept(Explored(5), 0, 0));
  CHECK(claims.Accept(Explored(5), 1, 0));
  CHECK(claims.Accept(Explored(6), 0, 0));
  CHECK_FALSE(claims.Accept(Explored(6), 0, 100));
  CHECK(claims.refused() == 2);
}

TEST_CASE("a slot has as many captures as credits were granted") {
  CaptureClaims claims;
  CHECK_FALSE(claims.Accept(ByCredit(0), 0, 0));
  CHECK_FALSE(claims.Accept(ByCredit(65535), 0, 0));
  CHECK(claims.Accept(ByCredit(9), 0, 2));
  CHECK(claims.Accept(ByCredit(9), 1, 2));
  CHECK_FALSE(claims.Accept(ByCredit(9), 0, 2));
  CHECK(claims.Accept(ByCredit(9), 0, 3));
  CHECK(claims.Accept(ByCredit(8), 0, 1));
  CHECK(claims.refused() == 3);
}

TEST_CASE("exploratory captures beyond the limit of the session are refused") {
  CaptureClaims claims;
  std::size_t accepted = 0;
  for (std::uint32_t name = 0; name < 65536; ++name) {
    for (std::uint16_t process = 0; process < 5; ++process) {
      accepted += claims.Accept(Explored(name), process, 0);
    }
  }
  CHECK(accepted == CaptureClaims::kMaxExplored);
  CHECK(claims.refused() == 65536);
  CHECK(claims.Accept(ByCredit(9), 0, 1));
}

}  // namespace
}  // namespace stemtap::session
