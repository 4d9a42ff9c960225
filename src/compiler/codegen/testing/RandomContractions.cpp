#include "codegen/testing/RandomContractions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace lathe {
namespace {

std::string join(const std::vector<int64_t> &values, const char *between) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}

/// Adds up to three element-wise operators after the anchor; `channel`: type of a constant that varies along channels.
void addEpilogue(KernelText &text, Random &random, const std::string &channel, const std::string &dims,
                 const Typed &typed) {
  if (typed.name != "f32") {
    if (random.chance(2))
      text.op("relu " + text.last, text.type);
    return;
  }
  for (int64_t i = random.in(0, 3); i > 0; --i)
    switch (random.in(0, 5)) {
    case 0:
      text.op("relu " + text.last, text.type);
      break;
    case 1:
      text.op("clip " + text.last + " {min = -0.5 : f64, max = 2.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}",
              text.type);
      break;
    case 2:
      text.op("hard_swish " + text.last, text.type);
      break;
    case 3: {
      std::string other = text.argument(text.type, false, dims);
      text.op("add " + text.last + ", " + other, text.type + ", " + text.type);
      break;
    }
    case 4: {
      std::string other = text.argument(channel, !random.chance(4));
      text.op("mul " + text.last + ", " + other, text.type + ", " + channel);
      break;
    }
    default: {
      std::string other = text.argument("tensor<f32>", false);
      text.op("add " + other + ", " + text.last, "tensor<f32>, " + text.type);
    }
    }
}

/// The spatial axes of a convolution as they are drawn.
struct SpatialAxes {
  std::vector<int64_t> in, out, kernel, strides, dilations, begins, ends;
  std::vector<int64_t> rules; // ops/WindowPads.h; may be empty

  /// Adds an axis, one of `rank`, with an extent that is long enough for an output.
  void add(Random &random, int64_t rank, int64_t taps, int64_t stride, int64_t dilation, bool padded) {
    int64_t begin = padded ? random.in(0, 3) : 0, end = padded ? random.in(0, 3) : 0;
    int64_t reach = dilation * (taps - 1) + 1;
    int64_t extent = std::max(random.in(1, rank == 3 ? 6 : rank == 2 ? 19 : 40), reach - begin - end);
    in.push_back(extent);
    kernel.push_back(taps);
    strides.push_back(stride);
    dilations.push_back(dilation);
    begins.push_back(begin);
    ends.push_back(end);
    out.push_back((extent + begin + end - reach) / stride + 1);
  }
  std::vector<int64_t> pads() const {
    std::vector<int64_t> all = begins;
    all.insert(all.end(), ends.begin(), ends.end());
    all.insert(all.end(), rules.begin(), rules.end());
    return all;
  }
  /// Padding that follows from the extent of axis `i`. For an odd padding, the end (1) or the begin (-1) has one more.
  void follow(size_t i, int64_t rule) {
    int64_t total = dilations[i] * (kernel[i] - 1);
    begins[i] = (total + (rule < 0)) / 2;
    ends[i] = total - begins[i];
    rules.resize(kernel.size());
    rules[i] = rule;
  }
};

std::string convAttributes(const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
                           const std::vector<int64_t> &pads, int64_t groups) {
  return fmt::format("strides = array<i64: {}>, dilations = array<i64: {}>, pads = array<i64: {}>, group = {} : i64",
                     join(strides, ", "), join(dilations, ", "), join(pads, ", "), groups);
}

} // namespace

