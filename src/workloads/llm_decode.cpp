// SPDX-License-Identifier: Apache-2.0
#include "workloads/llm_decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace stemtap {
namespace {

constexpr std::uint64_t kMaxLaunches = 1'000'000'000'000;
constexpr unsigned kHeadElements = 128;
constexpr unsigned kVocabulary = 32'000;
constexpr unsigned kPageTokens = 16;  // of the KV cache
constexpr unsigned kMultiprocessors = 132;
constexpr unsigned kBytesPerNs = 2'400;  // of memory, as decode kernels reach it
constexpr std::uint32_t kComputeStream = 7;
constexpr std::uint32_t kCopyStream = 13;

enum KernelKind : std::uint8_t {
  kEmbedding,
  kLayerNorm,
  kGemmPrefill,
  kGemmDecode,
  kRope,
  kKvAppend,
  kKvPageCopy,
  kAttentionPrefill,
  kAttentionDecode,
  kAttentionReduce,
  kResidual,
  kGelu,
  kSoftmax,
  kArgmax,
  kKernelKinds
};

// What all launches of a kernel share.
struct Kernel {
  const char* name;
  std::uint32_t stream;
  std::uint16_t block[3];
  std::uint32_t shared_bytes;
  unsigned noise_percent;  // sigma of the log of a duration, 1 to 5
};

// The names are invented, in the length and manner of template-heavy libraries.
constexpr Kernel kKernels[kKernelKinds] = {
    {"void quarry::nn::embedding_gather_kernel<quarry::half_t, int, 8>(quarry::TensorView<"
     "quarry::half_t const, 2>, quarry::TensorView<int const, 1>, "
     "quarry::TensorView<quarry::half_t, "
     "2>, int)",
     kComputeStream,
     {256, 1, 1},
     0,
     4},
    {"void quarry::nn::layer_norm_rows_kernel<quarry::half_t, float, 8, "
     "quarry::reduce::WarpThenBlock<float, 8> >(quarry::TensorView<quarry::half_t const, 2>, "
     "quarry::TensorView<float const, 1>, quarry::TensorView<float const, 1>, float, "
     "quarry::TensorView<quarry::half_t, 2>)",
     kComputeStream,
     {256, 1, 1},
     1'088,
     3},
    {"void basalt::gemm::PipelinedKernel<basalt::gemm::Mainloop<basalt::Tile<128, 128, 64>, "
     "basalt::WarpGrid<2, 4, 1>, basalt::half_t, basalt::RowMajor, basalt::half_t, "
     "basalt::ColumnMajor, float, basalt::AsyncCopyStages<4> >, basalt::gemm::EpilogueLinear<"
     "basalt::half_t, 8, float, basalt::epilogue::Identity>, basalt::gemm::SwizzledTiles<8> >("
     "basalt::gemm::PipelinedKernel<basalt::gemm::Mainloop<basalt::Tile<128, 128, 64>, "
     "basalt::WarpGrid<2, 4, 1>, basalt::half_t, basalt::RowMajor, basalt::half_t, "
     "basalt::ColumnMajor, float, basalt::AsyncCopyStages<4> >, basalt::gemm::EpilogueLinear<"
     "basalt::half_t, 8, float, basalt::epilogue::Identity>, basalt::gemm::SwizzledTiles<8> "
     ">::Params)",
     kComputeStream,
     {256, 1, 1},
     131'072,
     1},
    {"void basalt::gemv::SkinnyKernel<basalt::gemv::Rows<1>, basalt::Tile<1, 64, 512>, "
     "basalt::half_t, basalt::half_t, float, basalt::gemv::WeightStream<basalt::half_t, 16, "
     "basalt::CacheHint::EvictFirst>, basalt::epilogue::Identity>(basalt::gemv::Problem, "
     "basalt::half_t const*, basalt::half_t const*, basalt::half_t*, float, float)",
     kComputeStream,
     {128, 1, 1},
     16'896,
     2},
    {"void quarry::nn::rotary_embedding_kernel<quarry::half_t, 128, true>(quarry::TensorView<"
     "quarry::half_t, 3>, quarry::TensorView<quarry::half_t, 3>, quarry::TensorView<float const, "
     "2>, "
     "int const*)",
     kComputeStream,
     {64, 2, 1},
     0,
     3},
    {"void quarry::kvcache::append_paged_kernel<quarry::half_t, 16, "
     "128>(quarry::kvcache::PageTable<"
     "quarry::half_t, 16>, quarry::TensorView<quarry::half_t const, 3>, quarry::TensorView<"
     "quarry::half_t const, 3>, int const*)",
     kComputeStream,
     {128, 1, 1},
     0,
     4},
    {"void quarry::kvcache::copy_pages_kernel<quarry::half_t, 16, "
     "uint4>(quarry::kvcache::PageTable<"
     "quarry::half_t, 16>, quarry::kvcache::PageTable<quarry::half_t, 16>, int2 const*, int)",
     kCopyStream,
     {512, 1, 1},
     0,
     5},
    {"void basalt::attention::FusedForward<basalt::attention::Shape<128, 128, 128>, "
     "basalt::half_t, "
     "float, basalt::attention::CausalMask, basalt::attention::OnlineSoftmax<float, true>, "
     "basalt::attention::PagedKeys<16>, 8>(basalt::attention::ForwardParams)",
     kComputeStream,
     {256, 1, 1},
     98'304,
     2},
    {"void basalt::attention::SplitDecode<basalt::attention::Shape<1, 64, 128>, basalt::half_t, "
     "float, basalt::attention::NoMask, basalt::attention::OnlineSoftmax<float, true>, "
     "basalt::attention::PagedKeys<16>, 4>(basalt::attention::DecodeParams)",
     kComputeStream,
     {128, 1, 1},
     36'864,
     3},
    {"void basalt::attention::CombineSplits<basalt::half_t, float, 128, 32>(float const*, float "
     "const*, basalt::half_t*, int, int)",
     kComputeStream,
     {128, 1, 1},
     512,
     4},
    {"void quarry::pointwise::vectorized_kernel<8, quarry::pointwise::AddInto<quarry::half_t>, "
     "quarry::Pack<quarry::half_t*, 2> >(int, quarry::pointwise::AddInto<quarry::half_t>, "
     "quarry::Pack<quarry::half_t*, 2>)",
     kComputeStream,
     {128, 1, 1},
     0,
     4},
    {"void quarry::pointwise::vectorized_kernel<8, quarry::pointwise::GeluTanh<quarry::half_t, "
     "float>, quarry::Pack<quarry::half_t*, 2> >(int, quarry::pointwise::GeluTanh<quarry::half_t, "
     "float>, quarry::Pack<quarry::half_t*, 2>)",
     kComputeStream,
     {128, 1, 1},
     0,
     4},
    {"void quarry::sample::softmax_with_temperature_kernel<quarry::half_t, float, 1024>("
     "quarry::TensorView<quarry::half_t const, 2>, float, quarry::TensorView<float, 2>)",
     kComputeStream,
     {1024, 1, 1},
     4'224,
     3},
    {"void quarry::reduce::block_arg_reduce_kernel<float, long, quarry::reduce::ArgMax<float, "
     "long>, "
     "1024>(quarry::TensorView<float const, 2>, quarry::TensorView<long, 1>)",
     kComputeStream,
     {1024, 1, 1},
     12'288,
     5},
};

constexpr unsigned kMostNoisePercent = 5;
constexpr std::size_t kQuantiles = 4096;
constexpr std::uint64_t kOne = 65'536;  // factors are fixed-point numbers of 16 fractional bits

// kQuantiles equally likely factors, ascending.
using NoiseTable = std::array<std::uint32_t, kQuantiles>;

double Exp(double x) {  // for |x| < 16; own, as the libraries' differ in the last bit
  const double reduced = x / 256.0;
  double term = 1.0;
  double sum = 1.0;
  for (int i = 1; i < 12; ++i) sum += term *= reduced / i;
  for (int i = 0; i < 8; ++i) sum *= sum;
  return sum;
}

// The upper half of the normal quantiles (i + 1/2) / kQuantiles: Newton's method on the power
// series of the distribution function, from one quantile to the next.
std::vector<double> UpperNormalQuantiles() {
  constexpr double kInverseRootTwoPi = 0.3989422804014327;
  std::vector<double> quantiles;
  double z = 0.0;
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(kQuantiles);
    for (int step = 0; step < 8; ++step) {
      double term = z;
      double sum = z;
      for (int odd = 3; term > 1e-18; odd += 2) sum += term *= z * z / odd;
      const double density = kInverseRootTwoPi * Exp(-0.5 * z * z);
      z += (p - 0.5) / density - sum;
    }
    quantiles.push_back(z);
  }
  return quantiles;
}

