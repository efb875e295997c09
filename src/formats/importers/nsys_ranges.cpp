// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/importers/database.h"
#include "formats/importers/recorded_ranges.h"

namespace stemtap::formats {
namespace {

constexpr const char* kRangeTable = "NVTX_EVENTS";
constexpr const char* kTextTable = "StringIds";
// Newer versions write both kinds of calls into the first.
constexpr std::array kCallTables = {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"};

// Values of NVTX_EVENTS.eventType.
constexpr std::int64_t kPushPopRange = 59;
constexpr std::int64_t kStartEndRange = 60;
constexpr std::int64_t kDomainCreate = 75;

// Maximum named domains: more than a program has. Ranges of further domains have no prefix.
constexpr std::size_t kMaxDomains = 65536;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNone = kMin;  // an empty cell

// NsysRanges reads the launch calls and the NVTX ranges of an export, and joins them to the
// launches. Ranges without a launch call are skipped with their names, so memory does not grow with
// their number. MEMBERS: the numbers of threads, domains, texts and ids, which rows refer to.
class NsysRanges {
 public:
  NsysRanges(Database& database, std::int64_t file_bytes, RecordedLaunches& launches)
      : database_(database), file_bytes_(file_bytes), launches_(launches) {}

  Status Read();

 private:
  using Domain = std::pair<std::uint32_t, std::int64_t>;  // process and domainId

  Result<bool> HasRanges();
  Status ReadCalls(const char* table, const std::vector<std::uint64_t>& wanted);
  Status ReadRanges();
  Status AddRange(const TableRows& rows);
  // Returns the number of a domain, which is 0 if its ranges have no prefix.
  std::uint32_t NumberOf(const Domain& domain);
  // Returns the number of the text of a row of NVTX_EVENTS.
  Result<std::uint32_t> TextOf(const TableRows& rows);
  std::uint32_t NumberOf(std::string_view text);
  // Returns the id of the range in a row.
  Result<std::int64_t> IdOf(const TableRows& rows, std::uint32_t process);
  std::string NameOf(std::int64_t id) const;
  std::optional<std::uint32_t> ProcessOf(std::int64_t global_tid);

  Database& database_;
  std::int64_t file_bytes_;
  RecordedLaunches& launches_;
  RecordedRanges ranges_{CallMatch::kProcessAndId};
  std::unordered_map<std::int64_t, std::uint32_t> threads_;  // by globalTid; those with calls
  // The process of the last globalTid: rows repeat their thread.
  std::optional<std::int64_t> last_thread_;
  std::optional<std::uint32_t> last_process_;
  std::map<Domain, std::uint32_t> domains_;
  std::vector<std::optional<std::uint32_t>> domain_names_ = {{}};  // text by number, once created
  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::vector<const std::string*> texts_;                         // keys of text_numbers_
  std::unordered_map<std::int64_t, std::uint32_t> shared_texts_;  // by textId
  std::string text_;                                              // of the last row
  Statement find_text_;
};

std::uint64_t KeyOf(std::uint32_t process, std::uint32_t correlation_id) {
  return std::uint64_t{process} << 32 | correlation_id;
}

// The low 24 bits of a globalTid are the thread; without them, it is the globalPid.
std::optional<std::uint32_t> NsysRanges::ProcessOf(std::int64_t global_tid) {
  if (last_thread_ != global_tid) {
    last_thread_ = global_tid;
    last_process_ =
        launches_.NumberOfProcess(static_cast<std::uint64_t>(global_tid & ~std::int64_t{0xFFFFFF}));
  }
  return last_process_;
}

// Returns whether there are ranges to join. A view in place of a table is not read.
Result<bool> NsysRanges::HasRanges() {
  if (launches_.size() == 0) return false;
  if (STEMTAP_TRY(database_.KindOf(kRangeTable)) != "table") return false;
  const std::vector<std::string> columns = STEMTAP_TRY(database_.Columns(kRangeTable));
  for (const char* needed : {"start", "end", "eventType", "globalTid"}) {
    if (std::find(columns.begin(), columns.end(), needed) == columns.end()) return false;
  }
  const Statement any = STEMTAP_TRY(
      database_.Prepare(fmt::format("SELECT 1 FROM {} WHERE eventType IN ({}, {}) LIMIT 1",
                                    kRangeTable, kPushPopRange, kStartEndRange)));
  return database_.Step(any);
}

Status NsysRanges::Read() {
  if (!STEMTAP_TRY(HasRanges())) return Success{};
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    wanted.push_back(KeyOf(launches_.ProcessOf(i), launches_.correlation_id(i)));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (const char* table : kCallTables) {
    if (STEMTAP_TRY(database_.KindOf(table)) != "table") continue;
    STEMTAP_TRY(ReadCalls(table, wanted));
  }
  if (!ranges_.has_calls()) return Success{};
  ranges_.EndCalls();
  STEMTAP_TRY(ReadRanges());
  return ranges_.Finish([this](std::int64_t id) -> Result<std::string> { return NameOf(id); },
                        launches_);
}

// `wanted`: keys of the launches.
Status NsysRanges::ReadCalls(const char* table, const std::vector<std::uint64_t>& wanted) {
  enum : int { kStart, kThread, kCorrelation };
  constexpr std::array kColumns = {"start", "globalTid", "correlationId"};
  TableRows rows = STEMTAP_TRY(TableRows::Select(database_, table, kColumns, file_bytes_));
  auto next = wanted.begin();  // most calls are in the order of the keys
  while (STEMTAP_TRY(rows.Next())) {
    const std::int64_t correlation = STEMTAP_TRY(rows.Number(kCorrelation, kMin, kMax, 0));
    const std::int64_t start = STEMTAP_TRY(rows.Number(kStart, kMin, kMax, kNone));
    const std::int64_t thread = STEMTAP_TRY(rows.Number(kThread, kMin, kMax, kNone));
    if (correlation == 0 || start == kNone || thread == kNone) continue;
    const std::optional<std::uint32_t> process = ProcessOf(thread);
    if (!process) continue;
    RecordedCall call;
    call.process = *process;
    call.correlation_id = static_cast<std::uint32_t>(correlation);
    const std::uint64_t key = KeyOf(call.process, call.correlation_id);
    const bool is_next =
        next != wanted.end() && key <= *next && (next == wanted.begin() || *(next - 1) < key);
    if (!is_next) next = std::lower_bound(wanted.begin(), wanted.end(), key);
    if (next == wanted.end() || *next != key) continue;
    ++next;
    const auto number = static_cast<std::uint32_t>(threads_.size());
    call.thread = threads_.try_emplace(thread, number).first->second;
    call.start_ns = start;
    ranges_.AddCall(call);
  }
  return Success{};
}

enum RangeColumn : int { kStart, kEnd, kType, kThread, kDomain, kSharedText, kText };
constexpr std::array kRangeColumns = {"start",    "end",    "eventType", "globalTid",
                                      "domainId", "textId", "text"};

Status NsysRanges::ReadRanges() {
  find_text_ = STEMTAP_TRY(
      database_.Prepare(fmt::format("SELECT value FROM {} WHERE id = ?1 LIMIT 1", kTextTable)));
  TableRows rows =
      STEMTAP_TRY(TableRows::Select(database_, kRangeTable, kRangeColumns, file_bytes_));
  while (STEMTAP_TRY(rows.Next())) STEMTAP_TRY(AddRange(rows));
  return Success{};
}

Status NsysRanges::AddRange(const TableRows& rows) {
  const std::int64_t type = STEMTAP_TRY(rows.Number(kType, kMin, kMax, kNone));
  if (type != kPushPopRange && type != kStartEndRange && type != kDomainCreate) return Success{};
  const std::int64_t thread = STEMTAP_TRY(rows.Number(kThread, kMin, kMax, kNone));
  const std::optional<std::uint32_t> process = ProcessOf(thread);
  if (!process) return Success{};
  ProgramRange range;
  if (type == kDomainCreate) {
    const std::int64_t id = STEMTAP_TRY(rows.Number(kDomain, kMin, kMax, 0));
    const std::uint32_t domain = NumberOf({*process, id});
    if (domain != 0 && !domain_names_[domain]) domain_names_[domain] = STEMTAP_TRY(TextOf(rows));
    return Success{};
  }
  range.start_ns = STEMTAP_TRY(rows.Number(kStart, kMin, kMax, kNone));
  range.end_ns = STEMTAP_TRY(rows.Number(kEnd, kMin, kMax, ProgramRange::kNoEnd));
  if (range.start_ns == kNone) return Success{};
  if (type == kStartEndRange) {
    range.owner = *process;
    if (!ranges_.ProcessCallsIn(range)) return Success{};
    range.id = STEMTAP_TRY(IdOf(rows, *process));
    ranges_.AddProcessRange(range);
    return Success{};
  }
  const auto known = threads_.find(thread);
  if (known == threads_.end()) return Success{};
  range.owner = known->second;
  if (!ranges_.ThreadCallsIn(range)) return Success{};
  range.id = STEMTAP_TRY(IdOf(rows, *process));
  ranges_.AddThreadRange(range);
  return Success{};
}

std::uint32_t NsysRanges::NumberOf(const Domain& domain) {
  if (domain.second == 0) return 0;
  const auto known = domains_.find(domain);
  if (known != domains_.end()) return known->second;
  if (domains_.size() == kMaxDomains) return 0;
  const auto number = static_cast<std::uint32_t>(domain_names_.size());
  domain_names_.emplace_back();
  domains_.emplace(domain, number);
  return number;
}

Result<std::uint32_t> NsysRanges::TextOf(const TableRows& rows) {
  const std::string_view own = rows.Text(kText);
  if (!own.empty()) return NumberOf(own);
  const std::int64_t id = STEMTAP_TRY(rows.Number(kSharedText, kMin, kMax, kNone));
  if (id == kNone) return NumberOf(std::string_view());
  const auto known = shared_texts_.find(id);
  if (known != shared_texts_.end()) return known->second;
  const std::optional<std::string_view> text = STEMTAP_TRY(database_.FindText(find_text_, id));
  const std::uint32_t number = NumberOf(text.value_or(std::string_view()));
  shared_texts_.emplace(id, number);
  return number;
}

std::uint32_t NsysRanges::NumberOf(std::string_view text) {
  text_ = OwnNameOf(text);
  const auto [at, is_new] =
      text_numbers_.try_emplace(text_, static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(&at->first);
  return at->second;
}

// The id of a range is the numbers of its domain and its text.
Result<std::int64_t> NsysRanges::IdOf(const TableRows& rows, std::uint32_t process) {
  const std::int64_t domain = STEMTAP_TRY(rows.Number(kDomain, kMin, kMax, 0));
  const std::uint32_t text = STEMTAP_TRY(TextOf(rows));
  return std::int64_t{NumberOf({process, domain})} << 32 | text;
}

// A domain whose creation is not in the export has no prefix.
std::string NsysRanges::NameOf(std::int64_t id) const {
  const std::optional<std::uint32_t> domain = domain_names_[static_cast<std::size_t>(id >> 32)];
  const std::string& text = *texts_[static_cast<std::uint32_t>(id)];
  return RangeNameOf(domain ? std::string_view(*texts_[*domain]) : std::string_view(), text);
}

}  // namespace

Status ReadNsysRanges(Database& database, std::int64_t file_bytes, RecordedLaunches& launches) {
  return NsysRanges(database, file_bytes, launches).Read();
}

}  // namespace stemtap::formats
