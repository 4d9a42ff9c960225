#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

namespace lathe {
namespace {

/// Channel `index` of a value that is not the result of a movement of channels.
struct Channel {
  mlir::Value source;
  int64_t index;
};

bool knownChannels(mlir::Value value) {
  auto type = rankedType(value);
  return type && type.getRank() >= 3 && !type.isDynamicDim(1);
}
int64_t channelCount(mlir::Value value) { return rankedType(value).getDimSize(1); }

/// `tensor` reordered along `axis` (0 or 1): index i of the result is index order[i] of `tensor`.
Tensor reordered(const Tensor &tensor, size_t axis, const std::vector<int64_t> &order) {
  Tensor result(tensor.type(), tensor.dims());
  int64_t outer = axis == 0 ? 1 : tensor.dim(0), extent = tensor.dim(axis);
  int64_t run = tensor.bytes() / std::max<int64_t>(outer * extent, 1);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < extent; ++i)
      std::memcpy(result.as<char>() + (o * extent + i) * run, tensor.as<char>() + (o * extent + order[i]) * run,
                  static_cast<size_t>(run));
  return result;
}

class Absorption {
public:
  explicit Absorption(mlir::func::FuncOp main) : main(main) {}

  void run() {
    for (mlir::Operation &op : main.getBody().front())
      follow(&op);
    if (llvm::none_of(shuffled, [](auto &entry) { return entry.second; }))
      return;
    findReaders();
    // Networks have one such part per stage; a part is absorbed whole or not at all.
    std::map<size_t, std::vector<size_t>> parts; // root of the sources' union -> readers
    for (size_t r = 0; r < readers.size(); ++r)
      parts[rootOf(idOf(channels[readers[r]].front().source))].push_back(r);
    for (auto &[root, members] : parts)
      if (absorbable(root, members))
        rewrite(members);
  }

private:
  mlir::func::FuncOp main;
  llvm::DenseMap<mlir::Value, std::vector<Channel>> channels; // of results of movements, and of sources read directly
  llvm::DenseMap<mlir::Value, bool> shuffled;                 // a gather has moved its channels
  std::vector<mlir::Value> readers;                           // values that convolutions read
  std::vector<mlir::Value> sources;
  llvm::DenseMap<mlir::Value, size_t> sourceIds;
  std::vector<size_t> parents; // union-find over sources that meet in one value

  size_t idOf(mlir::Value source) {
    auto [entry, isNew] = sourceIds.try_emplace(source, sources.size());
    if (isNew) {
      sources.push_back(source);
      parents.push_back(entry->second);
    }
    return entry->second;
  }
  size_t rootOf(size_t id) {
    while (parents[id] != id)
      id = parents[id] = parents[parents[id]];
    return id;
  }

  std::vector<Channel> channelsOf(mlir::Value value) const {
    if (auto found = channels.find(value); found != channels.end())
      return found->second;
    std::vector<Channel> own;
    for (int64_t i = 0; i < channelCount(value); ++i)
      own.push_back({value, i});
    return own;
  }

  bool isMovement(mlir::Operation *op) const { return op->getNumResults() && shuffled.contains(op->getResult(0)); }

  static bool alongChannels(int64_t axis, mlir::Value value) {
    return axis == 1 || axis + rankedType(value).getRank() == 1;
  }

