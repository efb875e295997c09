// SPDX-License-Identifier: Apache-2.0
//
// ByteSource streams the content of a file, decompressed: gzip (any number of members) and zstd
// (any number of frames) are known by their leading bytes, whatever the name. Nothing is mapped, so
// pipes work and a file that shrinks meanwhile is an error, not a signal.
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

// How much is asked of the system at a time.
inline constexpr std::size_t kReadBytes = std::size_t{256} * 1024;

class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // What error messages call it: the path, or "standard input".
  const std::string& name() const { return name_; }

  // Reads at most `size` bytes. 0 is the end of the content. REQUIRES: size > 0.
  Result<std::size_t> Read(char* data, std::size_t size);

  // The next `size` bytes, which stay unread; fewer only where the content ends. Valid until the
  // next call.
  Result<std::string_view> Peek(std::size_t size);

  // Path of the regular file whose bytes, as they stand there, are the content; empty where there
  // is none (compressed, a pipe, memory). For libraries that open files themselves.
  virtual std::string PlainPath() const { return {}; }

  // How many compressed bytes what was read so far came from; nothing where it is not compressed.
  virtual std::optional<std::uint64_t> PackedBytes() const { return {}; }

 private:
  virtual Result<std::size_t> ReadSome(char* data, std::size_t size) = 0;

  std::string name_;
  std::string peeked_;  // [peeked_begin_, end) is not yet read
  std::size_t peeked_begin_ = 0;
};

// Told after each read of a file how many of its bytes, as they stand there, have been read, and how
// many there are; `size` is 0 where nobody knows (a pipe).
using ReadWatch = std::function<void(std::uint64_t read, std::uint64_t size)>;

// The decompressed content of the file at `path`; "-" is standard input. Refuses named pipes and devices,
// which could wait forever for a writer. Pipes without a name, as of '<(...)', have had one.
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path, ReadWatch watch = {});

// The same, but reads named pipes and devices too, and waits for the writer. For content that is
// worth streaming: profiles, metrics, logs of simulators.
Result<std::unique_ptr<ByteSource>> OpenStream(const std::string& path, ReadWatch watch = {});

// The content of `source`, decompressed if its leading bytes say that it is compressed.
Result<std::unique_ptr<ByteSource>> Decompress(std::unique_ptr<ByteSource> source);

// How many times its compressed bytes content may be that is held as a whole, in memory or on a disk.
// Real databases unpack to 4 times, plans to 20, tables of profilers to 28, the logs of simulators to
// 50, traces of torch.profiler to 35 (gzip -9) or 57 (zstd -19 --long); only the same few bytes over and
// over get beyond (gzip ends at 1032 times, zstd at some 20,000).
inline constexpr std::uint64_t kMostUnpacked = 256;
// As much may be unpacked of anything: it harms nobody.
inline constexpr std::uint64_t kUnpackedFreely = std::uint64_t{4} * 1024 * 1024;

// `source`, which is an error once it unpacks to more than that. For readers that hold all of it.
std::unique_ptr<ByteSource> LimitUnpacking(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
