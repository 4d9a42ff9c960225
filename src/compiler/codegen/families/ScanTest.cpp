// Scans against the references: random shapes, axes and types, many equal elements.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

class Scan : public testing::Test {
protected:
  Target target = testTarget();
  std::mt19937_64 random;
  std::string type;
  std::vector<int64_t> dims;
  int64_t axis = 0;
  bool symbolic = false; // the first extent, unless it is the axis'

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  bool maybe(unsigned n = 2) { return random() % n == 0; }

  void start(uint64_t seed) {
    random.seed(seed);
    const char *types[] = {"f32", "f32", "f32", "f64", "i32", "i64", "i8", "ui8", "f16", "bf16"};
    type = types[random() % std::size(types)];
    dims.assign(1 + random() % 4, 1);
    for (int64_t &extent : dims)
      extent = maybe(4) ? 1 : upTo(dims.size() < 3 ? 150 : 20);
    axis = static_cast<int64_t>(random() % dims.size());
    symbolic = maybe(3) && axis != 0;
  }
  std::string tensor(const std::vector<int64_t> &extents, const std::string &element) const {
    std::string result = "tensor<";
    for (size_t i = 0; i < extents.size(); ++i)
      result += (symbolic && i == 0 ? std::string("?") : std::to_string(extents[i])) + "x";
    return result + element + ">";
  }
  std::string argument() const {
    std::string result = "%x: " + tensor(dims, type);
    if (symbolic)
      result += fmt::format(" {{nn.dims = [\"N\"{}{}]}}", dims.size() > 1 ? ", " : "",
                            fmt::join(
                                [&] {
                                  std::vector<std::string> rest;
                                  for (size_t i = 1; i < dims.size(); ++i)
                                    rest.push_back(fmt::format("\"{}\"", dims[i]));
                                  return rest;
                                }(),
                                ", "));
    return result;
  }
  int64_t signedAxis() { return maybe() ? axis : axis - static_cast<int64_t>(dims.size()); }
  /// Small whole numbers: many are equal. Some NaN in floats.
  void check(uint64_t seed, const std::string &results, const std::string &body, double tolerance, bool nan = true) {
    std::string text = fmt::format("func.func @k({}) -> {} attributes {{nn.family = \"scan\"}} {{\n  {}\n}}",
                                   argument(), results, body);
    std::string schedule = maybe() ? "" : fmt::format("scan/1 grain={}", upTo(2000));
    KernelUnderTest kernel(text, target, seed, 1 + static_cast<int>(seed % 3));
    ASSERT_EQ(kernel.declined(schedule), "") << "seed " << seed;
    auto inputs = kernel.randomInputs(type == "ui8" ? 0 : -4, 4, {{"N", dims[0]}});
    if (nan && (type == "f32" || type == "f64") && maybe())
      for (int64_t i = 0; i < inputs[0].elements(); i += 1 + static_cast<int64_t>(random() % 9)) {
        if (type == "f32")
          inputs[0].as<float>()[i] = std::numeric_limits<float>::quiet_NaN();
        else
          inputs[0].as<double>()[i] = std::numeric_limits<double>::quiet_NaN();
      }
    auto got = kernel.run(inputs, schedule), expected = kernel.expected(inputs);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(difference(got[i], expected[i], tolerance), "") << "result " << i << ", seed " << seed << "\n" << text;
  }
};

uint64_t firstSeed() {
  uint64_t seed = std::getenv("LATHE_TEST_SEED") ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                                                 : std::random_device{}() % 1000000;
  std::cout << "first seed " << seed << " (LATHE_TEST_SEED repeats it)\n";
  return seed;
}

TEST_F(Scan, argumentsOfExtremes) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 120 && !HasFatalFailure(); ++seed) {
    start(seed);
    bool keep = maybe();
    auto out = dims;
    if (keep)
      out[axis] = 1;
    else
      out.erase(out.begin() + axis);
    if (symbolic && !keep && axis == 0)
      continue;
    std::string y = tensor(out, "i64");
    check(seed, y,
          fmt::format(
              "%y = nn.{} %x {{axis = {} : i64, keepdims = {}, select_last_index = {}}} : ({}) -> {}\n  return %y : {}",
              maybe() ? "arg_max" : "arg_min", signedAxis(), keep, maybe(), tensor(dims, type), y, y),
          0);
  }
}

TEST_F(Scan, onesAtTheGreatestElements) {
  for (uint64_t first = firstSeed(), seed = first; seed < first + 80 && !HasFatalFailure(); ++seed) {
    start(seed);
    if (type[0] == 'i' || type[0] == 'u')
      continue;
    std::string y = tensor(dims, type);
    check(seed, y,
          fmt::format("%y = nn.hardmax %x {{axis = {} : i64}} : ({}) -> {}\n  return %y : {}", signedAxis(), y, y, y),
          0);
  }
}

