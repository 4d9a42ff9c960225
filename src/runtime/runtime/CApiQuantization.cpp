// The part of include/lathe/runtime.h about quantised tensors.
#include "runtime/CApiParts.h"
#include "runtime/QuantizedTensor.h"

using namespace lathe;
using namespace lathe::runtime;

namespace {

void give(std::span<const Port> ports, size_t index, const char *what, lathe_quantization *out) {
  expect(index < ports.size(), "{} {} of {}", what, index, ports.size());
  lathe_quantization result{sizeof(lathe_quantization), 0, nullptr, nullptr, 0};
  if (const std::optional<Quantization> &how = ports[index].quantization)
    result = {sizeof(lathe_quantization), how->scales.size(), how->scales.data(), how->zeroPoints.data(), how->axis};
  writeStruct(out, result, sizeof(lathe_quantization), "quantization");
}

Quantization toQuantization(const lathe_quantization *given) {
  lathe_quantization how = readStruct(given, sizeof(lathe_quantization), "quantization");
  expect(how.count > 0 && how.scales && how.zero_points, "quantization: has {} scales, expected one at least",
         how.count);
  return {{how.scales, how.scales + how.count}, {how.zero_points, how.zero_points + how.count}, how.axis};
}

} // namespace

extern "C" {

lathe_status lathe_model_input_quantization(const lathe_model *model, size_t index, lathe_quantization *quantization) {
  return guarded([&] {
    expect(model != nullptr, "model is null");
    give(model->model->inputs(), index, "input", quantization);
  });
}
lathe_status lathe_model_output_quantization(const lathe_model *model, size_t index, lathe_quantization *quantization) {
  return guarded([&] {
    expect(model != nullptr, "model is null");
    give(model->model->outputs(), index, "output", quantization);
  });
}

lathe_status lathe_quantize(const lathe_quantization *quantization, const lathe_tensor *real,
                            const lathe_tensor *integers) {
  return guarded([&] {
    Tensor to = toTensor(integers);
    quantizeInto(toQuantization(quantization), toTensor(real), to);
  });
}
lathe_status lathe_dequantize(const lathe_quantization *quantization, const lathe_tensor *integers,
                              const lathe_tensor *real) {
  return guarded([&] {
    Tensor to = toTensor(real);
    dequantizeInto(toQuantization(quantization), toTensor(integers), to);
  });
}

} // extern "C"
