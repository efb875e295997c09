/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that tests/chaos runs under faults. Its arguments, NAME=VALUE each, define its
 * launches and its end:
 *
 *   launches=N threads=T devices=D ranks=R   amount of work
 *   names=plain|hostile                      hostile: escape sequences, quotes, newlines, 20 kB
 *   work=plain|reload|graph                  one thread for the latter two
 *   ranges=0|1                               1: launches are in the ranges prefill and decode, but
 *                                            not those of graphs and of storms
 *   end=...                                  see End() and main()
 *
 * It prints its launches and everything that a guest could have changed: open files, children,
 * signals, its own memory. The output is the same in every run with the same arguments, so any
 * difference was caused by the guest. If a line cannot be written, the exit code is 21.
 *
 * If CHAOS_PIDS names a directory, each process creates a directory in it, named by its pid, when
 * it starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stemtap/control.h"
#include "victim.h"

enum {
  kMaxThreads = 4096,
  kMaxDevices = 16,
  kHostileBytes = 20000,
  kStackBytes = 256 * 1024,
  kNodes = 10
};

typedef struct Arguments {
  long launches;
  int threads, devices, ranks, hostile, ranges;
  const char *work, *end;
} Arguments;

typedef struct Work {
  const Victim* shared;
  long first, count, stride;
} Work;

static Victim g_victims[kMaxDevices];
static char g_hostile_names[kKernels][kHostileBytes + 1];
static Arguments g_arguments = {1000, 1, 1, 1, 0, 0, "plain", "return"};
static volatile sig_atomic_t g_sigchld = 0;
static int g_output_failed = 0;
static long g_endless = 0; /* storm: launches so far, by all threads */

static void CountChild(int signal) {
  (void)signal;
  ++g_sigchld;
}

/* Writes only complete lines, each by one write(2), so that a child cannot flush a buffer again. */
static void Say(const char* line) {
  const size_t size = strlen(line);
  if (write(STDOUT_FILENO, line, size) != (ssize_t)size) g_output_failed = 1;
}

static int Code(int code) {
  return g_output_failed ? 21 : code;
}

static void ParseArguments(int argc, char** argv, Arguments* a) {
  for (int i = 1; i < argc; ++i) {
    const char* value = strchr(argv[i], '=');
    if (value == NULL) exit(20);
    ++value;
    const long number = strtol(value, NULL, 10);
    if (strncmp(argv[i], "launches=", 9) == 0) a->launches = number;
    if (strncmp(argv[i], "threads=", 8) == 0) a->threads = (int)number;
    if (strncmp(argv[i], "devices=", 8) == 0) a->devices = (int)number;
    if (strncmp(argv[i], "ranks=", 6) == 0) a->ranks = (int)number;
    if (strncmp(argv[i], "names=", 6) == 0) a->hostile = strcmp(value, "hostile") == 0;
    if (strncmp(argv[i], "ranges=", 7) == 0) a->ranges = number != 0;
    if (strncmp(argv[i], "work=", 5) == 0) a->work = value;
    if (strncmp(argv[i], "end=", 4) == 0) a->end = value;
  }
  if (a->threads < 1 || a->threads > kMaxThreads || a->devices < 1 || a->devices > kMaxDevices) {
    exit(20);
  }
}

static int Ends(const char* how) {
  return strcmp(g_arguments.end, how) == 0;
}

static void MarkPid(void) {
  const char* folder = getenv("CHAOS_PIDS");
  char path[512];
  if (folder == NULL) return;
  snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
  mkdir(path, 0777); /* needs no descriptor and no file, so limits do not apply */
}

/* Runs this program again with its arguments, except those in `changed`. */
static void RunAgain(char** argv, const char* const* changed) {
  char* arguments[16] = {argv[0]};
  int count = 1;
  for (int i = 1; argv[i] != NULL && count < 12; ++i) {
    int replaced = 0;
    for (int c = 0; changed[c] != NULL; ++c) {
      const size_t name = (size_t)(strchr(changed[c], '=') - changed[c]) + 1;
      replaced |= strncmp(argv[i], changed[c], name) == 0;
    }
    if (!replaced) arguments[count++] = argv[i];
  }
  for (int c = 0; changed[c] != NULL && count < 15; ++c) arguments[count++] = (char*)changed[c];
  char own[4096] = {0};
  if (readlink("/proc/self/exe", own, sizeof(own) - 1) > 0) execv(own, arguments);
  _exit(22);
}

