// The part of ONNX Runtime's C API that the runner uses. The npm package has the library but no headers.
//
// Source: the order of the members of OrtApi in onnxruntime_c_api.h (microsoft/onnxruntime). New versions of the API
// only append members; the members up to number 149 exist since version 5 of the API (ONNX Runtime 1.5).
// `openOnnxRuntime` calls some members with known results before the others are used.
#pragma once

#include "support/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lathe::ort {

// Types of ONNX Runtime's handles. A null Status means success; every other Status must be released.
struct Status;
struct Env;
struct SessionOptions;
struct Session;
struct RunOptions;
struct IoBinding;
struct Value;
struct TypeInfo;
struct TensorInfo; // called OrtTensorTypeAndShapeInfo in the header
struct MemoryInfo;
struct Allocator;

// Values of ONNX Runtime's enumerations that the runner uses.
constexpr int errorLevel = 3; // OrtLoggingLevel
enum ExecutionMode : int { sequential = 0, parallel = 1 };
constexpr int allOptimizations = 99; // GraphOptimizationLevel
constexpr int deviceAllocator = 0;   // OrtAllocatorType
constexpr int defaultMemory = 0;     // OrtMemType
constexpr int tensorKind = 1;        // ONNXType
constexpr int invalidArgument = 2;   // OrtErrorCode
constexpr uint32_t apiVersion = 5;   // the first version that has RunWithBinding

