// SPDX-License-Identifier: Apache-2.0
//
// RecordedLaunches is the reader for every format whose file must be read completely before the
// first launch is known. It uses 64 bytes per launch, regardless of the size in the file. Times are
// relative to the first start.
//
// Launches are returned in launch order, in which tracers and simulators count them. The launches
// of a process are ordered by correlation id, launches with the same id by graph node, then by
// start. If there are several processes, each process keeps the positions that its launches have in
// start order. If there are no ids, or the ids contradict the streams, only the start order is
// known; Finish warns if the two orders can differ. docs/design/launch-order.md explains why.
//
// A launch without a time has an unknown start and a duration of 0. Its id gives its place; without
// an id, it stays after the launch before it in the file. Starts that contradict the ids do not
// affect the order, and durations that contradict the stream are cut. Finish warns of both.
//
// Launches of several processes share one clock only if one tool recorded them all; see OpenRanks
// in ranks.h for several files. A device ordinal that several processes use may refer to different
// GPUs, so devices are then renumbered by process in order of first start, then by ordinal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/importers/launch_order.h"
#include "formats/tally.h"
#include "model/profile.h"
#include "shm/record.h"

namespace stemtap::formats {

// Starts count from an origin that the file chooses, so they may be negative. Importers of such
// files add this offset, which keeps their order in unsigned numbers; RecordedLaunches subtracts
// the first start. A start is less than this many ns, which are 146 years, from the origin.
inline constexpr std::int64_t kStartOffset = std::int64_t{1} << 62;

constexpr std::uint64_t WithOffset(std::int64_t start_ns) {
  return static_cast<std::uint64_t>(start_ns + kStartOffset);
}

class RecordedLaunches : public model::ProfileReader {
 public:
  // Returns a record in which every field is unknown.
  static shm::KernelRecord Unknown();

  // Truncates names to shm::kMaxNameBytes and counts the truncated ones. REQUIRES: nothing has been
  // read yet; `name` is not empty; `metrics` has one value per AddMetric call.
  void Add(shm::KernelRecord record, std::string_view name) { Add(record, Name(name)); }
  void Add(const shm::KernelRecord& record, std::uint32_t name_id,
           const std::vector<double>& metrics = {});

  // Sets the process of the launches added from here on; `id` is the tool's id for it. The
  // first call must precede the first Add. Without any call, all launches belong to one process.
  void SetProcess(std::uint64_t id);

  // Returns the id of a name for Add, for importers that see the same name often.
  std::uint32_t Name(std::string_view name);

  // Adds a column beyond the canonical ones. Call it before the first Add.
  void AddMetric(std::string name) { metric_names_.push_back(std::move(name)); }

  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  // Warns with the number of launches, rows or events that have a problem, if there are any:
  // "source: 1 row is" or "source: 7 rows are", then `what`.
  void WarnOfCount(std::string_view source, std::uint64_t count, std::string_view one,
                   std::string_view many, std::string_view what);
  // Warns with the line or byte where a problem first occurred, if it did.
  void WarnOfLine(std::string_view source, const Tally& tally, std::string_view warning);
  void WarnOfByte(std::string_view source, const Tally& tally, std::string_view warning);

  // Sets what the correlation ids are called in warnings, and what is subtracted from them there.
  void NameIds(std::string_view name, std::uint32_t offset) {
    id_name_ = name;
    id_offset_ = offset;
  }

  // Call it if stream numbers are numbers of hardware queues, whose launches may run side by side.
  void StreamsAreQueues() { serial_streams_ = false; }

  std::size_t size() const { return records_.size(); }
  // Of a launch, in the order of the Add calls. REQUIRES: Finish was not called.
  std::uint32_t correlation_id(std::size_t launch) const { return records_[launch].correlation_id; }
  // Returns the number of its process, in order of the SetProcess calls.
  std::uint32_t ProcessOf(std::size_t launch) const {
    return processes_.empty() ? 0 : processes_[launch];
  }
  // Returns the number of the process that SetProcess called `id`, or nullopt.
  std::optional<std::uint32_t> NumberOfProcess(std::uint64_t id) const;

  // Set the ranges and steps of all launches, in the order of the Add calls. Call each at most
  // once, after the last Add and before Finish. `ranges`: 1 + index into `paths`, or
  // shm::kNoRange.
  void SetRanges(std::span<const std::uint32_t> ranges, std::span<const std::string> paths);
  void SetSteps(std::vector<std::uint64_t> steps);

  // Numbers the known streams 0, 1, ... in order of their first launch added; returns how many
  // there are. Call it before Finish. See StreamNumbers.
  std::size_t NumberStreams();

  // Sorts the launches, numbers devices and sets the first start to 0. `source` is the file name in
  // warnings. Call once, before reading.
  void Finish(std::string_view source);

  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override;

  bool Restart() override {
    next_ = 0;
    return true;
  }

 private:
  // Warns about launches that are recorded twice. REQUIRES: launches are in start order.
  void CountDoubles(std::string_view source);
  // Warns about launches on several streams that share a correlation id although no graph is
  // recorded: their order is a guess. REQUIRES: launches are in launch order.
  void CountSharedIds(std::string_view source);
  void NumberDevices(std::string_view source);
  void SortByStart();
  // Cuts durations and forgets starts that cannot be true. REQUIRES: launches are in start order.
  void CorrectTimes(const LaunchIds& ids, std::string_view source);
  std::uint64_t LengthWithout(std::span<const std::size_t> left_out) const;
  // Sorts the launches from start order into launch order.
  void OrderByLaunch(const LaunchIds& ids, std::string_view source);
  std::vector<std::size_t> AtPlacesOfProcesses(const std::vector<std::size_t>& launched,
                                               std::span<const std::size_t> misplaced) const;
  // Sets the first start to 0.
  void SetOrigin();
  // Returns the name and id of a launch for a warning.
  std::string Shown(std::size_t launch) const;
  bool SeveralStreams() const;
  // Moves launch order[i] to position i.
  void Reorder(const std::vector<std::size_t>& order);

  std::vector<shm::KernelRecord> records_;
  std::unordered_map<std::uint64_t, std::uint32_t> process_ids_;  // to numbers from 0
  std::uint32_t process_ = 0;                                     // of the next launch
  std::vector<std::uint32_t> processes_;      // by launch; used once there are two processes
  std::vector<std::vector<double>> metrics_;  // by column; empty if there are none
  std::vector<std::uint64_t> steps_;          // by launch; empty if none is known
  std::uint64_t names_cut_ = 0;
  bool serial_streams_ = true;
  std::string id_name_ = "correlation id";
  std::uint32_t id_offset_ = 0;
  std::size_t next_ = 0;
};

}  // namespace stemtap::formats
