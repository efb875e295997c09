// SPDX-License-Identifier: Apache-2.0
#include "session/ring_reader.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "session/written_ring.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::ReadFile;
using test::TempDir;

TEST_CASE("kernels get ids of the session, and names of any length are complete") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  const std::string length_cases[] = {"",
                                      "k",
                                      std::string(40, 'a'),
                                      std::string(41, 'b'),
                                      std::string(102, 'c'),
                                      std::string(103, 'd'),
                                      std::string(5160, 'e')};
  ReadKernels session;
  session.names.Intern("from another process");
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  std::uint32_t id = 100;
  for (const std::string& name : length_cases) {
    writer.Define(id, name);
    writer.Kernel(id++, 5);
  }
  while (session.Drain(reader.value(), 2) != 0) {
  }
  REQUIRE(session.kernels.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(session.names.name(session.kernels[i].name_id) == length_cases[i]);
  }
  CHECK(reader.value().Report().malformed == 0);
  CHECK(reader.value().Report().read == 7);
}

TEST_CASE("damaged records are counted and not used") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  shm::NameRecord head;
  head.name_id = 1u << 30;
  writer.Append(shm::Record(head));
  head.name_id = 0;
  head.length = shm::kMaxNameBytes + 1;
  writer.Append(shm::Record(head));
  writer.Append(shm::Record(shm::NameBytes{}));     // does not belong to a name
  writer.Append(shm::Record(shm::KernelRecord{}));  // is not a definition
  writer.Kernel(3, 1);                              // never defined
  shm::KernelRecord none;
  none.kind = static_cast<shm::RecordKind>(77);
  writer.ring->queue.push(shm::Record(none));
  head.length = 0;
  writer.ring->queue.push(shm::Record(head));  // is not with the definitions
  writer.Kernel(0, 1);
  session.Drain(reader.value());
  CHECK(session.kernels.empty());
  CHECK(reader.value().Report().malformed == 8);
}

TEST_CASE("indices that point outside the queue are not followed") {
  for (const std::size_t index :
       {std::size_t{0}, std::size_t{1}}) {  // write index and read index, on separate cache lines
    CAPTURE(index);
    TempDir scratch;
    const std::string path = (scratch / "ring.1").string();
    WrittenRing writer(path);
    auto reader = RingReader::Open(path);
    REQUIRE(reader.ok());
    ReadKernels session;
    writer.Define(0, "k");
    writer.Kernel(0, 5);
    CHECK(session.Drain(reader.value()) == 1);
    std::memset(reinterpret_cast<char*>(&writer.ring->queue) + 64 * index, 0x7F, 8);
    CHECK_FALSE(reader.value().Ended());
    CHECK(session.Drain(reader.value()) == 0);
    CHECK(reader.value().Ended());
    CHECK(session.Drain(reader.value()) == 0);
    CHECK(reader.value().Report().malformed == 1);
    CHECK(reader.value().Report().reason == "its ring is damaged");
  }
}

// The reader takes 256 records at a time.
constexpr int kMoreThanAPiece = 1000;

TEST_CASE("a truncated ring is no longer read, and its lost records are counted") {
  // The remaining bytes are none, the header, the header and the indices, or half of the records.
  for (const off_t left : {0, 4096, 8192, 4096 + 128 + 32 * 1024}) {
    CAPTURE(left);
    TempDir scratch;
    const std::string path = (scratch / "ring.1").string();
    WrittenRing writer(path);
    writer.ring->header.program[0] = 'p';
    writer.Define(0, "k");
    for (int i = 0; i < kMoreThanAPiece; ++i) writer.Kernel(0, 5);
    writer.ring->header.seen = writer.ring->header.kept = kMoreThanAPiece;
    auto reader = RingReader::Open(path);
    REQUIRE(reader.ok());
    ReadKernels session;
    CHECK(session.Drain(reader.value(), 11) == 11);
    CHECK(reader.value().Report().kept == kMoreThanAPiece);
    REQUIRE(::truncate(path.c_str(), left) == 0);
    session.Drain(reader.value(), 2 * kMoreThanAPiece);
    CHECK(reader.value().Ended());
    CHECK(session.Drain(reader.value()) == 0);
    const ProcessReport report = reader.value().FinalReport();
    CHECK(report.reason == "its ring was truncated");
    CHECK(report.program == "p");
    CHECK(report.read >= 10);
    CHECK(report.read == session.kernels.size());
    CHECK(report.read + report.malformed == kMoreThanAPiece);
    CHECK(report.seen == report.read + report.dropped());
    for (const auto& kernel : session.kernels) REQUIRE(kernel.duration_ns == 5);
  }
}

