// SPDX-License-Identifier: Apache-2.0
//
// What reading hardware counters costs with CUPTI's Range Profiler, and what a counter data image
// contains.
#include "probe.h"

#if __has_include(<cupti_range_profiler.h>)  // CUDA 12.6 or later
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace gpu_probe {
namespace {

#define GPU_PROBE_RANGES(F)                                                                        \
  F(cuptiProfilerInitialize)                                                                       \
  F(cuptiDeviceGetChipName)                                                                        \
  F(cuptiProfilerGetCounterAvailability)                                                           \
  F(cuptiProfilerHostInitialize)                                                                   \
  F(cuptiProfilerHostConfigAddMetrics)                                                             \
  F(cuptiProfilerHostGetConfigImageSize)                                                           \
  F(cuptiProfilerHostGetConfigImage)                                                               \
  F(cuptiProfilerHostGetNumOfPasses)                                                               \
  F(cuptiProfilerHostEvaluateToGpuValues) F(cuptiRangeProfilerEnable) F(cuptiRangeProfilerDisable) \
      F(cuptiRangeProfilerGetCounterDataSize) F(cuptiRangeProfilerCounterDataImageInitialize)      \
          F(cuptiRangeProfilerSetConfig) F(cuptiRangeProfilerStart) F(cuptiRangeProfilerStop)      \
              F(cuptiRangeProfilerPushRange) F(cuptiRangeProfilerPopRange)                         \
                  F(cuptiRangeProfilerDecodeData) F(cuptiRangeProfilerGetCounterDataInfo)

struct RangeApi {
#define GPU_PROBE_MEMBER(name) decltype(&::name) name = nullptr;
  GPU_PROBE_RANGES(GPU_PROBE_MEMBER)
#undef GPU_PROBE_MEMBER
  bool complete = true;  // since CUDA 12.6

  RangeApi() {
#define GPU_PROBE_FIND(name)                                             \
  name = reinterpret_cast<decltype(name)>(::dlsym(RTLD_DEFAULT, #name)); \
  complete &= name != nullptr;
    GPU_PROBE_RANGES(GPU_PROBE_FIND)
#undef GPU_PROBE_FIND
  }
};

// One pass on GA100, AD102, GH100 and GB100.
constexpr std::array kOnePass = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
                                 "sm__cycles_active.avg", "gpu__time_duration.sum"};
constexpr std::array kSeveralPasses = {"smsp__inst_executed.sum",
                                       "dram__bytes.sum",
                                       "lts__t_sectors.sum",
                                       "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                       "sm__cycles_active.avg",
                                       "gpu__time_duration.sum",
                                       "sm__throughput.avg.pct_of_peak_sustained_elapsed"};
constexpr std::array kGrids = {1u, 132u, 1056u};  // one range each
constexpr std::uint64_t kSpinNs = 20'000;
constexpr int kTimedLaunches = 40;
constexpr std::size_t kMaxRanges = 64;  // of a timed image

#define GPU_PROBE_PARAMS(type, name) \
  type##_Params name = {};           \
  name.structSize = type##_Params_STRUCT_SIZE

double TimeNs(const std::function<void()>& run) {
  const std::uint64_t start = NowNs();
  run();
  return static_cast<double>(NowNs() - start);
}

double MedianNs(const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < kTimedLaunches; ++i) times.push_back(TimeNs(run));
  std::nth_element(times.begin(), times.begin() + kTimedLaunches / 2, times.end());
  return times[kTimedLaunches / 2];
}

// Session profiles one set of metrics.
class Session {
 public:
  Session(const RangeApi& api, const Gpu& gpu, std::vector<const char*> metrics)
      : api_(api), gpu_(gpu), metrics_(std::move(metrics)) {
    GPU_PROBE_PARAMS(CUpti_Device_GetChipName, named);
    Check(api_.cuptiDeviceGetChipName(&named), "cuptiDeviceGetChipName");
    chip_ = named.pChipName;
    GPU_PROBE_PARAMS(CUpti_Profiler_GetCounterAvailability, available);
    available.ctx = gpu_.context;
    Check(api_.cuptiProfilerGetCounterAvailability(&available),
          "cuptiProfilerGetCounterAvailability");
    std::vector<std::uint8_t> availability(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability.data();
    Check(api_.cuptiProfilerGetCounterAvailability(&available),
          "cuptiProfilerGetCounterAvailability");
    GPU_PROBE_PARAMS(CUpti_Profiler_Host_Initialize, host);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip_.c_str();
    host.pCounterAvailabilityImage = availability.data();
    Check(api_.cuptiProfilerHostInitialize(&host), "cuptiProfilerHostInitialize");
    host_ = host.pHostObject;
    GPU_PROBE_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, add);
    add.pHostObject = host_;
    add.ppMetricNames = metrics_.data();
    add.numMetrics = metrics_.size();
    Check(api_.cuptiProfilerHostConfigAddMetrics(&add), "cuptiProfilerHostConfigAddMetrics");
    GPU_PROBE_PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = host_;
    Check(api_.cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize");
    config_.resize(size.configImageSize);
    GPU_PROBE_PARAMS(CUpti_Profiler_Host_GetConfigImage, config);
    config.pHostObject = host_;
    config.configImageSize = config_.size();
    config.pConfigImage = config_.data();
    Check(api_.cuptiProfilerHostGetConfigImage(&config), "cuptiProfilerHostGetConfigImage");
  }

  const std::string& chip() const { return chip_; }
  const std::vector<std::uint8_t>& config() const { return config_; }
  const std::vector<std::uint8_t>& image() const { return image_; }

  std::size_t Passes() {
    GPU_PROBE_PARAMS(CUpti_Profiler_Host_GetNumOfPasses, passes);
    passes.configImageSize = config_.size();
    passes.pConfigImage = config_.data();
    Check(api_.cuptiProfilerHostGetNumOfPasses(&passes), "cuptiProfilerHostGetNumOfPasses");
    return passes.numOfPasses;
  }

  void Enable() {
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_Enable, enable);
    enable.ctx = gpu_.context;
    Check(api_.cuptiRangeProfilerEnable(&enable), "cuptiRangeProfilerEnable");
    ranges_ = enable.pRangeProfilerObject;
  }

  // Begins an empty image of at most `ranges` ranges.
  void Configure(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay, std::size_t ranges) {
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = ranges_;
    size.pMetricNames = metrics_.data();
    size.numMetrics = metrics_.size();
    size.maxNumOfRanges = ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
    Check(api_.cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
    image_.assign(size.counterDataSize, 0);
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, image);
    image.pRangeProfilerObject = ranges_;
    image.counterDataSize = image_.size();
    image.pCounterData = image_.data();
    Check(api_.cuptiRangeProfilerCounterDataImageInitialize(&image),
          "cuptiRangeProfilerCounterDataImageInitialize");
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_SetConfig, set);
    set.pRangeProfilerObject = ranges_;
    set.configSize = config_.size();
    set.pConfig = config_.data();
    set.counterDataImageSize = image_.size();
    set.pCounterDataImage = image_.data();
    set.range = range;
    set.replayMode = replay;
    set.maxRangesPerPass = ranges;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    Check(api_.cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
  }

#define GPU_PROBE_STEP(method, call)                                         \
  void method() {                                                            \
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_##call, step);                      \
    step.pRangeProfilerObject = ranges_;                                     \
    Check(api_.cuptiRangeProfiler##call(&step), "cuptiRangeProfiler" #call); \
  }
  GPU_PROBE_STEP(Start, Start)
  GPU_PROBE_STEP(Stop, Stop)
  GPU_PROBE_STEP(Pop, PopRange)
  GPU_PROBE_STEP(Decode, DecodeData)
  GPU_PROBE_STEP(Disable, Disable)
#undef GPU_PROBE_STEP
  // Returns the result.
  int Push(const std::string& name) {
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_PushRange, push);
    push.pRangeProfilerObject = ranges_;
    push.pRangeName = name.c_str();
    return api_.cuptiRangeProfilerPushRange(&push);
  }

  // Returns the values of each range; null: not collected.
  Json Values() {
    GPU_PROBE_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo, info);
    info.pCounterDataImage = image_.data();
    info.counterDataImageSize = image_.size();
    Check(api_.cuptiRangeProfilerGetCounterDataInfo(&info), "cuptiRangeProfilerGetCounterDataInfo");
    Json ranges = Json::array();
    for (std::size_t r = 0; r < info.numTotalRanges; ++r) {
      std::vector<double> values(metrics_.size());
      GPU_PROBE_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, evaluate);
      evaluate.pHostObject = host_;
      evaluate.pCounterDataImage = image_.data();
      evaluate.counterDataImageSize = image_.size();
      evaluate.rangeIndex = r;
      evaluate.ppMetricNames = metrics_.data();
      evaluate.numMetrics = metrics_.size();
      evaluate.pMetricValues = values.data();
      Check(api_.cuptiProfilerHostEvaluateToGpuValues(&evaluate),
            "cuptiProfilerHostEvaluateToGpuValues");
      Json row;
      for (std::size_t m = 0; m < metrics_.size(); ++m) {
        row[metrics_[m]] = std::isnan(values[m]) ? Json() : Json(values[m]);
      }
      ranges.push_back(row);
    }
    return ranges;
  }

 private:
  const RangeApi& api_;
  const Gpu& gpu_;
  std::vector<const char*> metrics_;
  std::string chip_;
  std::vector<std::uint8_t> config_;
  std::vector<std::uint8_t> image_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* ranges_ = nullptr;
};

