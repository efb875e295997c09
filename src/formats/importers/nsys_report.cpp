// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/nsys_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/memory_source.h"
#include "base/result.h"
#include "base/text.h"
#include "formats/importers/json_stream.h"

namespace stemtap::formats::nsys {
namespace {

class RestSource : public ByteSource {
 public:
  RestSource(std::unique_ptr<ByteSource> source, HeaderPosition header)
      : ByteSource(source->name()),
        source_(std::move(source)),
        bytes_to_drop_(header.byte),
        lines_(header.lines) {}

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    while (bytes_to_drop_ > 0) {
      const Result<std::size_t> dropped = source_->Read(data, std::min(size, bytes_to_drop_));
      if (!dropped.ok() || dropped.value() == 0) return dropped;
      bytes_to_drop_ -= dropped.value();
    }
    if (lines_ > 0) {
      const std::size_t count = std::min(size, lines_);
      std::fill_n(data, count, '\n');
      lines_ -= count;
      return count;
    }
    return source_->Read(data, size);
  }

  std::unique_ptr<ByteSource> source_;
  std::size_t bytes_to_drop_;
  std::size_t lines_;
};

}  // namespace

Heading HeadingOf(std::string_view cell) {
  const std::size_t at = cell.find_first_of("(:");
  Heading heading = {Trimmed(cell.substr(0, at)), {}};
  if (at == std::string_view::npos) return heading;
  std::string_view unit = cell.substr(at + 1);
  if (cell[at] == ':') {
    unit.remove_prefix(std::min(unit.size(), unit.rfind('_') + 1));  // rfind: npos + 1 is 0
  } else {
    unit = unit.substr(0, unit.find(')'));
  }
  heading.unit = Trimmed(unit);
  return heading;
}

const ReportKind* ReportOf(const std::vector<std::string_view>& cells) {
  for (const ReportKind* report : {&kGpuTrace, &kKernExecTrace}) {
    const auto has = [&](Column column) {
      return std::any_of(cells.begin(), cells.end(), [&](std::string_view cell) {
        return HeadingOf(cell).name == report->columns[column];
      });
    };
    if (has(kStart) && has(kDuration) && has(kName) && has(kGridX)) return report;
  }
  return nullptr;
}

std::optional<HeaderPosition> FindHeader(std::string_view leading) {
  leading = leading.substr(0, kHeaderWithin);
  HeaderPosition place;
  while (place.byte < leading.size()) {
    const std::size_t end = std::min(leading.find('\n', place.byte), leading.size());
    const std::string_view line = leading.substr(place.byte, end - place.byte);
    if (line.find("GrdX") != std::string_view::npos ||
        line.find("GridXYZ") != std::string_view::npos) {
      place.separator = line.find('\t') == std::string_view::npos ? ',' : '\t';
      CsvReader csv(std::make_unique<MemorySource>("", line), place.separator);
      const Result<bool> row = csv.NextRow();
      if (row.ok() && row.value() && ReportOf(csv.cells()) != nullptr) return place;
    }
    place.byte = end + 1;
    ++place.lines;
  }
  return {};
}

std::unique_ptr<ByteSource> FromHeader(std::unique_ptr<ByteSource> source, HeaderPosition header) {
  return std::make_unique<RestSource>(std::move(source), header);
}

