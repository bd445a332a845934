/* Python's lock, waited for awake.
 *
 * Between two calls of the kernel a thread holds Python's lock for some ten microseconds. Another that comes back from
 * its call in the meantime would be put to sleep until the lock is free, and to be woken up takes longer than that: on a
 * virtual machine, fifty microseconds and more. So threads that use the kernel tell each other when they hold the lock,
 * and one that finds it held looks for a while whether it becomes free before it asks for it.
 *
 * All of this is a hint. The lock is taken as ever, and nobody waits for long because of a hint that is wrong: whoever
 * has waited in vain holds the lock next, and says so. */

#ifndef GTIDAL_TURNS_H
#define GTIDAL_TURNS_H

#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32) && !defined(Py_GIL_DISABLED)

#include <stdlib.h>
#include <time.h>

#define GTIDAL_TURNS "gtidal.columnar.kernel.turns"
#define GTIDAL_LONGEST_WAIT 100000 /* nanoseconds */

typedef struct {
    char before[128]; /* lines of the processors' caches that nobody else writes to */
    PyThreadState *holder; /* the thread that came back from the kernel, and has not gone there again; else NULL */
    char is_awaited; /* one waits awake; others need not */
    char behind[128];
} gtidal_turns;

static gtidal_turns *gtidal_shared_turns;

static inline void gtidal_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The one that all modules of the kernel share. NULL: there is none, and nobody waits awake. */
static inline gtidal_turns *gtidal_find_turns(void)
{
    PyObject *shared = PyInterpreterState_GetDict(PyInterpreterState_Get());
    PyObject *capsule = shared ? PyDict_GetItemString(shared, GTIDAL_TURNS) : NULL;
    if (capsule)
        return PyCapsule_GetPointer(capsule, GTIDAL_TURNS);
    gtidal_turns *turns = shared ? calloc(1, sizeof *turns) : NULL; /* for as long as the process lives */
    capsule = turns ? PyCapsule_New(turns, GTIDAL_TURNS, NULL) : NULL;
    if (!capsule || PyDict_SetItemString(shared, GTIDAL_TURNS, capsule) < 0) {
        PyErr_Clear();
        Py_XDECREF(capsule);
        free(turns);
        return NULL;
    }
    Py_DECREF(capsule);
    return turns;
}

static inline long long gtidal_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int gtidal_take_turn(gtidal_turns *turns, PyThreadState *thread)
{
    PyThreadState *nobody = NULL;
    return __atomic_compare_exchange_n(&turns->holder, &nobody, thread, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void gtidal_give_turn(PyThreadState *thread)
{
    gtidal_turns *turns = gtidal_shared_turns;
    if (turns && __atomic_load_n(&turns->holder, __ATOMIC_RELAXED) == thread)
        __atomic_store_n(&turns->holder, NULL, __ATOMIC_RELEASE);
}

/* The thread that calls holds the lock, and is going to let it go for something that is not the kernel's. */
static inline void gtidal_end_turn(void)
{
    if (!gtidal_shared_turns)
        gtidal_shared_turns = gtidal_find_turns();
    gtidal_give_turn(PyThreadState_Get());
}

/* What Cython calls where a function's own work begins. */
static inline PyThreadState *gtidal_leave_python(void)
{
    if (!gtidal_shared_turns)
        gtidal_shared_turns = gtidal_find_turns();
    PyThreadState *thread = PyEval_SaveThread();
    gtidal_give_turn(thread);
    return thread;
}

/* And where it ends. */
static inline void gtidal_return_to_python(PyThreadState *thread)
{
    gtidal_turns *turns = gtidal_shared_turns;
    if (turns && !gtidal_take_turn(turns, thread) && !__atomic_exchange_n(&turns->is_awaited, 1, __ATOMIC_RELAXED)) {
        long long end = gtidal_nanoseconds() + GTIDAL_LONGEST_WAIT;
        int is_ours = 0;
        do {
            for (int i = 0; i < 20; i++)
                gtidal_pause();
            is_ours = !__atomic_load_n(&turns->holder, __ATOMIC_RELAXED) && gtidal_take_turn(turns, thread);
        } while (!is_ours && gtidal_nanoseconds() < end);
        __atomic_store_n(&turns->is_awaited, 0, __ATOMIC_RELAXED);
    }
    PyEval_RestoreThread(thread);
    if (turns)
        __atomic_store_n(&turns->holder, thread, __ATOMIC_RELAXED);
}

#define PyEval_SaveThread gtidal_leave_python
#define PyEval_RestoreThread gtidal_return_to_python

#else

static inline void gtidal_end_turn(void)
{
}

#endif
#endif
