#include "lab/problems/ProblemSyntax.h"

#include "lab/problems/SyntaxParts.h"
#include "support/Error.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lathe::lab {

namespace {

// Windows: convolutions, pooling, resizing.

/// One spatial axis of a sliding window.
struct Axis {
  char letter = 'h'; // or 'd', 'w'
  int64_t in = 0, out = 0, kernel = 1, stride = 1, pad = 0, padAfter = 0, dilation = 1;
};

/// Axes of a text. A value missing for one axis is taken from the previous axis, and a missing output is computed.
std::vector<Axis> axesOf(const Letters &letters) {
  std::vector<Axis> axes;
  axes.reserve(3);
  const Axis *before = nullptr;
  bool outIsGiven = false;
  for (char letter : {'d', 'h', 'w'}) {
    auto key = [&](char what) { return std::string{what, letter}; };
    // 'ih' without 'iw' means a square image, 'iw' alone a row.
    if (!before && !letters.has(key('i')))
      continue;
    if (!before)
      outIsGiven = letters.has(key('o'));
    require(outIsGiven || !letters.has(key('o')), "'{}' without '{}'", key('o'),
            std::string{'o', before ? axes[0].letter : letter});
    Axis axis;
    axis.letter = letter;
    axis.in = letters.get(key('i'), before ? before->in : 0);
    axis.kernel = letters.get(key('k'), before ? before->kernel : 1);
    axis.stride = letters.get(key('s'), before ? before->stride : 1);
    axis.pad = letters.get(key('p'), before ? before->pad : 0);
    axis.dilation = letters.get(key('d'), before ? before->dilation - 1 : 0) + 1;
    require(axis.stride > 0, "stride '{}' is 0", key('s'));
    require(axis.kernel > 0, "kernel '{}' is 0", key('k'));
    int64_t window = (axis.kernel - 1) * axis.dilation + 1;
    int64_t computed = axis.in + 2 * axis.pad < window ? 0 : (axis.in + 2 * axis.pad - window) / axis.stride + 1;
    axis.out = outIsGiven ? letters.get(key('o'), before ? before->out : computed) : computed;
    require(axis.out > 0, "output '{}' is {}: input {}, window {}, padding {}", key('o'), axis.out, axis.in, window,
            axis.pad);
    // Padding at the end may exceed the padding at the start by what the stride needs for whole windows, but not by
    // whole windows.
    axis.padAfter = std::max<int64_t>(0, (axis.out - 1) * axis.stride + window - axis.in - axis.pad);
    int64_t made = (axis.in + axis.pad + axis.padAfter - window) / axis.stride + 1;
    require(made == axis.out && axis.padAfter <= axis.pad + window + axis.stride,
            "output '{}' {} does not follow from input {}, kernel {}, stride {}, padding {}, dilation {}", key('o'),
            axis.out, axis.in, axis.kernel, axis.stride, axis.pad, axis.dilation - 1);
    axes.push_back(axis);
    before = &axes.back();
  }
  require(!axes.empty(), "'ih' is missing");
  return axes;
}

std::string values(const std::vector<Axis> &axes, int64_t Axis::*member, const char *separator = ",") {
  std::vector<int64_t> list;
  for (auto &axis : axes)
    list.push_back(axis.*member);
  return joined(list, separator);
}

std::string windowAttrs(const std::vector<Axis> &axes) {
  return fmt::format("strides={}, dilations={}, pads={},{}", values(axes, &Axis::stride), values(axes, &Axis::dilation),
                     values(axes, &Axis::pad), values(axes, &Axis::padAfter));
}

std::string epilogueText(const SyntaxOptions &options) {
  return options.epilogue.empty() ? "" : fmt::format(" +{}", fmt::join(options.epilogue, " +"));
}

/// ":u8:0..256": an 8-bit type with all of its values.
std::string wholeRange(ElementType type) {
  return fmt::format(":{}:{}", name(type), type == ElementType::i8 ? "-128..128" : "0..256");
}

/// The operator over 8-bit integers with these operands; `constant` weights are known before the run.
Problem ofBytes(const char *op, const std::string &left, const std::string &right, bool constant,
                const std::string &rest, const SyntaxOptions &options) {
  return Problem::parse(fmt::format("{} {}{} {}{}{}{}", op, left, wholeRange(options.type), right,
                                    wholeRange(options.weights), constant ? ":const" : "", rest));
}

Problem convolution(const std::string &text, const SyntaxOptions &options, size_t rank, bool depthwise) {
  Letters letters(text, {"g",  "mb", "ic", "id", "ih", "iw", "oc", "od", "oh", "ow", "kd",
                         "kh", "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"});
  auto axes = axesOf(letters);
  require(rank == 0 || axes.size() == rank, "{} spatial axes, expected {}", axes.size(), rank);
  int64_t in = letters.has("ic") || !depthwise ? letters.get("ic") : letters.get("g");
  int64_t groups = letters.get("g", depthwise ? in : 1);
  int64_t out = depthwise ? letters.get("oc", in) : letters.get("oc");
  require(groups > 0 && in % groups == 0 && out % groups == 0, "{} and {} channels are not divided by {} groups", in,
          out, groups);
  require(!depthwise || groups == in, "{} groups of {} channels are not depthwise", groups, in);
  std::string x = fmt::format("x={}x{}x{}", letters.get("mb", 1), in, values(axes, &Axis::in, "x")),
              w = fmt::format("w={}x{}x{}", out, in / groups, values(axes, &Axis::kernel, "x")),
              rest = fmt::format(" {} group={}{}", windowAttrs(axes), groups, epilogueText(options));
  if (options.bytes())
    return ofBytes("conv_integer", x, w, true, rest, options);
  return Problem::parse(
      fmt::format("conv {} {}:const{}{}", x, w, options.bias ? fmt::format(" b={}:const", out) : "", rest));
}

Problem conv1d(const std::string &text, const SyntaxOptions &options) { return convolution(text, options, 1, false); }
Problem conv2d(const std::string &text, const SyntaxOptions &options) { return convolution(text, options, 2, false); }
Problem conv3d(const std::string &text, const SyntaxOptions &options) { return convolution(text, options, 3, false); }
Problem anyConv(const std::string &text, const SyntaxOptions &options) { return convolution(text, options, 0, false); }
Problem depthwise(const std::string &text, const SyntaxOptions &options) { return convolution(text, options, 2, true); }

Problem pool(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 1, 2, "LETTERS[:max|avg|avg_p]");
  Letters letters(words[0], {"mb", "ic", "id", "ih", "iw", "od", "oh", "ow", "kd", "kh",
                             "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"});
  auto axes = axesOf(letters);
  std::string what = words.size() > 1 ? words[1] : "max";
  bool max = what == "max", counts = what == "avg_p";
  require(max || counts || what == "avg" || what == "avg_np", "'{}' is no pooling, expected max, avg, avg_p", what);
  return Problem::parse(fmt::format("{} x={}x{}x{} kernel={}, {}{}", max ? "max_pool" : "average_pool",
                                    letters.get("mb", 1), letters.get("ic"), values(axes, &Axis::in, "x"),
                                    values(axes, &Axis::kernel), windowAttrs(axes),
                                    counts ? " count_include_pad=true" : ""));
}

