// Programs whose extents the run decides, compiled, against the interpreter: every operator, what stands behind it, counts
// of zero, bodies, and memory over many runs.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "passes/Twin.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

namespace lathe {
namespace {

using Shape = std::vector<int64_t>;

uint64_t firstSeed() {
  uint64_t seed = std::getenv("LATHE_TEST_SEED")
                      ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                      : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << seed << " (LATHE_TEST_SEED repeats it)\n";
  return seed;
}

class LateExtents : public testing::Test {
protected:
  void SetUp() override { runtime::registerReferences(); }
  std::mt19937_64 random;

  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  }
  static std::string tensor(const Shape &dims, const std::string &element) {
    std::string text = "tensor<";
    for (int64_t dim : dims)
      text += (dim < 0 ? "?" : std::to_string(dim)) + "x";
    return text + element + ">";
  }
  static Tensor integers(Shape dims, std::vector<int64_t> values, ElementType type = ElementType::i64) {
    return Tensor::of<int64_t>(std::move(dims), std::span<const int64_t>(values)).convertedTo(type);
  }
  /// Numbers of few values, so that there are equal ones and zeros.
  Tensor numbers(Shape dims, ElementType type, int64_t low, int64_t high) {
    Tensor tensor(ElementType::i64, std::move(dims));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<int64_t>()[i] = in(low, high);
    return tensor.convertedTo(type);
  }
  Tensor reals(Shape dims, double low, double high) {
    Tensor tensor(ElementType::f32, std::move(dims));
    std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = uniform(random);
    return tensor;
  }

  struct Package {
    std::shared_ptr<const runtime::Model> model;
    std::vector<std::string> references; // "op: reason"
    int kernels = 0, distinctKernels = 0;
  };
  static mlir::OwningOpRef<mlir::ModuleOp> parsed(const std::string &text, mlir::MLIRContext &context) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      throw std::logic_error("test text does not parse:\n" + text);
    return module;
  }
  static Package compiled(const std::string &text, int level, bool references = false) {
    auto context = makeContext();
    auto module = parsed(text, *context);
    CompileOptions options;
    options.level = level;
    options.referencesOnly = references;
    std::vector<char> bytes;
    CompileReport report = compileToBytes(*module, options, bytes);
    Package package{runtime::Model::fromBytes(bytes, "late.lathe"), {}, report.kernels, report.distinctKernels};
    for (const ReferenceUse &use : report.references)
      package.references.push_back(use.op + ": " + use.reason);
    return package;
  }

  static std::vector<Value> expected(const std::string &text, const std::vector<Value> &inputs) {
    auto context = makeContext();
    return evaluate(*parsed(text, *context), inputs);
  }

  /// Within the bound of docs/numerics.md for sums of `terms` terms.
  static void expectEqual(const std::vector<Value> &got, const std::vector<Value> &wanted, int64_t terms = 1) {
    const double bound = 5 * std::max(336.0, std::sqrt(static_cast<double>(terms))) * 0x1p-24;
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const Tensor &a = got[i].tensor(), &b = wanted[i].tensor();
      ASSERT_EQ(a.type(), b.type()) << "result " << i;
      ASSERT_EQ(a.dims(), b.dims()) << "result " << i;
      double largest = 0; // where terms cancel, an error is as large as one of the terms allows
      for (int64_t e = 0; e < b.elements(); ++e)
        if (double y = std::abs(b.asDouble(e)); std::isfinite(y))
          largest = std::max(largest, y);
      for (int64_t e = 0; e < a.elements(); ++e) {
        double x = a.asDouble(e), y = b.asDouble(e);
        bool same = x == y || (x != x && y != y) || std::abs(x - y) <= bound * (1 + largest);
        ASSERT_TRUE(same) << "result " << i << ", element " << e << ": " << x << ", expected " << y;
      }
    }
  }

  /// One package, several sets of inputs one after the other, at each level and for some numbers of threads.
  void check(const std::string &text, const std::vector<std::vector<Value>> &runs, bool mayRefer = false) {
    SCOPED_TRACE(text);
    std::vector<std::vector<Value>> wanted;
    for (const std::vector<Value> &inputs : runs)
      wanted.push_back(expected(text, inputs));
    for (int level : {0, 2, 3}) {
      SCOPED_TRACE(fmt::format("level {}", level));
      Package package = compiled(text, level);
      if (!mayRefer)
        EXPECT_TRUE(package.references.empty()) << fmt::format("{}", fmt::join(package.references, "; "));
      for (int threads : {1, 3}) {
        runtime::Context context(package.model, {.threads = threads});
        for (size_t i = 0; i < runs.size(); ++i) {
          SCOPED_TRACE(fmt::format("run {}, {} threads", i, threads));
          int64_t terms = 1;
          for (const Value &input : runs[i])
            terms = std::max(terms, input.tensor().elements());
          expectEqual(context.run(runs[i]), wanted[i], terms);
        }
      }
    }
  }
};

