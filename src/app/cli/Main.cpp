// `lathe`: a small program on the runtime alone. Verbs that need the compiler live in liblathe_cli_compiler.so, loaded
// when one of them is asked for, so that running a package never pays for LLVM (75 MB resident).
#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/flags/Options.h"
#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "runtime/References.h"
#include "schedule/Algorithms.h"
#include "store/Location.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <unistd.h>

namespace lathe::cli {
namespace {

const Verb frontVerbs[] = {
#define LATHE_FRONT_VERB(name, function, summary) {name, summary, function},
#include "cli/Verbs.inc"
};
struct Summary {
  const char *name, *summary;
};
const Summary compilerVerbs[] = {
#define LATHE_COMPILER_VERB(name, function, summary) {name, summary},
#include "cli/Verbs.inc"
};

const char *const wholeSummary = "compiles neural networks to native packages, runs, checks and measures them";
const char *const firstSession = "A first session:\n"
                                 "  lathe zoo resnet50 -o resnet50.onnx\n"
                                 "  lathe compile resnet50.onnx -o resnet50.lathe\n"
                                 "  lathe run resnet50.lathe --fill random -o outputs.npz\n"
                                 "  lathe verify resnet50.onnx\n"
                                 "  lathe profile resnet50.lathe --threads 2\n\n";
const char *const exitCodes =
    "Exit codes: 0 done; 1 negative verdict (unsupported, mismatch, mistrusted, different); 2 wrong model, "
    "file or option;\n"
    "3 internal error, please report it; 128 + n ended by signal n (130: Ctrl-C). Errors are one line on "
    "standard\n"
    "error. A signal removes temporary files and keeps what was measured.\n";

/// Calls `visit` with name and summary of every verb.
void forEachVerb(const std::function<void(const char *name, const char *summary)> &visit) {
  for (const Summary &verb : compilerVerbs)
    visit(verb.name, verb.summary);
  for (const Verb &verb : frontVerbs)
    visit(verb.name, verb.summary);
}

/// `lathe --describe` (cli/flags/Describe.h): the verbs, and the algorithms that `lathe help schedules` explains.
void printDescription() {
  nlohmann::json verbs = nlohmann::json::array(), names = nlohmann::json::array();
  forEachVerb([&](const char *name, const char *summary) { verbs.push_back({{"name", name}, {"summary", summary}}); });
  for (const Algorithm &algorithm : algorithms())
    names.push_back(algorithm.name);
  std::cout << nlohmann::json{{"command", "lathe"},      {"version", LATHE_VERSION},
                              {"summary", wholeSummary}, {"footer", std::string(firstSession) + exitCodes},
                              {"verbs", verbs},          {"algorithms", names}}
            << "\n";
}

void printHelp() {
  std::cout << "lathe: " << wholeSummary
            << "\n\n"
               "Usage: lathe VERB [OPTIONS]     (lathe help VERB lists flags and examples,\n"
               "                                  lathe help schedules the algorithms)\n\nVerbs:\n";
  forEachVerb([](const char *name, const char *summary) { std::cout << fmt::format("  {:<13}{}\n", name, summary); });
  std::cout << "\n" << firstSession << exitCodes;
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

/// Restores process state that a caller may have changed and that no verb expects.
void prepareProcess() {
  // If a standard stream is closed, the next opened file gets its number, and messages would be written to that file.
  for (int descriptor = ::open("/dev/null", O_RDWR); descriptor >= 0; descriptor = ::open("/dev/null", O_RDWR))
    if (descriptor > STDERR_FILENO) {
      ::close(descriptor);
      break;
    }
  std::signal(SIGXFSZ, SIG_IGN); // exceeding the file size limit (ulimit -f) is an error of the write
}

} // namespace

/// Becomes the program lathe-serve beside this one.
int serveVerb(const Arguments &arguments) {
  std::string program = (std::filesystem::path(ownProgram()).parent_path() / "lathe-serve").string();
  std::vector<char *> argv{program.data()};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  fail("the server is not installed: {}: {}", program, std::strerror(errno));
}

int forwardToCompiler(const std::string &verb, const Arguments &arguments) { return compilerVerb(verb, arguments); }

int mainVerb(int argc, char **argv) {
  prepareProcess();
  store::hidePasswords({argv, size_t(argc)}); // before an argument is stored or printed
  runtime::registerReferences();              // references that a plan does not use are never paged in
  std::string name = argc > 1 ? argv[1] : "";
  Arguments arguments(argv + std::min(argc, 2), argv + argc);
  if (name == "help" && !arguments.empty() && arguments[0] == "schedules")
    return guarded("help", [&] {
      std::cout << (arguments.size() > 1 ? schedulesHelp(arguments[1]) : schedulesHelp());
      return success;
    });
  if (name == "help" && !arguments.empty()) { // both `help ops bench` and `help run`
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
  if (name == describeFlag)
    return guarded("describe", [] {
      printDescription();
      return success;
    });
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
