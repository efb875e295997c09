// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/nsys_report.h"

#include <algorithm>
#include <utility>

#include "base/csv.h"
#include "base/memory_source.h"
#include "base/result.h"
#include "base/text.h"

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

}  // namespace stemtap::formats::nsys
