// SPDX-License-Identifier: Apache-2.0
#include "injector/injected.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <sstream>
#include <stdexcept>

#include "shm/context_key.h"
#include "shm/session_env.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

void* MapShared(const std::filesystem::path& file, std::size_t bytes, int flags) {
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  if (fd < 0) throw std::runtime_error("cannot open " + file.string());
  void* memory = MAP_FAILED;
  if (flags == 0 ? lseek(fd, 0, SEEK_END) >= static_cast<off_t>(bytes)
                 : ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + file.string());
  return memory;
}

void Expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("the ring holds ") + what);
}

}  // namespace

Ring::Ring(const std::filesystem::path& file)
    : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)),
      ring_(static_cast<shm::RingFile*>(MapShared(file, sizeof(shm::RingFile), 0))) {
  Expect(header().magic == shm::kRingMagic, "another magic number");
  Expect(header().version == shm::kRingVersion, "another version");
  Expect(header().record_bytes == shm::kRecordBytes, "records of another size");
  Expect(header().file_bytes == sizeof(shm::RingFile), "another length than the file");
}

Ring::~Ring() {
  munmap(ring_, sizeof(shm::RingFile));
}

void Ring::Drain() {
  shm::Record record;
  while (ring_->queue.pop(record)) Take(record);
  ReadDefinitions();
}

void Ring::ReadDefinitions() {
  const std::uint32_t written = header().definitions.load(std::memory_order_acquire);
  while (definitions_ < written) {
    shm::Record record;
    const auto at = static_cast<off_t>(shm::RingFileBytes(definitions_++));
    Expect(pread(file_.get(), &record, sizeof(record), at) == sizeof(record), "cut definitions");
    TakeDefinition(record);
  }
  Expect(name_left_ == 0, "half a definition");
}

void Ring::TakeKernel(const shm::KernelRecord& record) {
  if (record.name_id >= names_.size()) ReadDefinitions();
  Expect(record.name_id < names_.size(), "a name that was not defined before its use");
  Kernel kernel{record, names_[record.name_id], "", shm::kNoStep};
  if (mark_) {
    Expect(mark_->correlation_id == record.correlation_id, "the mark of another kernel");
    if (mark_->range_id >= ranges_.size()) ReadDefinitions();
    kernel.range = ranges_.at(mark_->range_id);
    kernel.step = mark_->step;
    mark_.reset();
  }
  kernels_.push_back(kernel);
}

void Ring::Take(const shm::Record& record) {
  Expect(!mark_ || record.kind == shm::RecordKind::kKernel, "a mark without a kernel");
  switch (record.kind) {
    case shm::RecordKind::kKernel:
      TakeKernel(record.kernel);
      return;
    case shm::RecordKind::kMark:
      mark_ = record.mark;
      return;
    default:
      Expect(false, "a record of an unknown kind");
  }
}

void Ring::TakeDefinition(const shm::Record& record) {
  switch (record.kind) {
    case shm::RecordKind::kName:
    case shm::RecordKind::kRange: {
      const auto& known = record.kind == shm::RecordKind::kName ? names_ : ranges_;
      Expect(name_left_ == 0, "a name within a name");
      Expect(record.name.name_id == known.size(), "ids that are not dense");
      const std::size_t here = std::min<std::size_t>(record.name.length, sizeof(record.name.bytes));
      name_kind_ = record.kind;
      name_.assign(record.name.bytes, here);
      name_left_ = record.name.length - here;
      name_hash_ = record.name.hash;
      break;
    }
    case shm::RecordKind::kNameBytes:
      Expect(name_left_ != 0 && record.name_bytes.count <= name_left_, "bytes of no name");
      name_.append(record.name_bytes.bytes, record.name_bytes.count);
      name_left_ -= record.name_bytes.count;
      break;
    default:
      Expect(false, "a definition of an unknown kind");
  }
  if (name_left_ != 0) return;
  const bool is_name = name_kind_ == shm::RecordKind::kName;
  Expect(name_hash_ == (is_name ? shm::NameHash(name_.data(), name_.size()) : 0),
         "a name with a wrong hash");
  auto& known = is_name ? names_ : ranges_;
  for (const std::string& other : known) Expect(other != name_, "a name defined twice");
  known.push_back(name_);
}

std::uint64_t Ring::lost_records() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) {
    sum += header().losses[i].load(std::memory_order_relaxed);
  }
  return sum;
}

ByName SumByName(const Ring& ring) {
  ByName sums;
  for (const Ring::Kernel& kernel : ring.kernels()) {
    Launched& launched = sums[kernel.name];
    ++launched.count;
    launched.duration_ns += kernel.record.duration_ns;
  }
  return sums;
}

namespace {

// If a name occurs twice, the later value wins.
void Set(Variables& variables, const Variables& more) {
  for (const auto& later : more) {
    std::erase_if(variables, [&](const auto& earlier) { return earlier.first == later.first; });
    variables.push_back(later);
  }
}

}  // namespace

ProcessOptions BareOptions(const Variables& more) {
  ProcessOptions options;
  for (const shm::EnvSpec& spec : shm::kEnvTable) options.unset_env.emplace_back(spec.name);
  options.unset_env.insert(options.unset_env.end(),
                           {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD"});
  options.env = {{"LD_LIBRARY_PATH", FakeGpuDir().string()}};
  Set(options.env, more);
  return options;
}

std::vector<std::string> Command(const std::string& program,
                                 const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {
      program.starts_with('/') ? program : TestProgram(program.c_str()).string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Injected::Injected() {
  std::filesystem::create_directory(session());
}

ProcessOptions Injected::Options(const Variables& more) const {
  Variables variables = {{"CUDA_INJECTION64_PATH", InjectorLibrary().string()},
                         {"STEMTAP_SESSION", session().string()},
                         {"FAKE_GPU_TRUTH", (dir_ / "truth").string()}};
  Set(variables, more);
  return BareOptions(variables);
}

ProcessResult Injected::Run(const std::string& program, const std::vector<std::string>& arguments,
                            const Variables& more) const {
  return RunProcess(Command(program, arguments), Options(more));
}

shm::GateFile& Injected::gate_file() {
  if (gate_ == nullptr) {
    gate_ = new (MapShared(session() / shm::kGateFileName, sizeof(shm::GateFile), O_CREAT))
        shm::GateFile;
    gate_->file_bytes = sizeof(shm::GateFile);
  }
  return *gate_;
}

std::vector<std::filesystem::path> Injected::RingFiles() const {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(session())) {
    if (entry.path().filename().string().starts_with(shm::kRingPrefix)) {
      files.push_back(entry.path());
    }
  }
  return files;
}

std::filesystem::path Injected::RingFile() const {
  const auto files = RingFiles();
  if (files.size() != 1) {
    throw std::runtime_error(std::to_string(files.size()) + " rings in the session, expected one");
  }
  return files[0];
}

Truth Injected::ReadTruth() const {
  Truth truth;
  std::istringstream lines(ReadFile(dir_ / "truth"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.starts_with('#')) {
      std::string word;
      words >> word >> word >> truth.launches >> word >> truth.captured;
      continue;
    }
    Launched launched;
    words >> launched.count >> launched.duration_ns;
    const std::size_t tab = line.rfind('\t');
    truth.by_name[line.substr(tab + 1)] = launched;
  }
  return truth;
}

}  // namespace stemtap::test
