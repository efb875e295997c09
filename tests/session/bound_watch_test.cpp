// SPDX-License-Identifier: Apache-2.0
#include "session/bound_watch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>

#include "base/worker_pool.h"
#include "sampling/sampling_options.h"
#include "shm/gate_table.h"

namespace stemtap::session {
namespace {

online::SamplerStatus At(std::uint64_t observed, double bound) {
  online::SamplerStatus status;
  status.observed = observed;
  status.captured = 1;
  status.bound = status.scope_bound = bound;
  return status;
}

TEST_CASE("a bound is reached when it has stayed met for an eighth of the launches") {
  BoundWatch watch(0.05);
  watch.OnAllocation(At(80'000, 0.06));
  watch.OnAllocation(At(90'000, 0.05));
  CHECK_FALSE(watch.is_reached());
  watch.OnAllocation(At(101'249, 0.04));
  CHECK_FALSE(watch.is_reached());
  watch.OnAllocation(At(101'250, 0.04));
  CHECK(watch.is_reached());
  // It stays reached, and begins anew in the next window.
  watch.OnAllocation(At(110'000, 0.2));
  CHECK(watch.is_reached());
  watch.Reset();
  CHECK_FALSE(watch.is_reached());
}

TEST_CASE("a bound that is missed in between must be met for as long again") {
  BoundWatch watch(0.05);
  watch.OnAllocation(At(100, 0.01));
  watch.OnAllocation(At(1123, 0.01));
  CHECK_FALSE(watch.is_reached());  // short runs wait for 1,024 launches
  watch.OnAllocation(At(1200, std::numeric_limits<double>::quiet_NaN()));
  watch.OnAllocation(At(1300, 0.01));
  watch.OnAllocation(At(2323, 0.01));
  CHECK_FALSE(watch.is_reached());
  watch.OnAllocation(At(2324, 0.01));
  CHECK(watch.is_reached());
}

TEST_CASE("without a capture, no bound is reached") {
  BoundWatch watch(1.0);
  online::SamplerStatus status = At(5000, 0.0);
  status.captured = 0;
  watch.OnAllocation(status);
  status.observed = 50'000;
  watch.OnAllocation(status);
  CHECK_FALSE(watch.is_reached());
}

// Stopping when a bound is met prefers moments in which the samples happen to agree. The bound must
// still hold as often as stated.
TEST_CASE("the certified bound holds if recording stops when it is reached") {
  constexpr int kSeeds = 40;
  int held = 0;
  int reached = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    auto gate = std::make_unique<shm::GateTable>();
    WorkerPool pool(1);
    sampling::SamplingOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    auto engine = std::make_unique<Engine>(options, *gate, GateAsked::kByEngine, 1000, pool);
    BoundWatch watch(options.error_bound);
    engine->AddObserver(watch);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::lognormal_distribution<double> noise(0.0, 0.6);
    std::uint32_t names[8];
    for (int kernel = 0; kernel < 8; ++kernel) {
      names[kernel] = engine->AddKernel("kernel" + std::to_string(kernel));
    }
    for (int i = 0; i < 100'000 && !watch.is_reached(); ++i) {
      const auto kernel = random() % 8;
      shm::KernelRecord record;
      record.name_id = names[kernel];
      record.start_ns = static_cast<std::uint64_t>(i) * 1000;
      record.duration_ns =
          static_cast<std::uint64_t>(2000.0 * static_cast<double>(1 + kernel) * noise(random));
      engine->Push(record);
    }
    reached += watch.is_reached();
    const model::Plan plan = engine->Finish();
    held += plan.totals.observed_error <= plan.totals.certified_bound;
  }
  MESSAGE("reached in " << reached << ", held in " << held << " of " << kSeeds << " runs");
  CHECK(reached >= kSeeds * 9 / 10);
  CHECK(held >= kSeeds * 95 / 100);
}

}  // namespace
}  // namespace stemtap::session
