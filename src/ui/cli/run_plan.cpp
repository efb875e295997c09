// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/run_plan.h"

#include <cstddef>

#include "base/parallel.h"
#include "base/worker_pool.h"

namespace stemtap::ui {

Result<sampling::TwoPassPlan> PlanRun(const sampling::OpenReader& open, const std::string& name,
                                      const session::SamplingFlags& sampling) {
  WorkerPool pool(sampling.threads());
  const ParallelFor parallel = [&](std::size_t count, const auto& part) {
    pool.ForEach(count, part);
  };
  Result<sampling::TwoPassPlan> planned =
      sampling::PlanTwoPass(open, name, sampling.Options(), parallel);
  if (!planned.ok()) return planned;
  planned.value().plan.source = name;
  planned.value().plan.options = sampling.Listed();
  return planned;
}

}  // namespace stemtap::ui
