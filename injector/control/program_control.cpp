// SPDX-License-Identifier: Apache-2.0
#include "control/program_control.h"

namespace stemtap::inject {
namespace {

struct OpenRanges {
  std::uint32_t innermost = shm::kNoRange;  // id of RangePaths
  std::uint32_t refused = 0;                // open ranges inside it that have no id
};

// Initial-exec, because the general model calls __tls_get_addr of the loader, and the library
// requires only libc. The 8 bytes are in the space that the loader reserves for such libraries
// (at least 512 bytes in all versions of glibc).
[[gnu::tls_model("initial-exec")]] constinit thread_local OpenRanges t_ranges;

// Zero-initialized, so it is in .bss.
constinit ProgramControl g_control;

}  // namespace

ProgramControl& Control() noexcept {
  return g_control;
}

void ProgramControl::PushRange(const char* name) noexcept {
  if (closed()) return;
  OpenRanges& open = t_ranges;
  const std::uint32_t id = open.refused == 0 ? paths_.Intern(open.innermost, name) : shm::kNoRange;
  if (id == shm::kNoRange) {
    ++open.refused;
  } else {
    open.innermost = id;
  }
}

void ProgramControl::PopRange() noexcept {
  if (closed()) return;
  OpenRanges& open = t_ranges;
  if (open.refused != 0) {
    --open.refused;
  } else if (open.innermost != shm::kNoRange) {
    open.innermost = paths_.ParentOf(open.innermost);
  }
}

void ProgramControl::Stop() noexcept {
  if (!closed()) pauses_.Begin(Now());
}

void ProgramControl::Start() noexcept {
  if (closed()) return;
  pauses_.End(Now());
  started_.store(true);
  if (const Resume resume = resume_.load()) resume();
}

void ProgramControl::OnStart(Resume resume) noexcept {
  resume_.store(resume);
  if (started_.load()) resume();
}

shm::LaunchMark ProgramControl::CurrentMark() const noexcept {
  const OpenRanges& open = t_ranges;
  // Steps are numbered from 0, and kNoStep is the number before it.
  static_assert(shm::kNoStep + 1 == 0);
  return {open.refused != 0 ? RangePaths::kOther : open.innermost,
          steps_.load(std::memory_order_relaxed) - 1};
}

std::uint64_t ProgramControl::Now() const noexcept {
  const Clock clock = clock_.load(std::memory_order_acquire);
  return clock == nullptr ? 0 : clock();
}

}  // namespace stemtap::inject
