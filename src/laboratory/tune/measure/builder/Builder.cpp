#include "tune/measure/builder/Builder.h"

#include "codegen/Task.h"
#include "codegen/target/Emit.h"
#include "compile/Compile.h"
#include "ir/Context.h"
#include "ir/SymbolicShapes.h"
#include "lab/judging/Tolerance.h"
#include "store/ContentKey.h"
#include "support/Base64.h"
#include "support/CacheFolder.h"
#include "support/File.h"
#include "tune/measure/builder/TaskData.h"

#include "mlir/Parser/Parser.h"

#include <chrono>
#include <filesystem>
#include <numeric>

namespace lathe::tune {

using nlohmann::json;

BuildOptions::BuildOptions(const json &message) : packedFolder(message.at("packed_folder")) {
  const json &compiling = message.at("compiling");
  CompileOptions options(compiling.is_null() ? CompileChoices() : compiling.get<CompileChoices>());
  target = targetOf(options);
  kernel = kernelOptionsOf(options);
}

KernelProblem Builder::problem(mlir::func::FuncOp function) const {
  KernelProblem problem{options.kernel, function, options.target};
  problem.typical = extents;
  return problem;
}

Outcome<std::unique_ptr<Builder::Kernel>> Builder::readKernel() const {
  auto read = std::make_unique<Kernel>();
  read->context = makeContext();
  read->module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(read->context.get()));
  require(static_cast<bool>(read->module), "the text of the kernel does not parse");
  auto functions = read->module->getOps<mlir::func::FuncOp>();
  require(!functions.empty(), "the text of the kernel has no function");
  read->function = *functions.begin();
  read->function->removeAttr("nn.schedule");
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem(read->function));
  if (!facts)
    return NotApplicable{facts.reason()};
  read->facts = std::move(*facts);
  return read;
}

/// Bounds for errors of the kernel's results, from the common table (lab/judging/Tolerance.h).
static lab::Tolerance toleranceOfKernel(mlir::func::FuncOp function, const Extents &extents,
                                        const BuildOptions &options) {
  lab::Roundings roundings;
  roundings.precision = options.kernel.precision;
  roundings.relaxedMath = options.kernel.relaxedMath;
  nn::SymbolicShapes shapes(function);
  double operations = 0, elements = 0;
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    operations += double(valueOf(flopsOf(&op, shapes), extents));
    for (mlir::Value result : op.getResults())
      roundings.add(shapes.of(result).type);
  }
  for (const lab::StoredForm &result : kernelTensors(function, extents).results)
    elements += std::accumulate(result.dims.begin(), result.dims.end(), 1.0, std::multiplies<>());
  roundings.terms = std::max(1.0, elements > 0 ? operations / elements / 2 : 1); // as for the kernels of a package
  return lab::toleranceOf(roundings);
}

json Builder::setTask(const json &request) {
  key = request.at("key");
  text = request.at("kernel");
  prefix = request.at("files");
  extents = request.at("extents").get<Extents>();
  kernel.reset();
  Outcome<std::unique_ptr<Kernel>> read = readKernel();
  if (!read)
    return {{"declined", read.reason()}};
  kernel = std::move(*read);
  builds = 0;
  try {
    tensors = kernelTensors(kernel->function, extents);
  } catch (const Error &error) {
    return {{"declined", error.what()}};
  }
  constants.assign(tensors.operands.size(), std::nullopt);
  std::string ours = taskOf(problem(kernel->function));
  require(key.empty() || key == ours, "the task is '{}', but its kernel and these options make it '{}'", key, ours);
  if (!request.at("data").get<bool>())
    return json::object();
  Outcome<json> data =
      taskData(kernel->function, text, extents, request.at("seed"), prefix, request.at("jobs").get<int>());
  if (!data)
    return {{"declined", data.reason()}};
  lab::Tolerance tolerance = toleranceOfKernel(kernel->function, extents, options);
  (*data)["tolerance"] = {{"relative", tolerance.relative}, {"maximum", tolerance.maximum}};
  (*data)["threads"] = options.kernel.threads;
  (*data)["features"] = options.target.featureBits;
  return {{"task", std::move(*data)}};
}

json Builder::packed(size_t operand, const Packing &packing) {
  // Equal texts must mean equal packed forms (compile/PlanBuilder.cpp relies on this, too).
  std::string form = store::contentKey(fmt::format("{} {} {} {}", prefix, operand, packing.text, int(packing.stored)));
  std::string file = fmt::format("{}/{}.packed", options.packedFolder, form);
  std::error_code missing;
  auto bytes = std::filesystem::file_size(file, missing);
  if (missing) {
    std::optional<Tensor> &data = constants.at(operand);
    if (!data)
      data = operandOf(tensors.operands[operand], prefix + operandFile(operand));
    std::vector<char> made = packing.pack(
        {data->type(), data->dims(), {static_cast<const char *>(data->data()), size_t(data->bytes())}, false});
    writeFile(file, made);
    bytes = made.size();
  }
  markUsed(file);
  return {{"file", file}, {"bytes", bytes}};
}

/// The candidate without its code.
json Builder::candidateOf(const GeneratedKernel &generated) {
  json dims = json::array(), packings = json::array();
  for (const Dim &dim : generated.dims)
    dims.push_back(valueOf(dim, extents));
  for (size_t i = 0; i < tensors.operands.size(); ++i) {
    bool unchanged = i >= generated.packings.size() || !generated.packings[i] || !generated.packings[i]->pack;
    packings.push_back(unchanged ? json() : packed(i, *generated.packings[i]));
  }
  return {{"units", valueOf(generated.units, extents)},
          {"stages", valueOf(generated.stages, extents)},
          {"images", valueOf(generated.images, extents)},
          {"scratch_bytes", valueOf(generated.scratchBytes, extents)},
          {"dims", dims},
          {"packed", packings}};
}

json Builder::build(const std::string &schedule) {
  require(kernel != nullptr, "'build' without a task");
  constexpr int buildsOfContext = 256; // a context keeps every type and attribute ever made in it
  if (++builds > buildsOfContext) {
    kernel.reset();
    kernel = std::move(*readKernel());
    builds = 1;
  }
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  try {
    auto begin = Clock::now();
    Outcome<GeneratedKernel> generated = generate(problem(kernel->function), *kernel->facts, readSchedule(schedule));
    if (!generated)
      return {{"status", "unimplemented"}, {"reason", generated.reason()}};
    auto ready = Clock::now();
    CodeImage image = linkImage({emitObject(*generated->module, options.target)}, options.target);
    auto lowered = Clock::now();
    json candidate = candidateOf(*generated);
    candidate["schedule"] = schedule;
    auto packed = Clock::now();
    candidate["code"] = toBase64(image.bytes);
    candidate["entry"] = image.entries.at(0);
    return {{"status", "passed"},
            {"candidate", std::move(candidate)},
            {"generate", seconds(begin, ready)},
            {"lower", seconds(ready, lowered)},
            {"pack", seconds(lowered, packed)}};
  } catch (const Error &error) {
    return {{"status", "failed"}, {"reason", error.what()}};
  }
}

} // namespace lathe::tune
