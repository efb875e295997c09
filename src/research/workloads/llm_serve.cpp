// SPDX-License-Identifier: Apache-2.0
//
// llm-serve: a language model answers up to 32 requests at once. Requests arrive in bursts, so
// prefills do too; the duration of decode attention depends on the sum of all contexts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "research/workloads/generators.h"
#include "research/workloads/llm_kernels.h"
#include "research/workloads/playback.h"

namespace stemtap::research {
namespace {

constexpr std::uint64_t kHidden = 2'048;
constexpr std::uint64_t kHeads = 16;
constexpr std::size_t kMaxRequests = 32;
constexpr std::uint64_t kSplitTokens = 256;

class Script {
 public:
  explicit Script(const WorkloadOptions& options)
      : layers_(options.layers.value_or(12)), rng_(options.seed) {
    NextStep();
  }

  const Launch& launch() const { return layer_[at_]; }
  void Advance() {
    first_ = false;
    if (++at_ < layer_.size()) return;
    at_ = 0;
    if (++layers_done_ == layers_) NextStep();
  }
  static std::string_view Name(std::uint32_t kernel) { return kLlmKernels[kernel].name; }
  std::uint64_t Gap(std::uint64_t gap_draw) const { return first_ ? 6'000 + gap_draw * 4 : 0; }
  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t, std::uint64_t, Rng&) const {
    return Rounded(noisy);
  }

 private:
  struct Request {
    std::uint64_t context;
    std::uint64_t answer_left;
  };

  void NextStep() {
    layers_done_ = 0;
    at_ = 0;
    first_ = true;
    std::erase_if(active_, [](const Request& r) { return r.answer_left == 0; });
    if (waiting_ == 0 && (active_.empty() || rng_.Below(64) == 0)) waiting_ = 1 + rng_.Below(16);
    layer_.clear();
    if (waiting_ > 0 && active_.size() < kMaxRequests) {  // prompts go first, one per step
      --waiting_;
      const std::uint64_t least = std::uint64_t{32} << rng_.Below(6);  // 32 to 1024
      const std::uint64_t prompt = least + rng_.Below(least);
      active_.push_back({prompt, 32 + rng_.Below(768)});
      const std::uint64_t blocks = (prompt + 127) / 128;
      Build(prompt, kAttentionPrefill, {blocks, kHeads, 1},
            4'000 + kHeads * blocks * (blocks + 1) / 2 * 1'500 / 132);
      return;
    }
    std::uint64_t tokens = 0;
    std::uint64_t longest = 0;
    for (Request& request : active_) {
      tokens += ++request.context;
      longest = std::max(longest, request.context);
      --request.answer_left;
    }
    const std::uint64_t splits = (longest + kSplitTokens - 1) / kSplitTokens;
    Build(active_.size(), kAttentionDecode, {active_.size(), splits, kHeads},
          3'200 + splits * 150 + tokens * kHidden / 400);
  }

  void Build(std::uint64_t rows, KernelKind attention, const std::array<std::uint64_t, 3>& grid,
             std::uint64_t attention_ns) {
    Add(kLayerNorm, {rows, 1, 1}, 2'400 + rows * kHidden / 500);
    AddGemm(rows, 3 * kHidden, kHidden);
    Add(kRope, {rows, kHeads / 2, 1}, 2'000 + rows * 3);
    Add(kKvAppend, {rows, 2, 1}, 1'900 + rows * 2);
    Add(attention, grid, attention_ns);
    AddGemm(rows, kHidden, kHidden);
    Add(kResidual, {rows * 2, 1, 1}, 1'800 + rows * 3);
    AddGemm(rows, 4 * kHidden, kHidden);
    Add(kGelu, {rows * 8, 1, 1}, 2'000 + rows * 12);
    AddGemm(rows, kHidden, 4 * kHidden);  // same name and grid as the output projection
    Add(kResidual, {rows * 2, 1, 1}, 1'800 + rows * 3);
  }

  void AddGemm(std::uint64_t rows, std::uint64_t columns, std::uint64_t inner) {
    if (rows <= kMaxRequests) {  // limited by loading the weights from memory
      Add(kGemmDecode, {columns / 64, 1, 1}, 1'800 + columns * inner * 2 / 2'400 + rows * 20);
    } else {
      const std::uint64_t tiles = (rows + 127) / 128;
      const std::uint64_t waves = (tiles * (columns / 128) + 131) / 132;
      Add(kGemmPrefill, {columns / 128, tiles, 1}, 3'000 + waves * inner * 9 / 2);
    }
  }

  void Add(KernelKind kind, const std::array<std::uint64_t, 3>& grid, std::uint64_t median_ns) {
    layer_.push_back(MakeLaunch(kLlmKernels[kind], kind, grid, median_ns));
  }

  const unsigned layers_;
  Rng rng_;
  std::vector<Request> active_;
  std::uint64_t waiting_ = 0;  // requests of a burst that are not active yet
  std::vector<Launch> layer_;  // of the current step; all layers are equal
  std::size_t at_ = 0;
  unsigned layers_done_ = 0;
  bool first_ = false;
};

}  // namespace

std::unique_ptr<model::ProfileReader> MakeLlmServe(const WorkloadOptions& options) {
  return std::make_unique<Playback<Script>>(options, Script(options));
}

}  // namespace stemtap::research
