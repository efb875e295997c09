// SPDX-License-Identifier: Apache-2.0
#include "importers/recorded_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace stemtap {

wire::KernelRecord RecordedLaunches::Unknown() {
  wire::KernelRecord record;
  record.device = wire::kUnknown16;
  record.start_ns = wire::kUnknownTime;
  record.stream = wire::kUnknown32;
  record.shared_bytes = wire::kUnknown32;
  return record;
}

std::uint32_t RecordedLaunches::Name(std::string_view name) {
  assert(!name.empty());
  if (name.size() > wire::kMaxNameBytes) {
    ++names_cut_;
    name = name.substr(0, wire::kMaxNameBytes);
  }
  return names_.Intern(name);
}

void RecordedLaunches::Add(const wire::KernelRecord& record, std::uint32_t name_id,
                           const std::vector<double>& metrics) {
  assert(metrics.size() == metric_names_.size());
  metrics_.resize(metric_names_.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics_[i].push_back(metrics[i]);
  records_.push_back(record);
  records_.back().name_id = name_id;
}

void RecordedLaunches::Finish(std::string_view source) {
  if (names_cut_ > 0) {
    Warn(fmt::format("{}: {} launches have a name of more than {} bytes, cut there", source,
                     names_cut_, wire::kMaxNameBytes));
  }
  const auto earlier = [](const wire::KernelRecord& a, const wire::KernelRecord& b) {
    return a.start_ns < b.start_ns;
  };
  if (!std::is_sorted(records_.begin(), records_.end(), earlier)) {
    if (metrics_.empty()) {
      std::stable_sort(records_.begin(), records_.end(), earlier);
    } else {
      std::vector<std::size_t> order(records_.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return earlier(records_[a], records_[b]);
      });
      const auto reorder = [&](auto& column) {
        auto sorted = column;
        for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
        column.swap(sorted);
      };
      reorder(records_);
      for (std::vector<double>& column : metrics_) reorder(column);
    }
  }
  const std::uint64_t first = records_.empty() ? 0 : records_.front().start_ns;
  for (wire::KernelRecord& record : records_) {
    if (record.start_ns != wire::kUnknownTime) record.start_ns -= first;
  }
}

Result<std::size_t> RecordedLaunches::Read(ProfileBatch& batch, std::size_t limit) {
  const std::size_t count = std::min(limit, records_.size() - next_);
  const auto part = [&](const auto& column) {
    const auto first = column.begin() + static_cast<std::ptrdiff_t>(next_);
    return std::pair(first, first + static_cast<std::ptrdiff_t>(count));
  };
  const auto [first, end] = part(records_);
  batch.records.assign(first, end);
  batch.metrics.resize(metric_names_.size());
  metrics_.resize(metric_names_.size());
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const auto [from, to] = part(metrics_[i]);
    batch.metrics[i].assign(from, to);
  }
  next_ += count;
  return count;
}

}  // namespace stemtap
