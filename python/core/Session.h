// A context of the runtime together with the Python objects in which its inputs and outputs lie. Functions that
// return false, FAILED or null have set an exception.
#ifndef LATHE_PYTHON_SESSION_H
#define LATHE_PYTHON_SESSION_H

#include "python/core/Core.h"

#include <stdatomic.h>

enum { POOL = 2 }; // number of buffers of an output: the caller keeps one result while the next is made

typedef struct {
  PyObject *name;
  int32_t type;
  bool plain;  // true: the input is a tensor of numbers
  bool isSet;  // true: the input is bound here, so the runtime reads memory[current]
  bool isKept; // true: the input is a state, which runs set
  int current;
  Memory memory[2];
} Input;

typedef struct {
  PyObject *name, *dtype, *shape; // shape: of the buffers in `pool`
  int32_t type;
  bool plain, isKnown; // isKnown: true if the extents are known before the run
  bool isLate;         // true: a run has shown that the extents depend on data
  size_t rank, bytes;
  int64_t dims[MOST_AXES];
  PyObject *pool[POOL];
  int bound; // index of the buffer that the runtime writes to; -1: the runtime's own memory
} Output;

/// A run in progress.
typedef struct {
  PyThreadState *thread; // thread of the run, which has released the interpreter's lock
  bool isWatched;        // true: Watch.c watches this run for signals
  lathe_context *around; // context of the run whose signal handler started this run; null: none
} Run;

typedef struct {
  PyObject_HEAD lathe_context *context;
  PyObject *error, *cancelled, *array, *bufferType;
  Input *inputs;
  Output *outputs;
  Py_ssize_t inputCount, outputCount;
  bool changed;   // true: extents of inputs have changed since the outputs were prepared
  bool hasStates; // true: there are states, so runs change extents, and outputs stay in the runtime's memory
  PyThread_type_lock lock;
  unsigned long owner;
  int depth;
  Run *run;                // the run in progress; null: none
  atomic_bool isCancelled; // true: cancel() was called, and no run has ended because of it yet
} Session;

/// Sets a Python exception for the runtime's last call, which failed. Returns false.
bool failSession(Session *self);

// ---- Inputs (Input.c) -----------------------------------------------------------------------------------------------

/// Reads the descriptions of the inputs, a tuple that newSession receives from Python.
bool readInputs(Session *self, PyObject *ports);
lathe_tensor tensorOf(Memory *memory);
/// Binds a value to an input in place. If that is not possible, calls caller._bind(index, value), which converts or
/// copies the value.
bool bindInput(Session *self, PyObject *caller, Py_ssize_t index, PyObject *value);
/// Releases the object that an input is bound to.
void forgetInput(Session *self, Py_ssize_t index);

typedef enum { BOUND, UNUSUAL, FAILED } Binding;
/// Binds all inputs: `inputs` is a dict with the names of all inputs, or a list or tuple of all. Returns UNUSUAL for
/// anything else.
Binding bindInputs(Session *self, PyObject *caller, PyObject *inputs);

// ---- Outputs (Output.c) ---------------------------------------------------------------------------------------------

/// Reads the descriptions of the outputs, a tuple that newSession receives from Python.
bool readOutputs(Session *self, PyObject *ports);
/// Makes the next run write each wanted output to a new buffer, and the other outputs to the runtime's memory.
/// `wanted`: a tuple of booleans, or None for all.
bool provideOutputs(Session *self, PyObject *wanted);
/// Makes the next runs write an output to the runtime's memory.
bool unbindOutput(Session *self, Py_ssize_t index);
/// Returns the wanted outputs of the last run as a dict of arrays. Calls caller.output(index) for a value that is not
/// a tensor of numbers.
PyObject *outputsOf(Session *self, PyObject *caller, PyObject *wanted);
/// Frees the outputs' buffers that no array uses.
void dropOutputs(Session *self);

// ---- Signals in runs (Watch.c) --------------------------------------------------------------------------------------

/// Keeps the watching of signals usable in forked child processes. Must be called before the first run.
void watchForks(void);
/// To be called before and after a run, with the interpreter's lock held. beginRun may fail with an exception.
bool beginRun(Session *self, Run *run);
void endRun(Session *self);
/// The callback for lathe_context_set_cancel_check: returns nonzero if the run of `session` must end. Runs Python's
/// signal handlers, and leaves the exception that one of them raises.
int endsRun(void *session);

#endif
