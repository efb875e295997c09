// SPDX-License-Identifier: Apache-2.0
//
// PackedText writes text as the base64 of its gzip: letters, digits, + / = alone, so that nothing in the
// text can end the HTML element it stands in, whatever kernels and files are called.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "base/result.h"

namespace stemtap {

class PackedText {
 public:
  // REQUIRES: `sink` outlives it.
  explicit PackedText(ByteSink& sink);
  ~PackedText();
  PackedText(const PackedText&) = delete;
  PackedText& operator=(const PackedText&) = delete;

  Status Write(std::string_view text);
  // The text is complete. To be called once; the sink is not finished.
  Status Finish();

 private:
  Status Deflate(std::string_view text, int flush);
  Status Encode(std::string_view bytes);

  ByteSink& sink_;
  z_stream stream_ = {};
  bool ready_ = false;
  std::string packed_;  // what the next call of deflate writes to
  std::string letters_;
  std::array<unsigned char, 3> rest_ = {};  // bytes that make no group of three yet
  std::size_t rest_size_ = 0;
};

}  // namespace stemtap
