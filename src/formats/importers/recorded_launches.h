// SPDX-License-Identifier: Apache-2.0
//
// RecordedLaunches is the reader behind every format whose file must be seen whole before its first
// launch is known, because it holds them in another order: 64 bytes a launch, whatever the file takes
// for it. Times count from the first start.
//
// Launches are handed out in launch order, which is the order in which tracers and simulators count
// them: each process's by correlation id, those that share one by graph node, then by start. Processes alternate as their kernels started: one process keeps the places that its launches
// have in the order of starts. Where there are no ids, or they contradict the streams, start order
// is all that is known: Finish says so where the two can differ. docs/design/launch-order.md has
// the reasons.
//
// Launches of several processes have one clock only where one tool recorded them all; see OpenRanks
// in ranks.h for several files. A device ordinal that several processes use may mean as many GPUs:
// devices are then numbered anew, by process in order of first start, then by ordinal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/profile_reader.h"
#include "shm/record.h"

namespace stemtap {

class RecordedLaunches : public ProfileReader {
 public:
  // A record all of whose cells are unknown.
  static shm::KernelRecord Unknown();

  // Names are cut at shm::kMaxNameBytes, and counted. REQUIRES: not yet read from; name not empty;
  // as many metrics as AddMetric was called for.
  void Add(shm::KernelRecord record, std::string_view name) { Add(record, Name(name)); }
  void Add(const shm::KernelRecord& record, std::uint32_t name_id,
           const std::vector<double>& metrics = {});

  // The process, by whatever id the tool gives it, of the launches added from here on. Before the
  // first Add or never: without it, all are of one process.
  void SetProcess(std::uint64_t id);

  // The id of a name for Add, for importers that meet the same name often.
  std::uint32_t Name(std::string_view name);

  // A column beyond the canonical ones; before the first Add.
  void AddMetric(std::string name) { metric_names_.push_back(std::move(name)); }

  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }

  std::size_t size() const { return records_.size(); }

  // Sorts, numbers devices and makes the first start 0. `source` names the file in warnings. Call
  // once, before reading.
  void Finish(std::string_view source);

  Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) override;

  bool Restart() override {
    next_ = 0;
    return true;
  }

 private:
  // Warns of launches that are recorded twice. REQUIRES: in start order.
  void CountDoubles(std::string_view source);
  // Warns of launches on several streams that share a correlation id, though no graph is recorded:
  // their order is a guess. REQUIRES: in launch order.
  void CountSharedIds(std::string_view source);
  void NumberDevices(std::string_view source);
  // Puts the launches, which are in start order, in launch order.
  void OrderByLaunch(std::string_view source);
  std::vector<std::uint64_t> IdsBelowEarlierOnes(const std::vector<std::uint64_t>& launch) const;
  bool SeveralStreams() const;
  void Reorder(const std::vector<std::size_t>& order);  // launch i is to be the present order[i]
  std::size_t ProcessOf(std::size_t launch) const {
    return processes_.empty() ? 0 : processes_[launch];
  }

  std::vector<shm::KernelRecord> records_;
  std::unordered_map<std::uint64_t, std::uint32_t> process_ids_;  // to numbers from 0
  std::uint32_t process_ = 0;                                     // of the next launch
  std::vector<std::uint32_t> processes_;                          // of each, once there are two
  std::vector<std::vector<double>> metrics_;  // by column; empty when there are none
  std::uint64_t names_cut_ = 0;
  std::size_t next_ = 0;
};

}  // namespace stemtap
