// `lathe verify`: compares a package with the reference operators.
#include "cli/CompilerVerbs.h"
#include "cli/print/VerifyPrint.h"

#include <iostream>

namespace lathe::cli {
namespace {

/// The flags of `lathe verify`.
struct VerifyFlags {
  VerifyJob job;
  std::string judgedBy; // --model

  void add(Options &options);

private:
  void addComparison(Options &options);
  void choosePackage();
};

/// If MODEL is a package, it is judged by the model of --model.
void VerifyFlags::choosePackage() {
  bool isOne = !job.model.isZoo() && isPackage(job.model.model);
  require(isOne || judgedBy.empty(), "--model {}: {} is a model and judges itself; --model is only for packages",
          judgedBy, job.model.model);
  require(!isOne || job.model.package.empty(), "--package {}: {} is a package, too; give one package",
          job.model.package, job.model.model);
  if (!isOne)
    return;
  job.model.package = job.model.model;
  job.sameZoo = judgedBy.empty();
  job.model.model = judgedBy.empty() ? modelOfPackage(job.model.package, job.model) : judgedBy;
}

void VerifyFlags::addComparison(Options &options) {
  options.add_option("--seeds", job.seeds, "Use this many sets of random inputs")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  options.add_option("--output", job.compared.nodes, "Compare the result of the kernel that computes this node, too")
      ->type_name("NODE");
  options.add_flag(
      "--all", job.compared.all,
      "Compare the result of every kernel, too, whatever its layout is; list the kernels without a value of "
      "the model");
  options.add_option("--relative", job.compared.relative,
                     "Set the limit of the relative L2 error (default: docs/numerics.md; 2e-05 for fp32)");
  options.add_option("--maximum", job.compared.maximum,
                     "Set the limit of the largest |difference| divided by the largest |reference| (default: "
                     "docs/numerics.md; 0.0001 for fp32)");
}

void VerifyFlags::add(Options &options) {
  options.afterParse([this] { choosePackage(); });
  addModel(options, job.model, ModelUse::run);
  addStore(options, job.model);
  addLoading(options, job.model);
  addInputs(options, job.inputs, "random");
  addSteps(options, job.stepping);
  options
      .add_option("--package", job.model.package, "Judge this package (default: the model compiled with these flags)")
      ->type_name("F.lathe");
  options.reads([this] { return std::vector<std::string>{job.model.package}; });
  options.add_option("--model", judgedBy, "Judge the package by this model (default: the zoo network that it names)")
      ->type_name("F.onnx");
  addComparison(options);
  options.addQuiet();
  options.addJson();
  options.afterParse([this, &options] {
    if (job.stepping.given())
      options.refuse({"--output", "--all"}, "--steps compares the outputs alone");
    if (job.inputs.fill == "random")
      return;
    options.refuse({"--seeds"}, fmt::format("--fill {} draws no random numbers", job.inputs.fill));
    job.seeds = job.inputs.given.empty() ? 1 : 0;
  });
}

} // namespace

int verifyVerb(const Arguments &arguments) {
  VerifyFlags flags;
  Options options(
      "verify",
      "Run the compiled model beside the float64 reference and compare the outputs. On a mismatch, name the first "
      "node\n"
      "whose value diverges. NaN and infinities must be in the same places. Outputs that are constant, all zero or "
      "nowhere\n"
      "finite are mistrusted: their agreement proves nothing. Exit code 1 when a value differs or is mistrusted.",
      "  lathe verify resnet50.onnx\n"
      "  lathe verify model.onnx -i input=cat.npy --seeds 0     only this input\n"
      "  lathe verify model.onnx --output conv3_1              an intermediate value, too\n"
      "  lathe verify model.onnx --package other.lathe         judges a package by this model\n"
      "  lathe verify other.lathe --model model.onnx           likewise\n");
  flags.add(options);
  options.parseAll(arguments);
  Verified result = verifyModel(flags.job, [&](const VerifiedSet &set) {
    if (options.printsText())
      std::cout << setText(set, flags.job);
  });
  const cache::KeptVerdict &verdict = result.verdict;
  if (options.printsText())
    std::cout << (verdict.passed ? "verified: " : "not verified: ") << verdict.summary << "\n";
  options.writeJson(verifiedJson(result, flags.job));
  return verdict.passed ? success : failedVerdict;
}

} // namespace lathe::cli
