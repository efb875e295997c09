// SPDX-License-Identifier: Apache-2.0
//
// ProfileReader streams a recorded run, invocation by invocation in launch order, whatever the file
// format. Importers implement it; replay, plan and convert read through it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/name_table.h"
#include "wire/record.h"

namespace stemtap {

// ProfileBatch is a run of consecutive invocations. Cells that the source does not know hold the
// kUnknown... values of wire/record.h.
struct ProfileBatch {
  std::vector<wire::KernelRecord> records;
  // metrics[column][row], one column per ProfileReader::metric_names(); NaN where the cell is empty.
  std::vector<std::vector<double>> metrics;
};

class ProfileReader {
 public:
  virtual ~ProfileReader() = default;

  // Replaces the content of `batch` by the next invocations, at most `limit`; empty at the end.
  virtual Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit) = 0;

  // Starts over with the first invocation. False, and nothing done, where the source would have to
  // be opened again; cheap where it is held in memory anyway.
  virtual bool Rewind() { return false; }

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
};

}  // namespace stemtap
