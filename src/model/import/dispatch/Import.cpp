#include "import/Import.h"

#include "import/FileFormats.h"
#include "import/Foreign.h"
#include "import/Format.h"
#include "import/SavedModel.h"
#include "import/TensorScales.h"
#include "import/UnusedDefinitions.h"
#include "import/keras/Keras.h"
#include "import/onnx/Onnx.h"
#include "import/tensorflow/TensorFlow.h"
#include "import/tflite/Tflite.h"
#include "ir/ModelText.h"

#include <llvm/Support/MemoryBuffer.h>

namespace lathe {
namespace {

/// Maps the file instead of reading it: weights go directly from the page cache into the parsed model.
std::unique_ptr<llvm::MemoryBuffer> mapped(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  require(static_cast<bool>(file), "{}: {}", path, file ? "" : file.getError().message());
  return std::move(*file);
}

std::string_view bytesOf(const llvm::MemoryBuffer &file) { return {file.getBufferStart(), file.getBufferSize()}; }

std::filesystem::path folderOf(const std::string &path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// The importer of a format; null for textual IR.
const source::Format *importerOf(const FileFormat &file) {
  std::string_view name = file.imports;
  return name == "tflite"       ? &tflite::format()
         : name == "keras"      ? &keras::format()
         : name == "tensorflow" ? &tensorflow::format()
         : name == "onnx"       ? &onnx::format()
                                : nullptr;
}

/// Throws Error for a file that is recognised as something else. The bytes of protobuf, text and zip archives say
/// little.
void requireModel(const std::string &path, std::string_view bytes, const FileFormat &format) {
  bool hasMark = path.ends_with(".mlir") || format.imports == std::string_view("tflite") ||
                 format.imports == std::string_view("keras");
  if (hasMark)
    return;
  std::string known = foreignFile(path, bytes);
  if (known.empty() && !importerOf(format) && bytes.find("func.func") == bytes.npos)
    known = "is text without a function (func.func), no textual IR";
  require(known.empty(), "{}: {} (Lathe reads {})", path, known, readFormats());
}

} // namespace

std::string modelFileOf(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return path;
  std::string file = savedModelFile(path);
  require(!file.empty(), "{}: is a folder without saved_model.pb, expected a model", path);
  return file;
}

mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options) {
  std::string name = modelFileOf(path);
  auto file = mapped(name);
  std::string_view bytes = bytesOf(*file);
  const FileFormat &format = fileFormat(name, bytes);
  requireModel(name, bytes, format);
  require(options.requantizeRounding == RequantizeRounding::reference || format.takes.requantizeRounding,
          "{}: is no TFLite file; only those are imported with another rounding (--requantize-rounding)", path);
  require(options.custom.empty() || format.takes.custom,
          "{}: is no Keras model; only layers of those have definitions (--custom)", path);
  require(options.overrides.empty() || format.takes.overrides,
          "{}: is no ONNX file; only inputs of those have default values (--override)", path);
  const source::Format *importer = importerOf(format);
  if (!importer) {
    require(options.signature.empty(), "{}: textual IR has no signatures (--signature)", path);
    require(options.shapes.empty(), "{}: textual IR states its shapes, --shape is for models of other formats", path);
    auto module = nn::readModelText(context, path);
    require(module->lookupSymbol<mlir::func::FuncOp>("main"), "{}: has no function @main", path);
    return module;
  }
  return source::importModelOf(*importer, context, bytes, name, folderOf(name), options);
}

TensorOrigins tensorOrigins(const std::string &path, const ImportOptions &options) {
  std::string name = modelFileOf(path);
  auto file = mapped(name);
  std::string_view bytes = bytesOf(*file);
  const FileFormat &read = fileFormat(name, bytes);
  requireModel(name, bytes, read);
  if (!importerOf(read))
    return {};
  const source::Format &format = *importerOf(read);
  auto origins = [&](const ImportOptions &given) {
    return source::originsOf(format, format.read(bytes, name, folderOf(name), given).graph);
  };
  try {
    return origins(options);
  } catch (const UnusedDefinitions &unused) { // importModel, or its caller, has handled unused definitions
    ImportOptions used = options;
    for (const std::string &definition : unused.classes)
      used.custom.erase(definition);
    return origins(used);
  }
}

std::map<std::string, Quantization> tensorScales(const std::string &path, const ImportOptions &options) {
  std::string name = modelFileOf(path);
  auto file = mapped(name);
  std::string_view bytes = bytesOf(*file);
  if (importerOf(fileFormat(name, bytes)) != &tflite::format())
    return {};
  return tflite::tensorScales(tflite::format().read(bytes, name, folderOf(name), options).graph);
}

mlir::OwningOpRef<mlir::ModuleOp> importModelBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                   const std::string &nameForMessages, const ImportOptions &options) {
  const source::Format *importer = importerOf(fileFormat("", bytes));
  return source::importModelOf(importer ? *importer : onnx::format(), context, bytes, nameForMessages, {}, options);
}

mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages, const ImportOptions &options) {
  return source::importModelOf(onnx::format(), context, bytes, nameForMessages, {}, options);
}

} // namespace lathe
