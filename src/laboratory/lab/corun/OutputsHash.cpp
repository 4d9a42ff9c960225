#include "lab/corun/OutputsHash.h"

#include "package/Hash.h"

namespace lathe::lab {

std::string outputsHash(const runtime::Context &context) {
  package::Hasher hasher;
  auto text = [&](const std::string &word) { hasher.update(word.c_str(), word.size() + 1); };
  for (size_t i = 0; i < context.model().outputs().size(); ++i) {
    const runtime::Port &port = context.model().outputs()[i];
    require(context.output(i).isTensor(), "{}: output '{}' is not a tensor", context.model().file(), port.name);
    const Tensor &tensor = context.output(i).tensor();
    text(port.name);
    text(std::string(name(tensor.type())));
    hasher.update(tensor.dims().data(), tensor.dims().size() * sizeof(int64_t));
    if (tensor.type() == ElementType::string)
      for (const std::string &element : tensor.strings())
        text(element);
    else if (tensor.bytes())
      hasher.update(tensor.data(), size_t(tensor.bytes()));
  }
  return fmt::format("{:016x}", hasher.digest());
}

} // namespace lathe::lab
