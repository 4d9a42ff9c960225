#include "passes/Pipeline.h"

#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "passes/kernels/GrowInPlace.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/LayoutCosts.h"
#include "passes/kernels/Partition.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "support/Error.h"

namespace lathe {
namespace {

/// Infers types and contents with the shape functions, and turns static parameters into attributes.
void settleShapes(mlir::ModuleOp module) {
  inferShapes(module);
  staticOperands(module);
  inferShapes(module); // operands that became attributes, and targets rewritten with 0 and -1, give more facts
  foldEmpty(module);   // before the rules, which divide by extents
}

void commonSubexpressions(mlir::ModuleOp module) {
  settleResultTypes(mainFunction(module)); // the pass verifies
  mlir::PassManager manager(module.getContext());
  manager.addPass(mlir::createCSEPass());
  require(mlir::succeeded(manager.run(module)), "internal: common subexpression elimination failed");
}

/// Inputs and outputs of programs are dense row-major tensors.
void requirePlainEdges(mlir::func::FuncOp main) {
  for (mlir::BlockArgument argument : main.getArguments())
    require(!nn::layoutOf(argument), "argument {} of @main has a layout, expected a row-major tensor",
            argument.getArgNumber());
  for (auto [i, value] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands()))
    require(!nn::layoutOf(value), "result {} of @main has a layout, expected a row-major tensor", i);
}

/// Returns true for text that was printed after optimizeGraph and edited, whose layouts this target can use: they are
/// kept. Removes layouts that the target cannot use.
bool keepsLayouts(mlir::ModuleOp module, const PipelineOptions &options) {
  mlir::func::FuncOp main = mainFunction(module);
  if (!hasLayouts(main))
    return false;
  if (options.choosesLayouts() && options.layout != LayoutChoice::planes && usesBlocks(main, options.channelBlocks))
    return true;
  stripLayouts(main);
  return false;
}

/// Reports the operators that are row-major in the text.
void reportGiven(mlir::func::FuncOp main, PipelineReport &report) {
  auto given = [](mlir::Value value) { return nn::layoutOf(value) != nullptr; };
  for (mlir::Operation &op : main.getBody().front())
    if (nn::recordOf(&op) && llvm::none_of(op.getOperands(), given) && llvm::none_of(op.getResults(), given))
      report.unconverted.push_back(
          {nn::describe(op.getLoc()), op.getName().stripDialect().str(), "the text has it row-major"});
}

/// Level 0. Kernels take static parameters, and no kernel computes a batch norm.
void decomposeForKernels(mlir::ModuleOp module, const PipelineOptions &options) {
  foldBatchNorm(module, /*decomposeOnly=*/true, options.exactMath);
  convTranspose(module);
  splitRecurrence(module); // only the recurrence itself has a kernel
  settleShapes(module);
  bindExtents(module);
  narrowMovement(module);
  deadCode(module);
}

/// 4-bit or 8-bit weights stay integers where a kernel reads them: scales then apply to sums, which exact math forbids.
void fold(mlir::ModuleOp module, const PipelineOptions &options) {
  options.level >= 2 && !options.exactMath ? foldUnpacked(module) : foldConstants(module);
}

/// Folds constants first: results that the exporter computes from weights and shapes become visible to all later rules.
void foldAndSimplify(mlir::ModuleOp module, const PipelineOptions &options) {
  fold(module, options);
  settleShapes(module);
  deadCode(module);
  // Initial states that exporters compute are constants at this point. Reshaped weights are folded later.
  if (!options.forFiles)
    splitRecurrence(module);
  simplify(module);
  // Before formulas and scales: with channels first, all later rules see the form that ONNX exporters write.
  sinkTranspose(module);
  // Transposes that remain at the inputs hide pads and scales of pictures from their convolution.
  liftTranspose(module);
  fold(module, options); // constants that moved with a transpose: rules look for constants beside a convolution
  simplify(module);
}

/// Before scales move: a formula is recognised in the form that its exporter wrote. One kernel reads each row once, or
/// computes one scalar expression, where the long form passes over memory four times. Not under exact math, because the
/// order of operations changes.
void recognizeFormulas(mlir::ModuleOp module, const PipelineOptions &options) {
  recognizeSoftmax(module);
  recognizeLayerNorm(module);
  if (!options.forFiles) // ONNX's operator has no epsilon
    recognizeLpNormalize(module);
  recognizeGroupNorm(module); // after instance norms
  recognizeActivation(module);
}

/// Folds scales and offsets beside a convolution into its weights, in the order in which they are applied.
void foldIntoWeights(mlir::ModuleOp module, const PipelineOptions &options) {
  foldPad(module); // before batch norms: a pad between two convolutions hides one from the other
  foldScale(module, options.exactMath);
  foldBatchNorm(module, /*decomposeOnly=*/false, options.exactMath);
  foldScale(module, options.exactMath); // operators after a batch norm now follow the convolution
  fold(module, options);                // the parts of batch norms that were spelled out
  // After all rules that fold into the weights of conv_transpose.
  convTranspose(module);
}

/// At level 2 and above, after all rules that could expose these patterns.
void recognizeAttentionAndViews(mlir::ModuleOp module, const PipelineOptions &options) {
  if (!options.exactMath)
    recognizeAttention(module);
  sinkReshape(module);
  simplify(module); // transposes of keys, reshapes of reshapes
}

} // namespace

