// Random networks with parts that share storage against the same networks with copies: results are equal bit by bit.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "passes/Twin.h"
#include "passes/kernels/ShareStorage.h"
#include "runtime/Context.h"
#include "runtime/References.h"
#include "tests/passes/RandomGraph.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

namespace lathe {
namespace {

int inPlace(mlir::ModuleOp module) {
  int count = 0;
  module.walk([&](mlir::Operation *op) { count += isInPlace(op); });
  return count;
}

std::vector<Value> run(mlir::ModuleOp module, const CompileOptions &options, std::span<const Value> inputs,
                       int threads) {
  std::vector<char> bytes;
  compileToBytes(module, options, bytes);
  auto model = runtime::Model::fromBytes(bytes, "random.lathe");
  runtime::Context context(model, {.threads = threads});
  context.run(inputs); // what a second run finds in the arena must not matter
  return context.run(inputs);
}

TEST(SharedStorage, RandomNetworksKeepTheirBits) {
  runtime::registerReferences();
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  int shared = 0, tried = 0;
  for (uint64_t seed = first; tried < 16 && seed < first + 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto context = makeContext();
    auto module = randomGraph(*context, seed, 6 + static_cast<int>(seed % 12));
    mlir::OwningOpRef<mlir::ModuleOp> copies(llvm::cast<mlir::ModuleOp>((*module)->clone()));
    std::vector<Value> inputs = randomInputs(*module, seed, {{"N", static_cast<int64_t>(1 + seed % 3)}});
    CompileOptions options;
    options.level = seed % 4 == 0 ? 2 : 3;
    options.target = seed % 3 == 0 ? "x86-64-v3" : "native";
    lowerToKernels(*module, options);
    if (inPlace(*module) == 0)
      continue; // nothing to compare
    ++tried;
    shared += inPlace(*module);
    std::vector<Value> got = run(*module, options, inputs, 1 + static_cast<int>(seed % 4));
    options.shareStorage = false;
    lowerToKernels(*copies, options);
    EXPECT_EQ(inPlace(*copies), 0);
    std::vector<Value> expected = run(*copies, options, inputs, 1);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const Tensor &a = got[i].tensor(), &b = expected[i].tensor();
      ASSERT_EQ(a.dims(), b.dims());
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0) << "output " << i;
    }
  }
  EXPECT_GE(shared, 16);
}

} // namespace
} // namespace lathe
