// SPDX-License-Identifier: Apache-2.0
//
// SessionLog directs the messages of spdlog into stemtap.log in the session directory while it
// lives, one line per message. A full file is renamed to stemtap.1.log and replaces the previous
// one, so both take at most 10 MiB. If SPDLOG_LEVEL asks for more than warnings, messages also go
// to stderr; warnings alone do not, because the summary contains them.
//
// The file is opened for each message: an open descriptor could be the one that a ring needs.
//
// ERRORS: a message that cannot be written is dropped, and the next one follows a line with the
// number of dropped messages. The file grows by whole lines. The log is optional.
//
// THREADS: created and destroyed while one thread runs; messages may come from any thread.
#pragma once

#include <spdlog/common.h>

#include <cstddef>
#include <memory>

#include "base/directory.h"

namespace spdlog {
class logger;
}

namespace stemtap::session {

inline constexpr const char* kLogFileName = "stemtap.log";
inline constexpr const char* kOldLogFileName = "stemtap.1.log";

class SessionLog {
 public:
  // 5 MiB are about 50,000 lines. A session at level debug writes a few lines per second.
  static constexpr std::size_t kMaxFileBytes = std::size_t{5} << 20;

  // Creates no file before the first message of `level` or above. `directory` must outlive the log.
  SessionLog(const Directory& directory, spdlog::level::level_enum level);
  ~SessionLog();
  SessionLog(const SessionLog&) = delete;
  SessionLog& operator=(const SessionLog&) = delete;

 private:
  const std::shared_ptr<spdlog::logger> before_;
};

}  // namespace stemtap::session
