#include "lab/providers/Im2col.h"

#include <algorithm>
#include <cstring>

namespace lathe::lab {

namespace {

/// Runs body(slot, begin, end) on the slots of a pool.
template <class Body> void parallel(runtime::ThreadPool &pool, int64_t count, Body &&body) {
  pool.run(
      count,
      [](void *context, int slot, int64_t begin, int64_t end) { (*static_cast<Body *>(context))(slot, begin, end); },
      &body);
}

void relu(float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    values[i] = values[i] < 0 ? 0 : values[i]; // NaN stays
}

/// Why none of these programs supports the problem; "" if they do.
std::string unsupported(const Problem &problem) {
  for (auto &operand : problem.operands)
    if (operand.type != ElementType::f32)
      return fmt::format("only f32 is implemented, '{}' is {}", operand.name, name(operand.type));
  if (problem.epilogue.size() > 1 || (problem.epilogue.size() == 1 && problem.epilogue[0] != "relu"))
    return fmt::format("only a relu is implemented behind it, not {}", fmt::join(problem.epilogue, ", "));
  return "";
}

class Im2col : public ProductProgram {
public:
  Im2col(const Problem &problem, const ProblemInputs &inputs, int threads, Product product)
      : window(*windowOf(problem)), inputs(inputs), product(product), pool(threads) {
    batch = problem.operand("x")->dims[0];
    groups = problem.attrsAs<ConvAttrs>().group;
    inChannels = problem.operand("x")->dims[1] / groups;
    outChannels = problem.operand("w")->dims[0] / groups;
    withRelu = !problem.epilogue.empty();
    y = Tensor(ElementType::f32, problem.results()[0].dims);
    // A panel's columns should fit into a core's second cache (1 MiB), unless this makes it too narrow for a product.
    int64_t depth = inChannels * window.taps(), pixels = window.outPixels();
    panel = std::min(std::max<int64_t>((int64_t(1) << 18) / std::max<int64_t>(depth, 1), 256), pixels);
    panels = (pixels + panel - 1) / panel;
    if (panels * batch * groups < threads)
      panels = std::min<int64_t>(threads, pixels);
    panel = (pixels + panels - 1) / panels;
    if (!window.pointwise())
      for (int slot = 0; slot < threads; ++slot)
        columns.emplace_back(ElementType::f32, std::vector<int64_t>{depth, panel});
    description = window.pointwise() ? "product, nothing to unfold" : "im2col and product";
    description += fmt::format(" in panels of {} pixels, row-major", panel);
  }

  void run() override {
    parallel(pool, batch * groups * panels, [this](int slot, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit)
        compute(slot, unit / panels, unit % panels * panel);
    });
  }

private:
  Window window;
  ProblemInputs inputs;
  Product product;
  runtime::ThreadPool pool;
  int64_t batch, groups, inChannels, outChannels; // channels of one group
  int64_t panel, panels;                          // pixels of one panel, and panels of an image
  bool withRelu;
  std::vector<Tensor> columns; // by slot

  /// Computes pixels from `first` on, of one group of one image.
  void compute(int slot, int64_t imageGroup, int64_t first) {
    int64_t pixels = window.outPixels(), count = std::min(panel, pixels - first), group = imageGroup % groups;
    if (count <= 0)
      return;
    const float *image = inputs[0].as<float>() + imageGroup * inChannels * window.inPixels();
    float *out = y.as<float>() + imageGroup * outChannels * pixels + first;
    ProductCall call;
    call.rows = outChannels, call.columns = count, call.inner = inChannels * window.taps();
    call.a = inputs[1].as<float>() + group * call.rows * call.inner, call.lda = call.inner;
    call.y = out, call.ldy = pixels;
    if (columns.empty()) {
      call.b = image + first, call.ldb = pixels;
    } else {
      float *unfolded = columns[size_t(slot)].as<float>();
      unfold(image, first, count, unfolded);
      call.b = unfolded, call.ldb = count;
    }
    if (inputs.size() > 2) {
      const float *bias = inputs[2].as<float>() + group * outChannels;
      for (int64_t row = 0; row < outChannels; ++row)
        std::fill_n(out + row * pixels, count, bias[row]);
      call.beta = 1;
    }
    product(call);
    if (withRelu)
      for (int64_t row = 0; row < outChannels; ++row)
        relu(out + row * pixels, count);
  }

  /// The inputs of `count` output pixels: a row for each channel and tap, a column for each pixel.
  void unfold(const float *image, int64_t first, int64_t count, float *to) const {
    const Window &w = window;
    for (int64_t channel = 0; channel < inChannels; ++channel, image += w.inPixels())
      for (int64_t kd = 0; kd < w.kernel[0]; ++kd)
        for (int64_t kh = 0; kh < w.kernel[1]; ++kh)
          for (int64_t kw = 0; kw < w.kernel[2]; ++kw, to += count)
            for (int64_t at = 0; at < count;) {
              // The remaining outputs of a row.
              int64_t pixel = first + at, ow = pixel % w.out[2], oh = pixel / w.out[2] % w.out[1],
                      od = pixel / w.out[2] / w.out[1];
              int64_t length = std::min(count - at, w.out[2] - ow);
              int64_t id = od * w.stride[0] - w.padBefore[0] + kd * w.dilation[0];
              int64_t ih = oh * w.stride[1] - w.padBefore[1] + kh * w.dilation[1];
              int64_t iw = ow * w.stride[2] - w.padBefore[2] + kw * w.dilation[2];
              bool inside = id >= 0 && id < w.in[0] && ih >= 0 && ih < w.in[1];
              if (inside)
                copyRow(image + (id * w.in[1] + ih) * w.in[2], iw, length, to + at);
              else
                std::fill_n(to + at, length, 0.0f);
              at += length;
            }
  }

