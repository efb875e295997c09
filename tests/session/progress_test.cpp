// SPDX-License-Identifier: Apache-2.0
#include "session/progress.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace stemtap::session {
namespace {

// Written captures the output of a progress line in memory.
class Written {
 public:
  Written() : file_(::open_memstream(&text_, &size_)) {}
  ~Written() {
    std::fclose(file_);
    std::free(text_);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

// Returns the launches per second in every line that was shown.
std::vector<double> RatesIn(const std::string& text) {
  std::vector<double> rates;
  std::size_t at = 0;
  while ((at = text.find(" launches/s", at)) != std::string::npos) {
    const std::size_t begin = text.find_last_of("lh \r", at - 1) + 1;
    const std::string number = text.substr(begin, at - begin);
    rates.push_back(std::strtod(number.c_str(), nullptr) * (number.ends_with('k') ? 1e3 : 1));
    ++at;
  }
  return rates;
}

TEST_CASE("a steady rate is shown as steady although launches are processed in epochs") {
  constexpr std::uint64_t kPerSecond = 20000;
  constexpr std::uint64_t kEpoch = 8192;  // at most 2.4 epochs per second
  constexpr std::int64_t kFlushMs = 210;  // how often the program's records arrive
  constexpr std::int64_t kLoopMs = 20;    // how often the collector polls
  for (const bool terminal : {true, false}) {
    CAPTURE(terminal);
    Written written;
    ProgressLine line(written.file(), terminal);
    for (std::int64_t now_ms = 1; now_ms < 60000; now_ms += kLoopMs) {
      const auto flushed_ms = static_cast<std::uint64_t>(now_ms / kFlushMs * kFlushMs);
      const std::uint64_t seen = flushed_ms * kPerSecond / 1000;
      online::SamplerStatus status;
      status.observed = seen / kEpoch * kEpoch;
      line.Update(status, seen, 0, now_ms);
    }
    const std::vector<double> rates = RatesIn(written.text());
    REQUIRE(rates.size() == (terminal ? 299 : 5));
    for (std::size_t i = terminal ? 10 : 0; i < rates.size(); ++i) {  // after two seconds
      CAPTURE(i);
      CHECK(rates[i] == doctest::Approx(kPerSecond).epsilon(0.15));
    }
  }
}

TEST_CASE("the first progress update has no rate and shows no line") {
  Written written;
  ProgressLine line(written.file(), true);
  line.Update({}, 5000, 0, 1);
  CHECK(written.text().empty());
  line.Update({}, 5100, 0, 1 + ProgressLine::kTerminalPeriodMs);
  CHECK(written.text().find("500 launches/s") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::session
