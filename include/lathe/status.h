/* What every function of Lathe's C interfaces returns. */
#ifndef LATHE_STATUS_H
#define LATHE_STATUS_H

#if defined(_WIN32)
#define LATHE_API
#else
#define LATHE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Anything but LATHE_OK leaves a one-line message with the library's last_error function, per thread. Values are never
   renumbered; treat unknown ones as failures. */
typedef enum lathe_status {
  LATHE_OK = 0,
  LATHE_INVALID_ARGUMENT =
      1,            /* the call itself is wrong: a null pointer, an index out of range, an unknown struct_size */
  LATHE_FAILED = 2, /* a file, model, shape or type is wrong; the message says what was expected and found */
  LATHE_OUT_OF_MEMORY = 3,
  LATHE_INTERNAL_ERROR = 4 /* a mistake in Lathe */
} lathe_status;

#ifdef __cplusplus
}
#endif
#endif
