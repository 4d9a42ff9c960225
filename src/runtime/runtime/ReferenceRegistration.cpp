// For programs that link runtime and references statically.
#include "runtime/References.h"

extern "C" const lathe::runtime::ReferenceProvider *lathe_reference_provider(uint32_t abi);

namespace lathe::runtime {
void registerReferences() { setReferenceProvider(lathe_reference_provider(referenceAbi)); }
} // namespace lathe::runtime

/// The same for C: call once before loading a model (liblathe_references.a).
extern "C" __attribute__((visibility("default"))) void lathe_register_references(void) {
  lathe::runtime::registerReferences();
}
