/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that installs a seccomp filter after CUDA is initialized: from then on,
 * process_vm_readv in any of its threads ends the program. The first argument is the number of
 * kernels to launch. Exits with 77 if no such filter can be installed.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/victim.h"

static int Confine(void) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog filter = {sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

int main(int argc, char** argv) {
  const long launches = LaunchCount(argc, argv);
  Victim victim;
  Check(cuInit(0), "cuInit");
  if (!Confine()) return 77;
  Open(&victim);
  LaunchMany(&victim, launches);
  Close(&victim);
  printf("%ld launches\n", launches);
  return 0;
}