Problem resize(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 1, 2, "LETTERS[:nearest|linear|cubic]");
  Letters letters(words[0], {"mb", "ic", "id", "ih", "iw", "od", "oh", "ow"});
  std::vector<int64_t> in = {letters.get("mb", 1), letters.get("ic")}, out = in;
  for (char letter : {'d', 'h', 'w'}) {
    std::string from{'i', letter}, to{'o', letter};
    bool follows = in.size() > 2;
    if (!follows && !letters.has(from))
      continue;
    in.push_back(letters.get(from, follows ? in.back() : 0));
    out.push_back(letters.has(to) || !follows ? letters.get(to) : out.back());
  }
  require(in.size() > 2, "'ih' is missing");
  return Problem::parse(fmt::format("resize x={} mode={} sizes={}", joined(in, "x"),
                                    words.size() > 1 ? words[1] : "nearest", joined(out, ",")));
}

// Matrix products.

/// "64x256:256x128" or m64n128k256, with ta1 and tb1 for transposed operands: batch, m, n, k.
struct MatrixExtents {
  std::vector<int64_t> batchA, batchB;
  int64_t m = 0, n = 0, k = 0;
  bool transA = false, transB = false;
};

MatrixExtents matrixExtents(const std::string &text) {
  MatrixExtents e;
  if (text.find('x') == std::string::npos) {
    Letters letters(text, {"b", "m", "n", "k", "ta", "tb"});
    e.m = letters.get("m"), e.n = letters.get("n"), e.k = letters.get("k");
    e.transA = letters.get("ta", 0), e.transB = letters.get("tb", 0);
    if (letters.has("b"))
      e.batchA = e.batchB = {letters.get("b")};
    return e;
  }
  auto words = parts(text, 2, 2, "[BATCHx]MxK:[BATCHx]KxN or m64n128k256");
  auto a = dimsOf(words[0]), b = dimsOf(words[1]);
  require(a.size() >= 2 && b.size() >= 2, "a matrix has at least two extents");
  e.m = a[a.size() - 2], e.k = a.back(), e.n = b.back();
  require(b[b.size() - 2] == e.k, "the inner extents {} and {} differ", e.k, b[b.size() - 2]);
  e.batchA.assign(a.begin(), a.end() - 2);
  e.batchB.assign(b.begin(), b.end() - 2);
  return e;
}

