/* C interface of Lathe's runtime, version 5.

     lathe_model *model;
     lathe_context *context;
     lathe_model_load("resnet50.lathe", NULL, &model);
     lathe_context_create(model, NULL, &context);
     lathe_context_set_input(context, 0, &image);      // used in place
     lathe_context_run(context);
     lathe_context_output(context, 0, &probabilities); // in the runtime's memory

   A model is immutable and may be shared by any number of threads. A context belongs to one thread at a time and holds
   the working memory; give each calling thread its own. A package contains native code: loading one means trusting it.

   The interface only grows: functions and fields are added at the end, and structures carry their size, so a program
   built against an older header keeps working. Set struct_size of every structure you pass, in or out. */
#ifndef LATHE_RUNTIME_H
#define LATHE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "lathe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_RUNTIME_API_VERSION 5
/* Returns LATHE_RUNTIME_API_VERSION of the loaded library. From version 2 on, loading checks the hash of
   the constants unless LATHE_LOAD_SKIP_CONSTANTS is set; version 1 rejects that flag. Version 3
   added states between runs, and passes strings, sequences and optionals. Version 4 added quantisation. Version 5 added
   lathe_context_cancel. */
LATHE_API uint32_t lathe_runtime_api_version(void);
/* Returns the version of Lathe, as "0.2.0". */
LATHE_API const char *lathe_runtime_version(void);
/* Returns the message of this thread's last failed call: never null, valid until the next failure. */
LATHE_API const char *lathe_last_error(void);

typedef struct lathe_model lathe_model;
typedef struct lathe_context lathe_context;

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

typedef enum lathe_element_type {
  LATHE_INVALID_TYPE = 0,
  LATHE_F32 = 1,
  LATHE_F64 = 2,
  LATHE_F16 = 3,
  LATHE_BF16 = 4,
  LATHE_I8 = 5,
  LATHE_I16 = 6,
  LATHE_I32 = 7,
  LATHE_I64 = 8,
  LATHE_U8 = 9,
  LATHE_U16 = 10,
  LATHE_U32 = 11,
  LATHE_U64 = 12,
  LATHE_BOOL = 13,   /* one byte, 0 or 1 */
  LATHE_STRING = 14, /* `data` of such a tensor are lathe_string structures */
  LATHE_F8E4M3FN = 15,
  LATHE_F8E4M3FNUZ = 16,
  LATHE_F8E5M2 = 17,
  LATHE_F8E5M2FNUZ = 18,
  LATHE_I4 = 19, /* two elements a byte, the first in the low half */
  LATHE_U4 = 20
} lathe_element_type;

/* Returns the bits of one element in memory; 0 for strings and unknown types. */
LATHE_API uint32_t lathe_element_bits(int32_t element_type);

typedef enum lathe_memory_space {
  LATHE_HOST = 0 /* the only one so far */
} lathe_memory_space;

/* An element of a string tensor: UTF-8, not zero-terminated. */
typedef struct lathe_string {
  const char *data;
  size_t bytes;
} lathe_string;

/* Kinds of inputs and outputs. */
typedef enum lathe_value_kind {
  LATHE_TENSOR = 0,
  LATHE_SEQUENCE = 1,          /* tensors of one element type */
  LATHE_OPTIONAL = 2,          /* a tensor or nothing */
  LATHE_OPTIONAL_SEQUENCE = 3, /* a sequence or nothing */
  LATHE_NOTHING = 4            /* only lathe_context_output_content reports it: an optional that is empty */
} lathe_value_kind;

/* A view of a dense row-major tensor; it owns nothing. */
typedef struct lathe_tensor {
  size_t struct_size;
  int32_t element_type; /* lathe_element_type */
  int32_t memory_space; /* lathe_memory_space */
  size_t rank;
  const int64_t *dims;
  void *data;   /* inputs are only read; strings of inputs are copied */
  size_t bytes; /* size of `data`; at least the size of the elements (of their structures for strings) */
} lathe_tensor;

/* ---- Models ----------------------------------------------------------------------------------------------------- */

#define LATHE_LOAD_CHECK_CONSTANTS 1u /* verify the constants' hash too: the default since version 2 */
#define LATHE_LOAD_KEEP_MEMORY                                                                                         \
  2u /* load_memory: `data` stays valid until the model is freed; nothing is copied that                               \
        is aligned to 64 bytes */
