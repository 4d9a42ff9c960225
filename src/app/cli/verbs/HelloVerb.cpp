#include "cli/FrontVerbs.h"

#include <iostream>

namespace lathe::cli {

int helloVerb(const Arguments &arguments) {
  Options options("hello", "Say hello.", "  lathe hello\n");
  options.addShowing();
  options.parseAll(arguments);
  options.writeJson({{"hello", true}});
  if (options.printsText())
    std::cout << "hello\n";
  return success;
}

} // namespace lathe::cli
