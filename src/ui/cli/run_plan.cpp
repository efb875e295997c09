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
  sampling::TwoPassPlan planned =
      STEMTAP_TRY(sampling::PlanTwoPass(open, name, sampling.Options(), parallel));
  planned.plan.source = name;
  planned.plan.options = sampling.Listed();
  return planned;
}

}  // namespace stemtap::ui
