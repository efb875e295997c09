// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/equal_error.h"

#include <algorithm>
#include <cmath>

namespace stemtap::research {
namespace {

// Maximum number of samples drawn per bound tried; they take some seconds on two cores.
constexpr double kMaxSamples = 8e6;
constexpr std::uint64_t kMinRuns = 2000;
// Factor between consecutive bounds in the search, and the number of times that the interval around
// the target p95 is halved: 1.5^(1/64) is less than 1 %.
constexpr double kStep = 1.5;
constexpr int kHalvings = 6;
// Range of bounds: at 64, every stratum has its minimum sample size; at 1e-6, it is sampled
// completely.
constexpr double kLoosest = 64.0;
constexpr double kTightest = 1e-6;

// A p95 above this multiple of the target contains no information about the target.
constexpr double kFarOff = 3.0;

// The cheapest point with at most the target p95, and the point with the smallest p95 among those
// that are cheaper still.
struct Neighbors {
  const TunedPoint* best = nullptr;
  const TunedPoint* next = nullptr;
};

Neighbors NeighborsOf(const std::vector<TunedPoint>& points, double p95) {
  Neighbors at;
  for (const TunedPoint& p : points) {
    if (p.p95 <= p95 && (at.best == nullptr || p.speedup > at.best->speedup)) at.best = &p;
  }
  for (const TunedPoint& p : points) {
    if (p.p95 <= p95 || (at.best != nullptr && p.speedup <= at.best->speedup)) continue;
    if (at.next == nullptr || p.p95 < at.next->p95 ||
        (p.p95 == at.next->p95 && p.speedup > at.next->speedup)) {
      at.next = &p;
    }
  }
  return at;
}

class Tuner {
 public:
  Tuner(const EvaluatedRun& workload, const MethodEntry& method,
        const sampling::SamplingOptions& options, const BasicBlockVectors* vectors,
        std::uint64_t runs, WorkerPool& pool)
      : workload_(workload),
        method_(method),
        options_(options),
        vectors_(vectors),
        runs_(runs),
        pool_(pool) {}

  Result<TunedPoint> Try(double error_bound) {
    for (const TunedPoint& p : points_) {
      if (p.error_bound == error_bound) return p;
    }
    sampling::SamplingOptions asked = options_;
    asked.error_bound = error_bound;
    auto prepared = STEMTAP_TRY(PreparedWorkload::Create(workload_, method_, asked, vectors_));
    const PreparedWorkload& ready = prepared;
    std::vector<RunOutcome> outcomes = {ready.Draw(options_.seed)};
    if (!ready.deterministic()) {
      const double affordable =
          kMaxSamples / static_cast<double>(std::max<std::uint64_t>(outcomes[0].samples, 1));
      const std::uint64_t fewest = std::min(runs_, kMinRuns);
      outcomes.resize(affordable >= static_cast<double>(runs_)
                          ? runs_
                          : std::max(fewest, static_cast<std::uint64_t>(affordable)));
      pool_.ForEach(outcomes.size(),
                    [&](std::size_t i) { outcomes[i] = ready.Draw(options_.seed + i); });
    }
    points_.push_back(PointOf(error_bound, outcomes));
    return points_.back();
  }

  // Tries bounds until they enclose the target p95. Since p95 is not monotone, looser bounds are
  // tried even if the error at the given bound is too large, and tighter ones even if it is not.
  Status Seek(double p95) {
    double last_speedup = -1.0;
    for (double bound = options_.error_bound; bound <= kLoosest; bound *= kStep) {
      const TunedPoint tried = STEMTAP_TRY(Try(bound));
      if (tried.p95 > kFarOff * p95 && bound > options_.error_bound) break;
      // Every stratum has its minimum sample size; looser bounds are not cheaper.
      if (bound > 1.0 && tried.speedup == last_speedup) break;
      last_speedup = tried.speedup;
    }
    for (double bound = options_.error_bound; bound >= kTightest; bound /= kStep) {
      const TunedPoint tried = STEMTAP_TRY(Try(bound));
      if (tried.p95 <= p95) break;
    }
    for (int i = 0; i < kHalvings; ++i) {
      // The loosest bound that meets the target is between the best and the next looser bound.
      const TunedPoint* best = NeighborsOf(points_, p95).best;
      if (best == nullptr) break;
      const TunedPoint* looser = nullptr;
      for (const TunedPoint& p : points_) {
        if (p.error_bound > best->error_bound &&
            (looser == nullptr || p.error_bound < looser->error_bound)) {
          looser = &p;
        }
      }
      if (looser == nullptr) break;
      STEMTAP_TRY(Try(std::sqrt(best->error_bound * looser->error_bound)));
    }
    return Success{};
  }

  const std::vector<TunedPoint>& points() const { return points_; }

