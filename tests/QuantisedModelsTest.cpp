// Quantised TFLite models beside the golden outputs of TensorFlow Lite: every intermediate tensor by its checksum, computed by
// references and by compiled kernels, and the outputs with both roundings. All of it is exact.
#include "compile/Compile.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "passes/Extract.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "runtime/References.h"
#include "support/Npy.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace lathe {
namespace {

namespace fs = std::filesystem;

fs::path modelsFolder() {
  const char *given = std::getenv("LATHE_TEST_DATA");
  return fs::path(given ? given : LATHE_TEST_DATA) / "models";
}

/// A line of tensors.tsv: an operator of the model with its result.
struct Row {
  std::string op, type, crc, name;
};

std::vector<Row> readRows(const fs::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line); // titles
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, '\t');)
      cells.push_back(cell);
    rows.push_back({cells.at(1), cells.at(3), cells.at(7), cells.at(11)});
  }
  return rows;
}

std::string crcOf(const Tensor &tensor) {
  auto bytes = static_cast<const Bytef *>(tensor.data());
  return fmt::format("{:08x}", ::crc32_z(0, bytes, static_cast<size_t>(tensor.bytes())));
}

/// Number of elements that differ.
int64_t differences(const Tensor &got, const Tensor &wanted) {
  if (got.type() != wanted.type() || got.dims() != wanted.dims())
    return std::max(got.elements(), wanted.elements());
  int64_t count = 0;
  for (int64_t i = 0; i < got.elements(); ++i)
    count += got.asInteger(i) != wanted.asInteger(i);
  return count;
}

class QuantisedModels : public testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  fs::path golden = modelsFolder() / "golden" / GetParam();
  std::vector<fs::path> cases;

  void SetUp() override {
    runtime::registerReferences();
    if (!fs::exists(golden))
      GTEST_SKIP() << "NO TEST DATA: " << golden << " is not there (set LATHE_TEST_DATA)";
    for (const auto &entry : fs::directory_iterator(golden))
      cases.push_back(entry.path());
    std::sort(cases.begin(), cases.end());
    ASSERT_GE(cases.size(), 2u);
  }

  mlir::OwningOpRef<mlir::ModuleOp> imported(RequantizeRounding rounding = RequantizeRounding::reference) {
    ImportOptions options;
    options.requantizeRounding = rounding;
    return importModel(*context, (modelsFolder() / "tflite" / (GetParam() + std::string(".tflite"))).string(), options);
  }

  static Tensor read(const fs::path &path) { return toTensor(readNpy(path.string())); }

  /// Compiles without references and runs all cases. `check` receives a case and the outputs.
  template <class F> void runCompiled(mlir::ModuleOp module, F &&check) {
    std::vector<char> bytes;
    CompileReport report = compileToBytes(module, CompileOptions(), bytes);
    for (const ReferenceUse &use : report.references)
      ADD_FAILURE() << use.op << " is computed by its reference: " << use.reason;
    auto package = runtime::Model::fromBytes(bytes, GetParam());
    runtime::Context program(package);
    for (const fs::path &folder : cases) {
      program.setInput(0, Value(read(folder / "input_0.npy")));
      program.run();
      std::vector<Tensor> outputs;
      for (size_t i = 0; i < package->outputs().size(); ++i)
        outputs.push_back(program.output(i).tensor());
      check(folder, outputs);
    }
  }

  /// Rows of a case whose operators are nodes of the graph: a resize to the extents of its operand is none.
  static std::vector<Row> rowsOf(const fs::path &folder, mlir::ModuleOp module) {
    std::vector<Row> rows = readRows(folder / "tensors.tsv");
    size_t all = rows.size();
    std::erase_if(rows, [&](const Row &row) { return !hasNode(module, row.name); });
    EXPECT_GE(rows.size() + 1, all) << "operators that are no nodes";
    return rows;
  }

  void expectRows(const std::vector<Row> &rows, const fs::path &folder, std::span<const Tensor> got, const char *by) {
    ASSERT_EQ(rows.size(), got.size());
    for (size_t i = 0; i < rows.size(); ++i)
      if (crcOf(got[i]) != rows[i].crc) { // the first layer that goes wrong; others follow from it
        ADD_FAILURE() << folder.filename() << ": operator " << i << ", " << rows[i].op << " '" << rows[i].name
                      << "', by " << by << ": checksum " << crcOf(got[i]) << ", expected " << rows[i].crc;
        return;
      }
  }
};

TEST_P(QuantisedModels, EveryLayer) {
  auto module = imported();
  CutOptions options;
  for (const Row &row : rowsOf(cases[0], *module))
    options.to.push_back(row.name);
  Cut cut = cutGraph(*module, options);
  for (const fs::path &folder : cases) {
    std::vector<Value> inputs = {Value(read(folder / "input_0.npy"))};
    std::vector<Tensor> got;
    for (const Value &value : evaluate(*cut.module, inputs))
      got.push_back(value.tensor());
    expectRows(rowsOf(folder, *module), folder, got, "references");
  }
  runCompiled(*cut.module, [&](const fs::path &folder, std::span<const Tensor> outputs) {
    expectRows(rowsOf(folder, *module), folder, outputs, "kernels");
  });
}

TEST_P(QuantisedModels, Outputs) {
  auto module = imported();
  runCompiled(*module, [](const fs::path &folder, std::span<const Tensor> outputs) {
    EXPECT_EQ(differences(outputs[0], read(folder / "output_0.npy")), 0) << folder;
  });
}

/// Outputs of TensorFlow Lite's optimised kernels; a case without a file of its own has the same as with the others.
TEST_P(QuantisedModels, OutputsOfOptimisedKernels) {
  auto module = imported(RequantizeRounding::optimised);
  runCompiled(*module, [](const fs::path &folder, std::span<const Tensor> outputs) {
    fs::path file = folder / "alt_output_0.npy";
    EXPECT_EQ(differences(outputs[0], read(fs::exists(file) ? file : folder / "output_0.npy")), 0) << folder;
  });
}

INSTANTIATE_TEST_SUITE_P(Models, QuantisedModels,
                         testing::Values("kws_dscnn_int8", "resnet8_cifar10_int8", "toycar_autoencoder_int8",
                                         "vww96_mobilenet_int8", "mobilenet_v1_0.25_128_quant",
                                         "mobilenet_v2_1.0_224_quant", "tf2_mobilenet_v2_1.0_224_ptq",
                                         "deeplabv3_mnv2_dm05_pascal_quant"),
                         [](auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

} // namespace
} // namespace lathe
