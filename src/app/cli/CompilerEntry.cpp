// The one function of liblathe_cli_compiler.so that `lathe` calls.
#include "cli/CompilerVerbs.h"
#include "runtime/References.h"

#include <algorithm>

extern "C" __attribute__((visibility("default"))) int latheCompilerVerb(const char *verb, int count,
                                                                        const char *const *arguments) {
  using namespace lathe::cli;
  static const Verb verbs[] = {
#define LATHE_COMPILER_VERB(name, function, summary) {name, name, function},
#define LATHE_INNER_VERB(name, function, said) {name, said, function},
#include "cli/Verbs.inc"
  };
  lathe::runtime::registerReferences();
  Arguments words(arguments, arguments + count);
  std::string name = verb;
  const Verb *found =
      std::find_if(std::begin(verbs), std::end(verbs), [&](const Verb &known) { return known.name == name; });
  bool isKnown = found != std::end(verbs);
  return guarded(isKnown ? found->summary : name, [&] {
    lathe::require(isKnown, "this compiler library has no verb '{}': it is of another version", name);
    return found->run(words);
  });
}
