#!/usr/bin/awk -f
# SPDX-License-Identifier: Apache-2.0
#
# Imitates a simulator without errors: reads the samples that `stemtap export --weights-csv` wrote, assigns 1.4 cycles
# per nanosecond of the profile and one instruction per four cycles, and prints a log in the format of Accel-Sim or
# MacSim. It shows how results are read; it proves nothing about the simulators.
#
#   awk -f simulate.awk -v form=accelsim samples.csv
#   awk -f simulate.awk -v form=macsim samples.csv
BEGIN { FS = "," }

NR == 1 { next }
seen[$1]++ { next }  # drawn twice, simulated once

{
  ids[++count] = $1
  # A kernel name may contain commas; 13 columns follow it.
  name = $5
  for (i = 6; i <= NF - 13; ++i) name = name "," $i
  gsub(/^"|"$/, "", name)
  names[count] = name
  cycles[count] = int(1.4 * $(NF - 5) + 0.5)
}

END {
  for (i = 1; i <= count; ++i) {
    if (form == "macsim") {
      printf "setup_process:0 traces/Kernel%d/trace.txt current_index:%d (%d)\n", ids[i], i - 1, count
      all += cycles[i]
      printf "**Core 00 Thread 0 Finished:   insts:%d  cycles:%d (%d)\n", cycles[i] / 4, all, all
    } else {
      printf "Processing kernel traces/kernel-%d.traceg.xz\n-kernel name = %s\n-kernel id = %d\n", ids[i], names[i], ids[i]
      printf "launching kernel name: %s uid: %d cuda_stream_id: 0\n", names[i], i
      printf "kernel_name = %s \nkernel_launch_uid = %d \n", names[i], i
      printf "gpu_sim_cycle = %d\ngpu_sim_insn = %d\n", cycles[i], cycles[i] / 4
    }
  }
  if (form != "macsim") print "GPGPU-Sim: *** exit detected ***"
}
