// SPDX-License-Identifier: Apache-2.0
#include "model/binary_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "formats/importers/importers.h"
#include "model/canonical_columns.h"
#include "shm/context_key.h"

namespace stemtap::formats {
namespace {

class BinaryProfileReader : public model::ProfileReader {
 public:
  explicit BinaryProfileReader(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), buffer_(kReadBytes / shm::kRecordBytes) {}

  // Reads and checks the header.
  Status Start();

  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override;

 private:
  const std::string& file() const { return source_->name(); }
  // Whether a definition has begun: its text is incomplete, or it is a range without its name.
  bool in_name() const { return definition_.is_partial || !definition_.range.empty(); }
  // `record` is an index into buffer_.
  Error At(std::size_t record, const std::string& what) const;

  Status Fill();
  Status ReadMarks(const model::BinaryProfileHeader& header);
  Status TakeName(std::size_t at);
  Status TakeNameBytes(std::size_t at);
  Status NameIsComplete(std::size_t at);
  Status TakeStep(std::size_t at);
  Status TakeEnd(std::size_t at);
  Status TakeOther(std::size_t at);
  Error BadKernel(std::size_t at) const;

  bool IsGood(const shm::KernelRecord& kernel) const {
    return kernel.kind == shm::RecordKind::kKernel && kernel.name_id < names_.size() &&
           kernel.duration_ns <= model::kMaxTime &&
           (kernel.start_ns <= model::kMaxTime || kernel.start_ns == shm::kUnknownTime);
  }

  std::unique_ptr<ByteSource> source_;
  std::vector<shm::Record> buffer_;
  std::size_t begin_ = 0;  // buffer_[begin_, end_) are complete and not yet consumed
  std::size_t end_ = 0;
  std::size_t loose_bytes_ = 0;       // bytes of a partially read record after them
  std::uint64_t records_before_ = 0;  // records of the file before buffer_[0], including the header
  bool ended_ = false;

