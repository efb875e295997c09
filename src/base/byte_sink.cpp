// SPDX-License-Identifier: Apache-2.0
#include "base/byte_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/text.h"

namespace stemtap {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{256} * 1024;

Error WriteError(const std::string& name) {
  return Error{fmt::format("{}: cannot be written: {}", name, std::strerror(errno))};
}

// TemporaryFile is the name of a file until it is complete. The file is removed unless Rename was
// called. Paths are relative to the open directory `directory`.
class TemporaryFile {
 public:
  // `path`: the name of the complete file.
  explicit TemporaryFile(std::string path, int directory = AT_FDCWD)
      : directory_(directory), path_(std::move(path)) {}
  TemporaryFile(TemporaryFile&& other) noexcept
      : directory_(other.directory_),
        path_(std::move(other.path_)),
        name_(std::exchange(other.name_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
  }

  // Creates the file. Sets errno on failure.
  FileDescriptor Create(mode_t mode) {
    // Names may be in use by other sinks of this process or left over from killed processes.
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::string name = fmt::format("{}.tmp.{}.{}", path_, ::getpid(), attempt);
      FileDescriptor file(
          ::openat(directory_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      if (file.is_open()) name_ = std::move(name);
      if (file.is_open() || errno != EEXIST) return file;
    }
    return {};
  }

  // Gives the file its final name. Returns false and sets errno on failure.
  bool Rename() {
    if (::renameat(directory_, name_.c_str(), directory_, path_.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  int directory_;
  std::string path_;
  std::string name_;  // empty: there is no file
};

class FileSink : public ByteSink {
 public:
  FileSink(std::string name, FileDescriptor file, std::optional<TemporaryFile> temporary = {})
      : name_(std::move(name)), file_(std::move(file)), temporary_(std::move(temporary)) {
    buffer_.reserve(kWriteBytes);
  }

  Status Write(std::string_view bytes) override {
    if (buffer_.size() + bytes.size() > kWriteBytes) {
      STEMTAP_TRY(Flush());
    }
    if (bytes.size() >= kWriteBytes) return WriteAll(bytes);
    buffer_.append(bytes);
    return Success{};
  }

  Status Finish() override {
    STEMTAP_TRY(Flush());
    if (!file_.Close()) return WriteError(name_);
    if (temporary_ && !temporary_->Rename()) return WriteError(name_);
    return Success{};
  }

 private:
  Status Flush() {
    Status written = WriteAll(buffer_);
    buffer_.clear();
    return written;
  }

  Status WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return WriteError(name_);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return Success{};
  }

  std::string name_;
  FileDescriptor file_;
  std::optional<TemporaryFile> temporary_;
  std::string buffer_;
};

// TerminalSink escapes text, because names in data could contain control sequences. It passes on
// whole lines, so that no character is split.
class TerminalSink : public ByteSink {
 public:
  explicit TerminalSink(std::unique_ptr<ByteSink> inner) : inner_(std::move(inner)) {}

  Status Write(std::string_view bytes) override {
    const std::size_t whole = bytes.rfind('\n') + 1;  // 0 if there is none
    if (whole != 0) {
      line_ += bytes.substr(0, whole);
      STEMTAP_TRY(inner_->Write(EscapeLines(line_)));
      line_.clear();
    }
    line_ += bytes.substr(whole);
    return Success{};
  }

  Status Finish() override {
    STEMTAP_TRY(inner_->Write(EscapeLines(line_)));
    return inner_->Finish();
  }

 private:
  std::unique_ptr<ByteSink> inner_;
  std::string line_;  // the beginning of a line
};

class GzipSink : public ByteSink {
 public:
  explicit GzipSink(std::unique_ptr<ByteSink> inner) : inner_(std::move(inner)), out_(kWriteBytes) {
    // 32 KiB window and a gzip wrapper. Its timestamp is 0, so equal content produces equal bytes.
    ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                          Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipSink() override {
    if (ready_) deflateEnd(&stream_);
  }

  Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kWriteBytes);
      STEMTAP_TRY(Deflate(piece, Z_NO_FLUSH));
      bytes.remove_prefix(piece.size());
    }
    return Success{};
  }

  Status Finish() override {
    const Status written = Deflate({}, Z_FINISH);
    return written.ok() ? inner_->Finish() : written;
  }

 private:
  Status Deflate(std::string_view piece, int flush) {
    if (!ready_) return Error{"gzip: out of memory"};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    for (bool more = true; more;) {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);  // fails only if misused
      more = stream_.avail_out == 0;
      STEMTAP_TRY(inner_->Write({out_.data(), out_.size() - stream_.avail_out}));
    }
    return Success{};
  }

  std::unique_ptr<ByteSink> inner_;
  std::vector<char> out_;
  z_stream stream_ = {};
  bool ready_ = false;
};

class ZstdSink : public ByteSink {
 public:
  explicit ZstdSink(std::unique_ptr<ByteSink> inner)
      : inner_(std::move(inner)), out_(kWriteBytes), stream_(ZSTD_createCCtx()) {
    if (stream_ != nullptr) ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdSink() override { ZSTD_freeCCtx(stream_); }

  Status Write(std::string_view bytes) override { return Compress(bytes, ZSTD_e_continue); }
  Status Finish() override {
    const Status written = Compress({}, ZSTD_e_end);
    return written.ok() ? inner_->Finish() : written;
  }

 private:
  Status Compress(std::string_view bytes, ZSTD_EndDirective directive) {
    if (stream_ == nullptr) return Error{"zstd: out of memory"};
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (std::size_t left = 1; left != 0;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      left = ZSTD_compressStream2(stream_, &out, &in, directive);
      if (ZSTD_isError(left) != 0) {
        return Error{fmt::format("zstd failed: {}", ZSTD_getErrorName(left))};
      }
      if (directive == ZSTD_e_continue) left = in.size - in.pos;
      STEMTAP_TRY(inner_->Write({out_.data(), out.pos}));
    }
    return Success{};
  }

  std::unique_ptr<ByteSink> inner_;
  std::vector<char> out_;
  ZSTD_CCtx* stream_;
};

// Returns a sink for an open file that stays where it is.
std::unique_ptr<ByteSink> DirectSink(const std::string& name, FileDescriptor file) {
  const bool is_terminal = ::isatty(file.get()) == 1;
  auto sink = std::make_unique<FileSink>(name, std::move(file));
  if (!is_terminal) return sink;
  return std::make_unique<TerminalSink>(std::move(sink));
}

Result<std::unique_ptr<ByteSink>> CreateFileSink(const std::string& path) {
  if (path == "-") return DirectSink("standard output", FileDescriptor(STDOUT_FILENO));
  const std::string name = EscapeForTerminal(path);
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return Error{fmt::format("{}: is a directory; expected a file", name)};
  }
  if (exists && !S_ISREG(status.st_mode)) {
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) return WriteError(name);
    return DirectSink(name, std::move(file));
  }
  // Replace the target of a symbolic link, not the link.
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::canonical(path, ignored);
  TemporaryFile temporary(target.empty() ? path : target.string());
  FileDescriptor file = temporary.Create(0666);
  if (!file.is_open()) return WriteError(name);
  // Keep the permissions of the file that is replaced. Ignore errors: some file systems have no
  // permissions.
  if (exists) static_cast<void>(::fchmod(file.get(), status.st_mode & 0777));
  return std::unique_ptr<ByteSink>(
      std::make_unique<FileSink>(name, std::move(file), std::move(temporary)));
}

}  // namespace

