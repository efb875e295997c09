// SPDX-License-Identifier: Apache-2.0
#include "model/profile_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/byte_sink.h"
#include "base/csv.h"
#include "base/text.h"
#include "model/binary_profile.h"
#include "model/canonical_columns.h"

namespace stemtap::model {
namespace {

static_assert(std::endian::native == std::endian::little, "binary profiles are little endian");

// Both formats support names of 1 to kMaxNameBytes bytes.
Status CheckName(const std::string& path, const std::string& name) {
  if (!name.empty() && name.size() <= shm::kMaxNameBytes) return Success{};
  return Error{fmt::format("{}: a kernel name of {} bytes cannot be stored; expected 1 to {}", path,
                           name.size(), shm::kMaxNameBytes)};
}

Status CheckRange(const std::string& path, std::string_view range) {
  if (range.size() <= shm::kMaxRangeBytes) return Success{};
  return Error{fmt::format("{}: a range of {} bytes cannot be stored; expected at most {}", path,
                           range.size(), shm::kMaxRangeBytes)};
}

class CsvWriter : public ProfileWriter {
 public:
  CsvWriter(std::string path, std::unique_ptr<ByteSink> sink, ProfileMarks marks)
      : path_(std::move(path)), sink_(std::move(sink)), marks_(marks) {}

  Status Write(const ProfileBatch& batch, const NameTable& names,
               const std::vector<std::string>& metric_names) override {
    text_.clear();
    if (!started_) AppendHeader(metric_names);
    for (std::size_t id = names_.size(); id < names.size(); ++id) {
      const std::string& name = names.name(static_cast<std::uint32_t>(id));
      STEMTAP_TRY(CheckName(path_, name));
      names_.push_back(ExactCsvCell(name));
      if (!marks_.ranges) continue;
      const std::string_view range = names.range(static_cast<std::uint32_t>(id));
      STEMTAP_TRY(CheckRange(path_, range));
      names_.back() += ',' + ExactCsvCell(range);
    }
    for (std::size_t row = 0; row < batch.records.size(); ++row) {
      AppendRow(batch.records[row]);
      if (marks_.steps) AppendStep(row < batch.steps.size() ? batch.steps[row] : shm::kNoStep);
      for (const std::vector<double>& column : batch.metrics) {
        text_ += ',';
        if (!std::isnan(column[row])) fmt::format_to(std::back_inserter(text_), "{}", column[row]);
      }
      text_ += '\n';
      if (text_.size() < kFlushBytes) continue;
      STEMTAP_TRY(sink_->Write(text_));
      text_.clear();
    }
    return sink_->Write(text_);
  }

  Status Finish() override {
    if (!started_) {
      STEMTAP_TRY(Write({}, {}, {}));
    }
    return sink_->Finish();
  }

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{256} * 1024;

  void AppendHeader(const std::vector<std::string>& metric_names) {
    started_ = true;
    for (const CanonicalColumnInfo& column : kCanonicalColumns) {
      if (!text_.empty()) text_ += ',';
      text_ += column.name;
    }
    if (marks_.ranges) text_.append(",").append(kRangeColumn);
    if (marks_.steps) text_.append(",").append(kStepColumn);
    for (const std::string& name : metric_names) text_ += ',' + ExactCsvCell(name);
    text_ += '\n';
  }

  void AppendRow(const shm::KernelRecord& record) {
    Append(rows_++);
    for (std::size_t i = 1; i + 1 < kCanonicalColumns.size(); ++i) {  // between index and name
      text_ += ',';
      const std::uint64_t cell = CellOf(record, static_cast<CanonicalColumn>(i));
      if (kCanonicalColumns[i].required || cell != kCanonicalColumns[i].unknown) Append(cell);
    }
    text_ += ',';
    text_ += names_[record.name_id];
  }

  void AppendStep(std::uint64_t step) {
    text_ += ',';
    if (step != shm::kNoStep) Append(step);
  }

  void Append(std::uint64_t number) {
    const fmt::format_int digits(number);
    text_.append(digits.data(), digits.size());
  }

  std::string path_;
  std::unique_ptr<ByteSink> sink_;
  ProfileMarks marks_;
  std::vector<std::string> names_;  // as CSV cells; followed by their ranges if the run has any
  std::string text_;
  std::uint64_t rows_ = 0;
  bool started_ = false;
};

class BinaryWriter : public ProfileWriter {
 public:
  BinaryWriter(std::string path, std::unique_ptr<ByteSink> sink, ProfileMarks marks)
      : path_(std::move(path)), sink_(std::move(sink)), marks_(marks) {}

