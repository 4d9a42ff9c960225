// Merges convolutions that read one value into one convolution with stacked weights, whose results are slices of its
// result along the channels.
//
// Convolutions of one kernel size, strides, pads, dilations and element type are candidates, if the element-wise
// operators that their kernels also compute are equal. The merged kernel reads the value once. A slice costs nothing
// where `share-storage` removes it (passes/kernels/ShareStorage.h); otherwise its predicted cost counts.
#include "passes/Match.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/Rewrite.h"
#include "passes/kernels/LayoutCosts.h"

#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <cstring>

namespace lathe {
namespace {

using Operations = llvm::SmallVector<mlir::Operation *>;

/// A convolution with the element-wise operators that its kernel also computes.
struct Branch {
  mlir::Operation *conv = nullptr;
  Operations epilogue;

  mlir::Operation *last() const { return epilogue.empty() ? conv : epilogue.back(); }
  mlir::Value result() const { return last()->getResult(0); }
  std::string node() const {
    std::vector<std::string> names = nn::nodeNames(conv->getLoc());
    return names.empty() ? "" : names.back();
  }
  int64_t channels() const { return rankedType(result()).getDimSize(1); }
};

/// True if an operator that `isMeant` reads `value` or a view of it.
bool hasReader(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isMeant) {
  return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
    return isMeant(user) || (loweringOf(user) == "view" && hasReader(user->getResult(0), isMeant));
  });
}

/// The operators behind `conv` that its kernel computes with one-element constants; the reason if it may also compute
/// others, which it could not after a slice.
Outcome<Operations> epilogueOf(mlir::Operation *conv) {
  Operations epilogue;
  mlir::Value value = conv->getResult(0);
  while (true) {
    auto isElementwise = [](mlir::Operation *user) { return loweringOf(user) == "elementwise"; };
    if (llvm::none_of(value.getUsers(), isElementwise))
      return epilogue;
    mlir::Operation *user = *value.getUsers().begin();
    auto isOne = [&](mlir::Value operand) {
      return operand == value || (splatValue(operand) && rankedType(operand).getNumElements() == 1);
    };
    if (!value.hasOneUse() || user->getNumResults() != 1 || !llvm::all_of(user->getOperands(), isOne) ||
        rankedType(user->getResult(0)).getShape() != rankedType(value).getShape())
      return NotApplicable{fmt::format("its kernel may compute {} with it", nn::describe(user->getLoc()))};
    epilogue.push_back(user);
    value = user->getResult(0);
  }
}

/// The branch of a convolution, or the reason why it cannot be merged with any.
Outcome<Branch> branchOf(mlir::Operation *conv) {
  mlir::Value weights = conv->getOperand(1), bias = operandOf(conv, 2);
  auto isOwn = [](mlir::Value constant) { return constant.getDefiningOp<nn::ConstantOp>() && constant.hasOneUse(); };
  if (nn::attrsAs<ConvAttrs>(conv).group != 1)
    return NotApplicable{"it has groups"};
  if (!isOwn(weights) || (bias && !bias.getDefiningOp<nn::ConstantOp>()))
    return NotApplicable{"its weights are no constants of its own"};
  if (!staticShape(conv->getOperand(0)) || !staticShape(conv->getResult(0)))
    return NotApplicable{"it has open extents"};
  Outcome<Operations> epilogue = epilogueOf(conv);
  if (!epilogue)
    return NotApplicable{epilogue.reason()};
  Branch branch{conv, *epilogue};
  if (hasReader(branch.result(), [](mlir::Operation *user) { return user->hasTrait<mlir::OpTrait::IsTerminator>(); }))
    return NotApplicable{"its result is a result of the model"};
  if (rankedType(branch.result()).getDimSize(0) == 1 &&
      hasReader(branch.result(), [](mlir::Operation *user) { return isOp(user, "concat"); }))
    return NotApplicable{"it writes into a concatenation"};
  return branch;
}

bool isSameStep(mlir::Operation *a, mlir::Operation *b) {
  if (a->getName() != b->getName() || a->getAttrDictionary() != b->getAttrDictionary() ||
      a->getNumOperands() != b->getNumOperands() ||
      rankedType(a->getResult(0)).getElementType() != rankedType(b->getResult(0)).getElementType())
    return false;
  return llvm::all_of(llvm::zip(a->getOperands(), b->getOperands()), [](auto pair) {
    auto [left, right] = pair;
    return splatValue(left) == splatValue(right) && (!splatValue(left) || left.getType() == right.getType());
  });
}

