// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/sequence.h"

#include <algorithm>
#include <cstddef>

namespace stemtap::analysis {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;

// Number of rounds in which regions are split by occurrence numbers before Myers' algorithm aligns
// the rest. The second round finds symbols that occur equally often between two pairs but not
// overall. A third round found nothing more in the recorded runs.
constexpr int kOccurrenceRounds = 2;

// Initial and minimum number of edits that Myers' algorithm searches for. The search takes the
// square of this number in time and twice the square in bytes (4096: 17 million steps, 34 MB). If
// it fails, the furthest point reached is used and the bound is halved, down to the minimum. From
// then on, the total cost is n times the minimum. With a smaller minimum, smaller differences would
// end the search.
constexpr std::int64_t kMaxEdits = 4096;
constexpr std::int64_t kMinEditLimit = 256;

struct Region {
  std::uint32_t a_begin, a_end, b_begin, b_end;
  int round;
};

class Aligner {
 public:
  Aligner(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, std::size_t symbols)
      : a_(a), b_(b), count_a_(symbols, 0), count_b_(symbols, 0), first_b_(symbols, 0) {}

  std::vector<SequencePair> Run() {
    todo_.push_back(
        {0, static_cast<std::uint32_t>(a_.size()), 0, static_cast<std::uint32_t>(b_.size()), 0});
    while (!todo_.empty()) {
      Region region = todo_.back();
      todo_.pop_back();
      Trim(region);
      if (region.a_begin == region.a_end || region.b_begin == region.b_end) continue;
      if (region.round >= kOccurrenceRounds || !SplitByOccurrence(region)) Edit(region);
    }
    std::sort(pairs_.begin(), pairs_.end(),
              [](const SequencePair& x, const SequencePair& y) { return x.a < y.a; });
    return std::move(pairs_);
  }

 private:
  void Trim(Region& r) {
    while (r.a_begin < r.a_end && r.b_begin < r.b_end && a_[r.a_begin] == b_[r.b_begin]) {
      pairs_.push_back({r.a_begin++, r.b_begin++});
    }
    while (r.a_begin < r.a_end && r.b_begin < r.b_end && a_[r.a_end - 1] == b_[r.b_end - 1]) {
      pairs_.push_back({--r.a_end, --r.b_end});
    }
  }

  void Count(const Region& r) {
    for (std::uint32_t i = r.a_begin; i < r.a_end; ++i) ++count_a_[a_[i]];
    for (std::uint32_t i = r.b_begin; i < r.b_end; ++i) ++count_b_[b_[i]];
  }

  // Counts are 0 between regions. Clearing them by region costs the length of the region, not the
  // number of symbols.
  void ClearCounts(const Region& r) {
    for (std::uint32_t i = r.a_begin; i < r.a_end; ++i) count_a_[a_[i]] = 0;
    for (std::uint32_t i = r.b_begin; i < r.b_end; ++i) count_b_[b_[i]] = 0;
  }

  // Returns false if no symbol occurs equally often.
  bool SplitByOccurrence(const Region& r) {
    Count(r);
    // Positions of each symbol's occurrences in b, grouped by symbol; first_b_ is the next
    // position.
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = r.b_begin; i < r.b_end; ++i) {
      const std::uint32_t symbol = b_[i];
      if (count_a_[symbol] != count_b_[symbol]) continue;  // or seen before: kNone
      first_b_[symbol] = static_cast<std::uint32_t>(places.size());
      places.resize(places.size() + count_b_[symbol]);
      count_b_[symbol] = kNone;  // marks symbols of equal count
    }
    std::vector<SequencePair> candidates;
    if (!places.empty()) {
      for (std::uint32_t i = r.b_begin; i < r.b_end; ++i) {
        const std::uint32_t symbol = b_[i];
        if (count_b_[symbol] == kNone) places[first_b_[symbol]++] = i;
      }
      for (std::uint32_t i = r.a_end; i-- > r.a_begin;) {
        const std::uint32_t symbol = a_[i];
        if (count_b_[symbol] == kNone) {
          candidates.push_back({i, places[--first_b_[symbol]]});
        }
      }
      std::reverse(candidates.begin(), candidates.end());
    }
    ClearCounts(r);
    if (candidates.empty()) return false;
    const std::vector<SequencePair> kept = LongestAscending(candidates);
    std::uint32_t a = r.a_begin;
    std::uint32_t b = r.b_begin;
    for (const SequencePair& pair : kept) {
      if (a < pair.a && b < pair.b) todo_.push_back({a, pair.a, b, pair.b, r.round + 1});
      a = pair.a + 1;
      b = pair.b + 1;
    }
    if (a < r.a_end && b < r.b_end) todo_.push_back({a, r.a_end, b, r.b_end, r.round + 1});
    pairs_.insert(pairs_.end(), kept.begin(), kept.end());
    return true;
  }

  // Returns the longest subsequence of `pairs`, which are ascending in a, that is also ascending in
  // b.
  static std::vector<SequencePair> LongestAscending(const std::vector<SequencePair>& pairs) {
    std::vector<std::uint32_t>
        tails;  // tails[l]: the pair with the smallest b that ends a sequence of l + 1
    std::vector<std::uint32_t> before(pairs.size(), kNone);
    for (std::uint32_t i = 0; i < pairs.size(); ++i) {
      const auto at =
          std::lower_bound(tails.begin(), tails.end(), pairs[i].b,
                           [&](std::uint32_t tail, std::uint32_t b) { return pairs[tail].b < b; });
      if (at != tails.begin()) before[i] = *(at - 1);
      if (at == tails.end()) {
        tails.push_back(i);
      } else {
        *at = i;
      }
    }
    std::vector<SequencePair> kept(tails.size());
    std::uint32_t next = tails.back();
    for (std::size_t l = tails.size(); l-- > 0; next = before[next]) kept[l] = pairs[next];
    return kept;
  }

