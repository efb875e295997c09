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
  // `record` is an index into buffer_.
  Error At(std::size_t record, const std::string& what) const;

  Status Fill();
  Status TakeName(std::size_t at);
  Status TakeNameBytes(std::size_t at);
  Status NameIsComplete(std::size_t at);
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

  bool in_name_ = false;
  shm::NameRecord definition_;
  std::string name_;
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
  if (header.version != model::kBinaryProfileVersion || header.record_bytes != shm::kRecordBytes) {
    return Error{fmt::format(
        "{}: version {} with records of {} bytes; expected version {} with {} bytes", file(),
        header.version, header.record_bytes, model::kBinaryProfileVersion, shm::kRecordBytes)};
  }
  records_before_ = 1;
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
  if (in_name_) return At(at, "a name begins inside another; expected its remaining bytes");
  definition_ = buffer_[at].name;
  if (definition_.name_id != names_.size()) {
    return At(at, fmt::format("defines name {}; expected {}", definition_.name_id, names_.size()));
  }
  if (definition_.length == 0 || definition_.length > shm::kMaxNameBytes) {
    return At(at, fmt::format("a name of {} bytes; expected 1 to {}", definition_.length,
                              shm::kMaxNameBytes));
  }
  name_.assign(definition_.bytes,
               std::min<std::size_t>(definition_.length, sizeof(definition_.bytes)));
  return NameIsComplete(at);
}

Status BinaryProfileReader::TakeNameBytes(std::size_t at) {
  if (!in_name_) return At(at, "bytes outside a name; expected a kernel or a name");
  const shm::NameBytes& more = buffer_[at].name_bytes;
  const std::size_t expected =
      std::min<std::size_t>(definition_.length - name_.size(), sizeof(more.bytes));
  if (more.count != expected) {
    return At(at, fmt::format("{} bytes of a name; expected {}", more.count, expected));
  }
  name_.append(more.bytes, more.count);
  return NameIsComplete(at);
}

// Interns the name if it is complete.
Status BinaryProfileReader::NameIsComplete(std::size_t at) {
  in_name_ = name_.size() < definition_.length;
  if (in_name_) return Success{};
  if (shm::NameHash(name_.data(), name_.size()) != definition_.hash) {
    return At(at, fmt::format("name {} does not match its hash; expected an undamaged file",
                              definition_.name_id));
  }
  if (names_.Intern(name_) != definition_.name_id) {
    return At(at, fmt::format("name {} is defined twice; expected once", definition_.name_id));
  }
  return Success{};
}

Status BinaryProfileReader::TakeEnd(std::size_t at) {
  if (in_name_) return At(at, "the end record is inside a name; expected its remaining bytes");
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
  if (kind == shm::RecordKind::kName) return TakeName(at);
  if (kind == shm::RecordKind::kNameBytes) return TakeNameBytes(at);
  if (kind == shm::RecordKind{model::kBinaryProfileEndKind}) return TakeEnd(at);
  if (kind != shm::RecordKind::kKernel) {
    return At(at, fmt::format("kind {}; expected a kernel or a name", static_cast<int>(kind)));
  }
  if (in_name_) return At(at, "a kernel inside a name; expected its remaining bytes");
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
    if (!in_name_) {
      while (begin_ < last && IsGood(buffer_[begin_].kernel)) ++begin_;
    }
    if (begin_ > first) {
      const shm::KernelRecord* const kernels = &buffer_[first].kernel;
      batch.records.insert(batch.records.end(), kernels, kernels + (begin_ - first));
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
