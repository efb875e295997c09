// SPDX-License-Identifier: Apache-2.0
#include "cupti/entry.h"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "cupti/settings.h"
#include "env.h"

namespace fake_cupti {
namespace {

thread_local CUptiResult t_last_error = CUPTI_SUCCESS;
thread_local ThreadRole t_role = ThreadRole::kNone;

std::atomic<bool> g_used{false};
std::atomic<bool> g_forked{false};

void AfterForkInChild() {
  if (g_used.load(std::memory_order_relaxed)) g_forked.store(true, std::memory_order_relaxed);
}

}  // namespace

ScriptedError::ScriptedError(const char* function) {
  const std::string script = fake_env::Text("FAKE_CUPTI_FAIL");
  std::size_t at = 0;
  while (at < script.size()) {
    const std::size_t end = std::min(script.find(',', at), script.size());
    const std::string item = script.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) Die("FAKE_CUPTI_FAIL: expected function=code");
    std::string name = item.substr(0, equals);
    std::uint64_t only_call = 0;
    if (const std::size_t mark = name.find('@'); mark != std::string::npos) {
      only_call = std::strtoull(name.c_str() + mark + 1, nullptr, 10);
      name.resize(mark);
    }
    if (name != function) continue;
    error_ = static_cast<CUptiResult>(std::strtol(item.c_str() + equals + 1, nullptr, 10));
    only_call_ = only_call;
  }
}

CUptiResult Remember(CUptiResult error) {
  t_last_error = error;
  return error;
}

CUptiResult TakeLastError() {
  const CUptiResult error = t_last_error;
  t_last_error = CUPTI_SUCCESS;
  return error;
}

bool IsForkedChild() {
  return g_forked.load(std::memory_order_relaxed);
}

void CheckCaller(const char* function) {
  if (!IsForkedChild()) return;
  while (settings().fork_hangs) pause();
  std::fprintf(stderr, "fake CUPTI: %s called in a forked child, where the real one hangs\n",
               function);
  std::abort();
}

void MarkUsed() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, AfterForkInChild); });
  g_used.store(true, std::memory_order_relaxed);
}

void Die(const char* what) {
  std::fprintf(stderr, "fake CUPTI: %s\n", what);
  std::abort();
}

ThreadRole thread_role() {
  return t_role;
}

ScopedRole::ScopedRole(ThreadRole role) : before_(t_role) {
  t_role = role;
}

ScopedRole::~ScopedRole() {
  t_role = before_;
}

}  // namespace fake_cupti