void Write(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) Check(1, path.c_str());
}

}  // namespace

// What does reading counters of a launch cost, and what does an image contain? `one_pass` and
// `several_passes`: CUPTI repeats each kernel. `user_ranges`: a range around each launch, in one
// pass.
Json Counters(const Api& api, const Arguments& arguments) {
  const RangeApi ranges;
  if (!ranges.complete) return {{"offered", false}};
  const Gpu gpu(api);
  GPU_PROBE_PARAMS(CUpti_Profiler_Initialize, initialize);
  Check(ranges.cuptiProfilerInitialize(&initialize), "cuptiProfilerInitialize");
  const bool several = arguments.variant == "several_passes";
  Session session(ranges, gpu,
                  several ? std::vector<const char*>(kSeveralPasses.begin(), kSeveralPasses.end())
                          : std::vector<const char*>(kOnePass.begin(), kOnePass.end()));
  const auto launch = [&](unsigned blocks) {
    std::uint64_t ns = kSpinNs;
    void* parameters[] = {&ns};
    Check(api.cuLaunchKernel(gpu.spin, blocks, 1, 1, 32, 1, 1, 0, gpu.stream, parameters, nullptr),
          "cuLaunchKernel");
  };
  const auto launch_and_wait = [&] {
    launch(1);
    gpu.Wait();
  };
  launch_and_wait();
  Json result;
  result["offered"] = true;
  result["chip"] = session.chip();
  result["passes"] = session.Passes();
  result["bare_launch_with_wait_ns"] = MedianNs(launch_and_wait);
  result["enable_ns"] = TimeNs([&] { session.Enable(); });
  if (arguments.variant == "user_ranges") {
    int pushes = 0;
    const auto range = [&] {
      const int pushed = session.Push("range " + std::to_string(pushes++));
      if (pushed != 0) result["failed_push"] = {{"number", pushes}, {"result", pushed}};
      launch_and_wait();
      if (pushed == 0) session.Pop();
    };
    session.Configure(CUPTI_UserRange, CUPTI_UserReplay, kMaxRanges);
    result["start_ns"] = TimeNs([&] { session.Start(); });
    result["range_in_pass_ns"] = MedianNs(range);
    result["stop_ns"] = TimeNs([&] { session.Stop(); });
    result["decode_ns"] = TimeNs([&] { session.Decode(); });
    result["ranges_in_pass"] = session.Values().size();
    session.Configure(CUPTI_UserRange, CUPTI_UserReplay, kMaxRanges);
    result["pass_per_launch_ns"] = MedianNs([&] {
      session.Start();
      range();
      session.Stop();
    });
    session.Decode();
    result["ranges_of_passes"] = session.Values().size();
  } else {
    session.Configure(CUPTI_AutoRange, CUPTI_KernelReplay, kGrids.size());
    result["start_ns"] = TimeNs([&] { session.Start(); });
    for (const unsigned blocks : kGrids) launch(blocks);
    gpu.Wait();
    result["stop_ns"] = TimeNs([&] { session.Stop(); });
    result["decode_ns"] = TimeNs([&] { session.Decode(); });
    result["values_of_1_132_1056_blocks"] = session.Values();
    result["image_bytes"] = session.image().size();
    if (!arguments.images.empty()) {
      const std::string stem = arguments.images + "/" + session.chip() + "-" + arguments.variant;
      Write(stem + ".image", session.image());
      Write(stem + ".config", session.config());
    }
    session.Configure(CUPTI_AutoRange, CUPTI_KernelReplay, kMaxRanges);
    session.Start();
    result["replayed_launch_with_wait_ns"] = MedianNs(launch_and_wait);
    session.Stop();
    session.Decode();
  }
  result["disable_ns"] = TimeNs([&] { session.Disable(); });
  launch_and_wait();
  result["launch_with_wait_after_ns"] = MedianNs(launch_and_wait);
  return result;
}

}  // namespace gpu_probe

#else

gpu_probe::Json gpu_probe::Counters(const Api&, const Arguments&) {
  return {{"offered", false}, {"reason", "gpu_probe was built with older headers"}};
}

#endif
