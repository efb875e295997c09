// SPDX-License-Identifier: Apache-2.0
//
// The report page built by the directory report/: one self-contained HTML file with one
// kDataPlaceholder at the position of the session data. The page is embedded in the program.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "base/result.h"

namespace stemtap::ui {

inline constexpr std::string_view kDataPlaceholder = "@STEMTAP_DATA@";

// Returns the page, or an empty string if stemtap was built without it. Building it requires
// Node.js (cmake/ReportPage.cmake).
std::string_view ReportPage();

// PackedText writes text as the base64 encoding of its gzip. The output contains only letters,
// digits, '+', '/' and '=', so kernel and file names cannot end the enclosing HTML element.
class PackedText {
 public:
  // REQUIRES: `sink` outlives this object.
  explicit PackedText(ByteSink& sink);
  ~PackedText();
  PackedText(const PackedText&) = delete;
  PackedText& operator=(const PackedText&) = delete;

  Status Write(std::string_view text);
  // Completes the text; does not finish the sink. Call it once.
  Status Finish();

 private:
  Status Deflate(std::string_view text, int flush);
  Status Encode(std::string_view bytes);

  ByteSink& sink_;
  z_stream stream_ = {};
  bool ready_ = false;
  std::string packed_;  // output buffer of the next deflate call
  std::string letters_;
  std::array<unsigned char, 3> rest_ = {};  // bytes that do not form a group of three yet
  std::size_t rest_size_ = 0;
};

}  // namespace stemtap::ui
