// SPDX-License-Identifier: Apache-2.0
//
// Rng is a random number generator: xoshiro256**, seeded through SplitMix64. The standard library
// is not used because its distributions differ between implementations, and a seed must produce the
// same plan everywhere. The gate uses a stateless generator instead (shm/launch_draw.h).
// SOURCE: Blackman and Vigna, Scrambled linear pseudorandom number generators (2018); bounded draws
// after Lemire, Fast random integer generation in an interval (2019).
#pragma once

#include <bit>
#include <cstdint>

namespace stemtap {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15u;
      std::uint64_t x = seed;
      x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
      x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
      word = x ^ (x >> 31);
    }
  }

  std::uint64_t Next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound). REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(Next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t biased = (0 - bound) % bound;  // 2^64 mod bound
      while (static_cast<std::uint64_t>(product) < biased) {
        product = static_cast<Wide>(Next()) * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // Uniform in [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_[4];
};

}  // namespace stemtap
