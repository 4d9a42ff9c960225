// What the builders of a plan's blocks share: the plan's values, constants and table of kernels.
#pragma once

#include "compile/PlanBuilder.h"
#include "support/UniqueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

class PlanParts {
public:
  PlanParts(KernelLibrary &library, package::Constants &constants);

  BuiltPlan built;
  KernelLibrary &library;
  UniqueNames names{":"}; // unique names for ports and inner values

  plan::ValueT &row(uint32_t value) { return *built.plan->values[value]; }
  /// Adds a block without instructions to the plan and returns its index. Block 0 exists from the beginning.
  uint32_t addBlock();
  template <class T> void push(uint32_t block, std::unique_ptr<T> operation) {
    auto instruction = std::make_unique<plan::InstructionT>();
    instruction->operation.Set(std::move(*operation));
    built.plan->blocks[block]->instructions.push_back(std::move(instruction));
  }

  /// Makes a name for an inner value of the plan from its last source node, because a fused kernel's result belongs to
  /// that node.
  std::string nameInside(mlir::Value value);
  uint32_t addValue(std::string name, const TensorInfo &info, nn::BlockedAttr layout, plan::Storage storage);
  /// Index of the plan's value for a constant in the form of `packing`; null: row-major. Equal constants exist once.
  uint32_t constantValue(nn::ConstantOp constant, const Packing *packing);
  /// Adds a row for `kernel` to the plan's table of kernels, and the index of its code.
  void addKernelRow(mlir::func::CallOp call, mlir::func::FuncOp function, const CompiledKernel &kernel,
                    const nn::SymbolicShapes &shapes);

private:
  package::Constants &constants;
  /// Index of the plan's value, by constant and text of its packing.
  std::map<std::pair<const void *, std::string>, uint32_t> packed;
};

/// True for a tensor with an extent that no formula over the inputs' extents gives, and for a value that is not a
/// tensor.
bool hasUnknown(const TensorInfo &info);

} // namespace lathe
