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
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/directory.h"
#include "session/device_use.h"
#include "session/engine.h"
#include "session/recording_schedule.h"
#include "session/ring_reader.h"
#include "session/session.h"
#include "session/unobserved.h"
#include "shm/record.h"

namespace stemtap::session {

// CaptureClaims decides whether a launch that a process reports as captured can have been captured:
// if its slot has been granted as many credits, or if it is the first exploratory capture of its
// kernel in the process. Otherwise, a process could make the plan, and the memory of the collector,
// as large as it likes. Memory is O(exploratory captures).
//
// THREADS: none.
class CaptureClaims {
 public:
  // Maximum exploratory captures of a session: 64 processes with 4,096 kernels each. A capture
  // takes 1 KiB of memory until the plan is written.
  static constexpr std::size_t kMaxExplored = std::size_t{1} << 18;

  // Returns whether to accept the claim of a captured launch, and counts it. `granted`: credits
  // granted so far to the slot of the launch.
  bool Accept(const shm::KernelRecord& record, std::uint16_t process, std::uint32_t granted) {
    const bool accepted = (record.flags & shm::kFlagExploratory) != 0
                              ? Explore(record.name_id, process)
                              : Spend(record.credit_slot, granted);
    refused_ += !accepted;
    return accepted;
  }
  std::uint64_t refused() const { return refused_; }

 private:
  bool Explore(std::uint32_t name_id, std::uint16_t process) {
    if (explored_.size() >= kMaxExplored) return false;
    return explored_.insert(std::uint64_t{process} << 32 | name_id).second;
  }
  bool Spend(std::uint16_t slot, std::uint32_t granted) {
    if (slot >= spent_.size()) spent_.resize(std::size_t{slot} + 1, 0);
    if (spent_[slot] >= granted) return false;
    ++spent_[slot];
    return true;
  }

  std::unordered_set<std::uint64_t> explored_;  // process and name id
  std::vector<std::uint32_t> spent_;            // by slot
  std::uint64_t refused_ = 0;
};

// MEMBERS: the open rings, the reports of the closed ones, and the limits of names and files.
class TracedProcesses {
 public:
  // Rings that cannot be read and are listed in the warnings. A program could create any number of
  // files that are named like rings.
  static constexpr std::size_t kMaxUnread = 16;

  // `directory`, `engine` and `schedule` must outlive this object. If `share_kernels`, kernels with
  // the same name are one kernel in all processes. `schedule` decides which launches are observed.
  // Processes beyond `max_listed` share one report and one number.
  TracedProcesses(const Directory& directory, Engine& engine, RecordingSchedule& schedule,
                  bool share_kernels, std::size_t max_listed = model::kMaxListedProcesses);
  ~TracedProcesses();

  // Opens new rings. Returns whether there were any.
  bool FindRings();
  // Passes records to the engine. Returns whether any ring may contain more. If `final`, no record
  // is held back for ordering.
  bool Drain(bool final);
  // Passes the records to the engine that the rings contain now. Of a live process (a daemon),
  // which may fill its ring without end, takes at most as many as fit into a ring.
  void DrainRest();
  // Requests that all processes follow the schedule, also those that join later. Call often.
  void FollowSchedule();
  // Requests the recording of one process until the schedule changes. Returns false if no process
  // with this id is open.
  bool Request(std::int32_t pid, shm::Recording recording);
  struct RecordingCounts {
    std::size_t on = 0;
    std::size_t off = 0;
    std::size_t changing = 0;  // have not followed the last request yet
  };
  // Returns the state of the open processes.
  RecordingCounts CountRecording() const;
  // Returns the times in which launches were not observed, and how many more are not listed.
  std::vector<model::UnobservedInterval> unobserved() const { return unobserved_.Intervals(); }
  std::uint64_t unlisted_intervals() const { return unobserved_.unlisted(); }
  // Returns the number of launches of the run that were only counted, in all windows.
  std::uint64_t all_counted() const { return unobserved_.all_counted(); }

  // Calls `end` after each `launches` launches, which may call StartOver.
  void SetWindow(std::uint64_t launches, std::function<void()> end) {
    window_ = window_left_ = launches;
    end_window_ = std::move(end);
  }
  // Begins another window: reports, devices and times without recording begin anew. The reports of
  // processes that have ended are past. `whole`: the WholeReports() up to which the last window
  // counts. Processes go on while it is written, so later ones would skip launches.
  void StartOver(std::vector<ProcessReport> whole);

  // Closes all rings. Returns a warning for each process that still runs and for each ring that
  // could not be opened.
  std::vector<std::string> CloseAll();
  // Removes rings of processes that were killed while creating them, or that joined while the
  // session was being written, which it prints. Call when no process joins any more.
  void RemoveLeftovers();

  // Returns what processes have reported since the last call, for the user.
  std::vector<std::string> NewRemarks();
  // Returns the reports of all processes in the present window, in order of appearance.
  std::vector<ProcessReport> Reports() const { return InWindow(WholeReports()); }
  // Returns the part of WholeReports() that is in the present window.
  std::vector<ProcessReport> InWindow(std::vector<ProcessReport> whole) const;
  // Returns the reports since the processes began, whatever the window.
  std::vector<ProcessReport> WholeReports() const;
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
  // Adds the processes and the activity of the devices to an overview.
  void Describe(model::Overview& overview) const;
  // Returns how many launches of each open ring are accounted for: passed to the engine or dropped.
  struct RingProgress {
    std::string file;
    std::uint64_t launches = 0;
  };
  std::vector<RingProgress> Progress() const;

 private:
  struct Source;
  void Open(const std::string& name, std::uint64_t start_ns, RingReader ring);
  // Returns the number of rings that could not be opened.
  std::size_t CountUnread() const;
  std::uint32_t AddKernel(std::string_view name, std::string_view range, std::int32_t pid);
  void Push(Source& source, shm::KernelRecord& record);
  void Observe(Source& source, shm::KernelRecord& record);
  bool DrainOne(Source& source, bool final, std::int64_t now_ms);
  void Close(Source& source);
  void FollowSwitches(Source& source);
  void WriteRecordingFile() const;
  void Store(const Source& source, const ProcessReport& report,
             std::vector<ProcessReport>& reports) const;

  const Directory& directory_;
  Engine& engine_;
  RecordingSchedule& schedule_;
  shm::Recording wanted_ = shm::Recording::kOn;  // as processes that join find it
  const bool share_kernels_;
  const std::size_t max_listed_;
  DeviceUse devices_;
  UnobservedLog unobserved_;
  std::uint64_t window_ = 0;  // launches; 0: none
  std::uint64_t window_left_ = 0;
  std::function<void()> end_window_;
  CaptureClaims claims_;
  std::vector<std::unique_ptr<Source>> open_;  // processes that may still send records
  // All processes in order of appearance; final for closed sources. The last one may be the report
  // of all processes beyond max_listed_.
  std::vector<ProcessReport> reports_;
  // Of the processes known when the present window began, as they were then.
  std::vector<ProcessReport> before_;
  std::unordered_set<std::string> known_files_;
  // Rings that could not be opened so far, and why; at most kMaxUnread.
  std::map<std::string, std::string> unread_;
  std::uint32_t names_ = 0;
  std::size_t name_bytes_ = 0;  // total of all names
  std::vector<shm::KernelRecord> arrived_;
  std::vector<shm::KernelRecord> released_;
};

}  // namespace stemtap::session
