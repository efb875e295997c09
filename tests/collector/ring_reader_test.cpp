// SPDX-License-Identifier: Apache-2.0
#include "collector/ring_reader.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "support/temp_dir.h"
#include "trace/name_table.h"

namespace stemtap {
namespace {

using test::TempDir;

// The traced process's side of a ring file.
class Writer {
 public:
  explicit Writer(const std::string& path, std::int32_t pid = ::getpid()) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(::ftruncate(fd, sizeof(wire::RingFile)) == 0);
    void* memory =
        ::mmap(nullptr, sizeof(wire::RingFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED);
    ::close(fd);
    ring = new (memory) wire::RingFile;
    ring->header.file_bytes = sizeof(wire::RingFile);
    ring->header.pid = pid;
    ring->header.state = static_cast<std::uint32_t>(wire::RingState::kRecording);
  }
  ~Writer() { ::munmap(ring, sizeof(wire::RingFile)); }

  void Define(std::uint32_t id, const std::string& name) {
    wire::NameRecord head;
    head.name_id = id;
    head.length = static_cast<std::uint32_t>(name.size());
    std::memcpy(head.bytes, name.data(), std::min(name.size(), sizeof(head.bytes)));
    ring->queue.push(wire::Record(head));
    for (std::size_t at = sizeof(head.bytes); at < name.size();) {
      wire::NameBytes more;
      more.count = static_cast<std::uint8_t>(std::min(name.size() - at, sizeof(more.bytes)));
      std::memcpy(more.bytes, name.data() + at, more.count);
      ring->queue.push(wire::Record(more));
      at += more.count;
    }
  }
  void Kernel(std::uint32_t name_id, std::uint64_t duration) {
    wire::KernelRecord record;
    record.name_id = name_id;
    record.duration_ns = duration;
    ring->queue.push(wire::Record(record));
  }

  wire::RingFile* ring;
};

struct Session {
  NameTable names;
  std::vector<wire::KernelRecord> kernels;
  std::size_t Drain(RingReader& reader, std::size_t limit = 1000) {
    return reader.Drain(
        limit, [this](std::string_view n) { return names.Intern(n); }, kernels);
  }
};

TEST_CASE("kernels come out under the session's ids, names of any length whole") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  Writer writer(path);
  const std::string length_cases[] = {"",
                                      "k",
                                      std::string(40, 'a'),
                                      std::string(41, 'b'),
                                      std::string(102, 'c'),
                                      std::string(103, 'd'),
                                      std::string(5160, 'e')};
  Session session;
  session.names.Intern("from another process");
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  std::uint32_t id = 100;
  for (const std::string& name : length_cases) {
    writer.Define(id, name);
    writer.Kernel(id++, 5);
  }
  while (session.Drain(reader.value(), 7) != 0) {  // definitions are split over drains
  }
  REQUIRE(session.kernels.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(session.names.name(session.kernels[i].name_id) == length_cases[i]);
  }
  CHECK(reader.value().Report().malformed == 0);
  CHECK(reader.value().Report().read == 7);
}

TEST_CASE("damage is counted, not believed") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  Writer writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  Session session;
  writer.Kernel(3, 1);  // never defined
  wire::NameRecord head;
  head.name_id = 1u << 30;
  writer.ring->queue.push(wire::Record(head));
  head.name_id = 0;
  head.length = wire::kMaxNameBytes + 1;
  writer.ring->queue.push(wire::Record(head));
  writer.ring->queue.push(wire::Record(wire::NameBytes{}));  // belongs to no name
  wire::KernelRecord none;
  none.kind = static_cast<wire::RecordKind>(77);
  writer.ring->queue.push(wire::Record(none));
  session.Drain(reader.value());
  CHECK(session.kernels.empty());
  CHECK(reader.value().Report().malformed == 5);
}

