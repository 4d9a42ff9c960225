// Imports subgraphs that an operator chooses or repeats at run time: each subgraph becomes a body of nn.if or
// nn.loop.
#pragma once

#include "import/Unfold.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"

namespace lathe::source {

/// The body of an nn.if or nn.loop while it is imported: a subgraph as a module of its own. Until `capture` is called,
/// the body's nodes may read values of the graph around it.
class BodyImport {
public:
  /// Opens the body: the graph's builder now inserts into the body. `arguments` describe the first arguments of @main.
  BodyImport(StructureNode &node, const std::string &name, const std::vector<TensorInfo> &arguments);
  /// Closes the body if it is open, and erases it from the model unless keep() was called.
  ~BodyImport();
  BodyImport(const BodyImport &) = delete;

  mlir::Value argument(size_t index) { return main.getArgument(static_cast<unsigned>(index)); }
  /// Imports the nodes of a subgraph into the body; `inputs` are the values of its inputs. Returns its outputs. An
  /// output that could not be imported is reported, and its entry is empty.
  std::vector<Entry> run(const GraphRecord &graph, const std::vector<Entry> &inputs);
  /// Moves the graph's builder out of the body for a while; resume() moves it back.
  void pause() { leave(); }
  void resume();
  /// Ends the body, which returns `results`.
  void close(const Values &results);
  /// The values outside of the body that the body's operations read. Constants are not among them, because the body
  /// copies them. Valid after close().
  const llvm::SetVector<mlir::Value> &captured() const { return outer; }
  /// Appends arguments to the body for `values`, in this order. `values` must contain all captured values.
  void capture(llvm::ArrayRef<mlir::Value> values);
  std::string symbol() { return module.getSymName()->str(); }
  /// Describes the values that the closed body returns.
  std::vector<TensorInfo> results();
  /// Keeps the body in the model when this object is destroyed.
  void keep() { kept = true; }
  /// The value that the body returns at position `index`, inside the body. Valid after close().
  mlir::Value result(size_t index);

private:
  StructureNode &node;
  mlir::OpBuilder::InsertPoint before;
  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  Scope scope;
  llvm::SetVector<mlir::Value> outer;
  bool open = true, kept = false;

  mlir::Block &block() { return main.getBody().front(); }
  void leave();
  void findCaptured();
};

/// Returns `info` without the tensor contents that are known at compile time.
TensorInfo withoutContents(TensorInfo info);

/// Turns `entries` into values of the graph (RunTimeValues.h); nothing if one of them could not be imported.
std::optional<Values> valuesOf(StructureNode &node, const std::vector<Entry> &entries);

/// The parts from which emitLoop makes an nn.loop: a function that imports one iteration, and the values before the
/// first iteration.
struct LoopParts {
  mlir::Value tripCount, condition; // trip count (i64) and condition (bool) before the loop, both scalars
  Values carried;
  /// Imports one iteration into `body`. The body's arguments are the iteration number, the condition and the carried
  /// values. Returns the condition, the carried and the scanned values; nothing if a node could not be imported.
  std::function<std::optional<Values>(BodyImport &body)> iterate;
};

/// Emits an nn.loop. Extents of carried values that differ between iterations become symbols of the body. A carried
/// value that an iteration turns into an optional is an optional from the start. Returns the results of the nn.loop;
/// nothing if a node could not be imported.
std::optional<Values> emitLoop(StructureNode &node, const LoopParts &parts);

/// Emits an nn.if with the branches `thenGraph` and `elseGraph`. If only one branch gives an optional, the other
/// branch's value is put into an optional. `inputs` are the inputs of both branches. Throws Unsupported if the
/// branches give tensors of different ranks.
void emitIf(StructureNode &node, mlir::Value condition, const GraphRecord &thenGraph, const GraphRecord &elseGraph,
            const std::vector<Entry> &inputs = {});

} // namespace lathe::source
