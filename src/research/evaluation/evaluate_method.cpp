// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/evaluate_method.h"

#include <chrono>
#include <utility>

namespace stemtap::research {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

PreparedWorkload::PreparedWorkload(const EvaluatedRun& workload,
                                   std::unique_ptr<PreparedMethod> prepared, double prepare_s)
    : workload_(&workload), prepared_(std::move(prepared)), prepare_s_(prepare_s) {
  const std::span<const std::uint32_t> clusters = prepared_->clusters();
  cluster_ns_.resize(prepared_->cluster_count(), 0.0);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (clusters[i] == model::kExcludedKernel) continue;
    cluster_ns_[clusters[i]] += static_cast<double>(workload.profile.records[i].duration_ns);
  }
}

Result<PreparedWorkload> PreparedWorkload::Create(const EvaluatedRun& workload,
                                                  const MethodEntry& method,
                                                  const sampling::SamplingOptions& options,
                                                  const BasicBlockVectors* vectors) {
  const auto start = Clock::now();
  auto prepared =
      STEMTAP_TRY(method.prepare({workload.profile, workload.groups, options, vectors}));
  const double seconds = SecondsSince(start);
  return PreparedWorkload(workload, std::move(prepared), seconds);
}

RunOutcome PreparedWorkload::Draw(std::uint64_t seed) const {
  const MethodSample drawn = prepared_->Draw(seed);
  const std::span<const std::uint32_t> clusters = prepared_->clusters();
  const auto duration = [this](std::uint64_t index) {
    return static_cast<double>(workload_->profile.records[index].duration_ns);
  };
  // The estimate of each sampled cluster by the plain weights.
  std::vector<double> estimated(cluster_ns_.size(), 0.0);
  std::vector<bool> sampled(cluster_ns_.size(), false);
  for (const WeightedInvocation& s : drawn.invocations) {
    estimated[clusters[s.index]] += s.weight * duration(s.index);
    sampled[clusters[s.index]] = true;
  }
  std::vector<JudgedInvocation> judged;
  judged.reserve(drawn.invocations.size());
  for (const WeightedInvocation& s : drawn.invocations) {
    const std::uint32_t c = clusters[s.index];
    // As in CalibratedWeight: the plain weight if the sampled durations are 0.
    const double ratio = estimated[c] > 0.0 ? cluster_ns_[c] / estimated[c] : 1.0;
    judged.push_back({s.index, s.weight, s.weight * ratio});
  }
  RunOutcome outcome;
  Judge(*workload_, judged, outcome);
  outcome.clusters = cluster_ns_.size();
  outcome.bound = prepared_->bound();
  double uncovered = 0.0;
  for (std::size_t c = 0; c < sampled.size(); ++c) {
    if (!sampled[c]) uncovered += cluster_ns_[c];
  }
  outcome.uncovered = uncovered / static_cast<double>(workload_->total_ns);
  return outcome;
}

Result<MethodEvaluation> EvaluateMethod(const EvaluatedRun& workload, const MethodEntry& method,
                                        const sampling::SamplingOptions& options,
                                        const BasicBlockVectors* vectors, std::uint64_t runs,
                                        WorkerPool& pool) {
  auto prepared = STEMTAP_TRY(PreparedWorkload::Create(workload, method, options, vectors));
  const PreparedWorkload& ready = prepared;
  MethodEvaluation evaluation;
  evaluation.deterministic = ready.deterministic();
  evaluation.prepare_s = ready.prepare_s();
  evaluation.runs.resize(evaluation.deterministic ? 1 : runs);
  std::vector<double> seconds(evaluation.runs.size());
  pool.ForEach(evaluation.runs.size(), [&](std::size_t i) {
    const auto start = Clock::now();
    evaluation.runs[i] = ready.Draw(options.seed + i);
    seconds[i] = SecondsSince(start);
  });
  for (const double s : seconds) evaluation.draw_s += s / static_cast<double>(seconds.size());
  evaluation.statistics = StatisticsOf(evaluation.runs, static_cast<double>(workload.total_ns));
  return evaluation;
}

}  // namespace stemtap::research
