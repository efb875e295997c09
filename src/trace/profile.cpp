// SPDX-License-Identifier: Apache-2.0
#include "trace/profile.h"

#include <cstddef>
#include <cstdint>

namespace stemtap {

Result<Profile> LoadProfile(ProfileReader& reader) {
  constexpr std::size_t kBatch = 16384;
  Profile profile;
  profile.metric_names = reader.metric_names();
  profile.metrics.resize(profile.metric_names.size());
  for (ProfileBatch batch;;) {
    const Result<std::size_t> read = reader.Read(batch, kBatch);
    if (!read.ok()) return read.error();
    if (read.value() == 0) break;
    profile.records.insert(profile.records.end(), batch.records.begin(), batch.records.end());
    for (std::size_t column = 0; column < profile.metrics.size(); ++column) {
      const std::vector<double>& cells = batch.metrics[column];
      profile.metrics[column].insert(profile.metrics[column].end(), cells.begin(), cells.end());
    }
  }
  // In order of id, so that every name keeps its own.
  for (std::size_t id = 0; id < reader.names().size(); ++id) {
    profile.names.Intern(reader.names().name(static_cast<std::uint32_t>(id)));
  }
  profile.warnings = reader.warnings();
  return profile;
}

}  // namespace stemtap
