// SPDX-License-Identifier: Apache-2.0
//
//   fleet_load URL [RUNS] [KERNELS] [SECONDS]
//
// Loads a Redis server as the collectors of a long job do: RUNS (1,000) collectors with KERNELS
// (500) kernels each, one update per collector in 5 s, with the kernels that an hour-long run
// reports again in that time, and a leader that reads the changes and decides. Prints what the
// server and the leader take. The server should be idle otherwise.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fleet/job.h"
#include "fleet/leader.h"
#include "fleet/member.h"

namespace stemtap::fleet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPeriodS = 5.0;
// A run of an hour grows by 5 s in 3,600, and a kernel is reported when it has grown by an eighth.
constexpr double kReportedAgain = (kPeriodS / 3600.0) / 0.118;

// Returns the value of `name` in a text of INFO.
double Figure(const std::string& info, const std::string& name) {
  const std::size_t at = info.find(name);
  return at == std::string::npos ? 0.0 : std::atof(info.c_str() + at + name.size());
}

double ServerCpu(Redis& server) {
  const std::string info = server.Call({"INFO", "cpu"}).value().text;
  return Figure(info, "used_cpu_user:") + Figure(info, "used_cpu_sys:");
}

double ServerBytes(Redis& server) {
  const std::string info = server.Call({"INFO", "stats"}).value().text;
  return Figure(info, "total_net_input_bytes:") + Figure(info, "total_net_output_bytes:");
}

class Collector {
 public:
  Collector(const RedisUrl& url, int number, int kernels) : job_(url, "load"), random_(number) {
    update_.run.id = fmt::format("run-{}", number);
    update_.run.rank = static_cast<std::uint64_t>(number);
    for (int k = 0; k < kernels; ++k) {
      const model::KernelId id = {fmt::format("kernel_of_a_large_model_{}", k)};
      ids_.push_back(id);
      keys_.push_back(KeyOf(id));
      sketches_.emplace_back();
      Launch(static_cast<std::size_t>(k), 1000);
    }
  }

  // Reports all kernels, in parts as a member of a job does.
  bool SendAll() {
    std::size_t left = keys_.size();
    while (left > 0) {
      const std::size_t part = std::min(left, Member::kFieldsAtOnce);
      if (!Send(part)) return false;
      left -= part;
    }
    return true;
  }

  // Reports the next `count` kernels.
  bool Send(std::size_t count) {
    ++update_.number;
    update_.new_kernels.clear();
    update_.sketches.clear();
    update_.traits.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t kernel = next_ % keys_.size();
      if (next_++ < keys_.size()) {
        update_.new_kernels.emplace_back(keys_[kernel], PackId(ids_[kernel]));
      }
      Launch(kernel, 125);
      update_.sketches.emplace_back(keys_[kernel], PackSketch(sketches_[kernel]));
      online::Cluster cluster;
      cluster.source.price_ns = 5000.0;
      online::KernelReport report;
      report.clusters = {&cluster, 1};
      update_.traits.emplace_back(keys_[kernel], PackTraits(report));
    }
    const Result<Answer> answer = job_.Send(update_, version_);
    if (answer.ok()) version_ = answer.value().version;
    return answer.ok();
  }

 private:
  void Launch(std::size_t kernel, int launches) {
    std::normal_distribution<double> duration(5000.0 + 37.0 * static_cast<double>(kernel), 250.0);
    for (int i = 0; i < launches; ++i) {
      sketches_[kernel].Add(static_cast<std::uint64_t>(std::max(1.0, duration(random_))));
    }
    update_.run.launches += static_cast<std::uint64_t>(launches);
  }

  Job job_;
  Update update_;
  std::uint64_t version_ = 0;
  std::mt19937_64 random_;
  std::vector<model::KernelId> ids_;
  std::vector<std::uint64_t> keys_;
  std::vector<stats::LogSketch> sketches_;
  std::size_t next_ = 0;
};

