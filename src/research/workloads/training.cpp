// SPDX-License-Identifier: Apache-2.0
//
// training: steps of data-parallel training. A step has a forward pass, a backward pass with
// concurrent all-reduces, and the optimizer. An all-reduce mostly waits for other ranks.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "research/workloads/generators.h"
#include "research/workloads/playback.h"

namespace stemtap::research {
namespace {

constexpr std::uint32_t kNcclStream = 20;
constexpr std::uint64_t kRows[] = {2'048, 4'096, 6'144, 8'192};  // tokens per step
constexpr std::uint64_t kEvaluateEvery = 100;  // every this many steps, only a forward pass

enum KernelKind : std::uint32_t {
  kNorm,
  kNormBackward,
  kGemm,
  kAttention,
  kAttentionBackward,
  kActivation,
  kActivationBackward,
  kResidual,
  kLoss,
  kOptimizer,
  kAllReduce,
  kAllReduceNorm,
  kKernelKinds
};

constexpr Kernel kTable[kKernelKinds] = {
    {"void marl::nn::layer_norm_forward_kernel<marl::bf16, float>(marl::bf16 const*, float*, int)",
     kComputeStream,
     {256, 1, 1},
     1'088,
     3,
     Bound::kMemory},
    {"void marl::nn::layer_norm_backward_kernel<marl::bf16, float>(marl::bf16 const*, float*, int)",
     kComputeStream,
     {256, 1, 1},
     2'176,
     3,
     Bound::kMemory},
    {"void marl::gemm::warp_specialized_kernel<marl::bf16, 128, 256, 64>(marl::gemm::Problem)",
     kComputeStream,
     {384, 1, 1},
     196'608,
     1,
     Bound::kCompute},
    {"void marl::attention::forward_kernel<marl::bf16, 128, true>(marl::attention::Params)",
     kComputeStream,
     {256, 1, 1},
     131'072,
     2,
     Bound::kCompute},
    {"void marl::attention::backward_kernel<marl::bf16, 128, true>(marl::attention::Params)",
     kComputeStream,
     {256, 1, 1},
     147'456,
     2,
     Bound::kCompute},
    {"void marl::pointwise::vectorized_kernel<marl::Gelu<marl::bf16>, 8>(marl::bf16*, long)",
     kComputeStream,
     {128, 1, 1},
     0,
     3,
     Bound::kMemory},
    {"void marl::pointwise::vectorized_kernel<marl::GeluGradient<marl::bf16>, 8>(marl::bf16*, "
     "long)",
     kComputeStream,
     {128, 1, 1},
     0,
     3,
     Bound::kMemory},
    {"void marl::pointwise::vectorized_kernel<marl::AddDropout<marl::bf16>, 8>(marl::bf16*, long)",
     kComputeStream,
     {128, 1, 1},
     0,
     4,
     Bound::kMemory},
    {"void marl::nn::cross_entropy_kernel<marl::bf16, float>(marl::bf16 const*, long const*, "
     "float*)",
     kComputeStream,
     {1'024, 1, 1},
     4'224,
     3,
     Bound::kMemory},
    {"void marl::optimizer::multi_tensor_adam_kernel<float, marl::bf16>(marl::TensorLists<4>, "
     "float)",
     kComputeStream,
     {512, 1, 1},
     0,
     3,
     Bound::kMemory},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     kNcclStream,
     {512, 1, 1},
     82'240,
     5,
     Bound::kNetwork},
    {"ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)",
     kNcclStream,
     {512, 1, 1},
     82'240,
     5,
     Bound::kNetwork},
};

// The script of a model with a hidden size of 4,096. Each step is built once per batch size and
// reused.
class Script {
 public:
  explicit Script(const WorkloadOptions& options)
      : layers_(options.layers.value_or(12)), rng_(options.seed) {
    for (std::size_t size = 0; size < std::size(kRows); ++size) {
      Forward(train_[size], kRows[size]);
      evaluate_[size] = train_[size];
      BackwardAndUpdate(train_[size], kRows[size]);
    }
    NextStep();
  }

