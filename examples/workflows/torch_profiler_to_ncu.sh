#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# torch.profiler -> plan -> Nsight Compute: reads the trace of a PyTorch program, chooses the launches
# that represent it, collects hardware counters of only these, and prints the counters of the whole run.
#
#   sh torch_profiler_to_ncu.sh TRACE.json.gz PROGRAM [ARGUMENT...]
#
# TRACE.json.gz is a trace of the same program from torch.profiler.profile(...).export_chrome_trace().
# Environment: OUT (directory for all files, ncu-run), METRICS (of ncu, comma-separated),
# STEMTAP_PLAN_OPTIONS (as for `stemtap plan`), STEMTAP and NCU (the programs).
set -eu
: "${OUT:=ncu-run}" "${STEMTAP:=stemtap}" "${NCU:=ncu}" "${STEMTAP_PLAN_OPTIONS:=}"
: "${METRICS:=smsp__inst_executed.sum,dram__bytes.sum,gpu__time_duration.sum}"

if [ $# -lt 2 ]; then
  sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
trace=$1
shift
mkdir -p "$OUT"
rm -f "$OUT"/ncu.sh* "$OUT"/report.*

# shellcheck disable=SC2086  # the options are words
"$STEMTAP" plan "$trace" -o "$OUT/plan.json" $STEMTAP_PLAN_OPTIONS
"$STEMTAP" export "$OUT/plan.json" --profile "$trace" --to ncu -o "$OUT/ncu.sh"
NCU="$NCU" NCU_OPTIONS="--metrics $METRICS" REPORT="$OUT/report" sh "$OUT/ncu.sh" "$@"

# Each run of ncu.sh writes one table, of one kernel or of a window of launches. A run without any of its launches leaves
# none; `stemtap extrapolate` lists the samples without a result.
"$STEMTAP" extrapolate "$OUT/plan.json" --results "$OUT"/report.*.csv
