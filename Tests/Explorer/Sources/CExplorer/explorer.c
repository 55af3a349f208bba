#define _GNU_SOURCE
#include "CExplorer.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// This file is never instrumented: ThreadSanitizer must not treat the baton as synchronization.

static _Thread_local int self = -1;

int explorer_self(void) { return self; }
void explorer_set_self(int number) { self = number; }

static _Thread_local void *local = NULL;

void *explorer_local(void) { return local; }
void explorer_set_local(void *pointer) { local = pointer; }

int explorer_wait(uint32_t *baton, int seconds) {
  struct timespec limit = {.tv_sec = seconds};
  for (;;) {
    if (__atomic_exchange_n(baton, 0, __ATOMIC_ACQ_REL)) return 1;
    if (syscall(SYS_futex, baton, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0) == -1 &&
        errno == ETIMEDOUT)
      return (int)__atomic_exchange_n(baton, 0, __ATOMIC_ACQ_REL);
  }
}

void explorer_pass(uint32_t *baton) {
  __atomic_store_n(baton, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, baton, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void explorer_stay_on_one_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void explorer_fix_addresses(char *const arguments[]) {
  const char *done = getenv("EXPLORER_ADDRESSES_FIXED");
  if (done && *done) return;
  setenv("EXPLORER_ADDRESSES_FIXED", "1", 1);
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
  int old = personality(0xffffffff);
  // If the system forbids this, schedules are still valid within one process.
  if (old != -1) personality((unsigned long)old | ADDR_NO_RANDOMIZE);
  execv("/proc/self/exe", arguments);
}

static void (*at_death)(void);

static void on_signal(int number) {
  void (*function)(void) = at_death;
  at_death = NULL;
  if (function) function();
  signal(number, SIG_DFL);
  raise(number);
}

__attribute__((weak)) void __sanitizer_set_death_callback(void (*)(void));

void explorer_at_death(void (*function)(void)) {
  at_death = function;
  int numbers[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT};
  int count = 5;
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback(function);
    count = 2;  // The sanitizer reports the others, and calls back after that.
  }
  for (int index = 0; index < count; index++) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(numbers[index], &action, NULL);
  }
}

void explorer_prepare_thread(void) {
  if (__sanitizer_set_death_callback) return;
  stack_t alternate = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&alternate, NULL);
}

// The Swift runtime's hooks: it passes the jobs for its thread pools to these functions instead.
// For so few pointers, Swift's calling convention is the same as C's.
extern void (*swift_task_enqueueGlobal_hook)(void *job, void *original);
extern void (*swift_task_enqueueMainExecutor_hook)(void *job, void *original);
extern void swift_job_run(void *job, void *identity, void *implementation);

static void (*take_job)(void *job, int is_main);

static void enqueue_global(void *job, void *original) { take_job(job, 0); }
static void enqueue_main(void *job, void *original) { take_job(job, 1); }

void explorer_take_jobs(void (*function)(void *job, int is_main)) {
  take_job = function;
  swift_task_enqueueGlobal_hook = enqueue_global;
  swift_task_enqueueMainExecutor_hook = enqueue_main;
}

void explorer_run_job(void *job) { swift_job_run(job, NULL, NULL); }

__attribute__((weak)) void __tsan_release(void *);
__attribute__((weak)) void __tsan_acquire(void *);

void explorer_release(const void *address) {
  if (__tsan_release) __tsan_release((void *)address);
}

void explorer_acquire(const void *address) {
  if (__tsan_acquire) __tsan_acquire((void *)address);
}

// The default options of the sanitizers: no pause at exit, and the first report ends the process,
// so that its schedule can be printed. Threads of an abandoned run retain their objects.
const char *__tsan_default_options(void) { return "atexit_sleep_ms=0:halt_on_error=1"; }
const char *__asan_default_options(void) { return "detect_leaks=0"; }
