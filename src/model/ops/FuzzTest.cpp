// Hostile inputs: for any attributes, ranks, types and extents, a shape function infers or throws Error, and the
// reference computes accepted operands without leaving its buffers (run under the asan preset).
#include "ops/Reference.h"
#include "ops/Registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lathe {
namespace {

class Fuzzer {
public:
  explicit Fuzzer(uint64_t seed) : random(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  bool oneIn(int64_t n) { return below(n) == 0; }
  template <class T> T oneOf(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

  int64_t integer(bool sane) {
    if (sane || !oneIn(4))
      return oneIn(3) ? below(9) - 3 : below(4);
    return oneOf<int64_t>({INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t(1) << 31, int64_t(1) << 62, -(int64_t(1) << 40),
                           1 << 20, static_cast<int64_t>(random())});
  }
  double real(bool sane) {
    if (sane || !oneIn(4))
      return oneOf<double>({0, 1, -1, 0.5, 2, 3.7, 0.01});
    return oneOf<double>({INFINITY, -INFINITY, NAN, 1e300, -1e300, 1e-300, 1e18});
  }
  ElementType type() {
    return oneIn(3) ? static_cast<ElementType>(below(21))
                    : oneOf({ElementType::f32, ElementType::i64, ElementType::boolean});
  }

private:
  std::mt19937_64 random;
};

/// Random values for every field; `rank` is the most frequent length of lists.
class RandomAttrs : public AttrVisitor {
public:
  RandomAttrs(Fuzzer &fuzz, int64_t rank, bool sane) : fuzz(fuzz), rank(rank), sane(sane) {}
  void field(const char *, int64_t &value) override {
    if (!fuzz.oneIn(3))
      value = fuzz.integer(sane);
  }
  void field(const char *, double &value) override {
    if (!fuzz.oneIn(3))
      value = fuzz.real(sane);
  }
  void field(const char *, bool &value) override { value = fuzz.oneIn(2); }
  void field(const char *, std::string &value) override {
    if (!fuzz.oneIn(3))
      value = fuzz.oneOf({"constant",
                          "edge",
                          "reflect",
                          "wrap",
                          "nearest",
                          "linear",
                          "cubic",
                          "half_pixel",
                          "align_corners",
                          "asymmetric",
                          "half_pixel_symmetric",
                          "pytorch_half_pixel",
                          "tf_half_pixel_for_nn",
                          "tf_crop_and_resize",
                          "floor",
                          "ceil",
                          "round_prefer_ceil",
                          "none",
                          "tanh",
                          "DCR",
                          "CRD",
                          ""});
  }
  void field(const char *, ElementType &value) override { value = fuzz.type(); }
  void field(const char *, std::vector<int64_t> &value) override {
    value.resize(length());
    bool positive = fuzz.oneIn(2);
    for (int64_t &v : value)
      v = positive ? 1 + fuzz.below(2) : fuzz.integer(sane);
  }
  void field(const char *, std::vector<double> &value) override {
    value.resize(length());
    for (double &v : value)
      v = fuzz.oneIn(2) ? 1 + static_cast<double>(fuzz.below(8)) / 4 : fuzz.real(sane);
  }

private:
  Fuzzer &fuzz;
  int64_t rank;
  bool sane;
  int64_t length() {
    return fuzz.oneOf<int64_t>({0, 1, fuzz.below(4), rank, rank, rank, std::max<int64_t>(rank - 2, 0),
                                std::max<int64_t>(rank - 2, 0), 2 * std::max<int64_t>(rank - 2, 0), 2 * rank});
  }
};

Dim randomExtent(Fuzzer &fuzz) {
  switch (fuzz.below(12)) {
  case 0:
    return Dim::symbol("N");
  case 1:
    return Dim::symbol("M") * 2 - 1;
  case 2:
    return floorDiv(Dim::symbol("N") + fuzz.below(3), 2);
  case 3:
    return unknownDim();
  case 4:
    return fuzz.integer(false);
  default:
    return fuzz.below(5);
  }
}

TensorInfo randomInfo(Fuzzer &fuzz, int64_t rank, ElementType type) {
  TensorInfo info{type, {}, std::nullopt};
  for (int64_t i = fuzz.oneIn(3) ? fuzz.below(7) : rank; i > 0; --i)
    info.dims.push_back(randomExtent(fuzz));
  if (fuzz.oneIn(40))
    info.dims.resize(40, 1);
  if (fuzz.oneIn(2) && isInteger(type)) {
    info.dims = fuzz.oneIn(3) ? Dims{} : Dims{fuzz.oneIn(2) ? rank : fuzz.below(6)};
    info.contents.emplace();
    for (int64_t i = product(info.dims).constant(); i > 0; --i)
      info.contents->push_back(fuzz.oneIn(2) ? Dim(fuzz.integer(false)) : randomExtent(fuzz));
  }
  return info;
}

uint64_t chosenSeed() {
  if (const char *text = std::getenv("LATHE_FUZZ_SEED"))
    return std::strtoull(text, nullptr, 10);
  return std::random_device{}();
}

TEST(Fuzz, ShapeFunctionsInferOrThrowError) {
  uint64_t seed = chosenSeed();
  fmt::print("seed {} (LATHE_FUZZ_SEED repeats it)\n", seed);
  int64_t inferred = 0, thrown = 0;
  for (const OpRecord &record : opRecords()) {
    Fuzzer fuzz(seed);
    for (int round = 0; round < 1500; ++round) {
      int64_t rank = fuzz.below(6);
      auto attrs = record.makeAttrs();
      RandomAttrs randomizer(fuzz, rank, fuzz.oneIn(2));
      attrs->visit(randomizer);
      std::vector<TensorInfo> infos;
      ElementType common = fuzz.type();
      size_t count = record.operands.size();
      if (!record.operands.empty() && record.operands.back().variadic)
        count = fuzz.below(4);
      if (fuzz.oneIn(50))
        count = fuzz.below(8);
      for (size_t i = 0; i < count; ++i) {
        bool integers = i < record.operands.size() && (*record.operands[i].staticAttribute || fuzz.oneIn(4));
        infos.push_back(randomInfo(fuzz, rank, integers ? ElementType::i64 : fuzz.oneIn(8) ? fuzz.type() : common));
      }
      InferInputs in;
      for (size_t i = 0; i < count; ++i)
        in.push_back(i < record.operands.size() && record.operands[i].optional && fuzz.oneIn(2) ? nullptr : &infos[i]);
      try {
        InferResult results = record.infer(*attrs, in);
        InferInputs out;
        for (const TensorInfo &result : results) {
          EXPECT_LE(result.rank(), maxRank);
          for (const Dim &extent : result.dims)
            EXPECT_GE(extent.constantOr(0), 0) << record.name << " " << describe(*attrs);
          if (result.contents) {
            EXPECT_EQ(product(result.dims), Dim(static_cast<int64_t>(result.contents->size())))
                << record.name << " " << describe(*attrs);
          }
          out.push_back(&result);
        }
        record.flops(*attrs, in, out);
        ++inferred;
      } catch (const Error &) {
        ++thrown;
      }
    }
  }
  fmt::print("{} inferred, {} errors\n", inferred, thrown);
  EXPECT_GT(inferred, 1000);
}

Tensor randomTensor(Fuzzer &fuzz, std::vector<int64_t> dims, ElementType type) {
  if (type == ElementType::string)
    return Tensor(type, std::move(dims));
  std::vector<double> values(Tensor(ElementType::u8, dims).elements());
  for (double &v : values)
    v = fuzz.real(!fuzz.oneIn(8)) + static_cast<double>(fuzz.integer(true));
  return Tensor::of<double>(std::move(dims), values).convertedTo(type);
}

TEST(Fuzz, ReferencesStayInTheirBuffers) {
  uint64_t seed = chosenSeed();
  fmt::print("seed {} (LATHE_FUZZ_SEED repeats it)\n", seed);
  int64_t computed = 0;
  for (const OpRecord &record : opRecords()) {
    Fuzzer fuzz(seed);
    for (int round = 0; round < 400; ++round) {
      int64_t rank = fuzz.oneIn(4) ? fuzz.below(6) : 2 + fuzz.below(4);
      auto attrs = record.makeAttrs();
      RandomAttrs randomizer(fuzz, rank, !fuzz.oneIn(8));
      attrs->visit(randomizer);
      ElementType common = fuzz.oneIn(2) ? ElementType::f32 : fuzz.type();
      if (common == ElementType::invalid)
        continue;
      bool variadic = !record.operands.empty() && record.operands.back().variadic;
      size_t count = variadic ? 1 + fuzz.below(3) : record.operands.size();
      std::vector<int64_t> shape;
      for (int64_t i = 0; i < rank; ++i)
        shape.push_back(fuzz.oneIn(12) ? 0 : 1 + fuzz.below(6));
      std::vector<Value> values;
      for (size_t i = 0; i < count; ++i) {
        const OperandRecord &operand = record.operands[std::min(i, record.operands.size() - 1)];
        std::vector<int64_t> dims = shape;
        if (!fuzz.oneIn(3))
          for (int64_t &d : dims)
            d = fuzz.oneIn(4) ? 1 : d;
        if (fuzz.oneIn(5) && !dims.empty())
          dims.erase(dims.begin());
        bool integers = *operand.staticAttribute || fuzz.oneIn(6);
        if (integers || fuzz.oneIn(4))
          dims = fuzz.oneIn(3) ? std::vector<int64_t>{} : std::vector<int64_t>{fuzz.oneIn(2) ? rank : fuzz.below(6)};
        if (*operand.staticAttribute && std::string_view(operand.staticAttribute) == "pads")
          dims = {2 * rank};
        ElementType type = integers ? ElementType::i64 : common;
        values.push_back(randomTensor(fuzz, dims, type));
      }
      std::vector<const Value *> inputs;
      for (size_t i = 0; i < count; ++i)
        inputs.push_back(!variadic && record.operands[i].optional && fuzz.oneIn(2) ? nullptr : &values[i]);
      try {
        // Computes only small cases.
        std::vector<TensorInfo> infos(count);
        InferInputs in(count, nullptr);
        bool small = true;
        for (size_t i = 0; i < count; ++i)
          if (inputs[i]) {
            const Tensor &t = inputs[i]->tensor();
            infos[i] = {t.type(), toDims(t.dims()), std::nullopt};
            if (isInteger(t.type()) && t.elements() <= 64) {
              infos[i].contents.emplace();
              for (int64_t e = 0; e < t.elements(); ++e)
                infos[i].contents->push_back(t.asInteger(e));
            }
            in[i] = &infos[i];
          }
        for (const TensorInfo &result : record.infer(*attrs, in))
          small &= product(result.dims).constantOr(0) < 20000;
        if (!small || std::string_view(record.name) == "range")
          continue;
        for (const Value &result : evaluateReference(record.name, *attrs, inputs))
          EXPECT_TRUE(!result.isTensor() || result.tensor().defined()) << record.name << " " << describe(*attrs);
        ++computed;
      } catch (const Error &) {
      }
    }
  }
  fmt::print("{} evaluated\n", computed);
  EXPECT_GT(computed, 1000);
}

} // namespace
} // namespace lathe
