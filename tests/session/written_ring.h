// SPDX-License-Identifier: Apache-2.0
//
// WrittenRing is a ring file that a test writes instead of a traced process.
//
// THREADS: none.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "model/name_table.h"
#include "session/ring_reader.h"
#include "shm/ring.h"

namespace stemtap::session {

class WrittenRing {
 public:
  explicit WrittenRing(const std::string& path, std::int32_t pid = ::getpid()) {
    file = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    REQUIRE(::ftruncate(file.get(), sizeof(shm::RingFile)) == 0);
    void* memory =
        ::mmap(nullptr, sizeof(shm::RingFile), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(memory != MAP_FAILED);
    ring = new (memory) shm::RingFile;
    ring->header.file_bytes = sizeof(shm::RingFile);
    ring->header.pid = pid;
    ring->header.state = static_cast<std::uint32_t>(shm::RingState::kRecording);
  }
  ~WrittenRing() { ::munmap(ring, sizeof(shm::RingFile)); }

  void Define(std::uint32_t id, const std::string& name,
              shm::RecordKind kind = shm::RecordKind::kName) {
    shm::NameRecord head;
    head.kind = kind;
    head.name_id = id;
    head.length = static_cast<std::uint32_t>(name.size());
    std::memcpy(head.bytes, name.data(), std::min(name.size(), sizeof(head.bytes)));
    Append(shm::Record(head));
    for (std::size_t at = sizeof(head.bytes); at < name.size();) {
      shm::NameBytes more;
      more.count = static_cast<std::uint8_t>(std::min(name.size() - at, sizeof(more.bytes)));
      std::memcpy(more.bytes, name.data() + at, more.count);
      Append(shm::Record(more));
      at += more.count;
    }
  }
  // Appends a record to the definitions.
  void Append(const shm::Record& record) {
    const std::uint32_t number = ring->header.definitions.load(std::memory_order_relaxed);
    REQUIRE(::pwrite(file.get(), &record, sizeof(record),
                     static_cast<off_t>(shm::RingFileBytes(number))) == sizeof(record));
    ring->header.definitions.store(number + 1, std::memory_order_release);
  }
  void Kernel(std::uint32_t name_id, std::uint64_t duration) {
    shm::KernelRecord record;
    record.name_id = name_id;
    record.duration_ns = duration;
    ring->queue.push(shm::Record(record));
  }
  void Remark(const std::string& text) {
    std::memcpy(ring->header.reason, text.data(), text.size());
    ring->header.reason_bytes = static_cast<std::uint32_t>(text.size());
  }

  void DefineRange(std::uint32_t id, const std::string& path) {
    Define(id, path, shm::RecordKind::kRange);
  }
  void Mark(std::uint32_t correlation_id, std::uint32_t range_id,
            std::uint64_t step = shm::kNoStep) {
    shm::MarkRecord mark;
    mark.correlation_id = correlation_id;
    mark.range_id = range_id;
    mark.step = step;
    ring->queue.push(shm::Record(mark));
  }
  void Captured(std::uint32_t name_id, std::uint32_t correlation_id,
                std::uint8_t flags = shm::kFlagCaptured) {
    shm::KernelRecord record;
    record.name_id = name_id;
    record.correlation_id = correlation_id;
    record.flags = flags;
    ring->queue.push(shm::Record(record));
  }

  FileDescriptor file;
  shm::RingFile* ring;
};

// ReadKernels has the kernels that a session reads from rings.
struct ReadKernels {
  model::NameTable names;
  std::vector<shm::KernelRecord> kernels;
  std::size_t Drain(RingReader& reader, std::size_t limit = 1000) {
    return reader.Drain(
        limit,
        [this](std::string_view n, std::string_view range) { return names.Intern(n, 0, range); },
        kernels);
  }
};

}  // namespace stemtap::session
