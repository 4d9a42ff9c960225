#include "passes/kernels/Partition.h"

#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/Outline.h"
#include "support/UniqueNames.h"

namespace lathe {
namespace {

class Partition {
public:
  Partition(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report)
      : module(module), options(options), report(report), main(mainFunction(module)), shapes(main) {
    for (auto function : module.getOps<mlir::func::FuncOp>())
      names.reserve(function.getName().str());
    for (auto body : module.getOps<mlir::ModuleOp>())
      if (body.getSymName())
        names.reserve(body.getSymName()->str());
  }

  void run() {
    placeExpansions();
    placeShapes();
    // In order: a kernel's name depends on the names before it, and schedules go by names.
    for (Group &group : options.level >= 2 ? formFusedGroups(main, shapes, options) : formSingleGroups(main))
      for (const Group &one : settled(std::move(group))) {
        record(one);
        place(one);
      }
    for (mlir::Operation &op : main.getBody().front())
      if (std::string_view lowering = loweringOf(&op);
          (lowering == "fold" || lowering == "reference") && !computesNothing(&op, shapes))
        leave(&op, lowering == "fold"  ? "its operands are computed at run time"
                   : bindsExtents(&op) ? "only the operator knows the extents of its results"
                                       : "the operator has no compiled form");
  }

private:
  mlir::ModuleOp module;
  const PipelineOptions &options;
  PipelineReport &report;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  UniqueNames names{"_"};
  std::string lastKernel; // the kernel that the last successful call() made

  void leave(mlir::Operation *op, const std::string &reason) {
    if (op->hasAttr("nn.reason"))
      return;
    op->setAttr("nn.reason", mlir::StringAttr::get(op->getContext(), reason));
    report.references.push_back({nn::describe(op->getLoc()), op->getName().stripDialect().str(), reason});
  }

  void record(mlir::Operation *op, mlir::Operation *anchor) {
    std::vector<std::string> of = nn::nodeNames(op->getLoc()), with = nn::nodeNames(anchor->getLoc());
    if (!of.empty() && !with.empty())
      report.fusions.push_back({of.back(), with.back()});
  }

  void record(const Group &group) {
    if (!group.parts.empty()) {
      llvm::for_each(group.parts, [&](const Group &part) { record(part); });
      return record(group.parts.front().anchor, group.anchor);
    }
    for (mlir::Operation *op : group.ops)
      if (group.anchor && loweringOf(op) == "elementwise")
        record(op, group.anchor);
  }

  /// Decides whether a group of two parts stays whole or is divided; returns other groups unchanged.
  std::vector<Group> settled(Group group) {
    std::string reason = group.parts.empty() ? "" : reasonToDivide(group);
    if (group.together.value_or(false) && !reason.empty())
      fail("{}: cannot be computed in the kernel of '{}' as asked for: {}",
           nn::describe(group.parts.front().anchor->getLoc()), nn::describe(group.anchor->getLoc()), reason);
    std::vector<Group> result;
    if (reason.empty()) {
      result.push_back(std::move(group));
    } else {
      record(group.parts.front().anchor, group.parts.front().anchor);
      llvm::move(group.parts, std::back_inserter(result));
    }
    return result;
  }

  std::string reasonToDivide(const Group &group) {
    if (!group.together.value_or(true))
      return "two kernels were asked for";
    for (mlir::Operation *op : group.ops)
      if (std::string reason = obstacle(op); !reason.empty())
        return reason;
    std::vector<mlir::func::FuncOp> parts;
    std::vector<std::string> partNames;
    for (const Group &part : group.parts) {
      partNames.push_back(kernelName(locationOf(part), part.family));
      parts.push_back(outline(module, part, shapes, partNames.back()).function);
    }
    for (const std::string &part : partNames)
      names.release(part);
    std::string name = kernelName(locationOf(group), group.family), reason;
    mlir::func::FuncOp kernel = outline(module, group, shapes, name).function;
    if (!group.together && options.staysWhole) {
      WholeChoice choice = options.staysWhole(kernel, parts);
      report.measuredChoices += choice.measured;
      if (!choice.whole)
        reason = "two kernels take less time, or were asked for";
    }
    if (reason.empty() && options.declines)
      reason = options.declines(kernel);
    if (reason.empty())
      report.wholes.push_back({name, std::move(partNames)});
    for (mlir::func::FuncOp candidate : parts)
      candidate.erase();
    kernel.erase();
    names.release(name);
    return reason;
  }

