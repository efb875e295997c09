// SPDX-License-Identifier: Apache-2.0
//
// A recorded run: ProfileReader streams its launches, and Profile has all of them in memory, for
// algorithms that need the whole run at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/run_time.h"
#include "shm/record.h"

namespace stemtap::model {

// ProfileBatch contains consecutive launches. Fields that are unknown to the source have the
// kUnknown... values of shm/record.h.
struct ProfileBatch {
  std::vector<shm::KernelRecord> records;
  // metrics[column][row], one column per ProfileReader::metric_names(). NaN if the cell is empty.
  std::vector<std::vector<double>> metrics;
  // The step of the program that each launch was made in, or shm::kNoStep; empty if none is known.
  std::vector<std::uint64_t> steps;
};

// ProfileMarks is which marks of the program (shm::LaunchMark) a run contains.
struct ProfileMarks {
  bool ranges = false;  // names may have ranges
  bool steps = false;   // ProfileBatch::steps may be known

  bool operator==(const ProfileMarks&) const = default;
};

// ProfileReader streams the launches of a recorded run in launch order, independent of the file
// format. Importers implement it; replay, plan and convert use it.
class ProfileReader {
 public:
  virtual ~ProfileReader() = default;

  // Replaces the content of `batch` with up to `limit` launches and returns their number, which is
  // 0 at the end. Fails if the sum of all durations exceeds RunTime::kMaxNs.
  Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit);

  // Restarts at the first launch. Returns false and does nothing if the source would have to be
  // opened again. Cheap if the source is in memory.
  bool Rewind();

  // Sets the name of the run in error messages of Read.
  void SetSource(std::string source) { source_ = std::move(source); }

  // Names of the kernels read so far, indexed by KernelRecord::name_id. A source that knows the
  // ranges of its launches gives each name the path of its range (SelectLaunches decides which
  // of them count).
  const NameTable& names() const { return names_; }

  // Columns other than the canonical ones, in file order. Valid once the reader is open.
  const std::vector<std::string>& metric_names() const { return metric_names_; }

  // Valid once the reader is open, so that a writer of the run knows the columns.
  ProfileMarks marks() const { return marks_; }

  // One line per problem that is not an error (columns skipped, cells rounded). Complete at the end
  // of the file.
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  NameTable names_;
  std::vector<std::string> metric_names_;
  ProfileMarks marks_;
  std::vector<std::string> warnings_;

 private:
  // Implementations of Read and Rewind, which check the sum of the durations.
  virtual Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) = 0;
  virtual bool Restart() { return false; }

  std::string source_;
  std::uint64_t launches_ = 0;  // number read so far
  RunTime time_;
};

// Launches that are decoded at a time: 1 MiB of records, enough to make the handover to another
// thread (some microseconds) negligible.
inline constexpr std::size_t kBatchLaunches = 16384;

// Calls visit(record) for each launch from the reader's position to the end, in launch order.
// `visit` returns nothing, or a Status whose error ends the loop. Returns the number of launches.
template <typename Visit>
Result<std::uint64_t> ForEachLaunch(ProfileReader& reader, const Visit& visit) {
  std::uint64_t count = 0;
  for (ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, kBatchLaunches));
    if (read == 0) return count;
    for (const shm::KernelRecord& record : batch.records) {
      if constexpr (std::is_void_v<decltype(visit(record))>) {
        visit(record);
      } else {
        STEMTAP_TRY(visit(record));
      }
    }
    count += read;
  }
}

struct Profile {
  NameTable names;                         // KernelRecord::name_id indexes it
  std::vector<shm::KernelRecord> records;  // in launch order
  std::vector<std::string> metric_names;
  std::vector<std::vector<double>> metrics;  // metrics[column][row]; NaN if the cell is empty
  ProfileMarks marks;
  std::vector<std::uint64_t> steps;  // as in ProfileBatch: by row, or empty
  std::vector<std::string> warnings;
};

// Reads `reader` from its current position to the end.
Result<Profile> LoadProfile(ProfileReader& reader);

// Returns a reader that streams `profile` without its metrics. `profile` must outlive the reader.
std::unique_ptr<ProfileReader> ReadProfile(const Profile& profile);

}  // namespace stemtap::model
