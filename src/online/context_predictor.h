// SPDX-License-Identifier: Apache-2.0
//
// ContextPredictor learns, for one kernel, which cluster the launches of a context fall into.
// Contexts are those of wire/context_key.h: specific (with the two preceding kernels), by launch
// configuration, by name alone. A kernel of a CUDA graph has one more, its node, learned only where
// its history does not tell: two nodes of one kernel may have the same predecessors.
//
// Each context keeps a majority vote (Boyer and Moore 1981) over the clusters of its launches: a
// candidate, held as a duration bin so that it survives re-clustering, and a capped count of votes.
// The cap makes it forget: a context whose durations move is predicted anew after at most 2 x
// kMostVotes launches.
//
// Memory is bounded: at most kMostContexts contexts a kernel. A kernel whose grid grows with every
// token would fill it without end; beyond the limit new contexts are not learned and the gate falls
// back to the name, whose vote follows the latest launches.
//
// THREADS: none.  SOURCE: docs/math/online.md, finding 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/context_key.h"
#include "shm/gate_table.h"
#include "shm/record.h"

namespace stemtap {

// The key of a graph's node, 0 for a launch that is of none. Where the gate is asked at the launch
// there is no such key: the kernels of a graph are launched all at once.
inline std::uint64_t NodeKey(std::uint64_t config_key, const shm::KernelRecord& record) {
  if (record.graph_id == 0) return 0;
  const std::uint64_t node = (std::uint64_t{record.graph_id} << 32) | record.graph_node;
  return shm::MixKeys(shm::MixKeys(config_key, 3), node);
}

class ContextPredictor {
 public:
  // 512 contexts of 24 bytes are 12 KiB a kernel at most. The busiest kernels of the recorded
  // profiles show under 300 (shapes x predecessors).
  static constexpr std::size_t kMostContexts = 512;
  // Of these, nodes: a program that makes graphs without end shall not keep histories from being
  // learned.
  static constexpr std::size_t kMostNodes = kMostContexts / 2;
  // A prediction is given out from 2 votes on: one sight is chance. Capped at 15: a shift of the
  // durations is followed within 30 launches, a burst of 14 outliers is not.
  static constexpr std::int32_t kTrustedVotes = 2;
  static constexpr std::int32_t kMostVotes = 15;

  struct Context {
    std::uint64_t key = 0;            // 0: free
    std::uint32_t candidate_bin = 0;  // LogSketch bin of the latest launch that agreed
    std::int16_t votes = 0;
    bool dirty = false;  // its prediction may have changed since the last Publish
    std::uint32_t published_slot = shm::kNoSlot;

    bool trusted() const { return votes >= kTrustedVotes; }
  };
  // No context predicts the launch.
  static constexpr std::uint32_t kNoBin = ~std::uint32_t{0};

  // The context that stands for all launches of the kernel, always there: its name, or its
  // configuration where kernels are told apart by it.
  explicit ContextPredictor(std::uint64_t name_key) { name_.key = name_key; }

  // Notes that a launch with these keys fell into `bin`, whose cluster is cluster_of(bin). `node_key`
  // 0: it is no node of a graph. Returns the bin that was predicted for the launch, by its most special
  // context that is trusted; kNoBin: none is.
  template <typename ClusterOf>
  std::uint32_t Observe(std::uint64_t history_key, std::uint64_t config_key, std::uint32_t bin,
                        const ClusterOf& cluster_of, std::uint64_t node_key = 0) {
    std::uint32_t predicted = kNoBin;
    const auto predict = [&predicted](const Context& context) {
      if (context.trusted()) predicted = context.candidate_bin;
    };
    predict(name_);
    Vote(name_, bin, cluster_of);
    if (config_key == name_.key) {  // the kernel is the launches of one configuration
      last_config_ = kNowhere;
    } else if (Context* const config = ConfigOf(config_key)) {
      predict(*config);
      Vote(*config, bin, cluster_of);
    }
    const std::size_t history = FindOrAdd(history_key);
    bool told = false;
    if (history != kNowhere) {
      predict(slots_[history]);
      told = Vote(slots_[history], bin, cluster_of);
    }
    if (node_key == 0) return predicted;
    std::size_t node = Find(node_key);
    if (node == kNowhere && !told && nodes_ < kMostNodes) {
      node = FindOrAdd(node_key);
      nodes_ += node != kNowhere;
    }
    if (node != kNowhere) {
      predict(slots_[node]);
      Vote(slots_[node], bin, cluster_of);
    }
    return predicted;
  }
  // Calls visit(context) for each context whose prediction may have changed, all of them when
  // `everything` (the clusters were cut anew), and clears the marks.
  template <typename Visit>
  void ForEachChanged(bool everything, const Visit& visit) {
    if (!any_dirty_ && !everything) return;
    if (name_.dirty || everything) {
      name_.dirty = false;
      visit(name_);
    }
    for (Context& context : slots_) {
      if (context.key == 0 || !(context.dirty || everything)) continue;
      context.dirty = false;
      visit(context);
    }
    any_dirty_ = false;
  }

