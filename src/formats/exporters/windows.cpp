// SPDX-License-Identifier: Apache-2.0
//
// Writes selections for Sieve and for NVBit's sample tools. See docs/formats/nvbit.md and sieve.md.
#include <fmt/format.h>

#include "formats/exporters/consumers.h"

namespace stemtap::formats {

std::string ScriptHead(const std::string& purpose, const std::string& comment, std::size_t runs) {
  return fmt::format(
      "#!/bin/sh\n"
      "# {} runs of a program for {}, by stemtap. Use: sh FILE PROGRAM [ARGUMENT...]\n"
      "{}"
      "# Every run must launch the same kernels in the same order. Stops at the first failed run.\n"
      "set -e\n"
      "if [ $# -eq 0 ]; then\n"
      "  echo \"usage: sh $0 PROGRAM [ARGUMENT...]\" >&2\n"
      "  exit 2\n"
      "fi\n",
      runs, purpose, comment);
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

void ForEachLine(std::string_view text,
                 const std::function<bool(std::size_t row, std::string_view line)>& line) {
  for (std::size_t row = 1; !text.empty(); ++row) {
    const std::size_t end = text.find('\n');
    std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!one.empty() && one.back() == '\r') one.remove_suffix(1);
    if (!line(row, one)) return;
  }
}

Status CheckAllMet(const std::vector<std::uint64_t>& ids,
                   const std::map<std::uint64_t, std::size_t>& met, const std::string& list_name) {
  if (met.size() == ids.size()) return Success{};
  for (const std::uint64_t id : ids) {
    if (!met.contains(id)) {
      return Error{
          fmt::format("{}: does not contain kernel {} and {} more of the plan; expected all {}",
                      list_name, id, ids.size() - met.size() - 1, ids.size())};
    }
  }
  return Success{};
}

}  // namespace stemtap::formats
