// SPDX-License-Identifier: Apache-2.0
// Joins arbitrary bytes as metrics with arbitrary bytes as a profile. The result must have the
// launches of the profile in order, with their durations and a cell for each metric, or the error
// must be one line.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "formats/importers/metric_join.h"
#include "formats/importers/registry.h"
#include "fuzz/expect.h"
#include "fuzz/two_files.h"
#include "model/profile.h"

namespace {

using namespace stemtap;

Result<model::Profile> JoinedOf(std::string_view profile, std::string_view metrics) {
  auto here = formats::OpenProfile(SourceOf("input", profile));
  if (!here.ok()) return here.error();
  auto there = formats::OpenMetrics(SourceOf("input", metrics));
  if (!there.ok()) return there.error();
  auto joined =
      formats::JoinMetrics(std::move(here).value(), "input", std::move(there).value(), "input");
  if (!joined.ok()) return joined.error();
  return model::LoadProfile(*joined.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [profile, metrics] = TwoFiles({reinterpret_cast<const char*>(data), size});
  const Result<model::Profile> joined = JoinedOf(profile, metrics);
  if (!joined.ok()) {
    ExpectOneLine(joined.error(), "input");
    return 0;
  }
  auto reader = formats::OpenProfile(SourceOf("input", profile));
  EXPECT(reader.ok());
  const Result<model::Profile> plain = model::LoadProfile(*reader.value());
  EXPECT(plain.ok());
  const model::Profile& whole = joined.value();
  EXPECT(whole.records.size() == plain.value().records.size());
  EXPECT(whole.metrics.size() == whole.metric_names.size());
  EXPECT(whole.metrics.size() > plain.value().metrics.size());
  for (const auto& column : whole.metrics) EXPECT(column.size() == whole.records.size());
  for (std::size_t i = 0; i < whole.records.size(); ++i) {
    EXPECT(whole.records[i].duration_ns == plain.value().records[i].duration_ns);
    EXPECT(whole.names.name(whole.records[i].name_id) ==
           plain.value().names.name(plain.value().records[i].name_id));
  }
  for (const std::string& warning : whole.warnings) ExpectOneLine(warning);
  return 0;
}
