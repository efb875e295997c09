// SPDX-License-Identifier: Apache-2.0
// Aligns two runs. Partners must be symmetric, every launch must be paired or counted, and a run
// must equal itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/alignment/alignment.h"
#include "formats/importers/registry.h"
#include "fuzz/expect.h"
#include "fuzz/two_files.h"

namespace {

using namespace stemtap;

Result<analysis::Run> RunOf(std::string_view content) {
  auto reader = formats::OpenProfile(SourceOf("input", content));
  if (!reader.ok()) return reader.error();
  return analysis::LoadRun(*reader.value(), "input");
}

void ExpectPairs(const analysis::Run& a, const analysis::Run& b,
                 const analysis::Alignment& alignment) {
  EXPECT(alignment.partner_of_a.size() == a.launches.size());
  EXPECT(alignment.partner_of_b.size() == b.launches.size());
  std::uint64_t paired = 0;
  for (std::uint32_t i = 0; i < alignment.partner_of_a.size(); ++i) {
    const std::uint32_t partner = alignment.partner_of_a[i];
    if (partner == analysis::kNoPartner) continue;
    ++paired;
    EXPECT(partner < b.launches.size() && alignment.partner_of_b[partner] == i);
  }
  const auto alone = std::count(alignment.partner_of_b.begin(), alignment.partner_of_b.end(),
                                analysis::kNoPartner);
  EXPECT(paired == alignment.paired);
  EXPECT(paired + static_cast<std::uint64_t>(alone) == b.launches.size());
  EXPECT(paired + alignment.only_in_a == a.launches.size());
  EXPECT(paired + alignment.only_in_b == b.launches.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [first, second] = TwoFiles({reinterpret_cast<const char*>(data), size});
  const Result<analysis::Run> a = RunOf(first);
  if (!a.ok()) {
    ExpectOneLine(a.error(), "input");
    return 0;
  }
  const analysis::Alignment self = analysis::AlignRuns(a.value(), a.value());
  ExpectPairs(a.value(), a.value(), self);
  EXPECT(self.order == analysis::LaunchOrder::kIdentical &&
         self.paired == a.value().launches.size());
  const Result<analysis::Run> b = RunOf(second);
  if (!b.ok()) {
    ExpectOneLine(b.error(), "input");
    return 0;
  }
  ExpectPairs(a.value(), b.value(), analysis::AlignRuns(a.value(), b.value()));
  return 0;
}
