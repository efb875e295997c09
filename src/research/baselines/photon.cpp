// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/photon.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "model/kernel_groups.h"
#include "research/baselines/basic_block_vectors.h"
#include "research/baselines/representatives.h"

namespace stemtap::research {
namespace {

// One kind of warps in a GPU vector.
struct Part {
  double share = 0.0;  // of the launch's warps
  std::uint32_t vector = 0;
  bool operator<(const Part& other) const {
    // Equal shares have a fixed order, so that the order of the file's rows does not matter.
    return share != other.share ? share > other.share : vector < other.vector;
  }
};

// The properties of a launch that Photon uses; launches with equal signatures are treated alike.
struct Signature {
  std::uint64_t warps = 0;
  std::vector<Part> parts;
};

// The state of the search for a signature's best match. Samples are only added, so each sample is
// examined once.
struct Search {
  std::size_t examined = 0;  // samples [0, examined)
  std::size_t best = kNone;  // best of these samples
  std::uint64_t warps_apart = 0;
  double distance = 0.0;
  static constexpr std::size_t kNone = ~std::size_t{0};
};

struct Sample {
  std::uint64_t index = 0;
  std::size_t signature = 0;
  double instructions = 0.0;
  double weight = 1.0;
};

class Photon {
 public:
  explicit Photon(const BasicBlockVectors& vectors) : vectors_(vectors) {
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      double sum = 0.0;
      for (const BlockCount& b : vectors.vector(v)) {
        sum += static_cast<double>(b.count) * static_cast<double>(b.count);
      }
      lengths_.push_back(std::sqrt(sum));
    }
  }

  // Returns the sample that represents the launch: a new or an earlier one.
  std::uint32_t Take(const BasicBlockVectors::Invocation& launch) {
    const std::size_t signature = SignatureOf(launch);
    double instructions = 0.0;
    for (std::size_t k = launch.first; k < launch.end; ++k) {
      instructions += vectors_.kinds[k].instructions;
    }
    Search& search = searches_[signature];
    for (; search.examined < samples_.size(); ++search.examined) Examine(signature, search);
    if (search.best == Search::kNone) {
      samples_.push_back({launch.index, signature, instructions});
      return static_cast<std::uint32_t>(samples_.size() - 1);
    }
    Sample& sample = samples_[search.best];
    const double ratio = instructions / sample.instructions;
    sample.weight += std::isfinite(ratio) ? ratio : 1.0;
    return static_cast<std::uint32_t>(search.best);
  }

  std::vector<WeightedInvocation> Samples() const {
    std::vector<WeightedInvocation> result;
    for (const Sample& s : samples_) result.push_back({s.index, s.weight});
    return result;
  }

 private:
  std::size_t SignatureOf(const BasicBlockVectors::Invocation& launch) {
    Signature signature;
    for (std::size_t k = launch.first; k < launch.end; ++k) {
      signature.warps += vectors_.kinds[k].warps;
    }
    std::map<std::uint32_t, std::uint64_t> warps;  // by vector, in case one is listed twice
    for (std::size_t k = launch.first; k < launch.end; ++k) {
      warps[vectors_.kinds[k].vector] += vectors_.kinds[k].warps;
    }
    for (const auto& [vector, count] : warps) {
      signature.parts.push_back(
          {static_cast<double>(count) / static_cast<double>(signature.warps), vector});
    }
    std::sort(signature.parts.begin(), signature.parts.end());
    std::vector<std::uint64_t> key = {signature.warps};
    for (const Part& part : signature.parts) {
      key.push_back(std::bit_cast<std::uint64_t>(part.share));
      key.push_back(part.vector);
    }
    const auto [at, added] = ids_.emplace(std::move(key), signatures_.size());
    if (added) {
      signatures_.push_back(std::move(signature));
      searches_.emplace_back();
    }
    return at->second;
  }

  // Examines the next sample and records it if it is near and better than the best so far.
  void Examine(std::size_t signature, Search& search) const {
    const Signature& a = signatures_[signature];
    const Signature& b = signatures_[samples_[search.examined].signature];
    const std::uint64_t apart = a.warps > b.warps ? a.warps - b.warps : b.warps - a.warps;
    if (apart > 0 && std::min(a.warps, b.warps) < kPhotonFullGpuWarps) return;
    if (search.best != Search::kNone && apart > search.warps_apart) return;
    const double distance = Distance(a, b);
    if (distance >= kPhotonDistance) return;
    if (search.best == Search::kNone ||
        std::tie(apart, distance) < std::tie(search.warps_apart, search.distance)) {
      search.best = search.examined;
      search.warps_apart = apart;
      search.distance = distance;
    }
  }

  double Distance(const Signature& a, const Signature& b) const {
    // Part by part, |s u - t v|^2 = s^2 + t^2 - 2 s t u.v for vectors u, v of length 1.
    double sum = 0.0;
    const std::size_t both = std::min(a.parts.size(), b.parts.size());
    for (std::size_t p = 0; p < both; ++p) {
      const double s = a.parts[p].share;
      const double t = b.parts[p].share;
      // Rounding may give slightly less than 0.
      const double apart = 1.0 - std::min(1.0, Cosine(a.parts[p].vector, b.parts[p].vector));
      sum += (s - t) * (s - t) + 2.0 * s * t * apart;
    }
    for (std::size_t p = both; p < a.parts.size(); ++p) sum += a.parts[p].share * a.parts[p].share;
    for (std::size_t p = both; p < b.parts.size(); ++p) sum += b.parts[p].share * b.parts[p].share;
    return std::sqrt(sum);
  }

  double Cosine(std::uint32_t v, std::uint32_t w) const {
    if (v == w) return 1.0;
    double dot = 0.0;
    const auto a = vectors_.vector(v);
    const auto b = vectors_.vector(w);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i].block == b[j].block) {
        dot += static_cast<double>(a[i++].count) * static_cast<double>(b[j++].count);
      } else if (a[i].block < b[j].block) {
        ++i;
      } else {
        ++j;
      }
    }
    return dot / (lengths_[v] * lengths_[w]);
  }

  const BasicBlockVectors& vectors_;
  std::vector<double> lengths_;  // by vector
  std::map<std::vector<std::uint64_t>, std::size_t> ids_;
  std::vector<Signature> signatures_;
  std::vector<Search> searches_;  // by signature
  std::vector<Sample> samples_;
};

}  // namespace

Result<std::unique_ptr<PreparedMethod>> PreparePhoton(const MethodInput& input) {
  if (input.vectors == nullptr) {
    return Error{"photon needs basic-block vectors; expected --bbv with a file of them"};
  }
  const auto& described = input.vectors->invocations;
  if (!described.empty() && described.back().index >= input.groups.size()) {
    return Error{
        fmt::format("photon: the basic-block vectors describe launch {}; expected at most {}, "
                    "the last of the profile",
                    described.back().index, static_cast<std::int64_t>(input.groups.size()) - 1)};
  }
  Photon photon(*input.vectors);
  std::vector<std::uint32_t> cluster_of(input.groups.size(), model::kExcludedKernel);
  std::size_t next = 0;
  for (std::uint64_t i = 0; i < cluster_of.size(); ++i) {
    const bool has = next < described.size() && described[next].index == i;
    if (input.groups[i] != model::kExcludedKernel) {
      if (!has) {
        return Error{fmt::format(
            "photon needs a basic-block vector of every launch; launch {} has none", i)};
      }
      cluster_of[i] = photon.Take(described[next]);
    }
    if (has) ++next;
  }
  return MakeRepresentativeMethod(std::move(cluster_of), photon.Samples());
}

}  // namespace stemtap::research
