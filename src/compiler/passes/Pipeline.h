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

/// Choices of layout and fusion that a user gives for one operator. The passes decide where a member has no value.
struct GraphChoice {
  /// true: the operands, or the results, have the blocked layout; false: they are row-major.
  std::optional<bool> blockedInput, blockedOutput;
  /// The operator joins the kernel whose anchor (main operator) is this node; if it is the operator's own node, the
  /// operator gets a separate kernel.
  std::optional<std::string> kernelOf;
};

/// Share of time by which measured times must favour a choice to replace the choice that predictions make. Repeated
/// measurements of one kernel differ by less (docs/notes/tuning-measurement.md).
inline constexpr double measuredDoubt = 0.05;

/// The decision whether two anchors (main operators) share one kernel or get one kernel each.
struct WholeChoice {
  bool whole = true;
  bool measured = false; // true: measured times decide otherwise than predictions
};

struct PipelineOptions {
  /// Optimisation level. 0: one kernel per operator and only necessary rewrites. 1: also folding and dead code
  /// elimination. 2: also fusion. 3: also the blocked layout and the choice of algorithms. 4: the passes do the same
  /// as at level 3; the code generator also relaxes arithmetic (KernelProblem::relaxedMath).
  int level = 3;
  /// True: keep the results that the definitions of the operators give in source order. No factor or offset moves into
  /// weights, and batch_norm is (x - mean) * (scale / sqrt(var + epsilon)) + bias. Constant folding, layouts and
  /// fusion stay enabled, because they change no rounding.
  bool exactMath = false;
  /// True if the graph will be written to a file instead of compiled: leaves out passes that make operators that no
  /// file format has, such as extents bound while the plan runs and recurrences split from their products.
  bool forFiles = false;
  /// True: store float16 values that may leave the range of float16 as float32 (widenHalf). False for graphs that are
  /// only compared.
  bool widensHalf = true;
  /// True: from level 2 on, contiguous parts of tensors share the storage of the whole. False for tests that compare
  /// with copies.
  bool shareStorage = true;
  /// Layout of activations. `automatic` chooses layouts from level 3 on; every other choice holds at any level.
  LayoutChoice layout = LayoutChoice::automatic;
  /// Block sizes of the blocked layout.
  ChannelBlocks channelBlocks;

  /// Convolutions that read one value become one convolution (mergeConvolutions) where its predicted cost times 1 +
  /// this is below the sum of theirs. Nothing: none do, unless `mergedInto` says so. Both need a level that chooses
  /// layouts.
  std::optional<double> mergeMargin;
  /// Function that returns the node whose convolution that of these nodes is merged with, or nothing. If the function
  /// is given, predictions merge nothing. A merge that is not possible is an Error.
  std::function<std::optional<std::string>(const std::vector<std::string> &nodes)> mergedInto;

  bool choosesLayouts() const { return level >= 3 || layout != LayoutChoice::automatic; }
  /// Function that returns the predicted core cycles of a candidate kernel, or the reason why no code can be generated
  /// for it. Changes nothing. The passes choose layouts by these predictions; required from level 3 on.
  std::function<Outcome<double>(mlir::func::FuncOp kernel)> predictCycles;
  /// Function that receives the symbols in the heights and widths of convolutions, before anything is predicted. May
  /// be empty.
  std::function<void(const std::vector<std::string> &symbols)> noteImageExtents;
  /// Function that returns "" or the reason why no code can be generated for a candidate kernel, which is then divided
  /// into its operators or left to the reference function. Changes nothing. Empty: all kernels are accepted.
  std::function<std::string(mlir::func::FuncOp kernel)> declines;
  /// Function that returns the measured seconds of a candidate kernel; declines if it was not measured or cannot be
  /// made. Changes nothing. These times decide layouts where every kernel that would differ from the predicted choice
  /// was measured (passes/kernels/MeasuredLayout.h). Empty: predictions alone decide.
  std::function<Outcome<double>(mlir::func::FuncOp kernel)> measuredSeconds;
  /// Function that decides whether a candidate kernel with two anchors (main operators) stays whole or becomes the
  /// kernels `parts`. Changes nothing. Without this function the kernel stays whole.
  std::function<WholeChoice(mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &parts)> staysWhole;
  /// Function that returns the choices that a user gives for the operator made of these source nodes. Empty: there are
  /// no choices. A choice that cannot be followed is an Error with the node.
  std::function<GraphChoice(const std::vector<std::string> &nodes)> given;
};

struct PipelineReport {
  /// A layout conversion that moves data, or a transpose of the model between channels last and planes.
  struct Conversion {
    std::string node;     // node whose result is converted; "": an input of the model
    std::string from, to; // types before and after the conversion
    int64_t bytes;        // bytes that the conversion reads and writes; symbols count as 1
    /// An operator that reads the converted value, "conv1 (conv)"; "": no operator does, the value is a result of the
    /// model.
    std::string reader;
    std::string kernel; // name of the kernel that computes the conversion
  };
  /// An operator with the reason why the passes left it as it is: it stays row-major, or has no kernel.
  struct Declined {
    std::string node, op, reason;
  };
  /// The chosen layouts of one operator. The list of these layouts is in the order of the graph; layouts, fusions and
  /// the schedules of the kernels are all choices of a compilation (compile --emit schedule).
  struct Layouts {
    std::string node;
    bool blockedInput, blockedOutput;
  };
  struct Fusion {
    /// Source nodes of the operator and of its kernel's anchor; if they are equal, the operator has its own kernel.
    std::string node, anchor;
  };
  /// A kernel of two anchors, and the names of the kernels into which it can be divided.
  struct Whole {
    std::string kernel;
    std::vector<std::string> parts;
  };
  /// Convolutions that became one convolution, by source nodes, with the predicted cycles of the new kernel (copies of
  /// its parts included) and of the kernels apart; both 0 if the merge was given.
  struct Merge {
    std::vector<std::string> nodes;
    double cycles = 0, apartCycles = 0;
  };
  std::vector<Merge> merges;
  std::vector<Whole> wholes;
  std::vector<Conversion> conversions;
  std::vector<Layouts> layouts; // layouts of the operators that support both layouts
  /// Fusions of element-wise operators, and of depthwise convolutions that only a pointwise convolution reads.
  std::vector<Fusion> fusions;
  std::vector<Declined> rowMajor;
  std::vector<Declined> unconverted; // all operators that stay in the layout of the model
  std::vector<Declined> references;
  std::vector<Declined> notGrowing; // concatenations of an input and new elements that cannot grow in place
  int kernels = 0;
  /// Number of operators whose layouts or kernels measured times choose otherwise than predictions.
  int measuredChoices = 0;

  /// Adds the report about another part of the model to this report.
  void add(PipelineReport other);
};

/// Runs the graph passes over a module. Throws Error with the node. A module at kernels level is not changed.
PipelineReport optimizeGraph(mlir::ModuleOp module, const PipelineOptions &options);

/// Lowers a module from graph level to kernels level (passes/kernels/Partition.h). Throws Error. A module at kernels
/// level is not changed.
PipelineReport formKernels(mlir::ModuleOp module, const PipelineOptions &options);

/// True if the module has kernel functions (private, with nn.family).
bool hasKernels(mlir::ModuleOp module);

} // namespace lathe
