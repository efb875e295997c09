// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/sequence.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace stemtap::analysis {
namespace {

using Sequence = std::vector<std::uint32_t>;

Sequence Letters(std::string_view text) {
  Sequence sequence;
  for (const char letter : text) sequence.push_back(static_cast<std::uint32_t>(letter - 'a'));
  return sequence;
}

// Aligns two sequences and checks the properties that every pairing has.
std::vector<SequencePair> Align(const Sequence& a, const Sequence& b, std::size_t symbols = 26) {
  const std::vector<SequencePair> pairs = AlignSequences(a, b, symbols);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].a >= a.size() || pairs[i].b >= b.size()) {
      ++wrong;
      continue;
    }
    wrong += a[pairs[i].a] != b[pairs[i].b];
    wrong += i > 0 && (pairs[i].a <= pairs[i - 1].a || pairs[i].b <= pairs[i - 1].b);
  }
  CHECK(wrong == 0);
  return pairs;
}

std::size_t Paired(std::string_view a, std::string_view b) {
  return Align(Letters(a), Letters(b)).size();
}

// Returns the length of the longest common subsequence, computed with the full table.
std::size_t Longest(const Sequence& a, const Sequence& b) {
  std::vector<std::size_t> row(b.size() + 1, 0);
  for (const std::uint32_t x : a) {
    std::size_t corner = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = x == b[j] ? corner + 1 : std::max(row[j], above);
      corner = above;
    }
  }
  return row.back();
}

TEST_CASE("empty sequences and sequences without common symbols have no pairs") {
  CHECK(Paired("", "") == 0);
  CHECK(Paired("abc", "") == 0);
  CHECK(Paired("", "abc") == 0);
  CHECK(Paired("abc", "xyz") == 0);
}

TEST_CASE("equal sequences are paired position by position") {
  const auto pairs = Align(Letters("abcabcabc"), Letters("abcabcabc"));
  REQUIRE(pairs.size() == 9);
  CHECK(pairs[4].a == 4);
  CHECK(pairs[4].b == 4);
}

TEST_CASE("an insertion shifts only the following symbols") {
  const auto pairs = Align(Letters("abcabc"), Letters("xabcabc"));
  REQUIRE(pairs.size() == 6);
  for (const SequencePair& pair : pairs) CHECK(pair.b == pair.a + 1);
  CHECK(Paired("abcabc", "abxcabyc") == 6);
  CHECK(Paired("axbxc", "abc") == 3);
}

TEST_CASE("symbols with equal counts are paired by occurrence around unmatched blocks") {
  // x is an autotuning kernel that only b repeats; ab is the loop.
  Sequence a, b;
  for (int i = 0; i < 50; ++i) {
    a.insert(a.end(), {0, 1, 2});
    b.insert(b.end(), {0, 1});
    for (int x = 0; x < i; ++x) b.push_back(2);
  }
  const auto pairs = Align(a, b, 3);
  std::size_t loops = 0;
  for (const SequencePair& pair : pairs) loops += a[pair.a] != 2;
  CHECK(loops == 100);
}

TEST_CASE("small sequences have nearly as many pairs as their longest common subsequence") {
  // This covers all three paths: with few symbols, counts are equal or differ by chance.
  Rng rng(7);
  std::size_t short_of = 0;
  std::size_t longest = 0;
  for (int round = 0; round < 2000; ++round) {
    Sequence a, b;
    const std::size_t symbols = 2 + rng.Below(6);
    for (std::size_t i = rng.Below(24); i > 0; --i) {
      a.push_back(static_cast<std::uint32_t>(rng.Below(symbols)));
    }
    b = a;
    for (std::size_t edits = rng.Below(5); edits > 0; --edits) {
      const std::size_t at = rng.Below(b.size() + 1);
      if (rng.Below(2) == 0 && at < b.size()) {
        b.erase(b.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        b.insert(b.begin() + static_cast<std::ptrdiff_t>(at),
                 static_cast<std::uint32_t>(rng.Below(symbols)));
      }
    }
    const std::size_t best = Longest(a, b);
    const std::size_t found = Align(a, b, symbols).size();
    CHECK(found <= best);
    short_of += best - found;
    longest += best;
  }
  // The pairing is not guaranteed to be the longest; it may have up to 2 % fewer pairs.
  CHECK(short_of * 50 <= longest);
}

TEST_CASE("symbols after a long unmatched block are paired") {
  // The block has 20000 launches of a kernel that also occurs elsewhere. That exceeds Myers' bound.
  // The block is in the middle: at either end, pairing equal prefixes and suffixes would suffice.
  Rng rng(11);
  Sequence a;
  for (int i = 0; i < 60000; ++i) a.push_back(static_cast<std::uint32_t>(rng.Below(50)));
  Sequence b = {50};
  b.insert(b.end(), a.begin(), a.begin() + 30000);
  b.insert(b.end(), 20000, 3);
  b.insert(b.end(), a.begin() + 30000, a.end());
  b.push_back(50);
  a.push_back(51);
  CHECK(Align(a, b, 52).size() == 60000);
}

TEST_CASE("sequences that exceed the edit bound are still paired in order") {
  // Every count differs, so only the edit script can pair symbols; it exceeds the bound.
  Rng rng(3);
  Sequence a, b;
  for (int i = 0; i < 60000; ++i) {
    const auto symbol = static_cast<std::uint32_t>(rng.Below(40));
    a.push_back(symbol);
    if (rng.Below(5) != 0) b.push_back(symbol);
  }
  b.push_back(0);
  CHECK(Align(a, b, 40).size() > 30000);
}

TEST_CASE("dissimilar sequences of the same kernels are aligned quickly") {
  Rng rng(5);
  Sequence a, b;
  for (int i = 0; i < 30000; ++i) {
    a.push_back(static_cast<std::uint32_t>(rng.Below(100)));
    b.push_back(static_cast<std::uint32_t>(rng.Below(100)));
  }
  CHECK(Align(a, b, 100).size() > 0);
}

}  // namespace
}  // namespace stemtap::analysis
