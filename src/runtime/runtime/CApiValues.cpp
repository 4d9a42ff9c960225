// The part of include/lathe/runtime.h about values: tensors of numbers and of strings, sequences and optionals.
#include "runtime/CApiParts.h"

namespace lathe::runtime {
namespace {

Tensor stringTensor(std::vector<int64_t> dims, const lathe_string *given) {
  Tensor tensor(ElementType::string, std::move(dims));
  for (std::string &text : tensor.strings()) {
    expect(given->data || given->bytes == 0, "tensor: a string of {} bytes has no data", given->bytes);
    text.assign(given->data ? given->data : "", given->bytes);
    ++given;
  }
  return tensor;
}

const Port &inputPort(lathe_context *context, size_t index) {
  expect(context != nullptr, "context is null");
  std::span<const Port> ports = context->context.model().inputs();
  expect(index < ports.size(), "input {} of {}", index, ports.size());
  return ports[index];
}

const Value &outputValue(lathe_context *context, size_t index) {
  expect(context != nullptr, "context is null");
  size_t count = context->context.model().outputs().size();
  expect(index < count, "output {} of {}", index, count);
  return context->context.output(index);
}

/// The tensors that a value holds. `kind` becomes the kind of the value, or of what an optional holds.
std::span<const Value> tensorsOf(const Value &value, int32_t &kind) {
  if (value.isOptional()) {
    kind = LATHE_NOTHING;
    return value.optional().value ? tensorsOf(*value.optional().value, kind) : std::span<const Value>();
  }
  kind = value.isTensor() ? LATHE_TENSOR : LATHE_SEQUENCE;
  return value.isTensor() ? std::span(&value, 1) : std::span<const Value>(value.sequence().items);
}

} // namespace

Tensor toTensor(const lathe_tensor *given) {
  lathe_tensor tensor = readStruct(given, sizeof(lathe_tensor), "tensor");
  expect(tensor.memory_space == LATHE_HOST, "tensor: memory space {}, expected {} (host)", tensor.memory_space,
         int(LATHE_HOST));
  expect(tensor.rank <= 64 && (tensor.rank == 0 || tensor.dims), "tensor: rank {} with {} dims", tensor.rank,
         tensor.dims ? "given" : "null");
  expect(tensor.element_type > 0 && tensor.element_type <= int(ElementType::u4), "tensor: element type {} is not known",
         tensor.element_type);
  auto type = ElementType(tensor.element_type);
  std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  int64_t elements = 1;
  for (int64_t dim : dims)
    expect(dim >= 0 && !__builtin_mul_overflow(elements, dim, &elements) && elements < int64_t(1) << 56,
           "tensor: absurd dimensions: {}", str(toDims(dims)));
  bool text = type == ElementType::string;
  auto needed =
      text ? static_cast<size_t>(elements) * sizeof(lathe_string) : static_cast<size_t>(byteSize(type, elements));
  expect(tensor.bytes >= needed, "tensor: {} bytes given, {} {} needs {}", tensor.bytes, name(type), str(toDims(dims)),
         needed);
  expect(tensor.data || needed == 0, "tensor: data is null");
  if (text)
    return stringTensor(std::move(dims), static_cast<const lathe_string *>(tensor.data));
  return Tensor::borrow(type, std::move(dims), tensor.data);
}

void giveTensor(lathe_context &context, size_t index, size_t element, const Tensor &tensor, lathe_tensor *out) {
  lathe_tensor result{sizeof(lathe_tensor),
                      int32_t(tensor.type()),
                      LATHE_HOST,
                      tensor.rank(),
                      tensor.dims().data(),
                      const_cast<void *>(tensor.data()),
                      static_cast<size_t>(tensor.bytes())};
  if (tensor.type() == ElementType::string) {
    std::vector<lathe_string> &views = context.strings[{index, element}];
    views.clear();
    for (const std::string &text : tensor.strings())
      views.push_back({text.data(), text.size()});
    result.data = views.data();
    result.bytes = views.size() * sizeof(lathe_string);
  }
  writeStruct(out, result, sizeof(lathe_tensor), "tensor");
}

} // namespace lathe::runtime

using namespace lathe;
using namespace lathe::runtime;

extern "C" {

lathe_status lathe_context_set_input_sequence(lathe_context *context, size_t index, const lathe_tensor *tensors,
                                              size_t count) {
  return guarded([&] {
    const Port &port = inputPort(context, index);
    expect(tensors || count == 0, "tensors is null");
    Sequence sequence{port.type, {}};
    const char *at = reinterpret_cast<const char *>(tensors);
    for (size_t i = 0; i < count; ++i) {
      const auto *tensor = reinterpret_cast<const lathe_tensor *>(at);
      sequence.items.push_back(toTensor(tensor));
      at += tensor->struct_size; // the caller's structure may be a newer, longer one
    }
    context->context.setInput(index, std::move(sequence));
  });
}

lathe_status lathe_context_set_input_empty(lathe_context *context, size_t index) {
  return guarded([&] {
    inputPort(context, index);
    context->context.setInput(index, Optional());
  });
}

lathe_status lathe_context_output_content(lathe_context *context, size_t index, int32_t *kind, size_t *count) {
  return guarded([&] {
    expect(kind && count, "kind or count is null");
    *count = tensorsOf(outputValue(context, index), *kind).size();
  });
}

lathe_status lathe_context_output_element(lathe_context *context, size_t index, size_t element, lathe_tensor *tensor) {
  return guarded([&] {
    int32_t kind;
    std::span<const Value> tensors = tensorsOf(outputValue(context, index), kind);
    expect(element < tensors.size(), "tensor {} of the {} of output '{}'", element, tensors.size(),
           context->context.model().outputs()[index].name);
    giveTensor(*context, index, element, tensors[element].tensor(), tensor);
  });
}

} // extern "C"
