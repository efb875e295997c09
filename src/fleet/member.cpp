// SPDX-License-Identifier: Apache-2.0
#include "fleet/member.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "model/session_files.h"

namespace stemtap::fleet {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kMaxPause{10000};

// How long a replay waits in all for slower ones, how often it looks, and when it is too far ahead:
// by an eighth, as allocations, and some launches that all runs soon reach.
constexpr std::chrono::seconds kMaxWait{60};
constexpr std::chrono::milliseconds kFirstPoll{1};
constexpr std::chrono::milliseconds kMaxPoll{32};
constexpr std::uint64_t kAhead = 8;
constexpr std::uint64_t kAtLeastAhead = 1000;

}  // namespace

Member::Member(RedisUrl url, const std::string& job, RunInfo run,
               const sampling::SamplingOptions& options, std::uint64_t observe_first)
    : job_(std::move(url), job),
      run_(std::move(run)),
      options_(options),
      observe_first_(observe_first) {}

Status Member::Join() {
  return Exchange({});
}

Update Member::UpdateOf(std::span<const online::KernelReport> kernels) {
  Update update;
  run_.launches = run_.duration_ns = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const online::KernelReport& kernel = kernels[i];
    if (i == keys_.size()) {
      keys_.push_back(KeyOf(kernel.id));
      sent_.emplace_back();
    }
    const std::uint64_t launches = kernel.durations->count();
    run_.launches += launches;
    run_.duration_ns += static_cast<std::uint64_t>(kernel.durations->total_duration());
    if (sent_[i].launches == 0) update.new_kernels.emplace_back(keys_[i], PackId(kernel.id));
    if (sent_[i].launches != launches) {
      update.sketches.emplace_back(keys_[i], PackSketch(*kernel.durations));
      update.prices.emplace_back(keys_[i], PackPrices(kernel.clusters));
    }
    for (const online::Capture& capture : kernel.captures.subspan(sent_[i].captures)) {
      update.captures.emplace_back(fmt::format("{:016x}:{}", keys_[i], capture.sample.index),
                                   PackCapture(capture.sample));
    }
  }
  update.number = ++number_;
  update.run = run_;
  return update;
}

Status Member::Exchange(std::span<const online::KernelReport> kernels) {
  // The second update is for a server that has lost the job.
  for (int update = 0; update < 2; ++update) {
    const Answer answer = STEMTAP_TRY(job_.Send(UpdateOf(kernels), version_));
    if (!incarnation_.empty() && answer.incarnation != incarnation_) {
      // The server has lost the job: it learns everything again.
      incarnation_ = answer.incarnation;
      std::fill(sent_.begin(), sent_.end(), Sent());
      leader_.reset();
      version_ = 0;
      continue;
    }
    incarnation_ = answer.incarnation;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      sent_[i] = {kernels[i].durations->count(), kernels[i].captures.size()};
    }
    if (answer.directions) {
      directed_.clear();
      for (const DirectedKernel& kernel : *answer.directions) {
        directed_[kernel.key] = kernel.clusters;
      }
      has_directions_ = true;
    }
    version_ = answer.version;
    slowest_ = answer.slowest;
    joined_ = answer.runs;
    if (answer.leads) return Lead();
    leader_.reset();
    return Success{};
  }
  return Error{"the server has lost the job again; expected a server that keeps it"};
}