// Log-normal factors of median 1, indexed by their sigma in percent.
std::vector<NoiseTable> MakeNoiseTables() {
  const std::vector<double> upper = UpperNormalQuantiles();
  std::vector<NoiseTable> tables(kMostNoisePercent + 1);
  for (unsigned percent = 0; percent <= kMostNoisePercent; ++percent) {
    for (std::size_t i = 0; i < upper.size(); ++i) {
      const double log = upper[i] * percent / 100.0;
      const double one = static_cast<double>(kOne);
      tables[percent][kQuantiles / 2 + i] = static_cast<std::uint32_t>(Exp(log) * one + 0.5);
      tables[percent][kQuantiles / 2 - 1 - i] = static_cast<std::uint32_t>(Exp(-log) * one + 0.5);
    }
  }
  return tables;
}

const std::vector<NoiseTable>& NoiseTables() {
  static const std::vector<NoiseTable> tables = MakeNoiseTables();
  return tables;
}

// Launch is one launch of a step before the noise.
struct Launch {
  wire::KernelRecord record;
  KernelKind kind = kEmbedding;
  std::uint64_t median_ns = 0;
};

std::uint64_t CeilDivide(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Script is the sequence of forward passes: for each request one prefill of the whole prompt, then
// one decode step per token. A step is its head, the same layer `layers` times, and its tail.
class Script {
 public:
  explicit Script(const LlmDecodeOptions& options)
      : layers_(options.layers),
        heads_(options.heads),
        hidden_(options.heads * kHeadElements),
        split_tokens_(options.split_tokens),
        rng_(options.seed) {
    NextStep();
  }

  // The launch at hand.
  const Launch& launch() const { return part()[at_]; }
  // Whether it is the first of a step, of a request.
  bool begins_step() const { return first_; }
  bool begins_request() const { return first_ && prefill_; }

  void Advance() {
    first_ = false;
    if (++at_ < part().size()) return;
    at_ = 0;
    if (++part_ > layers_ + 1) NextStep();
  }

 private:
  // Part 0 is the head, 1 to layers the layers, layers + 1 the tail.
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

  // A forward pass of `rows` tokens at once.
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
    if (rows > 1 || context_ % kPageTokens == 0) {  // pages that are full now
      const std::uint64_t pages = std::max<std::uint64_t>(1, rows / kPageTokens);
      Add(layer_, kKvPageCopy, {pages, 2, 1}, 2'400 + pages * 60);
    }
    AddGemm(layer_, rows, hidden_, hidden_);  // output projection
    AddPointwise(layer_, kResidual, 1'800, elements);
    AddLayerNorm(layer_, rows);
    AddGemm(layer_, rows, 4 * hidden_, hidden_);  // up
    AddPointwise(layer_, kGelu, 2'000, 4 * elements);
    AddGemm(layer_, rows, hidden_, 4 * hidden_);  // down: name and grid of the output projection
    AddPointwise(layer_, kResidual, 1'800, elements);

    AddLayerNorm(tail_, 1);  // only the last row is sampled from
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

  // rows x inner times inner x columns.
  void AddGemm(std::vector<Launch>& part, std::uint64_t rows, std::uint64_t columns,
               std::uint64_t inner) {
    if (rows == 1) {  // bound by the weights' way from memory
      Add(part, kGemmDecode, {CeilDivide(columns, 64), 1, 1},
          1'800 + columns * inner * 2 / kBytesPerNs);
    } else {  // bound by arithmetic, in waves of one tile per multiprocessor
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
    const Kernel& kernel = kKernels[kind];
    Launch& launch = part.emplace_back();
    launch.kind = kind;
    launch.median_ns = median_ns;
    launch.record.stream = kernel.stream;
    launch.record.shared_bytes = kernel.shared_bytes;
    for (std::size_t i = 0; i < 3; ++i) {
      launch.record.grid[i] = static_cast<std::uint32_t>(grid[i]);
      launch.record.block[i] = kernel.block[i];
    }
  }

  const std::uint64_t layers_;
  const std::uint64_t heads_;
  const std::uint64_t hidden_;
  const std::uint64_t split_tokens_;
  Rng rng_;
  std::uint64_t context_ = 0;      // tokens in the KV cache, those of this step included
  std::uint64_t answer_left_ = 0;  // decode steps still to come
  std::vector<Launch> head_;
  std::vector<Launch> layer_;
  std::vector<Launch> tail_;
  std::uint64_t part_ = 0;
  std::size_t at_ = 0;
  bool prefill_ = false;
  bool first_ = false;
};

class LlmDecode final : public ProfileReader {
 public:
  explicit LlmDecode(const LlmDecodeOptions& options)
      : options_(options),
        outlier_below_(
            options.outlier_one_in == 0 ? 0 : (std::uint64_t{1} << 32) / options.outlier_one_in),
        script_(options),
        noise_(~(options.noise_seed == 0 ? options.seed : options.noise_seed)) {
    name_ids_.fill(wire::kUnknown32);
  }

  Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit) override {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(limit, options_.launches - launched_));
    batch.metrics.clear();
    batch.records.resize(count);
    for (wire::KernelRecord& record : batch.records) {
      Play(record);
      script_.Advance();
      ++launched_;
    }
    return count;
  }

 private:
  // The launch at hand as it was recorded. One draw gives everything: bits 0 to 11 the noise, 12 to
  // 21 the gap before it, 22 to 31 how slow it is if it is an outlier, 32 to 63 whether it is one.
  void Play(wire::KernelRecord& record) {
    const Launch& launch = script_.launch();
    const std::uint64_t draw = noise_.Next();
    std::uint64_t duration = launch.median_ns * (*noise_table_[launch.kind])[draw % kQuantiles];
    if (launched_ < warm_at_) duration = duration / kOne * WarmUpFactor();
    duration = (duration + kOne / 2) / kOne;
    if ((draw >> 32) < outlier_below_)
      duration = duration * (5'120 + (draw >> 22) % 1024 * 25) / 1024;

    const std::uint64_t gap_draw = (draw >> 12) % 1024;
    std::uint64_t gap = 200 + gap_draw / 2;
    if (script_.begins_step()) gap += 6'000 + gap_draw * 4;         // the host picks the token
    if (script_.begins_request()) gap += 150'000 + gap_draw * 300;  // and waits for a prompt

    record = launch.record;
    record.name_id = NameId(launch.kind);
    record.correlation_id = static_cast<std::uint32_t>(launched_);
    record.duration_ns = duration;
    record.start_ns = clock_ns_ + gap;
    if (record.stream ==
        kCopyStream) {  // runs beside the compute stream, behind the copy before it
      record.start_ns = std::max(record.start_ns, copies_end_ns_);
      copies_end_ns_ = record.start_ns + duration;
      clock_ns_ = record.start_ns;
    } else {
      clock_ns_ = record.start_ns + duration;
    }
  }

  // 1.25 at the first launch, 1.10 at the last of the warm-up; then down to 1 in half that time.
  std::uint64_t WarmUpFactor() const {
    const std::uint64_t warmup = options_.warmup_launches;
    if (launched_ < warmup) return kOne + kOne * (25 * warmup - 15 * launched_) / (100 * warmup);
    return kOne + kOne * (warm_at_ - launched_) / (10 * (warm_at_ - warmup));
  }

  std::uint32_t NameId(KernelKind kind) {
    if (name_ids_[kind] == wire::kUnknown32) name_ids_[kind] = names_.Intern(kKernels[kind].name);
    return name_ids_[kind];
  }

  static std::array<const NoiseTable*, kKernelKinds> NoiseByKind() {
    std::array<const NoiseTable*, kKernelKinds> tables{};
    for (std::size_t kind = 0; kind < kKernelKinds; ++kind) {
      tables[kind] = &NoiseTables()[kKernels[kind].noise_percent];
    }
    return tables;
  }

  const LlmDecodeOptions options_;
  const std::uint64_t outlier_below_;
  const std::uint64_t warm_at_ = options_.warmup_launches + options_.warmup_launches / 2;
  const std::array<const NoiseTable*, kKernelKinds> noise_table_ = NoiseByKind();
  Script script_;
  Rng noise_;
  std::array<std::uint32_t, kKernelKinds> name_ids_{};
  std::uint64_t launched_ = 0;
  std::uint64_t clock_ns_ = 0;       // no later launch starts before
  std::uint64_t copies_end_ns_ = 0;  // the copy stream is busy until then
};

// Stands for a run whose options are refused.
class Refused final : public ProfileReader {
 public:
  explicit Refused(Error error) : error_(std::move(error)) {}
  Result<std::size_t> Read(ProfileBatch& batch, std::size_t) override {
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
    return Error{fmt::format("llm-decode: {} is {}, expected {} to {}", range.what, range.value,
                             range.least, range.most),
                 2};
  }
  return Success{};
}

std::unique_ptr<ProfileReader> MakeLlmDecode(const LlmDecodeOptions& options) {
  const Status valid = ValidateLlmDecode(options);
  if (!valid.ok()) return std::make_unique<Refused>(valid.error());
  return std::make_unique<LlmDecode>(options);
}

}  // namespace stemtap