static int WaitForChild(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 23;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Starts all ranks at once, without using CUDA itself, and returns the worst exit code. */
static int RunRanks(char** argv, int ranks) {
  pid_t children[64];
  int worst = 0;
  static const char* const kOneRank[] = {"ranks=1", NULL};
  if (ranks > 64) ranks = 64;
  for (int i = 0; i < ranks; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      char rank[16];
      snprintf(rank, sizeof(rank), "%d", i);
      setenv("RANK", rank, 1);
      /* Output of several ranks would be interleaved. */
      const int null = open("/dev/null", O_WRONLY);
      if (null >= 0 && null != STDOUT_FILENO) {
        dup2(null, STDOUT_FILENO);
        close(null);
      }
      RunAgain(argv, kOneRank);
    }
  }
  for (int i = 0; i < ranks; ++i) {
    const int code = children[i] < 0 ? 24 : WaitForChild(children[i]);
    if (code > worst) worst = code;
  }
  char line[64];
  snprintf(line, sizeof(line), "ranks %d worst %d\n", ranks, worst);
  Say(line);
  return Code(worst);
}

static void MakeHostileNames(void) {
  static const char kPiece[] =
      "\033[31m\033]0;owned\a\"},{\"'`$(rm -rf /)\\\n\r\t<b>&amp;%s%n%d,;\xc3\xa4\xff\xfe";
  for (int i = 0; i < kKernels; ++i) {
    for (int at = 0; at < kHostileBytes; ++at) {
      g_hostile_names[i][at] = kPiece[(size_t)(at + i) % (sizeof(kPiece) - 1)];
    }
    /* One long, one short, one above the maximum length. */
    g_hostile_names[i][i == 0 ? kHostileBytes : i == 1 ? 60 : 16380] = 0;
  }
}

static void LoadModule(Victim* victim) {
  Check(cuModuleLoadData(&victim->module, "image"), "cuModuleLoadData");
  for (int i = 0; i < kKernels; ++i) {
    Check(cuModuleGetFunction(&victim->kernels[i], victim->module,
                              g_arguments.hostile ? g_hostile_names[i] : kKernelNames[i]),
          "cuModuleGetFunction");
  }
}