TEST_F(Scan, runningSumsAndProducts) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 80 && !HasFatalFailure(); ++seed) {
    start(seed);
    bool sum = maybe() || isdigit(type.back()) == 0 || type[0] != 'i';
    double tolerance = type == "f16" || type == "bf16" ? 2e-2 : type == "f32" ? 1e-5 : 1e-12;
    std::string y = tensor(dims, type);
    check(seed, y,
          fmt::format("%y = nn.{} %x {{axis = {} : i64, exclusive = {}, reverse = {}}} : ({}) -> {}\n  return %y : {}",
                      sum ? "cum_sum" : "cum_prod", signedAxis(), maybe(), maybe(), y, y, y),
          tolerance, false);
  }
}

TEST_F(Scan, greatestElements) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 100 && !HasFatalFailure(); ++seed) {
    start(seed);
    auto out = dims;
    out[axis] = upTo(dims[axis]);
    std::string values = tensor(out, type), indices = tensor(out, "i64");
    check(seed, fmt::format("({}, {})", values, indices),
          fmt::format("%v, %i = nn.top_k %x {{k = {} : i64, axis = {} : i64, largest = {}}} : ({}) -> ({}, {})\n  "
                      "return %v, %i : {}, {}",
                      out[axis], signedAxis(), maybe(), tensor(dims, type), values, indices, values, indices),
          0);
  }
}

/// Lines whose order makes the best elements change often or never, with ties and numbers of all kinds.
Tensor lines(const Tensor &like, std::mt19937_64 &random, int kind) {
  Tensor values(ElementType::f64, like.dims());
  int64_t length = like.dims().back();
  for (int64_t i = 0; i < values.elements(); ++i) {
    double at = double(i % length), number = double(random() % 2000000) / 1e6 - 1;
    values.as<double>()[i] = kind == 0   ? number
                             : kind == 1 ? at
                             : kind == 2 ? -at
                             : kind == 3 ? double(random() % 5) - 2
                                         : (random() % 2 ? 0.0 : -0.0);
    if (kind == 0 && random() % 50 == 0 && isFloat(like.type()))
      values.as<double>()[i] =
          std::array{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity(), 0.0, -0.0}[random() % 5];
  }
  return values.convertedTo(like.type());
}

TEST_F(Scan, greatestElementsOfLines) {
  for (uint64_t first = firstSeed(), seed = first; seed < first + 60 && !HasFatalFailure(); ++seed) {
    start(seed);
    std::string element = std::vector<std::string>{"f32", "f32", "f16", "bf16", "i32", "f64", "i16"}[seed % 7];
    bool open = maybe(), largest = maybe();
    int64_t rows = upTo(2), whole = std::vector<int64_t>{20000, 4096, 1003, 130}[random() % 4];
    int64_t most = std::min(whole, std::vector<int64_t>{1, 5, 40, 300, 3000}[seed % 5]);
    std::string extent = open ? "?" : std::to_string(whole), kept = open ? "?" : std::to_string(most);
    auto shape = [&](const std::string &length, const std::string &type) {
      return fmt::format("tensor<{}x{}x{}>", rows, length, type);
    };
    std::string x = shape(extent, element), values = shape(kept, element), places = shape(kept, "i64");
    std::string arguments = open
                                ? fmt::format("%x: {} {{nn.dims = [\"{}\", \"N\"]}}, %k: tensor<1xi64> {{nn.contents = "
                                              "[\"K\"]}}, %u: tensor<?xf32> {{nn.dims = [\"K\"]}}",
                                              x, rows)
                                : "%x: " + x;
    std::string text =
        fmt::format("func.func @k({0}) -> ({1}, {2}) attributes {{nn.family = \"scan\"}} {{\n  %v, %i = nn.top_k %x{3} "
                    "{{{4}axis = -1 "
                    ": i64, largest = {5}}} : ({6}{7}) -> ({1}, {2})\n  return %v, %i : {1}, {2}\n}}",
                    arguments, values, places, open ? ", %k" : "", open ? "" : fmt::format("k = {} : i64, ", most),
                    largest, x, open ? ", tensor<1xi64>" : "");
    KernelUnderTest kernel(text, target, seed, 1 + static_cast<int>(seed % 2));
    ASSERT_EQ(kernel.declined(), "") << text;
    for (int kind = 0; kind < 5; ++kind) {
      int64_t length = open ? std::vector<int64_t>{1, 700, 9000, 20000, 30001}[random() % 5] : whole;
      int64_t k = std::min(most, length);
      auto inputs = kernel.randomInputs(-1, 1, {{"N", length}, {"K", k}});
      inputs[0] = lines(inputs[0], random, kind);
      if (open)
        inputs[1] = Tensor::of<int64_t>({1}, {k});
      auto got = kernel.run(inputs), expected = kernel.expected(inputs);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(difference(got[i], expected[i], 0), "")
            << "result " << i << ", kind " << kind << ", seed " << seed << "\n"
            << text;
    }
  }
}

} // namespace
} // namespace lathe
