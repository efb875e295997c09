// SPDX-License-Identifier: Apache-2.0
#include "chaos/checks.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "chaos/host.h"
#include "session/ring_reader.h"

namespace stemtap::chaos {
namespace {

using Json = nlohmann::json;

// Maximum number of records whose counts are uncertain: a process can be killed between a push and
// its two counts.
constexpr std::uint64_t kInDoubt = 256;

constexpr std::string_view kWindowPrefix = "window-";

bool IsWindow(const std::string& name) {
  return name.starts_with(kWindowPrefix) && name.size() > kWindowPrefix.size() &&
         name.find_first_not_of("0123456789", kWindowPrefix.size()) == std::string::npos;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Removes pids and other numbers, which differ between runs.
std::string WithoutNumbers(const std::string& line) {
  std::string result;
  for (const char c : line) {
    if (c < '0' || c > '9') result += c;
  }
  return result;
}

// Returns whether the line is the loader's message about another tool's missing library. Each
// process prints it.
bool IsLoaders(const std::string& line) {
  return line.starts_with("ERROR: ld.so:");
}

std::vector<std::string> Words(const std::string& errors, bool with_ours) {
  std::vector<std::string> words;
  for (const std::string& line : Lines(errors)) {
    if (IsLoaders(line) || (!with_ours && line.starts_with("stemtap: "))) continue;
    words.push_back(WithoutNumbers(line));
  }
  return words;
}

std::uint64_t Number(const Json& json, const char* name) {
  return json.value(name, std::uint64_t{0});
}

Account FromJson(const Json& p) {
  Account a;
  a.pid = p.value("pid", 0);
  a.state = p.value("state", "");
  a.reason = p.value("reason", "");
  a.seen = Number(p, "seen");
  a.kept = Number(p, "kept");
  a.late = Number(p, "late");
  const Json losses = p.value("losses", Json::object());
  for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) {
    a.dropped += Number(losses, shm::kLossNames[i]);
  }
  a.gone_astray = Number(losses, "pool_exhausted") + Number(losses, "foreign_buffers") +
                  Number(losses, "unread_buffers") + Number(losses, "gaps");
  return a;
}

Account FromReport(const session::ProcessReport& p) {
  Account a;
  a.pid = p.pid;
  a.state = NameOf(p.state);
  a.reason = p.reason;
  a.seen = p.seen;
  a.kept = p.kept;
  for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) a.dropped += p.losses[i];
  a.gone_astray = p.losses[static_cast<std::uint32_t>(shm::Loss::kPoolExhausted)] +
                  p.losses[static_cast<std::uint32_t>(shm::Loss::kForeignBuffers)] +
                  p.losses[static_cast<std::uint32_t>(shm::Loss::kUnreadBuffers)] +
                  p.losses[static_cast<std::uint32_t>(shm::Loss::kGaps)];
  a.from_ring = true;
  return a;
}

void ReadSessionJson(const Json& json, Session& session, Breaches& breaches) {
  session.finished = true;
  session.window = Number(json, "window");
  const Json counters = json.value("counters", Json::object());
  session.kept = Number(counters, "kept");
  session.dropped = Number(counters, "dropped");
  session.zero_duration = Number(counters, "zero_duration");
  session.slowed = Number(counters, "slowed");
  for (const Json& p : json.value("processes", Json::array())) {
    session.processes.push_back(FromJson(p));
  }
  for (const Json& w : json.value("warnings", Json::array())) session.warnings.push_back(w);
  const std::uint64_t seen = Number(counters, "seen");
  session.counters = {true, seen, session.kept, session.dropped, Number(counters, "captured")};
  if (seen != session.kept + session.dropped) {
    breaches.push_back(fmt::format("accounts: the session has seen {}, kept {}, dropped {}", seen,
                                   session.kept, session.dropped));
  }
}

void ReadPlan(const Json& json, Session& session, Breaches& breaches) {
  std::uint64_t invocations = 0;
  for (const Json& k : json.value("kernels", Json::array())) {
    Sum& sum = session.plan[k.value("name", "")];
    sum.launches += Number(k, "invocations");
    sum.duration_ns += static_cast<std::uint64_t>(k.value("duration_ns", 0.0));
    invocations += Number(k, "invocations");
  }
  const Json totals = json.value("totals", Json::object());
  const std::uint64_t total = Number(totals, "invocations");
  session.samples = Number(totals, "samples");
  session.excluded = Number(totals, "excluded_invocations");
  if (total != invocations) {
    breaches.push_back(
        fmt::format("accounts: the plan has {} invocations, its kernels {}", total, invocations));
  }
}

void ReadOverview(const Json& json, Session& session, Breaches& breaches) {
  Session::Glance& o = session.overview.emplace();
  o.ended = json.value("state", "") == "ended";
  o.seen = Number(json, "seen");
  o.kept = Number(json, "kept");
  o.dropped = Number(json, "dropped");
  o.captured = Number(json, "captured");
  std::uint64_t invocations = 0;
  for (const Json& k : json.value("kernels", Json::array()))
    invocations += Number(k, "invocations");
  if (invocations != Number(json, "observed")) {
    breaches.push_back(fmt::format("accounts: the overview has {} observed, its kernels {}",
                                   Number(json, "observed"), invocations));
  }
}

// The last overview is written before session.json and must agree with it.
void CheckOverview(const Session& session, const Circumstances& about, Breaches& breaches) {
  if (!session.finished) return;
  const bool told = std::any_of(
      session.warnings.begin(), session.warnings.end(),
      [](const std::string& w) { return w.starts_with("overview.json could not be written "); });
  if (told && about.folder_touched) return;
  if (!session.overview) {
    // A process may still be deleting the directory when session.json appears.
    if (about.folder_deleted) return;
    breaches.push_back("missing: " + (session.folder / "overview.json").string());
  } else if (*session.overview != session.counters) {
    const Session::Glance& o = *session.overview;
    const Session::Glance& s = session.counters;
    breaches.push_back(fmt::format(
        "accounts: the overview ({}) has seen {}, kept {}, dropped {}, captured {}; the session "
        "{}, {}, {}, {}",
        o.ended ? "ended" : "running", o.seen, o.kept, o.dropped, o.captured, s.seen, s.kept,
        s.dropped, s.captured));
  }
}

void CheckMask(const std::filesystem::path& file, const Circumstances& about, Breaches& breaches) {
  const std::string text = ReadAll(file);
  for (const std::string& line : Lines(text)) {
    if (Json::accept(line)) continue;
    // A killed collector may leave an incomplete last line.
    if (about.collector_killed && text.ends_with(line)) continue;
    breaches.push_back(fmt::format("unreadable: {}: {:.80}", file.string(), line));
    return;
  }
}

void ReadRing(const std::filesystem::path& file, Session& session, Breaches& breaches) {
  session.rings.push_back(file.filename().string());
  Result<session::RingReader> ring = session::RingReader::Open(file.string());
  if (!ring.ok()) {
    breaches.push_back("unreadable: " + ring.error().message);
    return;
  }
  std::vector<shm::KernelRecord> records;
  const auto id_of = [](std::string_view, std::string_view) { return 0u; };
  while (ring.value().Drain(65536, id_of, records) == 65536) records.clear();
  const session::ProcessReport report = ring.value().Report();
  if (report.reason == "its ring is damaged") breaches.push_back("unreadable: " + file.string());
  session.processes.push_back(FromReport(report));
}

// Returns whether the name is the temporary name of a file of a session (base/byte_sink.h).
bool IsUnfinished(const std::string& name) {
  for (const char* file :
       {"plan.json", "session.json", "overview.json", "cells.json", "summary.txt"}) {
    if (name.starts_with(std::string(file) + ".tmp.")) return true;
  }
  return false;
}

}  // namespace

