// SPDX-License-Identifier: Apache-2.0
//
// These tests also run under the thread sanitizer.
#include "startup/session_files.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "support/temp_dir.h"

namespace stemtap::inject {
namespace {

class OpenFiles {
 public:
  OpenFiles() {
    char problem[512] = {};
    const bool opened = files_->Open(dir_.path().c_str(), problem, sizeof(problem));
    REQUIRE_MESSAGE(opened, problem);
  }
  ~OpenFiles() { ::munmap(&files_->ring(), sizeof(shm::RingFile)); }

  void Remark(const std::string& text) { files_->Remark(text.c_str()); }
  // Returns the remarks as the collector reads them.
  std::string remarks() const {
    const shm::RingHeader& header = files_->ring().header;
    return std::string(header.reason, header.reason_bytes.load(std::memory_order_acquire));
  }
  const char* text() const { return files_->ring().header.reason; }

 private:
  test::TempDir dir_;
  std::unique_ptr<SessionFiles> files_ = std::make_unique<SessionFiles>();
};

TEST_CASE("remarks are appended, and dropped if they do not fit") {
  OpenFiles files;
  CHECK(files.remarks().empty());
  files.Remark("first");
  CHECK(files.remarks() == "first");
  files.Remark("second");
  CHECK(files.remarks() == "first; second");
  constexpr std::size_t kRoom = sizeof(shm::RingHeader::reason) - 1;
  files.Remark(std::string(kRoom - 14, 'x'));  // one byte too many
  CHECK(files.remarks() == "first; second");
  files.Remark(std::string(kRoom - 15, 'x'));
  CHECK(files.remarks() == "first; second; " + std::string(kRoom - 15, 'x'));
  CHECK(files.text() == files.remarks());  // 0-terminated
  files.Remark("");
  CHECK(files.remarks().size() == kRoom);
}

TEST_CASE("a remark is read whole or not at all") {
  const std::string remarks[] = {std::string(200, 'a'), "b", std::string(100, 'c')};
  for (int round = 0; round < 20; ++round) {
    OpenFiles files;
    std::thread program([&] {
      for (const std::string& remark : remarks) files.Remark(remark);
    });
    std::string expected;
    int torn = 0;
    for (const std::string& remark : remarks) {
      const std::string before = expected;
      expected += (expected.empty() ? "" : "; ") + remark;
      std::string seen;
      while ((seen = files.remarks()).size() < expected.size()) torn += seen != before;
      // Later remarks may follow.
      torn += !seen.starts_with(expected);
    }
    program.join();
    CHECK(torn == 0);
  }
}

}  // namespace
}  // namespace stemtap::inject