TEST_F(LateExtents, nonZeroAndWhatIsBehind) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 6; ++seed) {
    random.seed(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const char *types[] = {"f32", "i64", "i1", "i8", "f64"};
    std::string type = types[seed % 5];
    ElementType element = std::array{ElementType::f32, ElementType::i64, ElementType::boolean, ElementType::i8,
                                     ElementType::f64}[seed % 5];
    Shape dims(static_cast<size_t>(in(1, 3)));
    for (int64_t &dim : dims)
      dim = in(1, seed % 2 ? 200 : 9);
    auto rank = static_cast<int64_t>(dims.size());
    std::string text = fmt::format(
        "func.func @main(%x: {0}, %w: tensor<{1}x5xf32>) -> (tensor<{1}x?xi64>, tensor<?x5xf32>, tensor<5xf32>) {{\n"
        "%0 = nn.non_zero %x : ({0}) -> tensor<{1}x?xi64> loc(\"nz\")\n"
        "%1 = nn.transpose %0 {{perm = array<i64: 1, 0>}} : (tensor<{1}x?xi64>) -> tensor<?x{1}xi64>\n"
        "%2 = nn.cast %1 {{to = f32}} : (tensor<?x{1}xi64>) -> tensor<?x{1}xf32>\n"
        "%3 = nn.matmul %2, %w : (tensor<?x{1}xf32>, tensor<{1}x5xf32>) -> tensor<?x5xf32>\n"
        "%4 = nn.relu %3 : (tensor<?x5xf32>) -> tensor<?x5xf32>\n"
        "%5 = nn.reduce_sum %4 {{axes = array<i64: 0>, keepdims = false}} : (tensor<?x5xf32>) -> tensor<5xf32>\n"
        "return %0, %4, %5 : tensor<{1}x?xi64>, tensor<?x5xf32>, tensor<5xf32>\n}}",
        tensor(dims, type), rank);
    Tensor w = reals({rank, 5}, -1, 1);
    std::vector<std::vector<Value>> runs;
    for (int64_t most : {1, 3, 0, 1}) // the third has no element that is not zero
      runs.push_back({numbers(dims, element, 0, most), w});
    check(text, runs);
  }
}

TEST_F(LateExtents, compress) {
  random.seed(firstSeed());
  for (int64_t axis : {int64_t(0), int64_t(1), std::numeric_limits<int64_t>::max()}) {
    bool flat = axis > 1;
    int64_t length = flat ? 30 : axis ? 6 : 5;
    Shape result = flat ? Shape{-1} : axis ? Shape{5, -1} : Shape{-1, 6};
    std::string text =
        fmt::format("func.func @main(%x: tensor<5x6xf32>, %c: tensor<{0}xi1>) -> {1} {{\n"
                    "%0 = nn.compress %x, %c {{axis = {2} : i64}} : (tensor<5x6xf32>, tensor<{0}xi1>) -> "
                    "{1}\n%1 = nn.exp %0 : ({1}) -> {1}\nreturn %1 : {1}\n}}",
                    length - 1, tensor(result, "f32"), axis);
    std::vector<std::vector<Value>> runs;
    for (int64_t most : {1, 0, 1})
      runs.push_back({reals({5, 6}, -1, 1), numbers({length - 1}, ElementType::boolean, 0, most)});
    check(text, runs);
  }
}

