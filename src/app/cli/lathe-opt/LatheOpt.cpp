// lathe-opt: runs passes on textual IR and prints the result.
//
//   lathe-opt FILE [--PASS ...] [options]
//
// Passes run in the order given. With --twin every module is evaluated before and after them on random inputs and the
// outputs are compared (in float64, so that only the passes' own rounding shows).
#include "codegen/Generate.h"
#include "ir/Context.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/Twin.h"
#include "passes/interpret/Evaluate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>
#include <cstdio>

namespace {
using namespace lathe;

constexpr double twinTolerance = 1e-6; // for float32 weights computed in float64, relative to the largest output

struct Arguments {
  std::string file;
  std::vector<std::string> passes;
  PipelineOptions pipeline;
  std::string declined; // kernel family to decline, for tests
  bool twin = false, quiet = false, locations = false;
  uint64_t seed = 1;
  std::map<std::string, int64_t> symbols;
};

void printHelp() {
  std::string text = "usage: lathe-opt FILE [--PASS ...] [options]\n\nFILE is textual IR, - for standard input; "
                     "modules are separated by "
                     "lines `// -----`.\n\npasses, in the order given:\n";
  for (const GraphPass &pass : graphPasses())
    text += fmt::format("  --{:18} {}\n", pass.name, pass.summary);
  text +=
      "  --canonicalize, --cse  MLIR's own\n\n"
      "options:\n"
      "  -O LEVEL               0 to 4 (default 3), for passes that depend on it\n"
      "  --exact-math           forbid rewrites that change rounding\n"
      "  --channel-block N      channels in a block of the blocked layout (default 16)\n"
      "  --layout LAYOUT        auto (default), nchw, nhwc or blocked\n"
      "  --decline FAMILY       pretend that no kernel of this family can be compiled\n"
      "  --twin                 compare the outputs before and after on random inputs; exit code 1 when they differ\n"
      "  --seed N               of those inputs (default 1)\n"
      "  --bind SYMBOL=N        extent of a symbol in those inputs (default 2)\n"
      "  --locations            print locations\n"
      "  --quiet                do not print the module\n";
  llvm::outs() << text;
}

int64_t number(std::string_view text, std::string_view what) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), "{}: '{}' is not a number", what, text);
  return value;
}

Arguments parse(int argc, char **argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto value = [&]() -> std::string {
      require(i + 1 < argc, "{} needs a value", argument);
      return argv[++i];
    };
    if (argument == "--twin")
      result.twin = true;
    else if (argument == "--quiet")
      result.quiet = true;
    else if (argument == "--locations")
      result.locations = true;
    else if (argument == "--exact-math")
      result.pipeline.exactMath = true;
    else if (argument == "--channel-block")
      result.pipeline.channelBlocks.sizes[ElementType::f32] = number(value(), argument);
    else if (argument == "--layout") {
      result.pipeline.layout = layoutChoiceOf(value());
      result.pipeline.channelBlocks.last = result.pipeline.layout == LayoutChoice::channelsLast;
    } else if (argument == "-O")
      result.pipeline.level = static_cast<int>(number(value(), argument));
    else if (argument == "--seed")
      result.seed = number(value(), argument);
    else if (argument == "--decline")
      result.declined = value();
    else if (argument == "--bind") {
      std::string text = value();
      size_t equal = text.find('=');
      require(equal != std::string::npos, "--bind: '{}' is not of the form SYMBOL=N", text);
      result.symbols[text.substr(0, equal)] = number(std::string_view(text).substr(equal + 1), argument);
    } else if (argument.starts_with("--"))
      result.passes.push_back(argument.substr(2));
    else {
      require(result.file.empty(), "more than one file: '{}' and '{}'", result.file, argument);
      result.file = argument;
    }
  }
  require(!result.file.empty(), "no file given; lathe-opt --help lists the options");
  return result;
}