Problem gemm(const std::string &text, const SyntaxOptions &options) {
  auto e = matrixExtents(text);
  require(e.batchA.empty() && e.batchB.empty(), "a batch needs 'matmul'");
  if (options.bytes()) {
    require(!e.transA && !e.transB, "products of {} have no transposed operands", name(options.type));
    return ofBytes("matmul_integer", fmt::format("a={}x{}", e.m, e.k), fmt::format("b={}x{}", e.k, e.n), false, "",
                   options);
  }
  auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? fmt::format("{}x{}", columns, rows) : fmt::format("{}x{}", rows, columns);
  };
  return Problem::parse(fmt::format("gemm a={} b={} trans_a={} trans_b={}", matrix(e.m, e.k, e.transA),
                                    matrix(e.k, e.n, e.transB), e.transA, e.transB));
}

Problem matmul(const std::string &text, const SyntaxOptions &options) {
  auto e = matrixExtents(text);
  require(!e.transA && !e.transB, "transposed operands need 'gemm'");
  auto operand = [](std::vector<int64_t> dims, int64_t rows, int64_t columns) {
    dims.push_back(rows), dims.push_back(columns);
    return joined(dims, "x");
  };
  std::string a = "a=" + operand(e.batchA, e.m, e.k), b = "b=" + operand(e.batchB, e.k, e.n);
  if (options.bytes())
    return ofBytes("matmul_integer", a, b, false, "", options);
  return Problem::parse(fmt::format("matmul {} {}", a, b));
}

Problem fullyConnected(const std::string &text, const SyntaxOptions &options) {
  Letters letters(text, {"mb", "ic", "id", "ih", "iw", "oc"});
  int64_t in = letters.get("ic"), side = letters.get("ih", 1);
  in *= letters.get("id", 1) * side * letters.get("iw", side);
  int64_t out = letters.get("oc");
  if (options.bytes())
    return ofBytes("matmul_integer", fmt::format("a={}x{}", letters.get("mb", 1), in), fmt::format("b={}x{}", in, out),
                   true, epilogueText(options), options);
  return Problem::parse(fmt::format("gemm a={}x{} b={}x{}:const{} trans_b=true{}", letters.get("mb", 1), in, out, in,
                                    options.bias ? fmt::format(" c={}:const", out) : "", epilogueText(options)));
}

