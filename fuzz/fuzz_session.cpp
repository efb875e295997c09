// SPDX-License-Identifier: Apache-2.0
// Edits one to four values of a session's plan, session, overview and cells and reads the session
// with every reader. The first byte selects the session; each edit takes five bytes.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/json_edits.h"
#include "fuzz/session_readers.h"

namespace {

using namespace stemtap;

// Uses a directory in memory if available: every input is written and read as files.
struct Scratch {
  std::filesystem::path path;
  Scratch() {
    std::error_code error;
    const std::filesystem::path memory = "/dev/shm";
    const bool there = std::filesystem::is_directory(memory, error);
    path = (there ? memory : std::filesystem::temp_directory_path()) /
           ("fuzz_session." + std::to_string(::getpid()));
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
  }
  ~Scratch() { std::filesystem::remove_all(path); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  static SessionReaders readers(scratch.path);
  constexpr std::size_t kEditBytes = 5;
  constexpr std::size_t kMaxEdits = 4;
  if (size < 1 + kEditBytes || size > 1 + kMaxEdits * kEditBytes) return -1;
  const std::size_t session = data[0] % readers.size();
  std::vector<std::string> texts = readers.texts(session);
  for (const std::uint8_t* edit = data + 1; edit + kEditBytes <= data + size; edit += kEditBytes) {
    EditJson(texts[edit[0] % texts.size()], static_cast<std::uint16_t>(edit[1] << 8 | edit[2]),
             edit[3], edit[4]);
  }
  const SessionReaders::Outcome outcome = readers.Read(session, texts);
  if (outcome.broken.empty()) return 0;
  std::fprintf(stderr, "violated: %s\n", outcome.broken.c_str());
  std::abort();
}
