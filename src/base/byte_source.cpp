// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace stemtap {
namespace {

constexpr std::string_view kGzipMagic("\x1F\x8B", 2);
constexpr std::string_view kZstdMagic("\x28\xB5\x2F\xFD", 4);
constexpr std::string_view kZstdSkippableMagic("\x2A\x4D\x18", 3);  // after a byte 0x50 to 0x5F

// Parallel compressors write a skippable frame, which contains sizes, before each content frame.
bool BeginsLikeZstd(std::string_view leading) {
  return leading.starts_with(kZstdMagic) ||
         (leading.size() > kZstdSkippableMagic.size() && (leading[0] & 0xF0) == 0x50 &&
          leading.substr(1).starts_with(kZstdSkippableMagic));
}

class FileSource : public ByteSource {
 public:
  // `path` is empty if `file` is not a regular file.
  FileSource(std::string name, std::string path, FileDescriptor file, std::uint64_t size,
             ReadWatch watch)
      : ByteSource(std::move(name)),
        path_(std::move(path)),
        file_(std::move(file)),
        size_(size),
        watch_(std::move(watch)) {}

  std::string PlainPath() const override { return path_; }

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    for (;;) {
      const ssize_t count = ::read(file_.get(), data, size);
      if (count >= 0) {
        read_ += static_cast<std::uint64_t>(count);
        if (watch_) watch_(read_, size_);
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) {
        return Error{fmt::format("{}: cannot be read: {}", name(), std::strerror(errno))};
      }
    }
  }

  std::string path_;
  FileDescriptor file_;
  std::uint64_t size_;
  std::uint64_t read_ = 0;
  ReadWatch watch_;
};

// CompressedSource is the base of both decompressors: it buffers compressed input and counts it.
class CompressedSource : public ByteSource {
 public:
  explicit CompressedSource(std::unique_ptr<ByteSource> inner)
      : ByteSource(inner->name()), inner_(std::move(inner)), input_(kReadBytes) {}

 protected:
  Result<std::size_t> NextInput() {
    Result<std::size_t> count = inner_->Read(input_.data(), input_.size());
    if (count.ok()) read_ += count.value();
    return count;
  }
  const char* input() const { return input_.data(); }
  std::uint64_t read() const { return read_; }

  Error Truncated(const char* format) const {
    return Error{fmt::format("{}: truncated {} data, ends after {} bytes; expected a complete file",
                             name(), format, read_)};
  }
  // `unused` bytes of the buffered input follow the damage.
  Error Damaged(const char* format, const char* why, std::size_t unused) const {
    return Error{fmt::format("{}: damaged {} data before byte {} ({}); expected a complete file",
                             name(), format, read_ - unused, why == nullptr ? "invalid" : why)};
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::vector<char> input_;
  std::uint64_t read_ = 0;  // compressed bytes read so far
};

class GzipSource : public CompressedSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> inner) : CompressedSource(std::move(inner)) {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;  // 32 KiB window, gzip wrapper only
  }
  ~GzipSource() override {
    if (ready_) inflateEnd(&stream_);
  }

  std::optional<std::uint64_t> PackedBytes() const override { return read() - stream_.avail_in; }

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    if (!ready_) return Damaged("gzip", "out of memory", 0);
    const auto room = static_cast<uInt>(std::min(size, kReadBytes * 16));
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = room;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) {
        const std::size_t count = STEMTAP_TRY(NextInput());
        if (count == 0) {
          if (in_member_) return Truncated("gzip");
          return std::size_t{0};
        }
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input()));
        stream_.avail_in = static_cast<uInt>(count);
      }
      if (!in_member_) {
        // Some writers pad members with zeros up to a block.
        if (members_ > 0 && *stream_.next_in == 0) {
          ++stream_.next_in;
          --stream_.avail_in;
          continue;
        }
        if (members_ > 0) inflateReset(&stream_);
        in_member_ = true;
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        in_member_ = false;
        ++members_;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return Damaged("gzip", stream_.msg, stream_.avail_in);
      }
    }
    return std::size_t{room - stream_.avail_out};
  }

  z_stream stream_ = {};
  bool ready_ = false;
  bool in_member_ = false;
  std::size_t members_ = 0;  // completely read
};

class ZstdSource : public CompressedSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> inner)
      : CompressedSource(std::move(inner)), stream_(ZSTD_createDCtx()) {}
  ~ZstdSource() override { ZSTD_freeDCtx(stream_); }

  std::optional<std::uint64_t> PackedBytes() const override {
    return read() - (in_.size - in_.pos);
  }

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    if (stream_ == nullptr) return Damaged("zstd", "out of memory", 0);
    ZSTD_outBuffer out{data, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !pending_) {
        const std::size_t count = STEMTAP_TRY(NextInput());
        if (count == 0) {
          if (in_frame_) return Truncated("zstd");
          return std::size_t{0};
        }
        in_ = {input(), count, 0};
      }
      const std::size_t code = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(code) != 0) {
        return Damaged("zstd", ZSTD_getErrorName(code), in_.size - in_.pos);
      }
      in_frame_ = code != 0;
      pending_ = in_frame_ && out.pos == out.size;  // more output may follow without new input
    }
    return out.pos;
  }

  ZSTD_DCtx* stream_;
  ZSTD_inBuffer in_ = {nullptr, 0, 0};
  bool in_frame_ = false;
  bool pending_ = false;
};

