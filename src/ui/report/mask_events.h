// SPDX-License-Identifier: Apache-2.0
//
// MaskEvents are the decisions of a session as a report shows them: those of mask.ndjson
// (docs/formats/mask.md), thinned evenly where there are more than a page can draw. The file is streamed:
// memory is bounded by the number kept.
//
// UNITS: times in ns on the recorder's clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

// The names that an event may have, in the order of MaskEvent::kind.
inline constexpr std::array<std::string_view, 4> kMaskEventNames = {"capture", "close", "reopen",
                                                                    "top_up"};

struct ShownEvent {
  std::uint8_t kind = 0;  // of kMaskEventNames
  std::uint64_t index = 0;
  std::optional<std::size_t> kernel;  // its position in the plan, where that is certain
  std::uint64_t occurrence = 0;
  std::uint64_t cluster = 0;
  std::optional<std::uint64_t> time_ns;
};

struct MaskEvents {
  // The page counts them in 160 parts of the session, which look no different with more; 50,000 would
  // take another 0.6 MB of a page that is to stay below 10.
  static constexpr std::size_t kMost = 20'000;

  std::vector<ShownEvent> events;  // as they fell
  std::uint64_t left_out = 0;
};

// Which kernel of a plan an event is of. Events know names alone, and a plan may have several kernels of
// one name (--group-by launch, --share-captures off): of those, only a capture that is a sample is certain.
class PlanPositions {
 public:
  explicit PlanPositions(const Plan& plan);
  std::optional<std::size_t> Find(std::string_view name, bool capture, std::uint64_t index) const;

 private:
  static constexpr std::size_t kSeveral = SIZE_MAX;
  std::unordered_map<std::string, std::size_t> by_name_;  // kSeveral: of more than one
  std::unordered_map<std::uint64_t, std::size_t> by_sample_;
};

// All events, or `most` of them at most: kinds that are few are kept whole, of the others every second,
// fourth, ... is.
Result<MaskEvents> ReadMask(std::unique_ptr<ByteSource> source, const PlanPositions& positions,
                            std::size_t most = MaskEvents::kMost);

}  // namespace stemtap
