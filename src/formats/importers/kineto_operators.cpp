// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/kineto_operators.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "formats/importers/recorded_ranges.h"
#include "shm/record.h"

namespace stemtap::formats {
namespace {

// Old traces call operators "Operator", and write the id of a kernel in lower case.
bool IsOperator(std::string_view category) {
  return category == "cpu_op" || category == "Operator";
}

// Returns the id of the event's operator, or 0.
std::uint64_t IdOf(const simdjson::dom::object& event) {
  std::uint64_t id = 0;
  simdjson::dom::object arguments;
  if (event["args"].get_object().get(arguments) != simdjson::SUCCESS) return 0;
  if (arguments["External id"].get_uint64().get(id) == simdjson::SUCCESS) return id;
  return arguments["external id"].get_uint64().get(id) == simdjson::SUCCESS ? id : 0;
}

}  // namespace

void KinetoOperators::Read(const simdjson::dom::object& event, std::string_view category) {
  if (!IsOperator(category)) return;
  const std::uint64_t id = IdOf(event);
  std::string_view name;
  if (id == 0 || event["name"].get_string().get(name) != simdjson::SUCCESS || name.empty()) return;
  operators_.push_back({id, NumberOf(name)});
}

void KinetoOperators::ReadLaunches(const simdjson::dom::object& event,
                                   const RecordedLaunches& launches) {
  if (ids_.size() < launches.size()) ids_.resize(launches.size(), IdOf(event));
}

std::uint32_t KinetoOperators::NumberOf(std::string_view name) {
  std::string shown = RangeNameOf("", name);
  auto known = numbers_.find(shown);
  if (known != numbers_.end()) return known->second;
  if (names_.size() >= shm::kMaxRanges) {
    shown = shm::kOtherRangePath;
    known = numbers_.find(shown);
    if (known != numbers_.end()) return known->second;
  }
  names_.push_back(shown);
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(std::move(shown), number);
  return number;
}

void KinetoOperators::Finish(RecordedLaunches& launches) {
  std::stable_sort(operators_.begin(), operators_.end(),
                   [](const Operator& a, const Operator& b) { return a.id < b.id; });
  const auto name_of = [this](std::uint64_t id) {
    const auto [first, last] =
        std::ranges::equal_range(operators_, id, std::less<>(), &Operator::id);
    const bool is_one = std::all_of(
        first, last, [first](const Operator& other) { return other.name == first->name; });
    return first != last && is_one ? first->name : shm::kNoRange;
  };
  std::vector<std::uint32_t> names;
  names.reserve(launches.size());
  std::transform(ids_.begin(), ids_.end(), std::back_inserter(names), name_of);
  names.resize(launches.size(), shm::kNoRange);
  launches.SetRanges(names, names_);
}

}  // namespace stemtap::formats
