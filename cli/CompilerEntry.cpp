// The one function of liblathe_cli_compiler.so that `lathe` calls.
#include "cli/CompilerVerbs.h"
#include "runtime/References.h"

extern "C" __attribute__((visibility("default"))) int latheCompilerVerb(const char *verb, int count,
                                                                        const char *const *arguments) {
  using namespace lathe::cli;
  static const Verb verbs[] = {
      {"check", "", checkVerb},       {"inspect", "", inspectVerb},   {"compile", "", compileVerb},
      {"extract", "", extractVerb},   {"verify", "", verifyVerb},     {"zoo", "", zooVerb},
      {"problems", "", problemsVerb}, {"segments", "", segmentsVerb}, {"reference", "", referenceVerb},
      {"machine", "", machineVerb},   {"tune", "", tuneVerb},         {"ship", "", shipVerb},
      {"quantize", "", quantizeVerb}, {"export", "", exportVerb},     {"stage", "", stageVerb},
      {"diff-models", "", diffModelsVerb},
  };
  lathe::runtime::registerReferences();
  Arguments words(arguments, arguments + count);
  std::string name = verb;
  return guarded(name == "reference"  ? "run"
                 : name == "problems" ? "ops problems"
                 : name == "ship"     ? "records ship"
                                      : name,
                 [&]() -> int {
                   for (const Verb &candidate : verbs)
                     if (name == candidate.name)
                       return candidate.run(words);
                   lathe::fail("this compiler library has no verb '{}': it is of another version", name);
                 });
}