TEST_CASE("indices that point outside the queue are not followed") {
  for (const std::size_t index :
       {std::size_t{0}, std::size_t{1}}) {  // write, read: a cache line each
    CAPTURE(index);
    TempDir scratch;
    const std::string path = (scratch / "ring.1").string();
    Writer writer(path);
    auto reader = RingReader::Open(path);
    REQUIRE(reader.ok());
    Session session;
    writer.Define(0, "k");
    writer.Kernel(0, 5);
    CHECK(session.Drain(reader.value()) == 2);
    std::memset(reinterpret_cast<char*>(&writer.ring->queue) + 64 * index, 0x7F, 8);
    CHECK_FALSE(reader.value().Ended());
    CHECK(session.Drain(reader.value()) == 0);
    CHECK(reader.value().Ended());
    CHECK(session.Drain(reader.value()) == 0);
    CHECK(reader.value().Report().malformed == 1);
    CHECK(reader.value().Report().reason == "its ring is damaged");
  }
}

TEST_CASE("a duration that no kernel has is damage") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  Writer writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  Session session;
  writer.Define(0, "k");
  writer.Kernel(0, std::uint64_t{1} << 50);
  writer.Kernel(0, ~std::uint64_t{0} - 1);
  session.Drain(reader.value());
  CHECK(session.kernels.size() == 1);
  CHECK(reader.value().Report().malformed == 1);
}

// Whether the calling process, in which pidfd_open fails as on kernels before 5.3, takes the ring
// at `path` for that of a process that has ended; -1 if it cannot be found out.
int EndedWithoutPidfd(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{4, filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      ::_exit(2);
    }
    const auto reader = RingReader::Open(path);
    ::_exit(reader.ok() ? reader.value().Ended() : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  return code == 2 ? -1 : code;
}

TEST_CASE("where there are no pidfds, a process that lives has not ended") {
  TempDir scratch;
  const std::string alive = (scratch / "ring.1").string();
  Writer living(alive);
  const int ended = EndedWithoutPidfd(alive);
  if (ended < 0) return;  // no seccomp here
  CHECK(ended == 0);
  const std::string gone = (scratch / "ring.2").string();
  Writer dead(gone, 0x7FFFFFF0);
  CHECK(EndedWithoutPidfd(gone) == 1);
}

TEST_CASE("a ring of another size, version or make is refused in one line") {
  TempDir scratch;
  const auto refuse = [](const std::string& path) {
    const auto reader = RingReader::Open(path);
    REQUIRE_FALSE(reader.ok());
    CHECK(reader.error().message.find(path + ": ") == 0);
    CHECK(reader.error().message.find('\n') == std::string::npos);
  };
  refuse((scratch / "missing").string());
  refuse(scratch.Write("ring.1", "short").string());
  {
    Writer writer((scratch / "ring.2").string());
    writer.ring->header.version = 99;
    refuse((scratch / "ring.2").string());
  }
  {
    Writer writer((scratch / "ring.3").string());
    writer.ring->header.magic = 0;
    refuse((scratch / "ring.3").string());
  }
}

TEST_CASE("a process ends by saying goodbye, by standing down, or by being gone") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  Writer writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  CHECK_FALSE(reader.value().Ended());  // it is this very process
  writer.ring->header.state = static_cast<std::uint32_t>(wire::RingState::kClosed);
  CHECK(reader.value().Ended());
  CHECK(reader.value().Report().state == "closed");

  std::strcpy(writer.ring->header.reason, "CUPTI not found");
  writer.ring->header.state = static_cast<std::uint32_t>(wire::RingState::kStoodDown);
  CHECK(reader.value().Ended());
  CHECK(reader.value().Report().reason == "CUPTI not found");

  const std::string gone = (scratch / "ring.2").string();
  Writer dead(gone, 0x7FFFFFF0);  // above any pid_max
  auto dead_reader = RingReader::Open(gone);
  REQUIRE(dead_reader.ok());
  CHECK(dead_reader.value().Ended());
  dead.ring->header.pid_namespace = wire::PidNamespace();
  CHECK(RingReader::Open(gone).value().Ended());
}

TEST_CASE("a process of another PID namespace has not ended because its id is nobody's here") {
  REQUIRE(wire::PidNamespace() != 0);
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  Writer writer(path, 0x7FFFFFF0);
  writer.ring->header.pid_namespace = wire::PidNamespace() + 1;
  const auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  CHECK(reader.value().elsewhere());
  CHECK_FALSE(reader.value().Ended());
  writer.ring->header.state = static_cast<std::uint32_t>(wire::RingState::kClosed);
  CHECK(reader.value().Ended());
}

}  // namespace
}  // namespace stemtap
