// SPDX-License-Identifier: Apache-2.0
//
// Factories of the individual workloads, for the table in workload.cpp. REQUIRES: options in range.
#pragma once

#include <memory>

#include "model/profile.h"
#include "research/workloads/workload.h"

namespace stemtap::research {

std::unique_ptr<model::ProfileReader> MakeLlmServe(const WorkloadOptions& options);
std::unique_ptr<model::ProfileReader> MakeOutliers(const WorkloadOptions& options);
std::unique_ptr<model::ProfileReader> MakePhases(const WorkloadOptions& options);
std::unique_ptr<model::ProfileReader> MakeRareKernels(const WorkloadOptions& options);
std::unique_ptr<model::ProfileReader> MakeTraining(const WorkloadOptions& options);
std::unique_ptr<model::ProfileReader> MakeWarmup(const WorkloadOptions& options);

}  // namespace stemtap::research
