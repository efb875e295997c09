// SPDX-License-Identifier: Apache-2.0
//
// ProfileReader streams a recorded run, invocation by invocation in launch order, whatever the file
// format. Importers implement it; replay, plan and convert read through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/run_time.h"
#include "shm/record.h"

namespace stemtap {

// ProfileBatch is a run of consecutive invocations. Cells that the source does not know hold the
// kUnknown... values of wire/record.h.
struct ProfileBatch {
  std::vector<shm::KernelRecord> records;
  // metrics[column][row], one column per ProfileReader::metric_names(); NaN where the cell is empty.
  std::vector<std::vector<double>> metrics;
};

class ProfileReader {
 public:
  virtual ~ProfileReader() = default;

  // Replaces the content of `batch` by the next invocations, at most `limit`; empty at the end. An
  // error if the durations of the run exceed RunTime::kMaxNs in all.
  Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit);

  // Starts over with the first invocation. False, and nothing done, where the source would have to
  // be opened again; cheap where it is held in memory anyway.
  bool Rewind();

  // What the errors of Read call the run.
  void SetSource(std::string source) { source_ = std::move(source); }

  // Names of the kernels read so far; KernelRecord::name_id indexes it.
  const NameTable& names() const { return names_; }

  // Columns beyond the canonical ones, in file order. Known once the reader is open.
  const std::vector<std::string>& metric_names() const { return metric_names_; }

  // One line each about what was read but is not as it should be (columns left out, cells rounded).
  // Complete at the end of the file.
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  NameTable names_;
  std::vector<std::string> metric_names_;
  std::vector<std::string> warnings_;

 private:
  // As Read and Rewind; the sum of the durations is checked by these.
  virtual Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) = 0;
  virtual bool Restart() { return false; }

  std::string source_;
  std::uint64_t launches_ = 0;  // read so far
  RunTime time_;
};

}  // namespace stemtap
