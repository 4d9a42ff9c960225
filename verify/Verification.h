// A package beside the reference operators in float64: the one judge of compiled models. `lathe verify` prints what it
// finds.
#pragma once

#include "ir/TensorOrigin.h"
#include "lab/judging/Difference.h"
#include "passes/interpret/Extract.h"
#include "runtime/Context.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::verify {

struct Options {
  std::vector<std::string> nodes = {};   // whose values are compared, too, by name
  bool all = false;                      // also what every kernel computes
  std::optional<double> relative = {};   // bounds instead of those of lab/judging/Tolerance.h
  std::optional<double> maximum = {};    // likewise
  int threads = 1;                       // of the package; the references run on all processors
  std::function<void()> onMismatch = {}; // called before the search for the place, which runs everything again
};

/// A value of the package beside the reference's.
struct Comparison {
  std::string value; // output, or the name of a value inside
  lab::Difference difference;
  bool passed = false;
};

/// The first value, in the order of execution, that is out of bounds.
struct Divergence {
  std::string value, kernel;
  std::vector<std::string> nodes; // of the kernel
  lab::Difference difference;
  /// "first diverging node: 'conv1' (kernel k3: conv1+relu1): relative error ...; element 7 is 1, the reference has 2"
  std::string str() const;
};

/// One set of inputs.
struct SetResult {
  lab::Tolerance tolerance;
  std::vector<Comparison> comparisons;
  /// The first output from which nothing follows, and why: "all zero: first all zero in node 'relu5' (relu)"; "" where
  /// all say something.
  std::string mistrusted, mistrust;
  std::optional<Divergence> divergence;
  /// The first comparison that failed; null where none did.
  const Comparison *failed() const;
};

class Verification {
public:
  /// `module` is the graph that the package was compiled from; it must outlive this. Throws Error unless the ports of
  /// both agree.
  Verification(std::shared_ptr<const runtime::Model> package, mlir::ModuleOp module, Options options);
  ~Verification();

  /// One value a port. Throws Error for outputs that cannot be compared and for nodes that no value of the plan has.
  SetResult run(std::span<const Value> inputs);

private:
  struct Judge;
  std::shared_ptr<const runtime::Model> package;
  mlir::ModuleOp module;
  Options options;
  std::unique_ptr<Judge> judge;
  runtime::Context context;

  lab::Tolerance toleranceFor(std::span<const Value> inputs) const;
  void compareOutputs(std::span<const Value> inputs, const std::vector<Value> &reference, SetResult &result);
  void compareNodes(const std::map<std::string, Tensor> &expected, SetResult &result);
  std::vector<Divergence> compareInside(const std::map<std::string, Tensor> &expected);
};

/// What all sets came to.
struct Verdict {
  size_t sets = 0;
  lab::Tolerance tolerance; // of the last set
  lab::Difference worst;    // largest errors; the most NaN and infinities
  std::string failure;      // "prob (random, seed 1): relative error 0.1 ..."; "" where everything agrees
  std::string mistrust;     // likewise

  /// `title` says which inputs: "random, seed 1".
  void add(const std::string &title, const SetResult &result);
  bool passed() const { return failure.empty() && mistrust.empty(); }
  /// One line; `precision` is the package's.
  std::string summary(Precision precision) const;
};

/// How to cut the kernel of `divergence` out of the graph; nothing where the graph has no such part. `tensors`: names
/// of the model's file.
std::optional<CutOptions> cutAround(mlir::ModuleOp module, const Divergence &divergence, TensorOrigins tensors);

} // namespace lathe::verify
