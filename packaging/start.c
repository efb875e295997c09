// SPDX-License-Identifier: Apache-2.0
//
// Entry point of a program that is linked against an old glibc (glibc_stubs). The crt1.o of glibc
// 2.34 and later passes no init function, and glibc before 2.34 then calls no constructors.
#include <stddef.h>

int main(int argc, char** argv, char** environment);
typedef void Function(int argc, char** argv, char** environment);
extern Function* __preinit_array_start[] __attribute__((visibility("hidden")));
extern Function* __preinit_array_end[] __attribute__((visibility("hidden")));
extern Function* __init_array_start[] __attribute__((visibility("hidden")));
extern Function* __init_array_end[] __attribute__((visibility("hidden")));
extern void (*__fini_array_start[])(void) __attribute__((visibility("hidden")));
extern void (*__fini_array_end[])(void) __attribute__((visibility("hidden")));

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, Function* init,
                      void (*fini)(void), void (*loader_fini)(void), void* stack_end);

// Identifies this program in the list of destructors. Usually defined in crtbegin.o.
__attribute__((visibility("hidden"))) void* __dso_handle = NULL;

static void Initialize(int argc, char** argv, char** environment) {
  for (Function** f = __preinit_array_start; f < __preinit_array_end; ++f)
    (*f)(argc, argv, environment);
  for (Function** f = __init_array_start; f < __init_array_end; ++f) (*f)(argc, argv, environment);
}

static void Finish(void) {
  for (void (**f)(void) = __fini_array_end; f > __fini_array_start;) (*--f)();
}

__attribute__((noreturn, used)) static void StartC(long* stack, void (*loader_fini)(void)) {
  __libc_start_main(main, (int)stack[0], (char**)(stack + 1), Initialize, Finish, loader_fini,
                    stack);
  __builtin_unreachable();
}

__asm__(
    ".globl _start\n"
    ".type _start,@function\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  mov %rdx, %rsi\n"
    "  and $-16, %rsp\n"
    "  call StartC\n"
    "  hlt\n");
