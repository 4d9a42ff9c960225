#include "tune/measure/builder/TaskData.h"

#include "lab/judging/OutputSummary.h"
#include "passes/interpret/Evaluate.h"
#include "store/ContentKey.h"
#include "support/CacheFolder.h"
#include "support/File.h"

#include "mlir/Parser/Parser.h"

namespace lathe::tune {

using nlohmann::json;

namespace {

/// Raise it when random operands or the references change: older files are then made again.
constexpr int dataVersion = 2;
constexpr const char *manifest = "-task.json";

std::string keyOf(std::span<const char> bytes) { return store::contentKey({bytes.data(), bytes.size()}); }

/// Writes a file and adds its content hash to `files` of the manifest. Returns its name.
std::string keep(const std::string &prefix, const std::string &name, std::span<const char> bytes, json &files) {
  writeFile(prefix + name, bytes);
  files[name] = keyOf(bytes);
  return name;
}

/// The message in the manifest, if all of its files are unchanged.
std::optional<json> kept(const std::string &prefix) {
  try {
    std::vector<char> text = readFile(prefix + manifest);
    json known = json::parse(text.begin(), text.end());
    if (known.at("version") != dataVersion)
      return std::nullopt;
    for (auto &[name, key] : known.at("files").items()) {
      if (key != keyOf(readFile(prefix + name)))
        return std::nullopt;
      markUsed(prefix + name);
    }
    markUsed(prefix + manifest);
    return known;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

/// Results of the kernel on the references, from a copy of the kernel that is called main.
std::vector<Value> evaluated(mlir::MLIRContext *context, const std::string &kernel, const std::vector<Tensor> &operands,
                             int threads) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel, context);
  require(static_cast<bool>(module), "the text of the kernel does not parse");
  (*module->getOps<mlir::func::FuncOp>().begin()).setName("main");
  std::vector<Value> inputs(operands.begin(), operands.end());
  EvaluateOptions options;
  options.judge = true;
  options.threads = threads;
  return evaluate(*module, inputs, options);
}

/// "" if at least one result is evidence of right code; otherwise the reason why none is.
std::string mistrustOf(const std::vector<Value> &results) {
  std::string mistrust;
  for (const Value &result : results) {
    mistrust = lab::summarizeOutput(result.tensor()).mistrust;
    if (mistrust.empty())
      break;
  }
  return mistrust;
}

json write(const KernelTensors &tensors, const std::vector<Tensor> &operands, const std::vector<Value> &results,
           const std::string &prefix) {
  json files = json::object();
  json made = {{"version", dataVersion},
               {"operands", json::array()},
               {"results", json::array()},
               {"mistrust", mistrustOf(results)}};
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<char> stored(size_t(tensors.operands[i].bytes()), char(0xff));
    tensors.operands[i].store(operands[i], stored.data());
    made["operands"].push_back({{"file", keep(prefix, operandFile(i), stored, files)},
                                {"bytes", stored.size()},
                                {"constant", bool(tensors.constant[i])}});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &value = results[i].tensor();
    const lab::StoredForm &form = tensors.results.at(i);
    require(value.dims() == form.dims, "the references give result {} the extents {}, expected {}", i,
            fmt::join(value.dims(), "x"), fmt::join(form.dims, "x"));
    std::span<const char> bytes(static_cast<const char *>(value.data()), size_t(value.bytes()));
    made["results"].push_back({{"type", name(form.type)},
                               {"dims", form.dims},
                               {"block", form.block},
                               {"expected", keep(prefix, fmt::format("-expected{}.bin", i), bytes, files)},
                               {"expected_type", name(value.type())}});
  }
  made["files"] = files;
  std::string text = made.dump();
  writeFile(prefix + manifest, text); // written last: it shows that all files exist
  return made;
}

} // namespace

std::string operandFile(size_t number) { return fmt::format("-operand{}.bin", number); }

Outcome<json> taskData(mlir::func::FuncOp function, const std::string &kernel, const Extents &extents, uint64_t seed,
                       const std::string &prefix, int threads) {
  std::optional<json> data = kept(prefix);
  if (!data) {
    KernelTensors tensors = kernelTensors(function, extents);
    std::vector<Tensor> operands = randomOperands(function, tensors, extents, seed);
    std::vector<Value> results;
    try {
      results = evaluated(function.getContext(), kernel, operands, threads);
    } catch (const Error &error) {
      return NotApplicable{fmt::format("the references do not compute it: {}", error.what())};
    }
    data = write(tensors, operands, results, prefix);
  }
  if (auto mistrust = data->at("mistrust").get<std::string>(); !mistrust.empty())
    return NotApplicable{"its results say nothing about the code: " + mistrust};
  json message = {{"operands", data->at("operands")}, {"results", data->at("results")}};
  for (json &operand : message["operands"])
    operand["file"] = prefix + operand["file"].get<std::string>();
  for (json &result : message["results"])
    result["expected"] = prefix + result["expected"].get<std::string>();
  return message;
}

Tensor operandOf(const lab::StoredForm &form, const std::string &file) {
  std::vector<char> bytes = readFile(file);
  require(int64_t(bytes.size()) == form.bytes(), "{}: {} bytes, expected {}", file, bytes.size(), form.bytes());
  return form.load(bytes.data());
}

} // namespace lathe::tune
