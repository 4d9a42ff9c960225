// Signal processing: windows, Fourier transforms and the weights of mel bands. A Fourier transform is a product with
// matrices of cosines and sines; sizes may be computed at run time.
#include "import/onnx/Onnx.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace lathe::onnx {
namespace {

constexpr double circle = 2 * std::numbers::pi;

mlir::Value real(Node &node, double value) { return node.constantScalar(ElementType::f64, value); }
mlir::Value integer(Node &node, int64_t value) { return node.constantInts({}, {value}); }

/// Input `index`, one integer, as an i64 scalar.
mlir::Value integerInput(Node &node, size_t index, const char *what) {
  const TensorInfo &info = node.info(node.in(index));
  require(isInteger(info.type) && mayAgree(product(info.dims), 1), "{} is {} of {}, expected one integer", what,
          str(info.dims), name(info.type));
  return node.reshape(node.cast(node.in(index), ElementType::i64), {});
}

ElementType outputType(Node &node) {
  ElementType type = fromOnnxType(node.intAttr("output_datatype", 1));
  if (type == ElementType::invalid)
    node.unsupported("the element type of the output is not supported");
  return type;
}

/// The positions `begin` to `end` - 1 of x along an axis.
mlir::Value part(Node &node, mlir::Value x, int64_t axis, int64_t begin, int64_t end) {
  return node.emit("slice", {x},
                   {{"starts", std::vector<int64_t>{begin}},
                    {"ends", std::vector<int64_t>{end}},
                    {"axes", std::vector<int64_t>{axis}},
                    {"steps", std::vector<int64_t>{1}}});
}
constexpr int64_t toTheEnd = std::numeric_limits<int64_t>::max();

/// Cosine windows: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
void importWindow(Node &node) {
  require(node.version() >= 17, "there is no such operator in opset {}", node.version());
  node.expectInputs(1, 1);
  std::string op = node.record.op;
  mlir::Value size = integerInput(node, 0, "size"), period = size;
  if (auto known = node.staticInts(size))
    require(known->front() >= 1 && known->front() < 1 << 24, "size is {}, expected a positive number below 2^24",
            known->front());
  ElementType type = outputType(node);
  if (node.intAttr("periodic", 1) == 0)
    period = node.emit("max", {node.emit("sub", {size, integer(node, 1)}), integer(node, 1)});
  double a0 = op == "HannWindow"      ? 0.5
              : op == "HammingWindow" ? 25.0 / 46
                                      : 0.42,
         a2 = op == "BlackmanWindow" ? 0.08 : 0, a1 = op == "BlackmanWindow" ? 0.5 : 1 - a0;
  mlir::Value step = node.emit("div", {real(node, circle), node.cast(period, ElementType::f64)});
  mlir::Value angle = node.emit("mul", {node.cast(countTo(node, size), ElementType::f64), step});
  auto term = [&](mlir::Value of, double factor) {
    return node.emit("mul", {node.emit("cos", {of}), real(node, factor)});
  };
  mlir::Value window = node.emit("sub", {real(node, a0), term(angle, a1)});
  if (a2 != 0)
    window = node.emit("add", {window, term(node.emit("mul", {angle, real(node, 2)}), a2)});
  node.set(0, node.cast(window, type));
}

/// A signal whose last axis is transformed. A real signal has no imaginary part.
struct Signal {
  mlir::Value re, im;
};

/// cos and sin of 2 pi n k / length as matrices, n along the rows and k along the columns.
struct Waves {
  mlir::Value cosines, sines;
};

Waves waves(Node &node, mlir::Value rows, mlir::Value columns, mlir::Value length) {
  // The remainder keeps the angle small, and so its error.
  mlir::Value turns = node.emit("mod", {node.emit("mul", {column(node, rows), columns}), length});
  mlir::Value step = node.emit("div", {real(node, circle), node.cast(length, ElementType::f64)});
  mlir::Value angle = node.emit("mul", {node.cast(turns, ElementType::f64), step});
  return {node.emit("cos", {angle}), node.emit("sin", {angle})};
}

mlir::Value product(Node &node, mlir::Value x, mlir::Value matrix) {
  return node.emit("matmul", {x, node.cast(matrix, node.info(x).type)});
}

/// The sum over n of x[n] exp(-2 pi i n k / length); with `inverse` the sign of the exponent changes.
Signal transformed(Node &node, const Signal &x, const Waves &waves, bool inverse) {
  Signal y{product(node, x.re, waves.cosines), product(node, x.re, waves.sines)};
  const char *plus = inverse ? "sub" : "add", *minus = inverse ? "add" : "sub";
  if (x.im) {
    y.re = node.emit(plus, {y.re, product(node, x.im, waves.sines)});
    y.im = node.emit(minus, {product(node, x.im, waves.cosines), y.im});
  } else if (!inverse) {
    y.im = node.emit("neg", {y.im});
  }
  return y;
}

/// Splits a signal whose last axis holds real and imaginary part.
Signal partsOf(Node &node, mlir::Value x) {
  Dims dims = node.info(x).dims;
  auto last = static_cast<int64_t>(dims.size()) - 1;
  bool complex = dims.back() == Dim(2);
  require(complex || dims.back() == Dim(1), "the signal is {}, expected a last extent of 1 or 2", str(dims));
  dims.pop_back();
  Signal signal{node.reshape(part(node, x, last, 0, 1), dims), {}};
  if (complex)
    signal.im = node.reshape(part(node, x, last, 1, 2), dims);
  return signal;
}

mlir::Value joined(Node &node, const Signal &signal) {
  Dims dims = node.info(signal.re).dims;
  dims.emplace_back(1);
  mlir::Value re = node.reshape(signal.re, dims);
  return node.emit("concat", {re, node.reshape(signal.im, dims)}, {{"axis", static_cast<int64_t>(dims.size()) - 1}});
}

/// length / 2 + 1: the frequencies that determine a real signal.
mlir::Value halfOf(Node &node, mlir::Value length) {
  return node.emit("add", {node.emit("div", {length, integer(node, 2)}), integer(node, 1)});
}

/// `x` with axes `a` and `b` exchanged.
mlir::Value exchanged(Node &node, mlir::Value x, int64_t a, int64_t b) {
  if (!x || a == b)
    return x;
  std::vector<int64_t> permutation;
  for (int64_t i = 0; i < node.rank(x); ++i)
    permutation.push_back(i == a ? b : i == b ? a : i);
  return node.emit("transpose", {x}, {{"perm", permutation}});
}

class DftImport {
public:
  explicit DftImport(Node &node) : node(node) {}