  /// Copies every stride-th element of an input row from position `from` on, with zeros outside.
  void copyRow(const float *row, int64_t from, int64_t count, float *to) const {
    int64_t stride = window.stride[2], extent = window.in[2];
    int64_t before = std::clamp<int64_t>(from < 0 ? (-from + stride - 1) / stride : 0, 0, count);
    int64_t end = std::clamp<int64_t>(from < extent ? (extent - from + stride - 1) / stride : 0, before, count);
    std::fill_n(to, before, 0.0f);
    if (stride == 1)
      std::copy_n(row + from + before, end - before, to + before);
    else
      for (int64_t i = before; i < end; ++i)
        to[i] = row[from + i * stride];
    std::fill_n(to + end, count - end, 0.0f);
  }
};

class Products : public ProductProgram {
public:
  Products(const Problem &problem, const ProblemInputs &inputs, int threads, bool split, Product product)
      : p(*matrixOf(problem)), inputs(inputs), product(product), pool(split ? threads : 1) {
    withRelu = !problem.epilogue.empty();
    y = Tensor(ElementType::f32, problem.results()[0].dims);
    // Divides each result along its longer side, unless there are enough results.
    if (split && int64_t(p.firstA.size()) < threads)
      shares = std::min<int64_t>(threads, std::max(p.rows, p.columns));
    description = p.firstA.size() > 1 ? fmt::format("{} products", p.firstA.size()) : "product";
    if (shares > 1)
      description += fmt::format(", {} in {} shares", p.rows >= p.columns ? "rows" : "columns", shares);
    description += ", row-major";
  }

  void run() override {
    parallel(pool, int64_t(p.firstA.size()) * shares, [this](int, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit)
        compute(size_t(unit / shares), unit % shares);
    });
  }

private:
  MatrixProblem p;
  ProblemInputs inputs;
  Product product;
  runtime::ThreadPool pool;
  bool withRelu;
  int64_t shares = 1; // shares of one result

  void compute(size_t number, int64_t share) {
    bool byRows = p.rows >= p.columns;
    int64_t side = byRows ? p.rows : p.columns, begin = side * share / shares, end = side * (share + 1) / shares;
    int64_t row = byRows ? begin : 0, column = byRows ? 0 : begin;
    ProductCall call;
    call.transA = p.transA, call.transB = p.transB;
    call.rows = byRows ? end - begin : p.rows, call.columns = byRows ? p.columns : end - begin, call.inner = p.inner;
    call.alpha = float(p.alpha);
    call.lda = p.lda(), call.ldb = p.ldb(), call.ldy = p.columns;
    call.a = inputs[0].as<float>() + p.firstA[number] + row * (p.transA ? 1 : call.lda);
    call.b = inputs[1].as<float>() + p.firstB[number] + column * (p.transB ? call.ldb : 1);
    call.y = y.as<float>() + int64_t(number) * p.rows * p.columns + row * call.ldy + column;
    if (p.addend) {
      const float *c = inputs[2].as<float>() + row * p.addendRow + column * p.addendColumn;
      for (int64_t i = 0; i < call.rows; ++i)
        for (int64_t j = 0; j < call.columns; ++j)
          call.y[i * call.ldy + j] = c[i * p.addendRow + j * p.addendColumn];
      call.beta = float(p.beta);
    }
    product(call);
    if (withRelu)
      for (int64_t i = 0; i < call.rows; ++i)
        relu(call.y + i * call.ldy, call.columns);
  }
};

} // namespace

Outcome<std::unique_ptr<ProductProgram>> makeIm2col(const Problem &problem, const ProblemInputs &inputs, int threads,
                                                    Product product) {
  if (std::string reason = unsupported(problem); !reason.empty())
    return NotApplicable{reason};
  if (problem.op != "conv")
    return NotApplicable{problem.op + " is no convolution"};
  return std::unique_ptr<ProductProgram>(new Im2col(problem, inputs, threads, product));
}

Outcome<std::unique_ptr<ProductProgram>> makeProducts(const Problem &problem, const ProblemInputs &inputs, int threads,
                                                      bool split, Product product) {
  if (std::string reason = unsupported(problem); !reason.empty())
    return NotApplicable{reason};
  if (!matrixOf(problem))
    return NotApplicable{problem.op + " is no product of matrices"};
  return std::unique_ptr<ProductProgram>(new Products(problem, inputs, threads, split, product));
}

} // namespace lathe::lab