  // Aligns the rest of a region by edits. Symbols that occur on one side only cannot be paired and
  // are removed first, which makes regions of unrelated kernels cheap.
  void Edit(const Region& r) {
    Count(r);
    std::vector<std::uint32_t> a, b;
    for (std::uint32_t i = r.a_begin; i < r.a_end; ++i) {
      if (count_b_[a_[i]] != 0) a.push_back(i);
    }
    for (std::uint32_t i = r.b_begin; i < r.b_end; ++i) {
      if (count_a_[b_[i]] != 0) b.push_back(i);
    }
    ClearCounts(r);
    std::size_t from_a = 0;
    std::size_t from_b = 0;
    while (from_a < a.size() && from_b < b.size()) EditOnce(a, b, from_a, from_b);
  }

  // Runs Myers' algorithm from (from_a, from_b) to the end, or to the furthest point within the
  // edit bound, and moves from_a and from_b there.
  void EditOnce(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
                std::size_t& from_a, std::size_t& from_b) {
    const auto n = static_cast<std::int64_t>(a.size() - from_a);
    const auto m = static_cast<std::int64_t>(b.size() - from_b);
    const auto same = [&](std::int64_t x, std::int64_t y) {
      return a_[a[from_a + static_cast<std::size_t>(x)]] ==
             b_[b[from_b + static_cast<std::size_t>(y)]];
    };
    // reach[d][(k + d) / 2]: the furthest x on diagonal k = x - y after d edits; -1: unreachable.
    std::vector<std::vector<std::int32_t>> reach;
    std::int64_t best_d = 0;
    std::int64_t best_k = 0;
    std::int64_t best = -1;
    bool done = false;
    for (std::int64_t d = 0; d <= max_edits_ && !done; ++d) {
      std::vector<std::int32_t>& row = reach.emplace_back(static_cast<std::size_t>(d) + 1, -1);
      for (std::int64_t k = -d; k <= d; k += 2) {
        const std::int64_t x0 = d == 0 ? 0 : Step(reach, d, k, n, m).x;
        if (x0 < 0) continue;
        std::int64_t x = x0;
        while (x < n && x - k < m && same(x, x - k)) ++x;
        row[static_cast<std::size_t>((k + d) / 2)] = static_cast<std::int32_t>(x);
        if (x + x - k > best) {
          best = x + x - k;
          best_d = d;
          best_k = k;
        }
        if (x == n && x - k == m) {
          done = true;
          break;
        }
      }
    }
    if (!done) max_edits_ = std::max(kMinEditLimit, max_edits_ / 2);
    const std::int64_t end_x =
        reach[static_cast<std::size_t>(best_d)][static_cast<std::size_t>((best_k + best_d) / 2)];
    const std::int64_t end_y = end_x - best_k;
    for (std::int64_t d = best_d, k = best_k, x = end_x; d >= 0; --d) {
      const Origin origin = d == 0 ? Origin{0, 0} : Step(reach, d, k, n, m);
      for (; x > origin.x; --x) {
        pairs_.push_back({a[from_a + static_cast<std::size_t>(x) - 1],
                          b[from_b + static_cast<std::size_t>(x - k) - 1]});
      }
      if (d == 0) break;
      x = reach[static_cast<std::size_t>(d) - 1][static_cast<std::size_t>((origin.k + d - 1) / 2)];
      k = origin.k;
    }
    from_a += static_cast<std::size_t>(end_x);
    from_b += static_cast<std::size_t>(end_y);
  }

  struct Origin {
    std::int64_t x;  // where the d-th edit enters diagonal k; -1: it cannot
    std::int64_t k;  // the previous diagonal
  };

  static Origin Step(const std::vector<std::vector<std::int32_t>>& reach, std::int64_t d,
                     std::int64_t k, std::int64_t n, std::int64_t m) {
    const std::vector<std::int32_t>& last = reach[static_cast<std::size_t>(d) - 1];
    Origin origin{-1, k};
    if (k - 1 >= -(d - 1)) {  // skip a symbol of a
      const std::int64_t x = last[static_cast<std::size_t>((k - 1 + d - 1) / 2)];
      if (x >= 0 && x < n) origin = {x + 1, k - 1};
    }
    if (k + 1 <= d - 1) {  // skip a symbol of b
      const std::int64_t x = last[static_cast<std::size_t>((k + 1 + d - 1) / 2)];
      if (x >= 0 && x - k <= m && x > origin.x) origin = {x, k + 1};
    }
    return origin;
  }

  std::span<const std::uint32_t> a_;
  std::span<const std::uint32_t> b_;
  std::vector<std::uint32_t> count_a_;  // of the current region, by symbol
  std::vector<std::uint32_t> count_b_;
  std::vector<std::uint32_t> first_b_;
  std::vector<Region> todo_;
  std::vector<SequencePair> pairs_;
  std::int64_t max_edits_ = kMaxEdits;
};

}  // namespace

std::vector<SequencePair> AlignSequences(std::span<const std::uint32_t> a,
                                         std::span<const std::uint32_t> b, std::size_t symbols) {
  return Aligner(a, b, symbols).Run();
}

}  // namespace stemtap::analysis