  Status Write(const ProfileBatch& batch, const NameTable& names,
               const std::vector<std::string>& metric_names) override {
    if (!metric_names.empty()) {
      return Error{
          fmt::format("{}: a binary profile cannot contain metric columns (first of {}: '{}'); "
                      "expected a .csv file",
                      path_, metric_names.size(), EscapeForTerminal(metric_names.front()))};
    }
    STEMTAP_TRY(Start());
    // Write consecutive records between name definitions and steps in one piece.
    std::size_t begin = 0;
    for (std::size_t row = 0; row < batch.records.size(); ++row) {
      const std::uint64_t step =
          marks_.steps && row < batch.steps.size() ? batch.steps[row] : shm::kNoStep;
      if (batch.records[row].name_id < names_ && step == step_) continue;
      STEMTAP_TRY(WriteRun(batch, begin, row));
      begin = row;
      while (names_ <= batch.records[row].name_id) STEMTAP_TRY(DefineNext(names));
      if (step == step_) continue;
      shm::MarkRecord mark;
      mark.step = step_ = step;
      STEMTAP_TRY(WriteRecord(mark));
    }
    return WriteRun(batch, begin, batch.records.size());
  }

  Status Finish() override {
    Status written = Start();
    if (!written.ok()) return written;
    BinaryProfileEnd end;
    end.invocations = invocations_;
    end.names = names_;
    written = WriteRecord(end);
    return written.ok() ? sink_->Finish() : written;
  }

 private:
  template <typename T>
  Status WriteRecord(const T& record) {
    static_assert(sizeof(T) == shm::kRecordBytes);
    return sink_->Write({reinterpret_cast<const char*>(&record), sizeof(T)});
  }

  Status Start() {
    if (std::exchange(started_, true)) return Success{};
    BinaryProfileHeader header;
    header.marks =
        (marks_.ranges ? kBinaryProfileRanges : 0) | (marks_.steps ? kBinaryProfileSteps : 0);
    if (header.marks != 0) header.version = kMarkedProfileVersion;
    return WriteRecord(header);
  }

  Status WriteRun(const ProfileBatch& batch, std::size_t begin, std::size_t end) {
    if (begin == end) return Success{};
    invocations_ += end - begin;
    return sink_->Write({reinterpret_cast<const char*>(batch.records.data() + begin),
                         (end - begin) * sizeof(shm::KernelRecord)});
  }

  // Writes the definition of the name with the next id, after the range of the name.
  Status DefineNext(const NameTable& names) {
    const std::string_view range = marks_.ranges ? names.range(names_) : std::string_view();
    STEMTAP_TRY(CheckName(path_, names.name(names_)));
    STEMTAP_TRY(CheckRange(path_, range));
    if (!range.empty()) STEMTAP_TRY(Define(shm::RecordKind::kRange, range));
    STEMTAP_TRY(Define(shm::RecordKind::kName, names.name(names_)));
    ++names_;
    return Success{};
  }

  Status Define(shm::RecordKind kind, std::string_view name) {
    shm::NameRecord first;
    first.kind = kind;
    first.name_id = names_;
    first.length = static_cast<std::uint32_t>(name.size());
    first.hash = shm::NameHash(name.data(), name.size());
    std::size_t done = std::min(name.size(), sizeof(first.bytes));
    std::memcpy(first.bytes, name.data(), done);
    Status written = WriteRecord(first);
    while (written.ok() && done < name.size()) {
      shm::NameBytes more;
      const std::size_t count = std::min(name.size() - done, sizeof(more.bytes));
      more.count = static_cast<std::uint8_t>(count);
      std::memcpy(more.bytes, name.data() + done, count);
      done += count;
      written = WriteRecord(more);
    }
    return written;
  }

  std::string path_;
  std::unique_ptr<ByteSink> sink_;
  ProfileMarks marks_;
  std::uint32_t names_ = 0;            // number of names defined so far
  std::uint64_t step_ = shm::kNoStep;  // of the last launch
  std::uint64_t invocations_ = 0;
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<ProfileWriter>> CreateProfileWriter(const std::string& path,
                                                           ProfileMarks marks) {
  std::string_view stem = path;
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (path.ends_with(suffix)) stem.remove_suffix(suffix.size());
  }
  const bool csv = path == "-" || stem.ends_with(".csv");
  const std::string name = EscapeForTerminal(path);
  if (!csv && !stem.ends_with(".stemtap")) {
    return Error{fmt::format("{}: is of unknown kind; expected a name that ends in .csv, .csv.gz, "
                             ".csv.zst, .stemtap, .stemtap.gz or .stemtap.zst",
                             name),
                 2};
  }
  std::unique_ptr<ByteSink> sink = STEMTAP_TRY(CreateByteSink(path));
  if (csv) {
    return std::unique_ptr<ProfileWriter>(
        std::make_unique<CsvWriter>(name, std::move(sink), marks));
  }
  return std::unique_ptr<ProfileWriter>(
      std::make_unique<BinaryWriter>(name, std::move(sink), marks));
}

}  // namespace stemtap::model
