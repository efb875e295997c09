// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "model/kernel_name.h"

namespace stemtap::analysis {
namespace {

constexpr std::size_t kNoPartner = std::numeric_limits<std::size_t>::max();

// NameMatch pairs the kernels of two runs. partner_of_a[i] is an index into B, or kNoPartner.
struct NameMatch {
  const std::vector<ComparedKernel>& a;
  const std::vector<ComparedKernel>& b;
  std::vector<std::size_t> partner_of_a;
  std::vector<std::size_t> partner_of_b;

  NameMatch(const ComparedRun& run_a, const ComparedRun& run_b)
      : a(run_a.kernels),
        b(run_b.kernels),
        partner_of_a(a.size(), kNoPartner),
        partner_of_b(b.size(), kNoPartner) {}

  // Pairs kernels whose forms are equal if no other kernel of either run has that form and
  // `accepts` the two names.
  template <typename Form, typename Accepts>
  void Pair(const Form& form, const Accepts& accepts) {
    struct Found {
      std::size_t count_a = 0, count_b = 0, in_a = 0, in_b = 0;
    };
    std::unordered_map<std::string, Found> found;
    for (std::size_t i = 0; i < a.size(); ++i) {
      Found& entry = found[form(a[i].name)];
      ++entry.count_a;
      entry.in_a = i;
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      Found& entry = found[form(b[i].name)];
      ++entry.count_b;
      entry.in_b = i;
    }
    for (const auto& [text, entry] : found) {
      if (entry.count_a != 1 || entry.count_b != 1) continue;
      if (partner_of_a[entry.in_a] != kNoPartner || partner_of_b[entry.in_b] != kNoPartner ||
          !accepts(a[entry.in_a].name, b[entry.in_b].name)) {
        continue;
      }
      partner_of_a[entry.in_a] = entry.in_b;
      partner_of_b[entry.in_b] = entry.in_a;
    }
  }
};

NameMatch MatchNames(const ComparedRun& a, const ComparedRun& b) {
  NameMatch match(a, b);
  const auto always = [](const std::string&, const std::string&) { return true; };
  const auto one_is_bare = [](const std::string& in_a, const std::string& in_b) {
    return in_a == model::BaseName(in_a) || in_b == model::BaseName(in_b);
  };
  match.Pair([](const std::string& name) { return name; }, always);
  match.Pair([](const std::string& name) { return model::Spelling(name); }, always);
  match.Pair([](const std::string& name) { return model::BaseName(name); }, one_is_bare);
  return match;
}

// Returns (b - a) / log(b / a), the factor that converts a change of a logarithm to a difference.
double LogarithmicMean(double a, double b) {
  return a == b ? a : (b - a) / std::log(b / a);
}

// Returns the figures of a kernel; nullptr: the kernel is not in that run.
KernelDiff DiffOf(const ComparedKernel* a, const ComparedKernel* b, const DiffOptions& options) {
  KernelDiff diff;
  diff.name = b != nullptr ? b->name : a->name;
  const double count_a = a == nullptr ? 0.0 : static_cast<double>(a->launches);
  const double count_b = b == nullptr ? 0.0 : static_cast<double>(b->launches);
  if (a != nullptr) {
    diff.launches_a = a->launches;
    diff.duration_a_ns = a->duration_ns;
  }
  if (b != nullptr) {
    diff.launches_b = b->launches;
    diff.duration_b_ns = b->duration_ns;
  }
  if (a == nullptr || b == nullptr) {
    diff.verdict = a == nullptr ? DiffVerdict::kNew : DiffVerdict::kGone;
    diff.by_launches_ns =
        static_cast<double>(diff.duration_b_ns) - static_cast<double>(diff.duration_a_ns);
    return diff;
  }
  diff.by_launches_ns = (count_b - count_a) * 0.5 * (a->mean_ns() + b->mean_ns());
  diff.change = CompareMeans(*a, *b, options.confidence, options.threshold);
  const double by_mean_ns = (b->mean_ns() - a->mean_ns()) * 0.5 * (count_a + count_b);
  // On the logarithmic scale, the changes by shapes and at equal shapes add up to the whole change.
  const double whole = std::log1p(diff.change.of_mean);
  const double at_equal_shapes = std::log1p(diff.change.relative);
  if (std::isnan(whole)) {  // a run has 0 ns
    diff.by_duration_ns = by_mean_ns;
  } else if (std::isnan(at_equal_shapes)) {
    diff.by_shapes_ns = by_mean_ns;
  } else if (at_equal_shapes == whole) {
    diff.by_duration_ns = by_mean_ns;
  } else {
    const double mean = LogarithmicMean(a->mean_ns(), b->mean_ns());
    diff.by_duration_ns = at_equal_shapes * mean * 0.5 * (count_a + count_b);
    diff.by_shapes_ns = by_mean_ns - diff.by_duration_ns;
  }
  return diff;
}

// Sets the adjusted p-values and the verdicts of the kernels of both runs (Holm).
void Judge(const DiffOptions& options, std::vector<KernelDiff>& kernels) {
  std::vector<KernelDiff*> tested;
  for (KernelDiff& kernel : kernels) {
    if (kernel.verdict == DiffVerdict::kNew || kernel.verdict == DiffVerdict::kGone) continue;
    if (!std::isnan(kernel.change.p)) {
      tested.push_back(&kernel);
    } else if (kernel.duration_a_ns != 0 || kernel.duration_b_ns != 0) {
      kernel.verdict = DiffVerdict::kUnclear;
    }
  }
  std::sort(tested.begin(), tested.end(),
            [](const KernelDiff* x, const KernelDiff* y) { return x->change.p < y->change.p; });
  double adjusted = 0.0;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    KernelDiff& kernel = *tested[i];
    const double factor = static_cast<double>(tested.size() - i);
    adjusted = std::max(adjusted, std::min(1.0, factor * kernel.change.p));
    kernel.adjusted_p = adjusted;
    if (adjusted > 1.0 - options.confidence) continue;
    kernel.verdict = kernel.change.relative > 0.0 ? DiffVerdict::kSlower : DiffVerdict::kFaster;
  }
}

}  // namespace