class LimitedSource : public ByteSource {
 public:
  explicit LimitedSource(std::unique_ptr<ByteSource> inner)
      : ByteSource(inner->name()), inner_(std::move(inner)) {}

 private:
  Result<std::size_t> ReadSome(char* data, std::size_t size) override {
    const Result<std::size_t> count = inner_->Read(data, size);
    if (!count.ok()) return count;
    unpacked_ += count.value();
    const std::uint64_t packed = inner_->PackedBytes().value_or(unpacked_);
    if (unpacked_ <= std::max(kMaxUncheckedBytes, kMaxUnpackRatio * packed)) return count;
    return Error{
        fmt::format("{}: {} bytes unpack to more than {}; expected at most {} times as many; if "
                    "the file is valid, unpack it first",
                    name(), packed, unpacked_ - count.value(), kMaxUnpackRatio)};
  }

  std::unique_ptr<ByteSource> inner_;
  std::uint64_t unpacked_ = 0;
};

}  // namespace

Result<std::size_t> ByteSource::Read(char* data, std::size_t size) {
  if (peeked_begin_ == peeked_.size()) return ReadSome(data, size);
  const std::size_t count = std::min(size, peeked_.size() - peeked_begin_);
  std::memcpy(data, peeked_.data() + peeked_begin_, count);
  peeked_begin_ += count;
  return count;
}

Result<std::string_view> ByteSource::Peek(std::size_t size) {
  peeked_.erase(0, peeked_begin_);
  peeked_begin_ = 0;
  std::size_t held = peeked_.size();
  if (held < size) {
    peeked_.resize(size);
    while (held < size) {
      const Result<std::size_t> count = ReadSome(peeked_.data() + held, size - held);
      if (!count.ok()) {
        peeked_.resize(held);
        return count.error();
      }
      if (count.value() == 0) break;
      held += count.value();
    }
    peeked_.resize(held);
  }
  return std::string_view(peeked_).substr(0, size);
}

Result<std::unique_ptr<ByteSource>> Decompress(std::unique_ptr<ByteSource> source) {
  const std::string_view leading = STEMTAP_TRY(source->Peek(kZstdMagic.size()));
  if (leading.starts_with(kGzipMagic)) {
    return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(std::move(source)));
  }
  if (BeginsLikeZstd(leading)) {
    return std::unique_ptr<ByteSource>(std::make_unique<ZstdSource>(std::move(source)));
  }
  return source;
}

std::unique_ptr<ByteSource> LimitUnpacking(std::unique_ptr<ByteSource> source) {
  if (!source->PackedBytes()) return source;
  return std::make_unique<LimitedSource>(std::move(source));
}

namespace {

// Returns whether `fd` is an unnamed pipe. Unnamed pipes are inherited from the process that
// created them, so opening one does not wait for a writer.
bool IsUnnamedPipe(int fd, const struct stat& status) {
  struct statfs system = {};
  return S_ISFIFO(status.st_mode) && ::fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

Result<std::unique_ptr<ByteSource>> Open(const std::string& path, ReadWatch watch, bool may_wait) {
  if (path == "-") {
    return Decompress(std::make_unique<FileSource>(
        "standard input", "", FileDescriptor(STDIN_FILENO), 0, std::move(watch)));
  }
  const std::string name = EscapeForTerminal(path);
  // Without O_NONBLOCK, open() waits for the writer of a named pipe.
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (may_wait ? 0 : O_NONBLOCK));
  if (fd < 0) return Error{fmt::format("{}: cannot be opened: {}", name, std::strerror(errno))};
  struct stat status = {};
  const bool known = ::fstat(fd, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  auto source = std::make_unique<FileSource>(
      name, regular ? path : "", FileDescriptor(fd),
      regular ? static_cast<std::uint64_t>(status.st_size) : 0, std::move(watch));
  if (known && S_ISDIR(status.st_mode)) {
    return Error{fmt::format("{}: is a directory; expected a file", name)};
  }
  if (!may_wait && !regular) {
    if (!known || !IsUnnamedPipe(fd, status)) {
      return Error{fmt::format("{}: is a named pipe or a device; expected a regular file", name)};
    }
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  }
  return Decompress(std::move(source));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path, ReadWatch watch) {
  return Open(path, std::move(watch), false);
}

Result<std::unique_ptr<ByteSource>> OpenStream(const std::string& path, ReadWatch watch) {
  return Open(path, std::move(watch), true);
}

}  // namespace stemtap
