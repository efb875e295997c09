// SPDX-License-Identifier: Apache-2.0
//
// PackedText writes text as the base64 encoding of its gzip. The output contains only letters,
// digits, '+', '/' and '=', so kernel and file names cannot end the enclosing HTML element.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "base/result.h"

namespace stemtap::ui {

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
