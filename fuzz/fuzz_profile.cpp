// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a profile of one format. The reader must return launches that refer to
// existing kernels, or a one-line error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/memory_source.h"
#include "formats/importers/importers.h"
#include "formats/importers/registry.h"
#include "fuzz/expect.h"

namespace {

using namespace stemtap;

const formats::ProfileFormat& Format() {
  const auto formats = formats::ProfileFormats();
  const auto at = std::find_if(
      formats.begin(), formats.end(),
      [](const formats::ProfileFormat& format) { return format.name == STEMTAP_FUZZ_FORMAT; });
  EXPECT(at != formats.end());
  return *at;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const formats::ProfileFormat& format = Format();
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  format.detect(content);
  if (const auto unread = formats::RefuseUnread("input", content)) ExpectOneLine(*unread, "input");
  // Small pieces find defects that occur only at read boundaries.
  const std::size_t piece = size % 3 == 0 ? 7 : kReadBytes;
  auto opened =
      format.open(std::make_unique<MemorySource>("input", content, piece), formats::Marks::kRead);
  if (!opened.ok()) {
    ExpectOneLine(opened.error(), "input");
    return 0;
  }
  model::ProfileReader& reader = *opened.value();
  model::ProfileBatch batch;
  for (;;) {
    const Result<std::size_t> read = reader.Read(batch, 1000);
    if (!read.ok()) {
      ExpectOneLine(read.error(), "input");
      return 0;
    }
    EXPECT(read.value() == batch.records.size() && read.value() <= 1000);
    EXPECT(batch.metrics.size() == reader.metric_names().size());
    for (const auto& column : batch.metrics) EXPECT(column.size() == batch.records.size());
    EXPECT(batch.steps.empty() ||
           (reader.marks().steps && batch.steps.size() == batch.records.size()));
    for (const shm::KernelRecord& record : batch.records) {
      EXPECT(record.name_id < reader.names().size());
      EXPECT(!reader.names().name(record.name_id).empty());
      const std::string_view range = reader.names().range(record.name_id);
      EXPECT(range.empty() || (reader.marks().ranges && range.size() <= shm::kMaxRangeBytes));
    }
    if (read.value() == 0) return 0;
  }
}
