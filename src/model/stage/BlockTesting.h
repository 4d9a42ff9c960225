// Test helper: checks the properties of repeated blocks that stage/Blocks.h states, independently of the search.
#pragma once

#include "ir/Nn.h"
#include "stage/Blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace lathe {

/// Number of operations that are on cycles if every occurrence of a block counts as one operation. `whole`: number of
/// the operation or occurrence, by operation.
inline size_t countOnCycles(mlir::func::FuncOp main, const std::map<mlir::Operation *, int> &whole) {
  std::map<int, std::set<int>> readers;
  std::map<int, size_t> waits;
  for (auto [op, node] : whole) {
    waits.try_emplace(node, 0);
    for (mlir::Value operand : op->getOperands())
      if (auto from = whole.find(operand.getDefiningOp()); from != whole.end() && from->second != node)
        waits[node] += readers[from->second].insert(node).second;
  }
  std::vector<int> ready;
  for (auto [node, count] : waits)
    if (count == 0)
      ready.push_back(node);
  size_t done = 0;
  for (; done < ready.size(); ++done)
    for (int reader : readers[ready[done]])
      if (--waits[reader] == 0)
        ready.push_back(reader);
  return waits.size() - done; // nodes on cycles
}

inline void checkBlocks(mlir::func::FuncOp main, const std::vector<Block> &blocks) {
  std::map<mlir::Operation *, int> whole;
  int next = 0;
  for (mlir::Operation &op : main.getBody().front())
    if (!llvm::isa<nn::ConstantOp>(op))
      whole[&op] = next++;
  std::set<mlir::Operation *> covered;
  std::set<std::string> names;
  for (const Block &block : blocks) {
    EXPECT_TRUE(names.insert(block.name).second) << block.name;
    ASSERT_GE(block.occurrences.size(), 2u);
    // For every operand, its source: an operation of the block, an input or a weight.
    std::vector<std::vector<std::string>> sources;
    for (const BlockOccurrence &occurrence : block.occurrences) {
      const auto &ops = occurrence.operations;
      ASSERT_EQ(ops.size(), block.occurrences[0].operations.size());
      ASSERT_EQ(occurrence.inputs.size(), block.occurrences[0].inputs.size());
      ASSERT_EQ(occurrence.weights.size(), block.occurrences[0].weights.size());
      ASSERT_EQ(occurrence.outputs.size(), block.occurrences[0].outputs.size());
      std::vector<std::string> own;
      for (size_t i = 0; i < ops.size(); ++i) {
        EXPECT_TRUE(covered.insert(ops[i]).second);
        EXPECT_EQ(ops[i]->getName(), block.occurrences[0].operations[i]->getName());
        whole[ops[i]] = whole[ops[0]];
        for (mlir::Value operand : ops[i]->getOperands()) {
          auto at = std::find(ops.begin(), ops.end(), operand.getDefiningOp());
          if (at != ops.end()) {
            EXPECT_LT(static_cast<size_t>(at - ops.begin()), i) << "read before it is computed";
            own.push_back(std::to_string(at - ops.begin()));
          } else if (operand.getDefiningOp<nn::ConstantOp>()) {
            EXPECT_TRUE(llvm::is_contained(occurrence.weights, operand));
            own.push_back("weight");
          } else {
            EXPECT_TRUE(llvm::is_contained(occurrence.inputs, operand));
            own.push_back("input");
          }
        }
        for (mlir::Value result : ops[i]->getResults())
          for (mlir::Operation *user : result.getUsers())
            EXPECT_TRUE(llvm::is_contained(ops, user) || llvm::is_contained(occurrence.outputs, result));
      }
      sources.push_back(own);
      EXPECT_EQ(own, sources[0]);
    }
  }
  EXPECT_EQ(countOnCycles(main, whole), 0u) << "blocks wait for one another";
}

} // namespace lathe
