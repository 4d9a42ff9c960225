// The kernel families of the host, registered in Generate.cpp. schedule/Algorithms.cpp declares the parameters of their
// schedules.
#pragma once

#include "codegen/Generate.h"

namespace lathe {

extern const KernelFamily attentionFamily;   // the family "attention"
extern const KernelFamily contractionFamily; // the family "contraction"
extern const KernelFamily indexedFamily;     // the family "indexed"
extern const KernelFamily lrnFamily;         // the family "lrn"
extern const KernelFamily mapFamily;         // the family "elementwise"
extern const KernelFamily movementFamily;    // the family "movement"
extern const KernelFamily normalizeFamily;   // the family "normalize"
extern const KernelFamily poolFamily;        // the family "pool"
extern const KernelFamily recurrentFamily;   // the family "recurrent"
extern const KernelFamily reductionFamily;   // the family "reduction"
extern const KernelFamily resizeFamily;      // the family "resize"
extern const KernelFamily scanFamily;        // the family "scan"
extern const KernelFamily selectionFamily;   // the family "selection"
extern const KernelFamily softmaxFamily;     // the family "softmax"

} // namespace lathe