  mlir::Location locationOf(const Group &group) {
    llvm::SmallVector<mlir::Location> locations;
    for (mlir::Operation *op : group.ops)
      locations.push_back(op->getLoc());
    return mlir::FusedLoc::get(module.getContext(), locations);
  }

  /// A result filled with one value becomes an expansion of that value: later code only has to know the expansion.
  void fillByExpanding() {
    for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
      if (!isOp(&op, "constant_of_shape"))
        continue;
      auto attrs = nn::attrsAs<ConstantOfShapeAttrs>(&op);
      mlir::OpBuilder b(&op);
      bool scalar = shapes.of(op.getResult(0)).rank() == 0; // there is no extent to expand to
      Tensor value(ElementType::f64, scalar ? std::vector<int64_t>() : std::vector<int64_t>{1});
      value.as<double>()[0] = attrs.value;
      mlir::Value constant = makeConstant(b, op.getLoc(), value.convertedTo(attrs.type), constantName(&op, ".value"));
      mlir::Value expanded =
          scalar ? constant : nn::buildValue(b, op.getLoc(), "expand", {constant, op.getOperand(0)}, ExpandAttrs());
      shapes.set(expanded, shapes.of(op.getResult(0)));
      expanded.setType(op.getResult(0).getType());
      op.getResult(0).replaceAllUsesWith(expanded);
      op.erase();
    }
  }

  /// An argument of @main that has the open extent `extent`, and its axis.
  std::optional<std::pair<mlir::Value, int64_t>> whoseExtent(const Dim &extent) {
    for (mlir::BlockArgument argument : main.getArguments()) {
      const Dims dims = shapes.of(argument).dims;
      for (size_t axis = 0; axis < dims.size(); ++axis)
        if (dims[axis] == extent)
          return std::pair<mlir::Value, int64_t>(argument, axis);
    }
    return std::nullopt;
  }

  /// Operators, inserted before `op`, that compute the vector `extents` from constants and extents of @main's
  /// arguments. The last one gives the vector. Empty if an open extent does not belong to an argument.
  llvm::SmallVector<mlir::Operation *> extentsFromArguments(mlir::Operation *op, const Dims &extents) {
    std::vector<std::optional<std::pair<mlir::Value, int64_t>>> sources;
    for (const Dim &extent : extents) {
      if (!extent.isConstant() && (isUnknown(extent) || !whoseExtent(extent)))
        return {};
      sources.push_back(extent.isConstant() ? std::nullopt : whoseExtent(extent));
    }
    mlir::OpBuilder b(op);
    llvm::SmallVector<mlir::Operation *> ops;
    llvm::SmallVector<mlir::Value> parts;
    for (size_t i = 0; i < extents.size(); ++i) {
      if (sources[i]) {
        ShapeAttrs attrs;
        attrs.start = sources[i]->second;
        attrs.end = attrs.start + 1;
        parts.push_back(nn::buildValue(b, op->getLoc(), "shape", {sources[i]->first}, std::move(attrs)));
      } else {
        Tensor number = Tensor::of<int64_t>({1}, {extents[i].constant()});
        parts.push_back(makeConstant(b, op->getLoc(), number, constantName(op, fmt::format(".extent{}", i))));
      }
      ops.push_back(parts.back().getDefiningOp());
    }
    ConcatAttrs attrs;
    attrs.axis = 0;
    ops.push_back(nn::buildValue(b, op->getLoc(), "concat", parts, std::move(attrs)).getDefiningOp());
    return ops;
  }

