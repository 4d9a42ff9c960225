#include "stage/Stage.h"

#include "ir/Bridge.h"
#include "ir/Safetensors.h"
#include "stage/ProgramMaker.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>

namespace lathe {
namespace {

/// The elements of a constant in row-major order. `expanded` stores the elements of splats and of booleans.
std::string_view bytesOf(mlir::ElementsAttr elements, std::deque<std::string> &expanded) {
  nn::ConstantData data = nn::constantData(elements);
  std::string_view bytes(data.bytes.data(), data.bytes.size());
  // Booleans are in memory that the next call may reuse.
  if (!data.splat && data.type != ElementType::boolean)
    return bytes;
  int64_t count = 1;
  for (int64_t extent : data.dims)
    count *= extent;
  std::string &all = expanded.emplace_back();
  for (int64_t i = 0; i < (data.splat ? count : 1); ++i)
    all += bytes;
  return all;
}

} // namespace

StageReport stageToFiles(mlir::ModuleOp module, const std::string &path, bool blocks) {
  namespace fs = std::filesystem;
  bool python = path.ends_with(".py");
  require(python || path.ends_with(".cpp"), "-o {}: expected a name that ends in .py (Python) or .cpp (C++)",
          printable(path));
  staging::StagedModel staged = staging::stageModel(module, blocks);

  StageReport report{path, "", 0, staged.program.functions.size(), staged.weights.size(), 0};
  SafetensorsWriter writer;
  std::deque<std::string> expanded;
  for (const auto &[name, elements] : staged.weights) {
    nn::ConstantData data = nn::constantData(elements);
    writer.add(name, data.type, data.dims, bytesOf(elements, expanded));
  }
  if (!staged.weights.empty())
    report.weights = fs::path(path).replace_extension(".safetensors").string();
  std::string file = fs::path(path).filename().string(), weights = fs::path(report.weights).filename().string();
  std::string text = python ? pythonText(staged.program, file, weights) : cppText(staged.program, file, weights);
  report.lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));

  PendingFile source(path);
  source.write(text);
  source.close();
  std::optional<PendingFile> weightsFile;
  if (!report.weights.empty()) {
    weightsFile.emplace(report.weights);
    report.weightBytes = writer.write(*weightsFile);
    weightsFile->commit();
  }
  source.commit();
  return report;
}

} // namespace lathe
