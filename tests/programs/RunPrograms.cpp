// run-programs FOLDER [ITERATIONS]: runs packages of random programs that program_test has written there with the runtime
// alone, so that a sanitizer can watch it (tests/programs/packages_test.py). `long.lathe` runs its loop ITERATIONS times
// (10^6): memory must stay what it is after 10^4.
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "runtime/References.h"
#include "tests/programs/ProgramCheck.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;

// AddressSanitizer keeps what was freed for a while; its own check at the end finds leaks.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LATHE_KEEPS_FREED_MEMORY 1
#endif
#endif
#ifdef LATHE_KEEPS_FREED_MEMORY
constexpr bool keepsFreedMemory = true;
#else
constexpr bool keepsFreedMemory = false;
#endif

std::vector<Value> arrays(const std::string &path, const char *what) {
  std::vector<Value> values;
  for (std::string file; fs::exists(file = fmt::format("{}.{}{}.npy", path, what, values.size()));)
    values.emplace_back(toTensor(readNpy(file)));
  return values;
}

int64_t residentBytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

uint64_t heldBy(const runtime::Context &context) {
  runtime::MemoryUse use = context.memory();
  return use.arenaBytes + use.copiedBytes + use.outputBytes;
}

/// Every set of inputs twice, on one thread and on two.
void runPackage(const fs::path &package) {
  auto model = runtime::Model::load(package.string());
  std::string path = (package.parent_path() / package.stem()).string();
  for (int threads : {1, 2}) {
    runtime::Context context(model, {threads});
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::ifstream tolerances(path + ".txt");
      double tolerance = 0;
      for (int run = 0; tolerances >> tolerance; ++run) {
        std::string of = fmt::format("{}.{}", path, run);
        std::vector<Value> expected = arrays(of, "out"), results = context.run(arrays(of, "in"));
        for (size_t i = 0; i < expected.size(); ++i)
          if (auto text = programDifference(expected[i], results[i], tolerance); !text.empty())
            fail("{}: {} threads, inputs {}, output {}: {}", package.string(), threads, run, i, text);
      }
    }
  }
}

void runLong(const fs::path &package, int64_t iterations) {
  runtime::Context context(runtime::Model::load(package.string()), {1});
  std::string path = (package.parent_path() / package.stem()).string();
  std::vector<Value> inputs = arrays(path + ".0", "in");
  struct Memory {
    uint64_t held;
    int64_t resident;
  };
  auto after = [&](int64_t count) {
    inputs[1] = Tensor::of<int64_t>({}, {count});
    std::vector<Value> results = context.run(inputs);
    require(results[1].tensor().asInteger(0) == 5, "the sequence has {} tensors, expected 5",
            results[1].tensor().asInteger(0));
    return Memory{heldBy(context), residentBytes()};
  };
  Memory few = after(10000), many = after(iterations);
  fmt::print("{} iterations hold {} B and {} kB are resident; 10000 hold {} B, {} kB\n", iterations, many.held,
             many.resident >> 10, few.held, few.resident >> 10);
  require(many.held == few.held, "memory of the context grows");
  constexpr int64_t allowed = 1 << 20; // pages of the allocator, whatever the number of iterations
  require(keepsFreedMemory || many.resident <= few.resident + allowed, "resident memory grows");
}

int run(const fs::path &folder, int64_t iterations) {
  runtime::registerReferences();
  int count = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".lathe" && entry.path().stem() != "long") {
      runPackage(entry.path());
      ++count;
    }
  runLong(folder / "long.lathe", iterations);
  fmt::print("{} programs\n", count);
  return count > 0 ? 0 : 1;
}

} // namespace
} // namespace lathe

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: run-programs FOLDER [ITERATIONS]\n";
    return 2;
  }
  try {
    return lathe::run(argv[1], argc > 2 ? std::stoll(argv[2]) : 1000000);
  } catch (const std::exception &error) {
    std::cerr << "run-programs: " << error.what() << "\n";
    return 1;
  }
}
