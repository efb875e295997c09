// SPDX-License-Identifier: Apache-2.0
#include "player.h"

#include <time.h>

#include <algorithm>

#include "fake_gpu.h"
#include "stemtap/control.h"

namespace stemtap {
namespace {

// Large enough to amortize the barrier and small enough for the cache.
constexpr std::size_t kBatch = 4096;
// The stream id for profiles without stream ids, which CUPTI reports for the default stream.
constexpr std::uint32_t kUnknownStreamId = 7;

std::uint64_t SteadyNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void SleepUntil(std::uint64_t steady_ns) {
  if (SteadyNow() >= steady_ns) return;
  timespec until;
  until.tv_sec = static_cast<time_t>(steady_ns / 1'000'000'000);
  until.tv_nsec = static_cast<long>(steady_ns % 1'000'000'000);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

Status Checked(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return Success{};
  return Error{std::string(what) + ": CUDA error " + std::to_string(static_cast<int>(result))};
}

// Makes `path` the open ranges of the calling thread: closes and opens those that differ.
void EnterRange(std::string_view path) {
  static thread_local std::string open;
  if (path == open) return;
  const auto names_of = [](std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('/'), text.size());
      names.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return names;
  };
  const std::vector<std::string> before = names_of(open);
  const std::vector<std::string> now = names_of(path);
  const auto kept = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.end(), now.begin(), now.end()).first - before.begin());
  for (std::size_t i = before.size(); i > kept; --i) stemtap_range_pop();
  for (std::size_t i = kept; i < now.size(); ++i) stemtap_range_push(now[i].c_str());
  open = path;
}

unsigned AtLeastOne(std::uint32_t extent) {
  return extent == shm::kUnknownExtent ? 1 : extent;
}

}  // namespace

Player::Player(const PlayOptions& options) : options_(options), begin_ns_(SteadyNow()) {
  if (cuDeviceGetCount(&devices_) != CUDA_SUCCESS || devices_ < 1) devices_ = 1;
  contexts_.resize(static_cast<std::size_t>(devices_));
  if (options_.threads < 2) return;
  barrier_ = std::make_unique<std::barrier<>>(static_cast<std::ptrdiff_t>(options_.threads));
  for (unsigned thread = 1; thread < options_.threads; ++thread) {
    threads_.emplace_back([this, thread] { RunThread(thread); });
  }
}

Player::~Player() {
  stop_ = true;
  if (barrier_) barrier_->arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

void Player::RunThread(unsigned thread) {
  for (;;) {
    barrier_->arrive_and_wait();
    if (stop_) return;
    LaunchShare(thread);
    barrier_->arrive_and_wait();
  }
}

Status Player::AddStream(std::pair<int, std::uint32_t> key) {
  CUcontext& context = contexts_[static_cast<std::size_t>(key.first)];
  if (context == nullptr) {
    const Status retained =
        Checked(cuDevicePrimaryCtxRetain(&context, key.first), "cuDevicePrimaryCtxRetain");
    if (!retained) return retained;
  }
  if (module_ == nullptr) {
    // One module serves all devices, because the simulated GPU launches a function in any stream.
    if (const Status set = Checked(cuCtxSetCurrent(context), "cuCtxSetCurrent"); !set) return set;
    const Status loaded = Checked(cuModuleLoadData(&module_, ""), "cuModuleLoadData");
    if (!loaded) return loaded;
  }
  Stream stream = {nullptr, static_cast<unsigned>(streams_.size()) % options_.threads};
  const Status created =
      Checked(fakeGpuStreamCreate(&stream.handle, key.first, key.second), "fakeGpuStreamCreate");
  if (!created) return created;
  streams_.emplace(key, stream);
  return Success{};
}

Status Player::Prepare(const model::ProfileReader& reader) {
  batch_streams_.clear();
  std::pair<int, std::uint32_t> last_key{-1, 0};
  const Stream* last = nullptr;
  for (const shm::KernelRecord& record : batch_.records) {
    const int device = record.device == shm::kUnknown16 ? 0 : record.device % devices_;
    const std::pair key(device,
                        record.stream == shm::kUnknown32 ? kUnknownStreamId : record.stream);
    if (key != last_key) {
      if (!streams_.contains(key)) {
        if (const Status added = AddStream(key); !added) return added;
      }
      last_key = key;
      last = &streams_.at(key);
    }
    batch_streams_.push_back(last);
    if (first_start_ns_ == shm::kUnknownTime) first_start_ns_ = record.start_ns;
  }
  for (std::size_t id = functions_.size(); id < reader.names().size(); ++id) {
    const std::string& name = reader.names().name(static_cast<std::uint32_t>(id));
    CUfunction function = nullptr;
    const Status found =
        Checked(cuModuleGetFunction(&function, module_, name.c_str()), "cuModuleGetFunction");
    if (!found) return found;
    functions_.push_back(function);
    ranges_.emplace_back(reader.names().range(static_cast<std::uint32_t>(id)));
  }
  return Success{};
}

void Player::WaitForTurn(const shm::KernelRecord& record, std::uint64_t index) {
  if (options_.rate > 0 && index % 64 == 0) {
    SleepUntil(begin_ns_ +
               static_cast<std::uint64_t>(static_cast<double>(index) / options_.rate * 1e9));
  }
  if (options_.real_time && record.start_ns != shm::kUnknownTime &&
      record.start_ns > first_start_ns_) {
    SleepUntil(begin_ns_ + (record.start_ns - first_start_ns_));
  }
}

void Player::LaunchOne(const shm::KernelRecord& record, CUstream stream) {
  std::uint64_t duration_ns = record.duration_ns;
  void* params[] = {&duration_ns};
  const unsigned shared = record.shared_bytes == shm::kUnknown32 ? 0 : record.shared_bytes;
  const CUresult result = cuLaunchKernel(
      functions_[record.name_id], AtLeastOne(record.grid[0]), AtLeastOne(record.grid[1]),
      AtLeastOne(record.grid[2]), AtLeastOne(record.block[0]), AtLeastOne(record.block[1]),
      AtLeastOne(record.block[2]), shared, stream, params, nullptr);
  if (result != CUDA_SUCCESS) failure_.store(result, std::memory_order_relaxed);
}

void Player::LaunchShare(unsigned thread) {
  for (std::size_t row = 0; row < batch_.records.size(); ++row) {
    if (batch_streams_[row]->thread != thread) continue;
    WaitForTurn(batch_.records[row], launches_ + row);
    EnterRange(ranges_[batch_.records[row].name_id]);
    if (row < batch_.steps.size() && batch_.steps[row] != shm::kNoStep) {
      for (; steps_ <= batch_.steps[row]; ++steps_) stemtap_step();
    }
    LaunchOne(batch_.records[row], batch_streams_[row]->handle);
  }
}

void Player::LaunchBatch() {
  if (barrier_) barrier_->arrive_and_wait();
  LaunchShare(0);
  if (barrier_) barrier_->arrive_and_wait();
  launches_ += batch_.records.size();
}

Status Player::Play(model::ProfileReader& reader) {
  functions_.clear();
  ranges_.clear();
  first_start_ns_ = shm::kUnknownTime;
  if (options_.real_time) begin_ns_ = SteadyNow();
  for (;;) {
    const Result<std::size_t> read = reader.Read(batch_, kBatch);
    if (!read.ok()) return read.error();
    if (batch_.records.empty()) return Success{};
    if (const Status prepared = Prepare(reader); !prepared) return prepared;
    LaunchBatch();
    const Status launched = Checked(failure_.load(std::memory_order_relaxed), "cuLaunchKernel");
    if (!launched) return launched;
  }
}

Status Player::Finish() {
  for (const CUcontext context : contexts_) {
    if (context == nullptr) continue;
    if (const Status set = Checked(cuCtxSetCurrent(context), "cuCtxSetCurrent"); !set) return set;
    if (const Status done = Checked(cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  }
  for (const auto& [key, stream] : streams_) {
    const Status destroyed = Checked(cuStreamDestroy(stream.handle), "cuStreamDestroy");
    if (!destroyed) return destroyed;
  }
  streams_.clear();
  if (module_ == nullptr) return Success{};
  return Checked(cuModuleUnload(std::exchange(module_, nullptr)), "cuModuleUnload");
}

}  // namespace stemtap