/// "" if both can be one convolution, else how they differ.
std::string difference(const Branch &a, const Branch &b) {
  auto first = nn::attrsAs<ConvAttrs>(a.conv), second = nn::attrsAs<ConvAttrs>(b.conv);
  mlir::RankedTensorType of = rankedType(a.conv->getOperand(1)), other = rankedType(b.conv->getOperand(1));
  if (a.conv == b.conv)
    return "they are one convolution";
  if (a.conv->getOperand(0) != b.conv->getOperand(0))
    return "they read different values";
  if (of.getElementType() != other.getElementType() || of.getShape().drop_front() != other.getShape().drop_front())
    return "their kernels differ";
  if (first.strides != second.strides || first.dilations != second.dilations || first.pads != second.pads)
    return "their strides, pads or dilations differ";
  if (a.epilogue.size() != b.epilogue.size() || !llvm::all_of(llvm::zip(a.epilogue, b.epilogue), [](auto pair) {
        return isSameStep(std::get<0>(pair), std::get<1>(pair));
      }))
    return "their activations differ";
  return "";
}

/// Elements of the constants one behind the other, along the first axis.
Tensor stacked(const std::vector<Tensor> &parts) {
  std::vector<int64_t> dims = parts.front().dims();
  dims[0] = 0;
  for (const Tensor &part : parts)
    dims[0] += part.dim(0);
  Tensor whole(parts.front().type(), dims);
  auto *to = static_cast<char *>(whole.data());
  for (const Tensor &part : parts) {
    std::memcpy(to, part.data(), size_t(part.bytes()));
    to += part.bytes();
  }
  return whole;
}

Tensor zeros(ElementType type, std::vector<int64_t> dims) {
  Tensor tensor(type, std::move(dims));
  std::memset(tensor.data(), 0, size_t(tensor.bytes()));
  return tensor;
}

/// Convolutions that become one, in the order of the block. While this object lives the merged operators stand beside
/// the original ones; then they replace them (accept) or are removed.
class Merge {
public:
  Merge(std::vector<Branch> given, const ChannelBlocks &blocks) : branches(std::move(given)), parts(branches) {
    // A part is contiguous in the whole if it begins with a block of channels.
    int64_t block = std::max<int64_t>(blocks.of(branches.front().result()), 1);
    std::stable_partition(parts.begin(), parts.end(), [&](const Branch &one) { return one.channels() % block == 0; });
    build();
  }
  ~Merge() {
    for (mlir::Operation *op : llvm::reverse(made))
      op->erase();
  }
  Merge(const Merge &) = delete;
  Merge &operator=(const Merge &) = delete;

  mlir::Operation *conv() const { return whole; }
  const Operations &slices() const { return cuts; }

  void accept() {
    mlir::OpBuilder b(whole);
    std::vector<Tensor> weights, biases;
    for (const Branch &one : parts) {
      weights.push_back(*constantOf(one.conv->getOperand(1)));
      if (hasBias())
        biases.push_back(operandOf(one.conv, 2) ? *constantOf(operandOf(one.conv, 2))
                                                : zeros(weights.back().type(), {weights.back().dim(0)}));
    }
    mlir::Operation *first = parts.front().conv;
    whole->setOperand(1, makeConstant(b, whole->getLoc(), stacked(weights), constantName(first, ".merged_weights")));
    if (hasBias())
      whole->setOperand(2, makeConstant(b, whole->getLoc(), stacked(biases), constantName(first, ".merged_bias")));
    for (auto [one, cut] : llvm::zip(parts, cuts)) {
      one.result().replaceAllUsesWith(cut->getResult(0));
      for (mlir::Operation *op : llvm::reverse(one.epilogue))
        op->erase();
      one.conv->erase();
    }
    for (mlir::Operation *op : made) // stand-ins for the weights
      if (llvm::isa<nn::ConstantOp>(op) && op->use_empty())
        op->erase();
    made.clear();
  }

private:
  std::vector<Branch> branches, parts; // `parts`: in the order of their channels
  mlir::Operation *whole = nullptr;
  Operations cuts;
  Operations made; // all new operations, in order