RunDiff DiffRuns(ComparedRun a, ComparedRun b, const DiffOptions& options) {
  RunDiff diff;
  diff.options = options;
  const NameMatch match = MatchNames(a, b);
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    const std::size_t partner = match.partner_of_a[i];
    diff.kernels.push_back(
        DiffOf(&a.kernels[i], partner == kNoPartner ? nullptr : &b.kernels[partner], options));
  }
  for (std::size_t i = 0; i < b.kernels.size(); ++i) {
    if (match.partner_of_b[i] == kNoPartner) {
      diff.kernels.push_back(DiffOf(nullptr, &b.kernels[i], options));
    }
  }
  Judge(options, diff.kernels);
  std::stable_sort(diff.kernels.begin(), diff.kernels.end(),
                   [](const KernelDiff& x, const KernelDiff& y) {
                     if (x.verdict != y.verdict) return x.verdict < y.verdict;
                     return std::fabs(x.difference_ns()) > std::fabs(y.difference_ns());
                   });
  std::size_t no_order = 0;
  std::size_t no_shapes = 0;
  for (const KernelDiff& kernel : diff.kernels) {
    diff.by_launches_ns += kernel.by_launches_ns;
    diff.by_shapes_ns += kernel.by_shapes_ns;
    diff.by_duration_ns += kernel.by_duration_ns;
    ++diff.counts[static_cast<std::size_t>(kernel.verdict)];
    no_order += kernel.change.untested == Untested::kNoOrder ? 1 : 0;
    no_shapes += kernel.change.untested == Untested::kNoShapes ? 1 : 0;
  }
  if (no_order != 0) {
    diff.notes.push_back(
        fmt::format("{} unclear (no order): a run has no order of launches, so the interval is too "
                    "narrow; compare sessions or profiles",
                    Plural(no_order, "kernel is", "kernels are")));
  }
  if (no_shapes != 0) {
    diff.notes.push_back(fmt::format(
        "{} unclear (no shapes): a run has no times by grid and block; {}",
        Plural(no_shapes, "kernel is", "kernels are"),
        a.is_profile && b.is_profile ? "use a profile format with grid and block"
                                     : "compare profiles, or sessions with --group-by launch"));
  }
  a.kernels.clear();
  b.kernels.clear();
  diff.a = std::move(a);
  diff.b = std::move(b);
  return diff;
}

}  // namespace stemtap::analysis