Breaches CheckStatus(int bare, int got, bool through_run) {
  if (got == bare) return {};
  if (through_run && WIFEXITED(got) && WIFSIGNALED(bare) &&
      WEXITSTATUS(got) == 128 + WTERMSIG(bare)) {
    return {};
  }
  return {fmt::format("status: {}, bare {}", StatusText(got), StatusText(bare))};
}

Breaches CheckOutput(const std::string& bare, const std::string& got) {
  if (bare == got) return {};
  const auto [a, b] = std::mismatch(bare.begin(), bare.end(), got.begin(), got.end());
  const auto at = static_cast<std::size_t>(a - bare.begin());
  return {fmt::format("output: from byte {} on '{:.60}', bare '{:.60}'", at, got.substr(at),
                      bare.substr(at))};
}

Breaches CheckErrors(const std::string& bare, const std::string& got, bool quiet) {
  // glibc and libstdc++ quote a failed assertion differently. Python's AssertionError is not
  // a crash: with few files, multiprocessing also raises it without stemtap.
  for (const char* crash :
       {"terminate called", "fake CUPTI:", "Assertion `", "Assertion '", "what():"}) {
    if (got.find(crash) != std::string::npos && bare.find(crash) == std::string::npos) {
      return {fmt::format("errors: '{:.200}'", got.substr(got.find(crash)))};
    }
  }
  std::vector<std::string> expected = Words(bare, false);
  std::vector<std::string> words = Words(got, false);
  std::sort(expected.begin(), expected.end());
  std::sort(words.begin(), words.end());
  Breaches breaches;
  std::vector<std::string> missing;
  std::set_difference(expected.begin(), expected.end(), words.begin(), words.end(),
                      std::back_inserter(missing));
  for (const std::string& line : missing) breaches.push_back("errors: missing '" + line + "'");
  if (!quiet) return breaches;
  std::vector<std::string> more;
  std::set_difference(words.begin(), words.end(), expected.begin(), expected.end(),
                      std::back_inserter(more));
  if (!more.empty()) breaches.push_back("errors: unexpected '" + more.front() + "'");
  return breaches;
}

