// Writes small packages for the tests of examples, Python wrapper and installation:  WritePackage FILE [reference|counting]
#include "runtime/testing/TestPlan.h"

#include <cstdio>
#include <exception>
#include <string>

using namespace lathe::runtime::testing;

int main(int argc, char **argv) {
  try {
    std::string kind = argc > 2 ? argv[2] : "";
    TestPlan p;
    if (kind == "counting") {
      p = counting();
    } else {
      uint32_t x = p.input("x", {"N", "4"}), half = p.temporary("half", {"N", "4"}), out = p.output("out", {"N", "4"});
      p.half(x, half, "N*4");
      if (kind == "reference") { // half - x, the negation by the references library
        uint32_t negative = p.temporary("negative", {"N", "4"});
        p.reference("neg", {int32_t(x)}, {negative});
        p.add(half, negative, out, "N*4");
      } else {
        p.add(half, x, out, "N*4");
      }
    }
    lathe::package::CodeSection code = testCode();
    lathe::package::writePackage(argv[1], p.program, p.constants, std::span(&code, 1));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