TEST_F(LateExtents, topKAtComputedK) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 6; ++seed) {
    random.seed(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    bool f32 = seed % 3 != 0, largest = seed % 2;
    Shape dims = {in(1, 4), in(1, 3), in(1, 3)};
    auto axis = static_cast<size_t>(in(0, 2));
    dims[axis] = in(1, 3000);
    Shape result = dims;
    result[axis] = -1;
    std::string x = tensor(dims, f32 ? "f32" : "i64"), v = tensor(result, f32 ? "f32" : "i64"),
                i = tensor(result, "i64");
    std::string text =
        fmt::format("func.func @main(%x: {0}, %k: tensor<1xi64>) -> ({1}, {2}) {{\n"
                    "%v, %i = nn.top_k %x, %k {{axis = {3} : i64, largest = {4}}} : ({0}, tensor<1xi64>) "
                    "-> ({1}, {2}) loc(\"topk\")\n%n = nn.neg %v : ({1}) -> {1}\nreturn %n, %i : {1}, "
                    "{2}\n}}",
                    x, v, i, axis, largest);
    std::vector<std::vector<Value>> runs;
    for (int64_t k : {dims[axis], int64_t(0), int64_t(1), in(0, dims[axis])}) {
      Tensor data =
          f32 && seed % 4 ? reals(dims, -100, 100) : numbers(dims, f32 ? ElementType::f32 : ElementType::i64, -20, 20);
      if (f32 && data.elements() > 3) {
        data.as<float>()[data.elements() / 2] = std::numeric_limits<float>::quiet_NaN();
        data.as<float>()[data.elements() / 3] = -0.0f;
      }
      runs.push_back({data, integers({1}, {k})});
    }
    check(text, runs);
  }
}

TEST_F(LateExtents, topKSaysWhatIsWrongWithK) {
  std::string text = "func.func @main(%x: tensor<4xf32>, %k: tensor<1xi64>) -> (tensor<?xf32>, tensor<?xi64>) {\n"
                     "%v, %i = nn.top_k %x, %k : (tensor<4xf32>, tensor<1xi64>) -> (tensor<?xf32>, tensor<?xi64>) "
                     "loc(\"topk\")\nreturn %v, %i : tensor<?xf32>, tensor<?xi64>\n}";
  runtime::Context context(compiled(text, 3).model, {});
  for (int64_t k : {-1, 5}) {
    std::vector<Value> inputs = {reals({4}, 0, 1), integers({1}, {k})};
    EXPECT_THROW(context.run(inputs), Error) << k;
  }
  std::vector<Value> inputs = {integers({4}, {3, 1, 4, 1}, ElementType::f32), integers({1}, {2})};
  expectEqual(context.run(inputs), {integers({2}, {4, 3}, ElementType::f32), integers({2}, {2, 0})});
}

TEST_F(LateExtents, equalKernelsOfOtherSymbolsShareCode) {
  random.seed(firstSeed());
  std::string types = "tensor<?xf32>, tensor<?xi64>", all = types + ", " + types;
  std::string text = "func.func @main(%x: tensor<50xf32>, %k: tensor<1xi64>, %l: tensor<1xi64>) -> (" + all + ") {\n" +
                     "%v, %i = nn.top_k %x, %k : (tensor<50xf32>, tensor<1xi64>) -> (" + types + ") loc(\"one\")\n" +
                     "%w, %j = nn.top_k %x, %l : (tensor<50xf32>, tensor<1xi64>) -> (" + types + ") loc(\"other\")\n" +
                     "%a = nn.exp %v : (tensor<?xf32>) -> tensor<?xf32>\n%b = nn.exp %w : (tensor<?xf32>) -> " +
                     "tensor<?xf32>\nreturn %a, %i, %b, %j : " + all + "\n}";
  Package package = compiled(text, 3);
  EXPECT_EQ(package.kernels, 4);
  EXPECT_EQ(package.distinctKernels, 2);
  check(text, {{reals({50}, -1, 1), integers({1}, {7}), integers({1}, {50})},
               {reals({50}, -1, 1), integers({1}, {31}), integers({1}, {0})}});
}