  // The definition that is read.
  struct Definition {
    shm::NameRecord record;
    std::string text;         // as far as it was read
    bool is_partial = false;  // more text follows
    std::string range;        // of the name; empty: none
  };
  Definition definition_;
  std::uint64_t step_ = shm::kNoStep;
  std::uint64_t invocations_ = 0;
};

Error BinaryProfileReader::At(std::size_t record, const std::string& what) const {
  return Error{fmt::format("{}: record {}: {}", file(), records_before_ + record, what)};
}

Status BinaryProfileReader::Start() {
  char bytes[sizeof(model::BinaryProfileHeader)];
  for (std::size_t held = 0; held < sizeof(bytes);) {
    const std::size_t count = STEMTAP_TRY(source_->Read(bytes + held, sizeof(bytes) - held));
    if (count == 0) {
      return Error{fmt::format("{}: truncated header of {} bytes; expected {}", file(), held,
                               sizeof(bytes))};
    }
    held += count;
  }
  model::BinaryProfileHeader header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.magic != model::kBinaryProfileMagic) {
    return Error{fmt::format("{}: wrong leading bytes; expected a binary profile", file())};
  }
  if ((header.version != model::kBinaryProfileVersion &&
       header.version != model::kMarkedProfileVersion) ||
      header.record_bytes != shm::kRecordBytes) {
    return Error{fmt::format(
        "{}: version {} with records of {} bytes; expected version {} or {} with {} bytes", file(),
        header.version, header.record_bytes, model::kBinaryProfileVersion,
        model::kMarkedProfileVersion, shm::kRecordBytes)};
  }
  records_before_ = 1;
  return header.version == model::kMarkedProfileVersion ? ReadMarks(header) : Success{};
}

Status BinaryProfileReader::ReadMarks(const model::BinaryProfileHeader& header) {
  constexpr std::uint32_t kAll = model::kBinaryProfileRanges | model::kBinaryProfileSteps;
  if (header.marks == 0 || (header.marks & ~kAll) != 0) {
    return Error{fmt::format("{}: the marks in the header are {}; expected 1 to {}", file(),
                             header.marks, kAll)};
  }
  marks_ = {(header.marks & model::kBinaryProfileRanges) != 0,
            (header.marks & model::kBinaryProfileSteps) != 0};
  return Success{};
}

// Replaces the consumed records with the next ones. Sets begin_ == end_ at the end of the file.
// REQUIRES: begin_ == end_.
Status BinaryProfileReader::Fill() {
  char* const bytes = reinterpret_cast<char*>(buffer_.data());
  std::memmove(bytes, bytes + end_ * shm::kRecordBytes, loose_bytes_);
  records_before_ += end_;
  begin_ = end_ = 0;
  std::size_t held = loose_bytes_;
  while (held < shm::kRecordBytes) {
    const std::size_t count =
        STEMTAP_TRY(source_->Read(bytes + held, buffer_.size() * shm::kRecordBytes - held));
    if (count == 0) break;
    held += count;
  }
  end_ = held / shm::kRecordBytes;
  loose_bytes_ = held % shm::kRecordBytes;
  return Success{};
}

Status BinaryProfileReader::TakeName(std::size_t at) {
  const bool is_range = buffer_[at].kind == shm::RecordKind::kRange;
  if (definition_.is_partial || (is_range && !definition_.range.empty())) {
    return At(at, "a name begins inside another; expected its remaining bytes");
  }
  definition_.record = buffer_[at].name;
  if (definition_.record.name_id != names_.size()) {
    return At(
        at, fmt::format("defines name {}; expected {}", definition_.record.name_id, names_.size()));
  }
  const std::uint32_t most = is_range ? shm::kMaxRangeBytes : shm::kMaxNameBytes;
  if (definition_.record.length == 0 || definition_.record.length > most) {
    return At(at, fmt::format("a {} of {} bytes; expected 1 to {}", is_range ? "range" : "name",
                              definition_.record.length, most));
  }
  definition_.text.assign(
      definition_.record.bytes,
      std::min<std::size_t>(definition_.record.length, sizeof(definition_.record.bytes)));
  return NameIsComplete(at);
}

Status BinaryProfileReader::TakeNameBytes(std::size_t at) {
  if (!definition_.is_partial) return At(at, "bytes outside a name; expected a kernel or a name");
  const shm::NameBytes& more = buffer_[at].name_bytes;
  const std::size_t expected = std::min<std::size_t>(
      definition_.record.length - definition_.text.size(), sizeof(more.bytes));
  if (more.count != expected) {
    return At(at, fmt::format("{} bytes of a name; expected {}", more.count, expected));
  }
  definition_.text.append(more.bytes, more.count);
  return NameIsComplete(at);
}

// Interns the name, or keeps the range for the name that follows, if it is complete.
Status BinaryProfileReader::NameIsComplete(std::size_t at) {
  definition_.is_partial = definition_.text.size() < definition_.record.length;
  if (definition_.is_partial) return Success{};
  if (shm::NameHash(definition_.text.data(), definition_.text.size()) != definition_.record.hash) {
    return At(at, fmt::format("name {} does not match its hash; expected an undamaged file",
                              definition_.record.name_id));
  }
  if (definition_.record.kind == shm::RecordKind::kRange) {
    definition_.range = definition_.text;
    return Success{};
  }
  if (names_.Intern(definition_.text, 0, definition_.range) != definition_.record.name_id) {
    return At(at,
              fmt::format("name {} is defined twice; expected once", definition_.record.name_id));
  }
  definition_.range.clear();
  return Success{};
}

// Takes the step of the launches that follow.
Status BinaryProfileReader::TakeStep(std::size_t at) {
  if (in_name()) return At(at, "a step inside a name; expected its remaining bytes");
  const shm::MarkRecord& mark = buffer_[at].mark;
  if (mark.range_id != shm::kNoRange || mark.correlation_id != 0 ||
      (mark.step > model::kMaxTime && mark.step != shm::kNoStep)) {
    return At(at, fmt::format("step {} of range {} and launch {}; expected at most {}, of 0 and 0",
                              mark.step, mark.range_id, mark.correlation_id, model::kMaxTime));
  }
  step_ = mark.step;
  return Success{};
}

Status BinaryProfileReader::TakeEnd(std::size_t at) {
  if (in_name()) return At(at, "the end record is inside a name; expected its remaining bytes");
  const auto end = std::bit_cast<model::BinaryProfileEnd>(buffer_[at]);
  if (end.invocations != invocations_ || end.names != names_.size()) {
    return At(at,
              fmt::format("the end record is after {} launches of {} kernels; expected {} of {}",
                          invocations_, names_.size(), end.invocations, end.names));
  }
  if (begin_ == end_ && loose_bytes_ == 0) {
    STEMTAP_TRY(Fill());
  }
  if (begin_ != end_ || loose_bytes_ != 0) {
    return Error{fmt::format("{}: bytes after the end record; expected none", file())};
  }
  ended_ = true;
  return Success{};
}

Error BinaryProfileReader::BadKernel(std::size_t at) const {
  const shm::KernelRecord& kernel = buffer_[at].kernel;
  if (kernel.name_id >= names_.size()) {
    return At(at, fmt::format("a kernel with the undefined name {}; expected less than {}",
                              kernel.name_id, names_.size()));
  }
  return At(at, fmt::format("start_ns {} and duration_ns {}; expected at most {}", kernel.start_ns,
                            kernel.duration_ns, model::kMaxTime));
}

// Takes a record other than a valid kernel.
Status BinaryProfileReader::TakeOther(std::size_t at) {
  const shm::RecordKind kind = buffer_[at].kind;
  if (kind == shm::RecordKind::kName || (kind == shm::RecordKind::kRange && marks_.ranges)) {
    return TakeName(at);
  }
  if (kind == shm::RecordKind::kNameBytes) return TakeNameBytes(at);
  if (kind == shm::RecordKind{model::kBinaryProfileEndKind}) return TakeEnd(at);
  if (kind == shm::RecordKind::kMark && marks_.steps) return TakeStep(at);
  if (kind != shm::RecordKind::kKernel) {
    return At(at, fmt::format("kind {}; expected a kernel or a name", static_cast<int>(kind)));
  }
  if (in_name()) return At(at, "a kernel inside a name; expected its remaining bytes");
  return BadKernel(at);
}

Result<std::size_t> BinaryProfileReader::ReadSome(model::ProfileBatch& batch, std::size_t limit) {
  batch.records.clear();
  batch.metrics.clear();
  while (batch.records.size() < limit && !ended_) {
    if (begin_ == end_) {
      STEMTAP_TRY(Fill());
      if (begin_ == end_) {
        return Error{fmt::format("{}: truncated after {} records; expected an end record", file(),
                                 records_before_)};
      }
    }
    // Consumes a run of kernels at once.
    const std::size_t last = std::min(end_, begin_ + (limit - batch.records.size()));
    const std::size_t first = begin_;
    if (!in_name()) {
      while (begin_ < last && IsGood(buffer_[begin_].kernel)) ++begin_;
    }
    if (begin_ > first) {
      const shm::KernelRecord* const kernels = &buffer_[first].kernel;
      batch.records.insert(batch.records.end(), kernels, kernels + (begin_ - first));
      if (marks_.steps) batch.steps.resize(batch.records.size(), step_);
      invocations_ += begin_ - first;
      continue;
    }
    STEMTAP_TRY(TakeOther(begin_++));
  }
  return batch.records.size();
}

}  // namespace

bool LooksLikeBinaryProfile(std::string_view leading) {
  return leading.starts_with(
      std::string_view(model::kBinaryProfileMagic.data(), model::kBinaryProfileMagic.size()));
}

Result<std::unique_ptr<model::ProfileReader>> OpenBinaryProfile(
    std::unique_ptr<ByteSource> source) {
  auto reader = std::make_unique<BinaryProfileReader>(std::move(source));
  STEMTAP_TRY(reader->Start());
  return std::unique_ptr<model::ProfileReader>(std::move(reader));
}

}  // namespace stemtap::formats
