// SPDX-License-Identifier: Apache-2.0
#include "control/program_control.h"

#include "control/thread_ranges.h"

namespace stemtap::inject {
namespace {

// Initial-exec, because the general model calls __tls_get_addr of the loader, and the library
// requires only libc. The 32 bytes are in the space that the loader reserves for such libraries
// (at least 512 bytes in all versions of glibc).
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadRanges t_ranges;
static_assert(sizeof(ThreadRanges) == 32);

// Zero-initialized, so it is in .bss.
constinit ProgramControl g_control;

}  // namespace

ProgramControl& Control() noexcept {
  return g_control;
}

int ProgramControl::PushRange(const RangeDomain& domain, RangeName name) noexcept {
  if (closed()) return kNotTracked;
  if (step_range_.Matches(domain, name)) Step();
  return t_ranges.Push(paths_, domain, name);
}

int ProgramControl::PopRange(const RangeDomain& domain) noexcept {
  return closed() ? kNotTracked : t_ranges.Pop(paths_, domain.id);
}

std::uint64_t ProgramControl::StartRange(const RangeDomain& domain, RangeName name) noexcept {
  if (closed()) return 0;
  if (step_range_.Matches(domain, name)) Step();
  const std::uint32_t id = paths_.Intern(shm::kNoRange, domain, name);
  return started_ranges_.Start(id == shm::kNoRange ? RangePaths::kOther : id);
}

void ProgramControl::EndRange(std::uint64_t id) noexcept {
  if (!closed()) started_ranges_.End(id);
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
  const std::uint32_t innermost = t_ranges.Current();
  // Steps are numbered from 0, and kNoStep is the number before it.
  static_assert(shm::kNoStep + 1 == 0);
  return {innermost != shm::kNoRange ? innermost : started_ranges_.Latest(),
          steps_.load(std::memory_order_relaxed) - 1};
}

std::uint64_t ProgramControl::Now() const noexcept {
  const Clock clock = clock_.load(std::memory_order_acquire);
  return clock == nullptr ? 0 : clock();
}

}  // namespace stemtap::inject
