// SPDX-License-Identifier: Apache-2.0
#include "model/overview.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/file_descriptor.h"
#include "base/saturating.h"
#include "model/json_fields.h"
#include "model/json_text.h"
#include "model/json_walk.h"
#include "model/json_writer.h"
#include "model/overview_check.h"
#include "model/overview_reader.h"
#include "model/plan.h"
#include "model/session.h"

namespace stemtap::model {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Names in the tables below.
using P = OverviewProcess;
using T = TimelinePoint;
using C = OverviewCluster;
using B = HistogramBin;
using S = KernelSlice;
using K = OverviewKernel;
using O = Overview;
using A = Activity;
using Slice = ActivitySlice;
using Busy = BusySlice;
using Device = DeviceActivity;
using Launch = shm::LaunchConfig;

template <>
inline constexpr auto kTable<OverviewProcess> = std::tuple(
    Optional<&P::pid>("pid"), Optional<&P::program>("program"), Optional<&P::state>("state"),
    Optional<&P::reason>("reason"), Optional<&P::seen>("seen"), Optional<&P::kept>("kept"),
    Optional<&P::dropped>("dropped"), Optional<&P::captured>("captured"));

template <>
inline constexpr auto kRow<TimelinePoint> = MakeRow(
    "a point of eight numbers", Optional<&T::elapsed_s>().Seconds(), Optional<&T::observed>(),
    Optional<&T::duration_ns>(), Optional<&T::captured>(), Optional<&T::captured_duration_ns>(),
    Optional<&T::clusters_open>(), Optional<&T::bound>(), Optional<&T::dropped>());

constexpr const char* kClusterStates[] = {"open", "closed", "unreachable"};

template <>
inline constexpr auto kTable<OverviewCluster> =
    std::tuple(Optional<&C::lower_ns>("lower_ns"), Optional<&C::upper_ns>("upper_ns"),
               Optional<&C::count>("count"), Optional<&C::mean_ns>("mean_ns"),
               Optional<&C::stddev_ns>("stddev_ns"), Optional<&C::captured>("captured"),
               Optional<&C::target>("target"),
               Optional<&C::state>("state").OneOf({kClusterStates, "open, closed or unreachable"}));

template <>
inline constexpr auto kRow<HistogramBin> = MakeRow("[lower, upper, launches]",
                                                   Optional<&B::lower_ns>(),
                                                   Optional<&B::upper_ns>(), Optional<&B::count>());

template <>
inline constexpr auto kRow<KernelSlice> = MakeRow("[slice, launches, time]", Optional<&S::slice>(),
                                                  Optional<&S::invocations>(),
                                                  Optional<&S::duration_ns>());

template <>
inline constexpr auto kRow<ActivitySlice> = MakeRow("[slice, launches, kernel time, busy time]",
                                                    Optional<&Slice::slice>(),
                                                    Optional<&Slice::launches>(),
                                                    Optional<&Slice::duration_ns>(),
                                                    Optional<&Slice::busy_ns>());

template <>
inline constexpr auto kRow<BusySlice> = MakeRow("[slice, busy time]", Optional<&Busy::slice>(),
                                                Optional<&Busy::busy_ns>());

template <>
inline constexpr auto kTable<DeviceActivity> =
    std::tuple(Optional<&Device::process>("process"),
               Nullable<&Device::device>("device", shm::kUnknown16).NullIfAbsent(),
               Optional<&Device::slices>("slices"));

template <>
inline constexpr auto kTable<Activity> = std::tuple(
    Optional<&A::devices>("devices"), Optional<&A::start_ns>("start_ns"),
    Optional<&A::width_ns>("width_ns"), Optional<&A::count>("count"),
    Optional<&A::slices>("slices"), Optional<&A::by_device>("by_device").OmitIfAbsent().Detail());

template <>
inline constexpr auto kTable<OverviewKernel> =
    std::tuple(Required<&K::name>("name"), Nullable<&K::process>("process").NullIfAbsent(),
               Optional<&K::range>("range").OmitIfAbsent(),
               Nullable<&K::config, &Launch::grid>("grid").NullIfAbsent(),
               Nullable<&K::config, &Launch::block>("block").NullIfAbsent(),
               Nullable<&K::launched_config, &Launch::grid>("launched_grid").OmitIfAbsent(),
               Nullable<&K::launched_config, &Launch::block>("launched_block").OmitIfAbsent(),
               Optional<&K::invocations>("invocations"), Optional<&K::duration_ns>("duration_ns"),
               Optional<&K::captured>("captured"), Optional<&K::imputed>("imputed"),
               Optional<&K::clusters>("clusters"), Optional<&K::histogram>("histogram"),
               Optional<&K::slices>("slices").Detail());

constexpr const char* kSessionStates[] = {"running", "ended"};

constexpr Group kSlices = {
    "slices", ",\n",
    std::tuple(Optional<&O::slices_start_ns>("start_ns"), Optional<&O::slices_width_ns>("width_ns"),
               Optional<&O::slices>("count"))};

template <>
inline constexpr auto kTable<Overview> = std::tuple(
    Optional<&O::tool>("tool"), Optional<&O::mode>("mode"),
    Required<&O::ended>("state").OneOf({kSessionStates, "running or ended"}),
    Nullable<&O::pid>("pid").OmitIfAbsent(), Optional<&O::started_unix_ms>("started_unix_ms"),
    Optional<&O::elapsed_s>("elapsed_s").Seconds(), Optional<&O::period_ms>("period_ms"),
    Optional<&O::command>("command").Lead(",\n"), Optional<&O::error_bound>("error_bound"),
    Optional<&O::confidence>("confidence"), Optional<&O::level>("level"),
    Optional<&O::actuator>("actuator"), Optional<&O::recording>("recording").OmitIfAbsent(),
    Optional<&O::window>("window").OmitIfAbsent(),
    Optional<&O::has_stayed_bound>("bound_has_stayed_met").OmitIfAbsent(),
    Optional<&O::seen>("seen").Lead(", \n"), Optional<&O::kept>("kept"),
    Optional<&O::dropped>("dropped"), Optional<&O::gaps>("gaps"), Optional<&O::losses>("losses"),
    Optional<&O::observed>("observed").Lead(",\n"), Optional<&O::duration_ns>("duration_ns"),
    Optional<&O::captured>("captured"), Optional<&O::captured_duration_ns>("captured_duration_ns"),
    Optional<&O::kernels_known>("kernels_known"), Optional<&O::clusters_open>("clusters_open"),
    Optional<&O::clusters_closed>("clusters_closed"), Optional<&O::bound>("bound", kNone),
    Optional<&O::certified_bound>("certified_bound", kNone).OmitIfAbsent(),
    Optional<&O::slowed>("slowed"), Optional<&O::zero_duration>("zero_duration"),
    Optional<&O::excluded>("excluded"), Optional<&O::excluded_duration_ns>("excluded_duration_ns"),
    Optional<&O::processes>("processes").Lead(",\n"),
    Optional<&O::timeline>("timeline").Lead(",\n"),
    Optional<&O::activity>("activity").Lead(",\n").OmitIfAbsent(), kSlices,
    Required<&O::kernels>("kernels").Lead(",\n").Items({.between = ",\n"}));

namespace {

constexpr std::string_view kSchema = "stemtap.overview/1";
constexpr const char* kExpected = "an overview.json";
// Room for half a million kernels of about 2 KB.
constexpr std::size_t kMaxOverviewBytes = std::size_t{1} << 30;

// Nine digits are enough to distinguish durations.
void AppendNineDigits(double value, std::string& text) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(text), "{:.9g}", value);
  } else {
    text += "null";
  }
}