  bool hasBias() const {
    return llvm::any_of(branches, [](const Branch &one) { return bool(operandOf(one.conv, 2)); });
  }

  mlir::Location locationOf(size_t step) const {
    Operations ops;
    for (const Branch &one : branches)
      ops.push_back(step == 0 ? one.conv : one.epilogue[step - 1]);
    return fuseLocations(ops);
  }

  mlir::Value added(mlir::Value value) {
    made.push_back(value.getDefiningOp());
    return value;
  }

  /// A constant of zeros in place of the stacked ones: costs follow from its type alone.
  mlir::Value standIn(mlir::OpBuilder &b, mlir::Value like, int64_t channels) {
    auto type = rankedType(like);
    llvm::SmallVector<int64_t> shape(type.getShape());
    shape[0] = channels;
    auto whole = mlir::RankedTensorType::get(shape, type.getElementType());
    auto zero = mlir::DenseElementsAttr::get(whole, b.getZeroAttr(type.getElementType()));
    return added(b.create<nn::ConstantOp>(like.getLoc(), whole, zero).getResult());
  }

  void build() {
    mlir::OpBuilder b(branches.front().conv);
    mlir::Operation *first = branches.front().conv;
    int64_t channels = 0;
    mlir::Value bias;
    for (const Branch &one : branches) {
      channels += one.channels();
      bias = bias ? bias : operandOf(one.conv, 2);
    }
    mlir::Value weights = standIn(b, first->getOperand(1), channels);
    mlir::Value value = added(nn::buildValue(
        b, locationOf(0), "conv", {first->getOperand(0), weights, bias ? standIn(b, bias, channels) : mlir::Value()},
        nn::attrsAs<ConvAttrs>(first)));
    whole = value.getDefiningOp();
    for (auto [i, op] : llvm::enumerate(branches.front().epilogue)) {
      mlir::IRMapping mapping;
      mapping.map(i == 0 ? first->getResult(0) : branches.front().epilogue[i - 1]->getResult(0), value);
      for (mlir::Value operand : op->getOperands())
        if (!mapping.contains(operand))
          mapping.map(operand, added(b.clone(*operand.getDefiningOp())->getResult(0)));
      mlir::Operation *step = b.clone(*op, mapping);
      step->setLoc(locationOf(i + 1));
      auto type = rankedType(op->getResult(0));
      step->getResult(0).setType(mlir::RankedTensorType::get(rankedType(value).getShape(), type.getElementType()));
      value = added(step->getResult(0));
    }
    int64_t start = 0;
    for (const Branch &one : parts) {
      SliceAttrs slice;
      slice.starts = {start};
      slice.ends = {start += one.channels()};
      slice.axes = {1};
      cuts.push_back(added(nn::buildValue(b, one.last()->getLoc(), "slice", {value, {}, {}, {}, {}}, std::move(slice)))
                         .getDefiningOp());
      cuts.back()->setAttr(mergedPart, b.getUnitAttr());
    }
  }
};

class Merging {
public:
  Merging(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report)
      : options(options), report(report), main(mainFunction(module)), shapes(main),
        costs(main, shapes, options, options.predictCycles) {
    for (mlir::Operation &op : main.getBody().front())
      if (isOp(&op, "conv"))
        convs.push_back(&op);
  }

  void run() {
    if (options.mergedInto)
      return mergeGiven();
    std::vector<std::vector<Branch>> groups;
    for (mlir::Operation *conv : convs)
      if (Outcome<Branch> branch = branchOf(conv); branch && isOnlyOne(*branch)) {
        auto found = llvm::find_if(
            groups, [&](const std::vector<Branch> &group) { return difference(group.front(), *branch).empty(); });
        if (found == groups.end())
          groups.push_back({*branch});
        else
          found->push_back(*branch);
      }
    for (std::vector<Branch> &group : groups)
      if (group.size() > 1)
        mergeIfCheaper(std::move(group));
  }

private:
  const PipelineOptions &options;
  PipelineReport &report;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  LayoutCosts costs;
  Operations convs;

