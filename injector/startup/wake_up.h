// SPDX-License-Identifier: Apache-2.0
//
// WakeUp lets a process that does not record wait for 'stemtap start PID': one thread that sleeps
// in poll(), no collector, no ring, and no CUPTI. It listens on an abstract Unix socket
// (shm/wake_address.h) and accepts its own user and root.
//
//   start                                      ─► one line for each variable that differs, and
//   STEMTAP_LEVEL=gate                         ─► an empty line
//                                              ─►
//                    ◄─ ok /jobs/stemtap-python3-4242
//                    ◄─ error CUPTI is in use by another tool
//
// THREADS: Listen once, during initialization; Close in a forked child; the rest on its thread.
#pragma once

#include <cstddef>

namespace stemtap::inject {

class WakeUp {
 public:
  enum class Outcome {
    kRecording,
    kDisabled,   // recording cannot begin any more; the session says why
    kNoSession,  // may be tried again
  };
  // Starts to record. Writes the session directory, or the reason why not, to `text`.
  using Start = Outcome (*)(char* text, std::size_t size);

  // Starts the thread. It ends after any outcome except kNoSession, or when the program's last
  // thread has ended: then `end` is called. Returns false with the reason in `problem`.
  bool Listen(Start start, void (*end)(), char* problem, std::size_t size) noexcept;

  // The socket is inherited by a forked child, which the thread is not.
  void Close() noexcept;

 private:
  static void* Main(void* self);
  void Run() noexcept;
  // Returns whether the thread has nothing more to wait for.
  bool Serve(int client) noexcept;

  int socket_plus_one_ = 0;  // 0: none, so that the object is in .bss
  Start start_ = nullptr;
  void (*end_)() = nullptr;
};

}  // namespace stemtap::inject
