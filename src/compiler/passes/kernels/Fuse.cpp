#include "passes/kernels/Fuse.h"

#include "ir/PackedWeights.h"
#include "passes/Rewrite.h"
#include "passes/kernels/ShareStorage.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr size_t mostOperators = 32; // in one kernel: beyond that registers spill and code outgrows its cache
constexpr size_t farthestLook = 12;  // operators tried before a group with several escaping values is given up

bool isElementwise(mlir::Operation *op) { return loweringOf(op) == "elementwise"; }

class Fuser {
public:
  Fuser(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, const PipelineOptions &options)
      : function(function), shapes(shapes), options(options) {}

  std::vector<Group> run() {
    std::vector<mlir::Operation *> order;
    for (mlir::Operation &op : function.getBody().front())
      if (isKernelOp(&op))
        order.push_back(&op);
    for (mlir::Operation *op : order)
      if (takesEpilogue(op)) {
        begin(op);
        absorbPackedWeights();
        grow();
        while (absorbDequantised())
          ;
        finish();
      } else if (familyOf(op) == "attention") {
        begin(op);
        absorbViews();
        finish();
      } else if (isOp(op, "concat")) {
        begin(op);
        absorbSlices();
        if (members.size() > 1)
          finish();
      }
    for (mlir::Operation *op : order) {
      if (taken.contains(op))
        continue;
      begin(op);
      if (isElementwise(op))
        while (grow() || absorbOperands())
          ;
      finish();
    }
    for (const Group &group : groups)
      requireFollowed(group);
    // Kernels run in the order of their last operator, where all operands are known.
    llvm::sort(groups, [](const Group &a, const Group &b) { return a.ops.back()->isBeforeInBlock(b.ops.back()); });
    joinSeparable();
    return std::move(groups);
  }

private:
  mlir::func::FuncOp function;
  const nn::SymbolicShapes &shapes;
  const PipelineOptions &options;
  std::vector<Group> groups;
  llvm::DenseSet<mlir::Operation *> taken;

  // State of the group that is being formed.
  mlir::Operation *anchor = nullptr;
  llvm::SmallVector<mlir::Operation *> members;
  llvm::DenseSet<mlir::Operation *> inside;

  static bool takesEpilogue(mlir::Operation *op) {
    std::string_view family = familyOf(op);
    return family == "contraction" || family == "pool" || family == "lrn" || family == "reduction" ||
           family == "normalize";
  }

  void begin(mlir::Operation *op) {
    anchor = op;
    members = {op};
    inside = {op};
  }

  void finish() {
    llvm::sort(members, [](mlir::Operation *a, mlir::Operation *b) { return a->isBeforeInBlock(b); });
    taken.insert(members.begin(), members.end());
    groups.push_back({members, familyOf(anchor), anchor});
  }

  /// The node of the kernel that the caller asks for; empty where the choice is free.
  std::optional<std::string> kernelGiven(mlir::Operation *op) const {
    return options.given && isElementwise(op) ? options.given(nn::nodeNames(op->getLoc())).kernelOf : std::nullopt;
  }

  bool mayJoin(mlir::Operation *op) const {
    std::optional<std::string> given = kernelGiven(op);
    return !given || llvm::is_contained(nn::nodeNames(anchor->getLoc()), *given);
  }

  void requireFollowed(const Group &group) const {
    for (mlir::Operation *op : group.ops)
      if (std::optional<std::string> given = kernelGiven(op))
        require(llvm::is_contained(nn::nodeNames(group.anchor->getLoc()), *given),
                "{}: cannot be computed in the kernel of '{}' as the schedule asks, only in the kernel of '{}'",
                nn::describe(op->getLoc()), *given,
                nn::nodeNames(group.anchor->getLoc()).empty() ? "" : nn::nodeNames(group.anchor->getLoc()).back());
  }

  /// Operators that only change where elements lie, with static parameters.
  static bool isView(mlir::Operation *op, nn::BlockedAttr layout = {}) {
    if (!isOp(op, "reshape") && !isOp(op, "transpose") && !isOp(op, "slice") && !isOp(op, "split") &&
        !isOp(op, "expand"))
      return false;
    for (size_t i = 1; i < op->getNumOperands(); ++i)
      if (op->getOperand(i))
        return false;
    auto plain = [&](mlir::Value value) { return rankedType(value) && nn::layoutOf(value) == layout; };
    return plain(op->getOperand(0)) && llvm::all_of(op->getResults(), plain);
  }