KernelText randomConv(Random &random, const Target &target, Grouping grouping, const Typed &typed) {
  KernelText text;
  bool winograd = grouping == Grouping::winograd, dense = winograd || grouping == Grouping::dense;
  int64_t rank = winograd ? 2 : random.of<int64_t>({1, 2, 2, 2, 2, 3});
  int64_t groups = dense ? 1 : random.in(2, 40);
  int64_t inGroup = dense ? random.in(1, 70) : 1, outGroup = dense ? random.in(1, 100) : 1;
  if (grouping == Grouping::grouped) {
    groups = random.of<int64_t>({2, 3, 4, 8});
    inGroup = random.of<int64_t>({1, 2, 3, 4, 8, 16, 32, 5});
    outGroup = random.of<int64_t>({inGroup, inGroup, 1, 2, 6, 16, 32});
  }
  int64_t channels = groups * inGroup, outChannels = groups * outGroup;
  SpatialAxes axes;
  bool pointwise = random.chance(4) && grouping == Grouping::dense;
  int64_t stride = random.of<int64_t>({1, 1, 2}); // of one tap
  for (int64_t i = 0; i < rank; ++i) {
    int64_t k = pointwise ? 1 : random.in(1, 4), s = pointwise ? stride : random.of<int64_t>({1, 1, 2, 3}),
            d = random.of<int64_t>({1, 1, 2});
    if (winograd)
      k = 3, s = 1, d = 1;
    axes.add(random, rank, k, s, d, !pointwise);
  }
  int64_t images = random.in(1, 3);
  bool symbolic = random.chance(3), blocks = typed.name != "f64", inBlocked = blocks && (winograd || random.chance(2)),
       outBlocked = blocks && (winograd || random.chance(2));
  std::string batch = symbolic ? "?" : std::to_string(images), block = std::to_string(target.channelBlock());
  if (symbolic)
    text.symbols["N"] = images;
  auto tensor = [&](int64_t count, const std::vector<int64_t> &extents, bool blocked) {
    return "tensor<" + batch + "x" + std::to_string(count) + "x" + join(extents, "x") + "x" + typed.name +
           (blocked ? ", #nn.blocked<1, " + block + ">" : "") + ">";
  };
  auto dims = [&](int64_t count, const std::vector<int64_t> &extents) {
    return symbolic ? "\"N\", \"" + std::to_string(count) + "\", \"" + join(extents, "\", \"") + "\"" : "";
  };
  std::string x = tensor(channels, axes.in, inBlocked);
  std::string w = "tensor<" + std::to_string(outChannels) + "x" + std::to_string(inGroup) + "x" +
                  join(axes.kernel, "x") + "x" + typed.name + ">";
  std::string b = "tensor<" + std::to_string(outChannels) + "x" + typed.name + ">";
  text.type = tensor(outChannels, axes.out, outBlocked);
  std::string operands = text.argument(x, false, dims(channels, axes.in));
  operands += ", " + text.argument(w, true);
  std::string types = x + ", " + w;
  if (random.chance(2)) {
    operands += ", " + text.argument(b, !random.chance(4));
    types += ", " + b;
  }
  text.op("conv " + operands + " {" + convAttributes(axes.strides, axes.dilations, axes.pads(), groups) + "}", types);
  std::string ones;
  for (int64_t i = 0; i < rank; ++i)
    ones += "x1";
  addEpilogue(text, random, "tensor<1x" + std::to_string(outChannels) + ones + "x" + typed.name + ">",
              dims(outChannels, axes.out), typed);
  return text;
}

namespace {

/// The random parts of a convolution with open spatial extents, before its text is made.
struct OpenConv {
  int64_t rank, groups = 1, inGroup, outGroup;
  bool inBlocked, outBlocked;
  SpatialAxes axes; // extents `in` are the symbols' values
  std::vector<std::string> in, out;

  OpenConv(Random &random, const Target &target, Grouping grouping) : rank(random.chance(6) ? 1 : 2) {
    bool winograd = grouping == Grouping::winograd, pointwise = grouping == Grouping::dense && random.chance(3);
    if (winograd)
      rank = 2;
    int64_t block = target.channelBlock();
    inGroup = grouping == Grouping::depthwise ? 1 : random.chance(4) ? random.in(1, 4) : random.in(1, 70);
    outGroup = grouping == Grouping::depthwise ? 1 : random.in(1, 100);
    inBlocked = winograd || random.chance(2);
    outBlocked = winograd || random.chance(3) == 0;
    if (grouping == Grouping::depthwise)
      groups = random.in(2, 70), inBlocked = true;
    if (grouping == Grouping::grouped) {
      groups = random.of<int64_t>({2, 3});
      inGroup = block * random.in(1, 2), outGroup = block * random.in(1, 3);
      if (random.chance(3)) // lanes of one block
        inGroup = outGroup = random.of<int64_t>({2, 4}), groups = random.of<int64_t>({4, 8, 16}), inBlocked = true;
    }
    bool gathered = grouping == Grouping::gathered;
    if (gathered) {
      rank = random.in(1, 3), groups = random.in(rank == 3 ? 1 : 2, 20), inBlocked = random.chance(2);
      inGroup = random.in(1, 5), outGroup = random.in(1, 3);
    }
    int64_t stride = random.of<int64_t>({1, 1, 2, 3});
    for (int64_t i = 0; i < rank; ++i) {
      int64_t k = pointwise ? 1 : random.of<int64_t>({1, 2, 3, 3, 3, 5}), s = random.of<int64_t>({1, 1, 2, 3}),
              d = random.of<int64_t>({1, 1, 2, 7});
      if (winograd)
        k = 3, s = 1, d = 1;
      if (gathered && i + 1 == rank) // the padding at the begin follows from the extent
        k = random.of<int64_t>({3, 5}), s = random.of<int64_t>({2, 3});
      axes.add(random, rank, k, pointwise ? stride : s, d, !pointwise && !random.chance(4));
      // As much padding as real networks have, so that results have the extents of the input.
      if (!pointwise && random.chance(3))
        axes.begins[i] = axes.ends[i] = d * (k - 1) / 2;
    }
    for (int64_t i = 0; i < rank && !winograd && !pointwise; ++i)
      if (random.chance(3))
        axes.follow(static_cast<size_t>(i), random.of<int64_t>({1, 1, -1}));
    if (gathered)
      axes.follow(static_cast<size_t>(rank - 1), 1);
    open();
  }

