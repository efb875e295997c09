// SPDX-License-Identifier: Apache-2.0
#include "importers/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "importers/registry.h"
#include "wire/record.h"

namespace stemtap {
namespace {

class RankReader : public ProfileReader {
 public:
  RankReader(std::span<const std::string> paths, std::vector<std::unique_ptr<ProfileReader>> ranks)
      : paths_(paths.begin(), paths.end()), ranks_(std::move(ranks)) {
    for (const auto& rank : ranks_) {
      std::vector<std::size_t>& columns = columns_.emplace_back();
      for (const std::string& name : rank->metric_names()) {
        const auto at = std::find(metric_names_.begin(), metric_names_.end(), name);
        columns.push_back(static_cast<std::size_t>(at - metric_names_.begin()));
        if (at == metric_names_.end()) metric_names_.push_back(name);
      }
    }
  }

  Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit) override {
    batch.records.clear();
    batch.metrics.resize(metric_names_.size());
    for (std::vector<double>& column : batch.metrics) column.clear();
    while (rank_ < ranks_.size()) {
      const Result<std::size_t> read = ranks_[rank_]->Read(part_, limit);
      if (!read.ok()) return read.error();
      if (read.value() == 0) {
        EndRank();
        continue;
      }
      const Status taken = Take(batch);
      if (!taken.ok()) return taken.error();
      break;
    }
    return batch.records.size();
  }

 private:
  // Moves what was read of the present rank into `batch`.
  Status Take(ProfileBatch& batch) {
    const ProfileReader& rank = *ranks_[rank_];
    while (name_ids_.size() < rank.names().size()) {
      const auto id = static_cast<std::uint32_t>(name_ids_.size());
      name_ids_.push_back(names_.Intern(rank.names().name(id)));
    }
    for (wire::KernelRecord record : part_.records) {
      const auto [device, first] = devices_.try_emplace(record.device, next_device_);
      if (first && next_device_++ == wire::kUnknown16) {
        return Error{
            fmt::format("{}: more than {} devices in all ranks", Shown(), wire::kUnknown16)};
      }
      record.device = device->second;
      record.name_id = name_ids_[record.name_id];
      batch.records.push_back(record);
    }
    for (std::vector<double>& column : batch.metrics) {
      column.resize(batch.records.size(), std::numeric_limits<double>::quiet_NaN());
    }
    for (std::size_t i = 0; i < part_.metrics.size(); ++i) {
      batch.metrics[columns_[rank_][i]] = part_.metrics[i];
    }
    return Success{};
  }

  void EndRank() {
    const ProfileReader& rank = *ranks_[rank_];
    warnings_.insert(warnings_.end(), rank.warnings().begin(), rank.warnings().end());
    if (devices_.empty()) {
      warnings_.push_back(fmt::format("{}: no launches, rank {} is empty", Shown(), rank_));
    }
    devices_.clear();
    name_ids_.clear();
    ranks_[rank_++].reset();
  }

  std::string Shown() const { return EscapeForTerminal(paths_[rank_]); }

  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<ProfileReader>> ranks_;
  std::vector<std::vector<std::size_t>> columns_;  // of metric_names_, by rank and column
  std::size_t rank_ = 0;                           // the present one
  std::uint16_t next_device_ = 0;
  // Of the present rank: what its devices and names are called here.
  std::unordered_map<std::uint16_t, std::uint16_t> devices_;
  std::vector<std::uint32_t> name_ids_;
  ProfileBatch part_;
};

}  // namespace

Result<std::unique_ptr<ProfileReader>> OpenRanks(std::span<const std::string> paths,
                                                 const WatchOf& watch_of) {
  const auto open = [&](const std::string& path) {
    return OpenProfile(path, watch_of ? watch_of(path) : ReadWatch());
  };
  if (paths.size() == 1) return open(paths[0]);
  std::vector<std::unique_ptr<ProfileReader>> ranks;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<ProfileReader>> rank = open(path);
    if (!rank.ok()) return rank.error();
    ranks.push_back(std::move(rank).value());
  }
  return std::unique_ptr<ProfileReader>(std::make_unique<RankReader>(paths, std::move(ranks)));
}

}  // namespace stemtap
