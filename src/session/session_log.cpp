// SPDX-License-Identifier: Apache-2.0
#include "session/session_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/file.h"
#include "base/text.h"

namespace stemtap::session {
namespace {

class LogFileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogFileSink(const Directory& directory) : directory_(directory) {
    set_pattern_("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t lines;
    if (missing_ != 0) {
      const std::string note =
          Plural(missing_, "message is", "messages are") + " missing, the log could not be written";
      formatter_->format(
          {message.time, message.source, message.logger_name, spdlog::level::warn, note}, lines);
    }
    formatter_->format(message, lines);
    if (bytes_ + lines.size() > SessionLog::kMaxFileBytes) {
      directory_.Rename(kLogFileName, kOldLogFileName);
      is_created_ = false;
      bytes_ = 0;
    }
    // A file that was removed is not created again: the directory may be about to be removed, too.
    const int fd =
        is_created_ ? directory_.OpenForWriting(kLogFileName) : directory_.Create(kLogFileName);
    if (fd < 0) return;
    is_created_ = true;
    const std::size_t written =
        WriteLines(fd, static_cast<off_t>(bytes_), {lines.data(), lines.size()});
    ::close(fd);
    bytes_ += written;
    if (written != 0) missing_ = 0;
    missing_ += written != lines.size();
  }
  void flush_() override {}

  const Directory& directory_;
  bool is_created_ = false;
  std::size_t bytes_ = 0;
  std::uint64_t missing_ = 0;  // messages since the last one that was written
};

}  // namespace

SessionLog::SessionLog(const Directory& directory, spdlog::level::level_enum level)
    : before_(spdlog::default_logger()) {
  auto file = std::make_shared<LogFileSink>(directory);
  file->set_level(level);
  auto logger = std::make_shared<spdlog::logger>("session", std::move(file));
  logger->set_level(level);
  if (before_->level() < spdlog::level::warn) {
    logger->set_level(std::min(level, before_->level()));
    for (const spdlog::sink_ptr& sink : before_->sinks()) {
      sink->set_level(before_->level());
      logger->sinks().push_back(sink);
    }
  }
  logger->set_error_handler([](const std::string&) {});
  spdlog::set_default_logger(std::move(logger));
}

SessionLog::~SessionLog() {
  spdlog::set_default_logger(before_);
}

}  // namespace stemtap::session
