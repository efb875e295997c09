#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Nsight Systems -> plan -> Accel-Sim: profiles a program once, chooses the launches that represent it,
# and traces only these.
#
#   TRACER=/path/tracer_tool.so sh nsys_to_accelsim.sh PROGRAM [ARGUMENT...]
#
# Then simulate the traces (after the tracer's post-traces-processing). To compute the program's cycles from the log:
#
#   SIMULATOR_LOG=accelsim.log sh nsys_to_accelsim.sh
#
# Environment: OUT (directory for all files, accelsim-run), STEMTAP_PLAN_OPTIONS (as for `stemtap plan`,
# e.g. '--error-bound 0.03'), STEMTAP and NSYS (the programs).
set -eu
: "${OUT:=accelsim-run}" "${STEMTAP:=stemtap}" "${NSYS:=nsys}" "${STEMTAP_PLAN_OPTIONS:=}"

if [ -n "${SIMULATOR_LOG-}" ]; then
  exec "$STEMTAP" extrapolate --plan "$OUT/plan.json" --results "$SIMULATOR_LOG" --from accelsim
fi
if [ $# -eq 0 ] || [ -z "${TRACER-}" ]; then
  sed -n '4,14s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
mkdir -p "$OUT"

# Kernels of CUDA graphs are recorded only with --cuda-graph-trace=node.
"$NSYS" profile --trace=cuda --cuda-graph-trace=node --force-overwrite=true -o "$OUT/run" "$@"
"$NSYS" export --type=sqlite --force-overwrite=true -o "$OUT/run.sqlite" "$OUT/run.nsys-rep"

# shellcheck disable=SC2086  # the options are words
"$STEMTAP" plan "$OUT/run.sqlite" -o "$OUT/plan.json" $STEMTAP_PLAN_OPTIONS
rm -f "$OUT"/accelsim.env "$OUT"/accelsim.env.*
"$STEMTAP" export --plan "$OUT/plan.json" --profile "$OUT/run.sqlite" --to accelsim -o "$OUT/accelsim.env"

# There are several settings if the list of launches is too long for one. Each needs a run of the program and its own
# directory, because the tracer starts a new list of traces.
run=0
for setting in "$OUT"/accelsim.env "$OUT"/accelsim.env.*; do
  [ -e "$setting" ] || continue
  run=$((run + 1))
  mkdir -p "$OUT/$run"
  # shellcheck disable=SC1090  # written above
  (. "$setting" && USER_DEFINED_FOLDERS=1 TRACES_FOLDER="$OUT/$run" CUDA_INJECTION64_PATH="$TRACER" "$@")
done
again=$(printf '%s' "$0" | sed "s/'/'\\\\''/g")
printf "Traces are in %s/1 to %s/%d (recent tracers: traces below it). Simulate them, then: SIMULATOR_LOG=<log> sh '%s'\n" \
  "$OUT" "$OUT" "$run" "$again"