// Checks `overview` and renames the states of files from before 0.1.0.
Status Checked(Overview& overview, std::string_view source) {
  constexpr auto kDisabled = static_cast<std::size_t>(ProcessState::kDisabled);
  for (OverviewProcess& process : overview.processes) {
    if (process.state == kFormerStateNames[kDisabled])
      process.state = NameOf(ProcessState::kDisabled);
  }
  const std::string wrong = CheckOverview(overview);
  if (!wrong.empty()) return Error{fmt::format("{}: {}", source, wrong)};
  return Success{};
}

Error SystemError(const std::string& path, const char* what) {
  return Error{fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

Status ReadFile(const std::string& path, std::string& text) {
  // O_NONBLOCK: do not wait for the writer of a named pipe.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return SystemError(path, "cannot be opened");
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) return SystemError(path, "cannot be read");
  if (!S_ISREG(about.st_mode)) {
    return Error{fmt::format("{}: is not a regular file; expected {}", path, kExpected)};
  }
  if (static_cast<std::uint64_t>(about.st_size) > kMaxOverviewBytes) {
    return Error{
        fmt::format("{}: has more than {} bytes; expected {}", path, kMaxOverviewBytes, kExpected)};
  }
  text.resize(static_cast<std::size_t>(about.st_size));
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, "cannot be read");
    if (count == 0) break;  // the file was truncated; parsing will probably fail
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return Success{};
}

}  // namespace

