/* C interface of Lathe's compiler, version 6. It compiles a model to a package for liblathe_runtime.

   Link with liblathe_compiler. All functions may be called from several threads at once. */
#ifndef LATHE_COMPILER_H
#define LATHE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#include "lathe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_COMPILER_API_VERSION 6
/* Returns LATHE_COMPILER_API_VERSION of the loaded library. Version 2 added the field `precision`,
   which version 1 ignores; version 3 added lathe_specializer; version 4 added `requantize_rounding` and `signature`;
   version 5 added the field `layout`, which version 4 ignores, and lathe/builder.h; version 6 added `options`. */
LATHE_API uint32_t lathe_compiler_api_version(void);

/* Precision of convolutions, matrix products and attention. */
typedef enum lathe_precision {
  LATHE_PRECISION_FP32 = 0, /* the types of the model */
  LATHE_PRECISION_BF16 = 1  /* operands rounded to bf16, sums in fp32; fails if the target has no bf16 */
} lathe_precision;

/* Rounding of quantised TFLite models: as in TensorFlow Lite's reference kernels, or as in its optimised kernels, which
   round sums of int8 convolutions and fully connected layers once instead of twice. */
typedef enum lathe_requantize_rounding {
  LATHE_REQUANTIZE_REFERENCE = 0,
  LATHE_REQUANTIZE_OPTIMISED = 1 /* fails for models of other formats */
} lathe_requantize_rounding;

/* Layout of activations between kernels, as --layout of the command line (docs/layouts.md). */
typedef enum lathe_layout {
  LATHE_LAYOUT_AUTO = 0,   /* planes or blocks for every value, by predicted time */
  LATHE_LAYOUT_NCHW = 1,   /* a plane for each channel */
  LATHE_LAYOUT_NHWC = 2,   /* the channels of a position next to each other */
  LATHE_LAYOUT_BLOCKED = 3 /* blocks of as many channels as a vector has */
} lathe_layout;

/* Call lathe_compile_options_init, or set struct_size to sizeof(lathe_compile_options) and unused fields
   to zero. */
typedef struct lathe_compile_options {
  size_t struct_size;
  const char *target;   /* "native" (also when null), an LLVM CPU name ("znver4", "x86-64-v3"), or "llvm -mcpu=..." */
  int32_t threads;      /* schedules are chosen for this number; 0 means 1. The package runs on any number. */
  int32_t level;        /* 0 to 4, as -O0 to -O4 of the command line; 4 is an error with exact_math */
  int32_t exact_math;   /* not 0: forbid algorithms that reassociate arithmetic, at any level */
  int32_t precision;    /* lathe_precision; reserved and 0 before version 2 */
  const char *schedule; /* text of a schedule file, or null: default schedules */
  const char *const *shapes; /* extents of inputs with open extents: "data=1x3x224x224" */
  size_t shape_count;
  int32_t requantize_rounding; /* lathe_requantize_rounding; absent before version 4, like all later members */
  int32_t layout;              /* lathe_layout; reserved and 0 in version 4 */
  const char *signature;       /* of a TFLite model or a SavedModel; null: the first subgraph, or serving_default */
  /* Further options, each "NAME=VALUE", or "NAME" for a switch: the flags of `lathe compile` without their dashes (-O
     is "level"), as "memory=small", "specialize=N=1,8", "range=N=1..64", "optimize-for=N=8", "references-only";
     "machine" is the text of a description and "schedule" the text of a schedule file; "override=NAME" and
     "custom=CLASS=FILE" affect the import. "records=FILE" takes schedules from the tuning records of an archive for one
     kind of machine (`lathe records ship`) that were faster than the default ones. A flag that may be repeated may be repeated here. These options override the
     fields above. Absent before version 6. */
  const char *const *options;
  size_t option_count;
} lathe_compile_options;

/* Sets the defaults: native, 1 thread, level 3, fp32, layouts chosen by predicted time. */
LATHE_API void lathe_compile_options_init(lathe_compile_options *options);

/* Compiles the file at `model_path` (ONNX, TFLite, TensorFlow, Keras or textual IR, recognised by content; or the
   folder of a SavedModel) to a package file. `options` may be null. The package appears under its name when
   it is complete. */
LATHE_API lathe_status lathe_compile_file(const char *model_path, const char *package_path,
                                          const lathe_compile_options *options);

/* Compiles in memory. Messages call the model `name`. Release `*package` with lathe_compiler_free. */
LATHE_API lathe_status lathe_compile_bytes(const void *model, size_t model_bytes, const char *name,
                                           const lathe_compile_options *options, void **package, size_t *package_bytes);
LATHE_API void lathe_compiler_free(void *package);

/* A model whose packages are made when a program first asks for their extents. Threads share it: threads that
   ask for the same extents wait for one compilation. */
typedef struct lathe_specializer lathe_specializer;

/* Reads the model. `options` may be null and is copied. At most `most_packages` packages are kept, the most recently
   used ones. */
LATHE_API lathe_status lathe_specializer_create(const char *model_path, const lathe_compile_options *options,
                                                size_t most_packages, lathe_specializer **specializer);
/* Frees the specializer; returned packages stay valid. Null is ignored. */
LATHE_API void lathe_specializer_free(lathe_specializer *specializer);

/* A package of a specializer, for lathe_model_load_memory. */
typedef struct lathe_specialized lathe_specialized;

/* Returns the package in which the symbols of the model have the values of `extents`, as "N=8" or "H=224 W=320";
   null or "": all symbols stay open. Compiles it unless it is kept. Release it with lathe_specialized_free. */
LATHE_API lathe_status lathe_specializer_package(lathe_specializer *specializer, const char *extents,
                                                 lathe_specialized **package);
/* The package's bytes, aligned to 64 bytes and valid until the package is freed. */
LATHE_API const void *lathe_specialized_data(const lathe_specialized *package, size_t *bytes);
LATHE_API void lathe_specialized_free(lathe_specialized *package);

/* Returns the message of this thread's last failed call: never null, valid until the next failure. */
LATHE_API const char *lathe_compiler_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