namespace {

namespace ondemand = simdjson::ondemand;

std::string_view SkipSpace(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

// Returns the first key of the first object of the array at the start of `text`, or "".
std::string_view FirstColumn(std::string_view text) {
  for (const char open : {'[', '{', '"'}) {
    text = SkipSpace(text);
    if (!text.starts_with(open)) return {};
    text.remove_prefix(1);
  }
  return text.substr(0, text.find('"'));
}

// Returns the position of the array, which starts a line.
std::optional<HeaderPosition> FindArray(std::string_view leading) {
  HeaderPosition place;
  while (place.byte < leading.size()) {
    if (leading[place.byte] == '[') {
      const std::string_view column = HeadingOf(FirstColumn(leading.substr(place.byte))).name;
      if (column == kGpuTrace.columns[kStart] || column == kKernExecTrace.columns[kLaunched]) {
        return place;
      }
    }
    place.byte = std::min(leading.find('\n', place.byte), leading.size()) + 1;
    ++place.lines;
  }
  return std::nullopt;
}

std::uint64_t LinesIn(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

class JsonTable : public ByteSource {
 public:
  explicit JsonTable(std::unique_ptr<ByteSource> source)
      : ByteSource(source->name()), source_(std::move(source)) {}

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    while (next_ == text_.size() && !at_end_) {
      text_.clear();
      next_ = 0;
      STEMTAP_TRY(Fill());
    }
    const std::size_t count = std::min(size, text_.size() - next_);
    std::memcpy(data, text_.data() + next_, count);
    next_ += count;
    return count;
  }

  Status Fill();
  Status Open();
  Status AddRow(std::string_view object);
  // Appends a row in `line`, or in the next line if there is a row already.
  void Write(const std::vector<std::string>& cells, std::uint64_t line);
  Error At(std::uint64_t line, std::string_view what) const {
    return Error{fmt::format("{}:{}: {}", name(), line, what)};
  }

  std::unique_ptr<ByteSource> source_;  // until Open
  std::optional<JsonStream> stream_;
  ondemand::parser parser_;
  std::vector<std::string> keys_;
  std::uint64_t line_ = 1;     // of the next byte of the JSON text
  std::uint64_t written_ = 0;  // lines of CSV
  std::string text_;           // of CSV
  std::size_t next_ = 0;       // byte of text_
  bool at_end_ = false;
};

Status JsonTable::Open() {
  const std::string_view leading = STEMTAP_TRY(source_->Peek(kHeaderWithin));
  const std::optional<HeaderPosition> place = FindArray(leading);
  if (!place) return Error{name() + ": no array of rows; expected a report of 'nsys stats'"};
  line_ += place->lines;
  stream_.emplace(FromHeader(std::move(source_), *place));
  if (STEMTAP_TRY(stream_->Peek()) != '[')
    return stream_->Here("no array of rows; expected a report of 'nsys stats'");
  stream_->Take();
  return Success{};
}

Status JsonTable::Fill() {
  if (!stream_) STEMTAP_TRY(Open());
  const JsonStream::Run* run = STEMTAP_TRY(stream_->TakeElements());
  for (const std::string_view object : run->texts) {
    STEMTAP_TRY(AddRow(object));
    line_ += LinesIn(object);
  }
  at_end_ = run->last;
  if (!at_end_) return Success{};
  if (STEMTAP_TRY(stream_->Peek()) == JsonStream::kEnd) return Success{};
  return stream_->Here("text after the report; expected one report in the file");
}

Status JsonTable::AddRow(std::string_view object) {
  const std::size_t space = object.size() - SkipSpace(object).size();
  const std::uint64_t line = line_ + LinesIn(object.substr(0, space));
  ondemand::document document;
  ondemand::object fields;
  if (parser_.iterate(object.data(), object.size(), object.size() + simdjson::SIMDJSON_PADDING)
              .get(document) != simdjson::SUCCESS ||
      document.get_object().get(fields) != simdjson::SUCCESS) {
    return At(line, "a row is not an object; expected one of 'nsys stats --format json'");
  }
  std::vector<std::string> keys;
  std::vector<std::string> cells;
  for (auto field : fields) {
    std::string_view key;
    std::string_view text;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return At(line, "expected a key");
    keys.emplace_back(key);
    if (field.value().get(value) != simdjson::SUCCESS) return At(line, "expected a value");
    ondemand::json_type type;
    const bool known = value.type().get(type) == simdjson::SUCCESS;
    if (known && type == ondemand::json_type::string) {
      if (value.get_string().get(text) != simdjson::SUCCESS) return At(line, "expected a text");
    } else if (known && type == ondemand::json_type::number) {
      text = Trimmed(value.raw_json_token());  // digits as in the file
      text = text.substr(0, text.find_last_not_of("\r\n") + 1);
    } else if (!known || type != ondemand::json_type::null) {
      return At(line, fmt::format("'{}' is neither a number nor a text; expected one",
                                  ShownCell(keys.back())));
    }
    cells.push_back(ExactCsvCell(text));
  }
  if (keys_.empty()) {
    keys_ = keys;
    std::vector<std::string> header;
    for (const std::string& key : keys) header.push_back(ExactCsvCell(key));
    Write(header, line_);
  }
  if (keys != keys_) {
    return At(line, "a row has other columns than the first; expected the same, in one order");
  }
  Write(cells, line);
  return Success{};
}

void JsonTable::Write(const std::vector<std::string>& cells, std::uint64_t line) {
  for (; written_ + 1 < line; ++written_) text_ += '\n';
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text_ += ',';
    text_ += cells[i];
    written_ += LinesIn(cells[i]);
  }
  text_ += '\n';
  ++written_;
}

}  // namespace

bool LooksLikeJson(std::string_view leading) {
  leading = leading.substr(0, kHeaderWithin);
  const std::optional<HeaderPosition> place = FindArray(leading);
  if (!place) return false;
  const std::string_view array = leading.substr(place->byte);
  return array.find("\"GrdX\"") != std::string_view::npos ||
         array.find("\"GridXYZ\"") != std::string_view::npos;
}

std::unique_ptr<ByteSource> TableOfJson(std::unique_ptr<ByteSource> source) {
  return std::make_unique<JsonTable>(std::move(source));
}

}  // namespace stemtap::formats::nsys