  void run() {
    readAxis();
    inverse = node.intAttr("inverse", 0) != 0;
    onesided = node.intAttr("onesided", 0) != 0;
    mlir::Value x = node.in(0), extent = extentOf(node, x, axis);
    bool real = inverse && onesided; // the result is real
    length = node.has(1) ? integerInput(node, 1, "dft_length")
             : real      ? node.emit("mul", {node.emit("sub", {extent, integer(node, 1)}), integer(node, 2)})
                         : extent;
    // Ignores elements beyond the length, and pads missing elements with zeros.
    mlir::Value wanted = real ? halfOf(node, length) : length;
    if (node.has(1))
      x = node.emit("slice", {x, node.constantInts({1}, {0}), node.reshape(wanted, {1})},
                    {{"axes", std::vector<int64_t>{axis}}, {"steps", std::vector<int64_t>{1}}});
    rows = countTo(node, extentOf(node, x, axis));
    Signal signal = partsOf(node, x);
    require(!onesided || (signal.im != nullptr) == inverse, "onesided is set for a {} signal",
            signal.im ? "complex" : "real");
    int64_t last = node.rank(signal.re) - 1;
    signal = {exchanged(node, signal.re, axis, last), exchanged(node, signal.im, axis, last)};
    signal = real ? realInverse(signal) : spectrum(signal);
    signal = {exchanged(node, signal.re, axis, last), exchanged(node, signal.im, axis, last)};
    if (real) {
      Dims dims = node.info(signal.re).dims;
      dims.emplace_back(1);
      node.set(0, node.reshape(signal.re, dims));
    } else {
      node.set(0, joined(node, signal));
    }
  }

private:
  Node &node;
  int64_t axis = 0;
  bool inverse = false, onesided = false;
  mlir::Value length, rows; // length of the transform, and how many of its positions exist

