// Pooling kernels against the references.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

class Pool : public testing::Test {
protected:
  Target target = testTarget();
  int64_t block = target.channelBlock();
};

std::string list(const std::vector<int64_t> &values) { return fmt::format("array<i64: {}>", fmt::join(values, ", ")); }

TEST_F(Pool, randomWindows) {
  int run = 0;
  for (uint64_t seed : randomSeeds(240)) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    size_t rank = 1 + random() % 3;
    bool average = random() % 2, ceil = random() % 3 == 0, includePad = average && random() % 2;
    bool xBlocked = random() % 3, yBlocked = random() % 8 ? xBlocked : !xBlocked;
    bool symbolic = random() % 3 == 0;
    std::vector<int64_t> in{symbolic ? -1 : upTo(2), upTo(40)}, kernel, strides, dilations, pads(2 * rank),
        out{in[0], in[1]};
    bool legal = true;
    for (size_t i = 0; i < rank; ++i) {
      in.push_back(upTo(i + 1 == rank ? 40 : 9));
      kernel.push_back(upTo(4));
      strides.push_back(upTo(3));
      dilations.push_back(random() % 4 ? 1 : upTo(3));
      int64_t window = (kernel[i] - 1) * dilations[i] + 1;
      pads[i] = random() % 2 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(window));
      pads[rank + i] = random() % 2 ? pads[i] : static_cast<int64_t>(random() % static_cast<uint64_t>(window));
      int64_t room = in[2 + i] + pads[i] + pads[rank + i] - window;
      legal &= room + (ceil ? strides[i] - 1 : 0) >= 0;
      int64_t extent = room / strides[i] + 1;
      if (ceil)
        extent = std::min((room + strides[i] - 1) / strides[i] + 1, (in[2 + i] + pads[i] - 1) / strides[i] + 1);
      out.push_back(extent);
      legal &= extent > 0;
    }
    if (!legal)
      continue;
    ++run;
    const char *type = average
                           ? std::vector<const char *>{"f32", "f32", "f64", "f16"}[random() % 4]
                           : std::vector<const char *>{"f32", "f32", "f64", "bf16", "i8", "ui8", "i32"}[random() % 7];
    auto tensor = [&](const std::vector<int64_t> &dims, bool blocked) {
      std::string result = "tensor<";
      for (int64_t extent : dims)
        result += (extent < 0 ? std::string("?") : std::to_string(extent)) + "x";
      return result + type + (blocked ? fmt::format(", #nn.blocked<1, {}>>", block) : ">");
    };
    std::string dims;
    if (symbolic) {
      dims = " {nn.dims = [\"N\"";
      for (size_t i = 1; i < in.size(); ++i)
        dims += fmt::format(", \"{}\"", in[i]);
      dims += "]}";
    }
    std::string x = tensor(in, xBlocked), y = tensor(out, yBlocked), bias = fmt::format("tensor<{}", in[1]);
    for (size_t i = 0; i < rank; ++i)
      bias += "x1";
    bias += fmt::format("x{}>", type);
    // With an epilogue half of the time: a per-channel bias and a residual.
    bool epilogue = random() % 2;
    std::string text =
        fmt::format("func.func @k(%x: {0}{9}{6}) -> {1} attributes {{nn.family = \"pool\"}} {{\n"
                    "  %p = nn.{2} %x {{kernel = {3}, strides = {4}, pads = {5}, dilations = {7}, ceil_mode = "
                    "{8}{10}}} : ({0}) -> {1}\n",
                    x, y, average ? "average_pool" : "max_pool", list(kernel), list(strides), list(pads),
                    epilogue ? fmt::format(", %b: {}, %r: {}{}", bias, y,
                                           symbolic ? fmt::format(" {{nn.dims = [\"N\", \"{}\"]}}",
                                                                  fmt::join(out.begin() + 1, out.end(), "\", \""))
                                                    : "")
                             : "",
                    list(dilations), ceil ? "true" : "false", dims, includePad ? ", count_include_pad = true" : "");
    if (epilogue)
      text += fmt::format(
          "  %s = nn.add %p, %b : ({0}, {1}) -> {0}\n  %y = nn.max %s, %r : ({0}, {0}) -> {0}\n  return %y : {0}\n}}",
          y, bias);
    else
      text += fmt::format("  return %p : {}\n}}", y);
    std::string schedule = random() % 2 ? "" : fmt::format("pool/2 grain={} interleave={}", upTo(300), upTo(5));
    bool half = std::string(type) == "f16" || std::string(type) == "bf16";
    EXPECT_EQ(checkKernel(text, target, seed, half ? 1e-2 : 3e-7, -5, 5, schedule, {{"N", 3}}), "") << "seed " << seed;
  }
  EXPECT_GT(run, 150) << "nearly every window is illegal";
}

/// Spatial extents that are known only at run time, with padding that depends on them: one kernel for many extents.
TEST_F(Pool, paddingFollowsOpenExtents) {
  for (uint64_t seed : randomSeeds(60)) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    size_t rank = 1 + random() % 2;
    bool average = random() % 2, includePad = average && random() % 2, blocked = random() % 2;
    std::vector<int64_t> kernel, strides, dilations, begins, ends, rules;
    std::string x = "tensor<2x20", dims = "\"2\", \"20\"";
    for (size_t i = 0; i < rank; ++i) {
      kernel.push_back(upTo(5));
      strides.push_back(upTo(4));
      dilations.push_back(random() % 4 ? 1 : 2);
      rules.push_back(random() % 3 ? 1 : -1);
      int64_t total = (kernel[i] - 1) * dilations[i];
      begins.push_back((total + (rules[i] < 0)) / 2);
      ends.push_back(total - begins[i]);
      x += "x?";
      dims += i + 1 == rank ? ", \"W\"" : ", \"H\"";
    }
    std::string type = average ? "f32" : std::vector<const char *>{"f32", "i8", "ui8"}[random() % 3];
    x += "x" + type + (blocked ? fmt::format(", #nn.blocked<1, {}>>", block) : ">");
    std::vector<int64_t> pads = begins;
    for (const auto &more : {ends, rules})
      pads.insert(pads.end(), more.begin(), more.end());
    std::string text = fmt::format(
        "func.func @k(%x: {0} {{nn.dims = [{1}]}}) -> {0} attributes {{nn.family = \"pool\"}} {{\n"
        "  %p = nn.{2}_pool %x {{kernel = {3}, strides = {4}, pads = {5}, dilations = {6}{7}}} : ({0}) -> {0}\n"
        "  return %p : {0}\n}}",
        x, dims, average ? "average" : "max", list(kernel), list(strides), list(pads), list(dilations),
        includePad ? ", count_include_pad = true" : "");
    std::string schedule = random() % 2 ? "" : fmt::format("pool/2 grain={} interleave={}", upTo(300), upTo(5));
    for (int64_t extent : {upTo(3), upTo(9), 10 + upTo(9), 10 + upTo(9)})
      EXPECT_EQ(checkKernel(text, target, seed, 3e-7, -5, 5, schedule, {{"H", upTo(12)}, {"W", extent}}), "")
          << "seed " << seed << "\n"
          << text;
  }
}

} // namespace
} // namespace lathe
