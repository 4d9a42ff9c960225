// Subgraphs that run where their operator decides: each becomes a body of nn.if or nn.loop.
#pragma once

#include "import/Unfold.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"

namespace lathe::source {

/// A subgraph as a module of its own. Its nodes may read values around it until `capture` is called.
class BodyImport {
public:
  /// Opens the body: from here on the graph's builder is in it. `arguments` describe the first arguments of @main.
  BodyImport(StructureNode &node, const std::string &name, const std::vector<TensorInfo> &arguments);
  /// Gives the builder back; removes a body that was not closed.
  ~BodyImport();
  BodyImport(const BodyImport &) = delete;

  mlir::Value argument(size_t index) { return main.getArgument(static_cast<unsigned>(index)); }
  /// Imports the nodes of the subgraph; `inputs` are the values of its inputs. Returns its outputs. An output that could
  /// not be imported is reported, and its entry is empty.
  std::vector<Entry> run(const GraphRecord &graph, const std::vector<Entry> &inputs);
  /// Gives the builder back for a while, and takes it again.
  void pause() { leave(); }
  void resume();
  /// Ends the body with these results.
  void close(const Values &results);
  /// Values outside of the body that its operations read. Constants are not among them: the body has copies. After
  /// close().
  const llvm::SetVector<mlir::Value> &captured() const { return outer; }
  /// Makes `values` the further arguments, in this order; all captured values are among them.
  void capture(llvm::ArrayRef<mlir::Value> values);
  std::string symbol() { return module.getSymName()->str(); }
  /// What the closed body returns.
  std::vector<TensorInfo> results();
  /// Keeps the body in the model.
  void keep() { kept = true; }
  /// Value `index` that the body returns. After close().
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

/// `info` of a value whose contents the compiler does not know.
TensorInfo withoutContents(TensorInfo info);

/// `entries` as values of the graph (RunTimeValues.h); nothing if one of them could not be imported.
std::optional<Values> valuesOf(StructureNode &node, const std::vector<Entry> &entries);

/// What runs again and again, with its values before the first iteration.
struct LoopParts {
  mlir::Value tripCount, condition; // scalars: i64, bool
  Values carried;
  /// Imports an iteration: the arguments of the body (iteration number, condition, carried values) are given, and the
  /// condition, the carried and the scanned values are returned; nothing if a node could not be imported.
  std::function<std::optional<Values>(BodyImport &body)> iterate;
};

/// Emits nn.loop. Extents of carried values that change from iteration to iteration become symbols of the body. A carried
/// value that an iteration makes an optional is one from the start. Returns the results of nn.loop; nothing if a node could not be imported.
std::optional<Values> emitLoop(StructureNode &node, const LoopParts &parts);

/// Emits nn.if. Where one branch gives an optional, the other one's value is put into one. Throws Unsupported where the
/// branches give tensors of different ranks. `inputs` are the values of the inputs of both branches.
void emitIf(StructureNode &node, mlir::Value condition, const GraphRecord &thenGraph, const GraphRecord &elseGraph,
            const std::vector<Entry> &inputs = {});

} // namespace lathe::source
