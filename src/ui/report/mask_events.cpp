// SPDX-License-Identifier: Apache-2.0
#include "ui/report/mask_events.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "base/line_reader.h"
#include "base/text.h"

namespace stemtap::ui {
namespace {

constexpr const char* kExpected = "expected an event of a mask.ndjson";

// Thinner keeps every event whose number within its kind is a multiple of the kind's stride. If
// there are too many events, the most frequent kind drops every other one.
class Thinner {
 public:
  explicit Thinner(std::size_t max_events) : max_events_(max_events) {}

  void Add(const ShownEvent& event) {
    Kind& kind = kinds_[event.kind];
    const std::uint64_t number = kind.seen++;
    if (number % kind.stride != 0) return;
    kept_.push_back({event, number});
    ++kind.kept;
    if (kept_.size() > max_events_) Thin();
  }

  MaskEvents Take() {
    MaskEvents result;
    result.events.reserve(kept_.size());
    for (const Kept& kept : kept_) result.events.push_back(kept.event);
    for (const Kind& kind : kinds_) result.left_out += kind.seen - kind.kept;
    return result;
  }

 private:
  struct Kind {
    std::uint64_t seen = 0;
    std::uint64_t kept = 0;
    std::uint64_t stride = 1;
  };
  struct Kept {
    ShownEvent event;
    std::uint64_t number;  // sequence number within its kind
  };

  void Thin() {
    Kind& largest = *std::max_element(kinds_.begin(), kinds_.end(),
                                      [](const Kind& a, const Kind& b) { return a.kept < b.kept; });
    largest.stride *= 2;
    const auto kind = static_cast<std::uint8_t>(&largest - kinds_.data());
    std::erase_if(kept_, [&](const Kept& kept) {
      return kept.event.kind == kind && kept.number % largest.stride != 0;
    });
    largest.kept = (largest.seen + largest.stride - 1) / largest.stride;
  }

  std::size_t max_events_;
  std::array<Kind, kMaskEventNames.size()> kinds_ = {};
  std::vector<Kept> kept_;
};

bool Whole(const simdjson::dom::element& object, std::string_view field, std::uint64_t& into) {
  return object[field].get(into) == simdjson::SUCCESS;
}

// Returns the event of a line, or an error that describes what is wrong with it.
Result<ShownEvent> EventOf(const simdjson::dom::element& line, const PlanPositions& positions) {
  std::string_view kind;
  std::string_view kernel;
  ShownEvent event;
  if (!line.is_object()) return Error{"is not an object"};
  if (line["event"].get(kind) != simdjson::SUCCESS) return Error{"event is not a string"};
  const auto known = std::find(kMaskEventNames.begin(), kMaskEventNames.end(), kind);
  if (known == kMaskEventNames.end()) {
    return Error{fmt::format("event is '{}'", ShownCell(kind))};
  }
  event.kind = static_cast<std::uint8_t>(known - kMaskEventNames.begin());
  if (line["kernel"].get(kernel) != simdjson::SUCCESS) return Error{"kernel is not a string"};
  if (!Whole(line, "index", event.index)) return Error{"index is not a whole number"};
  if (!Whole(line, "occurrence", event.occurrence)) {
    return Error{"occurrence is not a whole number"};
  }
  if (!Whole(line, "cluster", event.cluster)) return Error{"cluster is not a whole number"};
  simdjson::dom::element time;
  if (line["time_ns"].get(time) != simdjson::SUCCESS) return Error{"time_ns is missing"};
  if (!time.is_null()) {
    std::uint64_t time_ns = 0;
    if (time.get(time_ns) != simdjson::SUCCESS) {
      return Error{"time_ns is not a whole number or null"};
    }
    event.time_ns = time_ns;
  }
  event.kernel = positions.Find(kernel, event.kind == 0, event.index);
  return event;
}

}  // namespace

PlanPositions::PlanPositions(const model::Plan& plan) {
  bool several = false;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const auto [at, is_new] = by_name_.try_emplace(plan.kernels[i].name, i);
    if (!is_new) at->second = kSeveral;
    several = several || !is_new;
  }
  if (!several) return;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    for (const model::PlanCluster& cluster : plan.kernels[i].clusters) {
      for (const model::PlanSample& sample : cluster.samples) by_sample_.emplace(sample.index, i);
    }
  }
}

std::optional<std::size_t> PlanPositions::Find(std::string_view name, bool capture,
                                               std::uint64_t index) const {
  const auto named = by_name_.find(std::string(name));
  if (named == by_name_.end()) return {};
  if (named->second != kSeveral) return named->second;
  const auto sampled = by_sample_.find(index);
  if (!capture || sampled == by_sample_.end()) return {};
  return sampled->second;
}

Result<MaskEvents> ReadMask(std::unique_ptr<ByteSource> source, const PlanPositions& positions,
                            std::size_t max_events) {
  Thinner thinner(max_events);
  LineReader lines(std::move(source));
  simdjson::dom::parser parser;
  for (;;) {
    const bool next = STEMTAP_TRY(lines.Next());
    if (!next) return thinner.Take();
    simdjson::dom::element line;
    const simdjson::error_code damaged =
        parser.parse(lines.text().data(), lines.text().size()).get(line);
    if (damaged != simdjson::SUCCESS && lines.ended()) {
      return lines.At(fmt::format("is not JSON; {}", kExpected));
    }
    if (damaged != simdjson::SUCCESS) {
      MaskEvents events = thinner.Take();
      events.is_cut = true;
      return events;
    }
    const Result<ShownEvent> event = EventOf(line, positions);
    if (!event.ok()) {
      return lines.At(fmt::format("{}; {}", event.error().message, kExpected));
    }
    thinner.Add(event.value());
  }
}

}  // namespace stemtap::ui
