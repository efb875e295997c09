// SPDX-License-Identifier: Apache-2.0
#include "model/profile_reader.h"

#include <fmt/format.h>

namespace stemtap::model {

Result<std::size_t> ProfileReader::Read(ProfileBatch& batch, std::size_t limit) {
  Result<std::size_t> read = ReadSome(batch, limit);
  if (!read.ok()) return read;
  for (const shm::KernelRecord& record : batch.records) {
    if (!time_.Add(record.duration_ns)) {
      return Error{fmt::format(
          "{}launch {}: duration_ns is {}, and the durations up to it add up to more than {} ns "
          "(292 years); expected times in ns",
          source_.empty() ? "" : source_ + ": ", launches_, record.duration_ns, RunTime::kMaxNs)};
    }
    ++launches_;
  }
  return read;
}

bool ProfileReader::Rewind() {
  if (!Restart()) return false;
  time_ = RunTime();
  launches_ = 0;
  return true;
}

}  // namespace stemtap::model
