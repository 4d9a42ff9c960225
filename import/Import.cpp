#include "import/Import.h"

#include "import/onnx/Graph.h"
#include "ir/ModelText.h"
#include "support/ModelBytes.h"

#include "mlir/IR/Diagnostics.h"

#include <llvm/Support/MemoryBuffer.h>

namespace lathe {
namespace {

/// Names come from the file and may hold anything; messages are one line.
std::string oneLine(std::string message) {
  for (char &c : message)
    if (std::iscntrl(static_cast<unsigned char>(c)))
      c = '?';
  return message;
}

mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, std::string_view bytes,
                                             const std::string &name, const std::filesystem::path &folder,
                                             const ImportOptions &options) {
  context.loadDialect<nn::NnDialect, mlir::func::FuncDialect>();
  requireModelBytes(name, bytes.size());
  require(!bytes.empty(), "{}: is empty, expected a model", name);
  onnx::ModelProto model;
  require(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "{}: is not an ONNX model or is damaged",
          name);
  // The verifier's complaints become the error's text instead of appearing on their own.
  std::string said;
  mlir::ScopedDiagnosticHandler quiet(&context, [&](mlir::Diagnostic &diagnostic) {
    if (said.empty())
      said = diagnostic.str();
    return mlir::success();
  });
  try {
    return onnx::Graph(&context, model, name, folder, options).run();
  } catch (const UnsupportedError &error) {
    throw UnsupportedError(oneLine(error.what()), error.issues);
  } catch (const Error &error) {
    throw Error(oneLine(said.empty() ? error.what() : fmt::format("{}: {}", error.what(), said)));
  }
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options) {
  // Mapped, not read: weights go from the page cache into the parsed model directly.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  require(static_cast<bool>(file), "{}: {}", path, file ? "" : file.getError().message());
  std::string_view bytes((*file)->getBufferStart(), (*file)->getBufferSize());
  if (nn::looksLikeText(path, bytes)) {
    require(options.shapes.empty(), "{}: textual IR states its shapes, --shape is for ONNX models", path);
    auto module = nn::readModelText(context, path);
    require(module->lookupSymbol<mlir::func::FuncOp>("main"), "{}: has no function @main", path);
    return module;
  }
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return importOnnx(context, bytes, path, folder.empty() ? "." : folder, options);
}

mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages, const ImportOptions &options) {
  return importOnnx(context, bytes, nameForMessages, {}, options);
}

} // namespace lathe
