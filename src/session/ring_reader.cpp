// SPDX-License-Identifier: Apache-2.0
#include "session/ring_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "shm/ring.h"

namespace stemtap::session {

namespace {

// 2^50 ns are 13 days. A longer kernel duration is damage, and would overflow sums.
constexpr std::uint64_t kMaxDurationNs = std::uint64_t{1} << 50;

// A counter beyond 2^44 is damage: a process that launches a kernel per microsecond takes half a
// year to reach it. The sum over 65,536 processes fits 64 bits.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 44;
// 2^47 ns are 39 hours of a thread's time, all of it spent on recording. The sum over 65,536
// processes fits 64 bits.
constexpr std::uint64_t kMaxCostNs = std::uint64_t{1} << 47;
// Records taken from the queue at a time, on the stack.
constexpr std::size_t kPiece = 256;

// Returns the text in the first `size` bytes, up to a 0. The bytes may change during the call.
template <std::size_t kSize>
std::string FixedText(const char (&bytes)[kSize], std::size_t size = kSize) {
  std::string text(bytes, std::min(size, kSize));
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace

Result<RingReader> RingReader::Open(const std::string& path) {
  return OpenAt(AT_FDCWD, path, path);
}

Result<RingReader> RingReader::Open(const Directory& directory, const std::string& name) {
  return OpenAt(directory.descriptor(), name, directory.PathOf(name));
}

Result<RingReader> RingReader::OpenAt(int directory, const std::string& name,
                                      const std::string& path) {
  FileDescriptor file(
      ::openat(directory, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    return Error{fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  }
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return Error{path + ": is not a regular file; expected a ring"};
  }
  if (static_cast<std::size_t>(about.st_size) < sizeof(shm::RingFile)) {
    return Error{fmt::format("{}: has {} bytes; expected a ring of at least {} bytes", path,
                             about.st_size, sizeof(shm::RingFile))};
  }
  std::optional<SharedMapping> mapping = SharedMapping::Map(file.get(), sizeof(shm::RingFile));
  if (!mapping) return Error{fmt::format("{}: cannot be mapped: {}", path, std::strerror(errno))};
  const shm::RingHeader& header = static_cast<shm::RingFile*>(mapping->memory())->header;
  const std::uint32_t version = header.version;
  const std::int32_t pid = header.pid;
  const std::uint32_t pid_namespace = header.pid_namespace;
  if (header.magic != shm::kRingMagic || version != shm::kRingVersion ||
      header.record_bytes != shm::kRecordBytes || header.file_bytes != sizeof(shm::RingFile)) {
    return Error{fmt::format("{}: ring has version {}; this build expects version {}", path,
                             version, shm::kRingVersion)};
  }
  const std::uint32_t here = shm::PidNamespace();
  const bool elsewhere = here != 0 && pid_namespace != 0 && pid_namespace != here;
  const int pidfd = elsewhere ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  return RingReader(*std::move(mapping), std::move(file), pid, pid_namespace, elsewhere, pidfd);
}

RingReader::RingReader(RingReader&& other) noexcept
    : mapping_(std::move(other.mapping_)),
      queue_(other.queue_),
      pid_(other.pid_),
      pid_namespace_(other.pid_namespace_),
      elsewhere_(other.elsewhere_),
      pidfd_(std::exchange(other.pidfd_, -1)),
      definitions_(std::move(other.definitions_)),
      mark_(other.mark_),
      marks_(std::move(other.marks_)),
      read_(other.read_),
      malformed_(other.malformed_),
      refused_(other.refused_),
      bad_indices_(other.bad_indices_),
      last_(std::move(other.last_)) {}

RingReader::~RingReader() {
  if (pidfd_ >= 0) ::close(pidfd_);
}

const char* RingReader::Damage() const {
  if (mapping_.lost()) return "its ring was truncated";
  return bad_indices_ ? "its ring is damaged" : nullptr;
}

bool RingReader::Ended() const {
  if (Damage() != nullptr) return true;
  // Acquire: pairs with the release in the injector's SessionFiles::SetState, so that the counters
  // and records before it are visible.
  const auto state =
      static_cast<shm::RingState>(ring().header.state.load(std::memory_order_acquire));
  if (mapping_.lost()) return true;  // the file was truncated before this read
  if (state == shm::RingState::kClosed || state == shm::RingState::kDisabled) return true;
  if (elsewhere_) return false;
  if (pidfd_ < 0) {
    // Kernels before 5.3 and some containers have no pidfd.
    return pid_ <= 0 || (::kill(pid_, 0) != 0 && errno == ESRCH);
  }
  pollfd gone{pidfd_, POLLIN, 0};
  return ::poll(&gone, 1, 0) > 0;
}

std::size_t RingReader::Drain(std::size_t limit, const NameToId& id_of,
                              std::vector<shm::KernelRecord>& out) {
  shm::Record piece[kPiece];
  std::size_t taken = 0;
  while (taken < limit && Damage() == nullptr) {
    const std::optional<std::size_t> count =
        queue_.Pop(std::span(piece).first(std::min(kPiece, limit - taken)));
    // If the file was truncated during Pop, any part of the piece and the indices may be zeros.
    if (mapping_.lost()) break;
    if (!count) {
      bad_indices_ = true;
      ++malformed_;
      break;
    }
    if (*count == 0) break;
    for (std::size_t i = 0; i < *count; ++i) Take(piece[i], id_of, out);
    taken += *count;
  }
  return taken;
}

void RingReader::Take(const shm::Record& record, const NameToId& id_of,
                      std::vector<shm::KernelRecord>& out) {
  if (mark_ && record.kind != shm::RecordKind::kKernel) {
    ++malformed_;
    mark_.reset();
  }
  switch (record.kind) {
    case shm::RecordKind::kKernel:
      TakeKernel(record.kernel, id_of, out);
      mark_.reset();
      break;
    case shm::RecordKind::kMark:
      if (IsValid(record.mark)) {
        mark_ = record.mark;
      } else {
        ++malformed_;
      }
      break;
    default:
      ++malformed_;
  }
}

void RingReader::ReadDefinitions() {
  // Acquire: pairs with the release in the injector's DefinitionWriter, so that the definitions are
  // in the file.
  malformed_ += definitions_.Read(ring().header.definitions.load(std::memory_order_acquire));
}

bool RingReader::IsValid(const shm::MarkRecord& mark) {
  if (mark.range_id == shm::kNoRange) return mark.step != shm::kNoStep;
  if (definitions_.RangeOf(mark.range_id).empty()) ReadDefinitions();
  return !definitions_.RangeOf(mark.range_id).empty();
}

void RingReader::TakeKernel(const shm::KernelRecord& kernel, const NameToId& id_of,
                            std::vector<shm::KernelRecord>& out) {
  std::uint32_t id = definitions_.KernelOf(kernel.name_id, id_of);
  if (id == RingDefinitions::kUndefined) {
    ReadDefinitions();
    id = definitions_.KernelOf(kernel.name_id, id_of);
  }
  if (id == RingDefinitions::kUndefined || kernel.duration_ns > kMaxDurationNs) {
    ++malformed_;
    return;
  }
  if (id == kRefused) {
    ++refused_;
    return;
  }
  ++read_;
  out.push_back(kernel);
  out.back().name_id = id;
  if (!mark_) return;
  const bool belongs =
      mark_->correlation_id == kernel.correlation_id && (kernel.flags & shm::kFlagCaptured) != 0;
  if (belongs) marks_[kernel.correlation_id] = {mark_->range_id, mark_->step};
  malformed_ += !belongs;
}

NamedMark RingReader::TakeMark(std::uint32_t correlation_id) {
  const auto found = marks_.find(correlation_id);
  if (found == marks_.end()) return {};
  const NamedMark mark{definitions_.RangeOf(found->second.range_id), found->second.step};
  marks_.erase(found);
  return mark;
}

shm::Recording RingReader::requested() const {
  const std::uint32_t value = ring().header.requested.load(std::memory_order_relaxed);
  return value < shm::kRecordings ? static_cast<shm::Recording>(value) : shm::Recording::kOn;
}

void RingReader::Request(shm::Recording recording) {
  ring().header.requested.store(static_cast<std::uint32_t>(recording), std::memory_order_relaxed);
}

std::uint64_t RingReader::switches() const {
  // Acquire: pairs with the release in the injector's SessionFiles::AddSwitch.
  const std::uint64_t count = ring().header.switches.load(std::memory_order_acquire);
  return count <= kMaxCount ? count : 0;  // more is damage
}

std::uint64_t RingReader::SwitchTime(std::uint64_t number) const {
  const std::uint64_t count = switches();
  if (count > shm::kSwitchTimes) number = std::max(number, count - shm::kSwitchTimes);
  return ring().header.switch_times_ns[number % shm::kSwitchTimes].load(std::memory_order_relaxed);
}

// Returns what the process reports, as far as it can be read.
ProcessReport RingReader::ReadHeader() const {
  const shm::RingHeader& h = ring().header;
  ProcessReport report;
  report.pid = pid_;
  report.program = FixedText(h.program);
  switch (static_cast<shm::RingState>(h.state.load(std::memory_order_acquire))) {
    case shm::RingState::kDisabled:
      report.state = ProcessState::kDisabled;
      break;
    case shm::RingState::kClosed:
      report.state = ProcessState::kClosed;
      break;
    default:
      report.state = ProcessState::kRecording;
  }
  // Acquire: pairs with the release in the injector's SessionFiles::Remark.
  report.reason = FixedText(h.reason, h.reason_bytes.load(std::memory_order_acquire));
  report.cupti_version = h.cupti_version;
  report.driver_version = h.driver_version;
  const auto count = [&](const std::atomic<std::uint64_t>& counter, std::uint64_t max = kMaxCount) {
    const std::uint64_t value = counter.load(std::memory_order_relaxed);
    if (value <= max) return value;
    report.reason = "its counters are damaged";
    return std::uint64_t{0};
  };
  report.seen = count(h.seen);
  report.kept = count(h.kept);
  report.skipped = count(h.skipped);
  report.launches_gated = count(h.launches_gated);
  report.launches_captured = count(h.launches_captured);
  report.launches_failed = count(h.launches_failed);
  report.launches_added = count(h.launches_added);
  report.graph_records = count(h.graph_records);
  report.paused = count(h.paused);
  report.buffers = count(h.buffers);
  report.cost_program_ns = count(h.cost_program_ns, kMaxCostNs);
  report.cost_background_ns = count(h.cost_background_ns, kMaxCostNs);
  report.cost_cupti_ns = count(h.cost_cupti_ns, kMaxCostNs);
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) report.losses[i] = count(h.losses[i]);
  return report;
}

ProcessReport RingReader::Report() const {
  ProcessReport now = ReadHeader();
  if (!mapping_.lost()) last_ = std::move(now);
  ProcessReport report = last_;
  if (Damage() != nullptr) report.reason = Damage();
  report.read = read_;
  report.malformed = malformed_;
  report.kept -= std::min(report.kept, refused_);
  report.losses[static_cast<std::uint32_t>(shm::Loss::kTooManyNames)] += refused_;
  return report;
}

ProcessReport RingReader::FinalReport() const {
  ProcessReport report = Report();
  // Counts the records left in a damaged ring.
  if (Damage() != nullptr) {
    report.malformed = std::max(report.malformed, report.kept - std::min(report.kept, report.read));
  }
  report.kept = report.read + report.malformed;
  report.seen = report.read + report.dropped();
  return report;
}

namespace {

constexpr std::size_t kCells = shm::kRingCapacity + 1;  // one cell stays free

// Gives access to the members of the queue. The cells are its last member.
struct QueueMembers : shm::RecordQueue {
  static auto& WriteIndex(shm::RecordQueue& queue) { return queue.*&QueueMembers::write_index_; }
  static auto& ReadIndex(shm::RecordQueue& queue) { return queue.*&QueueMembers::read_index_; }
  static const shm::Record* Cells(const shm::RecordQueue& queue) {
    return reinterpret_cast<const shm::Record*>(&queue + 1) - kCells;
  }
};
// Otherwise, padding could follow the cells.
static_assert(alignof(shm::RecordQueue) <= alignof(shm::Record));

}  // namespace

RingQueue::RingQueue(shm::RecordQueue& queue)
    : queue_(&queue), read_index_(QueueMembers::ReadIndex(queue).load(std::memory_order_relaxed)) {}

std::optional<std::size_t> RingQueue::Pop(std::span<shm::Record> out) {
  // Acquire: pairs with the producer's release in push(), so that the records are visible.
  const std::size_t end = QueueMembers::WriteIndex(*queue_).load(std::memory_order_acquire);
  auto& shared_read_index = QueueMembers::ReadIndex(*queue_);
  const std::size_t shared_begin = shared_read_index.load(std::memory_order_relaxed);
  if (end >= kCells || read_index_ >= kCells || shared_begin != read_index_) return std::nullopt;
  const std::size_t available = (end + kCells - read_index_) % kCells;
  const std::size_t count = std::min(available, out.size());
  // The records may end at the last cell and continue at the first.
  const std::size_t before_end = std::min(count, kCells - read_index_);
  const shm::Record* const cells = QueueMembers::Cells(*queue_);
  std::copy_n(cells + read_index_, before_end, out.begin());
  std::copy_n(cells, count - before_end, out.begin() + static_cast<std::ptrdiff_t>(before_end));
  read_index_ = (read_index_ + count) % kCells;
  // Release: the records are copied before the producer reuses their cells; pairs with the acquire
  // in push() and write_available().
  if (count != 0) shared_read_index.store(read_index_, std::memory_order_release);
  return count;
}

namespace {

// A process defines shm::kMaxRanges ranges, and a few more if several threads add ranges at once.
constexpr std::uint32_t kMaxRangeId = 2 * shm::kMaxRanges;
// Records read at a time, on the stack.
constexpr std::uint32_t kReadAtOnce = 256;

}  // namespace

std::uint64_t RingDefinitions::Read(std::uint32_t written) {
  shm::Record piece[kReadAtOnce];
  std::uint64_t invalid = 0;
  written = std::min(written, shm::kMaxDefinitions);
  while (read_ < written) {
    const std::size_t wanted = std::min(kReadAtOnce, written - read_) * sizeof(shm::Record);
    const ssize_t got =
        ::pread(file_.get(), piece, wanted, static_cast<off_t>(shm::RingFileBytes(read_)));
    // Less than a record: the file was truncated.
    const std::size_t count = got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(shm::Record);
    if (count == 0) break;
    for (std::size_t i = 0; i < count; ++i) invalid += !Take(piece[i]);
    read_ += static_cast<std::uint32_t>(count);
  }
  return invalid;
}

bool RingDefinitions::Take(const shm::Record& record) {
  switch (record.kind) {
    case shm::RecordKind::kName:
    case shm::RecordKind::kRange:
      return Begin(record.name);
    case shm::RecordKind::kNameBytes:
      return Continue(record.name_bytes);
    case shm::RecordKind::kRangedName:
      is_open_ = false;
      return Add(record.ranged_name);
    default:
      is_open_ = false;
      return false;
  }
}

bool RingDefinitions::Add(const shm::RangedName& ranged) {
  if (ranged.name_id >= shm::kMaxNames || IsDefined(ranged.name_id) || !IsDefined(ranged.base_id) ||
      kernels_[ranged.base_id].range_id != shm::kNoRange || RangeOf(ranged.range_id).empty()) {
    return false;
  }
  if (ranged.name_id >= kernels_.size()) kernels_.resize(std::size_t{ranged.name_id} + 1);
  kernels_[ranged.name_id] = {true, kUndefined, {}, ranged.base_id, ranged.range_id};
  return true;
}

bool RingDefinitions::MayBegin(const shm::NameRecord& head) const {
  if (head.kind == shm::RecordKind::kRange) {
    return head.name_id != shm::kNoRange && head.name_id <= kMaxRangeId && head.length != 0 &&
           head.length <= shm::kMaxRangeBytes && RangeOf(head.name_id).empty();
  }
  return head.name_id < shm::kMaxNames && head.length <= shm::kMaxNameBytes &&
         !IsDefined(head.name_id);
}

bool RingDefinitions::Begin(const shm::NameRecord& head) {
  is_open_ = MayBegin(head);
  if (!is_open_) return false;
  kind_ = head.kind;
  id_ = head.name_id;
  length_ = head.length;
  text_.assign(head.bytes, std::min<std::size_t>(head.length, sizeof(head.bytes)));
  Finish();
  return true;
}

bool RingDefinitions::Continue(const shm::NameBytes& more) {
  is_open_ = is_open_ && more.count != 0 && more.count <= sizeof(more.bytes) &&
             text_.size() + more.count <= length_;
  if (!is_open_) return false;
  text_.append(more.bytes, more.count);
  Finish();
  return true;
}

// Stores the definition if it is complete.
void RingDefinitions::Finish() {
  if (text_.size() < length_) return;
  is_open_ = false;
  if (kind_ == shm::RecordKind::kRange) {
    if (id_ >= ranges_.size()) ranges_.resize(std::size_t{id_} + 1);
    ranges_[id_] = text_;
    return;
  }
  if (id_ >= kernels_.size()) kernels_.resize(std::size_t{id_} + 1);
  kernels_[id_] = {true, kUndefined, text_, id_};
}

std::uint32_t RingDefinitions::KernelOf(std::uint32_t name_id, const NameToId& id_of) {
  if (!IsDefined(name_id)) return kUndefined;
  Kernel& kernel = kernels_[name_id];
  if (kernel.id == kUndefined) {
    kernel.id = id_of(kernels_[kernel.base].name, RangeOf(kernel.range_id));
  }
  return kernel.id;
}

}  // namespace stemtap::session
