// Depthwise and pointwise convolutions in one kernel against the same network with two: results are equal bit by bit,
// for any number of threads.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "passes/Rewrite.h"
#include "passes/Twin.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <regex>
#include <set>

namespace lathe {
namespace {

/// A convolution s, then two depthwise ones d1 and d2, each with an activation behind it, a1 and a2, and a pointwise
/// convolution, p1 and p2. Reductions are too short to be split into several sums, which depends on the register block.
std::string networkText(std::mt19937_64 &random) {
  auto in = [&](int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); };
  std::string body;
  int64_t channels = in(17, 63), height = in(5, 34), width = in(5, 34);
  auto tensor = [&] { return fmt::format("tensor<?x{}x{}x{}xf32>", channels, height, width); };
  std::string input = tensor(),
              dims = fmt::format("nn.dims = [\"N\", \"{}\", \"{}\", \"{}\"]", channels, height, width);
  auto conv = [&](const std::string &name, const std::string &from, int64_t outputs, int64_t kernel, int64_t stride,
                  int64_t pad) {
    std::string x = tensor(), groups = kernel == 1 ? "1" : std::to_string(channels);
    std::string w = fmt::format("tensor<{}x{}x{}x{}xf32>", outputs, kernel == 1 ? channels : 1, kernel, kernel),
                b = fmt::format("tensor<{}xf32>", outputs);
    height = (height + 2 * pad - kernel) / stride + 1;
    width = (width + 2 * pad - kernel) / stride + 1;
    channels = outputs;
    body += fmt::format("%w{0} = nn.constant {{value = dense<1.0> : {1}}} : {1}\n%b{0} = nn.constant {{value = "
                        "dense<1.0> : {2}}} : {2}\n",
                        name, w, b);
    body += fmt::format(
        "%{0} = nn.conv %{1}, %w{0}, %b{0} {{strides = array<i64: {2}, {2}>, dilations = array<i64: 1, 1>, pads = "
        "array<i64: {3}, {3}, {3}, {3}>, group = {4} : i64}} : ({5}, {6}, {7}) -> {8} loc(\"{0}\")\n",
        name, from, stride, pad, groups, x, w, b, tensor());
  };
  conv("s", "x", channels, 1, 1, 0);
  std::string last = "s";
  for (const char *number : {"1", "2"}) {
    std::string n = number;
    int64_t kernel = in(0, 1) ? 3 : 5;
    conv("d" + n, last, channels, kernel, in(1, 2), in(height < kernel || width < kernel ? kernel / 2 : 0, kernel / 2));
    body += fmt::format("%a{0} = nn.{1} %d{0} : ({2}) -> {2} loc(\"a{0}\")\n", n, in(0, 1) ? "relu" : "hard_swish",
                        tensor());
    conv("p" + n, "a" + n, in(17, 63), 1, 1, 0);
    last = "p" + n;
  }
  return fmt::format("func.func @main(%x: {} {{{}}}) -> {} {{\n{}return %{} : {}\n}}", input, dims, tensor(), body,
                     last, tensor());
}

mlir::OwningOpRef<mlir::ModuleOp> network(mlir::MLIRContext &context, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(networkText(random), &context);
  std::uniform_real_distribution<double> uniform(-1, 1);
  llvm::SmallVector<nn::ConstantOp> constants;
  module->walk([&](nn::ConstantOp constant) { constants.push_back(constant); });
  for (nn::ConstantOp constant : constants) {
    auto type = llvm::cast<mlir::ShapedType>(constant.getType());
    std::vector<double> values(type.getNumElements());
    for (double &value : values)
      value = uniform(random);
    mlir::OpBuilder b(constant);
    constant.replaceAllUsesWith(makeConstant(b, constant.getLoc(), ElementType::f32, type.getShape().vec(), values,
                                             fmt::format("w{}", random())));
    constant.erase();
  }
  return module;
}

const char *const layouts = "d1: layout/1 in=blocked out=blocked\np1: layout/1 in=blocked out=blocked\n"
                            "d2: layout/1 in=blocked out=blocked\np2: layout/1 in=blocked\n";

std::string given(const char *with1, const char *with2) {
  return fmt::format("{}d1: fuse/1 with={}\nd2: fuse/1 with={}\n", layouts, with1, with2);
}

/// The lines without what stands behind them: a schedule that is given comes from a line of a file.
std::string withoutOrigins(const std::string &schedule) {
  return std::regex_replace(schedule, std::regex("  # [^\n]*"), "");
}

std::string scheduleOf(uint64_t seed, const CompileOptions &options) {
  auto context = makeContext();
  return withoutOrigins(emitLevel(*network(*context, seed), options, Level::schedule));
}

size_t kernelsOfTwo(const std::string &schedule) {
  size_t count = 0;
  for (size_t at = 0; (at = schedule.find(": separable/1 ", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

std::shared_ptr<const runtime::Model> compiled(uint64_t seed, CompileOptions options, const std::string &schedule) {
  options.schedule.text = schedule;
  EXPECT_EQ(kernelsOfTwo(scheduleOf(seed, options)), schedule == given("p1", "p2") ? 2u : 0u);
  auto context = makeContext();
  std::vector<char> bytes;
  compileToBytes(*network(*context, seed), options, bytes);
  return runtime::Model::fromBytes(bytes, "network.lathe");
}

TEST(Separable, oneKernelHasTheBitsOfTwo) {
  runtime::registerReferences();
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  // Multiplies pairs of bf16, and has no AMX, whose tiles add in another order.
  const char *const pairs = "znver4";
  bool hasPairs = !(Target::parse(pairs).featureBits & ~Target::parse("native").featureBits);
  if (!hasPairs)
    std::cout << "BF16 IS NOT TESTED HERE: this CPU has not every instruction of " << pairs << "\n";
  for (uint64_t seed = first; seed < first + 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CompileOptions options;
    options.threads = std::array{1, 2, 5}[seed % 3];
    if (seed % 4 == 0)
      options.target = "x86-64-v3";
    else if (seed % 4 == 1 && hasPairs) {
      options.precision = Precision::bf16;
      options.target = pairs;
    }
    auto one = compiled(seed, options, given("p1", "p2")), two = compiled(seed, options, given("d1", "d2"));
    for (int64_t batch : {1, 3}) {
      auto context = makeContext();
      std::vector<Value> inputs = randomInputs(*network(*context, seed), seed, {{"N", batch}});
      runtime::Context expecting(two, {.threads = 1});
      std::vector<Value> expected = expecting.run(inputs);
      for (int threads : {1, 2, 3, 5, 8, 64}) {
        runtime::Context running(one, {.threads = threads});
        running.run(inputs); // what a second run finds in the arena must not matter
        const Tensor a = running.run(inputs)[0].tensor(), &b = expected[0].tensor();
        ASSERT_EQ(a.dims(), b.dims());
        ASSERT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0)
            << "batch " << batch << ", " << threads << " threads";
      }
    }
  }
}

TEST(Separable, isAChoiceOfTheGraphSchedule) {
  for (auto [with, kernels] : std::vector<std::pair<const char *, size_t>>{{"p1", 1}, {"d1", 0}}) {
    CompileOptions options;
    options.schedule.text = given(with, "d2");
    std::string chosen = scheduleOf(1, options);
    EXPECT_THAT(chosen, testing::HasSubstr(fmt::format("\nd1: fuse/1 with={}\n", with)));
    EXPECT_THAT(chosen, testing::HasSubstr("\nd2: fuse/1 with=d2\n"));
    EXPECT_THAT(chosen, testing::HasSubstr("\na1: fuse/1 with=d1\n"));
    EXPECT_EQ(kernelsOfTwo(chosen), kernels);
    options.schedule.text = chosen;
    EXPECT_EQ(scheduleOf(1, options), chosen);
  }
}

/// Times decide only where those of all three kernels are known and differ by more than a doubt; else predictions do.
TEST(Separable, measuredTimesChoose) {
  std::set<size_t> predictions;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    CompileOptions options;
    options.schedule.text = layouts;
    size_t predicted = kernelsOfTwo(scheduleOf(seed, options));
    predictions.insert(predicted);
    auto kernels = [&](double ofBoth, bool all = true) { // in units of the time of each alone
      options.measured = [=](const ScheduleTask &, const Schedule &schedule, BatchOrder) -> std::optional<double> {
        if (schedule.algorithm == "lanewise" && !all)
          return std::nullopt;
        return 1e-6 * (schedule.algorithm == "separable" ? ofBoth : 1);
      };
      return kernelsOfTwo(scheduleOf(seed, options));
    };
    EXPECT_EQ(kernels(1.85), 2u);
    EXPECT_EQ(kernels(2.15), 0u);
    EXPECT_EQ(kernels(1.95), predicted);
    EXPECT_EQ(kernels(2.05), predicted);
    EXPECT_EQ(kernels(1, false), predicted);
    EXPECT_EQ(kernels(3, false), predicted);
  }
  EXPECT_GT(predictions.size(), 1u) << "pairs are predicted to gain in some networks only";
}

TEST(Separable, aScheduleSaysWhoseKernelItIsFor) {
  CompileOptions options;
  options.schedule.text = std::string(layouts) + "d1_a1_p1: separable/1 px=2 oc=1 rows=3 depthwise=2\n";
  EXPECT_THAT(scheduleOf(1, options), testing::HasSubstr("separable/1 depthwise=2 px=2 rows=3"));
  options.schedule.text = std::string(layouts) + "d1: lanewise/1 px=2 rows=2\n";
  EXPECT_THAT(scheduleOf(1, options), testing::HasSubstr("lanewise/1 px=2 rows=2"));
}

/// Files of versions that knew no such kernels name what was a kernel then.
TEST(Separable, theNameOfOneOfTheTwoAsksForTwo) {
  for (std::string line : {"d1_a1: lanewise/1 px=2 rows=2\n", "p1: direct/1 px=2\n"}) {
    CompileOptions options;
    options.schedule.text = layouts + line + "d2: fuse/1 with=d2\n";
    std::string chosen = scheduleOf(1, options);
    EXPECT_THAT(chosen, testing::HasSubstr("\nd1_a1: lanewise/1 "));
    EXPECT_THAT(chosen, testing::HasSubstr("\np1: direct/1 "));
    EXPECT_THAT(chosen, testing::HasSubstr(line.substr(line.find('/'), line.find(" rows") - line.find('/'))));
    EXPECT_EQ(kernelsOfTwo(chosen), 0u);
  }
  CompileOptions options;
  options.schedule.name = "old.txt";
  options.schedule.text = std::string(layouts) + "d1: fuse/1 with=p1\nd1_a1: lanewise/1 px=2\n";
  try {
    scheduleOf(1, options);
    FAIL() << "one kernel and two were asked for";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "old.txt: line 6: 'd1_a1' is computed in the kernel 'd1_a1_p1': expected 'd1_a1_p1: "
                               "separable/1 ...', or no line that asks for one kernel");
  }
}

/// A large pair that is one kernel without being asked for, twice, and a convolution between; operators have no names.
TEST(Separable, namesInASchedulesFileAreThoseOfTheKernels) {
  std::string text, last = "x";
  int64_t channels = 16;
  auto tensor = [&] { return fmt::format("tensor<1x{}x112x112xf32>", channels); };
  text = fmt::format("func.func @main(%x: {0}) -> {0} {{\n", tensor());
  auto conv = [&](const std::string &name, int64_t outputs, int64_t kernel, int64_t groups) {
    std::string w = fmt::format("tensor<{}x{}x{}x{}xf32>", outputs, channels / groups, kernel, kernel), x = tensor();
    channels = outputs;
    text +=
        fmt::format("%w{0} = nn.constant {{value = dense<0.1> : {1}}} : {1}\n%{0} = nn.conv %{2}, %w{0} {{strides = "
                    "array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: {3}, {3}, {3}, {3}>, group "
                    "= {4} : i64}} : ({5}, {1}) -> {6}\n",
                    name, w, last, kernel / 2, groups, x, tensor());
    last = name;
  };
  for (std::string n : {"1", "2"}) {
    conv("s" + n, 32, 3, 1);
    conv("d" + n, 32, 3, 32);
    conv("p" + n, 16, 1, 1);
  }
  text += fmt::format("return %p2 : {}\n}}", tensor());
  auto scheduled = [&](const std::string &given) {
    CompileOptions options;
    options.target = "x86-64-v4";
    options.schedule.text = given;
    auto context = makeContext();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    return withoutOrigins(emitLevel(*module, options, Level::schedule));
  };
  std::string chosen = scheduled("");
  ASSERT_EQ(kernelsOfTwo(chosen), 2u) << chosen; // as in mobilenet_v2
  EXPECT_EQ(scheduled(chosen), chosen);
  size_t at = chosen.rfind(": separable/1 "), px = chosen.find(" px=", at), end = chosen.find_first_of(" \n", px + 4);
  std::string edited = chosen.substr(0, px) + " px=3" + chosen.substr(end);
  EXPECT_EQ(scheduled(edited), edited);
}

TEST(Separable, whatCannotBeFollowedIsAnError) {
  for (std::string wrong :
       {"d1: fuse/1 with=p2\n", "d1: fuse/1 with=nowhere\n", "d1: fuse/1 with=p1\np1: direct/1 px=2\n"}) {
    CompileOptions options;
    options.schedule.text = wrong;
    EXPECT_THROW(scheduleOf(1, options), Error) << wrong;
  }
  CompileOptions options;
  options.schedule.text = "d1: fuse/1 with=p1\nd1: layout/1 in=row out=row\np1: layout/1 in=row out=row\n";
  EXPECT_THROW(scheduleOf(1, options), Error); // rows of blocks are what is handed on
}

} // namespace
} // namespace lathe
