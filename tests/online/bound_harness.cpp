// SPDX-License-Identifier: Apache-2.0
#include "online/bound_harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/result.h"
#include "base/worker_pool.h"
#include "model/profile.h"
#include "sampling/two_pass.h"
#include "session/engine.h"
#include "session/mask_writer.h"
#include "shm/gate_table.h"
#include "shm/record.h"

namespace stemtap::test {
namespace {

// The rounding error of a sum of 1e6 durations is ignored.
constexpr double kRounding = 1e-9;
constexpr std::uint64_t kIdleNs = 500;  // between two launches

double Median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the records of the launches. name_id is the kernel's number in the stream.
std::vector<shm::KernelRecord> RecordsOf(const LaunchStream& stream) {
  std::vector<shm::KernelRecord> records;
  records.reserve(stream.launches.size());
  std::uint64_t now_ns = 0;
  for (const StreamLaunch& launch : stream.launches) {
    shm::KernelRecord& record = records.emplace_back();
    record.name_id = launch.kernel;
    record.start_ns = now_ns;
    record.duration_ns = launch.duration_ns;
    record.grid[0] = launch.grid;
    record.grid[1] = record.grid[2] = 1;
    record.block[0] = 64;
    record.block[1] = record.block[2] = 1;
    now_ns += launch.duration_ns + kIdleNs;
  }
  return records;
}

BoundOutcome OutcomeOf(const model::PlanTotals& totals, double captured_ns,
                       std::uint64_t captured) {
  const auto truth = static_cast<double>(totals.duration_ns);
  return {.bound = totals.certified_bound,
          .error = (totals.plain_estimate_ns - truth) / truth,
          .uncovered = totals.uncovered_fraction,
          .captured_share = captured_ns / truth,
          .captured = captured};
}

}  // namespace

std::string KernelName(std::uint32_t kernel) {
  return fmt::format("kernel{}", kernel);
}

std::int32_t ProcessId(const LaunchStream& stream, std::uint16_t process) {
  constexpr std::int32_t kFirstProcess = 100;
  return stream.processes == 1 ? 0 : kFirstProcess + process;
}

bool BoundOutcome::missed() const {
  return !(std::fabs(error) <= bound + kRounding);
}

BoundOutcome RunStream(const LaunchStream& stream, const sampling::SamplingOptions& options,
                       std::uint64_t lag, model::Plan* plan) {
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(1);
  session::Engine engine(options, *gate, session::GateAsked::kByEngine, lag, pool);
  std::vector<std::uint32_t> ids;
  for (const std::string& range : stream.ranges) {
    for (std::uint16_t process = 0; process < stream.processes; ++process) {
      for (std::uint32_t k = 0; k < stream.kernels; ++k) {
        ids.push_back(engine.AddKernel(KernelName(k), ProcessId(stream, process), range));
      }
    }
  }
  std::vector<shm::KernelRecord> records = RecordsOf(stream);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::uint16_t process = stream.launches[i].process;
    const std::size_t first = (stream.launches[i].range * stream.processes + process);
    records[i].name_id = ids[first * stream.kernels + records[i].name_id];
    engine.Push(records[i], process);
  }
  model::Plan made = engine.Finish();
  const online::SamplerStatus& status = engine.status();
  const BoundOutcome outcome =
      OutcomeOf(made.totals, static_cast<double>(status.captured_duration_ns), status.captured);
  if (plan != nullptr) *plan = std::move(made);
  return outcome;
}

BoundOutcome PlanStream(const LaunchStream& stream, const sampling::SamplingOptions& options,
                        model::Plan* plan) {
  model::Profile profile;
  for (const std::string& range : stream.ranges) {
    for (std::uint32_t k = 0; k < stream.kernels; ++k) {
      profile.names.Intern(KernelName(k), 0, range);
    }
  }
  profile.records = RecordsOf(stream);
  for (std::size_t i = 0; i < profile.records.size(); ++i) {
    profile.records[i].name_id += stream.launches[i].range * stream.kernels;
  }
  Result<sampling::TwoPassPlan> made = sampling::PlanTwoPass(
      [&]() -> Result<std::unique_ptr<model::ProfileReader>> {
        return model::ReadProfile(profile);
      },
      "stream", options);
  if (!made.ok()) throw std::runtime_error(made.error().message);
  model::Plan& planned = made.value().plan;
  const BoundOutcome outcome =
      OutcomeOf(planned.totals, static_cast<double>(planned.totals.sampled_duration_ns),
                planned.totals.samples);
  if (plan != nullptr) *plan = std::move(planned);
  return outcome;
}

void RunInParallel(std::size_t count, const std::function<void(std::size_t)>& run) {
  std::atomic<std::size_t> next{0};  // each thread takes the next run; no other data is ordered
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (std::size_t i = next++; i < count; i = next++) run(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void BoundTally::Add(const BoundOutcome& outcome, double asked) {
  ++runs_;
  misses_ += outcome.missed();
  negative_ += outcome.error < -kRounding;
  positive_ += outcome.error > kRounding;
  over_ += !(outcome.bound <= asked);
  uncovered_ += outcome.uncovered;
  bounds_.push_back(outcome.bound);
  captured_.push_back(outcome.captured_share);
}

double BoundTally::coverage() const {
  return 1.0 - static_cast<double>(misses_) / static_cast<double>(runs_);
}

double BoundTally::negative_share() const {
  return static_cast<double>(negative_) / static_cast<double>(negative_ + positive_);
}

std::string BoundTally::Header() {
  return fmt::format("{:>6} {:>6} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9}", "runs", "misses",
                     "coverage", "negative", "bound", "exceeded", "captured", "uncovered");
}

std::string BoundTally::Row() const {
  const auto runs = static_cast<double>(runs_);
  return fmt::format("{:>6} {:>6} {:>7.2f}% {:>7.1f}% {:>8.2f}% {:>8.1f}% {:>8.4f}% {:>8.3f}%",
                     runs_, misses_, 100.0 * coverage(), 100.0 * negative_share(),
                     100.0 * Median(bounds_), 100.0 * static_cast<double>(over_) / runs,
                     100.0 * Median(captured_), 100.0 * uncovered_ / runs);
}

}  // namespace stemtap::test