Problem lstm(const std::string &text, const SyntaxOptions &) {
  Letters letters(text, {"l", "t", "mb", "sic", "slc", "dhc", "dic", "dir"});
  require(letters.get("l", 1) == 1, "'l' is {}, expected one layer", letters.get("l", 1));
  int64_t hidden = letters.get("dhc");
  // benchdnn distinguishes the layer's input (slc) from the iteration's (sic), which is the hidden state.
  int64_t in = letters.get("slc", letters.get("sic", hidden));
  int64_t directions = letters.get("dir", 1);
  require(directions == 1 || directions == 2, "'dir' is {}, expected 1 or 2", directions);
  // The initial range of frameworks. Larger weights make the recurrence chaotic, so that no two roundings agree.
  double range = 1 / std::sqrt(double(hidden));
  auto weights = [&](const char *name, std::vector<int64_t> dims) {
    return fmt::format(" {}={}:const:-{:.3g}..{:.3g}", name, joined(dims, "x"), range, range);
  };
  return Problem::parse(
      fmt::format("lstm x={}x{}x{}{}{}{} direction={}", letters.get("t"), letters.get("mb", 1), in,
                  weights("w", {directions, 4 * hidden, in}), weights("r", {directions, 4 * hidden, hidden}),
                  weights("b", {directions, 8 * hidden}), directions == 2 ? "bidirectional" : "forward"));
}

// Extents and a word.

Problem softmax(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 1, 2, "EXTENTS[:axisN]");
  std::string axis = "-1";
  if (words.size() > 1) {
    require(words[1].rfind("axis", 0) == 0, "'{}' is no axis, expected axis1", words[1]);
    axis = words[1].substr(4);
  }
  return Problem::parse(fmt::format("softmax x={} axis={}", joined(dimsOf(words[0]), "x"), axis));
}

Problem layerNorm(const std::string &text, const SyntaxOptions &) {
  auto dims = dimsOf(text);
  return Problem::parse(
      fmt::format("layer_norm x={} scale={}:const bias={}:const axis=-1", joined(dims, "x"), dims.back(), dims.back()));
}

Problem elementwise(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 2, 3, "EXTENTS:OPERATOR or EXTENTS:EXTENTS:OPERATOR");
  const OpRecord *record = findOp(words.back());
  require(record && std::string_view(record->lowering) == "elementwise", "'{}' is no element-wise operator",
          words.back());
  require(record->operands.size() >= words.size() - 1, "{} has {} operands", words.back(), record->operands.size());
  // Operators that are only defined for positive numbers.
  static const std::array positive = {"log", "sqrt", "pow", "reciprocal", "div", "mod", "acosh"};
  bool needsPositive = std::find(positive.begin(), positive.end(), words.back()) != positive.end();
  std::string result = words.back();
  for (size_t i = 0; i + 1 < words.size(); ++i)
    result += fmt::format(" {}={}{}", record->operands[record->operands[0].variadic ? 0 : i].name,
                          joined(dimsOf(words[i]), "x"), needsPositive ? ":1..2" : "");
  return Problem::parse(result);
}

Problem reduction(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 2, 3, "EXTENTS:EXTENTS[:sum|mean|max|min|...]");
  auto from = dimsOf(words[0]), to = dimsOf(words[1]);
  require(from.size() == to.size(), "{} and {} have different ranks: a reduced axis keeps the extent 1", words[0],
          words[1]);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i]) {
      require(to[i] == 1, "axis {} goes from {} to {}, expected 1", i, from[i], to[i]);
      axes.push_back(int64_t(i));
    }
  require(!axes.empty(), "nothing is reduced from {} to {}", words[0], words[1]);
  return Problem::parse(
      fmt::format("reduce_{} x={} axes={},", words.size() > 2 ? words[2] : "sum", words[0], joined(axes, ",")));
}

Problem transpose(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 2, 2, "EXTENTS:AXES, such as 1x64x56x56:0,2,3,1");
  return Problem::parse(fmt::format("transpose x={} perm={},", joined(dimsOf(words[0]), "x"), words[1]));
}