bool IsSessionFolder(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return std::filesystem::is_directory(path) && (name == "session" || name.starts_with("stemtap-"));
}

Session ReadSession(const std::filesystem::path& folder, const Circumstances& about,
                    Breaches& breaches) {
  using std::filesystem::begin;
  using std::filesystem::end;
  Session session;
  session.folder = folder;
  const auto files = std::filesystem::directory_iterator(folder);
  session.unborn = about.may_die_unborn && std::all_of(begin(files), end(files), [](const auto& f) {
                     const std::string name = f.path().filename().string();
                     return name.starts_with("new.ring.") || name.starts_with("ring.");
                   });
  if (session.unborn) return session;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "plan.json" || name == "session.json" || name == "overview.json" ||
        name == "cells.json") {
      const Json json = Json::parse(ReadAll(entry.path()), nullptr, false);
      if (!json.is_object()) {
        breaches.push_back("unreadable: " + entry.path().string());
      } else if (name == "cells.json") {
        continue;  // read when sessions are merged
      } else if (name == "plan.json") {
        ReadPlan(json, session, breaches);
      } else if (name == "overview.json") {
        ReadOverview(json, session, breaches);
      } else {
        ReadSessionJson(json, session, breaches);
      }
    } else if (name == "mask.ndjson") {
      CheckMask(entry.path(), about, breaches);
    } else if (name == "stemtap.log" || (about.windows && entry.is_directory() && IsWindow(name))) {
      continue;
    } else if (name == "summary.txt") {
      if (entry.file_size() == 0) breaches.push_back("unreadable: " + entry.path().string());
    } else if (name.starts_with("ring.") && about.files_truncated) {
      session.rings.push_back(name);
    } else if (name.starts_with("ring.")) {
      ReadRing(entry.path(), session, breaches);
    } else if (name.starts_with("new.ring.") && about.nothing_is_removed) {
      continue;  // its writer was killed or is no longer allowed to remove it
    } else if (IsUnfinished(name) && (about.nothing_is_removed || about.collector_killed)) {
      continue;  // likewise
    } else if ((!name.ends_with("gate.table") && name != "control" && name != "recording" &&
                name != "checkpoint") ||
               (!about.collector_killed && !about.folder_touched)) {
      breaches.push_back("left over: " + entry.path().string());
    }
  }
  for (const std::string& ring : session.rings) {
    // An unreadable ring remains, and a warning must name the ring or the whole directory.
    const std::string whole = folder.filename().string() + ": ";
    const bool told =
        std::any_of(session.warnings.begin(), session.warnings.end(), [&](const auto& warning) {
          return warning.starts_with("not read: ") && (warning.find(ring) != std::string::npos ||
                                                       warning.find(whole) != std::string::npos);
        });
    if (!about.collector_killed && !about.folder_touched && !told) {
      breaches.push_back(fmt::format("left over: {}", (folder / ring).string()));
    }
  }
  CheckOverview(session, about, breaches);
  std::uint64_t planned = 0;
  for (const auto& [name, sum] : session.plan) planned += sum.launches;
  if (session.finished && planned + session.excluded != session.kept) {
    breaches.push_back(fmt::format("accounts: {} kept, {} in the plan, {} excluded", session.kept,
                                   planned, session.excluded));
  }
  return session;
}

