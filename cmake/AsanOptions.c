/* What every program of a build with AddressSanitizer starts with. LLVM's libraries are not instrumented; its
 * allocators that are inlined here are, and would forbid memory that the libraries then write to. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allow_user_poisoning=0"; }
