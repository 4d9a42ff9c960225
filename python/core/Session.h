// A context of the runtime with the objects that its inputs and outputs lie in. Functions that return false, FAILED or null
// have set an exception.
#ifndef LATHE_PYTHON_SESSION_H
#define LATHE_PYTHON_SESSION_H

#include "python/core/Core.h"

#include <stdatomic.h>

enum { POOL = 2 }; // buffers of an output: the caller keeps the result of the last run while the next one is made

typedef struct {
  PyObject *name;
  int32_t type;
  bool plain;  // a tensor of numbers
  bool isSet;  // bound here, so memory[current] is what the runtime reads
  bool isKept; // runs set it: a state
  int current;
  Memory memory[2];
} Input;

typedef struct {
  PyObject *name, *dtype, *shape; // the shape of `pool`
  int32_t type;
  bool plain, isKnown; // isKnown: the extents are known before the run
  bool isLate;         // a run has shown that they depend on data
  size_t rank, bytes;
  int64_t dims[MOST_AXES];
  PyObject *pool[POOL];
  int bound; // index of the buffer that the runtime writes to; -1: its own memory
} Output;

/// A run in progress.
typedef struct {
  PyThreadState *thread; // which has let go of the interpreter's lock
  bool isWatched;        // by Watch.c
  lathe_context *around; // of the run whose handler of a signal has begun this one
} Run;

typedef struct {
  PyObject_HEAD lathe_context *context;
  PyObject *error, *cancelled, *array, *bufferType;
  Input *inputs;
  Output *outputs;
  Py_ssize_t inputCount, outputCount;
  bool changed;   // extents of inputs, since the outputs were prepared
  bool hasStates; // so runs change extents, and outputs stay in the runtime's memory
  PyThread_type_lock lock;
  unsigned long owner;
  int depth;
  Run *run;                // null: none is in progress
  atomic_bool isCancelled; // by cancel(), and no run has met it yet
} Session;

/// Sets the exception of the last failed call of the runtime. Returns false.
bool failSession(Session *self);

// ---- Inputs (Input.c) -----------------------------------------------------------------------------------------------

/// Reads the tuples of newSession.
bool readInputs(Session *self, PyObject *ports);
lathe_tensor tensorOf(Memory *memory);
/// Binds a value in place; else calls caller._bind(index, value), which converts or copies it.
bool bindInput(Session *self, PyObject *caller, Py_ssize_t index, PyObject *value);
/// Lets go of the object that an input is bound to.
void forgetInput(Session *self, Py_ssize_t index);

typedef enum { BOUND, UNUSUAL, FAILED } Binding;
/// Binds a dict with the names of all inputs, or a list or tuple of all inputs. Anything else is UNUSUAL.
Binding bindInputs(Session *self, PyObject *caller, PyObject *inputs);

// ---- Outputs (Output.c) ---------------------------------------------------------------------------------------------

/// Reads the tuples of newSession.
bool readOutputs(Session *self, PyObject *ports);
/// Lets the next run write each wanted output to a new buffer, the others to the runtime's memory. `wanted`: a tuple of
/// booleans, or None for all.
bool provideOutputs(Session *self, PyObject *wanted);
/// Lets the next runs write an output to the runtime's memory.
bool unbindOutput(Session *self, Py_ssize_t index);
/// The wanted outputs of the last run as a dict of arrays. Calls caller.output(index) for a value that is not a tensor
/// of numbers.
PyObject *outputsOf(Session *self, PyObject *caller, PyObject *wanted);
/// Frees what no array uses.
void dropOutputs(Session *self);

// ---- Signals in runs (Watch.c) --------------------------------------------------------------------------------------

/// Keeps the watch for signals usable in forked children. Call it before the first run.
void watchForks(void);
/// Stand around a run, with the interpreter's lock. beginRun may fail with an exception.
bool beginRun(Session *self, Run *run);
void endRun(Session *self);
/// The check of lathe_context_set_cancel_check: of a session whether its run is to end. Runs Python's handlers of signals, and
/// leaves the exception that one of them raises.
int endsRun(void *session);

#endif
