#include "jobs/compare/Sides.h"

#include "cache/ModelFiles.h"
#include "import/FileFormats.h"
#include "jobs/Inputs.h"
#include "jobs/Packages.h"
#include "jobs/Self.h"
#include "jobs/compare/SideParts.h"
#include "lab/compare/Ports.h"
#include "process/TemporaryDirectory.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace lathe::jobs {
namespace {

namespace fs = std::filesystem;

/// The folder for generated models. Each file is written atomically, so that several processes may write it
/// at once.
std::string cachedFiles(const char *part) {
  std::string folder = cacheFolderOrSay(part);
  return folder.empty() ? temporaryFolder().string() : folder;
}

/// What `lathe zoo` writes.
std::string zooFile(const ModelOptions &flags) {
  std::string folder = cachedFiles("zoo");
  std::string path =
      fmt::format("{}/{}-{}-{}-{}.onnx", folder, flags.zooName(), flags.zooBatch, flags.zooSequence, flags.zooSeed);
  Arguments arguments{"zoo", flags.zooName(), "-o", path, "--seed", std::to_string(flags.zooSeed), quietFlag()};
  if (flags.zooBatch)
    arguments.insert(arguments.end(), {"--batch", std::to_string(flags.zooBatch)});
  if (flags.zooSequence)
    arguments.insert(arguments.end(), {"--sequence", std::to_string(flags.zooSequence)});
  runSelf(arguments); // always again: the architecture may have changed with the program
  return path;
}

/// What `lathe export` writes; the file is removed when this process ends.
std::string exportedFile(const ModelOptions &flags) {
  std::string path = (temporaryFolder() / "export.onnx").string();
  Arguments arguments{"export", flags.model, "-o", path, quietFlag()};
  Arguments graph = flags.graphArguments();
  arguments.insert(arguments.end(), graph.begin(), graph.end());
  runSelf(arguments);
  return path;
}

std::string fileName(const std::string &path) {
  fs::path file = path;
  return (file.has_filename() ? file : file.parent_path()).filename().string(); // a folder may end in '/'
}

/// Names files by their paths if their file names equal those of other sides.
void useDistinctNames(std::vector<lab::CompareSide> &sides) {
  std::map<std::string, int> uses;
  for (const lab::CompareSide &side : sides)
    ++uses[side.runner.name];
  for (lab::CompareSide &side : sides)
    if (!side.model.empty() && uses[side.runner.name] > 1)
      side.runner.name = side.model;
}

/// Gives a side of another runtime its file.
void fillInRunner(lab::CompareSide &side, const ModelOptions &flags, std::string &exported) {
  std::string format = flags.isZoo() ? "onnx" : modelFormat(flags.model);
  if (side.runner.reads(format)) {
    side.model = flags.isZoo() ? zooFile(flags) : flags.model;
    side.runner = withSignature(std::move(side.runner), flags);
    return;
  }
  require(side.runner.reads("onnx"), "{}: {} reads {}, expected a model of such a format", flags.model,
          side.runner.name, fmt::join(side.runner.formats, ", "));
  if (exported.empty())
    exported = exportedFile(flags);
  side.model = exported;
  side.notes.push_back(fmt::format("runs the export of {} as ONNX", fileName(flags.model)));
}

/// A package that only has such inputs: what calling our runner costs.
std::string callPackage(const ModelOptions &model, const std::vector<lab::CallInput> &inputs) {
  process::TemporaryDirectory folder("call"); // packages are kept by the model's bytes
  return packageFor(callModel(model, folder.path.string(), inputs)).path;
}

std::vector<lab::RunnerPort> portsOf(const Package &package) {
  std::vector<lab::RunnerPort> list;
  for (const runtime::Port &port : package.model->inputs()) {
    list.push_back({port.name, std::string(name(port.type)), {}});
    for (const Dim &dim : port.dims)
      list.back().dims.push_back(dim.isConstant() ? std::to_string(dim.constant()) : dim.str());
  }
  return list;
}

/// --shape for the inputs of `other`, from the known extents of `ours`, in the layout of `other`.
std::vector<std::string> shapesLike(const Package &ours, const Package &other) {
  std::vector<lab::RunnerPort> mine = portsOf(ours), theirs = portsOf(other);
  auto pairs = lab::pairPorts(mine, theirs);
  std::vector<std::string> shapes;
  for (size_t i = 0; i < theirs.size(); ++i) {
    bool open = std::any_of(other.model->inputs()[i].dims.begin(), other.model->inputs()[i].dims.end(),
                            [](const Dim &dim) { return !dim.isConstant(); });
    if (!pairs[i] || !open)
      continue;
    const lab::RunnerPort &like = mine[*pairs[i]];
    lab::PortFit fit = lab::fitOf(like, theirs[i]);
    std::vector<std::string> dims;
    for (size_t axis = 0; fit.fits && axis < like.dims.size(); ++axis)
      dims.push_back(like.dims[fit.permutation.empty() ? axis : fit.permutation[axis]]);
    if (!dims.empty())
      shapes.push_back(fmt::format("{}={}", theirs[i].name, fmt::join(dims, "x")));
  }
  return shapes;
}

/// Of the inputs and outputs of a package that are quantised.
lab::Scales scalesOf(const std::string &package, const ModelOptions &flags) {
  auto model = openPackage(package, flags).model;
  lab::Scales scales;
  for (auto ports : {model->inputs(), model->outputs()})
    for (const runtime::Port &port : ports)
      if (port.quantization)
        scales[port.name] = *port.quantization;
  return scales;
}

/// What tells apart files of one name: a hash of the model's content.
std::string contentOf(const std::string &file, const std::string &package, const ModelOptions &flags) {
  if (!file.starts_with("zoo:"))
    return fmt::format("{:016x}", cache::modelHash(file));
  std::string source = openPackage(package, flags).model->source();
  return source.substr(source.find('@') + 1);
}

} // namespace

