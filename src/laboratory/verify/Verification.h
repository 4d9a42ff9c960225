// Compares a package with the reference operators in float64. `lathe verify` prints the result.
#pragma once

#include "ir/TensorOrigin.h"
#include "passes/Extract.h"
#include "verify/Inside.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace lathe::verify {

struct Options {
  std::vector<std::string> nodes = {};   // nodes for which the results of their kernels are compared, too
  bool all = false;                      // true: also compare the result of every kernel
  std::optional<double> relative = {};   // bound that replaces Tolerance::relative
  std::optional<double> maximum = {};    // bound that replaces Tolerance::maximum
  int threads = 1;                       // threads on which the package runs; references use all processors
  std::function<void()> onMismatch = {}; // called before the search for the wrong node, which runs the model again
};

/// Element types of all values of the model, including values inside kernels.
std::set<ElementType> valueTypes(mlir::ModuleOp module);
/// Bounds for the errors of right outputs of the package for these inputs (one value per port), from the types of the
/// model and the extents of sums (lab/judging/Tolerance.h).
lab::Tolerance toleranceOf(const runtime::Model &package, const std::set<ElementType> &types,
                           std::span<const Value> inputs);

/// The comparison of one value in the package with the reference's value.
struct Comparison {
  std::string value; // name of an output or of an intermediate value
  lab::Difference difference;
  bool passed = false;
};

/// Result of comparing the package with the references on one set of inputs.
struct SetResult {
  lab::Tolerance tolerance;
  std::vector<Comparison> comparisons;
  size_t kernels = 0;           // number of kernels that ran; only with Options::all
  std::vector<LeftOut> leftOut; // kernels whose results are not compared; only with Options::all
  /// The first mistrusted output, and the reason why it proves nothing: "all zero: first all zero in node 'relu5'
  /// (relu)"; "": none is mistrusted.
  std::string mistrusted, mistrust;
  std::optional<Divergence> divergence; // the first value in order of execution that is out of bounds
  /// The first comparison that failed; null: no comparison failed.
  const Comparison *failed() const;
};

class Verification {
public:
  /// Prepares to compare. `module` is the graph from which the package was compiled; it must outlive this object.
  /// Throws Error if the ports of package and graph differ.
  Verification(std::shared_ptr<const runtime::Model> package, mlir::ModuleOp module, Options options);
  ~Verification();

  /// Compares the outputs for one set of inputs, one value per port. Throws Error for outputs that cannot be compared
  /// and for unknown nodes.
  SetResult run(std::span<const Value> inputs);

  /// Makes an output an input of the next step in the package and in the references; ports and `max` as in
  /// Context::keepState.
  void keepState(size_t input, size_t output, int64_t max);
  /// The context that runs the package, in which the caller sets the inputs of a step.
  runtime::Context &program() { return context; }
  /// Compares the outputs of one step. The references use their own states, so errors accumulate.
  SetResult runStep();

private:
  struct State {
    size_t input, output; // ports of the package that hold the state
    Value carried;        // value of the state in the references; undefined before the first step
  };
  std::vector<State> states;
  struct Judge;
  std::shared_ptr<const runtime::Model> package;
  mlir::ModuleOp module;
  Options options;
  std::unique_ptr<Judge> judge;
  runtime::Context context;

  lab::Tolerance toleranceFor(std::span<const Value> inputs) const;
  void compareOutputs(std::span<const Value> inputs, const std::vector<Value> &reference, SetResult &result);
  void addNodes(const Inside &inside, SetResult &result) const;
};

/// The result of `lathe verify`: totals over all compared sets of inputs.
struct Verdict {
  size_t sets = 0;
  lab::Tolerance tolerance; // bounds for the last set of inputs
  lab::Difference worst;    // largest errors over all sets of inputs; largest numbers of NaN and infinities
  // first failure, such as "prob (random, seed 1): relative error 0.1 ..."; "": everything agrees
  std::string failure;
  std::string mistrust; // the first mistrusted output, in the same form; "": none

  /// Adds the result for a set of inputs to the totals; `title` describes the set: "random, seed 1".
  void add(const std::string &title, const SetResult &result);
  bool passed() const { return failure.empty() && mistrust.empty(); }
  /// The totals as one line of text; `precision` is the precision of the compiled package.
  std::string summary(Precision precision) const;
};

/// Arguments of `lathe extract` that cut the kernel of `divergence` out of the graph; nothing if
/// the graph has no such part. `tensors` are origins of the tensors of the model file.
std::optional<CutOptions> cutAround(mlir::ModuleOp module, const Divergence &divergence, TensorOrigins tensors);

} // namespace lathe::verify