std::map<std::uint64_t, std::filesystem::path> WindowFolders(const std::filesystem::path& folder) {
  std::map<std::uint64_t, std::filesystem::path> folders;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, gone)) {
    const std::string name = entry.path().filename().string();
    if (IsWindow(name)) folders[std::stoull(name.substr(kWindowPrefix.size()))] = entry.path();
  }
  return folders;
}

Breaches CheckWindows(const Session& last, const std::map<std::uint64_t, Session>& windows,
                      const Circumstances& about) {
  Breaches breaches;
  const bool excused = about.collector_killed || about.folder_touched;
  const auto told = [&](std::uint64_t number) {
    const std::string begin = fmt::format("window {} could not be written: ", number);
    return std::any_of(last.warnings.begin(), last.warnings.end(), [&](const std::string& w) {
      return w.starts_with(begin) || w.find(" more window") != std::string::npos;
    });
  };
  for (const auto& [number, window] : windows) {
    if (!window.finished && !excused && !told(number)) {
      breaches.push_back("unreadable: " + window.folder.string() + " has no session.json");
    } else if (window.finished && window.window != number) {
      breaches.push_back(
          fmt::format("windows: {} is of window {}", window.folder.string(), window.window));
    }
  }
  if (!last.finished || excused) return breaches;
  const std::uint64_t ended = last.window == 0 ? 0 : last.window - 1;
  const std::uint64_t first = about.keep == 0 || about.keep >= ended ? 1 : ended - about.keep + 1;
  for (std::uint64_t number = first; number <= ended; ++number) {
    if (!windows.contains(number) && !told(number)) {
      breaches.push_back(fmt::format("windows: {} of {} is missing", number, ended));
    }
  }
  for (const auto& [number, window] : windows) {
    if (number < first || number > ended) {
      breaches.push_back("left over: " + window.folder.string());
    }
  }
  return breaches;
}

namespace {

// Adds the account of a later window. The state and the reason are the last ones.
void AddLater(const Account& later, Account& sum) {
  const Account before = sum;
  sum = later;
  if (sum.reason.empty()) sum.reason = before.reason;
  sum.programs = std::max(before.programs, later.programs);
  if (later.from_ring) return;  // a ring has the counts of all windows
  sum.seen += before.seen;
  sum.kept += before.kept;
  sum.dropped += before.dropped;
  sum.gone_astray += before.gone_astray;
  sum.late += before.late;
}

// Returns one account per process.
std::map<pid_t, Account> ByProcess(const Session& session) {
  std::map<pid_t, Account> accounts;
  for (const Account& p : session.processes) {
    const auto [found, is_new] = accounts.emplace(p.pid, p);
    if (is_new) continue;
    const int programs = found->second.programs + 1;
    AddLater(p, found->second);
    found->second.programs = programs;
  }
  return accounts;
}

}  // namespace

Session Joined(const std::map<std::uint64_t, Session>& windows, const Session& last,
               const Circumstances& about) {
  if (!about.windows) return last;
  Session joined = last;
  std::map<pid_t, Account> accounts;
  std::vector<const Session*> all;
  for (const auto& [number, window] : windows) all.push_back(&window);
  all.push_back(&last);
  for (const Session* session : all) {
    for (const auto& [pid, account] : ByProcess(*session)) {
      const auto [found, is_new] = accounts.emplace(pid, account);
      if (!is_new) AddLater(account, found->second);
    }
    if (session == &last) break;
    joined.kept += session->kept;
    joined.dropped += session->dropped;
    joined.zero_duration += session->zero_duration;
    joined.slowed += session->slowed;
    joined.excluded += session->excluded;
    for (const auto& [name, sum] : session->plan) {
      joined.plan[name].launches += sum.launches;
      joined.plan[name].duration_ns += sum.duration_ns;
    }
  }
  joined.processes.clear();
  for (auto& [pid, account] : accounts) {
    if (about.execs) account.programs = std::max(account.programs, 2);
    joined.processes.push_back(account);
  }
  const std::uint64_t ended = last.window == 0 ? 0 : last.window - 1;
  joined.windows_missing = std::count_if(windows.begin(), windows.end(), [](const auto& w) {
                             return w.second.finished;
                           }) != static_cast<long>(ended);
  return joined;
}