TEST_CASE("other rings are read after one ring is truncated") {
  TempDir scratch;
  const std::string paths[] = {(scratch / "ring.1").string(), (scratch / "ring.2").string()};
  WrittenRing cut(paths[0]);
  WrittenRing whole(paths[1]);
  auto first = RingReader::Open(paths[0]);
  auto second = RingReader::Open(paths[1]);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  REQUIRE(::truncate(paths[0].c_str(), 0) == 0);
  whole.Define(0, "k");
  whole.Kernel(0, 5);
  ReadKernels session;
  CHECK(session.Drain(first.value()) == 0);
  CHECK(session.Drain(second.value()) == 1);
  CHECK(first.value().Ended());
  CHECK_FALSE(second.value().Ended());
  CHECK(second.value().Report().reason == "");
}

TEST_CASE("only the first definition of a name id is used") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  writer.Define(3, "first");
  for (int i = 0; i < 100; ++i) writer.Define(3, "another " + std::to_string(i));
  writer.Kernel(3, 5);
  session.Drain(reader.value());
  CHECK(session.names.size() == 1);
  CHECK(reader.value().Report().malformed == 100);
  REQUIRE(session.kernels.size() == 1);
  CHECK(session.names.name(session.kernels[0].name_id) == "first");
}

TEST_CASE("definitions beyond the maximum, or beyond the end of the file, are not read") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  writer.Define(0, "k");
  writer.Kernel(0, 5);
  writer.ring->header.definitions = ~std::uint32_t{0};
  writer.Kernel(1, 5);
  session.Drain(reader.value());
  CHECK(session.kernels.size() == 1);
  CHECK(reader.value().Report().malformed == 1);
  // All records between are zeros.
  writer.ring->header.definitions = shm::kMaxDefinitions - 1;
  writer.Define(1, "last");
  writer.Define(2, "beyond");
  for (const std::uint32_t id : {1u, 2u}) writer.Kernel(id, 5);
  session.Drain(reader.value());
  REQUIRE(session.kernels.size() == 2);
  CHECK(session.names.name(session.kernels[1].name_id) == "last");
  CHECK(reader.value().Report().malformed == 1 + (shm::kMaxDefinitions - 2) + 1);
}

TEST_CASE("kernels whose names the session does not accept are counted") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  std::vector<shm::KernelRecord> kernels;
  for (std::uint32_t id = 0; id < 10; ++id) {
    writer.Define(id, "k" + std::to_string(id));
    writer.Kernel(id, 5);
    writer.Kernel(id, 5);
  }
  writer.ring->header.seen = writer.ring->header.kept = 20;
  reader.value().Drain(
      1000,
      [](std::string_view name, std::string_view) {
        return name < "k4" ? 0u : RingReader::kRefused;
      },
      kernels);
  CHECK(kernels.size() == 8);
  const ProcessReport report = reader.value().FinalReport();
  CHECK(report.malformed == 0);
  CHECK(report.losses[static_cast<std::uint32_t>(shm::Loss::kTooManyNames)] == 12);
  CHECK(report.seen == 20);
}

