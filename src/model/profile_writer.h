// SPDX-License-Identifier: Apache-2.0
//
// ProfileWriter writes a recorded run in batches, in launch order. Batches from a ProfileReader can
// be written unchanged. Ranges of names and steps are written if the marks of the run contain them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile.h"

namespace stemtap::model {

class ProfileWriter {
 public:
  ProfileWriter() = default;
  // Unless Finish() succeeded, no file is created at the path.
  virtual ~ProfileWriter() = default;
  ProfileWriter(const ProfileWriter&) = delete;
  ProfileWriter& operator=(const ProfileWriter&) = delete;

  // Appends `batch`, whose name ids index `names`.
  // REQUIRES: `names` contains all names of the previous call, and `metric_names`, one per column
  // of `batch.metrics`, are the same in all calls.
  virtual Status Write(const ProfileBatch& batch, const NameTable& names,
                       const std::vector<std::string>& metric_names) = 0;
  // Completes the profile. REQUIRES: called at most once, after the last Write().
  virtual Status Finish() = 0;
};

// Creates a writer for the file at `path`. The extension selects the format: .csv or .stemtap,
// followed by .gz or .zst for compression. "-" is canonical CSV on standard output.
// `marks`: of the run, ProfileReader::marks().
Result<std::unique_ptr<ProfileWriter>> CreateProfileWriter(const std::string& path,
                                                           ProfileMarks marks = {});

}  // namespace stemtap::model
