// SPDX-License-Identifier: Apache-2.0
//
// gpu_probe measures the cost and the undocumented behavior of CUPTI, which the simulated GPU
// cannot show, on a real GPU and driver.
//
//   gpu_probe [--cupti PATH] [--graph-launches N] [--images DIR] [EXPERIMENT...]
//
// It prints JSON to stdout. With --images, the experiments `counters` write counter data images.
//
// Without names it runs all experiments, each in its own process. If an experiment fails, its
// result is an "error", and the exit code is 1.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "probe.h"

namespace gpu_probe {
namespace {

struct Experiment {
  const char* name;
  const char* variant;
  Json (*run)(const Api&, const Arguments&);
};
constexpr Experiment kExperiments[] = {{"callbacks", "", Callbacks},
                                       {"records", "kernels", Records},
                                       {"records", "graphs", Records},
                                       {"subscribing", "", Subscribing},
                                       {"takeover", "", Takeover},
                                       {"threads", "", Threads},
                                       {"graph_leak", "kernels", GraphLeak},
                                       {"graph_leak", "copies", GraphLeak},
                                       {"hardware_trace", "", HardwareTrace},
                                       {"profiler_bracket", "", ProfilerBracket},
                                       {"counters", "one_pass", Counters},
                                       {"counters", "several_passes", Counters},
                                       {"counters", "user_ranges", Counters},
                                       {"preload_alone", "", PreloadAlone}};

// Per experiment; the longest should take about one minute.
constexpr unsigned kMaxSeconds = 150;

std::string FullName(const Experiment& e) {
  return *e.variant == 0 ? e.name : std::string(e.name) + "-" + e.variant;
}

struct Options {
  std::string cupti = "libcupti.so";
  std::string graph_launches;
  std::string images;
  std::vector<std::string> names;
  bool alone = false;  // run one experiment in this process
};

int Use() {
  std::fprintf(
      stderr,
      "usage: gpu_probe [--cupti PATH] [--graph-launches N] [--images DIR] [EXPERIMENT...]\n"
      "experiments:");
  for (const Experiment& e : kExperiments) std::fprintf(stderr, " %s", FullName(e).c_str());
  std::fprintf(stderr, "\n");
  return 2;
}

// Runs the experiment in this process and prints one line.
int RunAlone(const Experiment& experiment, const Options& options) {
  Arguments arguments;
  arguments.variant = experiment.variant;
  arguments.images = options.images;
  if (!options.graph_launches.empty()) {
    arguments.graph_launches = std::strtoull(options.graph_launches.c_str(), nullptr, 10);
  }
  const Api api = LoadApi(options.cupti);
  Check(api.cuInit(0), "cuInit");
  std::printf("%s\n", experiment.run(api, arguments).dump().c_str());
  std::fflush(stdout);
  ::_exit(0);  // CUPTI's threads may use buffers, so nothing is destroyed
}

std::string Directory() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path) - 1);
  const std::string self(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return self.substr(0, self.rfind('/'));
}

Json RunApart(const Experiment& experiment, const Options& options) {
  int ends[2];
  if (::pipe(ends) != 0) return {{"error", "no pipe"}};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    if (experiment.run == PreloadAlone) {
      ::unsetenv("CUDA_INJECTION64_PATH");
      ::setenv("LD_PRELOAD", (Directory() + "/libgpu_probe_injection.so").c_str(), 1);
    }
    std::vector<std::string> words = {"gpu_probe", "--alone", "--cupti", options.cupti};
    if (!options.graph_launches.empty()) {
      words.insert(words.end(), {"--graph-launches", options.graph_launches});
    }
    if (!options.images.empty()) words.insert(words.end(), {"--images", options.images});
    words.push_back(FullName(experiment));
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::alarm(kMaxSeconds);  // survives exec; a hang is also a result
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = ::read(ends[0], piece, sizeof(piece))) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Json answer = Json::parse(text, nullptr, false);
  if (WIFSIGNALED(status)) return {{"error", "signal " + std::to_string(WTERMSIG(status))}};
  if (status != 0) return {{"error", "exit code " + std::to_string(WEXITSTATUS(status))}};
  return answer.is_discarded() ? Json{{"error", "no answer"}} : answer;
}

Json Describe(const Options& options) {
  const Api api = LoadApi(options.cupti);
  int driver = 0;
  int major = 0;
  int minor = 0;
  std::uint32_t cupti = 0;
  CUdevice device = 0;
  char name[256] = {};
  Check(api.cuInit(0), "cuInit");
  Check(api.cuDriverGetVersion(&driver), "cuDriverGetVersion");
  Check(api.cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(api.cuDeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName");
  api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  Check(api.cuptiGetVersion(&cupti), "cuptiGetVersion");
  return {{"device", name},
          {"compute_capability", std::to_string(major) + "." + std::to_string(minor)},
          {"driver_version", driver},
          {"cupti_version", cupti}};
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--alone") {
      options.alone = true;
    } else if (word == "--cupti" && i + 1 < argc) {
      options.cupti = argv[++i];
    } else if (word == "--graph-launches" && i + 1 < argc) {
      options.graph_launches = argv[++i];
    } else if (word == "--images" && i + 1 < argc) {
      options.images = argv[++i];
    } else {
      options.names.push_back(word);
    }
  }
  std::vector<const Experiment*> wanted;
  for (const Experiment& e : kExperiments) {
    const bool named =
        std::find(options.names.begin(), options.names.end(), FullName(e)) != options.names.end();
    if (named || options.names.empty()) wanted.push_back(&e);
  }
  if (wanted.size() != (options.names.empty() ? std::size(kExperiments) : options.names.size())) {
    return Use();
  }
  if (options.alone) return wanted.size() == 1 ? RunAlone(*wanted[0], options) : Use();
  // Runs the children first: a process that has initialized CUDA must not fork.
  Json answers;
  bool failed = false;
  for (const Experiment* experiment : wanted) {
    answers[FullName(*experiment)] = RunApart(*experiment, options);
    const Json& answer = answers[FullName(*experiment)];
    failed |= answer.is_object() && answer.contains("error");
  }
  Json all = {{"machine", Describe(options)}, {"experiments", answers}};
  std::printf("%s\n", all.dump(2).c_str());
  std::fflush(stdout);
  ::_exit(failed ? 1 : 0);
}

}  // namespace
}  // namespace gpu_probe

int main(int argc, char** argv) {
  return gpu_probe::Main(argc, argv);
}
