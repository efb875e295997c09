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

// An exchange takes at most so long. After one that failed or took longer than kSlow, the next is
// put off by as long, so that a slow server does not slow a run by more than a half.
constexpr std::chrono::milliseconds kMaxExchange{3000};
constexpr std::chrono::milliseconds kSlow{100};

// How long a run that has ended tries to reach the server, which may be starting again, and how
// long it sends its files to a server that takes them.
constexpr std::chrono::milliseconds kMaxLeave{3000};
constexpr std::chrono::milliseconds kLeavePause{250};
constexpr std::chrono::milliseconds kMaxStore{30'000};

// How long a replay waits for all runs to enter, and in all for slower ones and a slow server (its
// launches wait for it, so it misses no decision), how often it looks, and when it is too far
// ahead: by an eighth, as allocations, and some launches that all runs soon reach.
constexpr std::chrono::seconds kMaxGather{10};
constexpr std::chrono::seconds kMaxWait{60};
// How long a replay waits in all for a server that is away. It would end before the next try.
constexpr std::chrono::seconds kMaxTried{3};
constexpr std::chrono::milliseconds kFirstPoll{1};
constexpr std::chrono::milliseconds kMaxPoll{32};
constexpr std::uint64_t kAhead = 8;
constexpr std::uint64_t kAtLeastAhead = 1000;

// A kernel is reported again when its launches have grown by an eighth, as often as a run decides.
// Captures are reported at once.
constexpr std::uint64_t kGrowth = 8;

template <typename Field>
std::vector<Field> TakeFront(std::vector<Field>& from) {
  const auto end =
      from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), Member::kFieldsAtOnce));
  std::vector<Field> front(std::move_iterator(from.begin()), std::move_iterator(end));
  from.erase(from.begin(), end);
  return front;
}

}  // namespace

Member::Member(RedisUrl url, const std::string& job, RunInfo run,
               const sampling::SamplingOptions& options, AskingPace pace)
    : job_(std::move(url), job), run_(std::move(run)), options_(options), pace_(pace) {}

Status Member::Join() {
  const Status exchanged = Exchange({});
  if (confirmed_ != 0) return Success{};  // a run that cannot lead has entered
  return exchanged.ok() ? Error{"the server loses the data of the job"} : exchanged;
}

void Member::AddKernels(std::span<const online::KernelReport> kernels) {
  while (keys_.size() < kernels.size()) keys_.push_back(KeyOf(kernels[keys_.size()].id));
  sent_.resize(kernels.size());
}

bool Member::IsReported(std::uint64_t launches, const Sent& sent) const {
  const std::uint64_t more = launches - sent.launches;
  return more > (run_.has_ended ? 0 : sent.launches / kGrowth);
}

Update Member::UpdateOf(std::span<const online::KernelReport> kernels,
                        const std::vector<Sent>& sent) {
  Update update;
  run_.launches = run_.duration_ns = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const online::KernelReport& kernel = kernels[i];
    const std::uint64_t launches = kernel.durations->count();
    run_.launches += launches;
    run_.duration_ns += static_cast<std::uint64_t>(kernel.durations->total_duration());
    if (sent[i].launches == 0) update.new_kernels.emplace_back(keys_[i], PackId(kernel.id));
    const bool is_reported = IsReported(launches, sent[i]);
    if (is_reported) {
      update.sketches.emplace_back(
          keys_[i], PackSketch(*kernel.durations,
                               kernel.imputes ? BinContent::kCells : BinContent::kDurations));
      update.traits.emplace_back(keys_[i], PackTraits(kernel));
    }
    // With the cells, imputed captures may have changed.
    const std::size_t first = kernel.imputes && is_reported ? 0 : sent[i].captures;
    for (const online::Capture& capture : kernel.captures.subspan(first)) {
      update.captures.emplace_back(fmt::format("{:016x}:{}", keys_[i], capture.sample.index),
                                   PackCapture(capture));
    }
  }
  update.run = run_;
  return update;
}

