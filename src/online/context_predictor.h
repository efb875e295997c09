// SPDX-License-Identifier: Apache-2.0
//
// ContextPredictor learns, for one kernel, which cluster the launches of a context belong to. The
// contexts are defined in shm/context_key.h: the history (with the two preceding kernels), the
// launch configuration, and the kernel name. A kernel of a CUDA graph has one more context, its
// node. A node is learned only if its history mispredicts: two nodes of one kernel may have the
// same predecessors.
//
// Each context keeps a majority vote (Boyer and Moore 1981) over the clusters of its launches: a
// candidate and a capped number of votes. The candidate is a duration bin, so it stays valid when
// clusters are cut again. Because of the cap, a context whose durations change is predicted again
// after at most 2 x kMaxVotes launches.
//
// Memory is bounded: at most kMaxContexts contexts per kernel. A kernel whose grid grows with
// every token would create contexts without limit. Beyond the limit, new contexts are not learned,
// and the gate falls back to the name, whose vote follows the latest launches.
//
// THREADS: none.  SOURCE: docs/math/online.md, finding 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/context_key.h"
#include "shm/gate_table.h"
#include "shm/record.h"

namespace stemtap::online {

// PredictionRecord stores, for each duration bin of a kernel, the predictions for its latest
// launches. For any cut into clusters, it gives the share of correct predictions:
//
//   predicted ->   none   cluster 0   cluster 1
//   in cluster 0      0         950          50      launches predicted to be in cluster 1:
//   in cluster 1      0           0         100      100 of 150 are in it
//
// The record is by bin, not by cluster, so it stays valid after a new cut. Memory: 36 bytes per
// bin.
//
// THREADS: none.  SOURCE: docs/math/online-bound.md.
class PredictionRecord {
 public:
  // Number of predictions stored per bin. Shares are multiples of one eighth in a bin, and finer in
  // a cluster of several bins.
  static constexpr std::size_t kLatest = 8;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Records that a launch in `bin` was predicted to be in the bin `predicted`, or kNone.
  void Add(std::uint32_t bin, std::uint32_t predicted) {
    Latest& latest = At(bin);
    latest.predicted[latest.count++ % kLatest] = predicted;
  }

  // Calls visit(predicted, share) for each stored prediction of the bin. The shares add up to 1.
  template <typename Visit>
  void ForEach(std::uint32_t bin, const Visit& visit) const {
    if (bin < first_ || bin - first_ >= bins_.size()) return;
    const Latest& latest = bins_[bin - first_];
    const std::size_t known = latest.count < kLatest ? latest.count : kLatest;
    for (std::size_t i = 0; i < known; ++i) {
      visit(latest.predicted[i], 1.0 / static_cast<double>(known));
    }
  }

 private:
  struct Latest {
    std::array<std::uint32_t, kLatest> predicted;
    std::uint32_t count = 0;
  };

  Latest& At(std::uint32_t bin) {
    if (bins_.empty()) first_ = bin;
    if (bin < first_) {
      bins_.insert(bins_.begin(), first_ - bin, Latest{});
      first_ = bin;
    } else if (bin - first_ >= bins_.size()) {
      bins_.resize(bin - first_ + 1);
    }
    return bins_[bin - first_];
  }

  std::uint32_t first_ = 0;
  std::vector<Latest> bins_;
};

class ContextPredictor {
 public:
  // Maximum number of contexts per kernel: 512 contexts of 24 bytes, in a table that is half full,
  // take 24 KiB. The busiest kernels of the recorded profiles have fewer than 300.
  static constexpr std::size_t kMaxContexts = 512;
  // Maximum number of these that are graph nodes. Without it, a program that keeps creating graphs
  // would leave no room for histories.
  static constexpr std::size_t kMaxNodes = kMaxContexts / 2;
  // A prediction is used from 2 votes on, because a single launch may be chance. With a maximum of
  // 15 votes, predictions follow a change of the durations within 30 launches and ignore a burst of
  // 14 outliers.
  static constexpr std::int32_t kTrustedVotes = 2;
  static constexpr std::int32_t kMaxVotes = 15;

  struct Context {
    std::uint64_t key = 0;            // 0: the entry is free
    std::uint32_t candidate_bin = 0;  // LogSketch bin of the latest launch that agreed
    std::int16_t votes = 0;
    bool dirty = false;  // the prediction may have changed since the last Publish
    std::uint32_t published_slot = shm::kNoSlot;

    bool trusted() const { return votes >= kTrustedVotes; }
  };
  // Observe's result if no context predicts the launch.
  static constexpr std::uint32_t kNoBin = ~std::uint32_t{0};

