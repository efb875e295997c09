// SPDX-License-Identifier: Apache-2.0
#include "session/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/byte_source.h"
#include "base/decimal.h"
#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/text.h"
#include "base/worker_pool.h"
#include "model/plan_reader.h"
#include "model/session_files.h"
#include "session/control.h"
#include "session/engine.h"
#include "session/gate_memory.h"
#include "session/ring_reader.h"
#include "session/session.h"
#include "session/traced_processes.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

// Plan, cells, session and overview of the largest session.
constexpr std::size_t kMaxCheckpointBytes = std::size_t{1} << 30;

constexpr std::string_view kFormat = "stemtap.checkpoint/1 ";

// Takes the text up to `end` off the front of `text`. Returns false if there is no `end`.
bool TakeUntil(char end, std::string_view& text, std::string_view& taken) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return true;
}

// Cuts the mask after its last whole line, because the collector may have been killed while it
// wrote, or before its first line if it is to be `empty`.
void CutMask(const Directory& directory, bool empty) {
  const FileDescriptor mask(
      ::openat(directory.descriptor(), shm::kMaskFileName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!mask.is_open()) return;
  if (empty) static_cast<void>(::ftruncate(mask.get(), 0));
  char last = 0;
  for (off_t end = ::lseek(mask.get(), 0, SEEK_END); end > 0; --end) {
    if (::pread(mask.get(), &last, 1, end - 1) != 1) return;
    if (last != '\n') continue;
    static_cast<void>(::ftruncate(mask.get(), end));
    return;
  }
}

// Returns the names of the files that only a running session needs: rings and so on.
std::vector<std::string> LeftOvers(const Directory& directory) {
  std::vector<std::string> names;
  directory.ForEach([&](const std::string& name, ino_t) {
    const bool is_unfinished =
        name.starts_with(shm::kUnfinishedPrefix) || name.find(".tmp.") != std::string::npos;
    if (is_unfinished || shm::IsRingName(name.c_str()) || name == shm::kGateFileName ||
        name == shm::kRecordingFileName || name == kControlFileName ||
        name == kCheckpointFileName) {
      names.push_back(name);
    }
  });
  return names;
}

// Returns how many launches the rings in the directory have received beyond `accounted`, which is
// the text of PackRings.
std::uint64_t CountMissing(const Directory& directory, std::string_view accounted) {
  std::uint64_t missing = 0;
  directory.ForEach([&](const std::string& name, ino_t) {
    if (!shm::IsRingName(name.c_str())) return;
    const Result<RingReader> ring = RingReader::Open(directory, name);
    if (!ring.ok()) return;
    std::uint64_t known = 0;
    std::string_view rest = accounted;
    for (std::string_view line; TakeUntil('\n', rest, line);) {
      std::string_view file;
      if (TakeUntil(' ', line, file) && file == name) known = WholeNumber(line).value_or(0);
    }
    const std::uint64_t seen = ring.value().Report().seen;
    missing += seen - std::min(seen, known);
  });
  return missing;
}

// Completes a session that was written while it ran.
void Conclude(Recovered& recovered) {
  model::RecordedSession& session = recovered.session;
  session.is_snapshot = false;
  session.is_recovered = true;
  session.warnings.push_back(fmt::format(
      "the collector was killed; {} recorded afterwards, or shortly before, {} not included",
      Plural(recovered.missing, "launch", "launches"), recovered.missing == 1 ? "is" : "are"));
}

Result<Recovered> FromCheckpoint(const Directory& directory, const std::string& text) {
  const std::string shown = directory.PathOf(kCheckpointFileName);
  std::vector<SessionFile> files = STEMTAP_TRY(UnpackFiles(text, shown));
  const auto named = [&](std::string_view name) {
    return std::ranges::find(files, name, &SessionFile::name);
  };
  const auto session = named(shm::kSessionFileName);
  const auto plan_file = named("plan.json");
  const auto summary = named("summary.txt");
  if (session == files.end() || plan_file == files.end() || summary == files.end()) {
    return Error{fmt::format("{}: contains no plan.json, session.json and summary.txt", shown)};
  }
  for (const SessionFile& file : files) {
    if (file.name == kRingsName || std::ranges::count(model::kSessionFiles, file.name) != 0)
      continue;
    return Error{fmt::format("{}: contains '{}', which is no file of a session", shown,
                             EscapeForTerminal(file.name))};
  }
  Recovered recovered;
  recovered.session = STEMTAP_TRY(model::ParseSession(session->content, shown));
  const model::Plan plan = STEMTAP_TRY(model::ParsePlan(plan_file->content, shown));
  recovered.launches = plan.totals.invocations;
  const auto rings = named(kRingsName);
  recovered.missing = CountMissing(directory, rings == files.end() ? "" : rings->content);
  Conclude(recovered);
  summary->content = SessionSummary(recovered.session, plan);
  session->content = model::SessionToJson(recovered.session);
  // session.json last: with it, the session has ended.
  std::stable_partition(files.begin(), files.end(),
                        [](const SessionFile& f) { return f.name != shm::kSessionFileName; });
  for (const SessionFile& file : files) {
    if (file.name == kRingsName) continue;
    STEMTAP_TRY(directory.Replace(file.name, file.content));
  }
  return recovered;
}

// Makes a session of the records that are left in the rings.
Result<Recovered> FromRings(const Directory& directory, const std::string& path) {
  SessionOptions options;
  options.folder = path;
  options.place = SessionPlace::kClaimed;
  const std::unique_ptr<Session> session =
      STEMTAP_TRY(Session::Open(SessionMode::kLive, std::move(options)));
  WorkerPool pool(1);
  GateMemory gate = STEMTAP_TRY(GateMemory::Private());
  Engine engine({}, gate.table(), GateAsked::kByEngine, 0, pool);
  RecordingSchedule schedule({});
  TracedProcesses processes(directory, engine, schedule, true);
  STEMTAP_TRY(session->Begin(engine, [&](model::Overview& o) { processes.Describe(o); }));
  const std::uint64_t seen = CountMissing(directory, "");
  while (processes.FindRings()) processes.DrainRest();
  SessionResult result = session->Draft(engine.Finish(), engine.status());
  result.plan.source = "rings";
  result.session.devices = processes.devices();
  result.session.processes = processes.Reports();
  Recovered recovered;
  recovered.is_from_rings = true;
  recovered.launches = result.plan.totals.invocations;
  recovered.missing = seen - std::min(seen, recovered.launches);
  recovered.session = result.session;
  Conclude(recovered);
  result.session = recovered.session;
  STEMTAP_TRY(session->Finish(result));
  return recovered;
}

}  // namespace

