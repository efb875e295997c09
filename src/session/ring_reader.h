// SPDX-License-Identifier: Apache-2.0
//
// RingReader is the collector's end of one traced process: it maps the process's ring file, removes
// records, resolves their names, and detects whether the process is still alive.
//
// Another program may write the ring at any time, so every value is read once, and checked before
// it is used as an index or a length. Invalid records are counted as malformed. If the queue's
// indices are invalid or the file is truncated, the ring is read no further and the lost records
// count as malformed. Kernels whose names the session does not accept count as too_many_names.
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "session/capture_marks.h"
#include "session/session.h"
#include "session/shared_mapping.h"
#include "shm/record.h"
#include "shm/ring.h"

namespace stemtap::session {

// RingQueue is the reading end of the queue in a ring. The traced process can write any part of the
// queue at any time, so each index is read once, and the copy is checked and used. RingQueue
// replaces pop() of Boost.Lockfree, which reads the indices again after a check.
//
// THREADS: one reader; the traced process is the only producer.
class RingQueue {
 public:
  // `queue` must outlive this object. The reader continues at the read index in the queue.
  explicit RingQueue(shm::RecordQueue& queue);

  // Moves the oldest records to `out`, at most as many as it has room for. Returns their number, or
  // nullopt if an index is invalid.
  std::optional<std::size_t> Pop(std::span<shm::Record> out);

 private:
  shm::RecordQueue* queue_;
  // The read index. The queue contains a copy for the producer; another value there is damage.
  std::size_t read_index_;
};

// RingDefinitions reads the definitions in one ring file: names of kernels and paths of ranges.
// Every value is checked, because another program writes the file: an id is defined once and is
// below its maximum, and all definitions together have at most shm::kMaxDefinitions records. They
// are copied from the file before they are checked, so the program cannot change them in between,
// and a truncated file is an early end.
//
// THREADS: none.
class RingDefinitions {
 public:
  // Returns the session-wide id of the launches of a kernel name in a range (empty: not grouped by
  // range, or outside of all), or kRefused if the session accepts no more names.
  using NameToId = std::function<std::uint32_t(std::string_view name, std::string_view range)>;
  static constexpr std::uint32_t kUndefined = ~std::uint32_t{0};
  static constexpr std::uint32_t kRefused = kUndefined - 1;

  // `file` is the ring file.
  explicit RingDefinitions(FileDescriptor file) : file_(std::move(file)) {}

  // Reads the definitions that the process has completed, of which there are `written` records in
  // total. Returns the number of invalid records among them.
  std::uint64_t Read(std::uint32_t written);

  // Returns the session-wide id of a kernel name of this ring, kUndefined or kRefused. Names get
  // their session-wide ids in the order of their first use.
  std::uint32_t KernelOf(std::uint32_t name_id, const NameToId& id_of);
  // Returns the path of a range of this ring; empty if it is not defined. Valid until the next
  // Read.
  std::string_view RangeOf(std::uint32_t range_id) const {
    return range_id < ranges_.size() ? std::string_view(ranges_[range_id]) : std::string_view();
  }

 private:
  struct Kernel {
    bool is_defined = false;
    std::uint32_t id = kUndefined;  // session-wide; kUndefined before the first use
    // Empty if `base` is another id, which has the name.
    std::string name;
    std::uint32_t base = 0;
    std::uint32_t range_id = shm::kNoRange;
  };

  bool IsDefined(std::uint32_t name_id) const {
    return name_id < kernels_.size() && kernels_[name_id].is_defined;
  }
  // Return whether the record is valid.
  bool Take(const shm::Record& record);
  bool MayBegin(const shm::NameRecord& head) const;
  bool Begin(const shm::NameRecord& head);
  bool Add(const shm::RangedName& ranged);
  bool Continue(const shm::NameBytes& more);
  void Finish();

  FileDescriptor file_;
  std::uint32_t read_ = 0;           // records
  std::vector<Kernel> kernels_;      // by the process's name id
  std::vector<std::string> ranges_;  // by the process's range id
  // The definition in progress.
  bool is_open_ = false;
  shm::RecordKind kind_ = shm::RecordKind::kName;
  std::uint32_t id_ = 0;
  std::uint32_t length_ = 0;
  std::string text_;
};

// MEMBERS: the mapped ring, the process behind it, what its records refer to, and the counters.
class RingReader {
 public:
  using NameToId = RingDefinitions::NameToId;
  static constexpr std::uint32_t kRefused = RingDefinitions::kRefused;

