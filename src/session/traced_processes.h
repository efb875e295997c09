// SPDX-License-Identifier: Apache-2.0
//
// TracedProcesses reads the processes of a live session: it finds their rings in the session
// directory, passes their launches to the engine in launch order, and keeps one report per process.
// A ring is removed when its process has ended. A session may have any number of processes.
//
// THREADS: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/directory.h"
#include "session/capture_claims.h"
#include "session/device_use.h"
#include "session/engine.h"
#include "session/process_report.h"
#include "session/ring_reader.h"
#include "shm/record.h"

namespace stemtap::session {

class TracedProcesses {
 public:
  // Rings that cannot be read and are listed in the warnings. A program could create any number of
  // files that are named like rings.
  static constexpr std::size_t kMaxUnread = 16;

  // `directory` and `engine` must outlive this object. If `share_kernels`, kernels with the same
  // name are one kernel in all processes.
  // Processes beyond `max_listed` share one report and one number.
  TracedProcesses(const Directory& directory, Engine& engine, bool share_kernels,
                  std::size_t max_listed = model::kMaxListedProcesses);
  ~TracedProcesses();

  // Opens new rings. Returns whether there were any.
  bool FindRings();
  // Passes records to the engine. Returns whether any ring may contain more. If `final`, no record
  // is held back for ordering.
  bool Drain(bool final);
  // Passes the records to the engine that the rings contain now. Of a live process (a daemon),
  // which may fill its ring without end, takes at most as many as fit into a ring.
  void DrainRest();
  // Closes all rings. Returns a warning for each process that still runs and for each ring that
  // could not be opened.
  std::vector<std::string> CloseAll();
  // Removes rings of processes that were killed while creating them, or that joined while the
  // session was being written, which it prints. Call when no process joins any more.
  void RemoveLeftovers();

  // Returns what processes have reported since the last call, for the user.
  std::vector<std::string> NewRemarks();
  // Returns the current reports of all processes, in order of appearance.
  std::vector<ProcessReport> Reports() const;
  // Returns which processes are missing because their rings could not be opened, in one line; empty
  // if all rings were opened.
  std::string WhyUnread() const;
  // Returns whether any process has joined, even if its ring could not be opened.
  bool any() const { return !reports_.empty() || !unread_.empty(); }
  // Returns whether processes have joined, and all of them have ended.
  bool all_ended() const { return open_.empty() && !reports_.empty(); }
  bool none_open() const { return open_.empty(); }
  std::vector<DeviceTotals> devices() const { return devices_.Totals(engine_.names()); }
  // Returns the number of launches whose capture was refused (CaptureClaims).
  std::uint64_t refused_captures() const { return claims_.refused(); }
  model::Activity activity() const { return devices_.Activity(); }

 private:
  struct Source;
  void Open(const std::string& name, std::uint64_t start_ns, RingReader ring);
  // Returns the number of rings that could not be opened.
  std::size_t CountUnread() const;
  std::uint32_t AddKernel(std::string_view name, std::int32_t pid);
  void Push(Source& source, shm::KernelRecord& record);
  bool DrainOne(Source& source, bool final, std::int64_t now_ms);
  void Close(Source& source);
  void Store(const Source& source, const ProcessReport& report,
             std::vector<ProcessReport>& reports) const;

  const Directory& directory_;
  Engine& engine_;
  const bool share_kernels_;
  const std::size_t max_listed_;
  DeviceUse devices_;
  CaptureClaims claims_;
  std::vector<std::unique_ptr<Source>> open_;  // processes that may still send records
  // All processes in order of appearance; final for closed sources. The last one may be the report
  // of all processes beyond max_listed_.
  std::vector<ProcessReport> reports_;
  std::unordered_set<std::string> known_files_;
  // Rings that could not be opened so far, and why; at most kMaxUnread.
  std::map<std::string, std::string> unread_;
  std::uint32_t names_ = 0;
  std::size_t name_bytes_ = 0;  // total of all names
  std::vector<shm::KernelRecord> arrived_;
  std::vector<shm::KernelRecord> released_;
};

}  // namespace stemtap::session
