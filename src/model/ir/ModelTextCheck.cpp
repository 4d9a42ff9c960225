// Checks textual IR beyond its syntax, and finds the line for a message.
#include "ir/Bridge.h"
#include "ir/ModelTextParts.h"
#include "ir/SymbolicShapes.h"
#include "support/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

namespace lathe::nn {
namespace {

constexpr int deepestNesting = 1000;
constexpr uint64_t mostResults = 1 << 20; // of one operation
constexpr int64_t largestBlock = 1 << 20; // channels; with channels last, one block holds all of them

/// Where an attribute of Lathe may be, and its kind.
enum class Place { module, function, operation, argument, result };
enum class Form { text, texts, unit };
struct OwnAttribute {
  const char *name;
  Place place;
  Form form;
};

/// All attributes `nn.*` that do not belong to an operator: passes and importers write them.
constexpr OwnAttribute ownAttributes[] = {
    {"nn.source", Place::module, Form::text},       {"nn.producer", Place::module, Form::text},
    {"nn.content", Place::module, Form::text},      {weightsAttribute, Place::module, Form::text},
    {"nn.family", Place::function, Form::text},     {"nn.schedule", Place::function, Form::text},
    {"nn.reason", Place::operation, Form::text},    {"nn.in_place", Place::operation, Form::unit},
    {"nn.part", Place::operation, Form::unit},      {"nn.extents", Place::operation, Form::texts},
    {"nn.contents", Place::argument, Form::texts},  {"nn.name", Place::argument, Form::text},
    {"nn.dims", Place::argument, Form::texts},      {"nn.constant", Place::argument, Form::unit},
    {"nn.name", Place::result, Form::text},         {storedAttribute, Place::argument, Form::texts},
    {storedAttribute, Place::result, Form::texts},  {"nn.quantization", Place::argument, Form::text},
    {"nn.quantization", Place::result, Form::text},
};

const char *formName(Form form) {
  return form == Form::text ? "a string" : form == Form::texts ? "an array of strings" : "no value";
}

bool hasForm(mlir::Attribute value, Form form) {
  if (form == Form::text)
    return llvm::isa<mlir::StringAttr>(value);
  if (form == Form::unit)
    return llvm::isa<mlir::UnitAttr>(value);
  auto array = llvm::dyn_cast<mlir::ArrayAttr>(value);
  return array && llvm::all_of(array, [](mlir::Attribute text) { return llvm::isa<mlir::StringAttr>(text); });
}

/// Describes what is wrong with an attribute at `place` of `owner`, which also has attributes `own`; "" if it is valid.
std::string problemOf(mlir::NamedAttribute attribute, Place place, const std::string &owner,
                      std::vector<std::string> known) {
  std::string name = attribute.getName().str();
  if (llvm::is_contained(known, name))
    return "";
  for (const OwnAttribute &own : ownAttributes) {
    if (own.place != place)
      continue;
    if (name == own.name)
      return hasForm(attribute.getValue(), own.form)
                 ? ""
                 : fmt::format("{} of {} is not {}", name, owner, formName(own.form));
    known.push_back(own.name);
  }
  return fmt::format("{} has no attribute '{}'; it has {}{}", owner, printable(name), listed(known),
                     suggestion(name, known));
}

Place placeOf(mlir::Operation *op) {
  return llvm::isa<mlir::ModuleOp>(op)       ? Place::module
         : llvm::isa<mlir::func::FuncOp>(op) ? Place::function
                                             : Place::operation;
}

/// The element type of the tensors that a sequence or an optional holds; of any other type the type itself.
mlir::Type heldElement(mlir::Type type) {
  if (auto optional = llvm::dyn_cast<OptionalType>(type))
    type = optional.getHeld();
  if (auto sequence = llvm::dyn_cast<SequenceType>(type))
    type = sequence.getItems();
  auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

/// Describes what is wrong with the type of a value; "" if it is valid.
std::string problemOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  std::string text;
  llvm::raw_string_ostream(text) << type;
  if (!tensor || toElementType(heldElement(tensor.getElementType())) == ElementType::invalid)
    return fmt::format("a value of type {}, expected a tensor of numbers, booleans or strings", text);
  int64_t bytes = 16; // the size of an element is smaller
  for (int64_t extent : tensor.hasRank() ? tensor.getShape() : llvm::ArrayRef<int64_t>())
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      return fmt::format("a value of type {}, which has more bytes than can be counted", text);
  auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked || !ranked.getEncoding())
    return "";
  auto blocked = llvm::dyn_cast<BlockedAttr>(ranked.getEncoding());
  if (!blocked || blocked.getAxis() < 0 || blocked.getAxis() >= ranked.getRank() || blocked.getSize() < 1 ||
      blocked.getSize() > largestBlock)
    return fmt::format(
        "a value of type {}, expected no layout or #nn.blocked<AXIS, SIZE> with an axis of the tensor and "
        "a size from 1 to {}",
        text, largestBlock);
  return "";
}

} // namespace

