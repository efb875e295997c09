// SPDX-License-Identifier: Apache-2.0
//
// Runs a program whose stdout is a terminal.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "support/process.h"

namespace stemtap::test {

// Runs the program with a pseudo-terminal as its stdout. `out` of the result contains the bytes
// that the terminal received. REQUIRES: the program writes less than the kernel's buffer, 64 KiB.
// `columns` is the width of the terminal; 0: it does not report one.
inline ProcessResult RunOnTerminal(const std::vector<std::string>& argv,
                                   const ProcessOptions& options = {}, unsigned short columns = 0) {
  const FileDescriptor leader(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(leader.is_open());
  REQUIRE(::grantpt(leader.get()) == 0);
  REQUIRE(::unlockpt(leader.get()) == 0);
  char name[64] = {};
  REQUIRE(::ptsname_r(leader.get(), name, sizeof(name)) == 0);
  FileDescriptor follower(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(follower.is_open());
  termios mode = {};
  REQUIRE(::tcgetattr(follower.get(), &mode) == 0);
  ::cfmakeraw(&mode);
  REQUIRE(::tcsetattr(follower.get(), TCSANOW, &mode) == 0);
  winsize size = {};
  size.ws_col = columns;
  size.ws_row = columns == 0 ? 0 : 40;
  REQUIRE(::ioctl(follower.get(), TIOCSWINSZ, &size) == 0);
  std::vector<std::string> words = {"sh", "-c", "exec \"$@\" >\"$0\"", name};
  words.insert(words.end(), argv.begin(), argv.end());
  ProcessResult result = RunProcess(words, options);
  CHECK(result.out.empty());
  follower.Close();  // the leader then ends with an error after the last byte
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(leader.get(), bytes, sizeof(bytes))) > 0;) {
    result.out.append(bytes, static_cast<std::size_t>(count));
  }
  return result;
}

}  // namespace stemtap::test
