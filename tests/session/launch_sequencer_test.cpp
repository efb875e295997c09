// SPDX-License-Identifier: Apache-2.0
#include "session/launch_sequencer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace stemtap::session {
namespace {

shm::KernelRecord Launched(std::uint32_t correlation_id, std::uint32_t node = 0) {
  shm::KernelRecord record;
  record.correlation_id = correlation_id;
  record.graph_node = node;
  return record;
}

std::vector<std::uint32_t> Ids(const std::vector<shm::KernelRecord>& records) {
  std::vector<std::uint32_t> ids;
  for (const auto& r : records) ids.push_back(r.correlation_id);
  return ids;
}

TEST_CASE("buffers that arrive out of order are released in launch order") {
  LaunchSequencer order;
  order.Add({Launched(71), Launched(73), Launched(72)}, 0);
  order.Add({Launched(75), Launched(74), Launched(70)}, 1);
  std::vector<shm::KernelRecord> out;
  order.Release(2, true, out);
  CHECK(Ids(out) == std::vector<std::uint32_t>{70, 71, 72, 73, 74, 75});
  CHECK(order.late() == 0);
  CHECK(order.held() == 0);
}

TEST_CASE("records are held for a fixed time and then released") {
  LaunchSequencer order;
  std::vector<shm::KernelRecord> out;
  order.Add({Launched(5)}, 1000);
  order.Release(1000 + LaunchSequencer::kHoldMs - 1, false, out);
  CHECK(out.empty());
  order.Release(1000 + LaunchSequencer::kHoldMs, false, out);
  CHECK(out.size() == 1);
}

TEST_CASE("records are released after the flush that follows their arrival") {
  LaunchSequencer order;
  std::vector<shm::KernelRecord> out;
  order.Add({Launched(5), Launched(7)}, 1000);
  order.Flushed(1000);  // the flush that returned the records
  order.Release(1000, false, out);
  CHECK(out.empty());
  order.Add({Launched(6), Launched(8)}, 1200);  // 6 waited in the buffer of a quiet thread
  order.Flushed(1200);
  order.Release(1200, false, out);
  CHECK(Ids(out) == std::vector<std::uint32_t>{5, 6, 7});
  CHECK(order.late() == 0);
  CHECK(order.held() == 1);
}

TEST_CASE("after a late record, a flush no longer releases records") {
  LaunchSequencer order;
  std::vector<shm::KernelRecord> out;
  order.Add({Launched(10)}, 0);
  order.Flushed(0);
  order.Flushed(200);
  order.Release(200, false, out);
  order.Add({Launched(9), Launched(11)}, 250);
  order.Flushed(250);
  order.Flushed(450);
  order.Release(450, false, out);
  CHECK(Ids(out) == std::vector<std::uint32_t>{10, 9});
  CHECK(order.late() == 1);
  order.Release(250 + LaunchSequencer::kHoldMs, false, out);
  CHECK(Ids(out) == std::vector<std::uint32_t>{10, 9, 11});
}

TEST_CASE("a record that arrives after its successors were released is kept and counted as late") {
  LaunchSequencer order;
  std::vector<shm::KernelRecord> out;
  order.Add({Launched(10)}, 0);
  order.Release(10000, false, out);
  order.Add({Launched(9), Launched(11)}, 10001);
  order.Release(10001, true, out);
  CHECK(Ids(out) == std::vector<std::uint32_t>{10, 9, 11});
  CHECK(order.late() == 1);
}

TEST_CASE("the kernels of one graph launch are ordered by node") {
  LaunchSequencer order;
  order.Add({Launched(7, 3), Launched(7, 1), Launched(7, 2), Launched(6)}, 0);
  std::vector<shm::KernelRecord> out;
  order.Release(0, true, out);
  REQUIRE(out.size() == 4);
  CHECK(out[0].correlation_id == 6);
  CHECK(out[1].graph_node == 1);
  CHECK(out[3].graph_node == 3);
}

TEST_CASE("correlation ids that wrap keep the launch order") {
  LaunchSequencer order;
  std::vector<shm::KernelRecord> in;
  for (std::uint32_t i = 0; i < 200; ++i) in.push_back(Launched(0xFFFFFFFF - 100 + i));
  std::vector<std::uint32_t> expected = Ids(in);
  std::mt19937 random(1);
  std::shuffle(in.begin(), in.end(), random);
  std::vector<shm::KernelRecord> out;
  order.Add(in, 0);
  order.Release(0, true, out);
  CHECK(Ids(out) == expected);
}

TEST_CASE("at most one window of records is held") {
  LaunchSequencer order;
  std::vector<shm::KernelRecord> in;
  for (std::uint32_t i = 0; i < LaunchSequencer::kWindow + 1000; ++i) in.push_back(Launched(i));
  std::vector<shm::KernelRecord> out;
  order.Add(in, 0);
  order.Release(0, false, out);
  CHECK(order.held() == LaunchSequencer::kWindow);
  CHECK(out.size() == 1000);
}

}  // namespace
}  // namespace stemtap::session
