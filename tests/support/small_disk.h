// SPDX-License-Identifier: Apache-2.0
//
// Runs a shell script with a small file system that only the script and its children see:
//
//   const SmallDisk disk(scratch / "disk", "4M");
//   STEMTAP_SKIP_WITHOUT_DISK(disk);
//   RunProcess(disk.Command("echo text >\"$1/file\"", {}), options);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/process.h"

namespace stemtap::test {

class SmallDisk {
 public:
  // Creates the directory `directory`. `size`: as in mount(8).
  SmallDisk(const std::filesystem::path& directory, const std::string& size)
      : directory_(directory.string()), size_(size) {
    std::filesystem::create_directory(directory);
    is_available_ = RunProcess(Command("true", {})).exit_code == 0;
  }

  // Returns whether this machine lets the test mount file systems.
  bool is_available() const { return is_available_; }

  // Returns the command that runs `script` with the empty file system mounted at its argument $1.
  // `more` are $2 and so on.
  std::vector<std::string> Command(const std::string& script,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"unshare",
                                        "-m",
                                        "sh",
                                        "-c",
                                        "mount -t tmpfs -o size=" + size_ + " none \"$1\" && {\n" +
                                            script + "\n}",
                                        "sh",
                                        directory_};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

 private:
  std::string directory_;
  std::string size_;
  bool is_available_ = false;
};

}  // namespace stemtap::test

// Ends the test case with a message if file systems cannot be mounted. Requires doctest.
#define STEMTAP_SKIP_WITHOUT_DISK(disk)                                        \
  do {                                                                         \
    if (!(disk).is_available()) {                                              \
      MESSAGE("SKIPPED: file systems cannot be mounted on this machine");      \
      return;                                                                  \
    }                                                                          \
  } while (false)