  // The context of all launches of the kernel always exists: its name, or its configuration if
  // kernels are grouped by configuration.
  explicit ContextPredictor(std::uint64_t name_key) { name_.key = name_key; }

  // Records that a launch with these keys fell into `bin`, whose cluster is cluster_of(bin).
  // `node_key` is 0 outside a graph. Returns the bin that the launch's most specific trusted
  // context predicted, or kNoBin.
  template <typename ClusterOf>
  std::uint32_t Observe(std::uint64_t history_key, std::uint64_t config_key, std::uint32_t bin,
                        const ClusterOf& cluster_of, std::uint64_t node_key = 0) {
    std::uint32_t predicted = kNoBin;
    const auto predict = [&predicted](const Context& context) {
      if (context.trusted()) predicted = context.candidate_bin;
    };
    predict(name_);
    Vote(name_, bin, cluster_of);
    if (config_key == name_.key) {  // grouped by configuration
      last_config_ = kNowhere;
    } else if (Context* const config = ConfigOf(config_key)) {
      predict(*config);
      Vote(*config, bin, cluster_of);
    }
    const std::size_t history = FindOrAdd(history_key);
    bool agreed = false;
    if (history != kNowhere) {
      predict(slots_[history]);
      agreed = Vote(slots_[history], bin, cluster_of);
    }
    if (node_key == 0) return predicted;
    std::size_t node = Find(node_key);
    if (node == kNowhere && !agreed && nodes_ < kMaxNodes) {
      node = FindOrAdd(node_key);
      nodes_ += node != kNowhere;
    }
    if (node != kNowhere) {
      predict(slots_[node]);
      Vote(slots_[node], bin, cluster_of);
    }
    return predicted;
  }
  // Calls visit(context) for each context whose prediction may have changed, or for all contexts if
  // `everything` is true (the clusters were cut again). Clears the dirty marks.
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

  std::size_t size() const { return size_; }          // without the context of the name
  std::uint64_t refused() const { return refused_; }  // insertions beyond the limit

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  // Returns whether the launch agrees with the context's candidate, or is the context's first
  // launch.
  template <typename ClusterOf>
  bool Vote(Context& context, std::uint32_t bin, const ClusterOf& cluster_of) {
    if (context.votes == 0) {
      const bool is_first = context.candidate_bin == 0;
      context.candidate_bin = bin;
      context.votes = 1;
      return is_first;
    }
    if (context.candidate_bin == bin || cluster_of(context.candidate_bin) == cluster_of(bin)) {
      context.candidate_bin = bin;
      if (context.votes < kMaxVotes && ++context.votes == kTrustedVotes) MarkDirty(context);
      return true;
    }
    if (--context.votes == kTrustedVotes - 1) MarkDirty(context);
    return false;
  }

  // Returns the context of a configuration, or null if there is no room.
  Context* ConfigOf(std::uint64_t config_key) {
    // Most launches have the same configuration as the previous one; skip the lookup.
    if (last_config_ == kNowhere || slots_[last_config_].key != config_key) {
      last_config_ = FindOrAdd(config_key);
    }
    return last_config_ == kNowhere ? nullptr : &slots_[last_config_];
  }

  void MarkDirty(Context& context) {
    context.dirty = true;
    any_dirty_ = true;
  }

  // Returns the index of the context with `key` in slots_, or kNowhere.
  std::size_t Find(std::uint64_t key) const {
    if (slots_.empty()) return kNowhere;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 40) & mask;
    for (; slots_[at].key != 0; at = (at + 1) & mask) {
      if (slots_[at].key == key) return at;
    }
    return kNowhere;
  }

  // Returns the index of the context with `key` in slots_, adding it if it is new. Returns kNowhere
  // if there is no room.
  std::size_t FindOrAdd(std::uint64_t key) {
    if (slots_.empty()) slots_.resize(8);
    for (;;) {
      const std::size_t mask = slots_.size() - 1;
      // Uses upper bits: the lower bits of a history key do not depend on all bits of the history
      // (context_key.h).
      std::size_t at = (key >> 40) & mask;
      while (slots_[at].key != 0) {
        if (slots_[at].key == key) return at;
        at = (at + 1) & mask;
      }
      if (size_ >= kMaxContexts) {
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
  std::size_t last_config_ = kNowhere;  // index of the configuration of the last launch
  std::size_t size_ = 0;
  std::size_t nodes_ = 0;  // contexts in slots_ that are graph nodes
  std::uint64_t refused_ = 0;
  bool any_dirty_ = false;
};

}  // namespace stemtap::online
