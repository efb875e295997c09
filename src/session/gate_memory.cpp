// SPDX-License-Identifier: Apache-2.0
#include "session/gate_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include "shm/session_env.h"

namespace stemtap::session {
namespace {

Error CannotCreate(const std::string& path, int failure) {
  return Error{fmt::format("{}: cannot be made: {}", path, std::strerror(failure))};
}

}  // namespace

Result<GateMemory> GateMemory::CreateIn(const Directory& directory, std::uint32_t gate_flags,
                                        std::uint64_t seed) {
  const std::string path = directory.PathOf(shm::kGateFileName);
  const std::string unfinished = std::string(shm::kUnfinishedPrefix) + shm::kGateFileName;
  if (::faccessat(directory.descriptor(), shm::kGateFileName, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    return CannotCreate(path, EEXIST);
  }
  directory.Remove(unfinished);  // left over by a collector that was killed
  const int fd = directory.Create(unfinished);
  if (fd < 0) return CannotCreate(path, errno);
  Result<GateMemory> memory = Fill(fd, path, gate_flags, seed);
  ::close(fd);
  if (memory.ok() && directory.Rename(unfinished, shm::kGateFileName)) return memory;
  const int failure = errno;
  directory.Remove(unfinished);
  if (!memory.ok()) return memory;
  return CannotCreate(path, failure);
}

Result<GateMemory> GateMemory::Fill(int fd, const std::string& path, std::uint32_t gate_flags,
                                    std::uint64_t seed) {
  const int failure = ::posix_fallocate(fd, 0, sizeof(shm::GateFile));
  if (failure != 0) return CannotCreate(path, failure);
  auto memory = Map(fd, gate_flags, seed);
  if (!memory.ok()) return Error{path + ": " + memory.error().message};
  return memory;
}

Result<GateMemory> GateMemory::Map(int fd, std::uint32_t gate_flags, std::uint64_t seed) {
  std::optional<SharedMapping> mapping = SharedMapping::Map(fd, sizeof(shm::GateFile));
  if (!mapping) {
    return Error{fmt::format("gate table cannot be mapped: {}", std::strerror(errno))};
  }
  auto* file = new (mapping->memory()) shm::GateFile;
  file->flags = gate_flags;
  file->seed = seed;
  file->file_bytes = sizeof(shm::GateFile);
  return GateMemory(*std::move(mapping));
}

}  // namespace stemtap::session
