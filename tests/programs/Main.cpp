// random-program SEED FILE: writes a random program as an ONNX model, for comparison with other runtimes.
#include "support/Error.h"
#include "tests/programs/RandomProgram.h"

#include <fstream>
#include <iostream>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: random-program SEED FILE\n";
    return 2;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file << lathe::randomProgram(std::stoull(argv[1]));
  return file.flush() ? 0 : 1;
}
