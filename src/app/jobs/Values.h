// Sequences and optionals as arrays of an .npz archive: what `lathe run` reads and writes.
//
// A sequence NAME is the arrays NAME/0, NAME/1, ...; an empty one is a single array NAME/empty of any content. An optional
// is what it holds; one that holds nothing is a single array NAME/none. Strings are NumPy's 'U' arrays.
#pragma once

#include "runtime/Model.h"
#include "runtime/NpyTensor.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace lathe::jobs {

/// Collects the arrays of an archive that are parts of inputs which are no tensors.
class ValueParts {
public:
  explicit ValueParts(std::span<const runtime::Port> ports) : ports(ports) {}
  /// True if `array` is a part of an input, and so is kept. Throws Error, beginning with `file`, where it is given twice.
  bool take(const std::string &member, const NpyArray &array, const std::string &file);
  /// The inputs given. Throws Error where tensors of a sequence are missing, or `empty` and tensors are both there.
  std::map<std::string, Value> values(const std::string &file) const;

private:
  struct Parts {
    std::map<size_t, Tensor> tensors;
    bool empty = false, none = false;
  };
  std::span<const runtime::Port> ports;
  std::map<std::string, Parts> found;
};

/// An array to write.
struct ValueArray {
  std::string name;
  Tensor tensor;
};
/// The arrays of a value. Throws Error for tensors of a type that NumPy does not have.
std::vector<ValueArray> arraysOf(const std::string &name, const Value &value);

/// "a sequence of 3 tensors: f32 2x3, ...", for people.
std::string valueText(const Value &value);

} // namespace lathe::jobs
