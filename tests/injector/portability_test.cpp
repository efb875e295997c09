// SPDX-License-Identifier: Apache-2.0
//
// Tests what the injected library requires from a process: only libc (GLIBC_2.17 of 2012 or later)
// and little thread-local storage. It has few visible symbols and no executable stack.
#include <doctest/doctest.h>

#include <cstdint>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

// Returns the output of a binutils tool. If it is not installed, prints a message and returns "".
std::string OutputOf(const std::vector<std::string>& argv) {
  const ProcessResult result = RunProcess(argv);
  if (result.exit_code == 127) {
    MESSAGE("SKIPPED: " << argv[0] << " is not installed");
    return {};
  }
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  REQUIRE_FALSE(result.out.empty());
  return result.out;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("the library requires only libc.so.6") {
  const std::string dynamic = OutputOf({"readelf", "-dW", InjectorLibrary()});
  if (dynamic.empty()) return;
  std::vector<std::string> needed;
  for (const std::string& line : Lines(dynamic)) {
    if (line.find("(NEEDED)") != std::string::npos) needed.push_back(line.substr(line.find('[')));
    CHECK(line.find("(RPATH)") == std::string::npos);
    CHECK(line.find("(RUNPATH)") == std::string::npos);
    CHECK(line.find("(TEXTREL)") == std::string::npos);
  }
  CHECK(needed == std::vector<std::string>{"[libc.so.6]"});
  CHECK(dynamic.find("NODELETE") != std::string::npos);  // CUPTI keeps pointers into it
  CHECK(dynamic.find("NOW") != std::string::npos);  // missing symbols are reported at load time
}

TEST_CASE("the library exports its entry points and the functions of stemtap/control.h") {
  const std::string symbols = OutputOf({"nm", "-D", "--defined-only", InjectorLibrary()});
  if (symbols.empty()) return;
  std::vector<std::string> names;
  for (const std::string& line : Lines(symbols)) names.push_back(line.substr(line.rfind(' ') + 1));
  CHECK(names == std::vector<std::string>{"InitializeInjection", "InitializeInjectionNvtx2",
                                          "stemtap_attach", "stemtap_range_pop",
                                          "stemtap_range_push", "stemtap_start", "stemtap_step",
                                          "stemtap_stop"});
}

TEST_CASE("no symbol is newer than GLIBC_2.17 or from a C++ runtime") {
  const std::string symbols = OutputOf({"nm", "-D", "--undefined-only", InjectorLibrary()});
  if (symbols.empty()) return;
  int versioned = 0;
  for (const std::string& line : Lines(symbols)) {
    CAPTURE(line);
    std::smatch match;
    if (std::regex_search(line, match, std::regex("@+GLIBC_2\\.([0-9]+)"))) {
      CHECK(std::stoi(match[1]) <= 17);
      ++versioned;
    } else {
      // Only weak symbols, which may be missing, have no version.
      CHECK(line.find(" w ") != std::string::npos);
    }
    CHECK(line.find("GLIBCXX") == std::string::npos);
    CHECK(line.find("CXXABI") == std::string::npos);
    CHECK(line.find("GCC_") == std::string::npos);
  }
  CHECK(versioned > 10);
}

TEST_CASE("the library does not require newer loader features or processors") {
  // Symbols do not show that short relative relocations require GLIBC_ABI_DT_RELR (2.36).
  const std::string versions = OutputOf({"readelf", "-VW", InjectorLibrary()});
  if (versions.empty()) return;
  int needs = 0;
  const std::regex name("Name: ([A-Za-z_]+[0-9.A-Z_]*)  Flags");
  for (std::sregex_iterator at(versions.begin(), versions.end(), name), end; at != end; ++at) {
    const std::string version = (*at)[1];
    CAPTURE(version);
    std::smatch match;
    REQUIRE(std::regex_match(version, match, std::regex("GLIBC_2\\.([0-9]+)(\\.[0-9]+)?")));
    CHECK(std::stoi(match[1]) <= 17);
    ++needs;
  }
  CHECK(needs > 0);
  const ProcessResult notes = RunProcess({"readelf", "-nW", InjectorLibrary()});
  CHECK(notes.out.find("x86 ISA needed: x86-64-v") == std::string::npos);
}

TEST_CASE("functions that newer C libraries moved to libc are weak symbols") {
  const std::string symbols = OutputOf({"nm", "-D", "--undefined-only", InjectorLibrary()});
  if (symbols.empty()) return;
  std::set<std::string> weak;
  for (const std::string& line : Lines(symbols)) {
    const std::size_t at = line.find(" w ");
    if (at != std::string::npos) weak.insert(line.substr(at + 3, line.find('@') - at - 3));
  }
  for (const char* name :
       {"pthread_create", "pthread_detach", "dlopen", "dlsym", "dlerror", "dlclose"}) {
    CAPTURE(name);
    CHECK(weak.count(name) == 1);
  }
}

TEST_CASE("thread-local storage fits into the reserve of every loader") {
  const std::string segments = OutputOf({"readelf", "-lW", InjectorLibrary()});
  if (segments.empty()) return;
  std::uint64_t bytes = 0;
  for (const std::string& line : Lines(segments)) {
    std::istringstream words(line);
    std::string type, offset, address, physical, in_file, in_memory;
    words >> type >> offset >> address >> physical >> in_file >> in_memory;
    if (type == "TLS") bytes += std::stoull(in_memory, nullptr, 16);
  }
  CHECK(bytes == 32);
  // The initial-exec model does not call __tls_get_addr, which is in the loader and not in libc.
  const std::string dynamic = OutputOf({"readelf", "-dW", InjectorLibrary()});
  CHECK(dynamic.find("STATIC_TLS") != std::string::npos);
}

TEST_CASE("the library has no executable stack or writable executable page") {
  const std::string segments = OutputOf({"readelf", "-lW", InjectorLibrary()});
  if (segments.empty()) return;
  bool stack = false;
  for (const std::string& line : Lines(segments)) {
    CAPTURE(line);
    std::istringstream words(line);
    std::string type;
    words >> type;
    if (type != "GNU_STACK" && type != "LOAD") continue;
    stack |= type == "GNU_STACK";
    const bool writable = std::regex_search(line, std::regex(" RWE? "));
    const bool executable = std::regex_search(line, std::regex(" (RWE|R E) "));
    CHECK_FALSE((writable && executable));
  }
  CHECK(stack);
}

TEST_CASE("the loaded part of the file is small, with or without debug information") {
  const std::string segments = OutputOf({"readelf", "-lW", InjectorLibrary()});
  if (segments.empty()) return;
  std::uint64_t bytes = 0;
  for (const std::string& line : Lines(segments)) {
    std::istringstream words(line);
    std::string type, offset, address, physical, in_file;
    words >> type >> offset >> address >> physical >> in_file;
    if (type == "LOAD") bytes += std::stoull(in_file, nullptr, 16);
  }
  CHECK(bytes > 10'000);
  CHECK(bytes < 80 * 1024);
  MESSAGE("loaded: " << bytes << " bytes");
}

}  // namespace
}  // namespace stemtap::test
