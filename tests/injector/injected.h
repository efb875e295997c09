// SPDX-License-Identifier: Apache-2.0
//
// Injected runs a program on the simulated GPU with the library in it, in a session directory of its own,
// and reads what the library left there: the ring of every process, and beside it the ground truth
// that the fake driver writes. The test stands in for the collector.
//
// THREADS: one test thread per object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shm/gate_table.h"
#include "shm/ring.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {

// The ring file of one process, mapped as the collector maps it.
class Ring {
 public:
  struct Kernel {
    shm::KernelRecord record;
    std::string name;
  };

  // Maps the file. Throws if it is not a ring.
  explicit Ring(const std::filesystem::path& file);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Takes out what is there and appends it to kernels(). Throws on records that make no sense: a
  // name used before its definition, defined twice, cut off, or with a wrong hash.
  void Drain();
  const std::vector<Kernel>& kernels() const { return kernels_; }
  std::size_t names() const { return names_.size(); }

  shm::RingHeader& header() const { return ring_->header; }
  shm::RingState state() const {
    return static_cast<shm::RingState>(header().state.load(std::memory_order_acquire));
  }
  std::uint64_t lost(shm::Loss loss) const {
    return header().losses[static_cast<std::uint32_t>(loss)].load(std::memory_order_relaxed);
  }
  // Sum of the losses that are kernel records.
  std::uint64_t lost_records() const;
  std::uint64_t seen() const { return header().seen.load(std::memory_order_relaxed); }
  std::uint64_t kept() const { return header().kept.load(std::memory_order_relaxed); }
  std::uint64_t captured() const {
    return header().launches_captured.load(std::memory_order_relaxed);
  }
  std::uint64_t gated() const { return header().launches_gated.load(std::memory_order_relaxed); }

 private:
  void Take(const shm::Record& record);

  shm::RingFile* ring_;
  std::vector<Kernel> kernels_;
  std::vector<std::string> names_;
  // The definition in progress.
  std::string name_;
  std::uint64_t name_hash_ = 0;
  std::size_t name_left_ = 0;
};

// How often a name was launched, and for how long.
struct Launched {
  std::uint64_t count = 0;
  std::uint64_t duration_ns = 0;
  bool operator==(const Launched&) const = default;
};
using ByName = std::map<std::string, Launched>;

ByName SumByName(const Ring& ring);

struct Truth {
  ByName by_name;
  std::uint64_t launches = 0;
  std::uint64_t captured = 0;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// The environment without any of our variables, the simulated GPU on the library path, and `more`.
ProcessOptions BareOptions(const Variables& more = {});

class Injected {
 public:
  Injected();

  // Options of a run with the library: BareOptions, the library as CUDA's injection target, the
  // session and the file for the truth.
  ProcessOptions Options(const Variables& more = {}) const;
  // Runs `program` of tests/programs, or a path, to its end.
  ProcessResult Run(const std::string& program,
                    const std::vector<std::string>& arguments = {"1000"},
                    const Variables& more = {}) const;

  // Where the collector would put the gate table; made at the first call.
  shm::GateTable& gate() { return gate_file().table; }
  shm::GateFile& gate_file();

  std::filesystem::path session() const { return dir_ / "session"; }
  std::filesystem::path scratch(std::string_view name) const { return dir_ / name; }
  // Ring files of the session.
  std::vector<std::filesystem::path> RingFiles() const;
  // The ring of the only process. Throws if there is not exactly one.
  std::filesystem::path RingFile() const;
  Truth ReadTruth() const;

 private:
  TempDir dir_;
  shm::GateFile* gate_ = nullptr;
};

// The argv of a program of tests/programs or of a path, with arguments.
std::vector<std::string> Command(const std::string& program,
                                 const std::vector<std::string>& arguments);

}  // namespace stemtap::test
