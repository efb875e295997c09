// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/importers/registry.h"
#include "shm/record.h"

namespace stemtap::formats {
namespace {

// Returns whether the path, opened again, has the same content. "-" is always standard input, even
// if a file of that name exists.
bool CanReopen(const std::string& path) {
  std::error_code ignored;
  return path != "-" && std::filesystem::is_regular_file(path, ignored);
}

class RankReader : public model::ProfileReader {
 public:
  RankReader(std::span<const std::string> paths,
             std::vector<std::unique_ptr<model::ProfileReader>> ranks, Marks wanted)
      : paths_(paths.begin(), paths.end()), ranks_(std::move(ranks)), wanted_(wanted) {
    for (const auto& rank : ranks_) {
      marks_.ranges = marks_.ranges || rank->marks().ranges;
      marks_.steps = marks_.steps || rank->marks().steps;
      std::vector<std::size_t>& columns = columns_.emplace_back();
      for (const std::string& name : rank->metric_names()) {
        const auto at = std::find(metric_names_.begin(), metric_names_.end(), name);
        columns.push_back(static_cast<std::size_t>(at - metric_names_.begin()));
        if (at == metric_names_.end()) metric_names_.push_back(name);
      }
    }
  }

  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override {
    batch.records.clear();
    batch.metrics.resize(metric_names_.size());
    for (std::vector<double>& column : batch.metrics) column.clear();
    while (rank_ < ranks_.size()) {
      if (!current_.begun) {
        STEMTAP_TRY(NumberDevices());
        current_.begun = true;
      }
      const std::size_t read = STEMTAP_TRY(ranks_[rank_]->Read(part_, limit));
      if (read == 0) {
        EndRank();
        continue;
      }
      STEMTAP_TRY(Take(batch));
      break;
    }
    return batch.records.size();
  }

 private:
  // Reads the current rank to its end to find its devices, then returns to its beginning.
  Status NumberDevices() {
    std::unique_ptr<model::ProfileReader>& rank = ranks_[rank_];
    const bool held = rank->Rewind();
    current_.once = !held && !CanReopen(paths_[rank_]);
    if (current_.once) return Success{};
    std::set<std::uint16_t> found;
    for (;;) {
      const std::size_t read = STEMTAP_TRY(rank->Read(part_, model::kBatchLaunches));
      if (read == 0) break;
      for (const shm::KernelRecord& record : part_.records) found.insert(record.device);
    }
    found.erase(shm::kUnknown16);
    for (const std::uint16_t device : found) {
      STEMTAP_TRY(AddDevice(device));
    }
    if (held) {
      rank->Rewind();
      return Success{};
    }
    std::unique_ptr<model::ProfileReader> again =
        STEMTAP_TRY(OpenProfile(paths_[rank_], {}, wanted_));
    if (again->metric_names() != rank->metric_names() || !(again->marks() == rank->marks())) {
      return Changed();
    }
    rank = std::move(again);
    return Success{};
  }

  Status AddDevice(std::uint16_t device) {
    if (next_device_ == shm::kUnknown16) {
      return Error{fmt::format("{}: more than {} devices in all ranks; expected fewer files",
                               Shown(), shm::kUnknown16)};
    }
    current_.devices.emplace(device, next_device_++);
    return Success{};
  }

  Error Changed() const {
    return Error{
        fmt::format("{}: was changed while it was read; expected a finished file", Shown())};
  }

  // Moves the records read from the current rank into `batch`.
  Status Take(model::ProfileBatch& batch) {
    const model::ProfileReader& rank = *ranks_[rank_];
    while (current_.name_ids.size() < rank.names().size()) {
      const auto id = static_cast<std::uint32_t>(current_.name_ids.size());
      current_.name_ids.push_back(names_.Intern(rank.names().name(id), 0, rank.names().range(id)));
    }
    for (shm::KernelRecord record : part_.records) {
      auto device = current_.devices.find(record.device);
      if (device == current_.devices.end()) {
        if (!current_.once) return Changed();
        current_.out_of_order = current_.out_of_order || record.device < current_.last_device;
        current_.last_device = record.device;
        STEMTAP_TRY(AddDevice(record.device));
        device = current_.devices.find(record.device);
      }
      record.device = device->second;
      record.name_id = current_.name_ids[record.name_id];
      batch.records.push_back(record);
    }
    for (const shm::KernelRecord& record : part_.records) AddToDigest(record);
    current_.launches += part_.records.size();
    for (std::vector<double>& column : batch.metrics) {
      column.resize(batch.records.size(), std::numeric_limits<double>::quiet_NaN());
    }
    if (!part_.steps.empty() || !batch.steps.empty()) {
      batch.steps.resize(batch.records.size() - part_.records.size(), shm::kNoStep);
      batch.steps.insert(batch.steps.end(), part_.steps.begin(), part_.steps.end());
      batch.steps.resize(batch.records.size(), shm::kNoStep);
    }
    for (std::size_t i = 0; i < part_.metrics.size(); ++i) {
      batch.metrics[columns_[rank_][i]] = part_.metrics[i];
    }
    return Success{};
  }

