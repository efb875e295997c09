// SPDX-License-Identifier: Apache-2.0
#include "model/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stemtap::model {

namespace {

void Copy(const NameTable& from, NameTable& to) {
  for (std::uint32_t id = 0; id < from.size(); ++id) {
    to.Intern(from.name(id), from.process(id), from.range(id));
  }
}

class MemoryReader : public ProfileReader {
 public:
  explicit MemoryReader(const Profile& profile) : profile_(profile) {
    Copy(profile.names, names_);
    marks_ = profile.marks;
  }

  Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) override {
    const std::size_t count = std::min(limit, profile_.records.size() - next_);
    const auto begin = profile_.records.begin() + static_cast<std::ptrdiff_t>(next_);
    batch.records.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    batch.metrics.clear();
    if (!profile_.steps.empty()) {
      const auto step = profile_.steps.begin() + static_cast<std::ptrdiff_t>(next_);
      batch.steps.assign(step, step + static_cast<std::ptrdiff_t>(count));
    }
    next_ += count;
    return count;
  }

 private:
  const Profile& profile_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<ProfileReader> ReadProfile(const Profile& profile) {
  return std::make_unique<MemoryReader>(profile);
}

Result<Profile> LoadProfile(ProfileReader& reader) {
  Profile profile;
  profile.metric_names = reader.metric_names();
  profile.marks = reader.marks();
  profile.metrics.resize(profile.metric_names.size());
  for (ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, kBatchLaunches));
    if (read == 0) break;
    profile.records.insert(profile.records.end(), batch.records.begin(), batch.records.end());
    if (!batch.steps.empty() || !profile.steps.empty()) {
      profile.steps.resize(profile.records.size() - read, shm::kNoStep);
      profile.steps.insert(profile.steps.end(), batch.steps.begin(), batch.steps.end());
      profile.steps.resize(profile.records.size(), shm::kNoStep);
    }
    for (std::size_t column = 0; column < profile.metrics.size(); ++column) {
      const std::vector<double>& cells = batch.metrics[column];
      profile.metrics[column].insert(profile.metrics[column].end(), cells.begin(), cells.end());
    }
  }
  // Intern in order of id, so that names keep their ids.
  Copy(reader.names(), profile.names);
  profile.warnings = reader.warnings();
  return profile;
}

Result<std::size_t> ProfileReader::Read(ProfileBatch& batch, std::size_t limit) {
  batch.steps.clear();
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