ModelOptions flagsLike(const ModelOptions &flags, const std::string &ours, const std::string &file) {
  ModelOptions other = flagsForOther(flags, file);
  if (!flags.shapes.empty() && !other.isZoo() && !isPackage(file))
    other.shapes = shapesLike(openPackage(ours, flags), packageFor(other));
  return other;
}

std::vector<lab::CompareSide> findSides(const std::string &with, const ModelOptions &model) {
  auto find = [](const std::string &name) { return lab::runnerNamed(name, "--with " + name); };
  bool ofPackage = !model.isZoo() && isPackage(model.model);
  std::string usual =
      model.isZoo() || ofPackage ? "onnxruntime" : fileFormat(model.model, beginningOf(model.model)).runner;
  std::vector<lab::CompareSide> sides(1);
  sides[0].runner = find("lathe");
  for (const std::string &name : wordsOf(with.empty() ? usual : with)) {
    lab::CompareSide side;
    std::error_code absent;
    bool file = name.rfind("zoo:", 0) == 0 || name.find_first_of("./") != std::string::npos;
    bool package = file && name.rfind("zoo:", 0) != 0 && isPackage(name);
    require(package || !name.ends_with(".lathe"), "--with {}: is not a package", name);
    require(package || !ofPackage,
            "--with {}: {} is a compiled package, only other packages can be compared with it; give the model", name,
            model.model);
    side.runner = find(file ? "lathe" : name);
    if (file) {
      side.model = name;
      side.runner.name = fileName(name);
    }
    sides.push_back(std::move(side));
  }
  require(sides.size() > 1, "--with: give at least one runner");
  useDistinctNames(sides);
  return sides;
}

void fillIn(std::vector<lab::CompareSide> &sides, const std::string &package, const ModelOptions &model) {
  sides[0].model = package;
  sides[0].called = model.model;
  sides[0].scales = scalesOf(package, model);
  sides[0].call = [&](const std::vector<lab::CallInput> &ports) { return callPackage(model, ports); };
  std::string exported; // one file for all sides that run it
  for (size_t i = 1; i < sides.size(); ++i) {
    lab::CompareSide &side = sides[i];
    if (!side.model.empty()) {
      side.called = side.model;
      side.model = packageFor(flagsLike(model, package, side.called)).path;
      side.content = contentOf(side.called, side.model, model);
      side.scales = scalesOf(side.model, model);
    } else if (side.runner.reads("lathe")) {
      ModelOptions references = model;
      references.referencesOnly = true;
      side.model = packageFor(references).path;
      side.called = fmt::format("{} on its references", model.model);
    } else {
      fillInRunner(side, model, exported);
      side.called = fmt::format("{} in {}", model.model, side.runner.name);
    }
    if (side.runner.reads("lathe"))
      side.call = sides[0].call;
  }
}

} // namespace lathe::jobs