Problem reshape(const std::string &text, const SyntaxOptions &) {
  auto words = parts(text, 2, 2, "EXTENTS:EXTENTS");
  return Problem::parse(
      fmt::format("reshape x={} shape={},", joined(dimsOf(words[0]), "x"), joined(dimsOf(words[1]), ",")));
}

constexpr const char *conv2dAliases[] = {"conv2"};
constexpr const char *fullyConnectedAliases[] = {"ip", "inner_product", "fully_connected"};
constexpr const char *softmaxAliases[] = {"softmax_v2"};
constexpr const char *layerNormAliases[] = {"lnorm"};
constexpr const char *elementwiseAliases[] = {"binary", "elementwise"};
constexpr const char *resizeAliases[] = {"resampling"};
constexpr const char *reductionAliases[] = {"reduce"};
constexpr const char *poolAliases[] = {"pooling"};
constexpr const char *lstmAliases[] = {"rnn"};

const ProblemSyntax table[] = {
    {"conv2d", conv2dAliases, "mb1g1ic64ih56oc64kh3ph1",
     "benchdnn's: g groups, mb batch (1), ic ih iw oc oh ow kh kw, sh sw stride (1), ph pw padding (0), dh dw dilation "
     "(0: dense)",
     conv2d},
    {"conv1d", {}, "ic64iw100oc64kw3pw1", "the same with iw ow kw sw pw dw", conv1d},
    {"conv3d", {}, "ic16id8ih14oc16kd3pd1", "the same with id od kd sd pd dd, too", conv3d},
    {"conv", {}, "ic64ih56oc64kh3ph1", "any of them, as benchdnn's --conv", anyConv},
    {"depthwise", {}, "ic64ih56kh3ph1", "g and oc are ic where missing", depthwise},
    {"gemm", {}, "m64n128k256", "ta1, tb1: transposed; or 64x256:256x128; both operands given at run time", gemm},
    {"matmul", {}, "12x64x256:12x256x64", "batches broadcast; or b12m64n64k256", matmul},
    {"fc", fullyConnectedAliases, "mb1ic2048oc1000", "weights known before; ih iw: flattened images", fullyConnected},
    {"pool", poolAliases, "ic64ih112kh3sh2ph1:max",
     "max (where missing), avg (without padding; avg_np), avg_p (with padding)", pool},
    {"softmax", softmaxAliases, "128x1000:axis1", "over the last axis where missing", softmax},
    {"layer_norm", layerNormAliases, "128x768", "over the last axis, with scale and bias", layerNorm},
    {"eltwise", elementwiseAliases, "1x64x56x56:relu",
     "any element-wise operator; two operands: 1x64x56x56:1x64x1x1:add", elementwise},
    {"reduction", reductionAliases, "1x64x56x56:1x64x1x1:mean", "from and to extents; sum where missing", reduction},
    {"resize", resizeAliases, "ic64ih28oh56:linear", "nearest (where missing), linear, cubic", resize},
    {"transpose", {}, "1x64x56x56:0,2,3,1", "extents and the order of axes", transpose},
    {"reshape", {}, "1x64x7x7:1x3136", "from and to extents", reshape},
    {"lstm", lstmAliases, "t35mb1sic650dhc650",
     "t steps, mb batch (1), slc inputs (dhc), dhc hidden values, dir directions (1)", lstm},
};

} // namespace

void setTypes(SyntaxOptions &options, const std::string &text) {
  auto typeOf = [&](const std::string &word) {
    bool benchdnn = word == "s8" || word == "s32";
    auto type = elementTypeFromName(benchdnn ? "i" + word.substr(1) : word);
    require(type.has_value(), "'{}' is not an element type", word);
    return *type;
  };
  auto words = split(text == "int8" ? "u8" : text, ':');
  options.type = typeOf(words[0]);
  options.weights = ElementType::i8;
  if (words.size() == 3 && isByte(options.type)) {
    options.weights = typeOf(words[1]);
    require(isByte(options.weights) && typeOf(words[2]) == ElementType::i32,
            "types '{}': expected activations and weights of s8 or u8 and sums of s32, such as u8:s8:s32", text);
    return;
  }
  require(words.size() == 1 && (isFloat(options.type) || isByte(options.type)),
          "type '{}': expected a floating-point type, int8, u8, i8, or three types such as u8:s8:s32", text);
}