  void absorb(mlir::Operation *op) {
    members.push_back(op);
    inside.insert(op);
  }

  /// Absorbs the operators between packed weights and their product, so that the kernel reads the integers.
  void absorbPackedWeights() {
    if (std::optional<nn::PackedWeights> weights = nn::packedWeightsOf(anchor))
      llvm::for_each(weights->ops, [&](mlir::Operation *op) { absorb(op); });
  }

  /// Absorbs the views that make the anchor's first three operands, where nothing else uses them, and the views of its
  /// result.
  void absorbViews() {
    llvm::DenseSet<mlir::Operation *> views;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t m = 0; m < members.size() && members.size() < mostOperators; ++m)
        for (unsigned i = 0; i < std::min(3u, members[m]->getNumOperands()); ++i) {
          mlir::Operation *op = members[m]->getOperand(i).getDefiningOp();
          if (!isView(op) || inside.contains(op) || taken.contains(op) ||
              llvm::any_of(op->getResults(), [&](mlir::Value v) { return usedOutside(v, inside); }))
            continue;
          absorb(op);
          views.insert(op);
          changed = true;
        }
    }
    // A reshape of a stored value costs nothing outside the kernel.
    for (bool changed = true; changed;) {
      changed = false;
      for (mlir::Operation *op : llvm::SmallVector<mlir::Operation *>(views.begin(), views.end()))
        if (isOp(op, "reshape") && !views.contains(op->getOperand(0).getDefiningOp())) {
          views.erase(op);
          inside.erase(op);
          llvm::erase(members, op);
          changed = true;
        }
    }
    llvm::SmallVector<mlir::Operation *> behind;
    mlir::Value result = anchor->getResult(0);
    while (result.hasOneUse()) {
      mlir::Operation *user = *result.getUsers().begin();
      if (!isView(user) || (!isOp(user, "reshape") && !isOp(user, "transpose")))
        break;
      behind.push_back(user);
      result = user->getResult(0);
    }
    while (!behind.empty() && isOp(behind.back(), "reshape"))
      behind.pop_back();
    for (mlir::Operation *op : behind)
      absorb(op);
  }

  /// Absorbs the slices that a concatenation joins and that have no other user: one copy instead of two. Not if another
  /// part could be written in place.
  void absorbSlices() {
    auto isSlice = [&](mlir::Value value) {
      mlir::Operation *op = value.getDefiningOp();
      return isOp(op, "slice") && isView(op, nn::layoutOf(anchor->getResult(0))) && value.hasOneUse() &&
             !taken.contains(op);
    };
    if (!llvm::all_of(anchor->getOperands(), isSlice) && placesInWhole(anchor, shapes))
      return;
    for (mlir::Value operand : anchor->getOperands())
      if (isSlice(operand) && members.size() < mostOperators)
        absorb(operand.getDefiningOp());
  }

  bool sameSpace(mlir::Value a, mlir::Value b) const {
    TensorInfo x = shapes.of(a), y = shapes.of(b);
    return x.dims == y.dims && nn::layoutOf(a) == nn::layoutOf(b);
  }

  static bool usedOutside(mlir::Value value, const llvm::DenseSet<mlir::Operation *> &set) {
    return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) { return !set.contains(user); });
  }

  /// True if `op` may join the group, given that the values of `set` are available.
  bool fits(mlir::Operation *op, const llvm::DenseSet<mlir::Operation *> &set) const {
    if (!isElementwise(op) || taken.contains(op) || !sameSpace(op->getResult(0), anchor->getResult(0)) || !mayJoin(op))
      return false;
    if (isElementwise(anchor))
      return true;
    // `op` is in an epilogue. There, integer sums may become narrower integers or real numbers, and kernels compute f16
    // as f32; other anchors keep one type.
    mlir::Value result = anchor->getResult(0);
    ElementType type = nn::infoOf(result).type;
    bool converts = familyOf(anchor) == "contraction" && isInteger(type);
    auto isOther = [&](mlir::Value value) {
      ElementType other = nn::infoOf(value).type;
      return !converts && other != type && !(isSingleOrHalf(type) && isSingleOrHalf(other));
    };
    if (isOther(op->getResult(0)))
      return false;
    return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
      if (operand.getDefiningOp() && set.contains(operand.getDefiningOp()))
        return true;
      if (isOther(operand))
        return false;
      return splatValue(operand).has_value() || variesByChannel(operand) ||
             (sameSpace(operand, result) && !operand.getDefiningOp<nn::ConstantOp>());
    });
  }

  /// A constant with one value a channel of the anchor's result: axis 1, the last for matrix products and norms of
  /// rows.
  bool variesByChannel(mlir::Value operand) const {
    mlir::Value result = anchor->getResult(0);
    auto type = rankedType(operand), whole = rankedType(result);
    if (!operand.getDefiningOp<nn::ConstantOp>() || !type || !whole || type.getRank() > whole.getRank())
      return false;
    bool channelsLast = isOp(anchor, "gemm") || isOp(anchor, "matmul") || isOp(anchor, "matmul_integer") ||
                        isOp(anchor, "layer_norm") || isOp(anchor, "rms_norm");
    int64_t axis = channelsLast ? whole.getRank() - 1 : 1;
    int64_t missing = whole.getRank() - type.getRank();
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.getDimSize(i) != 1 && (i + missing != axis || type.getDimSize(i) != whole.getDimSize(axis)))
        return false;
    return true;
  }

  /// A convolution with one channel per group.
  static bool isDepthwise(mlir::Operation *op) {
    auto weights = isOp(op, "conv") ? rankedType(op->getOperand(1)) : nullptr;
    return weights && weights.hasStaticShape() && weights.getDimSize(1) == 1 && weights.getDimSize(0) > 1 &&
           nn::attrsAs<ConvAttrs>(op).group == weights.getDimSize(0);
  }

  /// A convolution of one tap that reads position i for result i.
  static bool isPointwise(mlir::Operation *op) {
    auto weights = isOp(op, "conv") ? rankedType(op->getOperand(1)) : nullptr;
    if (!weights || !weights.hasStaticShape())
      return false;
    ConvAttrs attrs = nn::attrsAs<ConvAttrs>(op);
    auto all = [](llvm::ArrayRef<int64_t> values, int64_t value) {
      return llvm::all_of(values, [&](int64_t v) { return v == value; });
    };
    return attrs.group == 1 && all(weights.getShape().drop_front(2), 1) && all(attrs.strides, 1) && all(attrs.pads, 0);
  }

  /// The group whose anchor is a pointwise convolution and the only reader of the result of `group`; the end if there
  /// is none.
  std::vector<Group>::iterator readerOf(const Group &group) {
    llvm::DenseSet<mlir::Operation *> set(group.ops.begin(), group.ops.end());
    llvm::SmallVector<mlir::OpOperand *> uses;
    for (mlir::Operation *op : group.ops)
      for (mlir::OpOperand &use : op->getUses())
        if (!set.contains(use.getOwner()))
          uses.push_back(&use);
    if (uses.size() != 1 || uses[0]->getOperandNumber() != 0 || !isPointwise(uses[0]->getOwner()))
      return groups.end();
    return llvm::find_if(groups, [&](const Group &other) { return other.anchor == uses[0]->getOwner(); });
  }

  /// Joins two groups where one kernel can compute both. Predicted costs decide later whether that saves time.
  void joinSeparable() {
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!groups[i].anchor || !isDepthwise(groups[i].anchor))
        continue;
      std::vector<std::string> nodes = nn::nodeNames(groups[i].anchor->getLoc());
      std::optional<std::string> given = options.given ? options.given(nodes).kernelOf : std::nullopt;
      auto reader = readerOf(groups[i]);
      bool asked =
          given && reader != groups.end() && llvm::is_contained(nn::nodeNames(reader->anchor->getLoc()), *given);
      require(!given || asked || llvm::is_contained(nodes, *given),
              "{}: cannot be computed in the kernel of '{}' as asked for, which is no pointwise convolution that alone "
              "reads "
              "its result",
              nn::describe(groups[i].anchor->getLoc()), given.value_or(""));
      if (reader == groups.end())
        continue;
      std::optional<bool> together = given ? std::optional(asked) : std::nullopt;
      Group joined{groups[i].ops, reader->family, reader->anchor, {groups[i], *reader}, together};
      joined.ops.append(reader->ops.begin(), reader->ops.end());
      llvm::sort(joined.ops, [](mlir::Operation *a, mlir::Operation *b) { return a->isBeforeInBlock(b); });
      *reader = std::move(joined); // stands after its first part, so the order stays
      groups.erase(groups.begin() + i--);
    }
  }

  /// Adds the smallest number of users after which one value escapes again.
  bool grow() {
    bool grown = false;
    while (members.size() < mostOperators) {
      llvm::DenseSet<mlir::Operation *> set = inside;
      llvm::SmallVector<mlir::Operation *> tried;
      bool closed = false;
      while (!closed && tried.size() < farthestLook && members.size() + tried.size() < mostOperators) {
        mlir::Operation *next = nullptr;
        for (mlir::Operation *op : set)
          for (mlir::Operation *user : op->getUsers())
            if (!set.contains(user) && (!next || user->isBeforeInBlock(next)) && fits(user, set))
              next = user;
        if (!next)
          break;
        set.insert(next);
        tried.push_back(next);
        closed = llvm::count_if(set, [&](mlir::Operation *op) {
                   return llvm::any_of(op->getResults(), [&](mlir::Value v) { return usedOutside(v, set); });
                 }) == 1;
      }
      if (!closed)
        break;
      members.append(tried.begin(), tried.end());
      inside = std::move(set);
      grown = true;
    }
    return grown;
  }

  /// True for a number that is made from a byte: (cast(byte) - zero point) * scale, or a part of this formula.
  static bool isDequantised(mlir::Operation *op) {
    for (; isOp(op, "mul") || isOp(op, "sub"); op = op->getOperand(0).getDefiningOp())
      if (!op->getOperand(1).getDefiningOp<nn::ConstantOp>())
        return false;
    if (!isOp(op, "cast"))
      return false;
    ElementType from = nn::infoOf(op->getOperand(0)).type;
    return isByte(from);
  }

  /// True for the types that kernels compute in the same way.
  static bool isSingleOrHalf(ElementType type) { return type == ElementType::f32 || type == ElementType::f16; }

  /// True for a cast from f16 to f32.
  static bool isWidenedHalf(mlir::Operation *op) {
    return isOp(op, "cast") && nn::infoOf(op->getOperand(0)).type == ElementType::f16 &&
           nn::infoOf(op->getResult(0)).type == ElementType::f32;
  }

  /// The epilogue of an integer product reads a quantised operand as bytes, a quarter of the memory; other epilogues
  /// read f16 operands without a conversion in memory.
  bool absorbDequantised() {
    bool sums = isInteger(nn::infoOf(anchor->getResult(0)).type);
    return familyOf(anchor) == "contraction" && absorbOperands(sums ? isDequantised : isWidenedHalf);
  }

  /// Absorbs an element-wise operator that `mayBe` accepts and whose only users are inside the group. An anchor that is
  /// not element-wise reads its operands from memory, so its operands stay outside.
  bool absorbOperands(bool (*mayBe)(mlir::Operation *) = isElementwise) {
    for (mlir::Operation *member : members) {
      if (member == anchor && !isElementwise(anchor))
        continue;
      for (mlir::Value operand : member->getOperands()) {
        mlir::Operation *op = operand.getDefiningOp();
        if (!op || inside.contains(op) || members.size() >= mostOperators || !mayBe(op) || !fits(op, inside) ||
            usedOutside(operand, inside))
          continue;
        absorb(op);
        return true;
      }
    }
    return false;
  }
};

} // namespace