static void OpenDevice(int ordinal, Victim* victim) {
  CUdevice device;
  Check(cuDeviceGet(&device, ordinal), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&victim->context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(victim->context), "cuCtxSetCurrent");
  LoadModule(victim);
  Check(cuStreamCreate(&victim->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static void LaunchStep(Victim* victim, long step) {
  if (g_arguments.ranges) stemtap_range_push(step / 16 % 2 == 0 ? "prefill" : "decode");
  LaunchOne(victim, step);
  if (g_arguments.ranges) stemtap_range_pop();
}

static void LaunchReloading(const Arguments* a, long first, long count) {
  for (long step = first; step < count; ++step) {
    if (step % 100 == 99) {
      Victim* victim = &g_victims[step / 100 % a->devices];
      Check(cuCtxSetCurrent(victim->context), "cuCtxSetCurrent");
      Check(cuCtxSynchronize(), "cuCtxSynchronize");
      Check(cuModuleUnload(victim->module), "cuModuleUnload");
      LoadModule(victim);
    }
    LaunchStep(&g_victims[step % a->devices], step);
  }
}

static void LaunchGraphs(long first, long count) {
  Victim* victim = &g_victims[0];
  CUgraph graph;
  CUgraphExec exec;
  Check(cuCtxSetCurrent(victim->context), "cuCtxSetCurrent");
  Check(cuStreamBeginCapture(victim->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
  LaunchMany(victim, kNodes);
  Check(cuStreamEndCapture(victim->stream, &graph), "cuStreamEndCapture");
  Check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  for (long launched = first; launched < count; launched += kNodes) {
    Check(cuGraphLaunch(exec, victim->stream), "cuGraphLaunch");
  }
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  Check(cuGraphDestroy(graph), "cuGraphDestroy");
}

static void* Launch(void* argument) {
  const Work* work = argument;
  Victim own = *work->shared;
  Check(cuCtxSetCurrent(own.context), "cuCtxSetCurrent");
  Check(cuStreamCreate(&own.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (long step = work->first; step < work->count; step += work->stride) LaunchStep(&own, step);
  Check(cuStreamSynchronize(own.stream), "cuStreamSynchronize");
  Check(cuStreamDestroy(own.stream), "cuStreamDestroy");
  return NULL;
}

/* Never stops: the process ends while this runs. */
static void* LaunchForEver(void* argument) {
  Victim own = *(const Victim*)argument;
  if (cuCtxSetCurrent(own.context) != CUDA_SUCCESS) return NULL;
  for (long step = 0;; ++step) {
    uint64_t duration_ns = DurationOf(step);
    void* params[] = {&duration_ns};
    cuLaunchKernel(own.kernels[step % kKernels], 1, 2, 1, 128, 1, 1, 0, own.stream, params, NULL);
    __atomic_fetch_add(&g_endless, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static int StartThread(pthread_t* thread, void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int failure = pthread_create(thread, &attributes, body, argument);
  pthread_attr_destroy(&attributes);
  return failure;
}

static void LaunchAll(const Arguments* a, long first, long count) {
  static pthread_t threads[kMaxThreads];
  static Work work[kMaxThreads];
  if (strcmp(a->work, "reload") == 0) {
    LaunchReloading(a, first, count);
    return;
  }
  if (strcmp(a->work, "graph") == 0) {
    LaunchGraphs(first, count);
    return;
  }
  if (a->threads == 1) {
    for (long step = first; step < count; ++step) LaunchStep(&g_victims[step % a->devices], step);
    return;
  }
  for (int i = 0; i < a->threads; ++i) {
    work[i] = (Work){&g_victims[i % a->devices], first + i, count, a->threads};
    if (StartThread(&threads[i], Launch, &work[i]) != 0) {
      Say("no thread\n");
      _exit(25);
    }
  }
  for (int i = 0; i < a->threads; ++i) pthread_join(threads[i], NULL);
}

static void Synchronize(const Arguments* a) {
  for (int i = 0; i < a->devices; ++i) {
    Check(cuCtxSetCurrent(g_victims[i].context), "cuCtxSetCurrent");
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
  }
}

static void CloseAll(const Arguments* a) {
  Synchronize(a);
  for (int i = 0; i < a->devices; ++i) {
    Check(cuCtxSetCurrent(g_victims[i].context), "cuCtxSetCurrent");
    Check(cuStreamDestroy(g_victims[i].stream), "cuStreamDestroy");
    Check(cuModuleUnload(g_victims[i].module), "cuModuleUnload");
    Check(cuDevicePrimaryCtxRelease(i), "cuDevicePrimaryCtxRelease");
  }
}

static int OpenFiles(void) {
  int files = 0;
  for (int fd = 0; fd < 256; ++fd) files += fcntl(fd, F_GETFD) >= 0;
  return files;
}

/* Prints what a guest in this process could have left behind. */
static void DescribeProcess(void) {
  /*
   * The minimum of ten counts excludes files that other threads open briefly: a library that is
   * being loaded, or the status of a thread, once for each of a thousand activity buffers.
   */
  int open_files = OpenFiles();
  for (int again = 1; again < 10; ++again) {
    usleep(5000);
    const int count = OpenFiles();
    if (count < open_files) open_files = count;
  }
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  int blocked = 0;
  int handled = 0;
  for (int signal = 1; signal < 65; ++signal) {
    struct sigaction action;
    blocked += sigismember(&mask, signal) == 1;
    if (sigaction(signal, NULL, &action) == 0) handled += action.sa_handler != SIG_DFL;
  }
  const int child = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 1;
  const mode_t before = umask(0);
  umask(before);
  char line[160];
  snprintf(line, sizeof(line), "files %d blocked %d handled %d children %d sigchld %d umask %o\n",
           open_files, blocked, handled, child, (int)g_sigchld, (unsigned)before);
  Say(line);
}

static void* ExitFromHere(void* unused) {
  (void)unused;
  exit(Code(6));
}

static void LaunchAtExit(void) {
  for (long step = 0; step < 1000; ++step) {
    uint64_t duration_ns = DurationOf(step);
    void* params[] = {&duration_ns};
    cuLaunchKernel(g_victims[0].kernels[step % kKernels], 1, 2, 1, 128, 1, 1, 0,
                   g_victims[0].stream, params, NULL);
  }
}

static void Storm(const Arguments* a) {
  for (int i = 0; i < a->threads; ++i) {
    pthread_t thread;
    if (StartThread(&thread, LaunchForEver, &g_victims[i % a->devices]) != 0) _exit(25);
  }
  const struct timespec millisecond = {0, 1000000};
  while (__atomic_load_n(&g_endless, __ATOMIC_RELAXED) < a->launches) nanosleep(&millisecond, NULL);
}

static int End(char** argv) {
  static const char* const kChild[] = {"end=return", "threads=1", NULL};
  if (Ends("exit")) exit(Code(7));
  if (Ends("_exit")) _exit(Code(9));
  if (Ends("quick_exit")) quick_exit(Code(5));
  if (Ends("abort")) abort();
  if (Ends("sigterm")) kill(getpid(), SIGTERM);
  if (Ends("sigsegv")) {
    signal(SIGSEGV, SIG_DFL);
    kill(getpid(), SIGSEGV);
  }
  if (Ends("exec")) RunAgain(argv, kChild);
  if (Ends("daemon") && fork() == 0) {
    const struct timespec later = {0, 200000000}; /* the session has ended by then */
    setsid();
    nanosleep(&later, NULL);
    RunAgain(argv, kChild);
  }
  if (Ends("wait")) {
    for (;;) pause(); /* the harness kills the process */
  }
  if (Ends("thread_exit")) {
    pthread_t thread;
    if (StartThread(&thread, ExitFromHere, NULL) != 0) _exit(25);
    for (;;) pause();
  }
  return Code(0);
}

int main(int argc, char** argv) {
  Arguments* a = &g_arguments;
  ParseArguments(argc, argv, a);
  if (a->ranks > 1) return RunRanks(argv, a->ranks);
  /* Counts children that end, but not children that the harness stops. */
  const struct sigaction count = {.sa_handler = CountChild, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
  sigaction(SIGCHLD, &count, NULL);
  MakeHostileNames();
  Say("begin\n");
  MarkPid(); /* the harness may kill the process from here on, so killed programs print no more */
  if (Ends("storm")) atexit(LaunchAtExit); /* runs after the guest's own handler */
  setenv("FAKE_GPU_DEVICES", "16", 0); /* kMaxDevices */
  Check(cuInit(0), "cuInit");
  for (int i = 0; i < a->devices; ++i) OpenDevice(i, &g_victims[i]);
  if (Ends("storm")) {
    Storm(a);
    exit(Code(8));
  }
  if (Ends("thread_exit")) {
    pthread_t thread; /* launches while another thread exits */
    if (StartThread(&thread, LaunchForEver, &g_victims[0]) != 0) _exit(25);
  }
  LaunchAll(a, 0, a->launches / 2);
  if (Ends("fork_idle") || Ends("fork_exec")) {
    static const char* const kChild[] = {"end=return", "threads=1", NULL};
    const pid_t child = fork();
    if (child == 0) {
      if (Ends("fork_exec")) RunAgain(argv, kChild);
      exit(0);
    }
    const int code = child < 0 ? 24 : WaitForChild(child);
    char line[32];
    snprintf(line, sizeof(line), "child %d\n", code);
    Say(line);
  }
  LaunchAll(a, a->launches / 2, a->launches);
  uint64_t sum = 0;
  for (long step = 0; step < a->launches; ++step) sum += DurationOf(step);
  char line[96];
  snprintf(line, sizeof(line), "launches %ld duration_ns %llu\n", a->launches,
           (unsigned long long)sum);
  if (!Ends("wait")) Say(line);
  if (!Ends("exit") && !Ends("wait") && !Ends("thread_exit")) Synchronize(a);
  if (!Ends("thread_exit") && !Ends("wait")) DescribeProcess();
  if (Ends("return") || Ends("fork_idle") || Ends("fork_exec")) CloseAll(a);
  return End(argv);
}
