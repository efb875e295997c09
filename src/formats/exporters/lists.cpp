// SPDX-License-Identifier: Apache-2.0
//
// Writes selections that are lists: a table of the samples, ids for Sieve, and windows for NVBit's
// sample tools. See docs/formats/selection-csv.md, sieve.md and nvbit.md.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "formats/exporters/consumers.h"

namespace stemtap::formats {
namespace {

std::string Known(std::uint64_t value, std::uint64_t unknown) {
  return value == unknown ? std::string() : fmt::format("{}", value);
}

// The cells that both tables share.
std::string SampleCells(const CountedSample& s) {
  const shm::KernelRecord& r = s.sample->record;
  const model::PlanCluster& c = *s.cluster;
  std::string cells = fmt::format(
      "{},{},{},{},{}", s.sample->index, Known(s.device, shm::kUnknown16),
      Known(r.stream, shm::kUnknown32), CsvCell(s.planned_name()), s.sample->occurrence);
  for (const std::uint32_t extent : r.grid) cells += "," + Known(extent, shm::kUnknownExtent);
  for (const std::uint32_t extent : r.block) cells += "," + Known(extent, shm::kUnknownExtent);
  const double plain = static_cast<double>(c.count) / static_cast<double>(c.samples.size());
  return cells + fmt::format(",{},{},{},{},{},{}\n", r.duration_ns, s.cluster_number, c.count,
                             c.samples.size(), CsvCell(s.sample->weight), plain);
}

constexpr std::string_view kColumns =
    "id,index,device,stream,kernel,occurrence,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
    "duration_ns,cluster,cluster_launches,cluster_samples,weight,plain_weight\n";

}  // namespace

std::string WeightsCsv(const CountedPlan& counted) {
  std::string text(kColumns);
  for (const CountedSample& s : counted.samples) {
    text += fmt::format("{},", s.id) + SampleCells(s);
  }
  return text;
}

Result<Exported> WriteSelectionCsv(const ExportInput& input) {
  std::string text(kColumns);
  for (std::size_t i = 0; i < input.counted.samples.size(); ++i) {
    text += fmt::format("{},", i) + SampleCells(input.counted.samples[i]);
  }
  Exported exported;
  exported.ids = input.counted.samples.size();
  exported.files.push_back({"", std::move(text)});
  return exported;
}

Result<Exported> WriteSieve(const ExportInput& input) {
  const std::vector<std::uint64_t> ids = Ids(input.counted);
  Exported exported;
  exported.ids = ids.size();
  std::string text;
  for (const std::uint64_t id : ids) fmt::format_to(std::back_inserter(text), "{}\n", id);
  exported.files.push_back({"", std::move(text)});
  exported.notes.push_back("the tracer reads the file as ids.txt in the working directory");
  return exported;
}

Result<Exported> WriteNvbit(const ExportInput& input) {
  const std::vector<std::uint64_t> ids = Ids(input.counted);
  const std::vector<IdRange> windows = Ranges(ids);
  Exported exported;
  exported.ids = ids.size();
  exported.runs = windows.size();
  std::string text = ScriptHead("a sample tool of NVBit (START_GRID_NUM, END_GRID_NUM)",
                                "# Set LD_PRELOAD or CUDA_INJECTION64_PATH to the tool first. The "
                                "runs print one after another;\n"
                                "# STEMTAP_RUN is the number of the run.\n",
                                windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    text += fmt::format("\nSTEMTAP_RUN={} START_GRID_NUM={} END_GRID_NUM={} \"$@\"\n", i + 1,
                        windows[i].first, windows[i].last + 1);
  }
  exported.files.push_back({"", std::move(text)});
  return exported;
}

}  // namespace stemtap::formats
