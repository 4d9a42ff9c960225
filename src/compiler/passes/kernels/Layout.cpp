#include "passes/kernels/Layout.h"

#include "passes/Rewrite.h"

namespace lathe {

static mlir::RankedTensorType withLayout(mlir::RankedTensorType type, nn::BlockedAttr layout) {
  return mlir::RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, nn::BlockedAttr layout) {
  return builder.create<nn::ConvertLayoutOp>(loc, withLayout(rankedType(value), layout), value);
}

void setLayout(mlir::Value value, nn::BlockedAttr layout) { value.setType(withLayout(rankedType(value), layout)); }

bool sameBytes(mlir::RankedTensorType type, nn::BlockedAttr layout) {
  if (!layout)
    return true;
  int64_t axis = layout.getAxis();
  if (type.isDynamicDim(axis) || type.getDimSize(axis) % layout.getSize() != 0)
    return false;
  for (int64_t extent : type.getShape().drop_front(axis + 1))
    if (extent != 1)
      return false;
  return true;
}

bool movesNothing(nn::ConvertLayoutOp convert) {
  nn::BlockedAttr from = nn::layoutOf(convert.getInput()), to = nn::layoutOf(convert.getOutput());
  auto type = rankedType(convert.getInput());
  return from == to || (sameBytes(type, from) && sameBytes(type, to));
}

bool turnsChannels(mlir::Operation *op) {
  if (!isOp(op, "transpose"))
    return false;
  std::vector<int64_t> perm = nn::attrsAs<TransposeAttrs>(op).perm;
  auto last = static_cast<int64_t>(perm.size()) - 1;
  if (last < 2 || perm.front() != 0 || (perm.back() != 1 && perm[1] != last))
    return false;
  perm.erase(perm.begin() + (perm.back() == 1 ? last : 1)); // the others keep their order
  return std::is_sorted(perm.begin(), perm.end());
}

PipelineReport::Conversion describeConversion(mlir::Operation *convert) {
  auto text = [](mlir::Type type) {
    std::string result;
    llvm::raw_string_ostream(result) << type;
    return result;
  };
  mlir::Value input = convert->getOperand(0);
  auto type = rankedType(input);
  int64_t bytes = 2 * byteSize(nn::toElementType(type.getElementType()), 1);
  for (int64_t extent : type.getShape())
    bytes *= mlir::ShapedType::isDynamic(extent) ? 1 : extent;
  std::string reader;
  for (mlir::Operation *user : convert->getResult(0).getUsers())
    if (reader.empty() && nn::recordOf(user))
      reader = fmt::format("{} ({})", nn::describe(user->getLoc()), user->getName().stripDialect().str());
  return {llvm::isa<mlir::BlockArgument>(input) ? "" : nn::describe(input.getLoc()),
          text(input.getType()),
          text(convert->getResult(0).getType()),
          bytes,
          std::move(reader),
          ""};
}

static llvm::SmallVector<mlir::Value> blockedValues(mlir::func::FuncOp main) {
  llvm::SmallVector<mlir::Value> values;
  for (mlir::Operation &op : main.getBody().front())
    for (mlir::Value result : op.getResults())
      if (nn::layoutOf(result))
        values.push_back(result);
  return values;
}

bool hasLayouts(mlir::func::FuncOp main) { return !blockedValues(main).empty(); }

bool usesBlocks(mlir::func::FuncOp main, const ChannelBlocks &blocks) {
  return llvm::all_of(blockedValues(main), [&](mlir::Value value) {
    nn::BlockedAttr layout = nn::layoutOf(value);
    int64_t size = blocks.last ? blocks.of(value) : blocks.of(nn::toElementType(rankedType(value).getElementType()));
    return layout.getAxis() == 1 && layout.getSize() == size;
  });
}

void stripLayouts(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
    if (auto convert = llvm::dyn_cast<nn::ConvertLayoutOp>(op)) {
      replaceWith(convert, convert.getInput());
      continue;
    }
    for (mlir::Value result : op.getResults())
      if (nn::layoutOf(result))
        setLayout(result, {});
  }
}

} // namespace lathe
