// SPDX-License-Identifier: Apache-2.0
//
// NameReader copies the text of a name whose memory may be gone. CUPTI owns the names of its
// records, yet a module may be unloaded before its last records come, at the exit of a program
// above all; and a segmentation fault of ours would be the program's. So the system copies: it
// answers with an error where we would be killed, and no other thread can unmap a page between the
// question and the look.
//
// The call that copies is process_vm_readv. A seccomp filter may kill the program for it, so it is
// not made once a thread with a filter was seen: a socket copies instead, ten times slower.
//
// A copy costs a system call (1.3 us), so whole pages are copied, which hold the names of a module
// side by side, and kept until Forget(), which the decoder calls for each buffer.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "shm/record.h"

namespace stemtap::inject {

class NameReader {
 public:
  static constexpr std::uint32_t kGone = ~std::uint32_t{0};
  // One more than is kept, to tell a name that is just as long from one that is cut.
  static constexpr std::uint32_t kMostBytes = shm::kMaxNameBytes + 1;

  // Copies the name to text(); its length, at most kMostBytes. kGone if not all of it can be read.
  std::uint32_t Read(const char* name) noexcept {
    std::uint32_t length = 0;
    while (length < kMostBytes) {
      const auto address = reinterpret_cast<std::uintptr_t>(name) + length;
      const std::uintptr_t offset = address % kPageBytes;
      const char* page = PageAt(address - offset);
      if (page == nullptr) return kGone;
      const std::uintptr_t left = kPageBytes - offset;
      const std::size_t look = left < kMostBytes - length ? left : kMostBytes - length;
      const std::size_t here = ::strnlen(page + offset, look);
      ::memcpy(text_ + length, page + offset, here);
      length += static_cast<std::uint32_t>(here);
      if (here < look) break;
    }
    return length;
  }
  // From here on memory may be other than it was.
  void Forget() noexcept { ++reading_; }
  // What was read last, without a terminating 0.
  const char* text() const noexcept { return text_; }

  // Whether `length` bytes may be a name of a kernel: not what an unloaded module's memory became.
  // A kernel's name is an identifier (PTX has letters, digits, _, $ and %), so no control character is
  // legal in it, whereas an address in a shared library (0x7f..) or a small number, which is what such
  // memory holds mostly, has one.
  static bool Plausible(const char* text, std::uint32_t length) noexcept {
    for (std::uint32_t i = 0; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < ' ' || byte == 0x7F) return false;
    }
    return true;
  }

 private:
  // The smallest of all machines: where pages are larger, a part of one is there when all of it is.
  static constexpr std::uintptr_t kPageBytes = 4096;
  // 128 KiB of names for each buffer: several hundred kernels. Pages that share a place are copied
  // more often. The memory is touched as it is needed.
  static constexpr std::uint32_t kPages = 32;

  struct Page {
    std::uintptr_t address;
    std::uint64_t reading;
  };

  const char* PageAt(std::uintptr_t address) noexcept {
    if (address == 0) return nullptr;
    const std::uint32_t place = static_cast<std::uint32_t>(address / kPageBytes) % kPages;
    Page& page = pages_[place];
    char* bytes = bytes_[place];
    if (page.address != address || page.reading != reading_) {
      page.address = 0;
      if (!Copy(reinterpret_cast<const void*>(address), bytes)) return nullptr;
      page = {address, reading_};
    }
    return bytes;
  }

  bool Copy(const void* from, char* to) noexcept {
    const int before = errno;
    const bool done = MayBeFiltered(to) ? CopyBySocket(from, to) : CopyByCall(from, to);
    errno = before;
    return done;
  }

  static bool CopyByCall(const void* from, char* to) noexcept {
    const iovec local = {to, kPageBytes};
    const iovec remote = {const_cast<void*>(from), kPageBytes};
    const bool copied = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) ==
                        static_cast<ssize_t>(kPageBytes);
    const bool refused = !copied && (errno == ENOSYS || errno == EPERM || errno == EACCES);
    return copied || (refused && CopyBySocket(from, to));
  }

  // Whether a thread that read names is under a seccomp filter. Asked once for each buffer: a program
  // can install a filter at any time, and never removes one.
  // Overwrites `scratch`, one page.
  bool MayBeFiltered(char* scratch) noexcept {
    if (!filtered_ && asked_ != reading_ + 1) {
      asked_ = reading_ + 1;
      filtered_ = ThreadMayBeFiltered(scratch);
    }
    return filtered_;
  }

  // True also where the system does not say: programs that confine themselves do without /proc.
  static bool ThreadMayBeFiltered(char* text) noexcept {
    const int file = ::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    const ssize_t length = ::read(file, text, kPageBytes - 1);
    ::close(file);
    if (length < 0) return true;
    text[length] = 0;
    constexpr char kField[] = "\nSeccomp:\t";
    const char* field = ::strstr(text, kField);
    // A kernel without seccomp has no such field.
    if (field == nullptr) return length == static_cast<ssize_t>(kPageBytes - 1);
    return field[sizeof(kField) - 1] != '0';
  }

  // Where the call is forbidden (older container profiles, filters): a socket takes memory just as
  // carefully, in five calls. It is not kept: a program may count its open files, or close them all. If it does
  // so just now and opens another under the same number, a file takes no `send`.
  static bool CopyBySocket(const void* from, char* to) noexcept {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return false;
    }
    constexpr auto kAll = static_cast<ssize_t>(kPageBytes);
    const bool copied = ::send(ends[1], from, kPageBytes, MSG_NOSIGNAL) == kAll &&
                        ::recv(ends[0], to, kPageBytes, 0) == kAll;
    ::close(ends[0]);
    ::close(ends[1]);
    return copied;
  }

  // All zero at first: the library's state has no room in its file.
  std::uint64_t reading_ = 0;
  std::uint64_t asked_ = 0;  // one more than the reading in which filters were last looked for
  bool filtered_ = false;
  Page pages_[kPages] = {};
  char bytes_[kPages][kPageBytes] = {};
  char text_[kMostBytes] = {};
};

}  // namespace stemtap::inject
