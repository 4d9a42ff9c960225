#include "ops/Contract.h"
#include "ops/ReferenceSupport.h"
#include "ops/WindowPads.h"

namespace lathe {
namespace {

/// A convolution's extents, spatial axes always three (missing ones of extent 1 first).
struct ConvShape {
  std::array<int64_t, 3> in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  int64_t batch, groups, channels, outChannels; // the channels of one group
  bool transposed = false;

  template <class AnyConvAttrs>
  ConvShape(const AnyConvAttrs &a, const Tensor &x, const Tensor &w, const Tensor &y)
      : batch(x.dim(0)), groups(a.group), channels(x.dim(1) / a.group), outChannels(y.dim(1) / a.group),
        transposed(std::is_same_v<AnyConvAttrs, ConvTransposeAttrs>) {
    size_t spatial = x.rank() - 2;
    for (size_t i = 0; i < spatial; ++i) {
      size_t axis = i + 3 - spatial;
      in[axis] = x.dim(2 + i);
      kernel[axis] = w.dim(2 + i);
      out[axis] = y.dim(2 + i);
      stride[axis] = a.strides[i];
      dilation[axis] = a.dilations[i];
      int64_t window = (kernel[axis] - 1) * dilation[axis] + 1;
      pad[axis] = a.pads[i] - windowShift(a.pads, i, spatial, window, stride[axis], in[axis]).constant();
    }
  }
  int64_t taps() const { return countOf(kernel); }
  int64_t inPixels() const { return countOf(in); }
  int64_t outPixels() const { return countOf(out); }

  /// Offset in a channel's plane of the input pixel that `tap` reads for output pixel `pixel`; -1 in the padding (and,
  /// transposed, between the steps of the stride).
  int64_t inputOffset(int64_t pixel, int64_t tap) const {
    int64_t offset = 0, stepIn = 1;
    for (size_t axis = 3; axis-- > 0;) {
      int64_t at = pixel % out[axis], step = tap % kernel[axis] * dilation[axis];
      int64_t position = transposed ? at + pad[axis] - step : at * stride[axis] - pad[axis] + step;
      if (transposed && position % stride[axis] != 0)
        return -1;
      if (transposed)
        position /= stride[axis];
      if (position < 0 || position >= in[axis])
        return -1;
      offset += position * stepIn;
      stepIn *= in[axis];
      pixel /= out[axis];
      tap /= kernel[axis];
    }
    return offset;
  }
};

/// Multiplies w[outChannel, channel x tap] * x[channel x tap, pixel], in blocks of output channels and pixels.
template <class T>
void convolve(const ConvShape &s, const T *x, const T *w, const T *b, T *y, const ReferenceCall &call) {
  constexpr int64_t width = panelWidth<T>;
  int64_t taps = s.taps(), inPixels = s.inPixels(), outPixels = s.outPixels(), depth = s.channels * taps;
  int64_t rowBlocks = (s.outChannels + contractRows - 1) / contractRows,
          columnBlocks = (outPixels + contractColumns - 1) / contractColumns;
  call.parallelFor(s.batch * s.groups * rowBlocks * columnBlocks, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> offsets(taps * contractColumns);
    int64_t offsetsOf = -1; // the block of pixels of the current offsets
    for (int64_t task = begin; task < end; ++task) {
      // Neighbouring tasks use the same pixels.
      int64_t image = task % (s.batch * s.groups), block = task / (s.batch * s.groups);
      int64_t row0 = block % rowBlocks * contractRows, column0 = block / rowBlocks * contractColumns;
      int64_t rows = std::min(contractRows, s.outChannels - row0),
              columns = std::min(contractColumns, outPixels - column0);
      if (offsetsOf != column0)
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < contractColumns; ++c)
            offsets[tap * contractColumns + c] = c < columns ? s.inputOffset(column0 + c, tap) : -1;
      offsetsOf = column0;
      int64_t outChannel0 = image % s.groups * s.outChannels + row0;
      const T *planes = x + image * s.channels * inPixels;
      T *results = y + (image / s.groups * s.groups * s.outChannels + outChannel0) * outPixels + column0;
      auto pack = [&](int64_t k0, int64_t k1, T *panels) {
        for (int64_t k = k0; k < k1; ++k) {
          const T *plane = planes + k / taps * inPixels;
          const int64_t *from = offsets.data() + k % taps * contractColumns;
          for (int64_t c0 = 0; c0 < columns; c0 += width) {
            T *to = panels + c0 * (k1 - k0) + (k - k0) * width;
            for (int64_t c = 0; c < width; ++c)
              to[c] = from[c0 + c] < 0 ? T(0) : plane[from[c0 + c]];
          }
        }
      };
      contractBlock(rows, columns, depth, w + outChannel0 * depth, depth, 1, pack,
                    [&](int64_t row, int64_t column, T value) {
                      results[row * outPixels + column] = b ? value + b[outChannel0 + row] : value;
                    });
    }
  });
}

} // namespace

void runConv(const ConvAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), w = call.in(1).convertedTo(x.type());
  ConvShape shape(a, x, w, call.out(0));
  forNumber(x.type(), [&]<class Element>(Element) {
    using T = ContractType<Element>;
    convolve<T>(shape, x.as<T>(), w.as<T>(), call.has(2) ? call.in(2).as<T>() : nullptr, call.out(0).as<T>(), call);
  });
}

void runConvTranspose(const ConvTransposeAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  ConvShape s(a, x, w, call.out(0));
  forNumber(x.type(), [&]<class Element>(Element) {
    using T = ContractType<Element>;
    // Reorders weights from channels in, channels out, taps to the order of an ordinary convolution: channels out
    // first.
    std::vector<T> weights(w.elements());
    int64_t taps = s.taps();
    for (int64_t c = 0; c < s.groups * s.channels; ++c)
      for (int64_t o = 0; o < s.outChannels; ++o)
        std::copy_n(w.as<T>() + (c * s.outChannels + o) * taps, taps,
                    weights.data() + ((c / s.channels * s.outChannels + o) * s.channels + c % s.channels) * taps);
    convolve<T>(s, x.as<T>(), weights.data(), call.has(2) ? call.in(2).as<T>() : nullptr, call.out(0).as<T>(), call);
  });
}

void runConvInteger(const ConvIntegerAttrs &a, ReferenceCall &call) {
  auto centred = [&](size_t i) {
    const Tensor &factor = call.in(i);
    if (!call.has(2 + i))
      return factor.convertedTo(ElementType::i64);
    const Tensor &zero = call.in(2 + i);
    std::vector<int64_t> dims;
    if (zero.elements() > 1) { // one for each output channel
      dims.assign(factor.rank(), 1);
      dims[0] = zero.elements();
    }
    return lessZeroPoint(call, factor, zero, dims);
  };
  Tensor x = centred(0), w = centred(1);
  convolve<uint64_t>(ConvShape(a, x, w, call.out(0)), x.as<uint64_t>(), w.as<uint64_t>(), nullptr,
                     call.out(0).as<uint64_t>(), call);
}

} // namespace lathe