  /// Names the extents; one of two extents may stay a number.
  void open() {
    for (int64_t i = 0; i < rank; ++i) {
      std::string symbol = i + 1 == rank ? "W" : i + 2 == rank ? "H" : "D";
      int64_t reach = axes.dilations[i] * (axes.kernel[i] - 1) + 1, pads = axes.begins[i] + axes.ends[i];
      in.push_back(symbol);
      out.push_back(fmt::format("floordiv({} + {}, {}) + 1", symbol, pads - reach, axes.strides[i]));
    }
  }
  int64_t least(int64_t axis) const {
    int64_t reach = axes.dilations[axis] * (axes.kernel[axis] - 1) + 1;
    return std::max<int64_t>(1, reach - axes.begins[axis] - axes.ends[axis]);
  }

  int64_t channels() const { return groups * inGroup; }
  int64_t outChannels() const { return groups * outGroup; }
  std::string attributes() const { return convAttributes(axes.strides, axes.dilations, axes.pads(), groups); }
};

/// The types and extents of the operands of an open convolution as text. The constructor adds its symbols to `text`.
struct OpenOperands {
  std::string x, w, y, xDims, yDims, ones;

  OpenOperands(Random &random, const Target &target, const OpenConv &conv, KernelText &text, const std::string &left,
               const std::string &right, const std::string &sums) {
    bool openBatch = random.chance(3);
    int64_t images = random.in(1, 3);
    std::string batch = openBatch ? "?" : std::to_string(images), batchDim = openBatch ? "N" : batch, unknown;
    if (openBatch)
      text.symbols["N"] = images;
    for (int64_t i = 0; i < conv.rank; ++i) {
      text.least[conv.in[i]] = conv.least(i);
      text.symbols[conv.in[i]] = std::max(conv.axes.in[i], conv.least(i));
      ones += "x1";
      unknown += "x?";
    }
    auto tensor = [&](int64_t count, const std::string &type, bool blocked) {
      return fmt::format("tensor<{}x{}{}x{}{}>", batch, count, unknown, type,
                         blocked ? fmt::format(", #nn.blocked<1, {}>", target.channelBlock()) : "");
    };
    auto dims = [&](int64_t count, const std::vector<std::string> &extents) {
      return fmt::format("\"{}\", \"{}\", \"{}\"", batchDim, count, fmt::join(extents, "\", \""));
    };
    x = tensor(conv.channels(), left, conv.inBlocked);
    w = fmt::format("tensor<{}x{}x{}x{}>", conv.outChannels(), conv.inGroup, join(conv.axes.kernel, "x"), right);
    y = tensor(conv.outChannels(), sums, conv.outBlocked);
    xDims = dims(conv.channels(), conv.in);
    yDims = dims(conv.outChannels(), conv.out);
  }

  std::string arguments(KernelText &text) const {
    std::string input = text.argument(x, false, xDims);
    return input + ", " + text.argument(w, true);
  }
};

} // namespace

