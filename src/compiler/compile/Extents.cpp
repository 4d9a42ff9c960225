#include "compile/Extents.h"

#include "ir/Bridge.h"
#include "ir/SymbolicShapes.h"
#include "support/Error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>

namespace lathe {
namespace {

/// The parts of `text` between `separators`, without empty ones.
std::vector<std::string> split(const std::string &text, const char *separators) {
  std::vector<std::string> parts;
  for (size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string::npos;) {
    size_t end = std::min(text.find_first_of(separators, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

/// Parses an extent; empty for any other text.
std::optional<int64_t> extentOf(const std::string &text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && value <= int64_t(1) << 40 ? std::optional(value) : std::nullopt;
}

/// Calls `read(symbol, value)` for each SYMBOL=VALUE of `text`. Throws Error for other forms, or if it returns false.
void readPairs(const std::string &text, const char *expected,
               const std::function<bool(const std::string &symbol, const std::string &value)> &read) {
  std::vector<std::string> pairs = split(text, " \t\n");
  require(!pairs.empty(), "'{}': expected {}", text, expected);
  std::vector<std::string> seen;
  for (const std::string &pair : pairs) {
    size_t equals = pair.find('=');
    require(equals != std::string::npos && equals > 0 && read(pair.substr(0, equals), pair.substr(equals + 1)),
            "'{}': expected {}", pair, expected);
    std::string symbol = pair.substr(0, equals);
    require(std::find(seen.begin(), seen.end(), symbol) == seen.end(), "'{}': symbol '{}' is given twice", text,
            symbol);
    seen.push_back(symbol);
  }
}

void requireFew(size_t variants) {
  require(variants <= mostVariants, "{} variants, expected at most {}", variants, mostVariants);
}

std::string listOf(const std::vector<std::string> &symbols) {
  return symbols.empty() ? "the model has no symbolic extent"
                         : fmt::format("the model's symbols are {}", fmt::join(symbols, ", "));
}

} // namespace

std::vector<Extents> parseVariants(const std::string &text) {
  std::vector<Extents> variants{{}};
  readPairs(text, "SYMBOL=EXTENT,EXTENT,...", [&](const std::string &symbol, const std::string &values) {
    std::vector<Extents> product;
    std::vector<std::string> list = split(values, ",");
    requireFew(variants.size() * list.size());
    for (const Extents &variant : variants)
      for (const std::string &value : list) {
        std::optional<int64_t> extent = extentOf(value);
        if (!extent)
          return false;
        product.push_back(variant);
        product.back()[symbol] = *extent;
      }
    variants = std::move(product);
    return !variants.empty();
  });
  return variants;
}

std::vector<ExtentRange> parseRanges(const std::string &text) {
  std::vector<ExtentRange> ranges;
  readPairs(text, "SYMBOL=FIRST..LAST", [&](const std::string &symbol, const std::string &value) {
    size_t dots = value.find("..");
    if (dots == std::string::npos)
      return false;
    std::optional<int64_t> min = extentOf(value.substr(0, dots)), max = extentOf(value.substr(dots + 2));
    if (!min || !max || *min > *max)
      return false;
    ranges.push_back({symbol, *min, *max});
    return true;
  });
  return ranges;
}

Extents parseExtents(const std::string &text) {
  Extents extents;
  readPairs(text, "SYMBOL=EXTENT", [&](const std::string &symbol, const std::string &value) {
    std::optional<int64_t> extent = extentOf(value);
    extents[symbol] = extent.value_or(0);
    return extent.has_value();
  });
  return extents;
}

std::string str(const Extents &extents) {
  std::string text;
  for (const auto &[symbol, extent] : extents)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", symbol, extent);
  return text;
}

void addVariants(std::vector<Extents> &variants, const std::vector<Extents> &more) {
  for (const Extents &variant : more)
    if (std::find(variants.begin(), variants.end(), variant) == variants.end())
      variants.push_back(variant);
  requireFew(variants.size());
  std::stable_sort(variants.begin(), variants.end(),
                   [](const Extents &a, const Extents &b) { return a.size() > b.size(); });
}

std::vector<std::string> symbolsOf(mlir::func::FuncOp main) {
  std::vector<std::string> symbols;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    for (const Dim &dim : nn::argumentDims(main, i))
      if (!isUnknown(dim))
        dim.collectSymbols(symbols);
  return symbols;
}

void requireValid(const ExtentOptions &options, mlir::func::FuncOp main) {
  std::vector<std::string> symbols = symbolsOf(main);
  auto requireKnown = [&](const char *option, const std::string &symbol) {
    require(std::find(symbols.begin(), symbols.end(), symbol) != symbols.end(), "{} {}: unknown symbol, {}", option,
            symbol, listOf(symbols));
  };
  for (size_t i = 0; i < options.ranges.size(); ++i) {
    requireKnown("--range", options.ranges[i].symbol);
    for (size_t j = 0; j < i; ++j)
      require(options.ranges[i].symbol != options.ranges[j].symbol, "--range {}: given twice",
              options.ranges[i].symbol);
  }
  auto requireInRange = [&](const char *option, const Extents &extents) {
    for (const auto &[symbol, extent] : extents) {
      requireKnown(option, symbol);
      for (const ExtentRange &range : options.ranges)
        require(range.symbol != symbol || (range.min <= extent && extent <= range.max),
                "{} {}={}: expected {} to {}, the range of '{}'", option, symbol, extent, range.min, range.max, symbol);
    }
  };
  for (const Extents &variant : options.variants)
    requireInRange("--specialize", variant);
  requireInRange("--optimize-for", options.typical);
}

namespace {

Dim substituted(const Dim &dim, const Extents &extents) {
  return dim.substitute([&](const std::string &symbol) -> std::optional<Dim> {
    auto found = extents.find(symbol);
    return found == extents.end() ? std::nullopt : std::optional<Dim>(found->second);
  });
}

/// Replaces symbols in the other attributes of an argument: elements and extents in memory.
void specializeTexts(mlir::func::FuncOp function, unsigned index, const Extents &extents) {
  for (const char *name : {nn::contentsAttribute, nn::storedAttribute})
    if (auto texts = function.getArgAttrOfType<mlir::ArrayAttr>(index, name)) {
      Dims dims;
      for (mlir::Attribute text : texts)
        dims.push_back(substituted(Dim::parse(llvm::cast<mlir::StringAttr>(text).getValue().str()), extents));
      function.setArgAttr(index, name, nn::dimsAttr(function.getContext(), dims));
    }
}

/// Gives an argument the extents of its `nn.dims`, with the values of the symbols.
void specializeArgument(mlir::func::FuncOp function, unsigned index, const Extents &extents) {
  specializeTexts(function, index, extents);
  if (!function.getArgAttr(index, "nn.dims"))
    return;
  Dims dims = nn::argumentDims(function, index);
  for (Dim &dim : dims)
    dim = substituted(dim, extents);
  mlir::BlockArgument argument = function.getArgument(index);
  TensorInfo info = nn::infoOf(argument);
  info.dims = dims;
  auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
  argument.setType(nn::toMlirType(function.getContext(), info, type.getEncoding()));
  if (allConstant(dims))
    function.removeArgAttr(index, "nn.dims");
  else
    function.setArgAttr(index, "nn.dims", nn::dimsAttr(function.getContext(), dims));
}

} // namespace

void specialize(mlir::func::FuncOp function, const Extents &extents) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    specializeArgument(function, i, extents);
  nn::SymbolicShapes shapes(function);
  mlir::Block &body = function.getBody().front();
  for (mlir::Operation &op : body)
    for (mlir::Value result : op.getResults())
      if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType()); type && !type.hasStaticShape())
        result.setType(nn::toMlirType(function.getContext(), shapes.of(result), type.getEncoding()));
  function.setFunctionType(
      mlir::FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
}

} // namespace lathe