TEST_F(LateExtents, unique) {
  uint64_t first = firstSeed();
  const ElementType types[] = {ElementType::f32,     ElementType::i64, ElementType::i32, ElementType::u8,
                               ElementType::boolean, ElementType::f64, ElementType::f16};
  const char *names[] = {"f32", "i64", "i32", "ui8", "i1", "f64", "f16"};
  for (uint64_t seed = first; seed < first + 14; ++seed) {
    random.seed(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Shape dims = {in(1, 40), in(1, 20)};
    bool boolean = types[seed % 7] == ElementType::boolean,
         negative = isSignedInteger(types[seed % 7]) || isFloat(types[seed % 7]);
    std::string x = tensor(dims, names[seed % 7]), y = tensor({-1}, names[seed % 7]), n = "tensor<?xi64>";
    std::string all = fmt::format("{0}, {1}, tensor<{2}xi64>, {1}", y, n, dims[0] * dims[1]);
    std::string text =
        fmt::format("func.func @main(%x: {0}) -> ({1}) {{\n%y:4 = nn.unique %x {{sorted = {2}}} : ({0}) -> "
                    "({1})\nreturn %y#0, %y#1, %y#2, %y#3 : {1}\n}}",
                    x, all, seed % 2 == 0);
    std::vector<std::vector<Value>> runs;
    for (int64_t most : {5, 100, 0})
      runs.push_back(
          {numbers(dims, types[seed % 7], negative ? -most : 0, boolean ? std::min<int64_t>(most, 1) : most)});
    check(text, runs);
  }
}

TEST_F(LateExtents, nonMaxSuppression) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 6; ++seed) {
    random.seed(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    int64_t batch = in(1, 2), classes = in(1, 3), center = in(0, 1);
    bool limits = seed % 3 != 0;
    std::string types = fmt::format("tensor<{}x?x4xf32>, tensor<{}x{}x?xf32>, tensor<1xi64>", batch, batch, classes);
    std::string text = fmt::format(
        "func.func @main(%b: tensor<{0}x?x4xf32> {{nn.dims = [\"{0}\", \"N\", \"4\"]}}, %s: tensor<{0}x{1}x?xf32> "
        "{{nn.dims = [\"{0}\", \"{1}\", \"N\"]}}, %m: tensor<1xi64>{2}) -> (tensor<?x3xi64>, tensor<?x4xf32>) {{\n"
        "%0 = nn.non_max_suppression %b, %s, %m{3} {{center_point_box = {4} : i64, operandSegmentSizes = array<i32: 1, "
        "1, "
        "1, {5}, {5}>}} : ({6}{7}) -> tensor<?x3xi64> loc(\"nms\")\n"
        "%c = nn.constant {{value = dense<2> : tensor<i64>}} : tensor<i64>\n"
        "%1 = nn.gather %0, %c {{axis = 1 : i64}} : (tensor<?x3xi64>, tensor<i64>) -> tensor<?xi64>\n"
        "%z = nn.constant {{value = dense<0> : tensor<i64>}} : tensor<i64>\n"
        "%2 = nn.gather %b, %z {{axis = 0 : i64}} : (tensor<{0}x?x4xf32>, tensor<i64>) -> tensor<?x4xf32>\n"
        "%3 = nn.gather %2, %1 {{axis = 0 : i64}} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>\n"
        "%4 = nn.sigmoid %3 : (tensor<?x4xf32>) -> tensor<?x4xf32>\n"
        "return %0, %4 : tensor<?x3xi64>, tensor<?x4xf32>\n}}",
        batch, classes, limits ? ", %i: tensor<1xf32>, %t: tensor<1xf32>" : "", limits ? ", %i, %t" : "", center,
        int(limits), types, limits ? ", tensor<1xf32>, tensor<1xf32>" : "");
    std::vector<std::vector<Value>> runs;
    for (int64_t most : {int64_t(1000), int64_t(0), in(1, 9)}) {
      int64_t count = in(1, 300);
      std::vector<Value> inputs = {reals({batch, count, 4}, 0, 10), reals({batch, classes, count}, 0, 1),
                                   integers({1}, {most})};
      if (limits) {
        inputs.emplace_back(reals({1}, 0.2, 0.7));
        inputs.emplace_back(reals({1}, 0.1, 0.9));
      }
      runs.push_back(std::move(inputs));
    }
    check(text, runs);
  }
}

