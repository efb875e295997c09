// SPDX-License-Identifier: Apache-2.0
#include "fleet/background_member.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "fleet/private_server.h"

namespace stemtap::fleet {
namespace {

// How often a run reports that it goes on, and how often the leader looks for changes.
constexpr std::chrono::milliseconds kPeriod{5000};
constexpr std::chrono::milliseconds kLeaderPeriod{500};

std::vector<online::KernelReport> ReportsOf(const auto& kernels) {
  std::vector<online::KernelReport> reports;
  for (const auto& kernel : kernels) {
    reports.push_back({kernel.id, &kernel.durations, kernel.captures, kernel.clusters,
                       kernel.correlations, kernel.before ? &*kernel.before : nullptr,
                       kernel.imputes});
  }
  return reports;
}

}  // namespace

BackgroundMember::~BackgroundMember() {
  {
    const std::lock_guard lock(mutex_);
    report_.reset();
  }
  Stop();
}

void BackgroundMember::Start() {
  // Signals of the session are for its main thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool BackgroundMember::EnterJob() {
  const auto limit = std::chrono::steady_clock::now() + kMaxFind;
  while (member_ == nullptr) {
    Result<std::unique_ptr<Member>> entered = enter_();
    if (entered.ok()) {
      member_ = std::move(entered).value();
      break;
    }
    std::unique_lock lock(mutex_);
    if (stops_ || std::chrono::steady_clock::now() > limit) {
      directions_.reset();
      lock.unlock();
      fail_(entered.error());
      return false;
    }
    changed_.wait_for(lock, kFindPeriod, [this] { return stops_; });
  }
  return true;
}

void BackgroundMember::Run() {
  if (!EnterJob()) return;
  Kernels latest;
  std::unique_lock lock(mutex_);
  // Launches may be found after captures have ended, so the last report is the one before Stop.
  for (;;) {
    changed_.wait_for(lock, member_->leads() ? kLeaderPeriod : kPeriod,
                      [this] { return stops_ || report_; });
    if (report_) {
      latest = *std::move(report_);
      report_.reset();
    } else if (stops_) {
      return;
    }
    lock.unlock();
    std::optional<online::Directions> directions =
        member_->Direct(ReportsOf(latest.kernels), latest.has_ended);
    lock.lock();
    directions_ = std::move(directions);
  }
}

std::optional<online::Directions> BackgroundMember::Direct(
    std::span<const online::KernelReport> kernels, bool has_ended) {
  Kernels report;
  report.has_ended = has_ended;
  for (const online::KernelReport& kernel : kernels) {
    report.kernels.push_back({kernel.id,
                              *kernel.durations,
                              {kernel.captures.begin(), kernel.captures.end()},
                              {kernel.clusters.begin(), kernel.clusters.end()},
                              kernel.correlations,
                              {},
                              kernel.imputes});
    if (kernel.before != nullptr) report.kernels.back().before = *kernel.before;
  }
  std::unique_lock lock(mutex_);
  report_ = std::move(report);
  changed_.notify_all();
  if (!directions_) return std::nullopt;
  // Kernels that are newer than the directions have none.
  online::Directions directions = *directions_;
  directions.resize(kernels.size());
  return directions;
}

void BackgroundMember::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Status BackgroundMember::Leave(const std::string& folder) {
  Stop();
  return member_ == nullptr ? Status(Success{}) : member_->Leave(folder);
}

}  // namespace stemtap::fleet
