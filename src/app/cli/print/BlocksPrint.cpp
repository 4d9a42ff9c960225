#include "cli/print/BlocksPrint.h"

#include "cli/flags/Options.h"
#include "compile/PlanBuilder.h"
#include "stage/Blocks.h"
#include "support/Text.h"

#include <set>

namespace lathe::cli {
namespace {

using nlohmann::json;

double flopsOfOccurrence(const BlockOccurrence &occurrence, const nn::SymbolicShapes &shapes) {
  double flops = 0;
  for (mlir::Operation *op : occurrence.operations)
    if (nn::recordOf(op))
      flops += atOne(flopsOf(op, shapes));
  return flops;
}

/// Bytes of the constants of all occurrences, each counted once.
double weightBytes(const Block &block) {
  double bytes = 0;
  std::set<const void *> added;
  for (const BlockOccurrence &occurrence : block.occurrences)
    for (mlir::Value weight : occurrence.weights) {
      TensorInfo info = nn::infoOf(weight);
      if (added.insert(weight.getAsOpaquePointer()).second)
        bytes += atOne(product(info.dims)) * bitWidth(info.type) / 8;
    }
  return bytes;
}

bool differInExtents(const Block &block, const nn::SymbolicShapes &shapes) {
  auto extents = [&](const BlockOccurrence &occurrence) {
    std::string text;
    for (mlir::Operation *op : occurrence.operations)
      for (mlir::ValueRange values : {mlir::ValueRange(op->getOperands()), mlir::ValueRange(op->getResults())})
        for (mlir::Value value : values)
          text += str(shapes.of(value).dims) + " ";
    return text;
  };
  std::set<std::string> all;
  for (const BlockOccurrence &occurrence : block.occurrences)
    all.insert(extents(occurrence));
  return all.size() > 1;
}

/// "extents, strides": the properties that differ between occurrences.
std::string differencesText(const Block &block, bool extents) {
  std::string text = extents ? "extents" : "";
  std::set<std::string> said;
  for (const BlockDifference &difference : differencesOf(block))
    if (said.insert(difference.attribute).second)
      text += (text.empty() ? "" : ", ") + difference.attribute;
  return text;
}

json blockJson(const Block &block, const nn::SymbolicShapes &shapes, bool extents) {
  json document{{"differing_extents", extents},
                {"operators", json::array()},
                {"differences", json::array()},
                {"occurrences", json::array()}};
  for (mlir::Operation *op : block.occurrences[0].operations)
    document["operators"].push_back(op->getName().stripDialect().str());
  for (const BlockDifference &difference : differencesOf(block))
    document["differences"].push_back({{"operation", difference.operation}, {"attribute", difference.attribute}});
  for (const BlockOccurrence &occurrence : block.occurrences) {
    json nodes = json::array();
    for (mlir::Operation *op : occurrence.operations) {
      std::vector<std::string> names = nn::nodeNames(op->getLoc());
      nodes.push_back(names.empty() ? "" : names[0]);
    }
    document["occurrences"].push_back({{"scope", occurrence.scope},
                                       {"nodes", nodes},
                                       {"inputs", occurrence.inputs.size()},
                                       {"weights", occurrence.weights.size()},
                                       {"outputs", occurrence.outputs.size()},
                                       {"flops", flopsOfOccurrence(occurrence, shapes)}});
  }
  return document;
}

/// The scopes of all occurrences, each once: "layer1.0, layer1.1, ...".
std::string scopesText(const Block &block) {
  std::string text;
  std::set<std::string> said;
  for (const BlockOccurrence &occurrence : block.occurrences)
    if (!occurrence.scope.empty() && said.insert(occurrence.scope).second)
      text += (text.empty() ? "" : ", ") + occurrence.scope;
  return text;
}

} // namespace

std::string describeBlocks(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes, double flops,
                           const TableStyle &style, json &list) {
  std::vector<Block> blocks = findBlocks(main);
  size_t covered = 0, count = 0;
  for (mlir::Operation &op : main.getBody().front())
    count += nn::recordOf(&op) || llvm::isa<nn::IfOp, nn::LoopOp>(op);
  Table table({textColumn("block").shrink(12), numberColumn("count"), numberColumn("operations"),
               numberColumn("share").onlyText(), numberColumn("MFLOP").key("flops"),
               numberColumn("weights").key("weight_bytes"), textColumn("differ in").key("differ").drop(2).shrink(12),
               textColumn("scopes").drop(1).shrink(16)});
  std::vector<json> details;
  for (const Block &block : blocks) {
    double own = 0;
    for (const BlockOccurrence &occurrence : block.occurrences)
      own += flopsOfOccurrence(occurrence, shapes);
    size_t size = block.occurrences[0].operations.size();
    covered += size * block.occurrences.size();
    bool extents = differInExtents(block, shapes);
    double bytes = weightBytes(block);
    table.row({block.name, std::to_string(block.occurrences.size()), std::to_string(size),
               fmt::format("{:.2f} %", flops > 0 ? own / flops * 100 : 0),
               valueCell(fmt::format("{:.2f}", own * 1e-6), own), valueCell(bytesText(bytes), bytes),
               differencesText(block, extents), scopesText(block)});
    details.push_back(blockJson(block, shapes, extents));
  }
  list = toJson(table);
  for (size_t i = 0; i < details.size(); ++i)
    list[i].update(details[i]);
  if (blocks.empty())
    return "\nno repeated blocks\n";
  return fmt::format("\n{} with {} of {}:\n{}", counted(int64_t(blocks.size()), "repeated block"), covered,
                     counted(int64_t(count), "operation"), table.str(style));
}

} // namespace lathe::cli
