#include "ir/ModelText.h"

#include "ir/Bridge.h"
#include "ir/Safetensors.h"
#include "support/PendingFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <filesystem>
#include <set>

namespace lathe::nn {
namespace {

constexpr int deepestNesting = 1000;

std::string weightsPath(const std::string &path) { return path + ".safetensors"; }

/// The parser is recursive: text nested too deeply is refused before it sees it.
void checkNesting(llvm::StringRef source, const std::string &path) {
  int depth = 0, line = 1;
  for (size_t i = 0; i < source.size(); ++i) {
    char c = source[i];
    if (c == '\n') {
      ++line;
    } else if (c == '"') { // a string, up to the quote that is not escaped (or the line's end: the parser will say)
      for (++i; i < source.size() && source[i] != '"' && source[i] != '\n'; ++i)
        i += source[i] == '\\';
      line += i < source.size() && source[i] == '\n';
    } else if (c == '/' && i + 1 < source.size() && source[i + 1] == '/') {
      i = std::min(source.find('\n', i), source.size()) - 1;
    } else if (strchr("([{<", c) && c) {
      require(++depth <= deepestNesting, "{}: line {}: nested more than {} deep", path, line, deepestNesting);
    } else if ((strchr(")]}", c) && c) || (c == '>' && i > 0 && source[i - 1] != '-')) {
      depth = std::max(depth - 1, 0);
    }
  }
}

bool isBareIdentifier(llvm::StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; });
}

/// A resource section that gives each weight a placeholder: the parser then resolves names, whatever other models in
/// this context are called; the placeholder (its index) leads to the data.
std::string placeholders(const Safetensors &weights) {
  std::string result = "\n{-# dialect_resources: { builtin: {";
  uint32_t index = 0;
  bool any = false;
  for (const Safetensors::Entry &entry : weights.entries()) {
    std::string blob(8, '\0');
    blob[0] = 4; // alignment
    std::memcpy(blob.data() + 4, &index, sizeof index);
    ++index;
    if (!isBareIdentifier(entry.name))
      continue; // text cannot refer to it
    result += fmt::format("{}{}: \"0x{}\"", any ? ", " : "", entry.name, llvm::toHex(blob));
    any = true;
  }
  return any ? result + "} } #-}\n" : "";
}

void loadWeights(mlir::ModuleOp module, const Safetensors &weights, const std::string &path) {
  std::set<const void *> loaded;
  module.walk([&](ConstantOp constant) {
    auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(constant.getValue());
    if (!resource)
      return;
    auto *handle = resource.getRawHandle().getResource();
    std::string key = handle->getKey().str();
    if (!loaded.insert(handle).second)
      return;
    const mlir::AsmResourceBlob *blob = handle->getBlob();
    require(blob != nullptr, "{}: constant '{}' is not in {}", path, key, weightsPath(path));
    auto type = resource.getShapedType();
    ElementType element = toElementType(type.getElementType());
    int64_t expected = byteSize(element, type.getNumElements());
    uint32_t index = 0;
    if (blob->getData().size() == sizeof index && expected != sizeof index) {
      std::memcpy(&index, blob->getData().data(), sizeof index);
      require(index < weights.entries().size(), "{}: constant '{}' has 4 bytes, expected {}", path, key, expected);
      const Safetensors::Entry &entry = weights.entries()[index];
      require(entry.typeFits(element), "{}: constant '{}' is {} in {}, expected {}", path, key, entry.dtype,
              weightsPath(path), name(element));
      auto bytes = weights.bytes(entry);
      require(static_cast<int64_t>(bytes.size()) == expected, "{}: constant '{}' has {} bytes in {}, expected {}", path,
              key, bytes.size(), weightsPath(path), expected);
      handle->setBlob(
          mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(llvm::ArrayRef<char>(bytes.data(), bytes.size()), 64));
    } else {
      require(static_cast<int64_t>(blob->getData().size()) == expected, "{}: constant '{}' has {} bytes, expected {}",
              path, key, blob->getData().size(), expected);
    }
  });
}

} // namespace

void writeModelText(mlir::ModuleOp module, const std::string &path) {
  SafetensorsWriter weights;
  std::set<std::string> keys;
  module.walk([&](ConstantOp constant) {
    auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(constant.getValue());
    if (!resource)
      return;
    std::string key = resource.getRawHandle().getKey().str();
    if (!keys.insert(key).second)
      return;
    ConstantData data = constantData(resource);
    weights.add(key, data.type, data.dims, std::string_view(data.bytes.data(), data.bytes.size()));
  });
  std::string text;
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  flags.elideLargeResourceString(0);
  module->print(out, flags);
  text += "\n";

  PendingFile file(path);
  file.write(text);
  file.close();
  std::optional<PendingFile> weightsFile;
  if (!keys.empty()) {
    weightsFile.emplace(weightsPath(path));
    weights.write(*weightsFile);
    weightsFile->commit();
  }
  file.commit();
}

mlir::OwningOpRef<mlir::ModuleOp> readModelText(mlir::MLIRContext &context, const std::string &path) {
  context.loadDialect<NnDialect, mlir::func::FuncDialect>();
  auto file = llvm::MemoryBuffer::getFile(path);
  require(static_cast<bool>(file), "{}: {}", path, file ? "" : file.getError().message());
  checkNesting((*file)->getBuffer(), path);
  std::error_code ignored;
  Safetensors weights;
  if (std::filesystem::exists(weightsPath(path), ignored))
    weights = Safetensors::open(weightsPath(path));

  std::string said;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    if (said.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      auto at = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>();
      said = (at ? fmt::format("line {}: ", at.getLine()) : std::string()) + diagnostic.str();
    }
    return mlir::success();
  });
  std::string source = (*file)->getBuffer().str() + placeholders(weights);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, mlir::ParserConfig(&context), path);
  std::replace(said.begin(), said.end(), '\n', ' ');
  require(static_cast<bool>(module), "{}: {}", path, said.empty() ? "is not textual IR" : said);
  loadWeights(*module, weights, path);
  return module;
}

bool looksLikeText(std::string_view bytes) {
  for (unsigned char c : bytes.substr(0, 4096))
    if (c < 32 && c != '\n' && c != '\t' && c != '\r')
      return false;
  return !bytes.empty();
}

} // namespace lathe::nn
