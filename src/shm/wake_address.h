// SPDX-License-Identifier: Apache-2.0
//
// The address on which a process that does not record yet waits to be started: an abstract Unix
// socket named after the process, which needs no file and vanishes with it. Processes of several
// PID namespaces may share a network namespace, so the name contains both.
//
// Used by the injected library: needs libc only.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace stemtap::shm {

// Writes the address of process `pid` of PID namespace `pid_namespace` (shm::PidNamespace) to
// `address`. Returns its size.
inline socklen_t WakeAddress(uint32_t pid_namespace, int pid, sockaddr_un& address) noexcept {
  address = {};
  address.sun_family = AF_UNIX;
  // The first byte of an abstract name is 0.
  const int length = ::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "stemtap/%u/%d",
                                static_cast<unsigned>(pid_namespace), pid);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

}  // namespace stemtap::shm