void runPass(mlir::ModuleOp module, const std::string &name, const PipelineOptions &options) {
  for (const GraphPass &pass : graphPasses())
    if (name == pass.name)
      return pass.run(module, options);
  require(name == "canonicalize" || name == "cse", "no pass is called '{}'; lathe-opt --help lists them", name);
  mlir::PassManager manager(module.getContext());
  manager.addPass(name == "cse" ? mlir::createCSEPass() : mlir::createCanonicalizerPass());
  require(mlir::succeeded(manager.run(module)), "{} failed", name);
}

/// Returns false if the outputs before and after differ.
bool process(mlir::MLIRContext &context, const std::string &source, const Arguments &arguments) {
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (problem.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      if (auto at = llvm::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
        problem = fmt::format("{}:{}:{}: ", arguments.file, at.getLine(), at.getColumn());
      problem += diagnostic.str();
    }
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  require(static_cast<bool>(module), "{}", problem);

  std::vector<Value> inputs, before;
  EvaluateOptions evaluation;
  evaluation.judge = true;
  if (arguments.twin) {
    inputs = randomInputs(*module, arguments.seed, arguments.symbols);
    before = evaluate(*module, inputs, evaluation);
  }
  for (const std::string &pass : arguments.passes) {
    runPass(*module, pass, arguments.pipeline);
    require(mlir::succeeded(mlir::verify(*module)), "internal: after --{}: {}", pass, problem);
  }
  if (!arguments.quiet) {
    mlir::OpPrintingFlags flags;
    if (arguments.locations)
      flags.enableDebugInfo(true, true);
    module->print(llvm::outs(), flags);
    llvm::outs() << "\n";
  }
  if (!arguments.twin)
    return true;
  TwinResult result = compareTwins(before, evaluate(*module, inputs, evaluation));
  bool equal = result.mismatch.empty() && result.maxRelative <= twinTolerance;
  if (equal)
    llvm::outs() << fmt::format("// twin: equal (max rel {:.1e})\n", result.maxRelative);
  else if (!result.mismatch.empty())
    llvm::outs() << fmt::format("// twin: DIFFERENT ({})\n", result.mismatch);
  else
    llvm::outs() << fmt::format("// twin: DIFFERENT (max rel {:.1e}, allowed {:.0e})\n", result.maxRelative,
                                twinTolerance);
  return equal;
}

int run(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help") {
      printHelp();
      return 0;
    }
  Arguments arguments = parse(argc, argv);
  auto declined = [&](mlir::func::FuncOp kernel) {
    return kernel->getAttrOfType<mlir::StringAttr>("nn.family").getValue() == arguments.declined;
  };
  if (!arguments.declined.empty())
    arguments.pipeline.declines = [&](mlir::func::FuncOp kernel) -> std::string {
      return declined(kernel) ? "declined on request" : "";
    };
  // The instruction set whose vectors have the length of a block.
  const int64_t block = arguments.pipeline.channelBlocks.of(ElementType::f32);
  const Target target = Target::parse(block == 4 ? "x86-64-v2" : block == 8 ? "x86-64-v3" : "x86-64-v4");
  arguments.pipeline.predictCycles = [&](mlir::func::FuncOp kernel) -> Outcome<double> {
    return declined(kernel) ? NotApplicable{"declined on request"} : predictCycles({{}, kernel, target});
  };
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(arguments.file);
  require(static_cast<bool>(file), "{}: {}", arguments.file, file.getError().message());
  auto context = makeContext();
  llvm::SmallVector<llvm::StringRef> sources;
  (*file)->getBuffer().split(sources, "// -----\n");
  bool equal = true;
  size_t lines = 0; // lines before this module, so that messages give the file's line
  for (auto [i, source] : llvm::enumerate(sources)) {
    if (i && !arguments.quiet)
      llvm::outs() << "// -----\n";
    equal &= process(*context, std::string(lines, '\n') + source.str(), arguments);
    lines += source.count('\n') + 1;
  }
  return equal ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &error) {
    llvm::outs().flush();
    llvm::errs() << "lathe-opt: " << error.what() << "\n";
    return 2;
  }
}