  /// Records which channels the results of a concat, split, slice or gather along the channels contain.
  void follow(mlir::Operation *op) {
    if (!isOp(op, "concat") && !isOp(op, "split") && !isOp(op, "slice") && !isOp(op, "gather"))
      return;
    mlir::Value first = op->getOperand(0);
    if (!llvm::all_of(op->getResults(), knownChannels) || !knownChannels(first))
      return;
    std::vector<Channel> all = channelsOf(first);
    std::vector<std::vector<Channel>> parts;
    if (isOp(op, "concat")) {
      if (!alongChannels(nn::attrsAs<ConcatAttrs>(op).axis, first) || !llvm::all_of(op->getOperands(), knownChannels))
        return;
      for (mlir::Value operand : op->getOperands().drop_front())
        for (const Channel &channel : channelsOf(operand))
          all.push_back(channel);
      parts.push_back(all);
    } else if (isOp(op, "gather")) {
      std::optional<Tensor> indices = constantOf(op->getOperand(1));
      if (!alongChannels(nn::attrsAs<GatherAttrs>(op).axis, first) || !indices || indices->rank() != 1)
        return;
      parts.emplace_back();
      for (int64_t i = 0; i < indices->elements(); ++i) {
        int64_t index = indices->asInteger(i), extent = channelCount(first);
        if (index < -extent || index >= extent)
          return;
        parts.back().push_back(all[static_cast<size_t>(index < 0 ? index + extent : index)]);
      }
    } else {
      int64_t at = 0;
      if (isOp(op, "slice")) {
        auto attrs = nn::attrsAs<SliceAttrs>(op);
        if (op->getNumOperands() != 1 || attrs.axes.size() != 1 || !alongChannels(attrs.axes[0], first) ||
            (!attrs.steps.empty() && attrs.steps[0] != 1))
          return;
        int64_t extent = channelCount(first), start = attrs.starts[0];
        at = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
      } else if (op->getNumOperands() != 1 || !alongChannels(nn::attrsAs<SplitAttrs>(op).axis, first)) {
        return;
      }
      for (mlir::Value result : op->getResults()) {
        parts.emplace_back(all.begin() + at, all.begin() + at + channelCount(result));
        at += channelCount(result);
      }
    }
    bool mixed =
        isOp(op, "gather") || llvm::any_of(op->getOperands(), [&](mlir::Value v) { return shuffled.lookup(v); });
    for (auto [result, part] : llvm::zip(op->getResults(), parts)) {
      for (const Channel &channel : part)
        parents[rootOf(idOf(channel.source))] = rootOf(idOf(part.front().source));
      channels[result] = std::move(part);
      shuffled[result] = mixed;
    }
  }

