// SPDX-License-Identifier: Apache-2.0
#include "gate/capture_watch.h"

#include <stdio.h>
#include <string.h>

#include "startup/runtime.h"
#include "startup/say.h"

namespace stemtap::inject {

void CaptureWatch::Init(const Options& options) noexcept {
  limit_ms_ = options.watchdog_ms;
  // The flusher looks once per period, or later on a busy machine.
  watchdog_.Init(std::uint64_t{options.watchdog_ms} * 1'000'000,
                 4 * std::uint64_t{options.flush_ms} * 1'000'000);
}

void CaptureWatch::Look(SessionFiles& files, ExclusiveActuator& actuator, bool pending) noexcept {
  const shm::RingHeader& header = files.ring().header;
  const bool waited = watchdog_.waiting();
  const Watchdog::Alarm alarm = watchdog_.Look(
      {MonotonicNs(), actuator.entered_ns(),
       header.launches_captured.load(std::memory_order_relaxed),
       header.seen.load(std::memory_order_relaxed) + header.paused.load(std::memory_order_relaxed),
       pending});
  if (!waited && watchdog_.waiting()) actuator.ReadLastKernel(waited_for_);
  if (silent_ && !watchdog_.waiting()) {
    silent_ = false;
    disabled_.store(false, std::memory_order_relaxed);
    files.Remark("captures resume: records arrive again");
  }
  if (alarm != Watchdog::Alarm::kNone && allowed()) EndCaptures(files, actuator, alarm);
}

void CaptureWatch::EndCaptures(SessionFiles& files, ExclusiveActuator& actuator,
                               Watchdog::Alarm alarm) noexcept {
  Disable();
  silent_ = alarm == Watchdog::Alarm::kNoRecord;
  char name[KernelNote::kBytes];
  if (silent_) {
    ::memcpy(name, waited_for_, sizeof(name));
  } else {
    actuator.ReadLastKernel(name);
  }
  char detail[160];
  ::snprintf(detail, sizeof(detail),
             !silent_ ? "%.64s is still being captured after %u.%u s"
                      : "%.64s was captured, and no kernel record has arrived for "
                        "%u.%u s",
             name, limit_ms_ / 1000, limit_ms_ / 100 % 10);
  constexpr const char* kWhat = "no more captures";
  SayOnStderr(kWhat, detail);  // the program may never exit
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark), "%s: %s", kWhat, detail);
  files.Remark(remark);
}

}  // namespace stemtap::inject