  std::size_t size() const { return size_; }          // without the name's
  std::uint64_t refused() const { return refused_; }  // launches of contexts beyond the limit

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  // Whether the launch fell where the context had it; so does the first.
  template <typename ClusterOf>
  bool Vote(Context& context, std::uint32_t bin, const ClusterOf& cluster_of) {
    if (context.votes == 0) {
      const bool first_sight = context.candidate_bin == 0;
      context.candidate_bin = bin;
      context.votes = 1;
      return first_sight;
    }
    if (context.candidate_bin == bin || cluster_of(context.candidate_bin) == cluster_of(bin)) {
      context.candidate_bin = bin;
      if (context.votes < kMostVotes && ++context.votes == kTrustedVotes) MarkDirty(context);
      return true;
    }
    if (--context.votes == kTrustedVotes - 1) MarkDirty(context);
    return false;
  }

  // The context of a configuration; null if there is no room.
  Context* ConfigOf(std::uint64_t config_key) {
    // A kernel is mostly launched as it was the last time: no look-up then.
    if (last_config_ == kNowhere || slots_[last_config_].key != config_key) {
      last_config_ = FindOrAdd(config_key);
    }
    return last_config_ == kNowhere ? nullptr : &slots_[last_config_];
  }

  void MarkDirty(Context& context) {
    context.dirty = true;
    any_dirty_ = true;
  }

  // Where the context with `key` is in slots_; kNowhere if it is not.
  std::size_t Find(std::uint64_t key) const {
    if (slots_.empty()) return kNowhere;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 40) & mask;
    for (; slots_[at].key != 0; at = (at + 1) & mask) {
      if (slots_[at].key == key) return at;
    }
    return kNowhere;
  }

  // Where the context with `key` is in slots_; kNowhere if it is new and there is no room.
  std::size_t FindOrAdd(std::uint64_t key) {
    if (slots_.empty()) slots_.resize(8);
    for (;;) {
      const std::size_t mask = slots_.size() - 1;
      // The gate table uses the low bits of a key as its home; the high ones are as good and
      // independent.
      std::size_t at = (key >> 40) & mask;
      while (slots_[at].key != 0) {
        if (slots_[at].key == key) return at;
        at = (at + 1) & mask;
      }
      if (size_ >= kMostContexts) {
        ++refused_;
        return kNowhere;
      }
      if (2 * (size_ + 1) <= slots_.size()) {
        ++size_;
        slots_[at].key = key;
        return at;
      }
      Grow();
    }
  }

  void Grow() {
    std::vector<Context> old(slots_.size() * 2);
    old.swap(slots_);
    last_config_ = kNowhere;
    const std::size_t mask = slots_.size() - 1;
    for (const Context& context : old) {
      if (context.key == 0) continue;
      std::size_t at = (context.key >> 40) & mask;
      while (slots_[at].key != 0) at = (at + 1) & mask;
      slots_[at] = context;
    }
  }

  Context name_;
  std::vector<Context> slots_;          // open addressing, a power of two, at most half full
  std::size_t last_config_ = kNowhere;  // where the configuration of the last launch is
  std::size_t size_ = 0;
  std::size_t nodes_ = 0;  // of these
  std::uint64_t refused_ = 0;
  bool any_dirty_ = false;
};

}  // namespace stemtap
