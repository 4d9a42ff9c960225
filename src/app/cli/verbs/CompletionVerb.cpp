// `lathe completion`: prints the script with which a shell completes commands of lathe.
#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "jobs/Self.h"

#include <filesystem>
#include <iostream>

namespace lathe::cli {

int completionVerb(const Arguments &arguments) {
  std::string shell;
  Options options(
      "completion",
      "Print the script that completes verbs, flags and values of lathe in a shell. An installation puts it\n"
      "where the shell finds it; elsewhere, a start-up file of the shell loads it.",
      "  eval \"$(lathe completion bash)\"                            (in ~/.bashrc)\n"
      "  lathe completion zsh >~/.zfunc/_lathe                      (a folder of $fpath)\n");
  options.add_option("SHELL", shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  options.parseAll(arguments);
  // dev/gen_completions.py writes the scripts during the build.
  std::string path =
      shippedFolder(shell == "bash" ? "../bash-completion/completions/lathe" : "../zsh/vendor-completions/_lathe");
  require(std::filesystem::exists(path), "{}: does not exist, expected the script that comes with lathe", path);
  std::cout << readFile(path);
  return success;
}

} // namespace lathe::cli
