#include "import/EqualExtents.h"

#include "ir/Bodies.h"
#include "ir/ExtentRules.h"

#include <algorithm>
#include <map>

namespace lathe::source {
namespace {

/// The symbol that an extent is; empty for numbers and for arithmetic.
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

/// What demandEqual keeps on @main until the import ends: texts of extents, two for each pair.
constexpr const char *demandsAttribute = "nn.equal_extents";

std::vector<ExtentRule> statedDemands(mlir::func::FuncOp main) {
  std::vector<ExtentRule> rules;
  auto texts = main->getAttrOfType<mlir::ArrayAttr>(demandsAttribute);
  auto at = [&](size_t i) { return Dim::parse(llvm::cast<mlir::StringAttr>(texts[i]).getValue().str()); };
  for (size_t i = 0; texts && i + 1 < texts.size(); i += 2)
    rules.push_back({Relation::equal, at(i), at(i + 1)});
  return rules;
}

/// The demands of all operators of @main. Extents that never fit are reported by the pass that needs them.
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

/// Symbols that are another one from now on.
using Names = std::map<std::string, std::string>;

/// Pairs of `symbols` that `rules` demand to be equal.
Names equalSymbols(const std::vector<ExtentRule> &rules, const std::vector<std::string> &symbols) {
  Names names;
  auto first = [&](std::string symbol) {
    for (auto found = names.find(symbol); found != names.end(); found = names.find(symbol))
      symbol = found->second;
    return symbol;
  };
  auto placeOf = [&](const std::string &symbol) { return llvm::find(symbols, symbol) - symbols.begin(); };
  for (const ExtentRule &rule : rules) {
    std::string a = symbolOf(rule.left), b = symbolOf(rule.right);
    if (rule.relation != Relation::equal || !llvm::is_contained(symbols, a) || !llvm::is_contained(symbols, b))
      continue;
    a = first(a), b = first(b);
    if (placeOf(b) < placeOf(a))
      std::swap(a, b);
    if (a != b)
      names[b] = a;
  }
  for (auto &[symbol, other] : names)
    other = first(other);
  return names;
}

/// The arguments of all functions, those of bodies included, with the new names.
void rename(mlir::ModuleOp module, const Names &names) {
  auto lookup = [&](const std::string &symbol) -> std::optional<Dim> {
    auto found = names.find(symbol);
    return found == names.end() ? std::nullopt : std::optional(Dim::symbol(found->second));
  };
  module.walk([&](mlir::func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!function.getArgAttr(i, "nn.dims"))
        continue;
      Dims dims = nn::argumentDims(function, i);
      for (Dim &dim : dims)
        dim = dim.substitute(lookup);
      function.setArgAttr(i, "nn.dims", nn::dimsAttr(module.getContext(), dims));
    }
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

void uniteEqualExtents(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<ExtentRule> stated = statedDemands(main);
  main->removeAttr(demandsAttribute);
  // With fewer symbols, what follows from one pair may be another one: N = M makes N * K and M * L comparable.
  for (std::vector<std::string> symbols = inputSymbols(main); symbols.size() > 1; symbols = inputSymbols(main)) {
    std::vector<ExtentRule> rules = operatorDemands(main);
    rules.insert(rules.end(), stated.begin(), stated.end());
    Names names = equalSymbols(rules, symbols);
    if (names.empty())
      return;
    rename(module, names);
  }
}

} // namespace lathe::source