/// The table of ONNX Runtime's functions, OrtApi in its header; a comment after a member is the member's number.
/// Element types are the numbers of lab/problems/OnnxTypes.h.
struct Api {
  using Unused = void (*)();
  Status *(*createStatus)(int code, const char *message); // 0
  int (*getErrorCode)(const Status *);
  const char *(*getErrorMessage)(const Status *);
  Status *(*createEnv)(int level, const char *name, Env **); // 3
  Unused unused4[3];
  Status *(*createSession)(const Env *, const char *path, const SessionOptions *, Session **); // 7
  Unused unused8[2];
  Status *(*createSessionOptions)(SessionOptions **); // 10
  Unused unused11[2];
  Status *(*setSessionExecutionMode)(SessionOptions *, int mode); // 13
  Unused unused14[8];
  Status *(*setSessionLogSeverityLevel)(SessionOptions *, int level); // 22
  Status *(*setSessionGraphOptimizationLevel)(SessionOptions *, int level);
  Status *(*setIntraOpNumThreads)(SessionOptions *, int threads);
  Status *(*setInterOpNumThreads)(SessionOptions *, int threads); // 25
  Unused unused26[4];
  Status *(*sessionGetInputCount)(const Session *, size_t *count); // 30
  Status *(*sessionGetOutputCount)(const Session *, size_t *count);
  Unused unused32;
  Status *(*sessionGetInputTypeInfo)(const Session *, size_t index, TypeInfo **); // 33
  Status *(*sessionGetOutputTypeInfo)(const Session *, size_t index, TypeInfo **);
  Unused unused35;
  Status *(*sessionGetInputName)(const Session *, size_t index, Allocator *, char **name); // 36
  Status *(*sessionGetOutputName)(const Session *, size_t index, Allocator *, char **name);
  Unused unused38;
  Status *(*createRunOptions)(RunOptions **); // 39
  Unused unused40[9];
  Status *(*createTensorWithData)(const MemoryInfo *, void *data, size_t bytes, const int64_t *dims, size_t rank,
                                  int type, Value **); // 49
  Unused unused50;
  Status *(*getTensorMutableData)(Value *, void **data); // 51
  Unused unused52[3];
  Status *(*castTypeInfoToTensorInfo)(const TypeInfo *, const TensorInfo **); // 55; borrowed, null for no tensor
  Status *(*getOnnxTypeFromTypeInfo)(const TypeInfo *, int *kind);
  Unused unused57[3];
  Status *(*getTensorElementType)(const TensorInfo *, int *type); // 60
  Status *(*getDimensionsCount)(const TensorInfo *, size_t *rank);
  Status *(*getDimensions)(const TensorInfo *, int64_t *dims, size_t rank);              // -1 for an open extent
  Status *(*getSymbolicDimensions)(const TensorInfo *, const char **names, size_t rank); // "" for other extents
  Unused unused64;
  Status *(*getTensorTypeAndShape)(const Value *, TensorInfo **); // 65
  Unused unused66;
  Status *(*getValueType)(const Value *, int *kind); // 67
  Unused unused68;
  Status *(*createCpuMemoryInfo)(int allocatorType, int memoryType, MemoryInfo **); // 69
  Unused unused70;
  Status *(*memoryInfoGetName)(const MemoryInfo *, const char **name); // 71
  Unused unused72[4];
  Status *(*allocatorFree)(Allocator *, void *); // 76
  Unused unused77;
  Status *(*getAllocatorWithDefaultOptions)(Allocator **); // 78; borrowed
  Unused unused79[13];
  void (*releaseEnv)(Env *); // 92
  void (*releaseStatus)(Status *);
  void (*releaseMemoryInfo)(MemoryInfo *);
  void (*releaseSession)(Session *);
  void (*releaseValue)(Value *);
  void (*releaseRunOptions)(RunOptions *);
  void (*releaseTypeInfo)(TypeInfo *);
  void (*releaseTensorInfo)(TensorInfo *);
  void (*releaseSessionOptions)(SessionOptions *); // 100
  Unused unused101[32];
  Status *(*runWithBinding)(Session *, const RunOptions *, const IoBinding *); // 133
  Status *(*createIoBinding)(Session *, IoBinding **);
  void (*releaseIoBinding)(IoBinding *);
  Status *(*bindInput)(IoBinding *, const char *name, const Value *);
  Status *(*bindOutput)(IoBinding *, const char *name, const Value *);
  Status *(*bindOutputToDevice)(IoBinding *, const char *name, const MemoryInfo *);
  Unused unused139;
  /// Returns an array from the allocator with the values of outputs, which the caller then owns, in the order in which
  /// outputs were bound.
  Status *(*getBoundOutputValues)(const IoBinding *, Allocator *, Value ***values, size_t *count); // 140
  Unused unused141;
  void (*clearBoundOutputs)(IoBinding *); // 142
};
static_assert(offsetof(Api, createSession) == 7 * sizeof(void *));
static_assert(offsetof(Api, setInterOpNumThreads) == 25 * sizeof(void *));
static_assert(offsetof(Api, sessionGetOutputName) == 37 * sizeof(void *));
static_assert(offsetof(Api, createTensorWithData) == 49 * sizeof(void *));
static_assert(offsetof(Api, getSymbolicDimensions) == 63 * sizeof(void *));
static_assert(offsetof(Api, memoryInfoGetName) == 71 * sizeof(void *));
static_assert(offsetof(Api, getAllocatorWithDefaultOptions) == 78 * sizeof(void *));
static_assert(offsetof(Api, releaseSessionOptions) == 100 * sizeof(void *));
static_assert(offsetof(Api, runWithBinding) == 133 * sizeof(void *));
static_assert(offsetof(Api, clearBoundOutputs) == 142 * sizeof(void *));

/// The result of OrtGetApiBase(), the only entry point of ONNX Runtime's library; OrtApiBase in its header.
struct ApiBase {
  const Api *(*getApi)(uint32_t version); // null for a version that the library does not have
  const char *(*getVersionString)();
};

struct Library {
  const Api *api = nullptr;
  std::string version; // "1.30.0"
};

/// Loads ONNX Runtime's library for the rest of the process. Throws Error if the file cannot be loaded, is another
/// library, or is a version of ONNX Runtime that these declarations do not match.
Library openOnnxRuntime(const std::string &path);

/// Releases `status`. If it is not success, throws Error with the name of its code and the first line of its message.
void check(const Api &api, Status *status);

/// Owns one handle of ONNX Runtime and releases it.
template <class Handle> using Owned = std::unique_ptr<Handle, void (*)(Handle *)>;

/// Calls `create(arguments..., &handle)` and returns the handle, which `release` frees. Throws Error like `check`.
template <class Handle, class... Parameters, class... Arguments>
Owned<Handle> make(const Api &api, void (*release)(Handle *), Status *(*create)(Parameters...),
                   Arguments... arguments) {
  Handle *handle = nullptr;
  check(api, create(arguments..., &handle));
  return {handle, release};
}

} // namespace lathe::ort