  const Launch& launch() const { return step()[at_]; }
  void Advance() {
    if (++at_ == step().size()) NextStep();
  }
  static std::string_view Name(std::uint32_t kernel) { return kTable[kernel].name; }
  // The host loads a batch before each step.
  std::uint64_t Gap(std::uint64_t gap_draw) const { return at_ == 0 ? 20'000 + gap_draw * 64 : 0; }

  // An all-reduce waits for the slowest rank. All all-reduces of a step share that rank's delay: 20
  // us times Pareto in seven of eight steps, 2 ms times Pareto in the eighth, at most 50 ms. Each
  // waits 1/2 to 3/2 of the delay (bits 32 to 41 of the draw).
  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t draw, std::uint64_t, Rng& noise) {
    if (at_ == 0) {
      const std::uint64_t fate = noise.Next();
      const std::uint64_t least_ns = fate % 8 == 0 ? 2'000'000 : 20'000;
      wait_ns_ = std::min<std::uint64_t>(
          least_ns * Pareto(static_cast<std::uint32_t>(fate >> 32)) / kOne, 50'000'000);
    }
    const std::uint64_t duration = Rounded(noisy);
    if (launch().bound != Bound::kNetwork) return duration;
    return duration + wait_ns_ * (512 + (draw >> 32) % 1'024) / 1'024;
  }

 private:
  using Step = std::vector<Launch>;

  void NextStep() {
    at_ = 0;
    size_ = rng_.Below(std::size(kRows));
    evaluates_ = ++steps_ % kEvaluateEvery == 0;
  }

  const Step& step() const { return evaluates_ ? evaluate_[size_] : train_[size_]; }

  static void Add(Step& step, KernelKind kind, std::uint64_t blocks, std::uint64_t median_ns) {
    step.push_back(MakeLaunch(kTable[kind], kind, {blocks, 1, 1}, median_ns));
  }

  // Multiplies rows x (inner hidden sizes) into (columns hidden sizes) at 600 Tflop/s: 2 x 4,096^2
  // / 600,000 flop/ns is 56 ns per row and unit.
  static void AddGemm(Step& step, std::uint64_t rows, std::uint64_t columns, std::uint64_t inner) {
    Add(step, kGemm, rows / 128 * columns * 16, 4'000 + rows * columns * inner * 56);
  }

  static void AddPointwise(Step& step, KernelKind kind, std::uint64_t rows, std::uint64_t passes) {
    Add(step, kind, rows * passes / 2, 2'500 + rows * passes * 8);
  }

  void Forward(Step& step, std::uint64_t rows) const {
    for (unsigned layer = 0; layer < layers_; ++layer) {
      AddPointwise(step, kNorm, rows, 2);
      AddGemm(step, rows, 3, 1);
      Add(step, kAttention, rows / 4, 6'000 + rows * 40);
      AddGemm(step, rows, 1, 1);
      AddPointwise(step, kResidual, rows, 3);
      AddPointwise(step, kNorm, rows, 2);
      AddGemm(step, rows, 4, 1);
      AddPointwise(step, kActivation, rows, 8);
      AddGemm(step, rows, 1, 4);  // same name and grid as the output projection
      AddPointwise(step, kResidual, rows, 3);
    }
    AddPointwise(step, kLoss, rows, 16);
  }

  void BackwardAndUpdate(Step& step, std::uint64_t rows) const {
    for (unsigned layer = 0; layer < layers_; ++layer) {
      for (const auto& [columns, inner] : {std::array{1, 4}, std::array{4, 1}, std::array{1, 1}}) {
        if (columns == 4) AddPointwise(step, kActivationBackward, rows, 12);
        for (int gradient = 0; gradient < 2; ++gradient) {  // of the input and of the weights
          AddGemm(step, rows, static_cast<std::uint64_t>(columns),
                  static_cast<std::uint64_t>(inner));
        }
      }
      AddPointwise(step, kNormBackward, rows, 4);
      Add(step, kAttentionBackward, rows / 4, 9'000 + rows * 100);
      AddGemm(step, rows, 3, 1);
      AddGemm(step, rows, 3, 1);
      AddPointwise(step, kNormBackward, rows, 4);
      Add(step, kAllReduce, 24, 1'200'000);  // a layer's gradients: 12 x 4,096^2 x 2 bytes
    }
    Add(step, kAllReduceNorm, 4, 18'000);  // the norm of all gradients
    for (unsigned chunk = 0; chunk < layers_; ++chunk) Add(step, kOptimizer, 2'048, 480'000);
    step[step.size() - layers_].joins = true;
  }

  const unsigned layers_;
  Rng rng_;
  std::array<Step, std::size(kRows)> train_;
  std::array<Step, std::size(kRows)> evaluate_;
  std::size_t size_ = 0;
  bool evaluates_ = false;
  std::size_t at_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t wait_ns_ = 0;
};

}  // namespace

std::unique_ptr<model::ProfileReader> MakeTraining(const WorkloadOptions& options) {
  return std::make_unique<Playback<Script>>(options, Script(options));
}

}  // namespace stemtap::research
