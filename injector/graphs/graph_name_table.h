// SPDX-License-Identifier: Apache-2.0
//
// GraphNameTable maps the ids of executable graphs to their names. Equal names are stored once,
// because a program may instantiate one structure again and again.
//
// An entry is overwritten by the id that is kIds larger. Ids grow by one per graph, so only a graph
// that is launched 65,536 instantiations after its own can lose its name; it is then called by its
// number, never by the name of another graph.
//
// THREADS: Put from any thread, under a lock that is held for a microsecond; Find from any thread,
// without a lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "graphs/graph_problem.h"
#include "graphs/graph_text.h"
#include "startup/runtime.h"

namespace stemtap::inject {

class GraphNameTable {
 public:
  // 512 KiB, touched as it is used.
  static constexpr std::uint32_t kIds = 1u << 16;
  // Maximum different names, 2 MiB, touched as they are used. Programs have a graph per batch size
  // or per layer, some hundred. If smaller, graphs of programs with many shapes are named by
  // number; if larger, the library reserves more addresses in every process.
  static constexpr std::uint32_t kMaxNames = 1u << 13;

  // Sets the name of a graph. REQUIRES: 0 < length <= kGraphNameBytes.
  void Put(std::uint32_t graph_id, const char* name, std::uint32_t length) noexcept;
  // Sets why a graph has no name.
  void PutProblem(std::uint32_t graph_id, GraphProblem problem) noexcept;

  struct Found {
    const char* name = nullptr;  // nullptr: none, see `problem`
    std::uint32_t length = 0;
    GraphProblem problem;
  };
  // Returns the name of a graph. It stays valid.
  Found Find(std::uint32_t graph_id) const noexcept;

 private:
  struct Name {
    std::uint32_t length;
    char text[kGraphNameBytes];
  };

  // An entry is the id and, in the lower half, the index of the name plus 1, or a problem.
  static constexpr std::uint32_t kIsProblem = 1u << 31;
  static constexpr std::uint32_t kBuckets = 2 * kMaxNames;
  static constexpr std::uint32_t kFull = ~std::uint32_t{0};

  void Set(std::uint32_t graph_id, std::uint32_t value) noexcept;
  // Returns the index of the name, or kFull.
  std::uint32_t Intern(const char* name, std::uint32_t length) noexcept;

  // Written by Put on any thread (release: publishes the name), read by Find (acquire).
  std::atomic<std::uint64_t> entries_[kIds] = {};

  SpinLock lock_;
  // Under lock_; a name never changes after its index is published.
  Name names_[kMaxNames] = {};
  std::uint32_t name_count_ = 0;
  std::uint32_t buckets_[kBuckets] = {};  // by hash of the name: its index plus 1; 0: empty
};

}  // namespace stemtap::inject