void PipelineReport::add(PipelineReport other) {
  llvm::move(other.merges, std::back_inserter(merges));
  llvm::move(other.wholes, std::back_inserter(wholes));
  llvm::move(other.conversions, std::back_inserter(conversions));
  llvm::move(other.layouts, std::back_inserter(layouts));
  llvm::move(other.fusions, std::back_inserter(fusions));
  llvm::move(other.rowMajor, std::back_inserter(rowMajor));
  llvm::move(other.unconverted, std::back_inserter(unconverted));
  llvm::move(other.references, std::back_inserter(references));
  llvm::move(other.notGrowing, std::back_inserter(notGrowing));
  kernels += other.kernels;
  measuredChoices += other.measuredChoices;
}

bool hasKernels(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr("nn.family"))
      return true;
  return false;
}

namespace {

/// Rewrites convolutions with open height and width as other operators if no kernel computes them in any layout.
bool rewriteOpenConvolutions(mlir::ModuleOp module, const PipelineOptions &options) {
  if (!options.predictCycles)
    return openConvolutions(module);
  mlir::func::FuncOp main = mainFunction(module);
  nn::SymbolicShapes shapes(main);
  if (options.noteImageExtents)
    options.noteImageExtents(imageExtents(main, shapes));
  LayoutCosts costs(main, shapes, options, options.predictCycles);
  bool mayBlock = options.choosesLayouts() && options.layout != LayoutChoice::planes;
  return openConvolutions(module, [&](mlir::Operation *conv) {
    LayoutRule rule = layoutRule(conv, options.channelBlocks);
    for (bool blocked : {true, false})
      if ((!blocked || (mayBlock && rule.rowOnly.empty())) && costs.costOf(conv, rule, blocked, blocked))
        return false;
    return true;
  });
}

/// Applies `work` to the bodies of nn.if and nn.loop as separate models.
void inBodies(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report,
              PipelineReport (*stage)(mlir::ModuleOp, const PipelineOptions &)) {
  for (auto body : llvm::to_vector(module.getOps<mlir::ModuleOp>()))
    report.add(stage(body, options));
}

/// Everything above layouts.
void rewriteGraph(mlir::ModuleOp module, const PipelineOptions &options) {
  settleShapes(module);
  // Before constants fold: integer weights would become numbers.
  if (options.level >= 1 && !options.exactMath)
    recognizeQuantized(module);
  // Before products of integers: which of them have kernels depends on constant weights, which importers transpose.
  if (options.level > 0)
    fold(module, options);
  // Before kernels form: otherwise a sum of quantised values that is quantised again would divide every element.
  if (options.level >= 1)
    multiplyByReciprocal(module);
  // Required at any level: there is not a kernel for every product of 8-bit integers.
  widenInteger(module);
  if (options.level == 0)
    return decomposeForKernels(module, options);
  foldAndSimplify(module, options);
  if (!options.forFiles)
    bindExtents(module); // extents that folding has not made constant; later rules then see symbols, as for a batch
  if (!options.exactMath)
    recognizeFormulas(module, options);
  foldIntoWeights(module, options);
  channelShuffle(module);
  if (options.level >= 3 && !options.exactMath)
    absorbShuffle(module); // each shuffle is one gather at this point
  if (rewriteOpenConvolutions(module, options))
    fold(module, options); // the weights as matrices
  simplify(module);
  commonSubexpressions(module);
  fold(module, options); // packed weights that two products share at this point
  deadCode(module);
  inferShapes(module);
  if (options.level >= 2)
    recognizeAttentionAndViews(module, options);

  // After the rules that match whole concatenations.
  narrowMovement(module);
}

/// Refines types and extents inside and around bodies until neither gives new facts: a body after a branch sees the
/// branch's results. A symbol that has become a number is not bound any more.
void settleBodyShapes(mlir::ModuleOp module) {
  constexpr int mostRounds = 8;
  settleShapes(module);
  for (int round = 0; round < mostRounds && refineBodies(module); ++round) {
    for (auto body : llvm::to_vector(module.getOps<mlir::ModuleOp>()))
      settleBodyShapes(body);
    settleShapes(module);
  }
}

/// Optimises bodies with all facts that are known around them. Captured values that no body reads are removed then.
void optimizeBodies(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report) {
  settleBodies(module);
  inBodies(module, options, report, optimizeGraph);
  dropUnusedCaptures(module);
  deadCode(module);
  settleBodyShapes(module); // a branch may be inlined now
}

} // namespace

