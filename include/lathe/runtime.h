/* Lathe's runtime, C interface, version 2.

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

#define LATHE_RUNTIME_API_VERSION 2
/* LATHE_RUNTIME_API_VERSION of the library at run time. From version 2 on the constants' hash is checked unless
   LATHE_LOAD_SKIP_CONSTANTS says otherwise, a flag that version 1 refuses. */
LATHE_API uint32_t lathe_runtime_api_version(void);
/* "0.1.0" */
LATHE_API const char *lathe_runtime_version(void);
/* Message of this thread's last failed call; never null, valid until the next one fails. */
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
  LATHE_STRING = 14, /* reported by lathe_model_input; tensors of strings do not pass through this interface yet */
  LATHE_F8E4M3FN = 15,
  LATHE_F8E4M3FNUZ = 16,
  LATHE_F8E5M2 = 17,
  LATHE_F8E5M2FNUZ = 18,
  LATHE_I4 = 19, /* two elements a byte, the first in the low half */
  LATHE_U4 = 20
} lathe_element_type;

/* Bits of one element in memory; 0 for strings and unknown types. */
LATHE_API uint32_t lathe_element_bits(int32_t element_type);

typedef enum lathe_memory_space {
  LATHE_HOST = 0 /* the only one so far */
} lathe_memory_space;