  /// False for one of several convolutions of a node, as those of a transposed one: a line of a schedule file would
  /// name them all.
  bool isOnlyOne(const Branch &branch) const {
    const std::string node = branch.node();
    return node.empty() || llvm::count_if(convs, [&](mlir::Operation *conv) {
                             return llvm::is_contained(nn::nodeNames(conv->getLoc()), node);
                           }) == 1;
  }

  Outcome<double> costOf(mlir::Operation *op, bool blockedInput, bool blockedOutput) const {
    LayoutRule rule = layoutRule(op, options.channelBlocks);
    if (options.layout == LayoutChoice::planes && rule.rowOnly.empty())
      rule.rowOnly = "planes were asked for";
    if ((blockedInput || blockedOutput) && !rule.rowOnly.empty())
      return NotApplicable{rule.rowOnly};
    return costs.costOf(op, rule, blockedInput, blockedOutput);
  }

  /// The sum of the costs; nothing if an operator has no kernel.
  std::optional<double> sumOf(llvm::ArrayRef<mlir::Operation *> ops, bool blockedInput, bool blockedOutput) const {
    double sum = 0;
    for (mlir::Operation *op : ops) {
      Outcome<double> cost = costOf(op, blockedInput, blockedOutput);
      if (!cost)
        return std::nullopt;
      sum += *cost;
    }
    return sum;
  }

  void mergeIfCheaper(std::vector<Branch> group) {
    Operations apart;
    for (const Branch &one : group)
      apart.push_back(one.conv);
    PipelineReport::Merge found = entryOf(group);
    bool in = false, out = false; // the layouts in which the separate convolutions cost least
    for (bool input : {false, true})
      for (bool output : {false, true})
        if (auto cost = sumOf(apart, input, output); cost && (found.apartCycles == 0 || *cost < found.apartCycles))
          found.apartCycles = *cost, in = input, out = output;
    Merge merge(std::move(group), options.channelBlocks);
    std::optional<double> conv = sumOf({merge.conv()}, in, out), slices = sumOf(merge.slices(), out, out);
    if (!conv || !slices || (*conv + *slices) * (1 + *options.mergeMargin) >= found.apartCycles)
      return;
    found.cycles = *conv + *slices;
    merge.accept();
    report.merges.push_back(std::move(found));
  }

  static PipelineReport::Merge entryOf(const std::vector<Branch> &group) {
    PipelineReport::Merge entry;
    for (const Branch &one : group)
      entry.nodes.push_back(one.node());
    return entry;
  }

  /// Merges the convolutions for which a merge is given.
  void mergeGiven() {
    std::vector<std::vector<Branch>> groups;
    for (mlir::Operation *conv : convs) {
      std::optional<std::string> into = options.mergedInto(nn::nodeNames(conv->getLoc()));
      if (!into)
        continue;
      auto isNamed = [&](mlir::Operation *op) { return llvm::is_contained(nn::nodeNames(op->getLoc()), *into); };
      auto other = llvm::find_if(convs, isNamed);
      auto refuse = [&](const std::string &reason) {
        fail("{}: cannot be merged with '{}' as the schedule asks: {}", nn::describe(conv->getLoc()), *into, reason);
      };
      if (other == convs.end())
        refuse("no convolution is called so");
      Outcome<Branch> first = branchOf(*other), branch = branchOf(conv);
      if (!first || !branch)
        refuse(!branch ? branch.reason() : fmt::format("of '{}', {}", *into, first.reason()));
      if (std::string reason = difference(*first, *branch); !reason.empty())
        refuse(reason);
      auto group = llvm::find_if(groups, [&](const auto &members) { return members.front().conv == first->conv; });
      if (group == groups.end())
        group = groups.insert(groups.end(), {*first});
      group->push_back(*branch);
    }
    for (std::vector<Branch> &group : groups) {
      llvm::sort(group, [](const Branch &a, const Branch &b) { return a.conv->isBeforeInBlock(b.conv); });
      report.merges.push_back(entryOf(group));
      Merge(std::move(group), options.channelBlocks).accept();
    }
  }
};

} // namespace

void mergeConvolutions(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report) {
  Merging(module, options, report).run();
  if (!report.merges.empty())
    deadCode(module); // the weights of the original convolutions
}

} // namespace lathe