KernelText randomOpenConv(Random &random, const Target &target, Grouping grouping, const Typed &typed) {
  KernelText text;
  OpenConv conv(random, target, grouping);
  OpenOperands tensors(random, target, conv, text, typed.name, typed.name, typed.name);
  int64_t outChannels = conv.outChannels();
  text.type = tensors.y;
  std::string operands = tensors.arguments(text), types = tensors.x + ", " + tensors.w;
  if (random.chance(2)) {
    std::string b = fmt::format("tensor<{}x{}>", outChannels, typed.name);
    operands += ", " + text.argument(b, !random.chance(4));
    types += ", " + b;
  }
  text.op(fmt::format("conv {} {{{}}}", operands, conv.attributes()), types);
  addEpilogue(text, random, fmt::format("tensor<1x{}{}x{}>", outChannels, tensors.ones, typed.name), tensors.yDims,
              typed);
  return text;
}

KernelText randomSeparable(Random &random, const Target &target) {
  KernelText text;
  int64_t rank = random.of<int64_t>({1, 2, 2, 2, 2, 3});
  int64_t channels = random.in(2, 70), outChannels = random.in(1, 100), images = random.in(1, 3);
  SpatialAxes axes;
  std::vector<int64_t> ones(rank, 1), zeros(2 * rank, 0);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t k = random.of<int64_t>({3, 3, 5, 1, 2, 4}), s = random.of<int64_t>({1, 1, 2, 3}),
            d = random.of<int64_t>({1, 1, 1, 2});
    axes.add(random, rank, k, s, d, /*padded=*/true);
  }
  bool symbolic = random.chance(3);
  if (symbolic)
    text.symbols["N"] = images;
  auto tensor = [&](int64_t count, const std::vector<int64_t> &extents, bool blocked = true) {
    return fmt::format("tensor<{}x{}x{}xf32{}>", symbolic ? "?" : std::to_string(images), count, join(extents, "x"),
                       blocked ? fmt::format(", #nn.blocked<1, {}>", target.channelBlock()) : "");
  };
  auto dims = [&](int64_t count, const std::vector<int64_t> &extents) {
    return symbolic ? fmt::format("\"N\", \"{}\", \"{}\"", count, join(extents, "\", \"")) : "";
  };
  auto conv = [&](const std::string &input, const std::string &inputType, const std::string &weights, int64_t outputs,
                  const std::string &attributes) {
    std::string operands = input + ", " + text.argument(weights, true), types = inputType + ", " + weights;
    if (random.chance(2)) {
      std::string bias = fmt::format("tensor<{}xf32>", outputs);
      operands += ", " + text.argument(bias, !random.chance(4));
      types += ", " + bias;
    }
    text.op(fmt::format("conv {} {{{}}}", operands, attributes), types);
    addEpilogue(text, random, fmt::format("tensor<1x{}x{}xf32>", outputs, join(ones, "x")), dims(outputs, axes.out),
                {});
  };
  std::string x = tensor(channels, axes.in), argument = text.argument(x, false, dims(channels, axes.in));
  text.type = tensor(channels, axes.out);
  conv(argument, x, fmt::format("tensor<{}x1x{}xf32>", channels, join(axes.kernel, "x")), channels,
       convAttributes(axes.strides, axes.dilations, axes.pads(), channels));
  std::string between = text.last, betweenType = text.type;
  text.type = tensor(outChannels, axes.out, random.chance(2));
  conv(between, betweenType, fmt::format("tensor<{}x{}x{}xf32>", outChannels, channels, join(ones, "x")), outChannels,
       convAttributes(ones, ones, zeros, 1));
  return text;
}