Result<Answer> Member::Send(Update update) {
  for (;;) {
    Update part;
    part.new_kernels = TakeFront(update.new_kernels);
    part.sketches = TakeFront(update.sketches);
    part.traits = TakeFront(update.traits);
    part.captures = TakeFront(update.captures);
    const bool is_last = update.new_kernels.empty() && update.sketches.empty() &&
                         update.traits.empty() && update.captures.empty();
    part.run = update.run;
    part.run.has_ended = is_last && update.run.has_ended;
    part.number = ++number_;
    part.confirmed = confirmed_;
    Answer answer = STEMTAP_TRY(job_.Send(part, version_));
    if (!answer.has_lost) confirmed_ = number_;
    if (is_last || answer.has_lost) return answer;
  }
}

Status Member::StartAgain() {
  if (!runs_.empty()) STEMTAP_TRY(job_.Announce(runs_));
  leader_.reset();
  std::fill(sent_.begin(), sent_.end(), Sent());
  confirmed_ = version_ = 0;
  return Success{};
}

Status Member::Exchange(std::span<const online::KernelReport> kernels) {
  job_.AllowFor(kMaxExchange);
  Answer answer = STEMTAP_TRY(Send(UpdateOf(kernels, sent_)));
  if (answer.has_lost) {
    STEMTAP_TRY(StartAgain());
    answer = STEMTAP_TRY(Send(UpdateOf(kernels, sent_)));
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::uint64_t launches = kernels[i].durations->count();
    if (IsReported(launches, sent_[i])) sent_[i].launches = launches;
    sent_[i].captures = kernels[i].captures.size();
  }
  if (answer.directions) {
    directed_.clear();
    for (DirectedKernel& kernel : *answer.directions) {
      directed_[kernel.key] = {std::move(kernel.clusters), kernel.is_sampled};
    }
    has_directions_ = true;
  }
  version_ = answer.version;
  slowest_ = answer.slowest;
  joined_ = answer.runs;
  if (!answer.leads) {
    leader_.reset();
    runs_.clear();
    return Success{};
  }
  const Status led = Lead();
  if (led.ok()) return led;
  // Perhaps another run can.
  leader_.reset();
  static_cast<void>(job_.Resign(run_.id));
  return led;
}

Status Member::Lead() {
  const bool is_new = leader_ == nullptr;
  if (is_new) {
    leader_ = std::make_unique<Leader>(options_, pace_);
    runs_.clear();
    job_.ReadFromStart();
  }
  const std::vector<RunState> changes = STEMTAP_TRY(job_.ReadChanges());
  for (const RunState& state : changes) {
    const std::string& id = state.run.id;
    leader_->SetRun(id, !state.run.has_ended);
    for (const auto& [key, sketch] : state.sketches) leader_->SetSketch(id, key, sketch);
    for (const auto& [key, traits] : state.traits) leader_->SetTraits(id, key, traits);
    for (const auto& [key, capture] : state.captures) {
      leader_->AddCapture(id, key, capture.sample.index, capture.sample.occurrence, capture.bin);
    }
    if (is_new && !state.run.has_ended) leader_->SetAsked(id, state.directions);
    runs_[id] = state.run;
  }
  const std::vector<std::string> silent = STEMTAP_TRY(job_.ReadSilent());
  for (const auto& [id, run] : runs_) {
    const bool is_silent = std::find(silent.begin(), silent.end(), id) != silent.end();
    leader_->SetRun(id, !is_silent && !run.has_ended);
  }
  if (!leader_->Decide()) return Success{};
  std::map<std::string, std::vector<DirectedKernel>> by_run;
  for (const auto& [id, run] : runs_) by_run[id] = leader_->Of(id);
  if (!STEMTAP_TRY(job_.Publish(run_.id, leader_->Clusters(), by_run))) {
    leader_.reset();
    return Success{};
  }
  ++version_;
  directed_.clear();
  for (DirectedKernel& kernel : by_run[run_.id]) {
    directed_[kernel.key] = {std::move(kernel.clusters), kernel.is_sampled};
  }
  has_directions_ = true;
  return Success{};
}

