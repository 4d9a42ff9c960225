// The kernel families of the host, registered in Generate.cpp. schedule/Algorithms.cpp declares the parameters of their
// schedules.
#pragma once

#include "codegen/Generate.h"

namespace lathe {

extern const KernelFamily attentionFamily;   // "attention"
extern const KernelFamily contractionFamily; // "contraction"
extern const KernelFamily indexedFamily;     // "indexed"
extern const KernelFamily lrnFamily;         // "lrn"
extern const KernelFamily mapFamily;         // "elementwise"
extern const KernelFamily movementFamily;    // "movement"
extern const KernelFamily normalizeFamily;   // "normalize"
extern const KernelFamily poolFamily;        // "pool"
extern const KernelFamily recurrentFamily;   // "recurrent"
extern const KernelFamily reductionFamily;   // "reduction"
extern const KernelFamily resizeFamily;      // "resize"
extern const KernelFamily scanFamily;        // "scan"
extern const KernelFamily selectionFamily;   // "selection"
extern const KernelFamily softmaxFamily;     // "softmax"

} // namespace lathe