/// MLIR's parser reserves a place for every result before it reads the operation: `%x:NUMBER` or `%x#NUMBER` at `at`
/// states how many. An operation lists the type of every result, so a valid text has more characters than results.
static void checkResultNumber(llvm::StringRef source, size_t at, const std::string &path, int line) {
  llvm::StringRef rest = source.substr(at + 1);
  rest = rest.drop_while([](char c) { return llvm::isAlnum(c) || strchr("_.$-", c); });
  if (!rest.consume_front(":") && !rest.consume_front("#"))
    return;
  llvm::StringRef digits = rest.take_while([](char c) { return llvm::isDigit(c); });
  uint64_t most = std::min<uint64_t>(source.size(), mostResults), number = 0;
  require(digits.empty() || (!digits.getAsInteger(10, number) && number <= most),
          "{}: line {}: '{}' results of one operation, expected at most {}", path, line, digits.str(), most);
}

TextScan scanText(llvm::StringRef source, const std::string &path) {
  TextScan scan;
  int line = 1;
  llvm::StringRef name = weightsAttribute;
  bool named = false; // the attribute's name was read, its value is next
  int depth = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    char c = source[i];
    if (c == '\n') {
      ++line;
    } else if (c == '"') { // a string, up to its closing quote or the end of the line (an error for the parser)
      size_t begin = ++i;
      for (; i < source.size() && source[i] != '"' && source[i] != '\n'; ++i)
        i += source[i] == '\\';
      if (named && !scan.weights)
        scan.weights = source.slice(begin, std::min(i, source.size())).str();
      named = false;
      line += i < source.size() && source[i] == '\n';
    } else if (c == '/' && i + 1 < source.size() && source[i + 1] == '/') {
      i = std::min(source.find('\n', i), source.size()) - 1;
    } else if (c == '%') {
      checkResultNumber(source, i, path, line);
      named = false;
    } else if (strchr("([{<", c) && c) {
      require(++depth <= deepestNesting, "{}: line {}: nested more than {} deep", path, line, deepestNesting);
    } else if ((strchr(")]}", c) && c) || (c == '>' && i > 0 && source[i - 1] != '-')) {
      depth = std::max(depth - 1, 0);
    } else if (source.substr(i).starts_with(name)) {
      i += name.size() - 1;
      named = true;
    } else if (c != '=' && c != ' ') {
      named = false;
    }
  }
  return scan;
}

TextPlaces::TextPlaces(const mlir::AsmParserState &state, const llvm::SourceMgr &source, const std::string &path)
    : path(path) {
  for (const auto &definition : state.getOpDefs())
    positions[definition.op] = source.getLineAndColumn(definition.loc.Start);
}

std::string TextPlaces::at(mlir::Operation *op, const std::string &message) const {
  auto found = positions.find(op);
  std::string node = nodeNames(op->getLoc()).empty() ? "" : fmt::format(" ({})", describe(op->getLoc()));
  std::string line = found == positions.end() ? "" : fmt::format("line {}: ", found->second.first);
  return printable(line + message + node);
}

std::string TextPlaces::verify(mlir::ModuleOp module) const {
  // The verifier reports only locations, and an operation's location names the file from which the text was made.
  std::map<std::pair<unsigned, unsigned>, mlir::Operation *> operations;
  std::map<mlir::Operation *, mlir::Location> original;
  for (const auto &[op, position] : positions) {
    operations.emplace(position, op);
    original.emplace(op, op->getLoc());
    op->setLoc(mlir::FileLineColLoc::get(module.getContext(), path, position.first, position.second));
  }
  std::string said;
  mlir::Operation *place = nullptr;
  {
    mlir::ScopedDiagnosticHandler collect(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (said.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
        said = diagnostic.str();
        if (auto where = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
          if (auto op = operations.find({where.getLine(), where.getColumn()}); op != operations.end())
            place = op->second;
      }
      return mlir::success();
    });
    if (mlir::succeeded(mlir::verify(module)))
      said.clear();
    else if (said.empty())
      said = "is not valid";
  }
  for (const auto &[op, location] : original)
    op->setLoc(location);
  return said.empty() || !place ? printable(said) : at(place, said);
}

void checkAttributes(mlir::ModuleOp module, const TextPlaces &places, const std::string &path) {
  module.walk([&](mlir::Operation *op) {
    std::vector<std::string> known;
    for (mlir::StringAttr name : op->getName().getAttributeNames())
      known.push_back(name.str());
    for (mlir::NamedAttribute attribute : op->getAttrs())
      if (std::string problem = problemOf(attribute, placeOf(op), op->getName().getStringRef().str(), known);
          !problem.empty())
        fail("{}: {}", path, places.at(op, problem));
  });
}