KernelText randomGemm(Random &random, const Typed &typed) {
  KernelText text;
  int64_t m = random.of<int64_t>({1, 2, 5, 14, 29, 40}), n = random.in(1, 120), k = random.in(1, 70);
  bool symbolic = random.chance(3);
  std::string rows = symbolic ? "?" : std::to_string(m), ms = symbolic ? "\"M\"" : "\"" + std::to_string(m) + "\"";
  if (symbolic)
    text.symbols["M"] = m;
  auto matrix = [&](const std::string &r, const std::string &c) {
    return "tensor<" + r + "x" + c + "x" + typed.name + ">";
  };
  std::string ns = std::to_string(n), ks = std::to_string(k), dims = symbolic ? ms + ", \"" + ns + "\"" : "";
  text.type = matrix(rows, ns);
  std::string channel = "tensor<" + ns + "x" + typed.name + ">";
  if (random.chance(2)) { // gemm
    bool transA = random.chance(3) && !symbolic, transB = random.chance(2);
    std::string a = transA ? matrix(ks, rows) : matrix(rows, ks), b = transB ? matrix(ns, ks) : matrix(ks, ns);
    std::string operands = text.argument(a, false, symbolic ? ms + ", \"" + ks + "\"" : ""), types = a + ", " + b;
    operands += ", " + text.argument(b, !random.chance(3));
    if (random.chance(2)) {
      std::string c = random.of<std::string>(
          {channel, "tensor<1x" + ns + "x" + typed.name + ">",
           "tensor<" + (symbolic ? std::string("1") : rows) + "x1x" + typed.name + ">", "tensor<" + typed.name + ">"});
      operands += ", " + text.argument(c, random.chance(2));
      types += ", " + c;
    }
    text.op("gemm " + operands + " {alpha = " + random.of<std::string>({"1.0", typed.name[0] == 'i' ? "1.0" : "0.5"}) +
                " : f64, beta = " + random.of<std::string>({"1.0", typed.name[0] == 'i' ? "1.0" : "-2.0", "0.0"}) +
                " : f64, trans_a = " + (transA ? "true" : "false") + ", trans_b = " + (transB ? "true" : "false") + "}",
            types);
  } else { // matmul
    int64_t batch = random.in(1, 3);
    int64_t kind =
        random.in(0, 3); // matrices; stack times matrix; stack times stack; stacks that are broadcast in part
    std::string stack = kind ? std::to_string(batch) + "x2x" : "";
    std::string a = matrix(stack + rows, ks), b = matrix((kind >= 2 ? stack : "") + ks, ns);
    if (kind == 3)
      b = matrix(random.of<std::string>({"2x", "1x2x", std::to_string(batch) + "x1x"}) + ks, ns);
    std::string lead = kind ? "\"" + std::to_string(batch) + "\", \"2\", " : "";
    text.type = matrix(stack + rows, ns);
    dims = symbolic ? lead + ms + ", \"" + ns + "\"" : "";
    std::string operands = text.argument(a, false, symbolic ? lead + ms + ", \"" + ks + "\"" : "");
    operands += ", " + text.argument(b, random.chance(2));
    text.op("matmul " + operands, a + ", " + b);
  }
  addEpilogue(text, random, channel, dims, typed);
  return text;
}

namespace {

/// Types of the factors of a product of bytes, and optional zero points as operands.
struct ByteFactors {
  std::string left, right, zero, zeroType;

  ByteFactors(Random &random)
      : left(random.of<std::string>({"i8", "ui8"})), right(random.of<std::string>({"i8", "ui8", "i16"})),
        withZero(random.chance(2)), constantZero(random.chance(2)) {
    zeroType = fmt::format("tensor<{}{}>", random.of<std::string>({"", "1x"}), left);
  }

  /// Appends the operator and possible later operators. `operands` and `types` belong to the factors. `constantRight`:
  /// the right factor is constant. `mayHaveZero`: it may have a zero point.
  void emit(KernelText &text, Random &random, const std::string &op, std::string operands, std::string types,
            const std::string &attributes, const std::string &channel, bool constantRight, bool mayHaveZero) {
    if (withZero) {
      operands += ", " + text.argument(zeroType, constantZero);
      types += ", " + zeroType;
    }
    bool rightZero = mayHaveZero && (constantRight ? right == "i8" : right != "i16") && random.chance(2);
    if (rightZero) {
      std::string type = fmt::format("tensor<{}>", right);
      operands += ", " + text.argument(type, constantRight);
      types += ", " + type;
    }
    text.op(fmt::format("{} {} {{{}operandSegmentSizes = array<i32: 1, 1, {}, {}>}}", op, operands, attributes,
                        withZero ? 1 : 0, rightZero ? 1 : 0),
            types);
    if (random.chance(3)) { // a bias
      std::string type = channel;
      type.replace(type.rfind("f32"), 3, "i32");
      std::string bias = text.argument(type, true);
      text.op("add " + text.last + ", " + bias, text.type + ", " + type);
    }
    std::string sums = text.type;
    if (random.chance(2)) { // dequantised
      text.type.replace(text.type.rfind("i32"), 3, "f32");
      text.op("cast " + text.last + " {to = f32}", sums);
      std::string scale = text.argument(channel, true);
      text.op("mul " + text.last + ", " + scale, text.type + ", " + channel);
    } else if (random.chance(2)) {
      text.op("relu " + text.last, text.type);
    }
  }

private:
  bool withZero, constantZero;
};

} // namespace

