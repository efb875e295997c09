// SPDX-License-Identifier: Apache-2.0
//
// The importers, one per profile format, each in the source of its name. LooksLike... returns
// whether a file that starts with `leading` has the format. Open... opens it. See registry.cpp. The
// formats of other tools that are recognized but not read are at the end.
//
// ERRORS: a damaged file is an error with the line or the place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile.h"

namespace stemtap::formats {

// Marks is whether the caller needs the ranges and steps of the launches. An importer may return
// them in any case: only formats in which they are recorded apart from the kernels skip them.
// kOperators: the range of a launch is the operator that launched it (ProfileFormat::operators).
enum class Marks : std::uint8_t { kSkip, kRead, kOperators };

// Reads binary profiles (.stemtap) and validates every byte. See docs/formats/profile-binary.md.
bool LooksLikeBinaryProfile(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenBinaryProfile(std::unique_ptr<ByteSource> source);

// Reads the canonical profile CSV: one row per launch, in launch order. Columns are found by name;
// see docs/formats/canonical-csv.md. LooksLikeCanonicalCsv: `leading` starts with a header line
// that contains a canonical column.
bool LooksLikeCanonicalCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenCanonicalCsv(std::unique_ptr<ByteSource> source);

// Reads durations in the format of the STEM+ROOT artifact, one column per kernel. See
// docs/formats/stem-csv.md.
bool LooksLikeStemColumnsCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenStemColumnsCsv(
    std::unique_ptr<ByteSource> source);

// Reads the CSV reports cuda_gpu_trace and cuda_kern_exec_trace of Nsight Systems. See
// docs/formats/nsys-csv.md.
bool LooksLikeNsysCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenNsysCsv(std::unique_ptr<ByteSource> source);

// Reads the GPU trace of nvprof as CSV. See docs/formats/nvprof-csv.md.
bool LooksLikeNvprofCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenNvprofCsv(std::unique_ptr<ByteSource> source);

// A CSV page of Nsight Compute (ncu_page.h).
//
// Reads the page as a profile; every launch needs a duration.
Result<std::unique_ptr<model::ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source);

// Reads the page only for its metrics (metric_join.h); missing durations become 0.
Result<std::unique_ptr<model::ProfileReader>> OpenNcuMetrics(std::unique_ptr<ByteSource> source);

// Reads the tables of kernels that AMD's profilers write as CSV: rocprofv3, rocprofv2, rocprof and
// Omniperf. See docs/formats/rocprofv3-csv.md.
//
// What a row of a table is. Only launches with times can be read.
enum class RocprofRow : std::uint8_t {
  kUnknown,  // not a table of rocprof
  kLaunch,
  kLaunchWithoutTimes,
  kCounter,  // one of several counters of a launch
  kApiCall,
  kSummary,  // of all launches of a kernel
};

// Returns what the rows are of a file that starts with `leading`.
RocprofRow RocprofRowOf(std::string_view leading);

bool LooksLikeRocprofCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenRocprofCsv(std::unique_ptr<ByteSource> source);

// Reads the tables of Ascend's profilers with one row per operator that ran on an NPU:
// kernel_details.csv (torch_npu, MindSpore) and op_summary_*.csv (msprof). See
// docs/formats/ascend.md.
bool LooksLikeAscendCsv(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenAscendCsv(std::unique_ptr<ByteSource> source);

// Reads profiles that are SQLite databases. The tables decide the format, because the leading bytes
// of the file do not always contain their names.
bool LooksLikeRocpd(std::string_view leading);
// Returns true for any other database.
bool LooksLikeNsysSqlite(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenDatabaseProfile(
    std::unique_ptr<ByteSource> source, Marks marks);

// Reads the JSON trace of torch.profiler (Kineto), see docs/formats/kineto.md, and other Chrome
// traces that contain kernels, primarily from XLA, see docs/formats/jax.md.
bool LooksLikeKinetoJson(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenKinetoJson(std::unique_ptr<ByteSource> source,
                                                             Marks marks);

// Reads the profile of JAX, TensorFlow and PyTorch/XLA (.xplane.pb), a serialized XSpace message.
// See docs/formats/xplane.md.
bool LooksLikeXplane(std::string_view leading);

Result<std::unique_ptr<model::ProfileReader>> OpenXplane(std::unique_ptr<ByteSource> source);

// Formats of other tools that are recognized but not read. The error message contains the tool and
// the command that produces a readable profile. Like profile formats, they are recognized by
// content.
struct UnreadFormat {
  std::string_view name;    // the kind of file and its tool
  std::string_view advice;  // what to do, with a command
  // Returns whether a file that starts with `leading` has this format.
  bool (*detect)(std::string_view leading);
};

// Returns the formats in order of detection.
std::span<const UnreadFormat> UnreadFormats();

// Returns advice about the file `name`, with the path in place of FILE, quoted for a shell. FILE
// stays if the input is no file.
std::string AdviceFor(const std::string& name, std::string_view advice);

// Returns the error for the file `name`, which starts with `leading`, or nullopt if no format
// matches.
std::optional<Error> RefuseUnread(const std::string& name, std::string_view leading);

}  // namespace stemtap::formats
