// SPDX-License-Identifier: Apache-2.0
//
// NameReader copies the text of a name whose memory may be gone. CUPTI owns the names of its
// records, yet a module may be unloaded before its last records come, at the exit of a program
// above all; and a segmentation fault of ours would be the program's. So the system copies: it
// answers with an error where we would be killed, and no other thread can unmap a page between the
// question and the look.
//
// A copy costs a system call (0.3 us), so the decoder asks once per pointer and buffer.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "wire/record.h"

namespace stemtap::inject {

class NameReader {
 public:
  static constexpr std::uint32_t kGone = ~std::uint32_t{0};
  // One more than is kept, to tell a name that is just as long from one that is cut.
  static constexpr std::uint32_t kMostBytes = wire::kMaxNameBytes + 1;

  // Copies the name to text(); its length, at most kMostBytes. kGone if not all of it can be read.
  std::uint32_t Read(const char* name) noexcept {
    std::uint32_t length = 0;
    while (length < kMostBytes) {
      // To the end of a page at a time: a name is often the last thing before nothing.
      const auto address = reinterpret_cast<std::uintptr_t>(name + length);
      const std::uintptr_t left = kPage - address % kPage;
      const std::size_t look = left < kMostBytes - length ? left : kMostBytes - length;
      if (!Copy(name + length, text_ + length, look)) return kGone;
      const std::size_t here = ::strnlen(text_ + length, look);
      length += static_cast<std::uint32_t>(here);
      if (here < look) break;
    }
    return length;
  }
  // What was read last, without a terminating 0.
  const char* text() const noexcept { return text_; }

  // Whether `length` bytes may be a name of a kernel: not what an unloaded module's memory became.
  static bool Plausible(const char* text, std::uint32_t length) noexcept {
    for (std::uint32_t i = 0; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < ' ' || byte == 0x7F) return false;
    }
    return true;
  }

 private:
  // The smallest of all machines: where pages are larger, a copy still does not leave one.
  static constexpr std::uintptr_t kPage = 4096;

  static bool Copy(const char* from, char* to, std::size_t bytes) noexcept {
    const iovec local = {to, bytes};
    const iovec remote = {const_cast<char*>(from), bytes};
    const int before = errno;
    const bool copied =
        ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
    const bool refused = !copied && (errno == ENOSYS || errno == EPERM || errno == EACCES);
    errno = before;
    if (!refused) return copied;
    // Where the call is forbidden (older container profiles), as everybody does.
    const std::size_t length = ::strnlen(from, bytes);
    ::memcpy(to, from, length);
    if (length < bytes) to[length] = 0;
    return true;
  }

  char text_[kMostBytes] = {};
};

}  // namespace stemtap::inject