TEST_CASE("names get ids of the session in the order of their first launch") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  for (const char* name : {"never launched", "second", "first"}) {
    writer.Define(writer.ring->header.definitions, name);
  }
  for (const std::uint32_t id : {2u, 1u, 2u}) writer.Kernel(id, 5);
  session.Drain(reader.value());
  REQUIRE(session.names.size() == 2);
  CHECK(session.names.name(0) == "first");
  CHECK(session.names.name(1) == "second");
}

TEST_CASE("impossible counters are not used") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  writer.Define(0, "k");
  writer.Kernel(0, 5);
  shm::RingHeader& header = writer.ring->header;
  for (auto* counter :
       {&header.seen, &header.kept, &header.skipped, &header.launches_gated,
        &header.launches_captured, &header.paused, &header.buffers, &header.cost_program_ns,
        &header.cost_background_ns, &header.cost_cupti_ns}) {
    *counter = ~std::uint64_t{0};
  }
  for (auto& loss : header.losses) loss = ~std::uint64_t{0} - 5;
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  session.Drain(reader.value());
  const ProcessReport report = reader.value().FinalReport();
  CHECK(report.reason == "its counters are damaged");
  CHECK(report.seen == 1);
  CHECK(report.kept == 1);
  CHECK(report.dropped() == 0);
  CHECK(report.gaps() == 0);
  CHECK(report.launches_captured == 0);
  CHECK(report.cost_program_ns + report.cost_background_ns + report.cost_cupti_ns == 0);
}

// Returns the private pages of this process, in KiB.
long PrivateKib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
  }
  return 0;
}

TEST_CASE("an empty ring costs the collector a few pages") {
  TempDir scratch;
  constexpr int kRings = 200;
  ReadKernels session;
  std::vector<RingReader> readers;
  for (int i = 0; i < kRings; ++i) {
    const std::string path = (scratch / ("ring." + std::to_string(i))).string();
    const WrittenRing writer(path);
    auto reader = RingReader::Open(path);
    REQUIRE(reader.ok());
    readers.push_back(std::move(reader).value());
  }
  const long before = PrivateKib();
  for (RingReader& reader : readers) session.Drain(reader, 16384);
  CHECK(PrivateKib() - before < kRings * 16);
}

TEST_CASE("docs/formats/ring.md contains the size of a ring") {
  const std::string page = ReadFile(test::SourceDir() / "docs/formats/ring.md");
  std::string size = std::to_string(sizeof(shm::RingFile));
  for (int at = static_cast<int>(size.size()) - 3; at > 0; at -= 3) {
    size.insert(static_cast<std::size_t>(at), ",");
  }
  CHECK(page.find("file bytes " + size + "\n") != std::string::npos);
}

TEST_CASE("of a remark, only the part that is complete is read") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  shm::RingHeader& header = writer.ring->header;
  std::strcpy(header.reason, "never captured: ge");  // the process is still writing it
  CHECK(reader.value().Report().reason == "");
  writer.Remark("never captured: gemm");
  CHECK(reader.value().Report().reason == "never captured: gemm");
  std::strcpy(header.reason + 20, "; capt");
  CHECK(reader.value().Report().reason == "never captured: gemm");
  header.reason_bytes = 26;
  CHECK(reader.value().Report().reason == "never captured: gemm; capt");
  // A damaged length or text.
  header.reason_bytes = ~std::uint32_t{0};
  CHECK(reader.value().Report().reason == "never captured: gemm; capt");
  std::memset(header.reason, 'r', sizeof(header.reason));
  CHECK(reader.value().Report().reason == std::string(sizeof(header.reason), 'r'));
}

TEST_CASE("an impossible duration is counted as damage") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  ReadKernels session;
  writer.Define(0, "k");
  writer.Kernel(0, std::uint64_t{1} << 50);
  writer.Kernel(0, ~std::uint64_t{0} - 1);
  session.Drain(reader.value());
  CHECK(session.kernels.size() == 1);
  CHECK(reader.value().Report().malformed == 1);
}