Breaches CheckAttempt(const Attempt& attempt, const std::vector<Session>& sessions,
                      const Circumstances& about) {
  const std::vector<std::string> lines = Lines(attempt.errors);
  if (attempt.accepted()) {
    const auto is_listed = [&](const Session& session) {
      return std::any_of(session.processes.begin(), session.processes.end(),
                         [&](const Account& p) { return p.pid == attempt.pid; });
    };
    const bool excused = about.collector_killed || about.folder_touched || about.files_truncated ||
                         about.may_die_unborn;
    if (excused || std::any_of(sessions.begin(), sessions.end(), is_listed)) return {};
    return {fmt::format("attach: accepted, but nothing is known of process {}", attempt.pid)};
  }
  const bool is_refused = attempt.status && WIFEXITED(*attempt.status) &&
                          WEXITSTATUS(*attempt.status) == 1 && !lines.empty() &&
                          lines.back().starts_with("stemtap: ") &&
                          !lines.back().starts_with("stemtap: warning: ");
  if (is_refused) return {};
  return {fmt::format("attach: {}, '{:.200}'",
                      attempt.status ? StatusText(*attempt.status) : "still runs", attempt.errors)};
}

Breaches CheckNothingElse(const std::filesystem::path& work) {
  Breaches breaches;
  for (const auto& entry : std::filesystem::directory_iterator(work)) {
    if (!IsSessionFolder(entry.path())) breaches.push_back("left over: " + entry.path().string());
  }
  return breaches;
}

Truths ReadTruths(const std::filesystem::path& folder, bool names_exact) {
  Truths truths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("truth.")) continue;
    Truth& truth = truths[static_cast<pid_t>(std::stol(name.substr(6)))];
    for (const std::string& line : Lines(ReadAll(entry.path()))) {
      std::istringstream words(line);
      std::string word;
      if (line.starts_with("# launches")) {
        words >> word >> word >> truth.launches;
        while (words >> word && word != "unrecorded") {
        }
        words >> truth.unrecorded;
      } else if (names_exact) {
        Sum sum;
        words >> sum.launches >> sum.duration_ns;
        truth.by_name[line.substr(line.rfind('\t') + 1)] = sum;
      }
    }
  }
  return truths;
}

namespace {

// Returns whether the plan must match the launches exactly. `accounts` is the number of accounts
// per process.
bool Complete(const Session& session, const Truths& truths, const std::map<pid_t, int>& accounts,
              const Circumstances& about) {
  if (!session.finished || !about.names_exact || about.unheard_launches || about.controlled) {
    return false;
  }
  if (session.windows_missing || session.excluded != 0) return false;
  if (session.dropped != 0 || session.zero_duration != 0) return false;
  return std::all_of(session.processes.begin(), session.processes.end(), [&](const Account& p) {
    return !p.from_ring && p.state == "closed" && p.gone_astray == 0 && truths.contains(p.pid) &&
           accounts.at(p.pid) == 1;
  });
}

// Every record that a process kept is in the plan of some window.
void CheckSum(const Session& session, const Circumstances& about, Breaches& breaches) {
  if (!about.windows || !session.finished || session.windows_missing) return;
  std::uint64_t seen = 0;
  for (const Account& p : session.processes) {
    if (p.from_ring || p.state != "closed" || p.programs != 1) return;
    seen += p.seen;
  }
  if (session.kept + session.dropped != seen) {
    breaches.push_back(
        fmt::format("accounts: all windows have kept {} and dropped {}, but their processes {}",
                    session.kept, session.dropped, seen));
  }
}

void CheckAgainstTruth(const Account& p, const Truth& truth, bool windows_missing,
                       const Circumstances& about, Breaches& breaches) {
  if (p.seen > truth.launches) {
    breaches.push_back(fmt::format("accounts: process {} was seen to launch {}, but launched {}",
                                   p.pid, p.seen, truth.launches));
  }
  // While recording is off, launches are not seen, and CUPTI does not see them either.
  const std::uint64_t off = about.controlled ? truth.unrecorded : 0;
  if (p.seen + off >= truth.launches || about.unheard_launches || windows_missing) return;
  const bool says_so = p.state != "closed" || p.gone_astray != 0 || !p.reason.empty();
  if (!says_so) {
    breaches.push_back(fmt::format("silent: process {} launched {}, of which {} were seen", p.pid,
                                   truth.launches, p.seen));
  }
  if (p.state == "disabled" && p.reason.empty()) {
    breaches.push_back(fmt::format("silent: process {} is disabled for no reason", p.pid));
  }
}

}  // namespace

