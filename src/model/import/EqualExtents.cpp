#include "import/EqualExtents.h"

#include "ir/Bodies.h"
#include "ir/ExtentRules.h"

#include <algorithm>
#include <map>

namespace lathe::source {
namespace {

/// The name of an extent that is a single symbol; empty for numbers and for formulas.
std::string symbolOf(const Dim &dim) {
  std::vector<std::string> names;
  dim.collectSymbols(names);
  return names.size() == 1 && dim == Dim::symbol(names[0]) ? names[0] : "";
}

/// The symbols of inputs, in the order of the inputs.
std::vector<std::string> inputSymbols(mlir::func::FuncOp main) {
  std::vector<std::string> symbols;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    for (const Dim &dim : nn::argumentDims(main, i))
      if (std::string symbol = symbolOf(dim);
          !symbol.empty() && !isUnknown(dim) && !llvm::is_contained(symbols, symbol))
        symbols.push_back(symbol);
  return symbols;
}

/// Attribute of @main, where demandEqual collects extents as texts, two for each pair, until the import ends.
constexpr const char *demandsAttribute = "nn.equal_extents";

std::vector<ExtentRule> statedDemands(mlir::func::FuncOp main) {
  std::vector<ExtentRule> rules;
  auto texts = main->getAttrOfType<mlir::ArrayAttr>(demandsAttribute);
  auto at = [&](size_t i) { return Dim::parse(llvm::cast<mlir::StringAttr>(texts[i]).getValue().str()); };
  for (size_t i = 0; texts && i + 1 < texts.size(); i += 2)
    rules.push_back({Relation::equal, at(i), at(i + 1)});
  return rules;
}

/// The equalities that operators of @main demand. Extents that can never be equal are reported by the pass that needs
/// them.
std::vector<ExtentRule> operatorDemands(mlir::func::FuncOp main) {
  std::vector<ExtentRule> rules;
  try {
    for (nn::NodeRule &demand : nn::extentRules(main))
      rules.push_back(std::move(demand.rule));
  } catch (const Error &) {
    rules.clear();
  }
  return rules;
}

/// New meanings of symbols: other symbols, or numbers.
using Meanings = std::map<std::string, Dim>;

/// The meanings that `rules` demand for `symbols`. Numbers count only if `numbers` is true.
Meanings meaningsOf(const std::vector<ExtentRule> &rules, const std::vector<std::string> &symbols, bool numbers) {
  Meanings meanings;
  auto lookup = [&](const std::string &symbol) -> std::optional<Dim> {
    auto found = meanings.find(symbol);
    return found == meanings.end() ? std::nullopt : std::optional(found->second);
  };
  auto placeOf = [&](const Dim &dim) { // order: numbers, then symbols, then all else
    return dim.isConstant() ? -1 : llvm::find(symbols, symbolOf(dim)) - symbols.begin();
  };
  auto none = static_cast<int64_t>(symbols.size());
  for (const ExtentRule &rule : rules) {
    Dim a = rule.left.substitute(lookup), b = rule.right.substitute(lookup);
    if (placeOf(b) < placeOf(a))
      std::swap(a, b);
    if (rule.relation != Relation::equal || a == b || placeOf(b) == none || placeOf(b) < 0 ||
        (a.isConstant() && (!numbers || a.constant() < 0)))
      continue;
    std::string symbol = symbolOf(b);
    for (auto &[other, meaning] : meanings)
      if (meaning == b)
        meaning = a;
    meanings[symbol] = a;
  }
  return meanings;
}

/// Replaces the extents of an argument.
void substitute(mlir::func::FuncOp function, unsigned index, const Meanings &meanings) {
  if (!function.getArgAttr(index, "nn.dims"))
    return;
  TensorInfo info = nn::infoOf(function.getArgument(index));
  info.dims = nn::argumentDims(function, index);
  for (Dim &dim : info.dims)
    dim = dim.substitute([&](const std::string &symbol) -> std::optional<Dim> {
      auto found = meanings.find(symbol);
      return found == meanings.end() ? std::nullopt : std::optional(found->second);
    });
  function.getArgument(index).setType(nn::toMlirType(function.getContext(), info));
  if (allConstant(info.dims))
    function.removeArgAttr(index, "nn.dims");
  else
    function.setArgAttr(index, "nn.dims", nn::dimsAttr(function.getContext(), info.dims));
}

/// Replaces the extents of the arguments of all functions, also in bodies.
void substitute(mlir::ModuleOp module, const Meanings &meanings) {
  module.walk([&](mlir::func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      substitute(function, i, meanings);
    mlir::Block &block = function.getBody().front();
    function.setType(mlir::FunctionType::get(module.getContext(), block.getArgumentTypes(),
                                             block.getTerminator()->getOperandTypes()));
  });
}

} // namespace

void demandEqual(mlir::OpBuilder &builder, const Dim &a, const Dim &b) {
  auto main = llvm::dyn_cast_or_null<mlir::func::FuncOp>(builder.getInsertionBlock()->getParentOp());
  if (!main || main->getParentOp()->getParentOp())
    return; // a body
  llvm::SmallVector<mlir::Attribute> texts;
  if (auto before = main->getAttrOfType<mlir::ArrayAttr>(demandsAttribute))
    texts.append(before.begin(), before.end());
  for (const Dim *dim : {&a, &b})
    texts.push_back(builder.getStringAttr(dim->str()));
  main->setAttr(demandsAttribute, builder.getArrayAttr(texts));
}

void uniteEqualExtents(mlir::ModuleOp module, bool numbers) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<ExtentRule> stated = statedDemands(main);
  main->removeAttr(demandsAttribute);
  size_t least = numbers ? 1 : 2; // number of symbols that a demand needs
  // Each replacement may allow further ones: N = M makes N * K and M * L comparable.
  for (std::vector<std::string> symbols = inputSymbols(main); symbols.size() >= least; symbols = inputSymbols(main)) {
    std::vector<ExtentRule> rules = operatorDemands(main);
    rules.insert(rules.end(), stated.begin(), stated.end());
    Meanings meanings = meaningsOf(rules, symbols, numbers);
    if (meanings.empty())
      return;
    substitute(module, meanings);
  }
}

std::map<std::string, std::vector<int64_t>> demandedShapes(mlir::func::FuncOp main) {
  auto builder = mlir::OpBuilder::atBlockEnd(&main.getBody().front());
  builder.create<mlir::func::ReturnOp>(main.getLoc());
  auto symbolicExtents = [&] {
    int64_t count = 0;
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      count += llvm::count_if(nn::argumentDims(main, i), [](const Dim &dim) { return !dim.isConstant(); });
    return count;
  };
  const int64_t before = symbolicExtents();
  std::map<std::string, std::vector<int64_t>> shapes;
  try {
    uniteEqualExtents(main->getParentOfType<mlir::ModuleOp>(), /*numbers=*/true);
  } catch (const Error &) { // an extent cannot be computed: the errors of the import say more
    return shapes;
  }
  if (symbolicExtents() == before)
    return shapes;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<mlir::StringAttr>(i, "nn.name");
    if (!name || !nn::infoOf(main.getArgument(i)).isTensor())
      continue;
    std::vector<int64_t> &extents = shapes[name.str()];
    for (const Dim &dim : nn::argumentDims(main, i))
      extents.push_back(dim.constantOr(-1));
  }
  return shapes;
}

} // namespace lathe::source