TEST_F(LateExtents, range) {
  for (auto [name, type] : {std::pair{"i64", ElementType::i64},
                            {"i32", ElementType::i32},
                            {"f32", ElementType::f32},
                            {"f64", ElementType::f64},
                            {"i16", ElementType::i16}}) {
    std::string text =
        fmt::format("func.func @main(%s: tensor<{0}>, %l: tensor<{0}>, %d: tensor<{0}>) -> tensor<?x{0}> {{\n"
                    "%0 = nn.range %s, %l, %d : (tensor<{0}>, tensor<{0}>, tensor<{0}>) -> tensor<?x{0}>\n"
                    "%1 = nn.abs %0 : (tensor<?x{0}>) -> tensor<?x{0}>\nreturn %1 : tensor<?x{0}>\n}}",
                    name);
    std::vector<std::vector<Value>> runs;
    for (auto [start, limit, delta] : {std::array{0, 10, 3}, {5, 5, 1}, {10, -10, -4}, {0, 200, 1}, {3, 0, 2}})
      runs.push_back({integers({}, {start}, type), integers({}, {limit}, type), integers({}, {delta}, type)});
    check(text, runs);
  }
}

TEST_F(LateExtents, sliceAtComputedPlaces) {
  random.seed(firstSeed());
  std::string text =
      "func.func @main(%x: tensor<9x?xf32> {nn.dims = [\"9\", \"N\"]}, %s: tensor<2xi64>, %e: tensor<2xi32>) -> "
      "tensor<?x?xf32> {\n"
      "%e2 = nn.cast %e {to = i64} : (tensor<2xi32>) -> tensor<2xi64>\n"
      "%0 = nn.slice %x, %s, %e2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, axes = array<i64: 0, 1>, steps = "
      "array<i64: 1, 2>} : (tensor<9x?xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>\n"
      "%1 = nn.neg %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>\nreturn %1 : tensor<?x?xf32>\n}";
  std::vector<std::vector<Value>> runs;
  for (int64_t i = 0; i < 12; ++i)
    runs.push_back({reals({9, in(1, 8)}, -1, 1), integers({2}, {in(-12, 12), in(-12, 12)}),
                    integers({2}, {in(-12, 12), i % 3 ? in(-12, 12) : INT32_MAX}, ElementType::i32)});
  check(text, runs);
}

TEST_F(LateExtents, reshapeExpandTilePadAndFillToComputedExtents) {
  random.seed(firstSeed());
  std::string head = "func.func @main(%x: tensor<4x6xf32>, %t: tensor<2xi64>) -> tensor<?x?xf32> {\n%0 = nn.";
  std::string tail = " : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>\n%1 = nn.exp %0 : (tensor<?x?xf32>) -> "
                     "tensor<?x?xf32>\nreturn %1 : tensor<?x?xf32>\n}";
  auto runs = [&](std::initializer_list<std::vector<int64_t>> targets) {
    std::vector<std::vector<Value>> result;
    for (const std::vector<int64_t> &target : targets)
      result.push_back({reals({4, 6}, -1, 1), integers({2}, target)});
    return result;
  };
  check(head + "reshape %x, %t" + tail, runs({{3, 8}, {-1, 2}, {0, -1}, {24, 1}, {0, 0}}));
  check(head + "tile %x, %t" + tail, runs({{1, 2}, {3, 0}, {2, 2}}));
  check(
      "func.func @main(%x: tensor<1x6xf32>, %t: tensor<3xi64>) -> tensor<?x?x?xf32> {\n"
      "%0 = nn.expand %x, %t : (tensor<1x6xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>\nreturn %0 : tensor<?x?x?xf32>\n}",
      {{reals({1, 6}, 0, 1), integers({3}, {2, 5, 6})}, {reals({1, 6}, 0, 1), integers({3}, {1, 0, 1})}});
  check("func.func @main(%x: tensor<4x6xf32>, %t: tensor<4xi64>) -> tensor<?x?xf32> {\n"
        "%0 = nn.pad %x, %t {operandSegmentSizes = array<i32: 1, 1, 0>, value = 2.0} : (tensor<4x6xf32>, "
        "tensor<4xi64>) -> "
        "tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>\n}",
        {{reals({4, 6}, 0, 1), integers({4}, {1, 2, 0, 3})},
         {reals({4, 6}, 0, 1), integers({4}, {-1, 2, 3, -3})},
         {reals({4, 6}, 0, 1), integers({4}, {0, 0, 0, 0})}});
  check("func.func @main(%t: tensor<2xi64>) -> tensor<?x?xf32> {\n%0 = nn.constant_of_shape %t {value = 1.5, type = "
        "f32} : "
        "(tensor<2xi64>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>\n}",
        {{integers({2}, {2, 3})}, {integers({2}, {0, 7})}});
}

