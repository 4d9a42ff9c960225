/* Status codes of Lathe's C interfaces. */
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

/* After any status but LATHE_OK, the library's last_error function returns a one-line message for this
   thread. Values are never renumbered; treat unknown values as failures. */
typedef enum lathe_status {
  LATHE_OK = 0,
  LATHE_INVALID_ARGUMENT =
      1,            /* the call itself is wrong: a null pointer, an index out of range, an unknown struct_size */
  LATHE_FAILED = 2, /* a file, model, shape or type is wrong; the message names expected and found */
  LATHE_OUT_OF_MEMORY = 3,
  LATHE_INTERNAL_ERROR = 4, /* a defect of Lathe */
  LATHE_CANCELLED = 5       /* lathe_context_cancel has ended the run */
} lathe_status;

#ifdef __cplusplus
}
#endif
#endif
