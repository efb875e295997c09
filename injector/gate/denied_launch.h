// SPDX-License-Identifier: Apache-2.0
//
// DeniedLaunch reports once that some launches are never captured, so the plan cannot cover them,
// with the first kernel as an example.
//
// THREADS: Note from any thread, Report from the flusher.
#pragma once

#include <stdio.h>

#include <atomic>
#include <cstdint>

#include "recording/kernel_note.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class DeniedLaunch {
 public:
  bool noted() const noexcept { return state_.load(std::memory_order_relaxed) != kNone; }

  [[gnu::noinline]] void Note(const char* symbol, const char* why) noexcept {
    std::uint32_t none = kNone;
    if (!state_.compare_exchange_strong(none, kWriting, std::memory_order_relaxed)) return;
    kernel_.Write(symbol);
    why_ = why;
    // Release: pairs with the acquire in Report.
    state_.store(kNoted, std::memory_order_release);
  }

  void Report(SessionFiles& files) noexcept {
    if (state_.load(std::memory_order_acquire) != kNoted) return;
    state_.store(kReported, std::memory_order_relaxed);
    char name[KernelNote::kBytes];
    char remark[sizeof(shm::RingHeader::reason)];
    kernel_.Read(name);
    ::snprintf(remark, sizeof(remark), "never captured: %.48s (%s)", name, why_);
    files.Remark(remark);
  }

 private:
  static constexpr std::uint32_t kNone = 0, kWriting = 1, kNoted = 2, kReported = 3;
  std::atomic<std::uint32_t> state_{kNone};
  const char* why_ = nullptr;
  KernelNote kernel_;
};

}  // namespace stemtap::inject
