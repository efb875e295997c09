// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "formats/importers/ncu_page.h"
#include "model/plan_reader.h"
#include "shm/session_env.h"

namespace stemtap::formats {
namespace {

constexpr bool kHeld = true;
constexpr bool kStreamed = false;
constexpr bool kHasOperators = true;

// Opens a format whose marks cost nothing to read, or that has none.
template <Result<std::unique_ptr<model::ProfileReader>> (*open)(std::unique_ptr<ByteSource>)>
Result<std::unique_ptr<model::ProfileReader>> Whole(std::unique_ptr<ByteSource> source,
                                                    Marks /*marks*/) {
  return open(std::move(source));
}

constexpr std::array kFormats = {
    ProfileFormat{"stemtap", "binary profile, plain, .gz or .zst",
                  "stemtap convert profile.csv -o profile.stemtap.zst", LooksLikeBinaryProfile,
                  kStreamed, Whole<OpenBinaryProfile>},
    ProfileFormat{"nsys-sqlite", "Nsight Systems SQLite export",
                  "nsys export --type sqlite report.nsys-rep", LooksLikeNsysSqlite, kHeld,
                  OpenDatabaseProfile},
    ProfileFormat{"rocpd", "rocprofv3 database (ROCm 7)", "rocprofv3 --kernel-trace -- ./app",
                  LooksLikeRocpd, kHeld, OpenDatabaseProfile},
    ProfileFormat{"nsys-csv",
                  "Nsight Systems reports cuda_gpu_trace, cuda_kern_exec_trace (CSV, TSV, JSON)",
                  "nsys stats --report cuda_gpu_trace --format csv report.nsys-rep",
                  LooksLikeNsysCsv, kHeld, Whole<OpenNsysCsv>},
    ProfileFormat{"ncu-csv", "Nsight Compute CSV, raw or details page",
                  "ncu --csv --page raw --metrics gpu__time_duration.sum ./app", LooksLikeNcuCsv,
                  kHeld, Whole<OpenNcuCsv>},
    ProfileFormat{"nvprof-csv", "nvprof GPU trace CSV",
                  "nvprof --csv --print-gpu-trace --log-file trace.csv ./app", LooksLikeNvprofCsv,
                  kHeld, Whole<OpenNvprofCsv>},
    ProfileFormat{"rocprofv3-csv", "kernel trace CSV of rocprofv3, rocprofv2, rocprof, Omniperf",
                  "rocprofv3 --kernel-trace --output-format csv -- ./app", LooksLikeRocprofCsv,
                  kHeld, Whole<OpenRocprofCsv>},
    ProfileFormat{"ascend-csv",
                  "Ascend NPU: kernel_details.csv (torch_npu) and op_summary CSV (msprof)",
                  "stemtap plan ASCEND_PROFILER_OUTPUT/kernel_details.csv", LooksLikeAscendCsv,
                  kHeld, Whole<OpenAscendCsv>},
    ProfileFormat{"kineto",
                  "trace JSON of torch.profiler (Kineto), JAX, Proton, unitrace or Ascend",
                  "torch.profiler.profile(...).export_chrome_trace(\"trace.json.gz\")",
                  LooksLikeKinetoJson, kHeld, OpenKinetoJson, kHasOperators},
    ProfileFormat{"xplane", "JAX, TensorFlow or PyTorch/XLA profile (.xplane.pb)",
                  "with jax.profiler.trace(\"/tmp/profile\"): step()", LooksLikeXplane, kHeld,
                  Whole<OpenXplane>},
    ProfileFormat{"csv", "canonical profile CSV, plain, .gz or .zst", "stemtap plan profile.csv.gz",
                  LooksLikeCanonicalCsv, kStreamed, Whole<OpenCanonicalCsv>},
    ProfileFormat{"stem-csv", "durations, one column per kernel (STEM artifact)",
                  "stemtap plan runtime.csv", LooksLikeStemColumnsCsv, kStreamed,
                  Whole<OpenStemColumnsCsv>},
};

// Returns whether `path` is the directory of a session that runs or has ended.
bool IsSessionDirectory(const std::filesystem::path& path) {
  return Exists(path / shm::kMaskFileName) || Exists(path / shm::kSessionFileName);
}

// Returns whether the bytes are text of 16 bits per character: a byte order mark, or an ASCII
// character with a zero byte.
bool IsUtf16(std::string_view leading) {
  if (leading.starts_with("\xFF\xFE") || leading.starts_with("\xFE\xFF")) return true;
  if (leading.size() < 4) return false;
  const auto is_text = [&](std::size_t at) {
    return leading[at] >= '\t' && leading[at] < 0x7F && leading[at ^ 1U] == '\0';
  };
  return (is_text(0) && is_text(2)) || (is_text(1) && is_text(3));
}

// Returns the format that the file would have if its semicolons were commas, or null.
const ProfileFormat* FormatWithSemicolons(std::string_view leading) {
  std::string text(leading);
  std::replace(text.begin(), text.end(), ';', ',');
  if (text == leading) return nullptr;
  for (const ProfileFormat& format : kFormats) {
    const bool is_csv = format.name.ends_with("csv");
    if (is_csv && format.detect(text)) return &format;
  }
  return nullptr;
}

}  // namespace

std::span<const ProfileFormat> ProfileFormats() {
  return kFormats;
}

Result<std::unique_ptr<model::ProfileReader>> OpenProfile(std::unique_ptr<ByteSource> source,
                                                          Marks marks) {
  const std::string_view leading = STEMTAP_TRY(source->Peek(kDetectBytes));
  if (leading.empty()) {
    return Error{fmt::format("{}: empty file; expected a profile", source->name())};
  }
  if (IsUtf16(leading)) {
    return Error{source->name() + AdviceFor(source->name(),
                                            ": is text in UTF-16, as PowerShell's > writes it; "
                                            "expected UTF-8: convert it with 'iconv -f UTF-16 -t "
                                            "UTF-8 FILE > utf-8.csv'")};
  }
  if (model::LooksLikePlan(leading)) {
    return Error{fmt::format("{}: is a plan; expected a recorded run", source->name())};
  }
  if (std::optional<Error> unread = RefuseUnread(source->name(), leading)) return *unread;
  for (const ProfileFormat& format : kFormats) {
    if (!format.detect(leading)) continue;
    const std::string name = source->name();
    if (marks == Marks::kOperators && !format.operators) {
      return Error{fmt::format("{}: has no operators; expected a trace of torch.profiler", name),
                   2};
    }
    Result<std::unique_ptr<model::ProfileReader>> reader =
        format.open(format.held ? LimitUnpacking(std::move(source)) : std::move(source), marks);
    if (reader.ok()) reader.value()->SetSource(name);
    return reader;
  }
  if (const ProfileFormat* format = FormatWithSemicolons(leading)) {
    return Error{fmt::format(
        "{}: cells are separated by semicolons, as spreadsheets write them; expected commas, as in "
        "the original {} file",
        source->name(), format->name)};
  }
  std::string names;
  for (const ProfileFormat& format : kFormats) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  }
  return Error{
      fmt::format("{}: not a known profile format; expected one of: {} (see 'stemtap formats')",
                  source->name(), names)};
}

Result<std::unique_ptr<model::ProfileReader>> OpenProfile(const std::string& path, ReadWatch watch,
                                                          Marks marks) {
  if (path != "-" && IsSessionDirectory(path)) {
    return Error{fmt::format("{}: is a session directory; expected a recorded run",
                             EscapeForTerminal(path))};
  }
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenStream(path, std::move(watch)));
  return OpenProfile(std::move(source), marks);
}

}  // namespace stemtap::formats