#define LATHE_LOAD_SKIP_CONSTANTS                                                                                      \
  4u /* do not verify the constants' hash: damaged constants give wrong results silently. For files that cannot have   \
        changed, or that the program has checked itself. */
typedef struct lathe_load_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved; /* 0 */
} lathe_load_options;

/* Loads a package file. `options` may be null. Loading checks every byte against the package's hashes,
   which reads the file once (cost: docs/c-api.md); it writes nothing to disk. The constants are mapped in
   place, so the file must not be modified while the model lives. */
LATHE_API lathe_status lathe_model_load(const char *path, const lathe_load_options *options, lathe_model **model);
LATHE_API lathe_status lathe_model_load_memory(const void *data, size_t bytes, const lathe_load_options *options,
                                               lathe_model **model);
/* Frees a model. Contexts of the model stay valid. Null is ignored. */
LATHE_API void lathe_model_free(lathe_model *model);

/* An input or output of a model. Texts and arrays live as long as the model. */
typedef struct lathe_port {
  size_t struct_size;
  const char *name;
  int32_t element_type;
  int32_t is_tensor; /* 0: a sequence or an optional, whose tensors have `element_type` */
  size_t rank;
  const int64_t *dims;          /* -1: symbolic extent */
  const char *const *dim_texts; /* "3", "N", "N*2": equal symbols are equal extents */
  int32_t value_kind;           /* lathe_value_kind; absent before API version 3 */
} lathe_port;

LATHE_API size_t lathe_model_input_count(const lathe_model *model);
LATHE_API size_t lathe_model_output_count(const lathe_model *model);
LATHE_API lathe_status lathe_model_input(const lathe_model *model, size_t index, lathe_port *port);
LATHE_API lathe_status lathe_model_output(const lathe_model *model, size_t index, lathe_port *port);
/* Find the index of the port called `name`. */
LATHE_API lathe_status lathe_model_find_input(const lathe_model *model, const char *name, size_t *index);
LATHE_API lathe_status lathe_model_find_output(const lathe_model *model, const char *name, size_t *index);

typedef struct lathe_model_info {
  size_t struct_size;
  const char *source;   /* file name of the model it was compiled from */
  const char *producer; /* "lathe 0.2.0" */
  const char *options;  /* compilation options, as text */
  const char *target;   /* "x86_64 znver5" */
  uint64_t constant_bytes;
  uint64_t code_bytes;
} lathe_model_info;
LATHE_API lathe_status lathe_model_get_info(const lathe_model *model, lathe_model_info *info);

/* Registers the reference operators. Defined only in liblathe_references.a: programs that link it call
   this function before they load a model. Without it, the runtime loads liblathe_references.so from its
   own folder when a package needs references. */
LATHE_API void lathe_register_references(void);

/* ---- Quantised tensors ------------------------------------------------------------------------------------------ */

/* The real numbers that elements q of an integer tensor represent: scales[i] * (q - zero_points[i]), where i is the
   index along `axis`, or 0 if there is one scale. */
typedef struct lathe_quantization {
  size_t struct_size;
  size_t count; /* number of scales and of zero points: 1, or the extent of `axis`; 0: not quantised */
  const float *scales;
  const int64_t *zero_points;
  int64_t axis;
} lathe_quantization;

/* Return the quantisation of a port, as a quantised TFLite model states it. Arrays live as long as the model. */
LATHE_API lathe_status lathe_model_input_quantization(const lathe_model *model, size_t index,
                                                      lathe_quantization *quantization);
LATHE_API lathe_status lathe_model_output_quantization(const lathe_model *model, size_t index,
                                                       lathe_quantization *quantization);

/* Quantises `real` (f32) into the memory of `integers` (i8, u8, i16, u16 or i32 of the same extents): round(x / scale)
   + zero point, limited to the type. Halves round away from zero; NaN becomes the zero point. */
LATHE_API lathe_status lathe_quantize(const lathe_quantization *quantization, const lathe_tensor *real,
                                      const lathe_tensor *integers);
/* Converts `integers` into the memory of `real` (f32 of the same extents): scale * (q - zero point). */
LATHE_API lathe_status lathe_dequantize(const lathe_quantization *quantization, const lathe_tensor *integers,
                                        const lathe_tensor *real);

/* ---- Pools of threads ------------------------------------------------------------------------------------------ */

/* Threads that several contexts share. A pool has slots 0, 1, ...; the thread that runs a context takes
   the place of the first slot of the context, the pool's threads those of the others. Usable from several
   threads. */