std::unique_ptr<ByteSink> SinkTo(int fd, const std::string& name) {
  return std::make_unique<FileSink>(EscapeForTerminal(name), FileDescriptor(fd));
}

Result<std::unique_ptr<ByteSink>> CreateSinkIn(int directory, const std::string& name,
                                               const std::string& path) {
  TemporaryFile temporary(name, directory);
  FileDescriptor file = temporary.Create(kOwnFileMode);
  if (!file.is_open()) return WriteError(EscapeForTerminal(path));
  static_cast<void>(::fchmod(file.get(), kOwnFileMode));
  return std::unique_ptr<ByteSink>(
      std::make_unique<FileSink>(EscapeForTerminal(path), std::move(file), std::move(temporary)));
}

Result<std::unique_ptr<ByteSink>> CreateByteSink(const std::string& path) {
  Result<std::unique_ptr<ByteSink>> file = CreateFileSink(path);
  if (!file.ok()) return file;
  if (path.ends_with(".gz")) {
    return std::unique_ptr<ByteSink>(std::make_unique<GzipSink>(std::move(file).value()));
  }
  if (path.ends_with(".zst")) {
    return std::unique_ptr<ByteSink>(std::make_unique<ZstdSink>(std::move(file).value()));
  }
  return file;
}

}  // namespace stemtap
