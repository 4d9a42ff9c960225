// `lathe`: a small program on the runtime alone. Verbs that need the compiler live in liblathe_cli_compiler.so, loaded
// when one of them is asked for, so that running a package never pays for LLVM (75 MB resident).
#include "cli/Cache.h"
#include "cli/Common.h"
#include "cli/FrontVerbs.h"
#include "cli/print/Terminal.h"
#include "runtime/References.h"

#include <csignal>
#include <dlfcn.h>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace lathe::cli {
namespace {

const Verb frontVerbs[] = {
    {"run", "runs a model or package on given or generated inputs", runVerb},
    {"bench", "times one run: mean, median, percentiles, GFLOPS, memory", benchVerb},
    {"compare", "beside other runtimes: outputs, times, verdict", compareVerb},
    {"profile", "time, speed and share of the roofline of every kernel", profileVerb},
    {"ops", "single operators: times libraries side by side, analyses what was measured", opsVerb},
    {"store", "what was measured: lists, exports, imports, merges", storeVerb},
    {"machine", "measures what this machine can do: arithmetic and bandwidth", machineVerb},
};
struct Summary {
  const char *name, *summary;
};
const Summary compilerVerbs[] = {
    {"check", "everything unsupported or falling back, all at once"},
    {"inspect", "inputs, outputs, operators, parameters, FLOPs, convolution shapes"},
    {"compile", "makes a native package F.lathe, or shows a level of the compilation"},
    {"verify", "compiled against the reference in float64, on several inputs"},
    {"extract", "a part of a model as ONNX: a segment, one operator, for a bug report"},
    {"segments", "a network piece by piece, here and in another runtime, from checkpoint to checkpoint"},
    {"zoo", "built-in architectures with seeded weights, as ONNX"},
};

void printHelp() {
  std::cout << "lathe: compiles neural networks to native packages, runs, checks and measures them\n\n"
               "Usage: lathe VERB [OPTIONS]     (lathe help VERB tells more, with examples)\n\nVerbs:\n";
  auto line = [](const char *name, const char *summary) { std::cout << fmt::format("  {:<9} {}\n", name, summary); };
  for (const Summary &verb : compilerVerbs)
    line(verb.name, verb.summary);
  for (const Verb &verb : frontVerbs)
    line(verb.name, verb.summary);
  std::cout
      << "\nA first session:\n"
         "  lathe zoo resnet50 -o resnet50.onnx\n"
         "  lathe compile resnet50.onnx -o resnet50.lathe\n"
         "  lathe run resnet50.lathe --fill random -o outputs.npz\n"
         "  lathe verify resnet50.onnx\n"
         "  lathe profile resnet50.lathe --threads 2\n\n"
         "Exit codes: 0 done; 1 the verb did its work and the verdict is no (unsupported, mismatch, mistrusted);\n"
         "2 wrong model, file or option, one line on standard error; 3 internal error, please report it;\n"
         "128 + n ended by signal n (130: Ctrl-C): temporary files are removed, what was measured is kept.\n";
}

/// Loads the compiler's verbs and runs one.
int compilerVerb(const std::string &name, const Arguments &arguments) {
  std::string path = compilerLibrary();
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, "the compiler is not installed: {}", library ? "" : ::dlerror());
  using Entry = int (*)(const char *verb, int count, const char *const *arguments);
  auto entry = reinterpret_cast<Entry>(::dlsym(library, "latheCompilerVerb"));
  require(entry != nullptr, "{} is of another version", path);
  std::vector<const char *> words;
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  return entry(name.c_str(), static_cast<int>(words.size()), words.data());
}

/// What a caller may have left in a state that no verb expects.
void prepareProcess() {
  // A closed standard stream's number would go to the next file that is opened, which messages would then be written
  // to.
  for (int descriptor = ::open("/dev/null", O_RDWR); descriptor >= 0; descriptor = ::open("/dev/null", O_RDWR))
    if (descriptor > STDERR_FILENO) {
      ::close(descriptor);
      break;
    }
  std::signal(SIGXFSZ, SIG_IGN); // a file above the limit of its size (ulimit -f) is an error of the write
}

} // namespace

int forwardToCompiler(const std::string &verb, const Arguments &arguments) { return compilerVerb(verb, arguments); }

int mainVerb(int argc, char **argv) {
  prepareProcess();
  runtime::registerReferences(); // what of them a plan does not use is never paged in
  std::string name = argc > 1 ? argv[1] : "";
  Arguments arguments(argv + std::min(argc, 2), argv + argc);
  if (name == "help" && !arguments.empty()) { // `help ops bench` as well as `help run`
    name = arguments[0];
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    int code = guarded("help", [] {
      printHelp();
      return success;
    });
    return name.empty() ? userError : code;
  }
  if (name == "--version" || name == "-v") {
    return guarded("version", [] {
      std::cout << "lathe " LATHE_VERSION "\n";
      return success;
    });
  }
  for (const Verb &verb : frontVerbs)
    if (name == verb.name)
      return guarded(name, [&] { return verb.run(arguments); });
  for (const Summary &verb : compilerVerbs)
    if (name == verb.name)
      return guarded(name, [&] { return compilerVerb(name, arguments); });
  say(fmt::format("lathe: no verb is called '{}' (see lathe --help)", name));
  return userError;
}

} // namespace lathe::cli

int main(int argc, char **argv) { return lathe::cli::mainVerb(argc, argv); }