Breaches CheckAccounts(const std::vector<Session>& sessions, const Truths& truths,
                       const std::string& errors, const Circumstances& about) {
  Breaches breaches;
  std::map<pid_t, int> accounts;
  for (const Session& session : sessions) {
    for (const Account& p : session.processes) accounts[p.pid] += p.programs;
  }
  for (const Session& session : sessions) {
    ByName launched;
    CheckSum(session, about, breaches);
    for (const Account& p : session.processes) {
      const std::uint64_t sum = p.kept + p.dropped;
      const bool in_doubt = p.from_ring && p.state == "recording";
      const std::uint64_t off = p.seen > sum ? p.seen - sum : sum - p.seen;
      if (off > (in_doubt ? kInDoubt : 0)) {
        breaches.push_back(fmt::format("accounts: process {} ({}): seen {}, kept {}, dropped {}",
                                       p.pid, p.state, p.seen, p.kept, p.dropped));
      }
      const auto truth = truths.find(p.pid);
      // After exec, a process has several accounts but only the truth of its last program.
      if (truth == truths.end() || accounts[p.pid] != 1) continue;
      CheckAgainstTruth(p, truth->second, session.windows_missing, about, breaches);
      for (const auto& [name, t] : truth->second.by_name) {
        launched[name].launches += t.launches;
        launched[name].duration_ns += t.duration_ns;
      }
    }
    ByName planned = session.plan;
    if (session.slowed != 0) {
      for (ByName* sums : {&launched, &planned}) {
        for (auto& [name, sum] : *sums) sum.duration_ns = 0;
      }
    }
    if (Complete(session, truths, accounts, about) && launched != planned) {
      breaches.push_back("accounts: the plan's kernels are not those that were launched");
    }
  }
  bool spoke = errors.find("stemtap: ") != std::string::npos;
  for (const Session& session : sessions) {
    for (const std::string& warning : session.warnings) spoke |= warning.starts_with("not read: ");
  }
  const bool excused = spoke || !about.error_visible || about.stays_out || about.collector_killed ||
                       about.folder_deleted || about.attached ||
                       std::any_of(sessions.begin(), sessions.end(),
                                   [](const Session& s) { return s.windows_missing; });
  for (const auto& [pid, truth] : truths) {
    if (!accounts.contains(pid) && truth.launches != 0 && !excused) {
      breaches.push_back(fmt::format("silent: nothing is known of process {}, which launched {}",
                                     pid, truth.launches));
    }
  }
  const bool finished = std::all_of(sessions.begin(), sessions.end(),
                                    [](const Session& s) { return s.finished || s.unborn; });
  if (!finished && !spoke && about.error_visible && !about.collector_killed) {
    breaches.push_back("silent: a session without session.json and without a reported reason");
  }
  return breaches;
}

Breaches CheckProcesses(const std::vector<pid_t>& left) {
  Breaches breaches;
  for (const pid_t pid : left) {
    breaches.push_back(
        fmt::format("process left: {} ({})", pid, ProgramOf(pid).filename().string()));
  }
  return breaches;
}

Breaches CheckSharedMemory(const std::set<std::string>& before,
                           const std::set<std::string>& after) {
  Breaches breaches;
  for (const std::string& name : after) {
    if (!before.contains(name)) breaches.push_back("shared memory left: /dev/shm/" + name);
  }
  return breaches;
}

}  // namespace stemtap::chaos