 private:
  TunedPoint PointOf(double error_bound, const std::vector<RunOutcome>& outcomes) const {
    std::vector<double> errors;
    for (const RunOutcome& run : outcomes) errors.push_back(std::fabs(run.error));
    const auto n = static_cast<double>(errors.size());
    const double spread = 1.96 * std::sqrt(0.95 * 0.05 / n);
    TunedPoint point;
    point.error_bound = error_bound;
    point.runs = errors.size();
    point.p95 = Settled(QuantileByRank(errors, 0.95));
    point.p95_low = Settled(QuantileByRank(errors, 0.95 - std::min(spread, 0.9)));
    point.p95_high = Settled(QuantileByRank(errors, std::min(0.95 + spread, 1.0)));
    point.speedup = StatisticsOf(outcomes, static_cast<double>(workload_.total_ns)).speedup;
    return point;
  }

  // Treats rounding errors as 0; their logarithm is meaningless.
  static double Settled(double error) { return error <= kRoundingSlack ? 0.0 : error; }

  const EvaluatedRun& workload_;
  const MethodEntry& method_;
  sampling::SamplingOptions options_;
  const BasicBlockVectors* vectors_;
  std::uint64_t runs_;
  WorkerPool& pool_;
  std::vector<TunedPoint> points_;
};

// Tunes `tuned` to the p95 error of `fixed` at `error_bound`.
Result<Tuning> Tune(Tuner& fixed, Tuner& tuned, double error_bound, bool fixed_is_one) {
  Tuning tuning;
  const TunedPoint held = STEMTAP_TRY(fixed.Try(error_bound));
  tuning.fixed = held;
  const double p95 = tuning.fixed.p95;
  STEMTAP_TRY(tuned.Seek(p95));
  const double without_steps = SpeedupAt(tuned.points(), p95, tuning.end, &tuning.tuned);
  tuning.ratio = tuning.ratio_low = tuning.ratio_high = NAN;
  if (tuning.end != TuningEnd::kMet) return tuning;
  const auto ratio = [&](double tuned_speedup) {
    return fixed_is_one ? tuning.fixed.speedup / tuned_speedup
                        : tuned_speedup / tuning.fixed.speedup;
  };
  tuning.ratio = ratio(tuning.tuned.speedup);
  // The p95 of both methods is random: the squares of their relative half widths add up.
  const auto half_width = [](const TunedPoint& p) {
    return p.p95 > 0.0 ? 0.5 * (p.p95_high - p.p95_low) / p.p95 : 0.0;
  };
  const double width = std::hypot(half_width(tuning.fixed), half_width(tuning.tuned));
  TuningEnd ignored{};
  const double at_less = ratio(SpeedupAt(tuned.points(), p95 * (1.0 - width), ignored));
  const double at_more = ratio(SpeedupAt(tuned.points(), p95 * (1.0 + width), ignored));
  // fmin and fmax ignore a NaN, which marks an end of the interval that no bound reaches.
  tuning.ratio_low =
      std::fmin(std::fmin(tuning.ratio, ratio(without_steps)), std::fmin(at_less, at_more));
  tuning.ratio_high =
      std::fmax(std::fmax(tuning.ratio, ratio(without_steps)), std::fmax(at_less, at_more));
  return tuning;
}

}  // namespace

double SpeedupAt(const std::vector<TunedPoint>& points, double p95, TuningEnd& end,
                 TunedPoint* tuned) {
  const auto [best, next] = NeighborsOf(points, p95);
  end = best == nullptr   ? TuningEnd::kNeverBelow
        : next == nullptr ? (best->p95 == p95 ? TuningEnd::kMet : TuningEnd::kAlwaysBelow)
                          : TuningEnd::kMet;
  if (best == nullptr) return NAN;
  if (tuned != nullptr) *tuned = *best;
  if (next == nullptr || best->p95 == p95) return best->speedup;
  // Logarithmic interpolation from a p95 of 0 is not defined.
  if (!(best->p95 > 0.0)) return best->speedup;
  const double along = std::log(p95 / best->p95) / std::log(next->p95 / best->p95);
  return best->speedup * std::pow(next->speedup / best->speedup, along);
}

Result<EqualError> CompareAtEqualError(const EvaluatedRun& workload, const MethodEntry& one,
                                       const MethodEntry& other,
                                       const sampling::SamplingOptions& options,
                                       const BasicBlockVectors* vectors, std::uint64_t runs,
                                       WorkerPool& pool) {
  Tuner first(workload, one, options, vectors, runs, pool);
  Tuner second(workload, other, options, vectors, runs, pool);
  EqualError result;
  const Result<Tuning> forward = Tune(first, second, options.error_bound, true);
  if (!forward.ok()) return forward.error();
  const Result<Tuning> backward = Tune(second, first, options.error_bound, false);
  if (!backward.ok()) return backward.error();
  result.forward = forward.value();
  result.backward = backward.value();
  const Tuning& counts = std::isnan(result.forward.ratio) ? result.backward : result.forward;
  result.ratio = counts.ratio;
  result.ratio_low = counts.ratio_low;
  result.ratio_high = counts.ratio_high;
  return result;
}

}  // namespace stemtap::research
