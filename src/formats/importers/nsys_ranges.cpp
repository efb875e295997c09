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
// launches. Ranges without a launch call are skipped, and names are found only as they are needed,
// so memory does not grow with the number of other ranges.
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
  Status PrepareNames();
  Result<std::string> NameOf(std::int64_t row);
  // Returns the text of a row of NVTX_EVENTS.
  Result<std::string> TextOf(std::int64_t row);
  Result<std::string> DomainOf(const Domain& domain);

  // The low 24 bits of a globalTid are the thread; without them, it is the globalPid.
  std::optional<std::uint32_t> ProcessOf(std::int64_t global_tid) const {
    return launches_.NumberOfProcess(
        static_cast<std::uint64_t>(global_tid & ~std::int64_t{0xFFFFFF}));
  }

  Database& database_;
  std::int64_t file_bytes_;
  RecordedLaunches& launches_;
  RecordedRanges ranges_{CallMatch::kProcessAndId};
  std::unordered_map<std::int64_t, std::uint32_t> threads_;  // by globalTid; those with calls
  std::map<Domain, std::int64_t> domains_;                   // row that creates it
  std::map<Domain, std::string> domain_names_;               // those that were needed
  Statement find_range_;
  Statement find_text_;
};

std::uint64_t KeyOf(std::uint32_t process, std::uint32_t correlation_id) {
  return std::uint64_t{process} << 32 | correlation_id;
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
  STEMTAP_TRY(PrepareNames());
  return ranges_.Finish([this](std::int64_t row) { return NameOf(row); }, launches_);
}

// `wanted`: keys of the launches.
Status NsysRanges::ReadCalls(const char* table, const std::vector<std::uint64_t>& wanted) {
  enum : int { kStart, kThread, kCorrelation };
  constexpr std::array kColumns = {"start", "globalTid", "correlationId"};
  TableRows rows = STEMTAP_TRY(TableRows::Select(database_, table, kColumns, file_bytes_));
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
    if (!std::binary_search(wanted.begin(), wanted.end(),
                            KeyOf(call.process, call.correlation_id))) {
      continue;
    }
    const auto next = static_cast<std::uint32_t>(threads_.size());
    call.thread = threads_.try_emplace(thread, next).first->second;
    call.start_ns = start;
    ranges_.AddCall(call);
  }
  return Success{};
}

enum RangeColumn : int { kRow, kStart, kEnd, kType, kThread, kDomain };
constexpr std::array kRangeColumns = {"rowid",     "start",     "end",
                                      "eventType", "globalTid", "domainId"};

Status NsysRanges::ReadRanges() {
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
  range.id = STEMTAP_TRY(rows.Number(kRow, kMin, kMax, kNone));
  if (type == kDomainCreate) {
    const std::int64_t domain = STEMTAP_TRY(rows.Number(kDomain, kMin, kMax, 0));
    if (domain != 0 && domains_.size() < kMaxDomains) {
      domains_.try_emplace({*process, domain}, range.id);
    }
    return Success{};
  }
  range.start_ns = STEMTAP_TRY(rows.Number(kStart, kMin, kMax, kNone));
  range.end_ns = STEMTAP_TRY(rows.Number(kEnd, kMin, kMax, ProgramRange::kNoEnd));
  if (range.start_ns == kNone) return Success{};
  if (type == kStartEndRange) {
    range.owner = *process;
    if (ranges_.ProcessCallsIn(range)) ranges_.AddProcessRange(range);
    return Success{};
  }
  const auto known = threads_.find(thread);
  if (known == threads_.end()) return Success{};
  range.owner = known->second;
  if (ranges_.ThreadCallsIn(range)) ranges_.AddThreadRange(range);
  return Success{};
}

Status NsysRanges::PrepareNames() {
  const std::vector<std::string> columns = STEMTAP_TRY(database_.Columns(kRangeTable));
  std::string list;
  for (const char* column : {"text", "textId", "domainId", "globalTid"}) {
    const bool found = std::find(columns.begin(), columns.end(), column) != columns.end();
    list += fmt::format("{}{}", list.empty() ? "" : ", ", found ? column : "NULL");
  }
  find_range_ = STEMTAP_TRY(database_.Prepare(
      fmt::format("SELECT {} FROM {} WHERE {} = ?1 LIMIT 1", list, kRangeTable, kRowId)));
  find_text_ = STEMTAP_TRY(
      database_.Prepare(fmt::format("SELECT value FROM {} WHERE id = ?1 LIMIT 1", kTextTable)));
  return Success{};
}

Result<std::string> NsysRanges::NameOf(std::int64_t row) {
  const std::string text = STEMTAP_TRY(TextOf(row));
  // TextOf left the statement at the row.
  const std::int64_t domain = sqlite3_column_int64(find_range_.get(), 2);
  const std::int64_t thread = sqlite3_column_int64(find_range_.get(), 3);
  if (domain == 0) return RangeNameOf("", text);
  const std::string prefix = STEMTAP_TRY(DomainOf({ProcessOf(thread).value_or(0), domain}));
  return RangeNameOf(prefix, text);
}

Result<std::string> NsysRanges::TextOf(std::int64_t row) {
  const std::optional<std::string_view> own = STEMTAP_TRY(database_.FindText(find_range_, row));
  if (!own) return std::string();
  if (!own->empty()) return std::string(*own);
  if (sqlite3_column_type(find_range_.get(), 1) != SQLITE_INTEGER) return std::string();
  const std::optional<std::string_view> shared =
      STEMTAP_TRY(database_.FindText(find_text_, sqlite3_column_int64(find_range_.get(), 1)));
  return std::string(shared.value_or(std::string_view()));
}

// Returns "" for a domain whose creation is not in the export.
Result<std::string> NsysRanges::DomainOf(const Domain& domain) {
  const auto known = domain_names_.find(domain);
  if (known != domain_names_.end()) return known->second;
  const auto created = domains_.find(domain);
  if (created == domains_.end()) return std::string();
  return domain_names_[domain] = STEMTAP_TRY(TextOf(created->second));
}

}  // namespace

Status ReadNsysRanges(Database& database, std::int64_t file_bytes, RecordedLaunches& launches) {
  return NsysRanges(database, file_bytes, launches).Read();
}

}  // namespace stemtap::formats