KernelText randomConvInteger(Random &random, int64_t block) {
  KernelText text;
  ByteFactors factors(random);
  int64_t rank = random.of<int64_t>({1, 2, 2, 2, 3}), groups = random.of<int64_t>({1, 1, 1, 2, 3});
  if (block)
    groups = 1; // other groups end inside blocks
  int64_t inGroup = random.in(1, 37), outGroup = random.in(groups == 1 ? 1 : 4, 70), images = random.in(1, 3);
  bool pointwise = random.chance(4), symbolic = random.chance(3);
  SpatialAxes axes;
  for (int64_t i = 0; i < rank; ++i)
    axes.add(random, rank, pointwise ? 1 : random.in(1, 4), random.of<int64_t>({1, 1, 2, 3}),
             random.of<int64_t>({1, 1, 2}), !pointwise);
  std::string batch = symbolic ? "?" : std::to_string(images);
  if (symbolic)
    text.symbols["N"] = images;
  auto tensor = [&](int64_t channels, const std::vector<int64_t> &extents, const std::string &type) {
    std::string layout = block ? fmt::format(", #nn.blocked<1, {}>", block) : "";
    return fmt::format("tensor<{}x{}x{}x{}{}>", batch, channels, join(extents, "x"), type, layout);
  };
  std::string x = tensor(groups * inGroup, axes.in, factors.left);
  std::string w = fmt::format("tensor<{}x{}x{}x{}>", groups * outGroup, inGroup, join(axes.kernel, "x"), factors.right);
  text.type = tensor(groups * outGroup, axes.out, "i32");
  std::string dims = symbolic ? fmt::format("\"N\", \"{}\", \"{}\"", groups * inGroup, join(axes.in, "\", \"")) : "";
  std::string operands = text.argument(x, false, dims);
  operands += ", " + text.argument(w, true);
  std::string ones;
  for (int64_t i = 0; i < rank; ++i)
    ones += "x1";
  factors.emit(text, random, "conv_integer", operands, x + ", " + w,
               convAttributes(axes.strides, axes.dilations, axes.pads(), groups) + ", ",
               fmt::format("tensor<1x{}{}xf32>", groups * outGroup, ones), /*constantRight=*/true, groups == 1);
  return text;
}

KernelText randomOpenConvInteger(Random &random, const Target &target, Grouping grouping) {
  KernelText text;
  ByteFactors factors(random);
  OpenConv conv(random, target, grouping);
  OpenOperands tensors(random, target, conv, text, factors.left, factors.right, "i32");
  text.type = tensors.y;
  std::string operands = tensors.arguments(text);
  factors.emit(text, random, "conv_integer", operands, tensors.x + ", " + tensors.w, conv.attributes() + ", ",
               fmt::format("tensor<1x{}{}xf32>", conv.outChannels(), tensors.ones), /*constantRight=*/true,
               /*mayHaveZero=*/false);
  return text;
}

KernelText randomMatMulInteger(Random &random) {
  KernelText text;
  ByteFactors factors(random);
  int64_t m = random.of<int64_t>({1, 2, 5, 14, 29, 40}), n = random.in(1, 120), k = random.in(1, 150);
  bool symbolic = random.chance(3);
  std::string stack = random.chance(3) ? "2x3x" : "", rows = symbolic ? "?" : std::to_string(m);
  if (symbolic)
    text.symbols["M"] = m;
  std::string a = fmt::format("tensor<{}{}x{}x{}>", stack, rows, k, factors.left),
              b = fmt::format("tensor<{}{}x{}x{}>", random.chance(2) ? stack : "", k, n, factors.right);
  bool constant = !random.chance(3);
  text.type = fmt::format("tensor<{}{}x{}xi32>", stack, rows, n);
  std::string dims = symbolic ? fmt::format("{}\"M\", \"{}\"", stack.empty() ? "" : "\"2\", \"3\", ", k) : "";
  std::string operands = text.argument(a, false, dims);
  operands += ", " + text.argument(b, constant);
  factors.emit(text, random, "matmul_integer", operands, a + ", " + b, "", fmt::format("tensor<{}xf32>", n), constant,
               /*mayHaveZero=*/true);
  return text;
}

} // namespace lathe
