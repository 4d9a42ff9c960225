#include "cli/ModelFlags.h"

#include "cli/Cache.h"
#include "cli/CheckedPackages.h"

#include "package/Package.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace lathe::cli {

void ModelFlags::add(Options &app) {
  app.reads([this] { return filesOf(*this); });
  app.add_option("MODEL", model, "ONNX file, textual IR, package (F.lathe) or zoo:NAME")->required();
  app.add_option("--shape", shapes, "extents of an input whose dimensions are symbolic: NAME=1x3x224x224")
      ->type_name("NAME=DIMS");
  app.add_option("--target", target, "native, an LLVM CPU name, or LLVM/TVM target text")->capture_default_str();
  app.add_option("--threads", threads, "threads to compile and run for")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("-O", level, "0 one kernel per operator, 1 folding, 2 fusion, 3 layout and algorithms, 4 relaxed math")
      ->check(CLI::Range(0, 4))
      ->capture_default_str();
  app.add_flag("--exact-math", exactMath, "forbids algorithms that reassociate (Winograd)");
  app.add_flag("--references-only", referencesOnly, "compiles nothing: every operator runs on its reference");
  app.add_option("--memory", memory, "small: forbids algorithms that grow the weights (Winograd)")
      ->check(CLI::IsMember({"any", "small"}))
      ->capture_default_str();
  app.add_option("--precision", precision,
                 "bf16: operands of convolutions and matrix products are rounded to bf16, sums stay fp32")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--no-cache", noCache, "compiles everything again, and keeps no kernel");
  app.add_option("--schedule", scheduleFile, "schedules to use: a line 'KERNEL-OR-NODE: SCHEDULE' each")
      ->type_name("FILE");
  app.add_option("--zoo-seed", zooSeed, "seed of a zoo model's weights")->capture_default_str();
  app.add_option("--zoo-batch", zooBatch, "batch a zoo model is built with")->type_name("N");
  app.add_option("--zoo-sequence", zooSequence, "steps or tokens a zoo model that reads sequences is built with")
      ->type_name("T");
}

void ModelFlags::addLoading(Options &app) {
  app.add_option(
         "--check-constants", checkConstants,
         "when the weights of a package are checked against their hash: once (until its file changes), always or "
         "never")
      ->check(CLI::IsMember({"once", "always", "never"}))
      ->capture_default_str();
}

runtime::LoadOptions ModelFlags::loadOptions() const {
  static CheckedPackages checked;
  runtime::LoadOptions options;
  options.checkConstants = checkConstants != "never";
  options.checkedFiles = checkConstants == "once" ? &checked : nullptr;
  return options;
}

Arguments ModelFlags::compileArguments() const {
  Arguments result{"--target", target, "--threads", std::to_string(threads), "-O", std::to_string(level)};
  for (const std::string &shape : shapes)
    result.insert(result.end(), {"--shape", shape});
  if (exactMath)
    result.push_back("--exact-math");
  if (referencesOnly)
    result.push_back("--references-only");
  if (memory != "any")
    result.insert(result.end(), {"--memory", memory});
  if (precision != "fp32")
    result.insert(result.end(), {"--precision", precision});
  if (!scheduleFile.empty())
    result.insert(result.end(), {"--schedule", scheduleFile});
  if (isZoo()) {
    result.insert(result.end(), {"--zoo-seed", std::to_string(zooSeed)});
    if (zooBatch)
      result.insert(result.end(), {"--zoo-batch", std::to_string(zooBatch)});
    if (zooSequence)
      result.insert(result.end(), {"--zoo-sequence", std::to_string(zooSequence)});
  }
  return result;
}

bool isPackage(const std::string &path) {
  struct stat status;
  require(::stat(path.c_str(), &status) == 0, "{}: cannot read: {}", path, std::strerror(errno));
  require(!S_ISDIR(status.st_mode), "{}: cannot read: Is a directory", path);
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "{}: cannot read: {}", path, std::strerror(errno));
  char magic[sizeof package::magic] = {};
  file.read(magic, sizeof magic);
  return std::memcmp(magic, package::magic, sizeof magic) == 0;
}

bool looksLikeOnnx(const std::string &path) {
  if (isPackage(path))
    return false;
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  file.get(first);
  return first == 0x08 ||
         !(std::isprint(static_cast<unsigned char>(first)) || std::isspace(static_cast<unsigned char>(first)));
}

} // namespace lathe::cli
