// SPDX-License-Identifier: Apache-2.0
//
// Launches kernels while another thread damages the files that the program shares with the
// collector, and exits with code 7:
//
//   hostile WHAT LAUNCHES [SEED]     WHAT: indices, records, header, state, gate, or all
//
// The thread writes random values. At the end, the program leaves the damage that the collector
// must report: a read index outside the queue, 1,000 records of no kind, or impossible counters.
// The write index stays inside the queue, because the library in this program uses it too.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "programs/victim.h"
#include "shm/gate_table.h"
#include "shm/ring.h"
#include "shm/session_env.h"

namespace {

using stemtap::shm::GateFile;
using stemtap::shm::kRingCapacity;
using stemtap::shm::Record;
using stemtap::shm::RecordQueue;
using stemtap::shm::RingFile;
using stemtap::shm::RingHeader;

constexpr int kExitCode = 7;
constexpr std::size_t kCells = kRingCapacity + 1;

struct Indices : RecordQueue {
  static auto& Write(RecordQueue& queue) { return queue.*&Indices::write_index_; }
  static auto& Read(RecordQueue& queue) { return queue.*&Indices::read_index_; }
};

std::string SessionDirectory() {
  const char* session = ::getenv("STEMTAP_SESSION");
  return session != nullptr ? session : ".";
}

// Returns the name of the ring of this process.
std::string OwnRing() {
  for (const auto& entry : std::filesystem::directory_iterator(SessionDirectory())) {
    const std::string name = entry.path().filename();
    stemtap::shm::ProcessImage image;
    if (stemtap::shm::ParseImageFileName(name.c_str(), stemtap::shm::kRingPrefix, image) &&
        image.pid == static_cast<std::uint64_t>(::getpid())) {
      return name;
    }
  }
  return "no ring of this process";
}

// Maps a file of the session; exits if that is not possible.
void* Map(const std::string& name, std::size_t bytes) {
  const std::string path = SessionDirectory() + "/" + name;
  const int fd = ::open(path.c_str(), O_RDWR);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "%s: cannot be mapped\n", path.c_str());
    ::exit(2);
  }
  return memory;
}

class Damage {
 public:
  Damage(const std::string& what, std::uint64_t seed)
      : what_(what),
        random_(seed),
        ring_(static_cast<RingFile*>(Map(OwnRing(), sizeof(RingFile)))),
        gate_(Does("gate") ? static_cast<GateFile*>(Map("gate.table", sizeof(GateFile)))
                           : nullptr) {}

  bool Does(const char* what) const { return what_ == what || what_ == "all"; }

  // Returns whether the collector has taken a record from the ring.
  bool IsRead() const { return Indices::Read(ring_->queue).load() != 0; }

  // Writes a few random values.
  void Step() {
    if (Does("indices")) {
      // Invalid for a moment, so that a check of the index usually finds it valid.
      const std::size_t outside = kCells + Below(1000);
      const std::size_t inside = Below(kCells);
      Indices::Read(ring_->queue).store(outside, std::memory_order_relaxed);
      Indices::Read(ring_->queue).store(inside, std::memory_order_release);
      Indices::Write(ring_->queue).store(Below(kCells));
    }
    if (Does("records")) Scribble(Cell(Below(kCells)), sizeof(Record));
    if (Does("header")) {
      Scribble(&ring_->header, offsetof(RingHeader, state));
      const std::size_t after = offsetof(RingHeader, state) + sizeof(RingHeader::state);
      Scribble(reinterpret_cast<char*>(&ring_->header) + after, sizeof(RingHeader) - after);
    }
    if (Does("state")) ring_->header.state.store(static_cast<std::uint32_t>(Below(5)));
    if (gate_ != nullptr) {
      Scribble(reinterpret_cast<char*>(&gate_->table) + 8 * Below(sizeof(gate_->table) / 8), 8);
    }
  }

  // Leaves the damage that the collector must report.
  void Leave() {
    if (Does("records")) {
      for (std::size_t i = 0; i < kCells; ++i) std::memset(Cell(i), 0x77, sizeof(Record));
      auto& end = Indices::Write(ring_->queue);
      end.store((end.load() + 1000) % kCells);
    }
    if (Does("indices")) Indices::Read(ring_->queue).store(kCells);
    if (Does("header")) ring_->header.seen = ring_->header.kept = std::uint64_t{1} << 60;
  }

 private:
  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }
  char* Cell(std::size_t at) {
    return reinterpret_cast<char*>(&ring_->queue + 1) - (kCells - at) * sizeof(Record);
  }
  void Scribble(void* memory, std::size_t bytes) {
    auto* at = static_cast<char*>(memory);
    for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(random_());
  }

  std::string what_;
  std::mt19937_64 random_;
  RingFile* ring_;
  GateFile* gate_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Victim victim;
  InitAndLaunch(&victim, 1);
  Damage damage(argv[1], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  // A ring that is damaged before the collector opens it is refused as one of another version.
  for (int i = 0; i < 10'000 && !damage.IsRead(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::atomic<bool> done{false};
  std::thread hostile([&] {
    while (!done.load(std::memory_order_relaxed)) damage.Step();
  });
  LaunchMany(&victim, std::strtol(argv[2], nullptr, 10));
  Check(cuStreamSynchronize(victim.stream), "cuStreamSynchronize");
  done = true;
  hostile.join();
  damage.Leave();
  Close(&victim);
  return kExitCode;
}