/* A dense row-major tensor: a view, nothing is owned. */
typedef struct lathe_tensor {
  size_t struct_size;
  int32_t element_type; /* lathe_element_type */
  int32_t memory_space; /* lathe_memory_space */
  size_t rank;
  const int64_t *dims;
  void *data;   /* inputs are only read */
  size_t bytes; /* size of `data`: at least that of the elements */
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

/* `options` may be null. Every byte is checked against the package's hashes, which reads the file once (docs/c-api.md
   says what that costs); nothing is kept on disk about it. The constants are then mapped in place: the file must not be
   changed in place while the model lives. */
LATHE_API lathe_status lathe_model_load(const char *path, const lathe_load_options *options, lathe_model **model);
LATHE_API lathe_status lathe_model_load_memory(const void *data, size_t bytes, const lathe_load_options *options,
                                               lathe_model **model);
/* Contexts keep what they need: a model may be freed before them. Null is ignored. */
LATHE_API void lathe_model_free(lathe_model *model);

/* Texts and arrays live as long as the model. */
typedef struct lathe_port {
  size_t struct_size;
  const char *name;
  int32_t element_type;
  int32_t is_tensor; /* 0: a sequence or an optional, which do not pass through this interface yet */
  size_t rank;
  const int64_t *dims;          /* -1 where the extent is free */
  const char *const *dim_texts; /* "3", "N", "N*2": equal symbols are equal extents */
} lathe_port;

LATHE_API size_t lathe_model_input_count(const lathe_model *model);
LATHE_API size_t lathe_model_output_count(const lathe_model *model);
LATHE_API lathe_status lathe_model_input(const lathe_model *model, size_t index, lathe_port *port);
LATHE_API lathe_status lathe_model_output(const lathe_model *model, size_t index, lathe_port *port);
/* Position of the port of that name. */
LATHE_API lathe_status lathe_model_find_input(const lathe_model *model, const char *name, size_t *index);
LATHE_API lathe_status lathe_model_find_output(const lathe_model *model, const char *name, size_t *index);

typedef struct lathe_model_info {
  size_t struct_size;
  const char *source;   /* file name of the model it was compiled from */
  const char *producer; /* "lathe 0.1.0" */
  const char *options;  /* it was compiled with */
  const char *target;   /* "x86_64 znver5" */
  uint64_t constant_bytes;
  uint64_t code_bytes;
} lathe_model_info;
LATHE_API lathe_status lathe_model_get_info(const lathe_model *model, lathe_model_info *info);

/* Programs that link liblathe_references.a call this before loading a model; others load liblathe_references.so from
   beside the runtime when a package needs it. Defined in liblathe_references.a only. */
LATHE_API void lathe_register_references(void);

/* ---- Contexts --------------------------------------------------------------------------------------------------- */

typedef struct lathe_context_options {
  size_t struct_size;
  int32_t threads; /* the calling thread included; 0: as many as the process may run on. Results do not depend on it. */
  int32_t reserved; /* 0 */
} lathe_context_options;

/* `options` may be null: one thread. */
LATHE_API lathe_status lathe_context_create(const lathe_model *model, const lathe_context_options *options,
                                            lathe_context **context);
/* Null is ignored. */
LATHE_API void lathe_context_free(lathe_context *context);

/* The data is used in place and must stay valid and unchanged through every run (data that is not aligned to its
   elements is copied here). The same buffer may be refilled between runs. */
LATHE_API lathe_status lathe_context_set_input(lathe_context *context, size_t index, const lathe_tensor *tensor);
LATHE_API lathe_status lathe_context_set_input_by_name(lathe_context *context, const char *name,
                                                       const lathe_tensor *tensor);
/* Runs write there, until `tensor` is null again: then to the runtime's own memory. */
LATHE_API lathe_status lathe_context_set_output(lathe_context *context, size_t index, const lathe_tensor *tensor);
LATHE_API lathe_status lathe_context_set_output_by_name(lathe_context *context, const char *name,
                                                        const lathe_tensor *tensor);

/* Extents the output will have with the inputs set now: what to allocate before a run. `*rank` is always set; `dims`
   gets at most `capacity` extents. Fails for extents that depend on the inputs' contents. */
LATHE_API lathe_status lathe_context_output_dims(lathe_context *context, size_t index, int64_t *dims, size_t capacity,
                                                 size_t *rank);

LATHE_API lathe_status lathe_context_run(lathe_context *context);

/* Result of the last run; its data is valid until the next run or until inputs of other extents are set. */
LATHE_API lathe_status lathe_context_output(lathe_context *context, size_t index, lathe_tensor *tensor);
LATHE_API lathe_status lathe_context_output_by_name(lathe_context *context, const char *name, lathe_tensor *tensor);

typedef struct lathe_memory_use {
  size_t struct_size;
  uint64_t arena_bytes;    /* temporaries and scratch, planned */
  uint64_t live_bytes;     /* the largest set of temporaries alive at once: no plan is smaller */
  uint64_t scratch_bytes;  /* the largest of a step, all threads; in the arena unless its size depends on data */
  uint64_t output_bytes;   /* owned by the runtime */
  uint64_t copied_bytes;   /* inputs that were not aligned; values of extents that depend on data */
  uint64_t constant_bytes; /* mapped, shared by all contexts */
} lathe_memory_use;
LATHE_API lathe_status lathe_context_memory(const lathe_context *context, lathe_memory_use *use);

/* ---- Profiles --------------------------------------------------------------------------------------------------- */

/* Runs once and keeps the time of every step. */
LATHE_API lathe_status lathe_context_run_profiled(lathe_context *context);

/* One step of the last profiled run. Texts live as long as the model; they are not null. */
typedef struct lathe_profile_row {
  size_t struct_size;
  const char *kind; /* "kernel", "reference", ... and "overhead" for the last row, which is what remains of the total */
  const char *name; /* kernel or operator */
  const char *family;   /* kernels: "contraction", ... */
  const char *shapes;   /* kernels */
  const char *schedule; /* kernels */
  const char *nodes;    /* of the source model, separated by ", " */
  uint64_t nanoseconds;
  double flops; /* operations, a multiply-accumulate counts as two; 0 where unknown */
  double bytes; /* read and written at least; 0 where unknown */
} lathe_profile_row;

/* Rows, the overhead row included: their times add up to `*total_nanoseconds` (which may be null). 0 before a profiled
 * run. */
LATHE_API size_t lathe_context_profile_rows(const lathe_context *context, uint64_t *total_nanoseconds);
LATHE_API lathe_status lathe_context_profile_row(const lathe_context *context, size_t index, lathe_profile_row *row);

#ifdef __cplusplus
}
#endif
#endif