namespace {

/// Describes what is wrong with the extents in an argument's nn.dims; "" if they are valid.
std::string problemOfDims(mlir::ArrayAttr texts, mlir::RankedTensorType type) {
  if (static_cast<int64_t>(texts.size()) != type.getRank())
    return fmt::format("{} extents in nn.dims, expected {}", texts.size(), type.getRank());
  for (auto [text, extent] : llvm::zip(texts, type.getShape())) {
    try {
      Dim dim = Dim::parse(llvm::cast<mlir::StringAttr>(text).str());
      if (dim.isConstant() && !mlir::ShapedType::isDynamic(extent) && dim.constant() != extent)
        return fmt::format("extent {} in nn.dims, expected {}", dim.constant(), extent);
    } catch (const Error &error) {
      return fmt::format("nn.dims with {}", error.what());
    }
  }
  return "";
}

bool isKernel(mlir::func::FuncOp function) { return function->hasAttr("nn.family"); }

/// Describes what is wrong with a function, apart from its operations; "" if it is valid.
std::string problemOf(mlir::func::FuncOp function) {
  std::string name = fmt::format("function @{}", function.getName().str());
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return name + " has no body of one block";
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string argument = fmt::format("argument {} of {}", i, name);
    mlir::Type type = function.getArgument(i).getType();
    if (std::string problem = problemOf(type); !problem.empty())
      return argument + " is " + problem;
    for (mlir::NamedAttribute attribute : mlir::function_interface_impl::getArgAttrs(function, i))
      if (std::string problem = problemOf(attribute, Place::argument, argument, {}); !problem.empty())
        return problem;
    auto dims = function.getArgAttrOfType<mlir::ArrayAttr>(i, "nn.dims");
    if (auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type); dims && ranked)
      if (std::string problem = problemOfDims(dims, ranked); !problem.empty())
        return fmt::format("{} has {}", argument, problem);
    if (!isKernel(function) && layoutOf(function.getArgument(i)))
      return argument + " has a layout, expected a row-major tensor";
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    for (mlir::NamedAttribute attribute : mlir::function_interface_impl::getResultAttrs(function, i))
      if (std::string problem = problemOf(attribute, Place::result, fmt::format("result {} of {}", i, name), {});
          !problem.empty())
        return problem;
  return "";
}

/// Describes what is wrong with a constant or a change of layout, whose types MLIR's verifier does not compare; "" if
/// it is valid.
std::string problemOfTypes(mlir::Operation *op) {
  auto alike = [](mlir::ShapedType a, mlir::Type b) {
    auto other = llvm::cast<mlir::ShapedType>(b);
    return a.getElementType() == other.getElementType() && a.hasRank() == other.hasRank() &&
           (!a.hasRank() || mlir::succeeded(mlir::verifyCompatibleShape(a.getShape(), other.getShape())));
  };
  if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
    if (!llvm::isa<mlir::DenseIntOrFPElementsAttr, mlir::DenseResourceElementsAttr>(constant.getValue()))
      return "the constant's value is neither dense<...> nor dense_resource<...>";
    if (!alike(constant.getValue().getShapedType(), constant.getType()))
      return "the constant's value and its result have different types";
  }
  if (auto convert = llvm::dyn_cast<ConvertLayoutOp>(op))
    if (!alike(llvm::cast<mlir::ShapedType>(convert.getInput().getType()), convert.getType()))
      return "'nn.convert_layout' changes more than the layout: operand and result have different types";
  return "";
}

/// Describes what is wrong with an operation of `function`; "" if it is valid.
std::string problemOf(mlir::Operation *op, mlir::func::FuncOp function) {
  std::string name = op->getName().getStringRef().str();
  if (!llvm::isa<NnDialect>(op->getDialect()) && !llvm::isa<mlir::func::CallOp, mlir::func::ReturnOp>(op))
    return fmt::format("'{}' is no operator of a model, expected nn.*, func.call or func.return", name);
  for (mlir::Type type : op->getResultTypes())
    if (std::string problem = problemOf(type); !problem.empty())
      return fmt::format("'{}' makes {}", name, problem);
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
    auto callee = function->getParentOfType<mlir::ModuleOp>().lookupSymbol<mlir::func::FuncOp>(call.getCallee());
    if (isKernel(function) || !callee || !isKernel(callee))
      return fmt::format("@{} calls @{}: expected calls from @main to kernels (functions with nn.family) alone",
                         function.getName().str(), call.getCallee().str());
  }
  return problemOfTypes(op);
}

} // namespace

void checkStructure(mlir::ModuleOp module, const TextPlaces &places, const std::string &path) {
  for (mlir::Operation &op : module.getBody()->getOperations()) {
    if (auto body = llvm::dyn_cast<mlir::ModuleOp>(op); body && body.getSymName()) {
      if (!body.lookupSymbol<mlir::func::FuncOp>("main"))
        fail("{}: {}", path, places.at(body, fmt::format("body @{} has no function @main", body.getSymName()->str())));
      checkStructure(body, places, path);
      continue;
    }
    auto function = llvm::dyn_cast<mlir::func::FuncOp>(op);
    if (!function)
      fail("{}: {}", path,
           places.at(&op, "expected functions (func.func) and named bodies (module @NAME) in the module"));
    if (std::string problem = problemOf(function); !problem.empty())
      fail("{}: {}", path, places.at(function, problem));
    for (mlir::Operation &inner : function.getBody().front())
      if (std::string problem = problemOf(&inner, function); !problem.empty())
        fail("{}: {}", path, places.at(&inner, problem));
  }
}

} // namespace lathe::nn
