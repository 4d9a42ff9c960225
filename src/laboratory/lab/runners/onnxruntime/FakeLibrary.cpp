// A library for tests that claims to be ONNX Runtime of version $FAKE_ONNXRUNTIME_VERSION. It has version 5 of the C
// API for versions that begin with "1.", with other functions than in the header.
#include <cstdint>
#include <cstdlib>

namespace {

struct Base {
  const void *(*getApi)(uint32_t version);
  const char *(*getVersionString)();
};

const char *version() {
  const char *stated = std::getenv("FAKE_ONNXRUNTIME_VERSION");
  return stated ? stated : "";
}

int answer() { return 0; } // for every function: no status, no code, no message

const void *api(uint32_t) {
  static int (*table[143])();
  for (auto &entry : table)
    entry = answer;
  return version()[0] == '1' ? table : nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const Base *OrtGetApiBase() {
  static const Base base{api, version};
  return &base;
}
