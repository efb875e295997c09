// SPDX-License-Identifier: Apache-2.0
#include "session/mask_writer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "support/file_size_limit.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using online::MaskEvent;
using online::MaskEventKind;

// Writes one `close` event for each of `indices` to `mask`, as the events of one epoch.
void Decide(MaskWriter& mask, const std::vector<std::uint64_t>& indices) {
  model::NameTable names;
  names.Intern("k");
  std::vector<MaskEvent> events;
  for (const std::uint64_t index : indices) {
    events.push_back({MaskEventKind::kClose, index, 0, 0, 0, 0});
  }
  mask.OnDecisions(events, names, {});
}

std::string Line(std::uint64_t index) {
  return fmt::format(
      "{{\"event\":\"close\",\"index\":{},\"kernel\":\"k\",\"occurrence\":0,\"cluster\":0,"
      "\"time_ns\":0}}\n",
      index);
}

TEST_CASE("events that cannot be written are counted, and later events are written again") {
  const test::TempDir scratch;
  const std::filesystem::path path = scratch / "mask.ndjson";
  auto mask = MaskWriter::Open(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
                               path.string());
  REQUIRE(mask.ok());
  Decide(mask.value(), {1});
  {
    // Room for one and a half of three lines.
    const test::FileSizeLimit limit(Line(1).size() * 5 / 2);
    Decide(mask.value(), {2, 3, 4});
    CHECK(test::ReadFile(path) == Line(1) + Line(2));
    Decide(mask.value(), {5});
    CHECK(test::ReadFile(path) == Line(1) + Line(2));
  }
  Decide(mask.value(), {6});
  CHECK(mask.value().missing() == 3);
  const Status closed = mask.value().Close();
  REQUIRE_FALSE(closed.ok());
  CHECK(closed.error().message == "mask.ndjson: 3 events are missing, File too large");
  CHECK(test::ReadFile(path) == Line(1) + Line(2) + Line(6));
}

TEST_CASE("events that a full disk has no room for are reported once, at the end") {
  auto mask = MaskWriter::Open(::open("/dev/full", O_WRONLY | O_CLOEXEC), "/dev/full");
  REQUIRE(mask.ok());
  Decide(mask.value(), {1});
  const Status closed = mask.value().Close();
  REQUIRE_FALSE(closed.ok());
  CHECK(closed.error().message == "mask.ndjson: 1 event is missing, the disk was full");
}

}  // namespace
}  // namespace stemtap::session