  /// Makes kernels of expansions to an open extent ([1, 1, 768] for each image of a batch N). A kernel knows only the
  /// extents of its arguments, so the kernel gets the arguments of @main with these extents and the operators that
  /// compute the target from them.
  void placeExpansions() {
    fillByExpanding();
    for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
      if (!isOp(&op, "expand") || !operandOf(&op, 1) || nn::layoutOf(op.getOperand(0)) || nn::layoutOf(op.getResult(0)))
        continue;
      llvm::SmallVector<mlir::Operation *> ops = extentsFromArguments(&op, shapes.of(op.getResult(0)).dims);
      if (ops.empty())
        continue;
      mlir::Value before = op.getOperand(1);
      op.setOperand(1, ops.back()->getResult(0));
      ops.push_back(&op);
      if (call({ops, "movement"}).empty())
        continue;
      op.setOperand(1, before);
      ops.pop_back();
      for (mlir::Operation *made : llvm::reverse(ops))
        made->erase();
    }
    deadCode(module); // the operators that computed the extents
  }

  /// Makes kernels of the shape operators that folding has left, since other kernels read their results. A kernel
  /// receives its arguments' extents.
  void placeShapes() {
    for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front()))
      if (isOp(&op, "shape") && obstacle(&op).empty())
        call({{&op}, "movement"}); // where that declines it stays
  }

  /// True if all elements are extents of other values, or symbols.
  bool isExtents(mlir::Value value) const {
    std::optional<std::vector<Dim>> contents = shapes.of(value).contents;
    return contents && llvm::none_of(*contents, isUnknown);
  }

  /// True for operands of extents that kernels read, too: a resize computes positions from its scales.
  static bool isReadByKernel(mlir::Operation *op, size_t operand) {
    return isOp(op, "resize") && operand == 2 && (operandOf(op, 3) || !nn::attrsAs<ResizeAttrs>(op).sizes.empty());
  }

  /// Why an operator cannot be compiled, independent of its family; "" if it can.
  std::string obstacle(mlir::Operation *op) {
    if (const OpRecord *record = nn::recordOf(op))
      for (size_t i = 0; i < record->operands.size(); ++i)
        if (*record->operands[i].staticAttribute && operandOf(op, i) && !isExtents(operandOf(op, i)) &&
            !isReadByKernel(op, i))
          return fmt::format("operand '{}' is computed at run time", record->operands[i].name);
    auto unknown = [&](mlir::Value value) {
      if (!rankedType(value) || !shapes.of(value).isTensor())
        return true;
      for (const Dim &dim : shapes.of(value).dims)
        if (isUnknown(dim))
          return true;
      return false;
    };
    if (llvm::any_of(op->getOperands(), unknown) || llvm::any_of(op->getResults(), unknown))
      return "extents depend on computed data";
    auto text = [&](mlir::Value value) { return shapes.of(value).type == ElementType::string; };
    if (llvm::any_of(op->getOperands(), text) || llvm::any_of(op->getResults(), text))
      return "strings have no compiled form";
    return "";
  }

  void place(const Group &group) {
    if (llvm::all_of(group.ops, [&](mlir::Operation *op) { return computesNothing(op, shapes); }))
      return; // stays in @main, where it needs no instruction
    auto convert = llvm::dyn_cast<nn::ConvertLayoutOp>(group.ops.front());
    if (convert && movesNothing(convert))
      return; // an alias
    std::optional<PipelineReport::Conversion> conversion;
    if (convert || (group.ops.size() == 1 && turnsChannels(group.ops.front())))
      conversion = describeConversion(group.ops.front());
    std::string reason;
    for (mlir::Operation *op : group.ops)
      if (reason = obstacle(op); !reason.empty())
        break;
    if (reason.empty())
      reason = call(group);
    if (reason.empty() && conversion) {
      conversion->kernel = lastKernel;
      report.conversions.push_back(std::move(*conversion));
    }
    if (reason.empty())
      return;
    if (group.ops.size() > 1) {
      for (mlir::Operation *op : group.ops)
        if (isKernelOp(op)) // a reshape stays a reshape
          place({{op}, familyOf(op)});
      return;
    }
    mlir::Operation *op = group.ops.front();
    if (llvm::isa<nn::ConvertLayoutOp>(op))
      fail("{}: there is no code for this conversion of layout: {}; expected extents that are static or named by "
           "nn.dims",
           nn::describe(op->getLoc()), reason);
    if (isBlocked(op))
      placeRowMajor(op, reason);
    else
      leave(op, reason);
  }

  static bool isBlocked(mlir::Operation *op) {
    auto blocked = [](mlir::Value value) { return nn::layoutOf(value) != nullptr; };
    return llvm::any_of(op->getOperands(), blocked) || llvm::any_of(op->getResults(), blocked);
  }

  /// Places the operator in row-major layout, between conversions.
  void placeRowMajor(mlir::Operation *op, const std::string &reason) {
    report.rowMajor.push_back({nn::describe(op->getLoc()), op->getName().stripDialect().str(), reason});
    report.unconverted.push_back(report.rowMajor.back());
    std::vector<mlir::Operation *> conversions;
    mlir::OpBuilder b(op);
    for (mlir::OpOperand &operand : op->getOpOperands())
      if (nn::layoutOf(operand.get())) {
        mlir::Value plain = convertTo(b, op->getLoc(), operand.get(), {});
        shapes.set(plain, shapes.of(operand.get()));
        conversions.push_back(plain.getDefiningOp());
        operand.set(plain);
      }
    b.setInsertionPointAfter(op);
    for (mlir::Value result : op->getResults())
      if (nn::BlockedAttr layout = nn::layoutOf(result)) {
        setLayout(result, {});
        mlir::Value blocked = convertTo(b, op->getLoc(), result, layout);
        shapes.set(blocked, shapes.of(result));
        result.replaceAllUsesExcept(blocked, blocked.getDefiningOp());
        conversions.push_back(blocked.getDefiningOp());
      }
    for (mlir::Operation *conversion : conversions)
      place({{conversion}, "movement"});
    place({{op}, familyOf(op)});
  }

  /// "conv1_relu1", from the source nodes; unique in the module.
  std::string kernelName(mlir::Location loc, std::string_view family) {
    std::vector<std::string> nodes = nn::nodeNames(loc);
    std::string name;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes.size() > 4 && i >= 2 && i + 1 < nodes.size())
        continue; // the first two names and the last one identify the kernel well enough
      if (name.size() + nodes[i].size() > 100)
        continue;
      name += (name.empty() ? "" : "_") + nodes[i];
    }
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())))
      name = std::string(family) + (name.empty() ? "" : "_") + name;
    return names.take(name);
  }

  /// Outlines the group. Returns "" if it is now a call, otherwise the reason why no code can be generated.
  std::string call(const Group &group) {
    mlir::Location loc = locationOf(group);
    std::string name = kernelName(loc, group.family);
    OutlinedKernel kernel = outline(module, group, shapes, name);
    if (std::string reason = options.declines ? options.declines(kernel.function) : ""; !reason.empty()) {
      kernel.function.erase();
      names.release(name);
      return reason;
    }
    mlir::OpBuilder b(group.ops.back());
    auto call = b.create<mlir::func::CallOp>(loc, kernel.function, kernel.arguments);
    for (auto [result, called] : llvm::zip(kernel.results, call.getResults())) {
      shapes.set(called, shapes.of(result));
      result.replaceAllUsesWith(called);
    }
    for (mlir::Operation *op : llvm::reverse(group.ops))
      op->erase();
    ++report.kernels;
    lastKernel = std::move(name);
    return "";
  }
};

} // namespace

void partition(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report) {
  Partition(module, options, report).run();
}

} // namespace lathe
