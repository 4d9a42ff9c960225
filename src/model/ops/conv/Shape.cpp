#include "ops/Registry.h"
#include "ops/ShapeRules.h"
#include "ops/WindowPads.h"

namespace lathe {

namespace {

/// Checks shared by all convolutions, with constraints `op`_c1 to c6; returns the result's extents.
template <class AnyConvAttrs>
Dims convExtents(std::string_view op, const AnyConvAttrs &a, const TensorInfo &x, const TensorInfo &w) {
  require(x.rank() >= 3 && x.rank() <= 5 && w.rank() == x.rank(),
          "{}_c1: x has rank {} and w rank {}, expected equal ranks from 3 to 5", op, x.rank(), w.rank());
  size_t spatial = x.rank() - 2;
  require(a.strides.size() == spatial, "{}_c3: strides has {} values, expected {}", op, a.strides.size(), spatial);
  require(a.dilations.size() == spatial, "{}_c3: dilations has {} values, expected {}", op, a.dilations.size(),
          spatial);
  checkPads((std::string(op) + "_c3").c_str(), a.pads, spatial);
  require(a.group > 0, "{}_c4: group={}, expected a positive number", op, a.group);
  require(mayDivide(a.group, w.dims[0]), "{}_c4: group={} does not divide {} output channels", op, a.group,
          w.dims[0].str());
  require(mayAgree(x.dims[1], w.dims[1] * a.group),
          "{}_c2: x has {} channels, expected {} (w has {} a group, group={})", op, x.dims[1].str(),
          (w.dims[1] * a.group).str(), w.dims[1].str(), a.group);

  Dims dims{x.dims[0], w.dims[0]};
  for (size_t i = 0; i < spatial; ++i) {
    require(a.strides[i] > 0 && a.dilations[i] > 0, "{}_c5: stride {} and dilation {} must be positive", op,
            a.strides[i], a.dilations[i]);
    require(a.pads[i] >= 0 && a.pads[spatial + i] >= 0, "{}_c5: pads [{}, {}] must not be negative", op, a.pads[i],
            a.pads[spatial + i]);
    require(mayReach(w.dims[2 + i], 1), "{}_c6: kernel extent {} on spatial axis {}, expected at least 1", op,
            w.dims[2 + i].str(), i);
    Dim window = (w.dims[2 + i] - 1) * a.dilations[i] + 1;
    checkFollowingPads((std::string(op) + "_c5").c_str(), a.pads, i, spatial, window);
    Dim padded = x.dims[2 + i] + a.pads[i] + a.pads[spatial + i];
    Dim room = padded - window;
    require(mayReach(room, 0), "{}_c6: kernel extent {} exceeds padded input extent {} on spatial axis {}", op,
            window.str(), padded.str(), i);
    dims.push_back(floorDiv(room, a.strides[i]) + 1);
  }
  return dims;
}

} // namespace

InferResult inferConv(const ConvAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &w = *in[1];
  Dims dims = convExtents("conv", a, x, w);
  if (const TensorInfo *b = operand(in, 2)) {
    require(b->rank() == 1 && mayAgree(b->dims[0], w.dims[0]), "conv_c7: bias is {}, expected {}", str(b->dims),
            w.dims[0].str());
    require(b->type == x.type, "conv_c8: x is {}, bias is {}, expected the same type", name(x.type), name(b->type));
  }
  require(fitsWeights(x.type, w.type), "conv_c8: x is {}, w is {}, expected the same type", name(x.type), name(w.type));
  requireNumber(x.type, "conv_c8");
  return {TensorInfo{x.type, dims, std::nullopt}};
}

InferResult inferConvInteger(const ConvIntegerAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &w = *in[1];
  Dims dims = convExtents("conv_integer", a, x, w);
  requireByte(x.type, "conv_integer_c8: x");
  if (w.type != ElementType::i16 || operand(in, 3)) // the zero point of i16 was already subtracted
    requireByte(w.type, "conv_integer_c8: w");
  for (size_t i = 0; i < 2; ++i)
    if (const TensorInfo *zero = operand(in, 2 + i)) {
      const char *which = i == 0 ? "x" : "w";
      bool one = zero->rank() <= 1 && product(zero->dims) == Dim(1);
      bool oneAChannel = !one && i == 1 && zero->rank() == 1 && mayBroadcast(zero->dims[0], w.dims[0]);
      require(one || oneAChannel, "conv_integer_c7: {}_zero_point is {}, expected one value{}", which, str(zero->dims),
              i == 1 ? fmt::format(" or {}", w.dims[0].str()) : "");
      require(zero->type == in[i]->type, "conv_integer_c8: {} is {}, its zero point {}, expected the same type", which,
              name(in[i]->type), name(zero->type));
    }
  return {TensorInfo{ElementType::i32, dims, std::nullopt}};
}

InferResult inferConvTranspose(const ConvTransposeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &w = *in[1];
  require(x.rank() >= 3 && x.rank() <= 5 && w.rank() == x.rank(),
          "conv_transpose_c1: x has rank {} and w rank {}, expected equal ranks from 3 to 5", x.rank(), w.rank());
  size_t spatial = x.rank() - 2;
  auto perAxis = [&](const std::vector<int64_t> &values, const char *what, size_t count) {
    require(values.size() == count, "conv_transpose_c3: {} has {} values, expected {}", what, values.size(), count);
  };
  perAxis(a.strides, "strides", spatial);
  perAxis(a.dilations, "dilations", spatial);
  perAxis(a.output_padding, "output_padding", spatial);
  perAxis(a.pads, "pads", 2 * spatial);
  require(a.group > 0 && mayDivide(a.group, w.dims[0]),
          "conv_transpose_c4: group={}, expected a positive divisor of {} channels", a.group, w.dims[0].str());
  require(mayAgree(x.dims[1], w.dims[0]), "conv_transpose_c2: x has {} channels, expected {} as w has", x.dims[1].str(),
          w.dims[0].str());
  Dim channels = w.dims[1] * a.group;
  if (const TensorInfo *b = operand(in, 2)) {
    require(b->rank() == 1 && mayAgree(b->dims[0], channels), "conv_transpose_c7: bias is {}, expected {}",
            str(b->dims), channels.str());
    require(b->type == x.type, "conv_transpose_c8: x is {}, bias is {}, expected the same type", name(x.type),
            name(b->type));
  }
  require(x.type == w.type, "conv_transpose_c8: x is {}, w is {}, expected the same type", name(x.type), name(w.type));
  requireNumber(x.type, "conv_transpose_c8");

  TensorInfo y{x.type, {x.dims[0], channels}, std::nullopt};
  for (size_t i = 0; i < spatial; ++i) {
    require(a.strides[i] > 0 && a.dilations[i] > 0, "conv_transpose_c5: stride {} and dilation {} must be positive",
            a.strides[i], a.dilations[i]);
    require(a.pads[i] >= 0 && a.pads[spatial + i] >= 0 && a.output_padding[i] >= 0,
            "conv_transpose_c5: pads [{}, {}] and output_padding {} must not be negative", a.pads[i],
            a.pads[spatial + i], a.output_padding[i]);
    require(mayReach(w.dims[2 + i], 1), "conv_transpose_c6: kernel extent {} on spatial axis {}, expected at least 1",
            w.dims[2 + i].str(), i);
    Dim window = (w.dims[2 + i] - 1) * a.dilations[i] + 1;
    Dim extent = (x.dims[2 + i] - 1) * a.strides[i] + window + a.output_padding[i] - a.pads[i] - a.pads[spatial + i];
    require(mayReach(extent, 0), "conv_transpose_c6: the result would have extent {} on spatial axis {}", extent.str(),
            i);
    y.dims.push_back(extent);
  }
  return {y};
}

} // namespace lathe
