// SPDX-License-Identifier: Apache-2.0
#include "research/workloads/llm_decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "research/workloads/llm_kernels.h"
#include "research/workloads/playback.h"

namespace stemtap::research {
namespace {

constexpr std::uint64_t kMaxLaunches = 1'000'000'000'000;
constexpr unsigned kHeadElements = 128;
constexpr unsigned kVocabulary = 32'000;
constexpr unsigned kPageTokens = 16;  // of the KV cache
constexpr unsigned kMultiprocessors = 132;
constexpr unsigned kBytesPerNs = 2'400;  // memory bandwidth that decode kernels reach

std::uint64_t CeilDivide(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Script is the sequence of forward passes: for each request, one prefill of the whole prompt, then
// one decode step per token. A step consists of its head, the same layer `layers` times, and its
// tail. MEMBERS: the parameters of the model, and the position in the sequence.
class Script {
 public:
  explicit Script(const LlmDecodeOptions& options)
      : layers_(options.layers),
        heads_(options.heads),
        hidden_(options.heads * kHeadElements),
        split_tokens_(options.split_tokens),
        warmup_(options.warmup_launches),
        outlier_below_(
            options.outlier_one_in == 0 ? 0 : (std::uint64_t{1} << 32) / options.outlier_one_in),
        rng_(options.seed) {
    NextStep();
  }

  // The current launch.
  const Launch& launch() const { return part()[at_]; }
  static std::string_view Name(std::uint32_t kernel) { return kLlmKernels[kernel].name; }

  // Bits 32 to 63 of the draw decide whether the launch is an outlier, bits 22 to 31 how slow it
  // is.
  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t draw, std::uint64_t launched,
                         Rng&) const {
    if (launched < warm_at_) noisy = noisy / kOne * WarmUpFactor(launched);
    const std::uint64_t duration = Rounded(noisy);
    if ((draw >> 32) >= outlier_below_) return duration;
    return duration * (5'120 + (draw >> 22) % 1024 * 25) / 1024;
  }

  std::uint64_t Gap(std::uint64_t gap_draw) const {
    if (!first_) return 0;
    const std::uint64_t gap = 6'000 + gap_draw * 4;          // the host selects the token
    return prefill_ ? gap + 150'000 + gap_draw * 300 : gap;  // the host waits for a prompt
  }

  void Advance() {
    first_ = false;
    if (++at_ < part().size()) return;
    at_ = 0;
    if (++part_ > layers_ + 1) NextStep();
  }

 private:
  // The factor is 1.25 at the first launch and 1.10 at the last launch of the warm-up, then drops
  // to 1 in half that time.
  std::uint64_t WarmUpFactor(std::uint64_t launched) const {
    if (launched < warmup_) {
      return kOne + kOne * (25 * warmup_ - 15 * launched) / (100 * warmup_);
    }
    return kOne + kOne * (warm_at_ - launched) / (10 * (warm_at_ - warmup_));
  }

  // Part 0 is the head, parts 1 to layers are the layers, part layers + 1 is the tail.
  const std::vector<Launch>& part() const {
    return part_ == 0 ? head_ : part_ <= layers_ ? layer_ : tail_;
  }

  void NextStep() {
    part_ = 0;
    at_ = 0;
    first_ = true;
    prefill_ = answer_left_ == 0;
    if (prefill_) {
      const std::uint64_t least = std::uint64_t{32} << rng_.Below(6);  // 32 to 1024
      context_ = least + rng_.Below(least);
      answer_left_ = 32 + rng_.Below(768);
    } else {
      ++context_;
      --answer_left_;
    }
    BuildStep(prefill_ ? context_ : 1);
  }

  // Builds a forward pass of `rows` tokens at once.
  void BuildStep(std::uint64_t rows) {
    const std::uint64_t elements = rows * hidden_;
    head_.clear();
    layer_.clear();
    tail_.clear();
    Add(head_, kEmbedding, {rows, 1, 1}, 2'100 + rows * 3);

    AddLayerNorm(layer_, rows);
    AddGemm(layer_, rows, 3 * hidden_, hidden_);  // queries, keys and values
    Add(layer_, kRope, {rows, CeilDivide(heads_, 2), 1}, 2'000 + rows * 3);
    Add(layer_, kKvAppend, {rows, 2, 1}, 1'900 + rows * 2);
    if (rows > 1) {
      AddPrefillAttention();
    } else {
      AddDecodeAttention();
    }
    if (rows > 1 || context_ % kPageTokens == 0) {  // pages that have just become full
      const std::uint64_t pages = std::max<std::uint64_t>(1, rows / kPageTokens);
      Add(layer_, kKvPageCopy, {pages, 2, 1}, 2'400 + pages * 60);
    }
    AddGemm(layer_, rows, hidden_, hidden_);  // output projection
    AddPointwise(layer_, kResidual, 1'800, elements);
    AddLayerNorm(layer_, rows);
    AddGemm(layer_, rows, 4 * hidden_, hidden_);  // up
    AddPointwise(layer_, kGelu, 2'000, 4 * elements);
    AddGemm(layer_, rows, hidden_, 4 * hidden_);  // down: same name and grid as output projection
    AddPointwise(layer_, kResidual, 1'800, elements);

    AddLayerNorm(tail_, 1);  // only the last row is used for sampling
    AddGemm(tail_, 1, kVocabulary, hidden_);
    Add(tail_, kSoftmax, {1, 1, 1}, 8'200);
    Add(tail_, kArgmax, {1, 1, 1}, 5'600);
  }

  void AddLayerNorm(std::vector<Launch>& part, std::uint64_t rows) {
    Add(part, kLayerNorm, {rows, 1, 1}, 2'400 + rows * hidden_ / 500);
  }

  void AddPointwise(std::vector<Launch>& part, KernelKind kind, std::uint64_t latency_ns,
                    std::uint64_t elements) {
    Add(part, kind, {CeilDivide(elements, 1024), 1, 1}, latency_ns + elements / 700);
  }

  // Multiplies rows x inner by inner x columns.
  void AddGemm(std::vector<Launch>& part, std::uint64_t rows, std::uint64_t columns,
               std::uint64_t inner) {
    if (rows == 1) {  // limited by loading the weights from memory
      Add(part, kGemmDecode, {CeilDivide(columns, 64), 1, 1},
          1'800 + columns * inner * 2 / kBytesPerNs);
    } else {  // limited by arithmetic, in waves of one tile per multiprocessor
      const std::uint64_t tiles_m = CeilDivide(rows, 128);
      const std::uint64_t tiles_n = CeilDivide(columns, 128);
      const std::uint64_t waves = CeilDivide(tiles_m * tiles_n, kMultiprocessors);
      Add(part, kGemmPrefill, {tiles_n, tiles_m, 1}, 3'000 + waves * inner * 9 / 2);
    }
  }

  void AddPrefillAttention() {
    const std::uint64_t blocks = CeilDivide(context_, 128);
    const std::uint64_t tiles = heads_ * blocks * (blocks + 1) / 2;  // below the diagonal
    Add(layer_, kAttentionPrefill, {blocks, heads_, 1}, 4'000 + tiles * 1'500 / kMultiprocessors);
  }

  void AddDecodeAttention() {
    const std::uint64_t splits = CeilDivide(context_, split_tokens_);
    Add(layer_, kAttentionDecode, {1, splits, heads_},
        3'200 + splits * 150 + context_ * hidden_ / 205);
    if (splits > 1) {
      Add(layer_, kAttentionReduce, {heads_, 1, 1}, 2'000 + splits * 50);
    }
  }

  static void Add(std::vector<Launch>& part, KernelKind kind,
                  const std::array<std::uint64_t, 3>& grid, std::uint64_t median_ns) {
    part.push_back(MakeLaunch(kLlmKernels[kind], kind, grid, median_ns));
  }

  const std::uint64_t layers_;
  const std::uint64_t heads_;
  const std::uint64_t hidden_;
  const std::uint64_t split_tokens_;
  const std::uint64_t warmup_;
  const std::uint64_t warm_at_ = warmup_ + warmup_ / 2;
  const std::uint64_t outlier_below_;
  Rng rng_;
  std::uint64_t context_ = 0;      // tokens in the KV cache, including the tokens of this step
  std::uint64_t answer_left_ = 0;  // remaining decode steps
  std::vector<Launch> head_;
  std::vector<Launch> layer_;
  std::vector<Launch> tail_;
  std::uint64_t part_ = 0;
  std::size_t at_ = 0;
  bool prefill_ = false;
  bool first_ = false;
};

// Refused is the reader returned for invalid options.
class Refused final : public model::ProfileReader {
 public:
  explicit Refused(Error error) : error_(std::move(error)) {}
  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t) override {
    batch.records.clear();
    batch.metrics.clear();
    return error_;
  }

 private:
  const Error error_;
};

}  // namespace

Status ValidateLlmDecode(const LlmDecodeOptions& options) {
  struct Range {
    const char* what;
    std::uint64_t value;
    std::uint64_t least;
    std::uint64_t most;
  };
  const Range ranges[] = {{"launches", options.launches, 1, kMaxLaunches},
                          {"layers", options.layers, 1, 256},
                          {"heads", options.heads, 1, 128},
                          {"split tokens", options.split_tokens, 16, 65'536},
                          {"warm-up launches", options.warmup_launches, 0, 1'000'000},
                          {"outlier one in", options.outlier_one_in, 0, 1'000'000'000}};
  for (const Range& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return Error{fmt::format("llm-decode: {} is {}; expected {} to {}", range.what, range.value,
                             range.least, range.most),
                 2};
  }
  return Success{};
}

std::unique_ptr<model::ProfileReader> MakeLlmDecode(const LlmDecodeOptions& options) {
  const Status valid = ValidateLlmDecode(options);
  if (!valid.ok()) return std::make_unique<Refused>(valid.error());
  WorkloadOptions common;
  common.launches = options.launches;
  common.seed = options.seed;
  common.noise_seed = options.noise_seed;
  common.other_gpu = options.other_gpu;
  return std::make_unique<Playback<Script>>(common, Script(options));
}

}  // namespace stemtap::research
