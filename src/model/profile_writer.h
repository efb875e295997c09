// SPDX-License-Identifier: Apache-2.0
//
// ProfileWriter stores a recorded run, batch by batch in launch order. What ProfileReader read can
// be handed on as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile_reader.h"

namespace stemtap {

class ProfileWriter {
 public:
  ProfileWriter() = default;
  // Without Finish(), nothing appears under the path.
  virtual ~ProfileWriter() = default;
  ProfileWriter(const ProfileWriter&) = delete;
  ProfileWriter& operator=(const ProfileWriter&) = delete;

  // Appends `batch`; its name ids index `names`. REQUIRES: `names` only grew since the call before,
  // and `metric_names` are the same in all calls, one per column of `batch.metrics`.
  virtual Status Write(const ProfileBatch& batch, const NameTable& names,
                       const std::vector<std::string>& metric_names) = 0;
  // The profile is complete. To be called once.
  virtual Status Finish() = 0;
};

// A writer for the file at `path`, whose extension gives the format: .csv or .stemtap, then .gz or
// .zst for a compressed one. "-" is canonical CSV on standard output.
Result<std::unique_ptr<ProfileWriter>> CreateProfileWriter(const std::string& path);

}  // namespace stemtap