  /// Since opset 20 the axis is an input.
  void readAxis() {
    require(node.version() >= 17, "there is no such operator in opset {}", node.version());
    bool input = node.version() >= 20;
    node.expectInputs(1, input ? 3 : 2);
    axis = input ? -2 : node.intAttr("axis", 1);
    if (input && node.has(2)) {
      std::vector<int64_t> given = node.requireInts(2, "axis");
      require(given.size() == 1, "axis has {} elements, expected 1", given.size());
      axis = given[0];
    }
    axis = normalizeAxis(axis, node.rank(node.in(0)), "axis");
    require(axis < node.rank(node.in(0)) - 1, "axis is the last one, which holds real and imaginary parts");
  }

  mlir::Value perLength(mlir::Value wave) { return node.emit("div", {wave, node.cast(length, ElementType::f64)}); }

  Signal spectrum(const Signal &x) {
    Waves w = waves(node, rows, countTo(node, onesided ? halfOf(node, length) : length), length);
    if (inverse)
      w = {perLength(w.cosines), perLength(w.sines)};
    return transformed(node, x, w, inverse);
  }

  /// The real signal whose lower frequencies are x: every frequency counts twice, except 0 and half of the length.
  Signal realInverse(const Signal &x) {
    Waves w = waves(node, rows, countTo(node, length), length);
    mlir::Value doubled = node.emit("mul", {rows, integer(node, 2)});
    mlir::Value once =
        node.emit("or", {node.emit("equal", {rows, integer(node, 0)}), node.emit("equal", {doubled, length})});
    mlir::Value times = column(node, node.emit("where", {once, real(node, 1), real(node, 2)}));
    auto weighed = [&](mlir::Value wave) { return perLength(node.emit("mul", {wave, times})); };
    mlir::Value re = product(node, x.re, weighed(w.cosines)), im = product(node, x.im, weighed(w.sines));
    return {node.emit("sub", {re, im}), {}};
  }
};

void importDft(Node &node) { DftImport(node).run(); }

/// Imports STFT: cuts a signal into frames and transforms each.
void importStft(Node &node) {
  require(node.version() >= 17, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 4);
  mlir::Value x = node.in(0), step = integerInput(node, 1, "frame_step");
  const Dims given = node.info(x).dims;
  require(given.size() == 2 || given.size() == 3, "the signal is {}, expected rank 2 or 3", str(given));
  Signal signal = given.size() == 3 ? partsOf(node, x) : Signal{x, {}};
  bool onesided = node.intAttr("onesided", 1) != 0;
  require(!onesided || !signal.im, "onesided is set for a complex signal");
  require(node.has(2) || node.has(3), "has neither a window nor a frame_length");
  mlir::Value length = node.has(3) ? integerInput(node, 3, "frame_length") : extentOf(node, node.in(2), 0);
  mlir::Value last = node.emit("sub", {extentOf(node, x, 1), length});
  mlir::Value frames = node.emit("add", {node.emit("div", {last, step}), integer(node, 1)});
  mlir::Value starts = node.emit("mul", {countTo(node, frames), step}), inside = countTo(node, length);
  mlir::Value index = node.emit("add", {column(node, starts), inside});
  auto framed = [&](mlir::Value of) {
    if (!of)
      return of;
    mlir::Value cut = node.emit("gather", {of, index}, {{"axis", 1}});
    return node.has(2) ? node.emit("mul", {cut, node.cast(node.in(2), node.info(cut).type)}) : cut;
  };
  Waves w = waves(node, inside, countTo(node, onesided ? halfOf(node, length) : length), length);
  node.set(0, joined(node, transformed(node, {framed(signal.re), framed(signal.im)}, w, false)));
}

/// Weights of triangular bands with equal widths in mels: frequencies of a spectrum along the rows, bands along the
/// columns.
void importMelWeightMatrix(Node &node) {
  require(node.version() >= 17, "there is no such operator in opset {}", node.version());
  node.expectInputs(5, 5);
  constexpr double perOctave = 2595, base = 700; // mel = perOctave * log10(1 + hertz / base)
  mlir::Value bands = integerInput(node, 0, "num_mel_bins"), length = integerInput(node, 1, "dft_length");
  mlir::Value rate = node.cast(integerInput(node, 2, "sample_rate"), ElementType::f64);
  ElementType type = outputType(node);
  auto mels = [&](size_t input) {
    mlir::Value hertz = node.reshape(node.cast(node.in(input), ElementType::f64), {});
    mlir::Value ratio = node.emit("add", {node.emit("div", {hertz, real(node, base)}), real(node, 1)});
    return node.emit("mul", {node.emit("log", {ratio}), real(node, perOctave / std::numbers::ln10)});
  };
  mlir::Value low = mels(3), corners = node.emit("add", {bands, integer(node, 2)});
  mlir::Value step = node.emit("div", {node.emit("sub", {mels(4), low}), node.cast(corners, ElementType::f64)});
  mlir::Value place = node.emit("mul", {node.cast(countTo(node, corners), ElementType::f64), step});
  mlir::Value octaves = node.emit("mul", {node.emit("add", {place, low}), real(node, std::numbers::ln10 / perOctave)});
  mlir::Value hertz =
      node.emit("mul", {node.emit("sub", {node.emit("exp", {octaves}), real(node, 1)}), real(node, base)});
  mlir::Value points = node.cast(node.emit("add", {length, integer(node, 1)}), ElementType::f64);
  mlir::Value bins = node.emit("floor", {node.emit("div", {node.emit("mul", {points, hertz}), rate})});
  mlir::Value from = part(node, bins, 0, 0, -2), centre = part(node, bins, 0, 1, -1),
              to = part(node, bins, 0, 2, toTheEnd);
  mlir::Value row = column(node, node.cast(countTo(node, halfOf(node, length)), ElementType::f64));
  auto share = [&](mlir::Value part, mlir::Value whole) {
    return node.emit("div", {part, node.emit("max", {whole, real(node, 1)})});
  };
  mlir::Value rising = share(node.emit("sub", {row, from}), node.emit("sub", {centre, from}));
  mlir::Value falling = share(node.emit("sub", {to, row}), node.emit("sub", {to, centre}));
  mlir::Value zero = real(node, 0);
  mlir::Value behind = node.emit("where", {node.emit("less", {row, to}), falling, zero});
  mlir::Value peak = node.emit("where", {node.emit("equal", {row, centre}), real(node, 1), behind});
  mlir::Value before = node.emit("where", {node.emit("less", {row, from}), zero, rising});
  node.set(0, node.cast(node.emit("where", {node.emit("less", {row, centre}), before, peak}), type));
}

} // namespace

void addSignalHandlers(Handlers &table) {
  table["HannWindow"] = importWindow;
  table["HammingWindow"] = importWindow;
  table["BlackmanWindow"] = importWindow;
  table["DFT"] = importDft;
  table["STFT"] = importStft;
  table["MelWeightMatrix"] = importMelWeightMatrix;
}

} // namespace lathe::onnx