Status Member::Lead() {
  const bool is_new = leader_ == nullptr;
  if (is_new) {
    leader_ = std::make_unique<Leader>(options_, observe_first_);
    runs_.clear();
    ended_.clear();
    job_.ReadFromStart();
  }
  const std::vector<RunState> changes = STEMTAP_TRY(job_.ReadChanges());
  for (const RunState& state : changes) {
    const std::string& id = state.run.id;
    leader_->SetRun(id, !state.run.has_ended);
    if (state.run.has_ended) ended_.insert(id);
    for (const auto& [key, sketch] : state.sketches) leader_->SetSketch(id, key, sketch);
    for (const auto& [key, prices] : state.prices) leader_->SetPrices(id, key, prices);
    for (const auto& [key, sample] : state.captures) {
      leader_->AddCapture(id, key, sample.index, sample.occurrence, sample.record.duration_ns);
    }
    if (is_new && !state.run.has_ended) leader_->SetAsked(id, state.directions);
    runs_.insert(id);
  }
  const std::vector<std::string> silent = STEMTAP_TRY(job_.ReadSilent());
  for (const std::string& id : runs_) {
    const bool is_silent = std::find(silent.begin(), silent.end(), id) != silent.end();
    leader_->SetRun(id, !is_silent && !ended_.contains(id));
  }
  if (!leader_->Decide()) return Success{};
  std::map<std::string, std::vector<DirectedKernel>> by_run;
  for (const std::string& id : runs_) by_run[id] = leader_->Of(id);
  if (!STEMTAP_TRY(job_.Publish(run_.id, leader_->Clusters(), by_run))) {
    leader_.reset();
    return Success{};
  }
  ++version_;
  directed_.clear();
  for (const DirectedKernel& kernel : by_run[run_.id]) directed_[kernel.key] = kernel.clusters;
  has_directions_ = true;
  return Success{};
}

template <typename IsOver>
void Member::Wait(std::span<const online::KernelReport> kernels, const IsOver& is_over) {
  for (Clock::duration pause = kFirstPoll; waited_ < kMaxWait && !is_over();
       pause = std::min<Clock::duration>(2 * pause, kMaxPoll)) {
    std::this_thread::sleep_for(pause);
    waited_ += pause;
    if (!Exchange(kernels).ok()) return;  // the next call reports it
  }
}

void Member::KeepPace(std::uint64_t runs) {
  keeps_pace_ = true;
  Wait({}, [&] { return joined_ >= runs; });
  waited_ = {};
}

online::Directions Member::DirectionsOf(std::size_t kernels) const {
  online::Directions directions(kernels);
  // Kernels that are newer than the last update have none.
  for (std::size_t i = 0; i < std::min(kernels, keys_.size()); ++i) {
    const auto known = directed_.find(keys_[i]);
    if (known != directed_.end()) directions[i] = known->second;
  }
  return directions;
}

std::optional<online::Directions> Member::Direct(std::span<const online::KernelReport> kernels,
                                                 bool has_ended) {
  run_.has_ended = has_ended;
  const Clock::time_point now = Clock::now();
  if (now >= next_try_ || has_ended) {
    const Status exchanged = Exchange(kernels);
    if (exchanged.ok()) {
      problem_.reset();
      pause_ = {};
      next_try_ = {};
      contact_at_ = run_.launches;
      if (keeps_pace_ && !has_ended) {
        Wait(kernels,
             [this] { return run_.launches <= slowest_ + slowest_ / kAhead + kAtLeastAhead; });
      }
    } else {
      problem_ = exchanged.error();
      pause_ = std::clamp<Clock::duration>(2 * pause_, kFirstPause, kMaxPause);
      next_try_ = Clock::now() + pause_;
    }
  }
  std::uint64_t launches = 0;
  for (const online::KernelReport& kernel : kernels) launches += kernel.durations->count();
  if (problem_ && launches >= 2 * contact_at_) return std::nullopt;
  if (!has_directions_) return online::Directions(kernels.size());
  return DirectionsOf(kernels.size());
}

Status Member::Leave(const std::string& folder) {
  if (problem_) return *problem_;
  for (const char* name : model::kSessionFiles) {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    if (!file) continue;
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    STEMTAP_TRY(job_.StoreFile(run_.id, name, content));
  }
  return leader_ == nullptr ? Status(Success{}) : job_.Resign(run_.id);
}

}  // namespace stemtap::fleet
