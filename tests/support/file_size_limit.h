// SPDX-License-Identifier: Apache-2.0
//
// FileSizeLimit limits the size of the files that this process and its children write. A file that
// reaches the limit behaves as on a full disk, but the error is EFBIG. Requires doctest.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

namespace stemtap::test {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_ = {};
  sighandler_t handler_;
};

}  // namespace stemtap::test