std::string PackFiles(const std::vector<SessionFile>& files) {
  std::string text = fmt::format("{}{}\n", kFormat, files.size());
  for (const SessionFile& file : files) {
    text += fmt::format("{} {}\n", file.name, file.content.size());
    text += file.content;
  }
  return text;
}

std::string PackRings(const std::vector<TracedProcesses::RingProgress>& rings) {
  std::string text;
  for (const auto& [file, launches] : rings) text += fmt::format("{} {}\n", file, launches);
  return text;
}

Result<std::vector<SessionFile>> UnpackFiles(std::string_view text, const std::string& source) {
  const Error wrong{
      fmt::format("{}: is damaged; expected a checkpoint", EscapeForTerminal(source))};
  std::string_view line;
  if (!text.starts_with(kFormat) || !TakeUntil('\n', text, line)) return wrong;
  const std::optional<std::uint64_t> count = WholeNumber(line.substr(kFormat.size()));
  std::vector<SessionFile> files;
  for (std::uint64_t i = 0; count && i < *count; ++i) {
    std::string_view name;
    if (!TakeUntil(' ', text, name) || !TakeUntil('\n', text, line)) return wrong;
    const std::optional<std::uint64_t> size = WholeNumber(line);
    if (!size || *size > text.size()) return wrong;
    files.push_back({std::string(name), std::string(text.substr(0, *size))});
    text.remove_prefix(*size);
  }
  if (!count || !text.empty()) return wrong;
  return files;
}

Result<Recovered> Recover(const std::string& path) {
  const Directory directory = STEMTAP_TRY(Directory::Open(path));
  const std::string shown = EscapeForTerminal(path);
  if (IsControlled(path)) {
    return Error{
        fmt::format("{}: its session runs; 'stemtap snapshot' writes its results so far", shown)};
  }
  const auto has = [&](const char* name) {
    return ::faccessat(directory.descriptor(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (has(shm::kSessionFileName)) {
    return Error{fmt::format("{}: its session has ended; there is nothing to recover", shown)};
  }
  if (!has(shm::kMaskFileName)) {
    return Error{fmt::format("{}: contains no session; expected a session directory", shown)};
  }
  // A collector that could not create its socket takes no commands, and may be running.
  if (!has(kControlFileName) && WasWrittenRecently(directory)) {
    return Error{
        fmt::format("{}: its session may be running: it has no socket and was written a "
                    "moment ago; try again in some seconds",
                    shown)};
  }
  CutMask(directory, !has(kCheckpointFileName));
  Result<Recovered> recovered = Error{""};
  if (has(kCheckpointFileName)) {
    const std::unique_ptr<ByteSource> file =
        STEMTAP_TRY(OpenByteSource(directory.PathOf(kCheckpointFileName)));
    const std::string text = STEMTAP_TRY(ReadWhole(*file, kMaxCheckpointBytes, "a checkpoint"));
    recovered = FromCheckpoint(directory, text);
  } else {
    recovered = FromRings(directory, path);
  }
  if (!recovered.ok()) return recovered.error();
  for (const std::string& name : LeftOvers(directory)) directory.Remove(name);
  return recovered;
}

}  // namespace stemtap::session
