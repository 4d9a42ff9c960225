// The weights of textual IR: finds their file, and puts them into the parsed constants.
#include "ir/Bridge.h"
#include "ir/ModelTextParts.h"
#include "support/Text.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <filesystem>

namespace lathe::nn {
namespace {

bool isBareIdentifier(llvm::StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; });
}

/// The text of a string literal, without escapes.
std::string unescaped(const std::string &literal) {
  std::string result;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 >= literal.size()) {
      result += literal[i];
    } else if (i + 2 < literal.size() && llvm::isHexDigit(literal[i + 1]) && llvm::isHexDigit(literal[i + 2])) {
      result += static_cast<char>(llvm::hexFromNibbles(literal[i + 1], literal[i + 2]));
      i += 2;
    } else {
      char c = literal[++i];
      result += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return result;
}

// A placeholder: these characters, then the index of the weight.
constexpr std::string_view mark = "lathe weight";

std::string placeholder(uint32_t index) {
  std::string data(mark);
  data.append(reinterpret_cast<const char *>(&index), sizeof index);
  return data;
}

/// The index in a placeholder; nothing if the bytes are data in the text itself.
std::optional<uint32_t> placeholderIndex(llvm::ArrayRef<char> bytes) {
  uint32_t index;
  if (bytes.size() != mark.size() + sizeof index || std::memcmp(bytes.data(), mark.data(), mark.size()) != 0)
    return std::nullopt;
  std::memcpy(&index, bytes.data() + mark.size(), sizeof index);
  return index;
}

} // namespace

TextWeights::TextWeights(const TextScan &scan, const std::string &path) : path(path), weightsPath(pathFor(path)) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (scan.weights) {
    std::string file = unescaped(*scan.weights);
    require(file.find('\0') == file.npos, "{}: {} is '{}', which holds a NUL, expected a path", printable(path),
            weightsAttribute, printable(file));
    weightsPath = (fs::path(path).parent_path() / file).string();
  }
  exists = fs::exists(weightsPath, ignored);
  require(exists || !scan.weights,
          "{}: its weights are to be in '{}', which does not exist: put the file there, or name "
          "another one in {}",
          printable(path), printable(weightsPath), weightsAttribute);
  if (exists)
    weights = Safetensors::open(weightsPath);
}

/// A resource section that gives each weight a placeholder. The parser then resolves names regardless of other models
/// in this context, and the index in the placeholder leads to the data.
std::string TextWeights::placeholders() const {
  std::string result = "\n{-# dialect_resources: { builtin: {";
  uint32_t index = 0;
  bool any = false;
  for (const Safetensors::Entry &entry : weights.entries()) {
    std::string blob(4, '\0');
    blob[0] = 4; // alignment
    blob += placeholder(index++);
    if (!isBareIdentifier(entry.name))
      continue; // a text cannot refer to this name
    result += fmt::format("{}{}: \"0x{}\"", any ? ", " : "", entry.name, llvm::toHex(blob));
    any = true;
  }
  return any ? result + "} } #-}\n" : "";
}

void TextWeights::failMissing(const std::string &constant) const {
  if (constant == "__elided__")
    fail("{}: a constant was left out when the text was printed: --emit with -o FILE writes the weights too",
         printable(path));
  if (exists)
    fail("{}: constant '{}' is not in '{}', expected its weights there: the file is of another model, or the text was "
         "edited",
         printable(path), printable(constant), printable(weightsPath));
  fail("{}: constant '{}' has no data: '{}' does not exist; put the weights there, or name their file in the module's "
       "attribute {}",
       printable(path), printable(constant), printable(weightsPath), weightsAttribute);
}

void TextWeights::load(mlir::ModuleOp module) const {
  module.walk([&](ConstantOp constant) {
    auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(constant.getValue());
    if (!resource)
      return;
    auto *handle = resource.getRawHandle().getResource();
    std::string key = printable(handle->getKey().str());
    if (!handle->getBlob())
      failMissing(key);
    auto type = resource.getShapedType();
    ElementType element = toElementType(type.getElementType());
    int64_t expected = byteSize(element, type.getNumElements());
    std::string from;
    if (auto index = placeholderIndex(handle->getBlob()->getData())) {
      require(*index < weights.entries().size(), "{}: constant '{}' has no data", printable(path), key);
      const Safetensors::Entry &entry = weights.entries()[*index];
      from = fmt::format(" in '{}'", printable(weightsPath));
      require(entry.typeFits(element), "{}: constant '{}' is {}{}, expected {}", printable(path), key,
              printable(entry.dtype), from, name(element));
      std::string_view bytes = weights.bytes(entry);
      if (static_cast<int64_t>(bytes.size()) == expected)
        handle->setBlob(
            mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(llvm::ArrayRef<char>(bytes.data(), bytes.size()), 64));
      else
        fail("{}: constant '{}' has {} bytes{}, expected {}", printable(path), key, bytes.size(), from, expected);
    }
    size_t bytes = handle->getBlob()->getData().size(); // several constants may name one resource
    require(static_cast<int64_t>(bytes) == expected, "{}: constant '{}' has {} bytes, expected {}", printable(path),
            key, bytes, expected);
  });
}

} // namespace lathe::nn
