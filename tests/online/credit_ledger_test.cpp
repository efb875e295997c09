// SPDX-License-Identifier: Apache-2.0
#include "online/credit_ledger.h"

#include <doctest/doctest.h>

#include <memory>

namespace stemtap::online {
namespace {

struct Ledger {
  Ledger() { ledger.AddKernel(); }
  bool Grant(std::size_t line, std::uint32_t credits, std::uint64_t observed = 100) {
    return ledger.Grant(0, line, credits, shm::kAcceptAll, observed);
  }
  // Returns the number of credits of the line that launches can spend.
  std::uint32_t Open(std::size_t line) const {
    const std::uint32_t slot = ledger.SlotOf(0, line);
    return gate->granted(slot) - gate->spent(slot);
  }
  bool Spend(std::size_t line) { return gate->TrySpend(ledger.SlotOf(0, line), 0); }

  std::unique_ptr<shm::GateTable> gate = std::make_unique<shm::GateTable>();
  CreditLedger ledger{*gate};
};

TEST_CASE("a line gets its slot with its first credits") {
  Ledger l;
  CHECK_FALSE(l.Grant(1, 0));
  CHECK(l.ledger.SlotOf(0, 1) == shm::kClosedSlot);
  CHECK(l.Grant(1, 2));
  CHECK(l.ledger.SlotOf(0, 1) != shm::kClosedSlot);
  CHECK(l.Open(1) == 2);
  CHECK_FALSE(l.Grant(1, 3));
  CHECK(l.Open(1) == 3);
  CHECK(l.ledger.slots_refused() == 0);
}

TEST_CASE("a capture in flight is a spent credit until its record arrives") {
  Ledger l;
  l.Grant(0, 1);
  CHECK(l.Spend(0));
  l.Grant(0, 1);
  CHECK_FALSE(l.Spend(0));
  l.ledger.Return(0, l.ledger.SlotOf(0, 0));
  l.Grant(0, 1);
  CHECK(l.Spend(0));
}

TEST_CASE("after starting over, lines get other slots, and captures on their way need no credit") {
  Ledger l;
  l.Grant(0, 5);
  CHECK(l.Spend(0));
  const std::uint32_t slot = l.ledger.SlotOf(0, 0);
  l.ledger.StartOver();
  // Open credits are withdrawn. The record of the capture can still be recognized.
  CHECK_FALSE(l.gate->TrySpend(slot, 0));
  CHECK(l.ledger.MostGranted(slot) == 5);
  l.ledger.AddKernel();
  CHECK(l.Grant(0, 3));
  CHECK(l.ledger.SlotOf(0, 0) != slot);
  CHECK(l.Open(0) == 3);
  l.ledger.Return(0, slot);
  l.Grant(0, 3);
  CHECK(l.Open(0) == 3);
}

TEST_CASE("slots are used again when all have been used, and keep their counters") {
  Ledger l;
  constexpr std::uint32_t kAll = shm::kGateSlots - 1;
  for (std::uint32_t line = 0; line < kAll; ++line) CHECK(l.Grant(line, 2));
  CHECK(l.Spend(0));
  CHECK_FALSE(l.Grant(kAll, 2));
  CHECK(l.ledger.slots_refused() == 1);
  l.ledger.StartOver();
  l.ledger.AddKernel();
  CHECK(l.Grant(0, 4));
  CHECK(l.ledger.SlotOf(0, 0) == 1);
  CHECK(l.gate->spent(1) == 1);
  CHECK(l.Open(0) == 4);
  CHECK(l.ledger.MostGranted(1) == 5);
}

TEST_CASE("a capture without a record is written off, and counted if the record arrives") {
  Ledger l;
  l.Grant(0, 1);
  CHECK(l.Spend(0));
  l.Grant(0, 1, 100);
  l.Grant(0, 1, 200 + CreditLedger::kMaxFeedback);
  CHECK(l.Open(0) == 0);
  l.Grant(0, 1, 201 + CreditLedger::kMaxFeedback);
  CHECK(l.Open(0) == 1);
  l.ledger.Return(0, l.ledger.SlotOf(0, 0));
  l.Grant(0, 1, 300 + CreditLedger::kMaxFeedback);
  CHECK(l.Open(0) == 1);
}

TEST_CASE("a line without a slot is closed and counted when all slots are in use") {
  Ledger l;
  for (std::size_t line = 1; line < shm::kGateSlots; ++line) CHECK(l.Grant(line, 1));
  CHECK_FALSE(l.Grant(shm::kGateSlots, 1));
  CHECK(l.ledger.SlotOf(0, shm::kGateSlots) == shm::kClosedSlot);
  CHECK(l.ledger.slots_refused() == 1);
}

TEST_CASE("credits that a process spends without a grant are not written off") {
  Ledger l;
  l.Grant(0, 3);
  const std::uint32_t slot = l.ledger.SlotOf(0, 0);
  CHECK(l.ledger.MostGranted(slot) == 3);
  l.gate->Grant(slot, 1000);  // a process writes the table
  for (int i = 0; i < 1000; ++i) CHECK(l.Spend(0));
  std::uint64_t observed = 100;
  for (int i = 0; i < 5; ++i) {
    l.Grant(0, 3, observed);
    observed = 2 * observed + CreditLedger::kMaxFeedback + 1;
  }
  CHECK(l.ledger.MostGranted(slot) <= 5 * 3);
  CHECK(l.ledger.MostGranted(slot + 1) == 0);
}

}  // namespace
}  // namespace stemtap::online
