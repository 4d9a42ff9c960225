// Long runs look for Python's signals. A thread of this file sees which run of the main thread takes long, and asks the
// runtime to ask that run's thread; a short run costs two uncontended locks and no system call.
#define _GNU_SOURCE
#include "python/core/Session.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum {
  TICK_NS = 50000000, // a run that lasts for one to two ticks is asked at each tick from then on
  IDLE_TICKS = 20,    // without runs, the thread sleeps
  SHARE = 50,         // waiting for the interpreter's lock takes at most this part of a run
  STACK_BYTES = 128 * 1024,
};

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t wanted;
  lathe_context *context; // of the innermost run of the main thread
  uint64_t number;        // of runs so far
  uint64_t notBefore;     // time in nanoseconds
  bool isThread, isAwake;
} watch = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER};

static unsigned long forks = 1; // changes in a child, whose main thread is the one that forked

static uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- The thread -----------------------------------------------------------------------------------------------------

static void *look(void *unused) {
  (void)unused;
  uint64_t seen = 0;
  int idle = 0;
  pthread_mutex_lock(&watch.mutex);
  for (;;) {
    if (idle >= IDLE_TICKS) {
      watch.isAwake = false;
      while (!watch.isAwake)
        pthread_cond_wait(&watch.wanted, &watch.mutex);
      idle = 0;
    }
    pthread_mutex_unlock(&watch.mutex);
    struct timespec tick = {0, TICK_NS};
    nanosleep(&tick, NULL);
    pthread_mutex_lock(&watch.mutex);
    // The context exists: its run ends with this lock.
    if (watch.context && watch.number == seen && nanoseconds() >= watch.notBefore)
      lathe_context_cancel(watch.context);
    idle = watch.context || watch.number != seen ? 0 : idle + 1;
    seen = watch.number;
  }
  return NULL;
}

/// Without the thread, Ctrl-C takes effect when a run ends. The lock is held.
static void wake(void) {
  if (watch.isThread) {
    watch.isAwake = true;
    pthread_cond_signal(&watch.wanted);
    return;
  }
  sigset_t all, before;
  pthread_attr_t attributes;
  pthread_t thread;
  sigfillset(&all); // signals belong to the program's own threads
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  watch.isThread = watch.isAwake = pthread_create(&thread, &attributes, look, NULL) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// ---- Forks ----------------------------------------------------------------------------------------------------------

static void beforeFork(void) { pthread_mutex_lock(&watch.mutex); }
static void inParent(void) { pthread_mutex_unlock(&watch.mutex); }
static void inChild(void) {
  watch.isThread = watch.isAwake = false;
  watch.wanted = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  ++forks;
  pthread_mutex_unlock(&watch.mutex);
}

static void registerForks(void) { pthread_atfork(beforeFork, inParent, inChild); }

void watchForks(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, registerForks);
}

// ---- Runs -----------------------------------------------------------------------------------------------------------

/// Python runs the handlers of signals in its main thread. Asks Python once a thread: code of Python runs, so that this fails
/// with the exception that a handler raises meanwhile.
static bool findMainThread(bool *result) {
  static _Thread_local unsigned long asked;
  static _Thread_local bool isMain;
  if (asked != forks) {
    PyObject *threading = PyImport_ImportModule("threading"),
             *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL,
             *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    isMain = ident && PyLong_Check(ident) && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    if (PyErr_Occurred())
      return false;
    asked = forks;
  }
  *result = isMain;
  return true;
}

bool beginRun(Session *self, Run *run) {
  if (!findMainThread(&run->isWatched))
    return false;
  self->run = run;
  if (!run->isWatched)
    return true;
  pthread_mutex_lock(&watch.mutex);
  run->around = watch.context;
  watch.context = self->context;
  ++watch.number;
  if (!watch.isAwake)
    wake();
  pthread_mutex_unlock(&watch.mutex);
  return true;
}

void endRun(Session *self) {
  Run *run = self->run;
  self->run = NULL;
  if (!run->isWatched)
    return;
  pthread_mutex_lock(&watch.mutex);
  watch.context = run->around;
  pthread_mutex_unlock(&watch.mutex);
}

int endsRun(void *data) {
  Session *self = data;
  if (atomic_exchange(&self->isCancelled, false))
    return 1;
  Run *run = self->run;
  if (!run || !run->isWatched)
    return 0; // asked for an earlier run
  uint64_t begin = nanoseconds();
  PyEval_RestoreThread(run->thread);
  uint64_t got = nanoseconds();
  int raised = PyErr_CheckSignals();
  run->thread = PyEval_SaveThread();
  pthread_mutex_lock(&watch.mutex);
  watch.notBefore = nanoseconds() + (got - begin) * SHARE;
  pthread_mutex_unlock(&watch.mutex);
  return raised;
}