bool isKernelOp(mlir::Operation *op) {
  if (llvm::isa<nn::ConvertLayoutOp>(op))
    return true;
  std::string_view lowering = loweringOf(op);
  return !lowering.empty() && lowering != "view" && lowering != "fold" && lowering != "reference";
}

std::string_view familyOf(mlir::Operation *op) {
  return llvm::isa<nn::ConvertLayoutOp>(op) ? std::string_view("movement") : loweringOf(op);
}

std::vector<Group> formSingleGroups(mlir::func::FuncOp function) {
  std::vector<Group> groups;
  for (mlir::Operation &op : function.getBody().front()) {
    if (!isKernelOp(&op))
      continue;
    mlir::Operation *before = groups.empty() ? nullptr : groups.back().ops.back();
    if (before && isElementwise(&op) && isElementwise(before) && before->getLoc() == op.getLoc() &&
        before->hasOneUse() && *before->getUsers().begin() == &op && before->getResultTypes() == op.getResultTypes())
      groups.back().ops.push_back(&op);
    else
      groups.push_back({{&op}, familyOf(&op)});
  }
  return groups;
}

std::vector<Group> formFusedGroups(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes,
                                   const PipelineOptions &options) {
  return Fuser(function, shapes, options).run();
}

} // namespace lathe