  void EndRank() {
    const model::ProfileReader& rank = *ranks_[rank_];
    warnings_.insert(warnings_.end(), rank.warnings().begin(), rank.warnings().end());
    if (current_.launches == 0) {
      warnings_.push_back(fmt::format("{}: no launches; rank {} is empty", Shown(), rank_));
    }
    if (current_.out_of_order) {
      warnings_.push_back(fmt::format(
          "{}: can be read only once, so its devices are numbered in order of first use", Shown()));
    }
    if (current_.launches > 0) {
      const auto [first, is_new] =
          first_with_.try_emplace({current_.launches, current_.digest}, rank_);
      if (!is_new) {
        warnings_.push_back(fmt::format(
            "{}: contains the same launches as {}; if it is the same recording, totals are doubled",
            Shown(), EscapeForTerminal(paths_[first->second])));
      }
    }
    current_ = {};
    ranks_[rank_++].reset();
  }

  // Adds a launch with its name in the merged names.
  void AddToDigest(const shm::KernelRecord& record) {
    const auto add = [&](std::uint64_t value) {
      current_.digest = (current_.digest ^ value) * 0x9E3779B97F4A7C15u;
      current_.digest ^= current_.digest >> 29;
    };
    add(current_.name_ids[record.name_id]);
    add(record.start_ns);
    add(record.duration_ns);
    add(record.correlation_id);
    add(std::uint64_t{record.device} << 32 | record.stream);
    add(std::uint64_t{record.grid[0]} << 32 | record.block[0]);
  }

  std::string Shown() const { return EscapeForTerminal(paths_[rank_]); }

  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<model::ProfileReader>> ranks_;
  Marks wanted_;
  std::vector<std::vector<std::size_t>> columns_;  // index into metric_names_, by rank and column
  std::size_t rank_ = 0;                           // the current rank
  std::uint16_t next_device_ = 0;
  // State of the current rank.
  struct Current {
    bool begun = false;
    bool once = false;          // its devices are numbered in order of first use
    bool out_of_order = false;  // that order differs from the order of their numbers
    std::uint16_t last_device = 0;
    std::uint64_t launches = 0;
    std::uint64_t digest = 0;  // of the launches, with the devices of the file
    // Maps the rank's devices and names to the merged ones.
    std::unordered_map<std::uint16_t, std::uint16_t> devices = {{shm::kUnknown16, shm::kUnknown16}};
    std::vector<std::uint32_t> name_ids;
  };
  Current current_;
  // The first rank with these launches, by their number and digest.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> first_with_;
  model::ProfileBatch part_;
};

}  // namespace

Result<std::unique_ptr<model::ProfileReader>> OpenRanks(std::span<const std::string> paths,
                                                        const WatchOf& watch_of,
                                                        const model::LaunchSelection& selection) {
  const Marks marks = selection.by_operator ? Marks::kOperators
                      : selection.is_set()  ? Marks::kRead
                                            : Marks::kSkip;
  const auto open = [&](const std::string& path) {
    return OpenProfile(path, watch_of ? watch_of(path) : ReadWatch(), marks);
  };
  if (paths.size() == 1) {
    std::unique_ptr<model::ProfileReader> run = STEMTAP_TRY(open(paths[0]));
    return model::SelectLaunches(std::move(run), selection);
  }
  std::vector<std::unique_ptr<model::ProfileReader>> ranks;
  for (const std::string& path : paths) {
    std::unique_ptr<model::ProfileReader> rank = STEMTAP_TRY(open(path));
    ranks.push_back(std::move(rank));
  }
  std::unique_ptr<model::ProfileReader> run =
      std::make_unique<RankReader>(paths, std::move(ranks), marks);
  run->SetSource(EscapeForTerminal(fmt::format("{}", fmt::join(paths, ", "))));
  return model::SelectLaunches(std::move(run), selection);
}

}  // namespace stemtap::formats
