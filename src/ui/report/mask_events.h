// SPDX-License-Identifier: Apache-2.0
//
// MaskEvents contains the sampling decisions of a session for a report. They are read from
// mask.ndjson (docs/formats/mask.md) and thinned evenly if there are more than a page can draw. The
// file is streamed, so memory is bounded by the number of events kept.
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

namespace stemtap::ui {

// Event names in the order of ShownEvent::kind.
inline constexpr std::array<std::string_view, 4> kMaskEventNames = {"capture", "close", "reopen",
                                                                    "top_up"};

struct ShownEvent {
  std::uint8_t kind = 0;  // index into kMaskEventNames
  std::uint64_t index = 0;
  std::optional<std::size_t> kernel;  // position in the plan, if it is certain
  std::uint64_t occurrence = 0;
  std::uint64_t cluster = 0;
  std::optional<std::uint64_t> time_ns;
};

struct MaskEvents {
  // The page counts events in 160 intervals of the session, so more events make no visible
  // difference. 50,000 events would add 0.6 MB to a page that must stay below 10 MB.
  static constexpr std::size_t kMax = 20'000;

  std::vector<ShownEvent> events;  // in file order
  std::uint64_t left_out = 0;
  // The last line has no line end and is not JSON. It is not in `events`.
  bool is_cut = false;
};

// PlanPositions maps an event to its kernel in a plan. Events contain only kernel names, and a plan
// may have several kernels of one name (--group-by launch, --share-captures off). For those names,
// only a capture that is a sample identifies the kernel.
class PlanPositions {
 public:
  explicit PlanPositions(const model::Plan& plan);
  std::optional<std::size_t> Find(std::string_view name, bool capture, std::uint64_t index) const;

 private:
  static constexpr std::size_t kSeveral = SIZE_MAX;
  std::unordered_map<std::string, std::size_t> by_name_;  // kSeveral if not unique
  std::unordered_map<std::uint64_t, std::size_t> by_sample_;
};

// Returns all events, or at most `max_events` of them: thins the most frequent kinds to every
// second, fourth, ... event and keeps the rare kinds complete. Accepts an incomplete last line, as
// a killed collector leaves it.
Result<MaskEvents> ReadMask(std::unique_ptr<ByteSource> source, const PlanPositions& positions,
                            std::size_t max_events = MaskEvents::kMax);

}  // namespace stemtap::ui