  static Result<RingReader> Open(const std::string& path);
  static Result<RingReader> Open(const Directory& directory, const std::string& name);
  RingReader(RingReader&& other) noexcept;
  RingReader& operator=(RingReader&&) = delete;
  ~RingReader();

  // Removes at most `limit` records and appends the kernels among them to `out`, with name_id
  // replaced by the session's id. Returns the number of removed records; fewer than `limit` means
  // that the ring was empty.
  std::size_t Drain(std::size_t limit, const NameToId& id_of, std::vector<shm::KernelRecord>& out);

  // Returns the mark of a captured launch that Drain returned, and forgets it. The mark is empty if
  // the program reported none. Valid until the next Drain.
  NamedMark TakeMark(std::uint32_t correlation_id);

  // Reclassifies a record that Drain returned as malformed.
  void CountMalformed() {
    --read_;
    ++malformed_;
  }

  // Returns whether no more records will come: the process shut down cleanly, recording is disabled
  // in it, it is gone, or the ring is damaged.
  bool Ended() const;
  // Returns whether the process lives in another PID namespace (a container), so that its end
  // cannot be detected.
  bool elsewhere() const { return elsewhere_; }

  std::int32_t pid() const { return pid_; }
  // Returns the time of the last flush, which changes with each flush. All records of that flush
  // are in the ring.
  std::uint64_t last_flush() const {
    // Acquire: pairs with the release in DurationEngine::Flush, so that the records are visible.
    return ring().header.last_flush_ns.load(std::memory_order_acquire);
  }
  // What the process is to record: the last value that Request or the process wrote.
  shm::Recording requested() const;
  void Request(shm::Recording recording);
  // Returns whether the process has switched its recording off. It needs a flush period to follow a
  // request.
  bool is_off() const { return (switches() & 1) != 0; }
  // Returns how often the process has switched its recording off (even numbers, from 0) or on, and
  // the time of switch `number` in ns of CLOCK_REALTIME. The times of the last shm::kSwitchTimes
  // switches are known; the oldest of them stands for earlier ones.
  std::uint64_t switches() const;
  std::uint64_t SwitchTime(std::uint64_t number) const;

  // PID namespace of pid(); 0 if unknown.
  std::uint32_t pid_namespace() const { return pid_namespace_; }
  // Returns the current counters, which are final once Ended returns true.
  ProcessReport Report() const;
  // Returns the last report on a ring that is read no further. Its counts are derived from the
  // records read, so they add up even if the process was killed between a record and its counts,
  // still records, or wrote invalid data.
  ProcessReport FinalReport() const;

 private:
  static Result<RingReader> OpenAt(int directory, const std::string& name, const std::string& path);
  RingReader(SharedMapping mapping, FileDescriptor file, std::int32_t pid,
             std::uint32_t pid_namespace, bool elsewhere, int pidfd)
      : mapping_(std::move(mapping)),
        queue_(ring().queue),
        pid_(pid),
        pid_namespace_(pid_namespace),
        elsewhere_(elsewhere),
        pidfd_(pidfd),
        definitions_(std::move(file)) {}
  shm::RingFile& ring() const { return *static_cast<shm::RingFile*>(mapping_.memory()); }
  // Returns why the ring is read no further, or null if the ring is valid.
  const char* Damage() const;
  ProcessReport ReadHeader() const;
  void Take(const shm::Record& record, const NameToId& id_of, std::vector<shm::KernelRecord>& out);
  void TakeKernel(const shm::KernelRecord& kernel, const NameToId& id_of,
                  std::vector<shm::KernelRecord>& out);
  void ReadDefinitions();
  bool IsValid(const shm::MarkRecord& mark);

  SharedMapping mapping_;
  RingQueue queue_;
  std::int32_t pid_;
  std::uint32_t pid_namespace_;
  bool elsewhere_;
  int pidfd_;  // -1: no pidfd, so the process is checked by its pid
  RingDefinitions definitions_;
  // A mark whose kernel is the next record.
  std::optional<shm::MarkRecord> mark_;
  // The marks of captured launches that Drain returned, by correlation id.
  std::unordered_map<std::uint32_t, shm::LaunchMark> marks_;
  std::uint64_t read_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t refused_ = 0;  // kernels whose names were refused
  bool bad_indices_ = false;
  mutable ProcessReport last_;  // header contents when the file was last known to be intact
};

}  // namespace stemtap::session