typedef struct lathe_pool lathe_pool;

typedef struct lathe_pool_options {
  size_t struct_size;
  int32_t slots;       /* 1 to 1024; 0: all processors of the process */
  int32_t reserved;    /* 0 */
  const int32_t *cpus; /* for each slot, the CPU to which its thread is bound, or null. A thread that runs
                          a context stays where it is. */
} lathe_pool_options;

/* Creates a pool. Null `options` mean all processors. Fails for a CPU that the process may not use. */
LATHE_API lathe_status lathe_pool_create(const lathe_pool_options *options, lathe_pool **pool);
/* Null is ignored. The threads end when the contexts of the pool are freed, too. */
LATHE_API void lathe_pool_free(lathe_pool *pool);

/* ---- Contexts --------------------------------------------------------------------------------------------------- */

typedef struct lathe_context_options {
  size_t struct_size;
  int32_t threads;        /* calling thread included; 0: all processors of the process. Results do not depend on it. */
  int32_t reserved;       /* 0 */
  const lathe_pool *pool; /* null: the context has threads of its own */
  /* With a pool: the context computes on `threads` slots (0: all that follow) from `first_slot` on. Contexts
     on disjoint slots run at the same time, from a thread each; runs on common slots take turns. */
  int32_t first_slot;
  int32_t reserved2; /* 0 */
} lathe_context_options;

/* Creates a context. Null `options` mean one thread. A context and its pool work in the process that made them: after
   fork(), a run in the child fails. */
LATHE_API lathe_status lathe_context_create(const lathe_model *model, const lathe_context_options *options,
                                            lathe_context **context);
/* Null is ignored. */
LATHE_API void lathe_context_free(lathe_context *context);

/* Binds an input. The data is used in place and must stay valid and unchanged during every run; data
   that is not aligned to its elements is copied by this call. The buffer may be refilled between runs. */
LATHE_API lathe_status lathe_context_set_input(lathe_context *context, size_t index, const lathe_tensor *tensor);
LATHE_API lathe_status lathe_context_set_input_by_name(lathe_context *context, const char *name,
                                                       const lathe_tensor *tensor);
/* Binds a buffer for an output. A null `tensor` unbinds it; runs then write to the runtime's memory. */
LATHE_API lathe_status lathe_context_set_output(lathe_context *context, size_t index, const lathe_tensor *tensor);
LATHE_API lathe_status lathe_context_set_output_by_name(lathe_context *context, const char *name,
                                                        const lathe_tensor *tensor);

/* Returns the extents of an output for the inputs set now, for allocation before a run. `*rank` is always
   set; `dims` receives at most `capacity` extents. Fails for extents that depend on input data. */
LATHE_API lathe_status lathe_context_output_dims(lathe_context *context, size_t index, int64_t *dims, size_t capacity,
                                                 size_t *rank);

LATHE_API lathe_status lathe_context_run(lathe_context *context);

/* Returns a result of the last run. Its data is valid until the next run, or until an input with other
   extents is set. */
LATHE_API lathe_status lathe_context_output(lathe_context *context, size_t index, lathe_tensor *tensor);
LATHE_API lathe_status lathe_context_output_by_name(lathe_context *context, const char *name, lathe_tensor *tensor);

/* Bind a sequence of `count` tensors, each as lathe_context_set_input does; all have the input's element type. Also for
   an optional sequence, which then holds it. lathe_context_set_input gives a tensor to an optional. */
LATHE_API lathe_status lathe_context_set_input_sequence(lathe_context *context, size_t index,
                                                        const lathe_tensor *tensors, size_t count);
/* Binds nothing to an optional. */
LATHE_API lathe_status lathe_context_set_input_empty(lathe_context *context, size_t index);
/* Returns what an output holds after a run: `*kind` is LATHE_TENSOR, LATHE_SEQUENCE or LATHE_NOTHING. For an
   optional, it is the kind of its content. `*count` is the number of tensors. */
LATHE_API lathe_status lathe_context_output_content(lathe_context *context, size_t index, int32_t *kind, size_t *count);
/* Returns tensor `element` of an output. Its data is valid as long as the data of lathe_context_output. */
LATHE_API lathe_status lathe_context_output_element(lathe_context *context, size_t index, size_t element,
                                                    lathe_tensor *tensor);

