// The pipeline from an imported graph to kernels.
#pragma once

#include "passes/ChannelBlocks.h"
#include "support/Error.h"
#include "support/LayoutChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// Given choices above the kernels for one operator. The passes decide where a member is empty.
struct GraphChoice {
  std::optional<bool> blockedInput, blockedOutput; // layouts of operands and results
  std::optional<std::string> kernelOf; // node of the kernel's anchor; the operator's own node: a separate kernel
};

/// A choice by measured times must take less time than the choice by predictions, by this share. Repeated measurements
/// of one kernel differ by less (docs/notes/tuning-measurement.md).
inline constexpr double measuredDoubt = 0.05;

/// Whether two anchors share one kernel or have one each.
struct WholeChoice {
  bool whole = true;
  bool measured = false; // measured times and predictions decide differently
};

struct PipelineOptions {
  /// Optimisation level. 0: one kernel per operator and only necessary rewrites. 1: folding and
  /// dead code. 2: fusion. 3: blocked layout and choice of algorithms. 4: as 3 here; the
  /// code generator relaxes arithmetic (KernelProblem::relaxedMath).
  int level = 3;
  /// Keeps the results that the definitions of the operators give in source order: no factor or
  /// offset moves into weights, and batch_norm is (x - mean) * (scale / sqrt(var + epsilon)) +
  /// bias. Constant folding, layouts and fusion stay enabled, because they change no rounding.
  bool exactMath = false;
  /// The graph will be written to a file, not compiled: leaves out passes that make operators that no file format has,
  /// such as extents bound while the plan runs and recurrences split from their products.
  bool forFiles = false;
  /// Keeps float16 values that may leave their range as float32 (widenHalf). False for graphs that are only compared.
  bool widensHalf = true;
  /// Shares storage of contiguous parts of tensors from level 2 on; false for tests that compare
  /// with copies.
  bool shareStorage = true;
  /// Layouts of activations. Every choice but `automatic` holds at any level.
  LayoutChoice layout = LayoutChoice::automatic;
  /// Block sizes of the blocked layout.
  ChannelBlocks channelBlocks;

  bool choosesLayouts() const { return level >= 3 || layout != LayoutChoice::automatic; }
  /// Returns the predicted core cycles of a candidate kernel, or the reason why no code can be generated for it. Changes
  /// nothing. Layouts are chosen by it; required from level 3 on.
  std::function<Outcome<double>(mlir::func::FuncOp kernel)> predictCycles;
  /// Receives the symbols in the heights and widths of convolutions, before anything is predicted. May be empty.
  std::function<void(const std::vector<std::string> &symbols)> noteImageExtents;
  /// Returns "" or the reason why no code can be generated for a candidate kernel, which is then
  /// divided into its operators or left to the reference. Changes nothing. Empty: all are accepted.
  std::function<std::string(mlir::func::FuncOp kernel)> declines;
  /// Returns the measured seconds of a candidate kernel; declines if it was not measured or cannot be made. Changes
  /// nothing. Decides layouts where all kernels that differ from the predicted graph were measured
  /// (passes/kernels/MeasuredLayout.h). Empty: predictions alone decide.
  std::function<Outcome<double>(mlir::func::FuncOp kernel)> measuredSeconds;
  /// Decides whether a candidate kernel of two anchors stays one kernel or becomes the kernels `parts`. Changes
  /// nothing. Empty: it stays one kernel.
  std::function<WholeChoice(mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &parts)> staysWhole;
  /// Returns the choices given for the operator made of these source nodes. Empty: none. A choice
  /// that cannot be followed is an Error with the node.
  std::function<GraphChoice(const std::vector<std::string> &nodes)> given;
};

struct PipelineReport {
  /// A layout conversion that moves data, or a transpose of the model between channels last and planes.
  struct Conversion {
    std::string node;     // node whose result is converted; "": an input of the model
    std::string from, to; // types
    int64_t bytes;        // bytes read and written, symbols at 1
    std::string reader;   // "conv1 (conv)": an operator that reads the converted value; "": none, it is a result
    std::string kernel;   // name of its kernel
  };
  /// An operator that would gain from the blocked layout but stays row-major, or an operator
  /// without a kernel.
  struct Declined {
    std::string node, op, reason;
  };
  /// Choices in the order of the graph; with the schedules of the kernels they are complete
  /// (compile --emit schedule).
  struct Layouts {
    std::string node;
    bool blockedInput, blockedOutput;
  };
  struct Fusion {
    std::string node, anchor; // source nodes; equal: the operator has its own kernel
  };
  /// A kernel of two anchors, and the kernel names of its parts.
  struct Whole {
    std::string kernel;
    std::vector<std::string> parts;
  };
  std::vector<Whole> wholes;
  std::vector<Conversion> conversions;
  std::vector<Layouts> layouts; // operators that support both layouts
  std::vector<Fusion> fusions;  // element-wise operators, and depthwise convolutions read by one pointwise convolution
  std::vector<Declined> rowMajor;
  std::vector<Declined> unconverted; // all operators that stay in the model's layout
  std::vector<Declined> references;
  std::vector<Declined> notGrowing; // concatenations of an input and new elements that do not grow in place
  int kernels = 0;
  int measuredChoices = 0; // operators for which measured times choose other layouts or kernels than predictions

  /// Adds the report of another part of the model.
  void add(PipelineReport other);
};

/// Runs the graph passes. Throws Error with the node. A module at kernels level is not changed.
PipelineReport optimizeGraph(mlir::ModuleOp module, const PipelineOptions &options);

/// Lowers graph level to kernels level (passes/kernels/Partition.h). Throws Error. A module at
/// kernels level is not changed.
PipelineReport formKernels(mlir::ModuleOp module, const PipelineOptions &options);

/// True if the module has kernel functions (private, with nn.family).
bool hasKernels(mlir::ModuleOp module);

} // namespace lathe
