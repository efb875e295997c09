// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/run.h"

#include <fmt/format.h>

#include <algorithm>

namespace stemtap::analysis {
namespace {

constexpr std::size_t kBatch = 16384;
constexpr std::size_t kMaxLaunches = 0x7FFFFFFEu;

}  // namespace

Result<Run> LoadRun(model::ProfileReader& reader, const std::string& source) {
  Run run;
  for (model::ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, kBatch));
    if (read == 0) break;
    if (run.launches.size() + read > kMaxLaunches) {
      return Error{fmt::format("{}: too many launches; expected at most {}", source, kMaxLaunches)};
    }
    for (const shm::KernelRecord& record : batch.records) {
      RunLaunch& launch = run.launches.emplace_back();
      launch.duration_ns = record.duration_ns;
      launch.name_id = record.name_id;
      launch.stream = record.stream;
      launch.shared_bytes = record.shared_bytes;
      launch.device = record.device;
      std::copy_n(record.grid, 3, launch.grid);
      std::copy_n(record.block, 3, launch.block);
    }
  }
  // The reader keeps its name table. The ids stay valid, because both tables number names by first
  // appearance.
  for (std::uint32_t id = 0; id < reader.names().size(); ++id) {
    run.names.Intern(reader.names().name(id));
  }
  run.warnings = reader.warnings();
  return run;
}

}  // namespace stemtap::analysis
