// SPDX-License-Identifier: Apache-2.0
//
// Injected runs a program with the library on the simulated GPU in its own session directory. It
// reads the results: the ring of every process and the ground truth that the simulated driver
// writes. The test replaces the collector.
//
// THREADS: one caller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "shm/gate_table.h"
#include "shm/ring.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {

// Ring is the ring file of one process, mapped as the collector maps it.
class Ring {
 public:
  struct Kernel {
    shm::KernelRecord record;
    std::string name;
    std::string range;  // empty: none
    std::uint64_t step = shm::kNoStep;
  };

  // Maps the file. Throws if it is not a ring.
  explicit Ring(const std::filesystem::path& file);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Drains the ring and appends its records to kernels(). Throws if records are inconsistent: a
  // name or range is used before its definition, defined twice, truncated, or has a wrong hash, or
  // a mark is not followed by its kernel.
  void Drain();
  // Reads the definitions without the records.
  void ReadDefinitions();
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<std::string>& names() const { return names_; }

  shm::RingHeader& header() const { return ring_->header; }
  shm::RingState state() const {
    return static_cast<shm::RingState>(header().state.load(std::memory_order_acquire));
  }
  std::uint64_t lost(shm::Loss loss) const {
    return header().losses[static_cast<std::uint32_t>(loss)].load(std::memory_order_relaxed);
  }
  // Returns the number of lost kernel records, summed over all reasons.
  std::uint64_t lost_records() const;
  // Returns the number of records that were not drained.
  std::size_t read_available() const { return ring_->queue.read_available(); }
  std::uint64_t seen() const { return header().seen.load(std::memory_order_relaxed); }
  std::uint64_t kept() const { return header().kept.load(std::memory_order_relaxed); }
  std::uint64_t captured() const {
    return header().launches_captured.load(std::memory_order_relaxed);
  }
  std::uint64_t paused() const { return header().paused.load(std::memory_order_relaxed); }
  std::uint64_t gated() const { return header().launches_gated.load(std::memory_order_relaxed); }

 private:
  void Take(const shm::Record& record);
  void TakeKernel(const shm::KernelRecord& record);
  void TakeDefinition(const shm::Record& record);

  FileDescriptor file_;
  shm::RingFile* ring_;
  std::vector<Kernel> kernels_;
  std::vector<std::string> names_;
  std::vector<std::string> ranges_ = {""};  // by id; 0 is no range
  std::optional<shm::MarkRecord> mark_;     // of the next kernel
  std::uint32_t definitions_ = 0;           // records read
  // The definition in progress.
  shm::RecordKind name_kind_ = shm::RecordKind::kName;
  std::string name_;
  std::uint64_t name_hash_ = 0;
  std::size_t name_left_ = 0;
};

// Launched is the number of launches of a kernel and their total duration.
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

// Returns the environment without stemtap variables, with the simulated GPU on the library path,
// plus `more`.
ProcessOptions BareOptions(const Variables& more = {});

class Injected {
 public:
  Injected();

  // Returns the options of a run with the library: BareOptions, the library as CUDA's injection
  // target, the session, and the path of the ground truth.
  ProcessOptions Options(const Variables& more = {}) const;
  // Runs `program`, a program of tests/programs or a path, to its end.
  ProcessResult Run(const std::string& program,
                    const std::vector<std::string>& arguments = {"1000"},
                    const Variables& more = {}) const;

  // Returns the gate table at the collector's path; created on the first call.
  shm::GateTable& gate() { return gate_file().table; }
  shm::GateFile& gate_file();

  std::filesystem::path session() const { return dir_ / "session"; }
  std::filesystem::path scratch(std::string_view name) const { return dir_ / name; }
  // Returns the ring files of the session.
  std::vector<std::filesystem::path> RingFiles() const;
  // Returns the ring file of the only process. Throws if there is not exactly one.
  std::filesystem::path RingFile() const;
  Truth ReadTruth() const;

 private:
  TempDir dir_;
  shm::GateFile* gate_ = nullptr;
};

// Returns the argv of a program of tests/programs, or of a path, with arguments.
std::vector<std::string> Command(const std::string& program,
                                 const std::vector<std::string>& arguments);

}  // namespace stemtap::test
