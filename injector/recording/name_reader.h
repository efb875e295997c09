// SPDX-License-Identifier: Apache-2.0
//
// NameReader copies a kernel name whose memory may already be unmapped. CUPTI owns the names of its
// records, but a module may be unloaded before its last records arrive, especially at program exit,
// and a segmentation fault in this library would end the program. NameReader therefore lets the
// kernel copy: the system call returns an error instead of a fault, and no other thread can unmap a
// page between a check and the read.
//
// The copying call is process_vm_readv. A seccomp filter may kill the program for it, so after a
// thread with a filter was seen, a socket copies instead, which is ten times slower.
//
// A system call costs 1.3 us, so whole pages are copied, which contain the names of a module side
// by side. They are cached until Forget(), which the decoder calls for each buffer.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "shm/record.h"

namespace stemtap::inject {

class NameReader {
 public:
  static constexpr std::uint32_t kGone = ~std::uint32_t{0};
  // One byte more than is kept, to distinguish a name of exactly that length from a truncated one.
  static constexpr std::uint32_t kMaxBytes = shm::kMaxNameBytes + 1;

  // Copies the name to text() and returns its length, at most kMaxBytes. Returns kGone if part of
  // the name cannot be read.
  std::uint32_t Read(const char* name) noexcept {
    std::uint32_t length = 0;
    while (length < kMaxBytes) {
      const auto address = reinterpret_cast<std::uintptr_t>(name) + length;
      const std::uintptr_t offset = address % kPageBytes;
      const char* page = PageAt(address - offset);
      if (page == nullptr) return kGone;
      const std::uintptr_t left = kPageBytes - offset;
      const std::size_t look = left < kMaxBytes - length ? left : kMaxBytes - length;
      const std::size_t here = ::strnlen(page + offset, look);
      ::memcpy(text_ + length, page + offset, here);
      length += static_cast<std::uint32_t>(here);
      if (here < look) break;
    }
    return length;
  }
  // Invalidates the cached pages.
  void Forget() noexcept { ++reading_; }
  // The last name read, without a terminating 0.
  const char* text() const noexcept { return text_; }

  // Returns whether `length` bytes can be a kernel name rather than reused memory of an unloaded
  // module. A kernel name is an identifier (PTX allows letters, digits, _, $ and %) without control
  // characters. Reused memory mostly contains addresses in shared libraries (0x7f..) or small
  // numbers, which do contain control characters.
  static bool IsPlausible(const char* text, std::uint32_t length) noexcept {
    for (std::uint32_t i = 0; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < ' ' || byte == 0x7F) return false;
    }
    return true;
  }

 private:
  // The smallest page size of any machine. If pages are larger, each 4 KiB part is readable if the
  // page is.
  static constexpr std::uintptr_t kPageBytes = 4096;
  // 128 KiB of names per buffer: several hundred kernels. Pages that collide are copied more often.
  // The memory is touched as it is used.
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
    // The id of this thread, because the id of the process is the id of its main thread, which has
    // no memory after pthread_exit.
    const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
    const ssize_t copied = ::process_vm_readv(self, &local, 1, &remote, 1, 0);
    const bool refused = copied < 0 && errno != EFAULT;
    return copied == static_cast<ssize_t>(kPageBytes) || (refused && CopyBySocket(from, to));
  }

  // Returns whether a thread that read names is under a seccomp filter. Checked once per buffer,
  // because a program can install a filter at any time but never remove one. Overwrites `scratch`,
  // one page.
  bool MayBeFiltered(char* scratch) noexcept {
    if (!filtered_ && asked_ != reading_ + 1) {
      asked_ = reading_ + 1;
      filtered_ = ThreadMayBeFiltered(scratch);
    }
    return filtered_;
  }

  // Also returns true if the system does not report it: sandboxed programs often lack /proc.
  static bool ThreadMayBeFiltered(char* text) noexcept {
    const int file = ::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    const ssize_t length = ::read(file, text, kPageBytes - 1);
    ::close(file);
    if (length < 0) return true;
    text[length] = 0;
    constexpr char kField[] = "\nSeccomp:\t";
    const char* field = ::strstr(text, kField);
    // An operating system kernel without seccomp has no such field.
    if (field == nullptr) return length == static_cast<ssize_t>(kPageBytes - 1);
    return field[sizeof(kField) - 1] != '0';
  }

  // Copies a page through a socket, for systems that forbid process_vm_readv (older container
  // profiles, filters). A socket also reports unreadable memory as an error, in five calls. The
  // socket is not kept, because a program may count or close its open files. If the program closes
  // it now and reuses the number for a file, `send` fails.
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

  // All zero initially: the library's state is in .bss and takes no space in the file.
  std::uint64_t reading_ = 0;
  std::uint64_t asked_ = 0;  // reading_ + 1 at the last check for filters
  bool filtered_ = false;
  Page pages_[kPages] = {};
  char bytes_[kPages][kPageBytes] = {};
  char text_[kMaxBytes] = {};
};

}  // namespace stemtap::inject
