#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# torch.profiler -> plan -> Nsight Compute: reads the trace of a PyTorch program, chooses the launches
# that stand for it, collects hardware counters of those alone, and prints the counters of the whole.
#
#   sh torch_profiler_to_ncu.sh TRACE.json.gz PROGRAM [ARGUMENT...]
#
# TRACE.json.gz is what torch.profiler.profile(...).export_chrome_trace() wrote of the same program.
# Environment: OUT (folder for all files, ncu-run), METRICS (of ncu, comma-separated),
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
"$STEMTAP" export --plan "$OUT/plan.json" --profile "$trace" --to ncu -o "$OUT/ncu.sh"
NCU="$NCU" NCU_OPTIONS="--metrics $METRICS" REPORT="$OUT/report" sh "$OUT/ncu.sh" "$@"

# One report per run of ncu.sh: of one kernel, or of a window of launches. Launch order holds within a
# kernel alone, and only where the reports are given by number. A run that met none of its launches
# leaves no report; `stemtap extrapolate` says which samples are without a result.
set --
runs=$(grep -c '^"\$NCU"' "$OUT/ncu.sh" || true)
run=1
while [ "$run" -le "$runs" ]; do
  if [ -e "$OUT/report.$run.ncu-rep" ]; then
    "$NCU" --import "$OUT/report.$run.ncu-rep" --csv --page raw --rename-kernels no >"$OUT/report.$run.csv"
    set -- "$@" "$OUT/report.$run.csv"
  fi
  run=$((run + 1))
done
if [ $# -eq 0 ]; then
  echo "no report of $runs runs in $OUT, expected $OUT/report.<run>.ncu-rep" >&2
  exit 1
fi
"$STEMTAP" extrapolate --plan "$OUT/plan.json" --results "$@" --from ncu