void AddCounters(const OverviewTotals& more, OverviewTotals& sum) {
  using Totals = OverviewTotals;
  for (const auto counter :
       {&Totals::seen, &Totals::kept, &Totals::dropped, &Totals::gaps, &Totals::observed,
        &Totals::duration_ns, &Totals::captured, &Totals::captured_duration_ns,
        &Totals::clusters_open, &Totals::clusters_closed, &Totals::slowed, &Totals::zero_duration,
        &Totals::excluded, &Totals::excluded_duration_ns}) {
    AddSaturated(more.*counter, sum.*counter);
  }
}

void AddCounters(const TimelinePoint& more, TimelinePoint& sum) {
  for (const auto counter : {&T::observed, &T::duration_ns, &T::captured, &T::captured_duration_ns,
                             &T::clusters_open, &T::dropped}) {
    AddSaturated(more.*counter, sum.*counter);
  }
}

void TakeBounds(const PlanTotals& totals, OverviewTotals& overview) {
  overview.bound = totals.invocations == 0 ? kNone : totals.bound;
  const bool exceeds = ExceedsCertifiedBound(totals.observed_error, totals.certified_bound);
  overview.certified_bound = totals.invocations != 0 && exceeds ? totals.certified_bound : kNone;
}

std::string OverviewToJson(const Overview& overview) {
  constexpr JsonStyle kStyle = {AppendNineDigits, ", "};
  std::string text = fmt::format("{{\"schema\": \"{}\", ", kSchema);
  JsonWriter(kStyle, text).Fields(overview, kTable<Overview>);
  return text += "}\n";
}

struct OverviewReader::Memory {
  simdjson::ondemand::parser parser;
  std::string text;
};

OverviewReader::OverviewReader(bool slices)
    : memory_(std::make_unique<Memory>()), slices_(slices) {}

OverviewReader::~OverviewReader() = default;

std::string_view OverviewReader::text() const {
  return memory_->text;
}

Status OverviewReader::Read(const std::string& path, Overview& overview) {
  STEMTAP_TRY(ReadFile(path, memory_->text));
  PadForJson(memory_->text);
  STEMTAP_TRY(
      JsonWalk(kSchema, slices_).Read(memory_->parser, memory_->text, path, kExpected, overview));
  return Checked(overview, path);
}

Result<Overview> ParseOverview(std::string_view json, std::string_view source) {
  Overview overview;
  STEMTAP_TRY(ReadJson(json, source, kSchema, kExpected, overview));
  STEMTAP_TRY(Checked(overview, source));
  return overview;
}

Result<Overview> LoadOverview(const std::string& path) {
  const std::string text = STEMTAP_TRY(ReadJsonFile(path, kMaxOverviewBytes, kExpected));
  return ParseOverview(text, NameOfSource(path));
}

}  // namespace stemtap::model
