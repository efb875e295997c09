// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/process.h"

namespace stemtap {
namespace {

// Returns how often each part was called.
std::vector<int> Calls(WorkerPool& pool, std::size_t count) {
  std::vector<std::atomic<int>> calls(count);
  pool.ForEach(count, [&](std::size_t i) { ++calls[i]; });
  return {calls.begin(), calls.end()};
}

TEST_CASE("every part is executed once") {
  for (const unsigned threads : {1u, 2u, 8u}) {
    WorkerPool pool(threads);
    for (const std::size_t count : {0, 1, 2, 7, 10000}) {
      CHECK(Calls(pool, count) == std::vector<int>(count, 1));
    }
  }
}

TEST_CASE("parts run concurrently") {
  WorkerPool pool(4);
  // Each part waits for all others, so fewer threads than parts would deadlock.
  std::atomic<int> arrived{0};
  std::atomic<bool> late{false};
  pool.ForEach(4, [&](std::size_t) {
    ++arrived;
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 4 && !late) {
      if (std::chrono::steady_clock::now() > latest) late = true;
      std::this_thread::yield();
    }
  });
  CHECK_FALSE(late);
}

TEST_CASE("an exception in a part is rethrown, and no further part is executed") {
  WorkerPool pool(4);
  std::vector<std::atomic<int>> calls(100);
  CHECK_THROWS_WITH(pool.ForEach(calls.size(),
                                 [&](std::size_t i) {
                                   ++calls[i];
                                   if (i == 13) throw std::runtime_error("thirteen");
                                 }),
                    "thirteen");
  CHECK(std::vector<int>(calls.begin(), calls.end()) == std::vector<int>(100, 1));
  CHECK(Calls(pool, 100) == std::vector<int>(100, 1));
}

constexpr const char* kMoreThreads = "STEMTAP_TEST_MORE_THREADS";

// Runs in a new process, because a forked child of a process that has had threads cannot start
// threads.
TEST_CASE("a process with a low limit of threads" * doctest::skip()) {
  const char* more = std::getenv(kMoreThreads);
  REQUIRE(more != nullptr);
  // The limit does not apply to root, and it counts the threads of all processes of a user.
  const auto user = static_cast<uid_t>(1'000'000 + ::getpid());
  const rlim_t most = 1 + std::strtoul(more, nullptr, 10);
  const rlimit limit = {most, most};
  if (::geteuid() != 0 || ::setresuid(user, user, user) != 0 ||
      ::setrlimit(RLIMIT_NPROC, &limit) != 0) {
    MESSAGE("SKIPPED: only root can switch to another user with a separate limit");
    return;
  }
  std::atomic<unsigned> possible{0};
  {
    std::vector<std::thread> threads;
    try {
      for (; threads.size() < 20; ++possible) {
        threads.emplace_back([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
      }
    } catch (const std::system_error&) {
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(possible < most);  // a sanitizer has its own thread
  WorkerPool pool(8);
  for (int i = 0; i < 2; ++i) CHECK(Calls(pool, 1000) == std::vector<int>(1000, 1));
}

TEST_CASE("if threads cannot be started, the calling thread executes each part once") {
  for (const int more : {0, 1, 2, 5, 7}) {
    CAPTURE(more);
    test::ProcessOptions options;
    // The leak sanitizer also needs a thread.
    options.env = {{kMoreThreads, std::to_string(more)}, {"ASAN_OPTIONS", "detect_leaks=0"}};
    const auto run = test::RunProcess(
        {"/proc/self/exe", "--no-skip", "--test-case=a process with a low limit of threads"},
        options);
    CAPTURE(run.out);
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("1 passed") != std::string::npos);
  }
}

}  // namespace
}  // namespace stemtap
