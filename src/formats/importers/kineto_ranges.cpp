// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/kineto_ranges.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stemtap::formats {
namespace {

// More threads than a merged trace has. Text that differs in each event must not fill memory.
constexpr std::size_t kMaxThreads = 65536;

// Times beyond this many microseconds (146 years) are not times.
constexpr double kMaxMicroseconds = 4.6e15;

constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr std::string_view kAnnotation = "user_annotation";
constexpr std::array<std::string_view, 3> kCallCategories = {"cuda_runtime", "Runtime",
                                                             "cuda_driver"};
// Old traces write steps with the category of operators.
constexpr std::array<std::string_view, 2> kOperatorCategories = {"cpu_op", "Operator"};

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view TextOf(const simdjson::dom::object& event, std::string_view key) {
  std::string_view text;
  return event.at_key(key).get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Returns a time in nanoseconds. A double keeps the order of times, and is exact to a quarter of a
// microsecond for times since 1970.
std::optional<std::int64_t> TimeOf(double microseconds) {
  if (!(std::abs(microseconds) < kMaxMicroseconds)) return {};
  return std::llround(microseconds * 1000.0);
}

std::optional<double> NumberOf(const simdjson::dom::object& event, std::string_view key) {
  double number = 0.0;
  if (event.at_key(key).get_double().get(number) != simdjson::SUCCESS) return {};
  return number;
}

}  // namespace

void KinetoRanges::Read(const simdjson::dom::object& event, std::string_view category) {
  if (Contains(kCallCategories, category)) {
    // cudaLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch, hipExtModuleLaunchKernel, ...
    if (TextOf(event, "name").find("Launch") != std::string_view::npos) ReadCall(event);
  } else if (category == kAnnotation) {
    ReadRange(event, TextOf(event, "name"));
  } else if (Contains(kOperatorCategories, category)) {
    const std::string_view name = TextOf(event, "name");
    if (name.starts_with(kStepPrefix)) ReadRange(event, name);
  }
}

void KinetoRanges::ReadCall(const simdjson::dom::object& event) {
  std::uint64_t correlation = 0;
  if (event["args"]["correlation"].get_uint64().get(correlation) != simdjson::SUCCESS) return;
  const std::optional<double> start = NumberOf(event, "ts");
  const std::optional<std::int64_t> start_ns = start ? TimeOf(*start) : std::nullopt;
  if (correlation == 0 || !start_ns) return;
  const std::optional<Numbers> numbers = NumbersOf(event);
  if (!numbers) return;
  RecordedCall call;
  call.process = numbers->process;
  call.thread = numbers->thread;
  call.correlation_id = static_cast<std::uint32_t>(correlation);
  call.start_ns = *start_ns;
  ranges_.AddCall(call);
}

void KinetoRanges::ReadRange(const simdjson::dom::object& event, std::string_view name) {
  const std::optional<double> start = NumberOf(event, "ts");
  const std::optional<double> duration = NumberOf(event, "dur");
  if (TextOf(event, "ph") != "X" || !start || !duration || *duration < 0.0) return;
  const std::optional<std::int64_t> start_ns = TimeOf(*start);
  const std::optional<std::int64_t> end_ns = TimeOf(*start + *duration);
  if (!start_ns || !end_ns) return;
  const std::optional<Numbers> numbers = NumbersOf(event);
  if (!numbers) return;
  any_range_ = true;
  if (name.starts_with(kStepPrefix)) {
    ranges_.AddStep({numbers->process, *start_ns, *end_ns, 0});
  } else {
    ranges_.AddThreadRange({numbers->thread, *start_ns, *end_ns, NumberOfName(name)});
  }
}

std::int64_t KinetoRanges::NumberOfName(std::string_view name) {
  std::string shown = RangeNameOf("", name);
  const auto known = name_numbers_.find(shown);
  if (known != name_numbers_.end()) return known->second;
  const auto number = static_cast<std::int64_t>(names_.size());
  names_.push_back(shown);
  name_numbers_.emplace(std::move(shown), number);
  return number;
}

KinetoRanges::Id KinetoRanges::IdOf(const simdjson::dom::object& event, std::string_view key) {
  Id id = {};
  if (event.at_key(key).get_int64().get(id.number) != simdjson::SUCCESS) {
    id.number = 0;
    id.text = TextOf(event, key);
  }
  return id;
}

std::optional<KinetoRanges::Numbers> KinetoRanges::NumbersOf(const simdjson::dom::object& event) {
  Thread thread(IdOf(event, "pid"), IdOf(event, "tid"));
  if (!threads_.empty() && thread == last_thread_) return last_numbers_;
  auto known = threads_.find(thread);
  if (known == threads_.end()) {
    if (threads_.size() == kMaxThreads) return {};
    const auto process = static_cast<std::uint32_t>(processes_.size());
    const Numbers numbers = {static_cast<std::uint32_t>(threads_.size()),
                             processes_.try_emplace(thread.first, process).first->second};
    known = threads_.emplace(thread, numbers).first;
  }
  last_thread_ = std::move(thread);
  return last_numbers_ = known->second;
}

Status KinetoRanges::Finish(RecordedLaunches& launches) {
  if (!any_range_ || !ranges_.has_calls() || launches.size() == 0) return Success{};
  ranges_.EndCalls();
  return ranges_.Finish(
      [this](std::int64_t id) -> Result<std::string> {
        return names_[static_cast<std::size_t>(id)];
      },
      launches);
}

}  // namespace stemtap::formats
