// SPDX-License-Identifier: Apache-2.0
//
// RecordedLaunches is the reader behind every format whose file must be seen whole before its first
// launch is known, because it holds them in another order: 64 bytes a launch, whatever the file takes
// for it. Launches are handed out in the order in which they started on the GPU, those that started
// together in the order in which they were added, and times count from the first.
//
// Launches of several processes have one clock only where one tool recorded them all; see OpenRanks
// in ranks.h for several files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/profile_reader.h"
#include "wire/record.h"

namespace stemtap {

class RecordedLaunches : public ProfileReader {
 public:
  // A record all of whose cells are unknown.
  static wire::KernelRecord Unknown();

  // Names are cut at wire::kMaxNameBytes, and counted. REQUIRES: not yet read from; name not empty;
  // as many metrics as AddMetric was called for.
  void Add(wire::KernelRecord record, std::string_view name) { Add(record, Name(name)); }
  void Add(const wire::KernelRecord& record, std::uint32_t name_id,
           const std::vector<double>& metrics = {});

  // The id of a name for Add, for importers that meet the same name often.
  std::uint32_t Name(std::string_view name);

  // A column beyond the canonical ones; before the first Add.
  void AddMetric(std::string name) { metric_names_.push_back(std::move(name)); }

  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }

  std::size_t size() const { return records_.size(); }

  // Sorts, and makes the first start 0. `source` names the file in warnings. Call once, before
  // reading.
  void Finish(std::string_view source);

  Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit) override;

  bool Rewind() override {
    next_ = 0;
    return true;
  }

 private:
  std::vector<wire::KernelRecord> records_;
  std::vector<std::vector<double>> metrics_;  // by column; empty when there are none
  std::uint64_t names_cut_ = 0;
  std::size_t next_ = 0;
};

}  // namespace stemtap
