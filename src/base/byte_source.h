// SPDX-License-Identifier: Apache-2.0
//
// ByteSource streams the decompressed content of a file. It recognizes gzip (any number of members)
// and zstd (any number of frames) by their leading bytes, not by file name. Files are not mapped,
// so pipes work, and a file that shrinks while it is read causes an error instead of a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace stemtap {

// Size of one read() request.
inline constexpr std::size_t kReadBytes = std::size_t{256} * 1024;

class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Name for error messages: the path, or "standard input".
  const std::string& name() const { return name_; }

  // Reads at most `size` bytes. Returns 0 at the end of the content. REQUIRES: size > 0.
  Result<std::size_t> Read(char* data, std::size_t size);

  // Returns the next `size` bytes without consuming them, or fewer if the content ends. Valid until
  // the next call.
  Result<std::string_view> Peek(std::size_t size);

  // Path of the regular file whose bytes are exactly the content, or empty if there is no such file
  // (compressed file, pipe, memory). For libraries that open files themselves.
  virtual std::string PlainPath() const { return {}; }

  // Number of compressed bytes consumed so far, or nullopt if the content is not compressed.
  virtual std::optional<std::uint64_t> PackedBytes() const { return {}; }

 private:
  virtual Result<std::size_t> ReadSome(char* data, std::size_t size) = 0;

  std::string name_;
  std::string peeked_;  // [peeked_begin_, end) is still unread
  std::size_t peeked_begin_ = 0;
};

// Callback after each read: bytes of the file read so far, before decompression, and the size of
// the file, or 0 if the size is unknown (a pipe).
using ReadWatch = std::function<void(std::uint64_t read, std::uint64_t size)>;

// Opens the file at `path` for decompressed reading; "-" is standard input. Rejects named pipes and
// devices, which could wait forever for a writer. Accepts unnamed pipes such as '<(...)', whose
// writer already exists.
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path, ReadWatch watch = {});

// Like OpenByteSource, but accepts named pipes and devices and waits for their writer. For content
// that users may stream: profiles, metrics, simulator logs.
Result<std::unique_ptr<ByteSource>> OpenStream(const std::string& path, ReadWatch watch = {});

// Returns `source` itself, or a decompressing source if its leading bytes match gzip or zstd.
Result<std::unique_ptr<ByteSource>> Decompress(std::unique_ptr<ByteSource> source);

// Maximum compression ratio of content that is held as a whole, in memory or on disk. Measured
// ratios: databases 4, plans 20, profiler tables 28, simulator logs 50, torch.profiler traces 35
// (gzip -9) or 57 (zstd -19 --long). Only content that repeats the same few bytes exceeds the limit
// (gzip reaches 1032, zstd about 20,000).
inline constexpr std::uint64_t kMaxUnpackRatio = 256;
// Content up to this decompressed size, in bytes, is exempt from the compression-ratio limit.
inline constexpr std::uint64_t kMaxUncheckedBytes = std::uint64_t{4} * 1024 * 1024;

// Wraps `source` so that Read fails once the content exceeds both limits. For readers that hold all
// of the content. Returns `source` itself if it is not compressed.
std::unique_ptr<ByteSource> LimitUnpacking(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