typedef struct lathe_memory_use {
  size_t struct_size;
  uint64_t arena_bytes;    /* arena of planned temporaries and scratch */
  uint64_t live_bytes;     /* largest total of temporaries alive at once: lower bound of any plan */
  uint64_t scratch_bytes;  /* largest scratch of a step, all threads; in the arena unless data-dependent */
  uint64_t output_bytes;   /* outputs owned by the runtime */
  uint64_t copied_bytes;   /* copies of unaligned inputs; values with data-dependent extents */
  uint64_t constant_bytes; /* constants, mapped and shared by all contexts */
  uint64_t state_bytes;    /* states between runs, with all room of states that grow in place; since version 3 */
} lathe_memory_use;
LATHE_API lathe_status lathe_context_memory(const lathe_context *context, lathe_memory_use *use);

/* ---- States between runs ---------------------------------------------------------------------------------------- */

/* Makes output `output` of each run the input `input` of the next run, without a copy: the hidden state of a recurrent
   network, or the keys and values of a decoder. The first run starts from the value of lathe_context_set_input. If it
   is not set, the run starts from zeros, or from the zero point of a quantised input; an axis that grows starts with
   extent 0. Other inputs are set before each run as usual.
   `max_extent` 0: input and output swap their memory after each run. Above 0: the output continues the input along one
   axis and grows in place, in memory for `max_extent` positions; a run copies only the new elements. A run that needs
   more positions fails and changes nothing. Fails for a package whose plan does not let this output grow in place
   (docs/state.md). lathe_context_output returns a copy of a state that grows in place. */
LATHE_API lathe_status lathe_context_keep_state(lathe_context *context, size_t input, size_t output,
                                                int64_t max_extent);
LATHE_API lathe_status lathe_context_keep_state_by_name(lathe_context *context, const char *input, const char *output,
                                                        int64_t max_extent);
/* Makes the next run start from the beginning: from the last value of lathe_context_set_input, or from zeros. */
LATHE_API lathe_status lathe_context_reset_states(lathe_context *context);

/* ---- Profiles --------------------------------------------------------------------------------------------------- */

/* Runs once and records the time of every step. */
LATHE_API lathe_status lathe_context_run_profiled(lathe_context *context);

/* One step of the last profiled run. Texts live as long as the model; they are not null. */
typedef struct lathe_profile_row {
  size_t struct_size;
  const char *kind;     /* "kernel", "reference", ...; "overhead" for the last row, the rest of the total */
  const char *name;     /* kernel or operator */
  const char *family;   /* kernels: "contraction", ... */
  const char *shapes;   /* kernels */
  const char *schedule; /* kernels */
  const char *nodes;    /* nodes of the source model, separated by ", " */
  uint64_t nanoseconds;
  double flops; /* operations; a multiply-accumulate counts as two; 0: unknown */
  double bytes; /* least bytes read and written; 0: unknown */
} lathe_profile_row;

/* Returns the number of rows, overhead row included; 0 before a profiled run. The times of all rows add
   up to `*total_nanoseconds`, which may be null. */
LATHE_API size_t lathe_context_profile_rows(const lathe_context *context, uint64_t *total_nanoseconds);
LATHE_API lathe_status lathe_context_profile_row(const lathe_context *context, size_t index, lathe_profile_row *row);

/* ---- Ending runs early ------------------------------------------------------------------------------------------ */

/* Ends the run in progress. At its next step, iteration of a loop or image of a batch it returns LATHE_CANCELLED; a
   step that has begun is finished. The run's outputs are undefined. States between runs do not change, except memory
   that an output shares with its state. The run that ends clears the request: the context is usable as before.
   If no run is in progress, or if the run is past its last step, the next run ends before its first step, so no request
   is lost. lathe_context_reset_cancel clears a request that has not ended a run yet.
   These two functions may be called from any thread and from a signal handler, while the context exists. Null is
   ignored. */
LATHE_API void lathe_context_cancel(lathe_context *context);
LATHE_API void lathe_context_reset_cancel(lathe_context *context);

/* Sets a function that the run's thread calls before a request ends the run. If it returns 0, the request is cleared
   and the run goes on; otherwise the run ends. It must not use the context, and must return. Null `check`: every
   request ends a run, as in a new context. Not while a run is in progress. */
LATHE_API lathe_status lathe_context_set_cancel_check(lathe_context *context, int (*check)(void *data), void *data);

#ifdef __cplusplus
}
#endif
#endif