template <typename IsOver>
void Member::Wait(std::span<const online::KernelReport> kernels, const IsOver& is_over) {
  const Clock::time_point begin = Clock::now();
  for (Clock::duration pause = kFirstPoll;
       !is_over() && waited_ + (Clock::now() - begin) < kMaxWait;
       pause = std::min<Clock::duration>(2 * pause, kMaxPoll)) {
    std::this_thread::sleep_for(pause);
    if (!Exchange(kernels).ok()) break;  // the next call reports it
  }
  waited_ += Clock::now() - begin;
}

Status Member::TryAgain(std::span<const online::KernelReport> kernels) {
  const Clock::time_point begin = Clock::now();
  Status exchanged = Success{};
  do {
    std::this_thread::sleep_for(kFirstPause);
    exchanged = Exchange(kernels);
  } while (!exchanged.ok() && tried_ + (Clock::now() - begin) < kMaxTried);
  tried_ += Clock::now() - begin;
  return exchanged;
}

void Member::KeepPace(std::uint64_t runs) {
  keeps_pace_ = true;
  const Clock::time_point end = Clock::now() + kMaxGather;
  Wait({}, [&] { return joined_ >= runs || Clock::now() > end; });
  waited_ = {};
}

online::Directions Member::DirectionsOf(std::size_t kernels) const {
  online::Directions directions(kernels);
  for (std::size_t i = 0; i < kernels; ++i) {
    const auto known = directed_.find(keys_[i]);
    if (known != directed_.end()) directions[i] = known->second;
  }
  return directions;
}

std::optional<online::Directions> Member::Direct(std::span<const online::KernelReport> kernels,
                                                 bool has_ended) {
  run_.has_ended = has_ended;
  AddKernels(kernels);
  if (has_ended) whole_ = UpdateOf(kernels, std::vector<Sent>(kernels.size()));
  const Clock::time_point now = Clock::now();
  if (now >= next_try_ || has_ended) {
    Status exchanged = Exchange(kernels);
    if (!exchanged.ok() && keeps_pace_ && !has_ended) exchanged = TryAgain(kernels);
    const Clock::duration took = Clock::now() - now;
    if (exchanged.ok()) {
      problem_.reset();
      pause_ = {};
      const bool waits = keeps_pace_ && waited_ < kMaxWait;
      next_try_ = took > kSlow && !waits ? now + 2 * took : Clock::time_point();
      contact_at_ = run_.launches;
      if (waits && !has_ended) {
        if (took > kSlow) waited_ += took;
        Wait(kernels,
             [this] { return run_.launches <= slowest_ + slowest_ / kAhead + kAtLeastAhead; });
      }
    } else {
      problem_ = exchanged.error();
      pause_ = std::clamp<Clock::duration>(2 * pause_, kFirstPause, kMaxPause);
      next_try_ = Clock::now() + std::max(pause_, took);
    }
  }
  std::uint64_t launches = 0;
  for (const online::KernelReport& kernel : kernels) launches += kernel.durations->count();
  if (problem_ && launches >= 2 * std::max(contact_at_, pace_.observe_first)) {
    if (alone_.empty() && !has_ended) {
      alone_ = fmt::format("from launch {} on, this run decided alone for some time: {}", launches,
                           problem_->message);
    }
    return std::nullopt;
  }
  if (!has_directions_) return online::Directions(kernels.size());
  return DirectionsOf(kernels.size());
}

Status Member::Store(const std::map<std::string, std::string>& files) {
  job_.AllowFor(kMaxStore);
  if (problem_) {
    STEMTAP_TRY(StartAgain());
    STEMTAP_TRY(Send(whole_));
    problem_.reset();
  }
  if (STEMTAP_TRY(job_.StoreFiles(run_.id, confirmed_, files))) return Success{};
  problem_ = Error{"the server loses the data of the job"};
  return *problem_;
}

Status Member::Leave(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : model::kSessionFiles) {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    if (file) files[name] = {std::istreambuf_iterator<char>(file), {}};
  }
  const Clock::time_point begin = Clock::now();
  Status stored = Store(files);
  while (!stored.ok() && Clock::now() < begin + kMaxLeave) {
    std::this_thread::sleep_for(kLeavePause);
    stored = Store(files);
  }
  if (stored.ok()) static_cast<void>(job_.Resign(run_.id));  // or its lease ends by itself
  return stored;
}

}  // namespace stemtap::fleet