  void findReaders() {
    auto isRead = [&](mlir::Value value) {
      return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) { return !isMovement(user); });
    };
    for (mlir::Value source : sources)
      if (isRead(source)) {
        channels[source] = channelsOf(source);
        readers.push_back(source);
      }
    for (mlir::Operation &op : main.getBody().front())
      if (isMovement(&op))
        for (mlir::Value result : op.getResults())
          if (isRead(result) && !channels[result].empty())
            readers.push_back(result);
  }

  static bool isChannelwise(mlir::Operation *op) {
    return loweringOf(op) == "elementwise" && op->getNumOperands() == 1;
  }

  static bool constantWeights(mlir::Operation *conv) {
    mlir::Value bias = operandOf(conv, 2);
    return constantOf(operandOf(conv, 1)) && (!bias || constantOf(bias));
  }
  static bool isDense(mlir::Operation *op) {
    return isOp(op, "conv") && nn::attrsAs<ConvAttrs>(op).group == 1 && constantWeights(op);
  }
  static bool isDepthwise(mlir::Operation *op) {
    return isOp(op, "conv") && constantWeights(op) &&
           nn::attrsAs<ConvAttrs>(op).group == channelCount(op->getOperand(0)) &&
           channelCount(op->getResult(0)) == channelCount(op->getOperand(0));
  }

  /// True if all readers of `value`, apart from movements, can take its channels in another order.
  bool takesAnyOrder(mlir::Value value) const {
    return llvm::all_of(value.getUsers(), [&](mlir::Operation *user) {
      if (isMovement(user) || isDense(user))
        return true;
      // Readers behind a source depend on the order of its channels, so it must not change.
      return (isDepthwise(user) || isChannelwise(user)) && !sourceIds.contains(user->getResult(0)) &&
             takesAnyOrder(user->getResult(0));
    });
  }

  /// The convolution that makes the channels of `source`, through element-wise operators; null where the order is not
  /// free.
  static mlir::Operation *makerOf(mlir::Value source) {
    mlir::Operation *op = source.getDefiningOp();
    while (op && isChannelwise(op)) {
      if (!op->getOperand(0).hasOneUse())
        return nullptr;
      op = op->getOperand(0).getDefiningOp();
    }
    return op && isDense(op) ? op : nullptr;
  }

  bool absorbable(size_t root, const std::vector<size_t> &members) {
    if (llvm::none_of(members, [&](size_t r) { return shuffled.lookup(readers[r]); }))
      return false; // nothing is shuffled here
    for (size_t id = 0; id < sources.size(); ++id)
      if (rootOf(id) == root && !makerOf(sources[id]))
        return false;
    return llvm::all_of(members, [&](size_t r) { return takesAnyOrder(readers[r]); });
  }

  /// Adapts all readers of `value`: at channel i they now find the old channel order[i].
  void absorb(mlir::Value value, const std::vector<int64_t> &order) {
    for (mlir::Operation *user : llvm::SmallVector<mlir::Operation *>(value.getUsers())) {
      if (isMovement(user))
        continue;
      if (isDense(user)) {
        reorder(user, 1, 1, order, ".weights");
        continue;
      }
      if (isDepthwise(user))
        reorderOutputs(user, order);
      absorb(user->getResult(0), order);
    }
  }
  static void reorder(mlir::Operation *conv, size_t operand, size_t axis, const std::vector<int64_t> &order,
                      const char *suffix) {
    mlir::Value before = operandOf(conv, operand);
    mlir::OpBuilder b(conv);
    mlir::Value after =
        makeConstant(b, before.getLoc(), reordered(*constantOf(before), axis, order), constantName(conv, suffix));
    for (mlir::OpOperand &use : conv->getOpOperands())
      if (use.getOperandNumber() > 0 && use.get() == before)
        use.set(after);
  }
  static void reorderOutputs(mlir::Operation *conv, const std::vector<int64_t> &order) {
    reorder(conv, 1, 0, order, ".weights");
    if (operandOf(conv, 2))
      reorder(conv, 2, 0, order, ".bias");
  }

  void rewrite(const std::vector<size_t> &members) {
    // In a source, channels that the same values read lie together. The channels of the first reader come first.
    std::map<size_t, std::vector<std::vector<size_t>>> readBy; // source -> by channel
    for (size_t r : members)
      for (const Channel &channel : channels[readers[r]]) {
        auto &by = readBy[idOf(channel.source)];
        by.resize(static_cast<size_t>(channelCount(channel.source)));
        by[static_cast<size_t>(channel.index)].push_back(r);
      }
    std::map<size_t, std::vector<int64_t>> place; // source -> new position of each channel
    for (auto &[id, by] : readBy) {
      std::vector<int64_t> order(by.size());
      std::iota(order.begin(), order.end(), 0);
      for (std::vector<size_t> &list : by)
        if (list.empty())
          list.push_back(readers.size()); // no reader: last
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return by[static_cast<size_t>(a)] < by[static_cast<size_t>(b)]; });
      reorderOutputs(makerOf(sources[id]), order);
      auto &positions = place[id];
      positions.resize(order.size());
      for (size_t i = 0; i < order.size(); ++i)
        positions[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    for (size_t r : members)
      reread(readers[r], place);
  }

  /// Makes the readers of `value` read ranges of the sources' channels, the latest source first.
  void reread(mlir::Value value, std::map<size_t, std::vector<int64_t>> &place) {
    const std::vector<Channel> &written = channels[value];
    std::vector<int64_t> order(written.size());
    std::iota(order.begin(), order.end(), 0);
    auto at = [&](int64_t i) {
      const Channel &channel = written[static_cast<size_t>(i)];
      return place[idOf(channel.source)][static_cast<size_t>(channel.index)];
    };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      mlir::Value x = written[static_cast<size_t>(a)].source, y = written[static_cast<size_t>(b)].source;
      if (x != y)
        return y.getDefiningOp()->isBeforeInBlock(x.getDefiningOp());
      return at(a) < at(b);
    });
    absorb(value, order);
    if (sourceIds.contains(value))
      return; // the value is read where it lies
    mlir::OpBuilder b(value.getDefiningOp());
    mlir::Location loc = value.getLoc();
    llvm::SmallVector<mlir::Value> runs;
    for (size_t i = 0; i < order.size();) {
      mlir::Value source = written[static_cast<size_t>(order[i])].source;
      int64_t start = at(order[i]), end = start + 1;
      for (++i; i < order.size() && written[static_cast<size_t>(order[i])].source == source && at(order[i]) == end; ++i)
        ++end;
      if (start == 0 && end == channelCount(source)) {
        runs.push_back(source);
        continue;
      }
      SliceAttrs slice;
      slice.starts = {start};
      slice.ends = {end};
      slice.axes = {1};
      slice.steps = {1};
      runs.push_back(nn::buildValue(b, loc, "slice", {source, {}, {}, {}, {}}, std::move(slice)));
    }
    mlir::Value joined = runs.front();
    if (runs.size() > 1) {
      ConcatAttrs concat;
      concat.axis = 1;
      joined = nn::buildValue(b, loc, "concat", runs, std::move(concat));
    }
    joined.setType(value.getType());
    value.replaceUsesWithIf(joined, [&](mlir::OpOperand &use) { return !isMovement(use.getOwner()); });
  }
};

} // namespace

void absorbShuffle(mlir::ModuleOp module) {
  Absorption(mainFunction(module)).run();
  deadCode(module);
}

} // namespace lathe
