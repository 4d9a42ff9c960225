#include "codegen/testing/RandomKernels.h"

#include "codegen/testing/PackedProducts.h"
#include "codegen/testing/RandomContractions.h"

#include <fmt/ranges.h>

namespace lathe {
namespace {

using Extents = std::vector<int64_t>;

std::string tensor(const Extents &dims, const std::string &type, int64_t block = 0) {
  std::string text = "tensor<";
  for (int64_t extent : dims)
    text += (extent < 0 ? std::string("?") : std::to_string(extent)) + "x";
  return text + type + (block ? fmt::format(", #nn.blocked<1, {}>>", block) : ">");
}

std::string list(const Extents &values) { return fmt::format("array<i64: {}>", fmt::join(values, ", ")); }

std::string function(const std::string &family, const std::string &arguments, const std::string &result,
                     const std::string &body) {
  return fmt::format("func.func private @k({}) -> {} attributes {{nn.family = \"{}\"}} {{\n  %y = nn.{} -> {}\n"
                     "  return %y : {}\n}}\n",
                     arguments, result, family, body, result, result);
}

Extents extents(Random &random, int64_t least, int64_t most, int64_t largest) {
  Extents dims(random.in(least, most));
  for (int64_t &extent : dims)
    extent = random.chance(6) ? 1 : random.in(1, random.chance(2) ? 9 : largest);
  return dims;
}

// ---- Contractions that RandomContractions.h does not draw ----

struct ConvShape {
  Extents in, kernel, out;
  int64_t channels, outChannels, groups = 1, stride = 1, pad = 0;
};

std::string convKernel(const ConvShape &shape, const std::string &type, int64_t inBlock, int64_t outBlock) {
  size_t rank = shape.in.size();
  Extents x = {1, shape.channels}, w = {shape.outChannels, shape.channels / shape.groups}, y = {1, shape.outChannels};
  x.insert(x.end(), shape.in.begin(), shape.in.end());
  w.insert(w.end(), shape.kernel.begin(), shape.kernel.end());
  y.insert(y.end(), shape.out.begin(), shape.out.end());
  std::string xType = tensor(x, type, inBlock), wType = tensor(w, type), yType = tensor(y, type, outBlock);
  return function("contraction", fmt::format("%x: {}, %w: {} {{nn.constant}}", xType, wType), yType,
                  fmt::format("conv %x, %w {{strides = {}, dilations = {}, pads = {}, group = {} : i64}} : ({}, {})",
                              list(Extents(rank, shape.stride)), list(Extents(rank, 1)),
                              list(Extents(2 * rank, shape.pad)), shape.groups, xType, wType));
}

/// Kernels that are so wide, or have such long rows or large planes, that some schedules need too much code or scratch.
std::string extremeConv(Random &random, int64_t block) {
  ConvShape shape;
  switch (random.in(0, 3)) {
  case 0: // many taps
    shape.kernel = {random.in(65, 100)};
    shape.pad = shape.kernel[0] / 2;
    shape.in = {random.in(90, 180)};
    shape.out = {shape.in[0] + 2 * shape.pad - shape.kernel[0] + 1};
    shape.channels = random.of<int64_t>({1, 16});
    shape.groups = random.of<int64_t>({1, shape.channels});
    shape.outChannels = random.of<int64_t>({16, 48});
    break;
  case 1: // strided rows that may be merged
    shape.kernel = {1, 1};
    shape.stride = 2;
    shape.in = {random.of<int64_t>({64, 96}), random.of<int64_t>({64, 80})};
    shape.out = {shape.in[0] / 2, shape.in[1] / 2};
    shape.channels = 32, shape.outChannels = random.of<int64_t>({16, 40});
    break;
  default: // a large plane
    shape.kernel = {3, 3};
    shape.pad = 1;
    shape.in = shape.out = {random.of<int64_t>({1024, 2048}), random.of<int64_t>({1024, 2048})};
    shape.channels = random.of<int64_t>({64, 256}), shape.outChannels = random.of<int64_t>({32, 64, 70});
  }
  bool blocked = !random.chance(3);
  return convKernel(shape, "f32", blocked ? block : 0, blocked ? block : 0);
}

/// A depthwise and a pointwise convolution over a large plane, or with a long kernel.
std::string extremeSeparable(Random &random, int64_t block) {
  bool taps = random.chance(2);
  int64_t kernel = taps ? 2 * random.in(70, 100) + 1 : 3;
  Extents plane = taps ? Extents{random.in(200, 300)} : Extents{2048, 2048};
  Extents x = {1, 64};
  x.insert(x.end(), plane.begin(), plane.end());
  std::string type = tensor(x, "f32", block), ones = taps ? "1" : "1x1", k = taps ? std::to_string(kernel) : "3x3";
  auto attributes = [&](int64_t pad, int64_t groups) {
    size_t rank = plane.size();
    return fmt::format("strides = {0}, dilations = {0}, pads = {1}, group = {2} : i64", list(Extents(rank, 1)),
                       list(Extents(2 * rank, pad)), groups);
  };
  return fmt::format(
      "func.func private @k(%x: {0}, %w: tensor<64x1x{1}xf32> {{nn.constant}}, %v: tensor<64x64x{2}xf32> "
      "{{nn.constant}}) -> {0} attributes {{nn.family = \"contraction\"}} {{\n"
      "  %0 = nn.conv %x, %w {{{3}}} : ({0}, tensor<64x1x{1}xf32>) -> {0}\n"
      "  %1 = nn.conv %0, %v {{{4}}} : ({0}, tensor<64x64x{2}xf32>) -> {0}\n  return %1 : {0}\n}}\n",
      type, k, ones, attributes(kernel / 2, 64), attributes(0, 1));
}

std::string contraction(Random &random, const Target &target) {
  if (random.chance(10))
    return (random.chance(2) ? randomConvInteger(random) : randomMatMulInteger(random)).str();
  if (random.chance(12))
    return randomPackedProduct(random).str();
  if (random.chance(5))
    return randomOpenConv(random, target, Grouping(random.in(0, 3))).str();
  Typed typed;
  if (random.chance(8))
    typed.name = random.of<std::string>({"f64", "f16", "i8", "i32"});
  switch (random.in(0, 9)) {
  case 0:
  case 1:
    return randomConv(random, target, Grouping::dense, typed).str();
  case 2:
    return randomConv(random, target, Grouping::grouped, typed).str();
  case 3:
    return randomConv(random, target, Grouping::depthwise, typed).str();
  case 4:
  case 5:
    return randomConv(random, target, Grouping::winograd).str();
  case 6:
    return random.chance(3) ? extremeSeparable(random, target.channelBlock()) : randomSeparable(random, target).str();
  case 7:
    return extremeConv(random, target.channelBlock());
  default:
    return randomGemm(random, typed).str();
  }
}

// ---- The other families ----

std::string attention(Random &random) {
  std::string type = random.of<std::string>({"f32", "f32", "f32", "f16", "f64"});
  int64_t heads = random.in(1, 8), queries = random.in(1, 200), keys = random.in(1, 600), depth = random.in(1, 64),
          width = random.in(1, 64);
  bool open = random.chance(3), masked = random.chance(3);
  Extents q = {1, heads, queries, depth}, k = {1, heads, open ? -1 : keys, depth},
          v = {1, heads, open ? -1 : keys, width};
  auto dims = [&](int64_t last) {
    return open ? fmt::format(" {{nn.dims = [\"1\", \"{}\", \"N\", \"{}\"]}}", heads, last) : "";
  };
  std::string arguments = fmt::format("%q: {}, %k: {}{}, %v: {}{}", tensor(q, type), tensor(k, type), dims(depth),
                                      tensor(v, type), dims(width)),
              operands = "%q, %k, %v",
              types = fmt::format("{}, {}, {}", tensor(q, type), tensor(k, type), tensor(v, type));
  masked = masked && !open;
  if (masked) {
    std::string mask = tensor({queries, keys}, "i1");
    arguments += ", %m: " + mask;
    operands += ", %m";
    types += ", " + mask;
  }
  return function("attention", arguments, tensor({1, heads, queries, width}, type),
                  fmt::format("attention {} {{scale = 0.5 : f64, causal = \"{}\", fill = -1.0e+4 : f64, "
                              "operandSegmentSizes = array<i32: 1, 1, 1, 0, {}>}} : ({})",
                              operands, masked || random.chance(2) ? "none" : "upper_left", masked ? 1 : 0, types));
}

std::string recurrent(Random &random) {
  std::string cell = random.of<std::string>({"lstm", "gru", "rnn"});
  int64_t gates = cell == "lstm"  ? 4
                  : cell == "gru" ? 3
                                  : 1,
          hidden = random.in(1, 150), batch = random.in(1, 40), steps = random.in(1, 20);
  bool open = random.chance(4);
  std::string x = tensor({steps, open ? -1 : batch, gates * hidden}, "f32"),
              r = tensor({1, gates * hidden, hidden}, "f32"), y = tensor({steps, 1, open ? -1 : batch, hidden}, "f32"),
              state = tensor({1, open ? -1 : batch, hidden}, "f32");
  std::string dims = open ? fmt::format(" {{nn.dims = [\"{}\", \"B\", \"{}\"]}}", steps, gates * hidden) : "";
  return fmt::format("func.func private @k(%x: {0}{1}, %r: {2}{3}) -> {4} attributes {{nn.family = \"recurrent\"}} {{\n"
                     "  %y:{5} = nn.recurrence %x, %r {{cell = \"{6}\", direction = \"forward\", operandSegmentSizes = "
                     "array<i32: 1, 1, 0, 0, 0, 0, 0>}} : ({0}, {2}) -> ({4}, {7}{8})\n  return %y#0 : {4}\n}}\n",
                     x, dims, r, random.chance(3) ? "" : " {nn.constant}", y, cell == "lstm" ? 3 : 2, cell, state,
                     cell == "lstm" ? ", " + state : "");
}

std::string elementwise(Random &random) {
  std::string type = random.of<std::string>({"f32", "f32", "f16", "f64", "i32"}),
              x = tensor(extents(random, 1, 4, 100), type);
  std::string name = type == "i32" ? random.of<std::string>({"relu", "neg", "abs"})
                                   : random.of<std::string>({"relu", "sigmoid", "exp", "tanh", "hard_swish"});
  return function("elementwise", "%x: " + x, x, fmt::format("{} %x : ({})", name, x));
}

std::string pool(Random &random, int64_t block) {
  int64_t kernel = random.in(1, 4), stride = random.in(1, 3), size = random.in(kernel, 60);
  int64_t out = (size - kernel) / stride + 1;
  bool average = random.chance(2), blocked = random.chance(2);
  std::string x = tensor({random.in(1, 3), random.in(1, 70), size, size}, "f32", blocked ? block : 0), y = x;
  size_t at = y.find(fmt::format("x{}x{}x", size, size), y.find('x', y.find('x') + 1));
  std::string from = fmt::format("x{}x{}x", size, size);
  y.replace(at, from.size(), fmt::format("x{}x{}x", out, out));
  return function("pool", "%x: " + x, y,
                  fmt::format("{}_pool %x {{kernel = {}, strides = {}, dilations = array<i64: 1, 1>, pads = array<i64: "
                              "0, 0, 0, 0>}} : ({})",
                              average ? "average" : "max", list({kernel, kernel}), list({stride, stride}), x));
}

std::string reduction(Random &random) {
  Extents in = extents(random, 2, 4, 120), out = in;
  int64_t axis = random.in(0, int64_t(in.size()) - 1);
  out[axis] = 1;
  std::string x = tensor(in, "f32"), y = tensor(out, "f32");
  return function("reduction", "%x: " + x, y,
                  fmt::format("reduce_{} %x {{axes = {}, keepdims = true}} : ({})",
                              random.of<std::string>({"sum", "mean", "max", "l2", "log_sum_exp"}), list({axis}), x));
}

std::string softmax(Random &random) {
  Extents dims = extents(random, 1, 4, 200);
  std::string x = tensor(dims, random.of<std::string>({"f32", "f32", "f64", "f16"}));
  return function("softmax", "%x: " + x, x,
                  fmt::format("{}softmax %x {{axis = {} : i64}} : ({})", random.chance(3) ? "log_" : "",
                              random.chance(3) ? random.in(0, int64_t(dims.size()) - 1) : int64_t(dims.size()) - 1, x));
}

std::string normalize(Random &random) {
  Extents dims = extents(random, 2, 4, 200);
  std::string x = tensor(dims, random.of<std::string>({"f32", "f32", "f64", "f16"}));
  if (random.chance(3))
    return function("normalize", "%x: " + x, x,
                    fmt::format("lp_normalize %x {{axis = {} : i64, p = 2 : i64}} : ({})",
                                random.in(0, int64_t(dims.size()) - 1), x));
  std::string scale = tensor({dims.back()}, x.substr(x.rfind('x') + 1, x.size() - x.rfind('x') - 2));
  return function("normalize", fmt::format("%x: {}, %s: {}", x, scale), x,
                  fmt::format("layer_norm %x, %s {{axis = -1 : i64}} : ({}, {})", x, scale));
}

std::string lrn(Random &random, int64_t block) {
  std::string x =
      tensor({1, random.in(1, 70), random.in(1, 30), random.in(1, 30)}, "f32", random.chance(2) ? block : 0);
  return function(
      "lrn", "%x: " + x, x,
      fmt::format("lrn %x {{size = {} : i64, alpha = 0.3, beta = 0.75, bias = 1.5}} : ({})", random.in(1, 9), x));
}

std::string resize(Random &random, int64_t block) {
  int64_t channels = random.in(1, 40), size = random.in(1, 40), factor = random.in(2, 3);
  bool blocked = random.chance(2);
  std::string x = tensor({1, channels, size, size}, "f32", blocked ? block : 0),
              y = tensor({1, channels, size * factor, size * factor}, "f32", blocked ? block : 0);
  return function(
      "resize", "%x: " + x, y,
      fmt::format("resize %x {{operandSegmentSizes = array<i32: 1, 0, 0, 0>, mode = \"{}\", coordinate_mode = "
                  "\"half_pixel\", nearest_mode = \"floor\", sizes = {}}} : ({})",
                  random.of<std::string>({"nearest", "linear", "cubic"}),
                  list({1, channels, size * factor, size * factor}), x));
}

std::string scan(Random &random) {
  Extents dims = extents(random, 1, 3, 100);
  int64_t axis = random.in(0, int64_t(dims.size()) - 1);
  std::string x = tensor(dims, random.of<std::string>({"f32", "f64", "i32"}));
  if (random.chance(2))
    return function("scan", "%x: " + x, x, fmt::format("cum_sum %x {{axis = {} : i64}} : ({})", axis, x));
  dims[axis] = 1;
  return function("scan", "%x: " + x, tensor(dims, "i64"),
                  fmt::format("arg_max %x {{axis = {} : i64, keepdims = true}} : ({})", axis, x));
}

/// An operator that samples x between its elements.
std::string sampling(Random &random, int64_t block) {
  int64_t images = random.in(1, 2), channels = random.in(1, 70), regions = random.in(1, 30);
  std::string x = tensor({images, channels, random.in(1, 40), random.in(1, 40)}, "f32", random.chance(2) ? block : 0);
  if (random.chance(2)) {
    int64_t height = random.in(1, 9), width = random.in(1, 9);
    std::string rois = tensor({regions, 4}, "f32"), batches = tensor({regions}, "i64");
    return function("indexed", fmt::format("%x: {}, %r: {}, %b: {}", x, rois, batches),
                    tensor({regions, channels, height, width}, "f32"),
                    fmt::format("roi_align %x, %r, %b {{output_height = {} : i64, output_width = {} : i64, "
                                "sampling_ratio = {} : i64}} : ({}, {}, {})",
                                height, width, random.in(0, 3), x, rois, batches));
  }
  Extents out = {images, random.in(1, 40), random.in(1, 40), 2};
  std::string grid = tensor(out, "f32");
  return function("indexed", fmt::format("%x: {}, %g: {}", x, grid),
                  tensor({images, channels, out[1], out[2]}, "f32", x.find("blocked") == x.npos ? 0 : block),
                  fmt::format("grid_sample %x, %g {{mode = \"{}\"}} : ({}, {})",
                              random.of<std::string>({"linear", "nearest", "cubic"}), x, grid));
}

std::string selection(Random &random) {
  int64_t count = random.in(1, 3000), chunk = random.in(1, 500);
  std::string x = tensor({count}, random.of<std::string>({"f32", "i64", "i8"}));
  if (random.chance(2))
    return function("selection", "%x: " + x, tensor({(count + chunk - 1) / chunk}, "i64"),
                    fmt::format("count_non_zero %x {{chunk = {} : i64}} : ({})", chunk, x));
  return function("selection", "%n: " + tensor({1}, "i64"), tensor({count}, "i64"),
                  fmt::format("iota %n : ({})", tensor({1}, "i64")));
}

std::string indexed(Random &random, int64_t block) {
  if (random.chance(2))
    return sampling(random, block);
  Extents dims = extents(random, 1, 3, 60), places = dims;
  int64_t axis = random.in(0, int64_t(dims.size()) - 1);
  places[axis] = random.in(1, 40);
  std::string x = tensor(dims, "f32"), i = tensor(places, "i64");
  return function("indexed", fmt::format("%x: {}, %i: {}", x, i), tensor(places, "f32"),
                  fmt::format("gather_elements %x, %i {{axis = {} : i64}} : ({}, {})", axis, x, i));
}

std::string movement(Random &random, int64_t block) {
  Extents dims = extents(random, 4, 4, 60), out;
  std::string x = tensor(dims, "f32");
  if (random.chance(2)) {
    std::string y = tensor(dims, "f32", block);
    return function("movement", "%x: " + x, y, fmt::format("convert_layout %x : {}", x));
  }
  Extents perm = {0, 1, 2, 3};
  std::shuffle(perm.begin(), perm.end(), random.engine);
  for (int64_t axis : perm)
    out.push_back(dims[axis]);
  return function("movement", "%x: " + x, tensor(out, "f32"),
                  fmt::format("transpose %x {{perm = {}}} : ({})", list(perm), x));
}

} // namespace

std::string randomKernel(Random &random, const std::string &family, const Target &target) {
  int64_t block = target.channelBlock();
  if (family == "contraction")
    return contraction(random, target);
  if (family == "attention")
    return attention(random);
  if (family == "recurrent")
    return recurrent(random);
  if (family == "elementwise")
    return elementwise(random);
  if (family == "pool")
    return pool(random, block);
  if (family == "reduction")
    return reduction(random);
  if (family == "softmax")
    return softmax(random);
  if (family == "normalize")
    return normalize(random);
  if (family == "lrn")
    return lrn(random, block);
  if (family == "resize")
    return resize(random, block);
  if (family == "scan")
    return scan(random);
  if (family == "selection")
    return selection(random);
  if (family == "indexed")
    return indexed(random, block);
  if (family == "movement")
    return movement(random, block);
  fail("no random kernels of family '{}'", family);
}

namespace {

/// A value from the whole declared range; small values are more likely.
int64_t declaredValue(Random &random, const Parameter &parameter) {
  for (;;)
    if (int64_t value = random.in(parameter.least, std::min<int64_t>(parameter.most, random.chance(2) ? 40 : 3000));
        parameter.allows(value))
      return value;
}

} // namespace

Schedule anySchedule(Random &random, const KernelFacts &facts, const Algorithm &algorithm) {
  Schedule schedule = emptySchedule(algorithm.name);
  bool sparse = random.chance(3); // few parameters: schedules that pass the first constraints reach the later ones
  for (const Knob &knob : facts.knobs(algorithm)) {
    const Parameter &parameter = *knob.parameter;
    if (sparse ? !random.chance(3) : random.chance(4))
      continue;
    if (random.chance(16) && parameter.kind == Parameter::Kind::word)
      schedule.words[parameter.name] = parameter.words[random.in(0, int64_t(parameter.words.size()) - 1)];
    else if (random.chance(16) && parameter.kind == Parameter::Kind::number)
      schedule.numbers[parameter.name] = declaredValue(random, parameter);
    else if (knob.size())
      knob.apply(schedule, random.in(0, int64_t(knob.size()) - 1));
  }
  return schedule;
}

Schedule randomSchedule(Random &random, const KernelFacts &facts) {
  std::vector<const Algorithm *> own;
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.family == facts.family)
      own.push_back(&algorithm);
  for (int64_t tries = random.in(1, 3);;) {
    Schedule schedule = anySchedule(random, facts, *own[random.in(0, int64_t(own.size()) - 1)]);
    Legality legality = legal(facts, schedule);
    if (legality)
      return schedule;
    // An algorithm for other kernels tests little, so usually another one is drawn.
    if (std::string_view(legality.broken->id) == "computes" && !random.chance(8))
      continue;
    if (--tries == 0)
      return schedule;
  }
}

Schedule randomSchedule(Random &random, const KernelFacts &facts, std::string_view algorithm,
                        const std::map<std::string, std::string> &words) {
  Schedule schedule = emptySchedule(algorithm);
  const Algorithm &declared = *findAlgorithm(algorithm, schedule.version);
  for (int tries = 0; tries < 12; ++tries) {
    schedule = anySchedule(random, facts, declared);
    for (const auto &[name, value] : words)
      schedule.words[name] = value;
    if (legal(facts, schedule))
      break;
  }
  return schedule;
}

} // namespace lathe