// Returns whether a process in which pidfd_open fails, as on kernels before 5.3, considers the
// process of the ring at `path` ended, or -1 if this cannot be determined.
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

TEST_CASE("without pidfds, a running process is not considered ended") {
  TempDir scratch;
  const std::string alive = (scratch / "ring.1").string();
  WrittenRing living(alive);
  const int ended = EndedWithoutPidfd(alive);
  if (ended < 0) return;  // seccomp is not available
  CHECK(ended == 0);
  const std::string gone = (scratch / "ring.2").string();
  WrittenRing dead(gone, 0x7FFFFFF0);
  CHECK(EndedWithoutPidfd(gone) == 1);
}

// Returns the process id of a child whose main thread has ended while another thread waits for the
// pipe `until` to close. Closes `until`.
pid_t StartWithoutMainThread(int (&until)[2]) {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(until[1]);
    static const pthread_t main_thread = ::pthread_self();
    static const int ready_end = ready[1];
    static const int until_end = until[0];
    pthread_t thread;
    ::pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          char byte = 0;
          ::pthread_join(main_thread, nullptr);
          const bool told = ::write(ready_end, &byte, 1) == 1;
          ::_exit(told ? static_cast<int>(::read(until_end, &byte, 1)) : 1);
        },
        nullptr);
    // Not pthread_exit, which unwinds the stack through noexcept functions.
    ::syscall(SYS_exit, 0);
  }
  char byte = 0;
  ::close(ready[1]);
  CHECK(::read(ready[0], &byte, 1) == 1);
  ::close(ready[0]);
  return child;
}

TEST_CASE("a ring has not ended while other threads run after the main thread") {
  int until[2];
  REQUIRE(::pipe(until) == 0);
  const pid_t child = StartWithoutMainThread(until);
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  const WrittenRing writer(path, child);
  const auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  CHECK_FALSE(reader.value().Ended());
  CHECK(EndedWithoutPidfd(path) != 1);
  ::close(until[0]);
  ::close(until[1]);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(reader.value().Ended());
}

TEST_CASE("a ring with a different size, version or format is rejected with a one-line error") {
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
    WrittenRing writer((scratch / "ring.2").string());
    writer.ring->header.version = 99;
    refuse((scratch / "ring.2").string());
  }
  {
    WrittenRing writer((scratch / "ring.3").string());
    writer.ring->header.magic = 0;
    refuse((scratch / "ring.3").string());
  }
}

TEST_CASE("a ring ends if its process shuts down cleanly, is disabled or no longer exists") {
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path);
  auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  CHECK_FALSE(reader.value().Ended());  // the process is this process
  writer.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
  CHECK(reader.value().Ended());
  CHECK(reader.value().Report().state == ProcessState::kClosed);

  writer.Remark("CUPTI not found");
  writer.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kDisabled);
  CHECK(reader.value().Ended());
  CHECK(reader.value().Report().reason == "CUPTI not found");

  const std::string gone = (scratch / "ring.2").string();
  WrittenRing dead(gone, 0x7FFFFFF0);  // above any pid_max
  auto dead_reader = RingReader::Open(gone);
  REQUIRE(dead_reader.ok());
  CHECK(dead_reader.value().Ended());
  dead.ring->header.pid_namespace = shm::PidNamespace();
  CHECK(RingReader::Open(gone).value().Ended());
}

TEST_CASE("a process in another PID namespace is not considered ended if its id is unused here") {
  REQUIRE(shm::PidNamespace() != 0);
  TempDir scratch;
  const std::string path = (scratch / "ring.1").string();
  WrittenRing writer(path, 0x7FFFFFF0);
  writer.ring->header.pid_namespace = shm::PidNamespace() + 1;
  const auto reader = RingReader::Open(path);
  REQUIRE(reader.ok());
  CHECK(reader.value().elsewhere());
  CHECK_FALSE(reader.value().Ended());
  writer.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
  CHECK(reader.value().Ended());
}

}  // namespace
}  // namespace stemtap::session