void setEpilogue(SyntaxOptions &options, const std::string &text) {
  options.bias = false;
  options.epilogue.clear();
  if (text == "none")
    return;
  for (const std::string &word : split(text, '+')) {
    require(!word.empty(), "epilogue '{}': expected none, or bias and operators joined by +, such as bias+add+relu",
            text);
    if (word == "bias" && !options.bias && options.epilogue.empty())
      options.bias = true;
    else
      options.epilogue.push_back(word);
  }
}

std::span<const ProblemSyntax> problemSyntaxes() { return table; }

const ProblemSyntax *findSyntax(std::string_view kind) {
  for (auto &syntax : table)
    if (kind == syntax.kind ||
        std::any_of(syntax.aliases.begin(), syntax.aliases.end(), [&](const char *alias) { return kind == alias; }))
      return &syntax;
  return nullptr;
}

Problem parseProblem(const std::string &kind, const std::string &text, const SyntaxOptions &options) {
  const ProblemSyntax *syntax = findSyntax(kind);
  std::string first = text.substr(0, text.find(' '));
  Problem problem;
  if (findOp(first) && text.find('=') != std::string::npos) {
    problem = Problem::parse(text);
  } else if (syntax) {
    try {
      problem = syntax->parse(text, options);
    } catch (const Error &error) {
      fail("problem '{}' of {}: {} (such as {})", text, syntax->kind, error.what(), syntax->form);
    }
  } else {
    require(findOp(kind) != nullptr, "'{}' is neither a kind of problem nor an operator", kind);
    problem = Problem::parse(kind + " " + text);
  }
  if (options.bytes())
    require(problem.op == "conv_integer" || problem.op == "matmul_integer",
            "problem '{}' of {}: operands of {} are for convolutions and products only", text, kind,
            name(options.type));
  else if (options.type != ElementType::f32)
    for (auto &operand : problem.operands)
      if (operand.type == ElementType::f32)
        operand.type = options.type;
  return problem;
}

std::string shortText(const Problem &problem) {
  if (problem.op != "conv")
    return problem.str();
  auto &attrs = problem.attrsAs<ConvAttrs>();
  auto &x = problem.operand("x")->dims, &w = problem.operand("w")->dims;
  auto y = problem.results().at(0).dims;
  std::string text;
  auto put = [&](const std::string &key, int64_t value, int64_t usual) {
    if (value != usual)
      text += fmt::format("{}{}", key, value);
  };
  size_t axes = x.size() - 2;
  std::string letters = std::string("dhw").substr(3 - axes);
  auto at = [](const std::vector<int64_t> &list, size_t i, int64_t fallback) {
    return i < list.size() ? list[i] : fallback;
  };
  auto axisWise = [&](char what, auto value, int64_t usual) {
    for (size_t i = 0; i < axes; ++i)
      put(std::string{what, letters[i]}, value(i), i ? value(i - 1) : usual);
  };
  put("g", attrs.group, 1);
  put("mb", x[0], 1);
  put("ic", x[1], -1);
  axisWise('i', [&](size_t i) { return x[2 + i]; }, -1);
  put("oc", w[0], -1);
  axisWise('o', [&](size_t i) { return y[2 + i]; }, -1);
  axisWise('k', [&](size_t i) { return w[2 + i]; }, -1);
  axisWise('s', [&](size_t i) { return at(attrs.strides, i, 1); }, 1);
  axisWise('p', [&](size_t i) { return at(attrs.pads, i, 0); }, 0);
  axisWise('d', [&](size_t i) { return at(attrs.dilations, i, 1) - 1; }, 0);
  return text;
}

} // namespace lathe::lab