// Reads the changes and decides twice a second. Returns the processor time per second.
double Lead(const RedisUrl& url, const std::atomic<bool>& stops) {
  Job job(url, "load");
  Leader leader(sampling::SamplingOptions(), {1024});
  const auto cpu = [] {
    timespec now = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const auto read = [&] {
    const Result<std::vector<RunState>> changes = job.ReadChanges();
    if (!changes.ok()) return;
    for (const RunState& state : changes.value()) {
      leader.SetRun(state.run.id, true);
      for (const auto& [key, sketch] : state.sketches) leader.SetSketch(state.run.id, key, sketch);
      for (const auto& [key, traits] : state.traits) leader.SetTraits(state.run.id, key, traits);
    }
  };
  const double before_first = cpu();
  read();
  const double read_first = cpu();
  leader.Decide();
  fmt::print("the leader reads all runs once: {:.2f} s of a core, and decides: {:.2f} s\n",
             read_first - before_first, cpu() - read_first);
  const Clock::time_point begin = Clock::now();
  const double before = cpu();
  while (!stops) {
    read();
    leader.Decide();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  return (cpu() - before) / std::chrono::duration<double>(Clock::now() - begin).count();
}

int Load(const RedisUrl& url, int runs, int kernels, double seconds) {
  Redis server(url);
  if (!server.Call({"CONFIG", "RESETSTAT"}).ok()) return 1;
  std::vector<std::unique_ptr<Collector>> collectors;
  for (int i = 0; i < runs; ++i) {
    collectors.push_back(std::make_unique<Collector>(url, i, kernels));
    if (!collectors.back()->SendAll()) return 1;
  }
  const std::string memory = server.Call({"INFO", "memory"}).value().text;
  fmt::print("memory of the server: {:.0f} MB\n", 1e-6 * Figure(memory, "used_memory:"));
  std::string latency = server.Call({"INFO", "latencystats"}).value().text;
  fmt::print("script time of the parts of updates with {} kernels: {}\n", kernels,
             latency.substr(latency.find("_eval:") + 6, latency.find('\n', latency.find("_eval:")) -
                                                            latency.find("_eval:") - 7));

  std::atomic<bool> stops{false};
  double leader = 0.0;
  std::thread thread([&] { leader = Lead(url, stops); });
  std::this_thread::sleep_for(std::chrono::seconds(3));
  if (!server.Call({"CONFIG", "RESETSTAT"}).ok()) return 1;
  const double cpu = ServerCpu(server);
  const double bytes = ServerBytes(server);
  const auto again = static_cast<std::size_t>(std::max(1.0, kReportedAgain * kernels));
  const Clock::time_point begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<double> took;
  std::size_t sent = 0;
  for (; elapsed() < seconds; ++sent) {
    const double due = static_cast<double>(sent) * kPeriodS / runs;
    if (due > elapsed())
      std::this_thread::sleep_for(std::chrono::duration<double>(due - elapsed()));
    const Clock::time_point start = Clock::now();
    collectors[sent % collectors.size()]->Send(again);
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  const double lasted = elapsed();
  latency = server.Call({"INFO", "latencystats"}).value().text;
  const double server_cpu = (ServerCpu(server) - cpu) / lasted;
  const double rate = (ServerBytes(server) - bytes) / lasted;
  stops = true;
  thread.join();
  std::sort(took.begin(), took.end());
  fmt::print("{} updates of {} kernels in {:.1f} s ({:.0f} per second)\n", sent, again, lasted,
             static_cast<double>(sent) / lasted);
  fmt::print("server: {:.1f} % of a core, {:.2f} MB/s\n", 100 * server_cpu, 1e-6 * rate);
  fmt::print("script time: {}\n",
             latency.substr(latency.find("_eval:") + 6, latency.find('\n', latency.find("_eval:")) -
                                                            latency.find("_eval:") - 7));
  fmt::print("an update takes {:.2f} ms in the median, p99 {:.2f} ms\n", took[took.size() / 2],
             took[took.size() * 99 / 100]);
  fmt::print("leader: {:.2f} % of a core\n", 100 * leader);
  return 0;
}

}  // namespace
}  // namespace stemtap::fleet

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "fleet_load URL [RUNS] [KERNELS] [SECONDS]\n");
    return 2;
  }
  const auto url = stemtap::fleet::ParseRedisUrl(argv[1]);
  if (!url.ok()) {
    fmt::print(stderr, "{}\n", url.error().message);
    return 2;
  }
  const auto number = [&](int at, int fallback) {
    return argc > at ? std::atoi(argv[at]) : fallback;
  };
  return stemtap::fleet::Load(url.value(), number(2, 1000), number(3, 500), number(4, 30));
}