/// Positions of what is above a threshold that grows, in a loop; then the rows they name, in a branch.
const char *inBodies = R"(
module {
  module @body {
    func.func @main(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<8x4xf32>, %s: tensor<f32>, %one: tensor<f32>)
        -> (tensor<i1>, tensor<8x4xf32>, tensor<f32>) {
      %0 = nn.greater %v, %s : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xi1>
      %1 = nn.non_zero %0 : (tensor<8x4xi1>) -> tensor<2x?xi64> loc("found")
      %2 = nn.cast %1 {to = f32} : (tensor<2x?xi64>) -> tensor<2x?xf32>
      %3 = nn.reduce_sum %2 {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x?xf32>) -> tensor<f32>
      %4 = nn.add %s, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %5 = nn.add %v, %3 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %6 = nn.sin %5 : (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %c, %6, %4 : tensor<i1>, tensor<8x4xf32>, tensor<f32>
    }
  }
  module @some {
    func.func @main(%v: tensor<8x4xf32>) -> tensor<?xf32> {
      %z = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
      %0 = nn.greater %v, %z : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xi1>
      %1 = nn.reshape %0 {shape = array<i64: 32>} : (tensor<8x4xi1>) -> tensor<32xi1>
      %2 = nn.compress %v, %1 : (tensor<8x4xf32>, tensor<32xi1>) -> tensor<?xf32> loc("kept")
      %3 = nn.exp %2 : (tensor<?xf32>) -> tensor<?xf32>
      return %3 : tensor<?xf32>
    }
  }
  module @none {
    func.func @main(%v: tensor<8x4xf32>) -> tensor<32xf32> {
      %1 = nn.reshape %v {shape = array<i64: 32>} : (tensor<8x4xf32>) -> tensor<32xf32>
      return %1 : tensor<32xf32>
    }
  }
  func.func @main(%n: tensor<i64>, %b: tensor<i1>, %x: tensor<8x4xf32>) -> (tensor<?xf32>, tensor<f32>) {
    %true = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
    %z = nn.constant {value = dense<-2.0> : tensor<f32>} : tensor<f32>
    %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
    %0:2 = nn.loop %n, %true, %x, %z, %one {body = @body, carried = 2 : i64}
        : (tensor<i64>, tensor<i1>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<f32>)
    %1 = nn.if %b, %0#0 {then_body = @some, else_body = @none} : (tensor<i1>, tensor<8x4xf32>) -> tensor<?xf32> loc("if")
    %2 = nn.tanh %1 : (tensor<?xf32>) -> tensor<?xf32>
    %3 = nn.reduce_sum %2 {axes = array<i64: 0>, keepdims = false} : (tensor<?xf32>) -> tensor<f32>
    return %2, %3 : tensor<?xf32>, tensor<f32>
  }
})";

TEST_F(LateExtents, inBodies) {
  random.seed(firstSeed());
  std::vector<std::vector<Value>> runs;
  for (auto [trips, taken] : {std::pair{3, 1}, {0, 1}, {5, 0}, {7, 1}})
    runs.push_back({integers({}, {trips}), integers({}, {taken}, ElementType::boolean), reals({8, 4}, -3, 3)});
  check(inBodies, runs, /*mayRefer=*/true);
  for (const std::string &use : compiled(inBodies, 3).references)
    EXPECT_TRUE(use.find("non_zero") == std::string::npos && use.find("compress") == std::string::npos &&
                use.find("tanh") == std::string::npos && use.find("reduce_sum") == std::string::npos)
        << use;
}

