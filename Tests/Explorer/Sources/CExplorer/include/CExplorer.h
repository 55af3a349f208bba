#pragma once
#include <stdint.h>

// Returns the number of the virtual thread that the calling thread carries, or -1.
int explorer_self(void);
void explorer_set_self(int number);

// Returns the address of a thread-local pointer.
void *explorer_local(void);
void explorer_set_local(void *pointer);

// Sleeps until `*baton` is 1, and sets it to 0. Returns 0 if that takes longer than `seconds`.
int explorer_wait(uint32_t *baton, int seconds);
// Sets `*baton` to 1 and wakes the thread that sleeps on it.
void explorer_pass(uint32_t *baton);

// Binds the process to one processor, where passing the baton is cheapest.
void explorer_stay_on_one_cpu(int cpu);

// Restarts the program once, with the same memory layout each time.
void explorer_fix_addresses(char *const arguments[]);

// Calls `function` when a signal or a sanitizer's report ends the process.
void explorer_at_death(void (*function)(void));

// Gives the calling thread an alternate signal stack, on which an overflow of its stack is
// reported.
void explorer_prepare_thread(void);

// Establish an order, also for ThreadSanitizer, between code before a release and code after an
// acquire of the same address.
void explorer_release(const void *address);
void explorer_acquire(const void *address);

// Calls `function` for each job of a task or an actor, instead of the runtime's own executors.
void explorer_take_jobs(void (*function)(void *job, int is_main));
// Runs such a job on the calling thread.
void explorer_run_job(void *job);
