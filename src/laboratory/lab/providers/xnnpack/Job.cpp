#include "lab/providers/xnnpack/XnnPack.h"

#include <algorithm>
#include <limits>

namespace lathe::lab::xnnpack {

void check(xnn_status status, const char *what) {
  if (status == xnn_status_success)
    return;
  if (status == xnn_status_unsupported_parameter || status == xnn_status_invalid_parameter)
    throw Declined{"XNNPACK does not take these parameters"};
  if (status == xnn_status_unsupported_hardware)
    throw Declined{"XNNPACK does not know this processor"};
  fail("XNNPACK: {}: status {}", what, int(status));
}

Buffer bufferOf(int64_t elements) { return Buffer(size_t(elements) + XNN_EXTRA_BYTES / sizeof(float)); }

Buffer rowMajor(const Tensor &tensor) {
  Buffer buffer = bufferOf(tensor.elements());
  std::copy_n(tensor.as<float>(), tensor.elements(), buffer.begin());
  return buffer;
}

/// Pixels and channels of a tensor whose axis 1 is channels.
struct Image {
  int64_t batch = 1, channels = 1, pixels = 1;
  explicit Image(const std::vector<int64_t> &dims) : batch(dims[0]), channels(dims[1]) {
    for (size_t i = 2; i < dims.size(); ++i)
      pixels *= dims[i];
  }
  /// Calls move(row-major index, channels-last index).
  template <class Move> void forEach(Move move) const {
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t pixel = 0; pixel < pixels; ++pixel)
          move((n * channels + c) * pixels + pixel, (n * pixels + pixel) * channels + c);
  }
};

Buffer channelsLast(const Tensor &tensor) {
  Buffer buffer = bufferOf(tensor.elements());
  Image(tensor.dims()).forEach([&](int64_t row, int64_t at) { buffer[size_t(at)] = tensor.as<float>()[row]; });
  return buffer;
}

Job::Job(const Problem &problem, const ProblemInputs &inputs, int threads)
    : problem(problem), inputs(inputs), result(problem.results().at(0)), pool(pthreadpool_create(size_t(threads))) {
  require(pool != nullptr, "no pool of {} threads", threads);
  for (auto &operand : problem.operands)
    if (operand.type != ElementType::f32)
      throw Declined{fmt::format("only f32 is implemented, '{}' is {}", operand.name, name(operand.type))};
  out = bufferOf(result.elements());
}

const ProblemOperand *Job::operand(size_t index) const {
  auto operands = problem.byRecord();
  return index < operands.size() ? operands[index] : nullptr;
}

std::pair<float, float> Job::limits() const {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (problem.epilogue.empty())
    return {-infinity, infinity};
  if (problem.epilogue.size() > 1 || problem.epilogue[0] != "relu")
    throw Declined{"XNNPACK's operators limit their result and do nothing else to it"};
  return {0.0f, infinity};
}

void Job::expectNoEpilogue() const {
  if (!problem.epilogue.empty())
    throw Declined{"XNNPACK's operator applies nothing to its result"};
}

void Job::expectConstant(size_t index) const {
  if (const ProblemOperand *known = operand(index); known && !known->constant)
    throw Declined{fmt::format("XNNPACK packs weights beforehand, and '{}' is not known then", known->name)};
}

void Job::giveChannelsLast() {
  in[0] = channelsLast(inputs[0]);
  inputIsChannelsLast = true;
}

Tensor Job::output() const {
  Tensor tensor(ElementType::f32, result.dims);
  if (outputIsChannelsLast)
    Image(result.dims).forEach([&](int64_t row, int64_t at) { tensor.as<float>()[row] = out[size_t(at)]; });
  else
    std::copy_n(out.begin(), tensor.elements(), tensor.as<float>());
  return tensor;
}

} // namespace lathe::lab::xnnpack
