#pragma once
#include <stdint.h>

// The number of the virtual thread that the calling thread carries, or -1.
int explorer_self(void);
void explorer_set_self(int number);

// A pointer that each thread has for itself.
void *explorer_local(void);
void explorer_set_local(void *pointer);

// Sleeps until `*baton` is 1, and sets it to 0. Returns 0 if that takes longer than `seconds`.
int explorer_wait(uint32_t *baton, int seconds);
// Sets `*baton` to 1 and wakes the thread that sleeps on it.
void explorer_pass(uint32_t *baton);

// Keeps the process on one processor, where passing the baton is cheapest.
void explorer_stay_on_one_cpu(int cpu);

// Starts the program again with the same memory layout each time, once.
void explorer_fix_addresses(char *const arguments[]);

// Calls `function` when the process dies of a signal or of a sanitizer's report.
void explorer_at_death(void (*function)(void));

// Gives the calling thread a second stack, on which an overflow of the first one is reported.
void explorer_prepare_thread(void);

// Order, also in the eyes of ThreadSanitizer, what precedes a release before what follows an
// acquire of the same address.
void explorer_release(const void *address);
void explorer_acquire(const void *address);

// Has `function` called for each job of a task or an actor in place of the runtime's own executors.
void explorer_take_jobs(void (*function)(void *job, int is_main));
// Runs such a job on the calling thread.
void explorer_run_job(void *job);
