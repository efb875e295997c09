// SPDX-License-Identifier: Apache-2.0
//
// A small handmade session with the files that a collector writes. It contains a name that could
// end its script element if it were not escaped, and numbers that do not fit a double.
#pragma once

namespace stemtap::test {

inline constexpr char kPlanJson[] = R"({
 "schema": "stemtap.plan/1", "tool": "stemtap 0.1.0", "source": "run.csv",
 "options": {"error_bound": 0.05000000000000000001, "seed": 9007199254740993},
 "totals": {"invocations": 30, "duration_ns": 300, "kernels": 2, "clusters": 2, "samples": 3,
            "sampled_duration_ns": 30, "speedup": 10.000000000000000001, "bound": 0.049, "observed_error": 0.0,
            "plain_estimate_ns": 300.0, "calibrated_estimate_ns": 300.0, "uncovered_fraction": 0.0, "dropped": 0,
            "gaps": 0, "zero_duration": 0},
 "kernels": [
  {"name": "</script><script>alert(1)</script>", "invocations": 20, "duration_ns": 200, "clusters": [
    {"lower_ns": 8, "upper_ns": 12, "count": 20, "mean_ns": 10.0, "stddev_ns": 1.0, "target": 2, "captured": 2, "samples": [
      {"index": 4, "occurrence": 2, "device": 0, "stream": 7, "grid": [1,1,1], "block": [64,1,1], "duration_ns": 10, "weight": 10.0},
      {"index": 8, "occurrence": 4, "device": 0, "stream": 7, "grid": [1,1,1], "block": [64,1,1], "duration_ns": 10, "weight": 10.0}]}]},
  {"name": "gemm", "invocations": 10, "duration_ns": 100, "clusters": [
    {"lower_ns": 8, "upper_ns": 12, "count": 10, "mean_ns": 10.0, "stddev_ns": 1.0, "target": 1, "captured": 1, "samples": [
      {"index": 5, "occurrence": 2, "device": null, "stream": null, "grid": null, "block": null, "duration_ns": 10, "weight": 10.0}]}]}]}
)";

inline constexpr char kSessionJson[] =
    R"({"schema": "stemtap.session/1", "tool": "stemtap 0.1.0", "mode": "live", "command": ["python3", "a.py"], "options": {}, "host": {"name": "n"}, "elapsed_s": 1.0, "exit_code": 0, "signal": 0, "counters": {"seen": 30, "kept": 30, "dropped": 0, "gaps": 0}, "processes": [], "devices": [], "warnings": []})"
    "\n";

inline constexpr char kOverviewJson[] =
    R"({"schema": "stemtap.overview/1", "mode": "live", "state": "ended", "timeline": [], "kernels": []})"
    "\n";

inline constexpr char kEvaluationJson[] =
    R"({"schema": "stemtap.evaluation/1", "options": {}, "workloads": [], "rows": [], "summary": [], "left_out": []})"
    "\n";

inline constexpr char kMask[] =
    R"({"event":"capture","index":4,"kernel":"</script><script>alert(1)</script>","occurrence":2,"cluster":0,"time_ns":1732180000123456789}
{"event":"close","index":5,"kernel":"gemm","occurrence":2,"cluster":0,"time_ns":null}
)";

}  // namespace stemtap::test
