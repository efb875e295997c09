// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/launcher.h"

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace stemtap::ui {
namespace {

constexpr const char* kKubernetesIndex = "JOB_COMPLETION_INDEX";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the number in the first of the variables that is set to one.
std::optional<std::uint32_t> NumberIn(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    char* end = nullptr;
    if (value == nullptr || *value == 0) continue;
    const unsigned long number = std::strtoul(value, &end, 10);
    if (*end == 0 && number <= UINT32_MAX) return static_cast<std::uint32_t>(number);
  }
  return {};
}

// Returns the name of a job of torchrun, which names all jobs "none" if the user does not name
// them. On one host, two of them cannot have the same port.
std::string JobOfTorchrun() {
  std::string name = Variable("TORCHELASTIC_RUN_ID");
  if (name == "none") {
    name = fmt::format("torchrun-{}-{}", Variable("MASTER_ADDR"), Variable("MASTER_PORT"));
  }
  // When a worker fails, all are started again, and are another job.
  const std::uint32_t restarts = NumberIn({"TORCHELASTIC_RESTART_COUNT"}).value_or(0);
  return name.empty() || restarts == 0 ? name : fmt::format("{}-restart-{}", name, restarts);
}

}  // namespace

std::uint32_t RankOfLauncher() {
  return NumberIn({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", kKubernetesIndex})
      .value_or(0);
}

std::optional<std::uint32_t> SizeOfLauncher() {
  return NumberIn({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
}

std::string JobOfLauncher() {
  if (std::string torchrun = JobOfTorchrun(); !torchrun.empty()) return torchrun;
  if (const std::string job = Variable("SLURM_JOB_ID"); !job.empty()) {
    const std::string step = Variable("SLURM_STEP_ID");
    return step.empty() ? job : fmt::format("{}.{}", job, step);
  }
  if (std::string job = Variable("PMIX_NAMESPACE"); !job.empty()) return job;
  // Other programs than Kubernetes also set JOB_NAME.
  return Variable(kKubernetesIndex).empty() ? std::string() : Variable("JOB_NAME");
}

bool LauncherSpansHosts() {
  // Slurm, which may have started the torchrun of each host, has the number of hosts.
  if (const auto hosts = NumberIn({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"})) return *hosts > 1;
  if (NumberIn({kKubernetesIndex})) return true;
  const std::uint32_t local =
      NumberIn({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(1);
  return SizeOfLauncher().value_or(1) > local;
}

}  // namespace stemtap::ui
