// SPDX-License-Identifier: Apache-2.0
//
// Functions that libstdc++ or our libraries use and that glibc 2.17 lacks, for shared libraries
// that load on older systems. They call only functions of glibc 2.17. See packaging/glibc_stubs.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// GLIBC_2.32. 0 means that reference counts are always atomic.
char __libc_single_threaded = 0;

// GLIBC_2.33. Older versions of <sys/stat.h> call these functions with the version of struct stat,
// which is 1 on x86-64.
struct stat;
int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int descriptor, struct stat* result);
int __fxstatat(int version, int directory, const char* path, struct stat* result, int flags);

int stat(const char* path, struct stat* result) {
  return __xstat(1, path, result);
}
int lstat(const char* path, struct stat* result) {
  return __lxstat(1, path, result);
}
int fstat(int descriptor, struct stat* result) {
  return __fxstat(1, descriptor, result);
}
int fstatat(int directory, const char* path, struct stat* result, int flags) {
  return __fxstatat(1, directory, path, result, flags);
}
// struct stat64 is the same on x86-64.
int stat64(const char*, struct stat*) __attribute__((alias("stat")));
int lstat64(const char*, struct stat*) __attribute__((alias("lstat")));
int fstat64(int, struct stat*) __attribute__((alias("fstat")));
int fstatat64(int, const char*, struct stat*, int) __attribute__((alias("fstatat")));

// GLIBC_2.28. On x86-64, fcntl also has 64-bit offsets.
int fcntl(int descriptor, int command, ...);
int fcntl64(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(descriptor, command, argument);
}

// GLIBC_2.25 and GLIBC_2.36. std::random_device calls them. Linux before 3.17 has no getrandom;
// arc4random then returns 0.
int getentropy(void* buffer, size_t length) {
  return syscall(SYS_getrandom, buffer, length, 0) == (long)length ? 0 : -1;
}
unsigned int arc4random(void) {
  unsigned int value = 0;
  while (getentropy(&value, sizeof value) != 0 && errno == EINTR) {
  }
  return value;
}

// GLIBC_2.30
pid_t gettid(void) {
  return (pid_t)syscall(SYS_gettid);
}

// GLIBC_2.30. The C++ library waits with the monotonic clock; older functions support only the
// real-time clock.
static struct timespec RealTime(clockid_t clock, const struct timespec* deadline) {
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += deadline->tv_sec - now.tv_sec;
  real.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += 1000000000;
    --real.tv_sec;
  } else if (real.tv_nsec >= 1000000000) {
    real.tv_nsec -= 1000000000;
    ++real.tv_sec;
  }
  return real;
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                            const struct timespec* deadline) {
  const struct timespec real = RealTime(clock, deadline);
  return pthread_mutex_timedlock(mutex, &real);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  const struct timespec real = RealTime(clock, deadline);
  return pthread_cond_timedwait(condition, mutex, &real);
}

// GLIBC_2.18. Registers the destructor of a thread_local object, which is called when the thread
// exits.
struct Destructor {
  void (*destroy)(void*);
  void* object;
  struct Destructor* next;
};
static pthread_key_t destructors;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void Destroy(void* list) {
  while (list != NULL) {
    struct Destructor* const first = list;
    list = first->next;
    first->destroy(first->object);
    free(first);
  }
}

static void MakeKey(void) {
  pthread_key_create(&destructors, Destroy);
}

int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  (void)library;
  pthread_once(&once, MakeKey);
  struct Destructor* const added = malloc(sizeof *added);
  if (added == NULL) return -1;
  *added = (struct Destructor){destroy, object, pthread_getspecific(destructors)};
  return pthread_setspecific(destructors, added);
}
