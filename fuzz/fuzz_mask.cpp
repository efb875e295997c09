// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a mask.ndjson, with different read sizes and thinned to a few events.
// The results must be equal and within bounds.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/memory_source.h"
#include "fuzz/expect.h"
#include "model/plan.h"
#include "ui/report/mask_events.h"

namespace {

using namespace stemtap;

// Two kernels with the same name, distinguished only by a sample, and one with another name.
model::Plan SomePlan() {
  model::Plan plan;
  for (const char* name : {"a", "a", "b"}) {
    model::PlanKernel kernel;
    kernel.name = name;
    kernel.clusters.emplace_back();
    kernel.clusters[0].samples.emplace_back();
    kernel.clusters[0].samples[0].index = plan.kernels.size();
    plan.kernels.push_back(kernel);
  }
  return plan;
}

bool Same(const ui::ShownEvent& a, const ui::ShownEvent& b) {
  return a.kind == b.kind && a.index == b.index && a.kernel == b.kernel &&
         a.occurrence == b.occurrence && a.cluster == b.cluster && a.time_ns == b.time_ns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const model::Plan plan = SomePlan();
  static const ui::PlanPositions positions(plan);
  constexpr std::size_t kFew = 8;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto mask = ui::ReadMask(std::make_unique<MemorySource>("input", content), positions);
  const auto again = ui::ReadMask(std::make_unique<MemorySource>("input", content, 7), positions);
  const auto few = ui::ReadMask(std::make_unique<MemorySource>("input", content), positions, kFew);
  EXPECT(mask.ok() == again.ok() && mask.ok() == few.ok());
  if (!mask.ok()) {
    ExpectOneLine(mask.error(), "input");
    EXPECT(mask.error().message == again.error().message);
    return 0;
  }
  const ui::MaskEvents& all = mask.value();
  EXPECT(all.events.size() <= ui::MaskEvents::kMax && few.value().events.size() <= kFew);
  EXPECT(all.events.size() == again.value().events.size());
  EXPECT(all.events.size() + all.left_out == few.value().events.size() + few.value().left_out);
  for (std::size_t i = 0; i < all.events.size(); ++i) {
    EXPECT(Same(all.events[i], again.value().events[i]));
    EXPECT(all.events[i].kind < ui::kMaskEventNames.size());
    EXPECT(!all.events[i].kernel || *all.events[i].kernel < plan.kernels.size());
  }
  return 0;
}
