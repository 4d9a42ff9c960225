// Compares a package with the references in float64. `lathe verify` prints the result.
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
  std::vector<std::string> nodes = {};   // also compare the results of the kernels that compute these nodes
  bool all = false;                      // compare the result of every kernel, too
  std::optional<double> relative = {};   // bound that replaces the one of lab/judging/Tolerance.h
  std::optional<double> maximum = {};    // bound that replaces the one of lab/judging/Tolerance.h
  int threads = 1;                       // threads of the package; references use all processors
  std::function<void()> onMismatch = {}; // called before the search for the node, which runs again
};

/// Element types of all values of the model, those inside kernels included.
std::set<ElementType> valueTypes(mlir::ModuleOp module);
/// Bounds of right outputs of the package for these inputs (one value per port), from the types of the model and the
/// extents of sums (lab/judging/Tolerance.h).
lab::Tolerance toleranceOf(const runtime::Model &package, const std::set<ElementType> &types,
                           std::span<const Value> inputs);

/// The comparison of one value of the package with the reference's value.
struct Comparison {
  std::string value; // name of an output or of an intermediate value
  lab::Difference difference;
  bool passed = false;
};

/// Result of comparing one set of inputs.
struct SetResult {
  lab::Tolerance tolerance;
  std::vector<Comparison> comparisons;
  size_t kernels = 0;           // number of kernels that ran; only with Options::all
  std::vector<LeftOut> leftOut; // kernels whose results are not compared; only with Options::all
  /// Why the first mistrusted output proves nothing: "all zero: first all zero in node 'relu5' (relu)"; "": none is
  /// mistrusted.
  std::string mistrusted, mistrust;
  std::optional<Divergence> divergence; // the first value in order of execution that is out of bounds
  /// The first comparison that failed; null: none did.
  const Comparison *failed() const;
};

class Verification {
public:
  /// `module` is the graph that the package was compiled from; it must outlive this object. Throws
  /// Error if the ports of both differ.
  Verification(std::shared_ptr<const runtime::Model> package, mlir::ModuleOp module, Options options);
  ~Verification();

  /// Compares one set of inputs, one value per port. Throws Error for outputs that cannot be
  /// compared and for unknown nodes.
  SetResult run(std::span<const Value> inputs);

  /// Makes an output an input of the next step on both sides; ports and `max` as in Context::keepState.
  void keepState(size_t input, size_t output, int64_t max);
  /// Runs the package, whose inputs of this step the caller has set.
  runtime::Context &program() { return context; }
  /// Compares one step. The references use their own states, so errors accumulate.
  SetResult runStep();

private:
  struct State {
    size_t input, output; // ports of the package that hold the state
    Value carried;        // state of the references; undefined before the first step
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

/// The totals over all compared sets of inputs.
struct Verdict {
  size_t sets = 0;
  lab::Tolerance tolerance; // bounds of the last set
  lab::Difference worst;    // largest errors of all sets; largest numbers of NaN and infinities
  std::string failure;      // "prob (random, seed 1): relative error 0.1 ..."; "": everything agrees
  std::string mistrust;     // the first mistrusted output, in the same form; "": none

  /// Adds the result for a set of inputs; `title` describes the set: "random, seed 1".
  void add(const std::string &title, const SetResult &result);
  bool passed() const { return failure.empty() && mistrust.empty(); }
  /// The totals as one line of text; `precision` is the precision of the package.
  std::string summary(Precision precision) const;
};

/// Arguments of `lathe extract` that cut the kernel of `divergence` out of the graph; nothing if
/// the graph has no such part. `tensors` are origins of the tensors of the model file.
std::optional<CutOptions> cutAround(mlir::ModuleOp module, const Divergence &divergence, TensorOrigins tensors);

} // namespace lathe::verify
