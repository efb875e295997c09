// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a list of traces and selects the planned part. The result must be lines
// of the list that contain each planned kernel once, or a one-line error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/exporters/consumers.h"
#include "fuzz/expect.h"

namespace {

using namespace stemtap;

// Launches 0, 1 and 10. Both tools number them 1, 2 and 11.
formats::CountedPlan MakePlan() {
  formats::CountedPlan counted;
  for (const std::uint64_t id : {1, 2, 11}) counted.samples.emplace_back().id = id;
  return counted;
}

std::size_t CountLines(std::string_view text, std::string_view with) {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT(end != std::string_view::npos);
    if (text.substr(begin, end - begin).find(with) != std::string_view::npos) ++count;
    begin = end + 1;
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const formats::CountedPlan counted = MakePlan();
  const bool accelsim = std::string_view(STEMTAP_FUZZ_FORMAT) == "accelsim";
  static const formats::Consumer* const consumer =
      formats::FindConsumer(accelsim ? "accelsim-kernelslist" : "macsim-config");
  formats::ExportOptions options;
  options.list.assign(reinterpret_cast<const char*>(data), size);
  options.list_name = "input";
  options.keep_copies = false;
  const Result<formats::Exported> part = consumer->write({counted, options, nullptr, ""});
  if (!part.ok()) {
    ExpectOneLine(part.error(), "input");
    return 0;
  }
  EXPECT(part.value().files.size() == 1 && part.value().ids == 3);
  EXPECT(CountLines(part.value().files[0].content, accelsim ? "kernel-" : "Kernel") == 3);
  // Selecting from the selected part must return the same part.
  options.list = part.value().files[0].content;
  const Result<formats::Exported> again = consumer->write({counted, options, nullptr, ""});
  EXPECT(again.ok() && again.value().files[0].content == options.list);
  return 0;
}
