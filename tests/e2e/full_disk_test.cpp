// SPDX-License-Identifier: Apache-2.0
// Tests `stemtap run` on a disk that fills up while the program runs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/session.h"
#include "support/small_disk.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

// Returns a recorded run of `kernels` kernels, each launched 50 times. Their names begin with
// `prefix` and have 3,000 bytes, so a mask event takes almost a page of the disk. A ring has room
// for the names of 331 such kernels before its file must grow.
std::string RunOf(const std::string& prefix, int kernels) {
  constexpr int kLaunches = 50;
  constexpr std::size_t kNameBytes = 3000;
  std::string text = kProfileHeader;
  for (int i = 0; i < kernels * kLaunches; ++i) {
    std::string name = fmt::format("{}{}", prefix, i % kernels);
    name.resize(kNameBytes, '_');
    text += fmt::format("{},{},{},0,7,1,1,1,128,1,1,0,,{}\n", i, 10'000 * i, 1000 + i % 97, name);
  }
  return text;
}

// Runs two programs in one session. The first reads its launches from a pipe: the script fills the
// disk when the ring of the program exists, and then writes the launches. When the collector has
// removed the ring, the disk has room again for the second program.
constexpr const char* kFillsUp = R"(
mkfifo "$1/launches"
cat >"$1/programs" <<'END'
"$2" - <"$1/launches" & exec 3>"$1/launches"
until ls "$1/session" | grep -q '^ring'; do :; done
dd if=/dev/zero of="$1/filler" bs=4096 2>"$1/reason"
dd if=/dev/zero bs=4096 2>>"$1/reason" >>"$1/filler"
cat "$3" >&3; exec 3>&-
wait $!
while ls "$1/session" | grep -q '^ring'; do :; done
rm "$1/filler"
"$2" "$4"
exit 5
END
"$5" run -q -o "$1/session" -- sh "$1/programs" "$@" >/dev/null
code=$?
cp -r "$1/session" "$6"
exit $code)";

TEST_CASE("a disk that is full for a while costs only the events of that time, with one warning") {
  const TempDir scratch;
  const SmallDisk disk(scratch / "disk", "40M");
  STEMTAP_SKIP_WITHOUT_DISK(disk);
  const auto first = scratch.Write("first.csv", RunOf("first", 300));
  const auto second = scratch.Write("second.csv", RunOf("second", 20));
  const auto run = RunProcess(
      disk.Command(kFillsUp, {(FakeGpuDir() / "stemtap_play").string(), first.string(),
                              second.string(), StemtapProgram().string(),
                              (scratch / "session").string()}),
      OnFakeGpu(scratch));
  CAPTURE(run.err);
  CHECK(run.exit_code == 5);

  const auto session = ReadJson(scratch / "session/session.json");
  REQUIRE(session.is_object());
  CHECK(session["counters"]["kept"] == 320 * 50);
  const std::uint64_t missing = session["counters"]["mask_events_missing"];
  CHECK(missing > 100);
  const std::string warning =
      fmt::format("mask.ndjson: {} events are missing, the disk was full", missing);
  CHECK(run.err == fmt::format("stemtap: warning: {}\n", warning));
  std::size_t warnings = 0;
  for (const auto& text : session["warnings"]) warnings += text == warning;
  CHECK(warnings == 1);

  const std::string mask = ReadFile(scratch / "session/mask.ndjson");
  CHECK(mask.ends_with("\n"));
  std::size_t of_second = 0;
  std::istringstream lines(mask);
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    REQUIRE(event.is_object());
    of_second += event["kernel"].get<std::string>().starts_with("second");
  }
  CHECK(of_second >= 20);
  CHECK(OverviewDiffers(scratch / "session") == "");
  for (const std::vector<std::string>& reader :
       {std::vector<std::string>{"merge", "session", "-o", "merged"},
        std::vector<std::string>{"stats", "session"}}) {
    const auto read = RunStemtap(scratch, reader);
    CAPTURE(read.err);
    CHECK(read.exit_code == 0);
  }
}

}  // namespace
}  // namespace stemtap::test