TEST_F(LateExtents, referencesAloneBindThem) {
  random.seed(firstSeed());
  std::string text =
      "func.func @main(%x: tensor<40xf32>) -> tensor<?xf32> {\n%y:4 = nn.unique %x : (tensor<40xf32>) -> "
      "(tensor<?xf32>, tensor<?xi64>, tensor<40xi64>, tensor<?xi64>)\n%1 = nn.neg %y#0 : (tensor<?xf32>) -> "
      "tensor<?xf32>\nreturn %1 : tensor<?xf32>\n}";
  runtime::Context context(compiled(text, 3, true).model, {});
  for (int64_t most : {4, 0, 30}) {
    std::vector<Value> inputs = {numbers({40}, ElementType::f32, 0, most)};
    expectEqual(context.run(inputs), expected(text, inputs));
  }
}

/// Slices along an axis stay with the reference: it binds their number, and what is behind is compiled.
TEST_F(LateExtents, aReferenceBindsWhatItFinds) {
  random.seed(firstSeed());
  std::string text =
      "func.func @main(%x: tensor<9x2xf32>) -> tensor<?x2xf32> {\n%y:4 = nn.unique %x {axis = 0 : i64} : "
      "(tensor<9x2xf32>) -> (tensor<?x2xf32>, tensor<?xi64>, tensor<9xi64>, tensor<?xi64>) loc(\"rows\")\n"
      "%1 = nn.exp %y#0 : (tensor<?x2xf32>) -> tensor<?x2xf32>\nreturn %1 : tensor<?x2xf32>\n}";
  Package package = compiled(text, 3);
  ASSERT_EQ(package.references.size(), 1u) << fmt::format("{}", fmt::join(package.references, "; "));
  EXPECT_TRUE(package.references[0].starts_with("unique: "));
  runtime::Context context(package.model, {});
  for (int64_t most : {1, 0, 3}) {
    std::vector<Value> inputs = {numbers({9, 2}, ElementType::f32, 0, most)};
    expectEqual(context.run(inputs), expected(text, inputs));
  }
}

TEST_F(LateExtents, memoryDoesNotGrowOverRuns) {
  random.seed(firstSeed());
  std::string text = "func.func @main(%x: tensor<4096xf32>) -> (tensor<?xf32>, tensor<f32>) {\n"
                     "%0 = nn.non_zero %x : (tensor<4096xf32>) -> tensor<1x?xi64>\n"
                     "%1 = nn.cast %0 {to = f32} : (tensor<1x?xi64>) -> tensor<1x?xf32>\n"
                     "%2 = nn.softmax %1 : (tensor<1x?xf32>) -> tensor<1x?xf32>\n"
                     "%s = nn.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>\n"
                     "%3 = nn.reshape %2, %s : (tensor<1x?xf32>, tensor<1xi64>) -> tensor<?xf32>\n"
                     "%4 = nn.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<?xf32>) -> tensor<f32>\n"
                     "return %3, %4 : tensor<?xf32>, tensor<f32>\n}";
  Package package = compiled(text, 3);
  EXPECT_TRUE(package.references.empty()) << fmt::format("{}", fmt::join(package.references, "; "));
  runtime::Context context(package.model, {.threads = 2});
  auto total = [&] {
    runtime::MemoryUse use = context.memory();
    return use.arenaBytes + use.copiedBytes + use.outputBytes;
  };
  Tensor x(ElementType::f32, {4096});
  auto run = [&](int64_t count) {
    std::memset(x.data(), 0, static_cast<size_t>(x.bytes()));
    for (int64_t i = 0; i < count; ++i)
      x.as<float>()[in(0, 4095)] = 1;
    context.setInput(0, x);
    context.run();
  };
  run(1 << 16); // as many as there can be
  uint64_t most = total();
  EXPECT_LT(most, uint64_t(1) << 20);
  for (int i = 0; i < 10000; ++i) {
    run(in(0, 100));
    ASSERT_LE(total(), most) << "run " << i;
  }
}

} // namespace
} // namespace lathe
