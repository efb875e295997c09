// SPDX-License-Identifier: Apache-2.0
//
// KinetoRanges reads the launch calls, the annotations (record_function) and the steps of a trace
// of torch.profiler, and joins them to its launches. See docs/formats/kineto.md.
//
// MEMORY: 32 bytes for each launch call, annotation and step, and their names.
#pragma once

#include <simdjson.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/importers/recorded_launches.h"
#include "formats/importers/recorded_ranges.h"

namespace stemtap::formats {

class KinetoRanges {
 public:
  // Reads an event that is not a kernel.
  void Read(const simdjson::dom::object& event, std::string_view category);

  // Gives the launches their ranges and steps. Call it before RecordedLaunches::Finish.
  Status Finish(RecordedLaunches& launches);

 private:
  // A process or thread id: a number or a text.
  struct Id {
    std::int64_t number;
    std::string text;

    auto operator<=>(const Id&) const = default;
  };
  using Thread = std::pair<Id, Id>;  // process and thread
  // Numbers of a thread and its process.
  struct Numbers {
    std::uint32_t thread;
    std::uint32_t process;
  };

  static Id IdOf(const simdjson::dom::object& event, std::string_view key);
  // Returns nullopt if there are too many threads.
  std::optional<Numbers> NumbersOf(const simdjson::dom::object& event);
  void ReadCall(const simdjson::dom::object& event);
  void ReadRange(const simdjson::dom::object& event, std::string_view name);
  std::int64_t NumberOfName(std::string_view name);

  RecordedRanges ranges_{CallMatch::kId};
  bool any_range_ = false;  // or step
  std::map<Thread, Numbers> threads_;
  std::map<Id, std::uint32_t> processes_;
  // Of the last event: events repeat their thread. Not used if threads_ is empty.
  Thread last_thread_;
  Numbers last_numbers_ = {};
  std::vector<std::string> names_;  // of annotations
  std::map<std::string, std::int64_t, std::less<>> name_numbers_;
};

}  // namespace stemtap::formats
