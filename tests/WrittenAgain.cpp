// Writes models as ONNX and as source, and reads them back:  written-again RULES LIST FOLDER  or  written-again FOLDER
//
// A line of LIST is the file of a model, a tab, and an .npz file with its inputs as 0, 1, ... (or nothing: it is not run). Model i
// is imported and exported; the exported file keeps the types that the standard allows (RULES, tests/onnx_types.txt) and gives
// the same outputs on the references. FOLDER gets i.onnx, i.py with its weights, and i.txt, the canonical text. With FOLDER
// alone, each i.mlir that the sources have written has the canonical text of i.txt. Prints a line for each model that has no
// form in ONNX and for each fault; exit code 1 if there is a fault.
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "import/onnx/onnx.pb.h"
#include "ir/Context.h"
#include "lab/judging/Difference.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/NpyTensor.h"
#include "stage/Canonical.h"
#include "stage/Stage.h"
#include "tests/OnnxTypes.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace lathe;
namespace fs = std::filesystem;

namespace {

int faults = 0;

void fault(const std::string &model, const std::string &what) {
  ++faults;
  std::cout << fmt::format("FAULT {}: {}\n", model, what);
}

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Value> inputsOf(const std::string &path) {
  std::vector<NpzMember> members = readNpz(path);
  std::vector<Value> inputs(members.size());
  for (NpzMember &member : members)
    inputs.at(std::stoul(member.name)) = toTensor(std::move(member.array));
  return inputs;
}

/// 16-bit floats round more often in ONNX than here, where a value between operators has the range of 32 bits.
lab::Tolerance toleranceOf(ElementType type) {
  return isFloat(type) && bitWidth(type) < 32 ? lab::Tolerance{0.02, 0.05} : lab::Tolerance{1e-5, 1e-4};
}

void compare(const std::string &model, const std::vector<Value> &expected, const std::vector<Value> &found) {
  if (expected.size() != found.size())
    return fault(model, fmt::format("has {} outputs, its export {}", expected.size(), found.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].isTensor() || !found[i].isTensor())
      continue;
    lab::Difference difference = lab::difference(found[i].tensor(), expected[i].tensor());
    if (!difference.within(toleranceOf(expected[i].tensor().type())))
      fault(model, fmt::format("output {} of the export differs: {}", i,
                               difference.broken.empty() ? difference.str() : difference.broken));
  }
}

void checkExport(const std::string &model, mlir::ModuleOp module, const onnx::TypeRules &rules,
                 const std::string &inputs, const fs::path &file) {
  std::string bytes;
  try {
    bytes = exportOnnx(module);
  } catch (const Error &error) {
    std::string text = error.what();
    if (text.find("form in ONNX") == text.npos && text.find("cannot be written to ONNX") == text.npos)
      fault(model, text);
    else
      std::cout << fmt::format("no form in ONNX: {}: {}\n", model, text);
    return;
  }
  std::ofstream(file, std::ios::binary) << bytes;
  onnx::ModelProto proto;
  proto.ParseFromString(bytes);
  for (const std::string &wrong : rules.faults(proto))
    fault(model, wrong);
  auto context = makeContext();
  auto again = importOnnxBytes(*context, bytes, file.string());
  if (!inputs.empty())
    compare(model, evaluate(module, inputsOf(inputs)), evaluate(*again, inputsOf(inputs)));
}

void check(const std::string &model, const std::string &inputs, const onnx::TypeRules &rules, const std::string &stem) {
  auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  try {
    module = importModel(*context, model);
  } catch (const Error &error) {
    std::cout << fmt::format("not imported: {}\n", error.what());
    return;
  }
  checkExport(model, *module, rules, inputs, stem + ".onnx");
  stageToFiles(*module, stem + ".py", true);
  std::ofstream(stem + ".txt") << canonicalText(*module);
}

void checkSources(const fs::path &folder) {
  for (const auto &entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".mlir")
      continue;
    auto context = makeContext();
    std::string text = canonicalText(*importModel(*context, entry.path().string()));
    if (text != contentOf(fs::path(entry.path()).replace_extension(".txt")))
      fault(entry.path().string(), "the graph of the source is another one");
  }
}

} // namespace

int main(int count, char **words) {
  try {
    if (count == 2) {
      checkSources(words[1]);
      return faults ? 1 : 0;
    }
    require(count == 4, "usage: written-again RULES LIST FOLDER, or written-again FOLDER");
    onnx::TypeRules rules(words[1]);
    std::ifstream list(words[2]);
    int number = 0;
    for (std::string line; std::getline(list, line); ++number) {
      size_t tab = line.find('\t');
      std::string model = line.substr(0, tab);
      try {
        check(model, line.substr(tab + 1), rules, (fs::path(words[3]) / std::to_string(number)).string());
      } catch (const Error &error) {
        fault(model, error.what());
      }
    }
    std::cout << fmt::format("{} models\n", number);
    return faults ? 1 : 0;
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
