#include "RankTasks.h"

#include "codegen/target/Target.h"
#include "ops/InputBound.h"
#include "support/Error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace lathe::study {
namespace {

using Extents = std::vector<int64_t>;

std::string tensor(const Extents &dims, int64_t block = 0, const char *type = "f32") {
  return fmt::format("tensor<{}x{}{}>", fmt::join(dims, "x"), type,
                     block ? fmt::format(", #nn.blocked<1, {}>", block) : "");
}

std::string list(const Extents &values) { return fmt::format("array<i64: {}>", fmt::join(values, ", ")); }

/// A kernel: one function.
struct Draft {
  std::string label, arguments, result;
  std::string body; // its operators, the last of which defines %y
  double low = -1, high = 1;
  std::string returned = "%y";
};

struct Conv {
  int64_t channels, size, outputs, kernel, stride = 1, groups = 1;
  bool rowMajorInput = false;
};

std::string attributes(const Conv &conv) {
  int64_t pad = conv.kernel / 2;
  return fmt::format("strides = {}, dilations = array<i64: 1, 1>, pads = {}, group = {} : i64",
                     list({conv.stride, conv.stride}), list({pad, pad, pad, pad}), conv.groups);
}

int64_t outSize(const Conv &conv) { return (conv.size + 2 * (conv.kernel / 2) - conv.kernel) / conv.stride + 1; }

Draft convolution(Random &random, const Target &target, const Conv &conv) {
  int64_t block = target.channelBlock(), out = outSize(conv);
  std::string x = tensor({1, conv.channels, conv.size, conv.size}, conv.rowMajorInput ? 0 : block),
              w = tensor({conv.outputs, conv.channels / conv.groups, conv.kernel, conv.kernel}),
              b = tensor({conv.outputs}), y = tensor({1, conv.outputs, out, out}, block);
  bool residual = random.chance(4);
  std::string arguments =
      fmt::format("%x: {}, %w: {} {{nn.constant}}, %b: {} {{nn.constant}}{}", x, w, b, residual ? ", %r: " + y : "");
  std::string body =
      fmt::format("  %0 = nn.conv %x, %w, %b {{{}}} : ({}, {}, {}) -> {}\n", attributes(conv), x, w, b, y);
  if (residual)
    body += fmt::format("  %1 = nn.add %0, %r : ({0}, {0}) -> {0}\n", y);
  body += fmt::format("  %y = nn.relu {1} : ({0}) -> {0}\n", y, residual ? "%1" : "%0");
  return {fmt::format("conv {}->{} @{} {}x{}/{}{}{}", conv.channels, conv.outputs, conv.size, conv.kernel, conv.kernel,
                      conv.stride, conv.groups > 1 ? fmt::format(" g{}", conv.groups) : "",
                      residual ? " + residual" : ""),
          arguments, y, body};
}

/// Channels and extent of a level of a network: half the extent, twice the channels.
std::pair<int64_t, int64_t> level(Random &random, int64_t first, int64_t last) {
  int64_t at = random.in(first, last);
  static const int64_t sizes[] = {112, 56, 28, 14, 7};
  return {(int64_t(32) << at) * random.of<int64_t>({2, 3, 4}) / 4, sizes[at]};
}

Draft dense3x3(Random &random, const Target &target) {
  auto [channels, size] = level(random, 1, 4);
  return convolution(random, target, {channels, size, channels, 3});
}

Draft pointwise(Random &random, const Target &target) {
  auto [channels, size] = level(random, 1, 4);
  int64_t wide = channels * random.of<int64_t>({1, 2, 4, 6});
  bool widens = random.chance(2);
  return convolution(random, target, {widens ? channels : wide, size, widens ? wide : channels, 1});
}

Draft strided(Random &random, const Target &target) {
  auto [channels, size] = level(random, 1, 3);
  return convolution(random, target, {channels, size, 2 * channels, random.of<int64_t>({1, 3}), 2});
}

Draft firstLayer(Random &random, const Target &target) {
  return convolution(
      random, target,
      {3, random.of<int64_t>({160, 224}), random.of<int64_t>({16, 32, 64}), random.of<int64_t>({3, 7}), 2, 1, true});
}

Draft grouped(Random &random, const Target &target) {
  auto [channels, size] = level(random, 2, 4);
  int64_t groups = random.of<int64_t>({2, 4, 32});
  channels = (channels + groups * 4 - 1) / (groups * 4) * groups * 4;
  return convolution(random, target, {channels, size, channels, random.of<int64_t>({1, 3}), 1, groups});
}

Draft depthwise(Random &random, const Target &target) {
  auto [channels, size] = level(random, 0, 4);
  return convolution(random, target,
                     {channels, size, channels, random.of<int64_t>({3, 5}), random.of<int64_t>({1, 1, 2}), channels});
}

Draft separable(Random &random, const Target &target) {
  auto [channels, size] = level(random, 1, 4);
  int64_t outputs = channels * random.of<int64_t>({1, 2}), block = target.channelBlock();
  Conv first{channels, size, channels, 3, 1, channels}, second{channels, size, outputs, 1};
  std::string x = tensor({1, channels, size, size}, block), w = tensor({channels, 1, 3, 3}),
              v = tensor({outputs, channels, 1, 1}), y = tensor({1, outputs, size, size}, block);
  return {fmt::format("separable {}->{} @{}", channels, outputs, size),
          fmt::format("%x: {}, %w: {} {{nn.constant}}, %v: {} {{nn.constant}}", x, w, v), y,
          fmt::format("  %0 = nn.conv %x, %w {{{}}} : ({}, {}) -> {}\n  %1 = nn.relu %0 : ({}) -> {}\n",
                      attributes(first), x, w, x, x, x) +
              fmt::format("  %y = nn.conv %1, %v {{{}}} : ({}, {}) -> {}\n", attributes(second), x, v, y)};
}

Draft product(const Extents &left, int64_t n, bool constant) {
  int64_t k = left.back();
  Extents right = left, result = left;
  right[right.size() - 2] = k;
  right.back() = result.back() = n;
  if (constant)
    right = {k, n};
  std::string a = tensor(left), b = tensor(right), y = tensor(result);
  return {fmt::format("matmul {} by {}{}", fmt::join(left, "x"), fmt::join(right, "x"), constant ? "" : " (computed)"),
          fmt::format("%a: {}, %b: {}{}", a, b, constant ? " {nn.constant}" : ""), y,
          fmt::format("  %y = nn.matmul %a, %b : ({}, {}) -> {}\n", a, b, y)};
}

Draft gemm(Random &random, const Target &) {
  return product({random.of<int64_t>({32, 64, 128, 197, 384}), random.of<int64_t>({192, 384, 768})},
                 random.of<int64_t>({192, 384, 768, 1536}), true);
}

Draft gemmOfFewRows(Random &random, const Target &) {
  return product({random.of<int64_t>({1, 1, 2, 4, 8}), random.of<int64_t>({256, 512, 1280, 2048})},
                 random.of<int64_t>({256, 1000, 1024}), true);
}

Draft computedProduct(Random &random, const Target &) {
  return product(
      {random.of<int64_t>({4, 8, 12}), random.of<int64_t>({64, 128, 197}), random.of<int64_t>({32, 64, 197})},
      random.of<int64_t>({32, 64, 128, 197}), false);
}

Draft attention(Random &random, const Target &) {
  int64_t heads = random.of<int64_t>({2, 4, 8, 12}), queries = random.of<int64_t>({64, 128, 197, 256}),
          depth = random.of<int64_t>({32, 64});
  bool causal = random.chance(3);
  std::string q = tensor({1, heads, queries, depth});
  return {fmt::format("attention {} heads, {} queries of {}{}", heads, queries, depth, causal ? ", causal" : ""),
          fmt::format("%q: {0}, %k: {0}, %v: {0}", q), q,
          fmt::format("  %y = nn.attention %q, %k, %v {{scale = 0.125 : f64, causal = \"{1}\", fill = -1.0e+4 "
                      ": f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}} : ({0}, {0}, {0}) -> {0}\n",
                      q, causal ? "upper_left" : "none")};
}

Draft recurrent(Random &random, const Target &) {
  std::string cell = random.of<std::string>({"lstm", "gru", "rnn"});
  int64_t gates = cell == "lstm" ? 4 : cell == "gru" ? 3 : 1;
  int64_t hidden = random.of<int64_t>({64, 128, 192, 256}), batch = random.of<int64_t>({1, 1, 4, 16}),
          steps = random.of<int64_t>({8, 16, 32});
  std::string x = tensor({steps, batch, gates * hidden}), r = tensor({1, gates * hidden, hidden}),
              y = tensor({steps, 1, batch, hidden}), state = tensor({1, batch, hidden});
  return {fmt::format("{} of {}, batch {}, {} steps", cell, hidden, batch, steps),
          fmt::format("%x: {}, %r: {} {{nn.constant}}", x, r),
          y,
          fmt::format("  %y:{} = nn.recurrence %x, %r {{cell = \"{}\", direction = \"forward\", operandSegmentSizes = "
                      "array<i32: 1, 1, 0, 0, 0, 0, 0>}} : ({}, {}) -> ({}, {}{})\n",
                      cell == "lstm" ? 3 : 2, cell, x, r, y, state, cell == "lstm" ? ", " + state : ""),
          -inputBound("recurrent"),
          inputBound("recurrent"),
          "%y#0"};
}

Extents activation(Random &random, bool large) {
  return {1, random.of<int64_t>({24, 64, 96, 128}),
          random.of<int64_t>(large ? std::initializer_list<int64_t>{56, 112} : std::initializer_list<int64_t>{28, 56}),
          28};
}

Draft map(Random &random, const Target &target) {
  bool two = random.chance(2), blocked = random.chance(2);
  std::string x = tensor(activation(random, !random.chance(3)), blocked ? target.channelBlock() : 0);
  std::string name = random.of<std::string>({"relu", "hard_swish", "abs"});
  return {fmt::format("{}{} {}", two ? "add, " : "", name, x), fmt::format("%x: {0}, %z: {0}", x), x,
          fmt::format("  %0 = nn.{2} %x, %z : ({0}, {0}) -> {0}\n  %y = nn.{1} %0 : ({0}) -> {0}\n", x, name,
                      two ? "add" : "mul")};
}

Draft transcendental(Random &random, const Target &target) {
  std::string x = tensor(activation(random, !random.chance(3)), random.chance(2) ? target.channelBlock() : 0);
  std::string name = random.of<std::string>({"sigmoid", "exp", "tanh", "erf"});
  return {fmt::format("{}, mul {}", name, x), fmt::format("%x: {0}", x), x,
          fmt::format("  %0 = nn.{1} %x : ({0}) -> {0}\n  %y = nn.mul %0, %x : ({0}, {0}) -> {0}\n", x, name)};
}

Draft pool(Random &random, const Target &target) {
  int64_t kernel = random.of<int64_t>({2, 3, 3}), stride = random.of<int64_t>({1, 2}),
          size = random.of<int64_t>({28, 56, 112}), channels = random.of<int64_t>({32, 64, 192}),
          block = random.chance(3) ? 0 : target.channelBlock();
  int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
  std::string x = tensor({1, channels, size, size}, block), y = tensor({1, channels, out, out}, block);
  const char *name = random.chance(2) ? "average" : "max";
  return {fmt::format("{}_pool {}x{}/{} {}", name, kernel, kernel, stride, x), "%x: " + x, y,
          fmt::format("  %y = nn.{}_pool %x {{kernel = {}, strides = {}, dilations = array<i64: 1, 1>, pads = "
                      "{}}} : ({}) -> {}\n",
                      name, list({kernel, kernel}), list({stride, stride}), list({pad, pad, pad, pad}), x, y)};
}

Draft reduction(Random &random, const Target &target) {
  Extents in = activation(random, true), out = in;
  bool blocked = random.chance(2);
  Extents axes = blocked ? Extents{2, 3} : random.of<Extents>({{2, 3}, {1}, {2}, {3}});
  for (int64_t axis : axes)
    out[axis] = 1;
  std::string x = tensor(in, blocked ? target.channelBlock() : 0), y = tensor(out, blocked ? target.channelBlock() : 0),
              name = random.of<std::string>({"sum", "mean", "max", "l2"});
  return {fmt::format("reduce_{} {} over {}", name, x, fmt::join(axes, ", ")), "%x: " + x, y,
          fmt::format("  %y = nn.reduce_{} %x {{axes = {}, keepdims = true}} : ({}) -> {}\n", name, list(axes), x, y)};
}

Draft softmax(Random &random, const Target &) {
  std::string x = tensor(
      {random.of<int64_t>({1, 12}), random.of<int64_t>({64, 197, 384}), random.of<int64_t>({64, 197, 384, 1000})});
  return {fmt::format("softmax {}", x), "%x: " + x, x,
          fmt::format("  %y = nn.softmax %x {{axis = -1 : i64}} : ({0}) -> {0}\n", x)};
}

Draft normalize(Random &random, const Target &) {
  int64_t length = random.of<int64_t>({96, 192, 384, 768, 1024});
  std::string x = tensor({1, random.of<int64_t>({64, 197, 784}), length}), s = tensor({length});
  return {fmt::format("layer_norm {}", x),
          fmt::format("%x: {}, %s: {} {{nn.constant}}, %b: {} {{nn.constant}}", x, s, s), x,
          fmt::format("  %y = nn.layer_norm %x, %s, %b {{axis = -1 : i64}} : ({0}, {1}, {1}) -> {0}\n", x, s)};
}

Draft lrn(Random &random, const Target &target) {
  std::string x = tensor({1, random.of<int64_t>({64, 96, 192}), 27, 27}, random.chance(2) ? target.channelBlock() : 0);
  return {fmt::format("lrn {}", x), "%x: " + x, x,
          fmt::format("  %y = nn.lrn %x {{size = 5 : i64, alpha = 0.0001, beta = 0.75, bias = 1.0}} : ({0}) -> "
                      "{0}\n",
                      x)};
}

Draft resize(Random &random, const Target &target) {
  int64_t channels = random.of<int64_t>({32, 64}), size = random.of<int64_t>({28, 56}),
          block = random.chance(2) ? target.channelBlock() : 0;
  Extents sizes = {1, channels, 2 * size, 2 * size};
  std::string x = tensor({1, channels, size, size}, block), y = tensor(sizes, block),
              mode = random.of<std::string>({"nearest", "linear"});
  return {fmt::format("resize {} {}", mode, x), "%x: " + x, y,
          fmt::format("  %y = nn.resize %x {{operandSegmentSizes = array<i32: 1, 0, 0, 0>, mode = \"{}\", "
                      "coordinate_mode = \"half_pixel\", nearest_mode = \"floor\", sizes = {}}} : ({}) -> {}\n",
                      mode, list(sizes), x, y)};
}

Draft scan(Random &random, const Target &) {
  std::string x = tensor({random.of<int64_t>({16, 64}), random.of<int64_t>({128, 256}), random.of<int64_t>({64, 128})});
  int64_t axis = random.in(1, 2);
  return {fmt::format("cum_sum {} along {}", x, axis), "%x: " + x, x,
          fmt::format("  %y = nn.cum_sum %x {{axis = {1} : i64}} : ({0}) -> {0}\n", x, axis)};
}

Draft indexed(Random &random, const Target &) {
  int64_t rows = random.of<int64_t>({256, 1000}), wide = random.of<int64_t>({256, 768}),
          places = random.of<int64_t>({256, 512});
  std::string x = tensor({rows, wide}), i = tensor({places, wide}, 0, "i64"), y = tensor({places, wide});
  return {fmt::format("gather_elements {} {}", x, i),
          fmt::format("%x: {}, %i: {}", x, i),
          y,
          fmt::format("  %y = nn.gather_elements %x, %i {{axis = 0 : i64}} : ({}, {}) -> {}\n", x, i, y),
          0,
          double(rows - 1)};
}

Draft transpose(Random &random, const Target &) {
  Extents dims = {1, random.of<int64_t>({197, 384, 784}), random.of<int64_t>({8, 12}), random.of<int64_t>({32, 64})};
  Extents perm = random.of<Extents>({{0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}}), out;
  for (int64_t axis : perm)
    out.push_back(dims[axis]);
  std::string x = tensor(dims), y = tensor(out);
  return {fmt::format("transpose {} to {}", x, y), "%x: " + x, y,
          fmt::format("  %y = nn.transpose %x {{perm = {}}} : ({}) -> {}\n", list(perm), x, y)};
}

Draft layout(Random &random, const Target &target) {
  Extents dims = activation(random, true);
  std::string x = tensor(dims), y = tensor(dims, target.channelBlock());
  return {fmt::format("convert_layout {}", x), "%x: " + x, y,
          fmt::format("  %y = nn.convert_layout %x : {} -> {}\n", x, y)};
}

struct Kind {
  const char *family;
  Draft (*draw)(Random &, const Target &);
};
constexpr Kind kinds[] = {{"contraction", dense3x3},
                          {"contraction", pointwise},
                          {"contraction", strided},
                          {"contraction", firstLayer},
                          {"contraction", grouped},
                          {"contraction", depthwise},
                          {"contraction", separable},
                          {"contraction", gemm},
                          {"contraction", gemmOfFewRows},
                          {"contraction", computedProduct},
                          {"attention", attention},
                          {"recurrent", recurrent},
                          {"elementwise", map},
                          {"elementwise", transcendental},
                          {"pool", pool},
                          {"reduction", reduction},
                          {"softmax", softmax},
                          {"normalize", normalize},
                          {"lrn", lrn},
                          {"resize", resize},
                          {"scan", scan},
                          {"indexed", indexed},
                          {"movement", transpose},
                          {"movement", layout}};

} // namespace

std::vector<TimedKernel> rankTasks(Random &random, const Target &target, int64_t count, const std::string &family) {
  std::vector<Kind> own;
  for (const Kind &kind : kinds)
    if (family.empty() || family == kind.family)
      own.push_back(kind);
  require(!own.empty(), "no kernels of family '{}'", family);
  std::shuffle(own.begin(), own.end(), random.engine);
  std::vector<TimedKernel> kernels;
  for (int64_t i = 0; i < count; ++i) {
    const Kind &kind = own[i < int64_t(own.size()) ? i : random.in(0, int64_t(own.size()) - 1)];
    Draft draft = kind.draw(random, target);
    std::string text =
        fmt::format("func.func private @k({}) -> {} attributes {{nn.family = \"{}\"}} {{\n{}  return {} : "
                    "{}\n}}\n",
                    draft.arguments, draft.result, kind.family, draft.body, draft.returned, draft.result);
    kernels.push_back({std::move(draft.label), kind.family, std::move(text), draft.low, draft.high});
  }
  return kernels;
}

} // namespace lathe::study
