#include "lab/runners/onnxruntime/OrtApi.h"

#include "support/Text.h"

#include <array>
#include <cstring>
#include <dlfcn.h>

namespace lathe::ort {

/// The name of a value of OrtErrorCode.
static std::string codeName(int code) {
  static constexpr std::array names = {"OK",
                                       "FAIL",
                                       "INVALID_ARGUMENT",
                                       "NO_SUCHFILE",
                                       "NO_MODEL",
                                       "ENGINE_ERROR",
                                       "RUNTIME_EXCEPTION",
                                       "INVALID_PROTOBUF",
                                       "MODEL_LOADED",
                                       "NOT_IMPLEMENTED",
                                       "INVALID_GRAPH",
                                       "EP_FAIL"};
  return code >= 0 && size_t(code) < names.size() ? names[size_t(code)] : "error " + std::to_string(code);
}

void check(const Api &api, Status *status) {
  if (!status)
    return;
  std::string message = api.getErrorMessage(status), code = codeName(api.getErrorCode(status));
  api.releaseStatus(status);
  throw Error(code + ": " + printable(message.substr(0, message.find('\n'))));
}

/// Calls members from the beginning, the middle and the end of the table with known results. So a table in another
/// order is found here, and not by a crash during a measurement.
static bool answersAsDeclared(const Api &api) {
  Status *status = api.createStatus(invalidArgument, "a message");
  bool first = status && api.getErrorCode(status) == invalidArgument &&
               std::strcmp(api.getErrorMessage(status), "a message") == 0;
  if (!first)
    return false;
  api.releaseStatus(status);
  auto memory = make(api, api.releaseMemoryInfo, api.createCpuMemoryInfo, deviceAllocator, defaultMemory);
  const char *name = nullptr;
  check(api, api.memoryInfoGetName(memory.get(), &name));
  float number = 1;
  int64_t extent = 1;
  auto value = make(api, api.releaseValue, api.createTensorWithData, static_cast<const MemoryInfo *>(memory.get()),
                    static_cast<void *>(&number), sizeof number, static_cast<const int64_t *>(&extent), size_t(1), 1);
  int kind = 0;
  check(api, api.getValueType(value.get(), &kind));
  return name && std::strcmp(name, "Cpu") == 0 && kind == tensorKind;
}

Library openOnnxRuntime(const std::string &path) {
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("{}: cannot be loaded: {}", path, printable(::dlerror()));
  auto getBase = reinterpret_cast<const ApiBase *(*)()>(::dlsym(handle, "OrtGetApiBase"));
  require(getBase, "{}: has no OrtGetApiBase, so it is not ONNX Runtime: run \"make peers\"", path);
  const ApiBase *base = getBase();
  Library library;
  library.version = base->getVersionString();
  library.api = library.version.starts_with("1.") ? base->getApi(apiVersion) : nullptr;
  require(library.api, "{}: is ONNX Runtime {}, expected 1.x with version {} of the C API: run \"make peers\"", path,
          printable(library.version), apiVersion);
  require(answersAsDeclared(*library.api),
          "{}: ONNX Runtime {} has another C API than this program was written for: run \"make peers\"", path,
          library.version);
  return library;
}

} // namespace lathe::ort
