#include "ir/ModelText.h"

#include "ir/Bridge.h"
#include "ir/ModelTextParts.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <set>

namespace lathe::nn {
namespace {

/// The module's text, which names `weights` as its file of weights ("": no weights).
std::string textOf(mlir::ModuleOp module, const std::string &weights) {
  std::string text;
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  flags.elideLargeResourceString(0);
  if (!weights.empty())
    module->setAttr(weightsAttribute, mlir::StringAttr::get(module.getContext(), weights));
  module->print(out, flags);
  module->removeAttr(weightsAttribute);
  return text + "\n";
}

/// The parser's first message, with its line.
struct Complaint {
  std::string text;
  mlir::ScopedDiagnosticHandler collect;

  explicit Complaint(mlir::MLIRContext *context)
      : collect(context, [this](mlir::Diagnostic &diagnostic) {
          if (!text.empty() || diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::success();
          if (auto at = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
            text = fmt::format("line {}: ", at.getLine());
          text += printable(diagnostic.str());
          return mlir::success();
        }) {}
};

} // namespace

std::vector<WrittenFile> writeModelText(mlir::ModuleOp module, const std::string &path) {
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
  std::string weightsPath = keys.empty() ? "" : TextWeights::pathFor(path);
  std::string text = textOf(module, std::filesystem::path(weightsPath).filename().string());

  PendingFile file(path);
  file.write(text);
  file.close();
  std::vector<WrittenFile> written{{path, text.size()}};
  std::optional<PendingFile> weightsFile;
  if (!weightsPath.empty()) {
    weightsFile.emplace(weightsPath);
    written.push_back({weightsPath, weights.write(*weightsFile)});
    weightsFile->commit();
  }
  file.commit();
  return written;
}

mlir::OwningOpRef<mlir::ModuleOp> readModelText(mlir::MLIRContext &context, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  require(static_cast<bool>(file), "{}: {}", path, file ? "" : file.getError().message());
  return parseModelText(context, (*file)->getBuffer().str(), path);
}

mlir::OwningOpRef<mlir::ModuleOp> parseModelText(mlir::MLIRContext &context, const std::string &given,
                                                 const std::string &path) {
  context.loadDialect<NnDialect, mlir::func::FuncDialect>();
  TextScan scan = scanText(given, path);
  TextWeights weights(scan, path);

  llvm::SourceMgr source;
  std::string text = given + weights.placeholders();
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, path), llvm::SMLoc());
  mlir::AsmParserState state;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    Complaint complaint(&context);
    mlir::Block block;
    mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
    if (mlir::succeeded(mlir::parseAsmSourceFile(source, &block, config, &state)))
      module = mlir::detail::constructContainerOpForParserIfNecessary<mlir::ModuleOp>(
          &block, &context, mlir::FileLineColLoc::get(&context, path, 1, 1));
    require(static_cast<bool>(module), "{}: {}", path, complaint.text.empty() ? "is not textual IR" : complaint.text);
  }
  TextPlaces places(state, source, path);
  checkAttributes(*module, places, path);
  if (std::string problem = places.verify(*module); !problem.empty())
    fail("{}: {}", path, problem);
  checkStructure(*module, places, path);
  require(scan.weights.has_value() == bool((*module)->removeAttr(weightsAttribute)),
          "{}: {} is not the name of a file in quotes, given once, of the module", path, weightsAttribute);
  weights.load(*module);
  return module;
}

} // namespace lathe::nn