PipelineReport optimizeGraph(mlir::ModuleOp module, const PipelineOptions &options) {
  PipelineReport report;
  if (hasKernels(module))
    return report;
  requirePlainEdges(mainFunction(module));
  if (keepsLayouts(module, options)) {
    settleShapes(module);
    reportGiven(mainFunction(module), report);
    inBodies(module, options, report, optimizeGraph);
    return report;
  }
  rewriteGraph(module, options);

  if (!module.getOps<mlir::ModuleOp>().empty())
    optimizeBodies(module, options, report);

  // After the rules that recognise operators, because most of these operators keep values in range, and before kernels
  // are formed, because that decides which values lie between operators.
  if (options.widensHalf && !options.forFiles) {
    widenHalf(module);
    if (options.level > 0)
      fold(module, options);
  }

  // After all rules that match single convolutions.
  if (options.choosesLayouts() && !options.forFiles && (options.mergeMargin || options.mergedInto))
    mergeConvolutions(module, options, report);

  // Last at this level: every rule above may assume row-major values.
  if (options.choosesLayouts())
    assignLayout(module, options, report);
  return report;
}

PipelineReport formKernels(mlir::ModuleOp module, const PipelineOptions &options) {
  PipelineReport report;
  if (hasKernels(module))
    return report;
  inBodies(module, options, report, formKernels);
  partition(module, options, report);
  deadCode(module);                                 // constants that moved into kernels
  if (options.level >= 2 && !module->getParentOp()) // carried values of a loop are not states between runs
    growInPlace(module, options, report);
  // Last: only now it is known which values kernels make.
  if (options.level >= 2 && options.shareStorage)
    report.kernels -= shareStorage(module);
  return report;
}

} // namespace lathe
