// Runs a package on a machine that has nothing else, such as an emulator:  RunPackage MODEL.lathe THREADS FOLDER
//
// Input number i is read from FOLDER/in<i>, its elements in row-major order; symbolic extents are 1. Outputs are
// written to FOLDER/out<i> in the same way, and a line with the type and the extents of each to standard output.
#include "runtime/Context.h"
#include "support/Error.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

using namespace lathe;

namespace {

std::FILE *opened(const std::string &path, const char *mode) {
  std::FILE *file = std::fopen(path.c_str(), mode);
  require(file != nullptr, "{}: cannot open", path);
  return file;
}

void run(const char *package, int threads, const std::string &folder) {
  auto model = runtime::Model::load(package);
  runtime::Context context(model, {.threads = threads});
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    const runtime::Port &port = model->inputs()[i];
    std::vector<int64_t> dims;
    for (const Dim &dim : port.dims)
      dims.push_back(dim.evaluate([](const std::string &) -> int64_t { return 1; }));
    Tensor tensor(port.type, dims);
    std::string path = fmt::format("{}/in{}", folder, i);
    std::FILE *file = opened(path, "rb");
    auto bytes = static_cast<size_t>(tensor.bytes());
    require(std::fread(tensor.data(), 1, bytes, file) == bytes && std::fgetc(file) == EOF, "{}: expected {} bytes",
            path, bytes);
    std::fclose(file);
    context.setInput(i, tensor);
  }
  context.run();
  for (size_t i = 0; i < model->outputs().size(); ++i) {
    const Tensor &tensor = context.output(i).tensor();
    std::string path = fmt::format("{}/out{}", folder, i);
    std::FILE *file = opened(path, "wb");
    auto bytes = static_cast<size_t>(tensor.bytes());
    require(std::fwrite(tensor.data(), 1, bytes, file) == bytes && std::fclose(file) == 0, "{}: cannot write", path);
    std::printf("%s %s\n", std::string(name(tensor.type())).c_str(),
                fmt::format("{}", fmt::join(tensor.dims(), "x")).c_str());
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: RunPackage MODEL.lathe THREADS FOLDER\n");
    return 2;
  }
  try {
    run(argv[1], std::atoi(argv[2]), argv[3]);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
