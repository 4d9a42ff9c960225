// The road from an imported graph to kernels.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// Choices above one kernel for one operator, as a graph schedule holds them. What is empty the passes decide.
struct GraphChoice {
  std::optional<bool> blockedInput, blockedOutput; // the layout it reads and writes
  std::optional<std::string>
      kernelOf; // a node of the anchor in whose kernel it is computed; its own node: it starts one
};

struct PipelineOptions {
  /// 0: one kernel per operator, nothing rewritten but what compiling requires. 1: folding and dead code. 2: fusion.
  /// 3: blocked layout and choice of algorithms. 4: as 3 (relaxed arithmetic is the code generator's).
  int level = 3;
  /// Every result is what its operators' definitions give in the order of the source: no factor or offset is moved into
  /// weights, and batch_norm is (x - mean) * (scale / sqrt(var + epsilon)) + bias. Folding of constants, layout and
  /// fusion remain: they change no rounding.
  bool exactMath = false;
  /// Contiguous parts of tensors lie in the whole from level 2 on; false where a test compares with copies.
  bool shareStorage = true;
  /// Channels in one block of the blocked layout.
  int64_t channelBlock = 16;
  /// A pure question: "" or the reason no code can be made for a candidate kernel; such a kernel is split into its
  /// operators and, failing that, left to the reference. Empty: all are accepted.
  std::function<std::string(mlir::func::FuncOp kernel)> declines;
  /// A pure question: whether a candidate kernel of two anchors should stay one kernel rather than become the kernels
  /// `parts`. Empty: it stays one.
  std::function<bool(mlir::func::FuncOp kernel, const std::vector<std::string> &parts)> staysWhole;
  /// Choices given for the operator made of these source nodes. Empty: all are the passes'. One that cannot be followed
  /// is an Error naming the node.
  std::function<GraphChoice(const std::vector<std::string> &nodes)> given;
};

struct PipelineReport {
  /// A conversion between layouts that runs; those that move no byte are not counted.
  struct Conversion {
    std::string node;     // whose result is converted ("" for an input of the model)
    std::string from, to; // types
    int64_t bytes;        // read and written, symbols at 1
  };
  /// An operator that profits from the blocked layout and stays row-major, or one without a kernel.
  struct Declined {
    std::string node, op, reason;
  };
  /// What was chosen, in the order of the graph; together with the kernels' schedules it says all (compile --emit
  /// schedule).
  struct Layouts {
    std::string node;
    bool blockedInput, blockedOutput;
  };
  struct Fusion {
    std::string node, anchor; // source nodes; equal: the operator starts a kernel
  };
  /// A kernel of two anchors, and the names its parts would have had.
  struct Whole {
    std::string kernel;
    std::vector<std::string> parts;
  };
  std::vector<Whole> wholes;
  std::vector<Conversion> conversions;
  std::vector<Layouts> layouts; // of operators that could have the other one
  std::vector<Fusion> fusions;  // of element-wise operators; of depthwise convolutions that one pointwise one reads
  std::vector<Declined> rowMajor;
  std::vector<Declined> references;
  int kernels = 0;
};

/// Graph level in, graph level out. Throws Error naming the node. A module at kernels level is left as it is.
PipelineReport optimizeGraph(mlir::ModuleOp module, const PipelineOptions &options);

/// Graph level to kernels level: see passes/kernels/Partition.cpp. Throws Error. A module at kernels level is left as it is.
PipelineReport formKernels(mlir::ModuleOp module, const PipelineOptions &options);

/// True when the module holds kernel functions (private, with nn.family).
bool hasKernels(mlir::ModuleOp module);

} // namespace lathe
