// Sequences and optionals as arrays of an .npz archive, the form that `lathe run` reads and writes.
//
// A sequence NAME is the arrays NAME/0, NAME/1, ...; an empty one is a single array NAME/empty of any content. An
// optional is stored as its content, an empty one as a single array NAME/none. Strings are NumPy's 'U' arrays.
#pragma once

#include "runtime/Model.h"
#include "runtime/NpyTensor.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace lathe::jobs {

/// Collects the arrays of an .npz archive that make up inputs which are sequences and optionals.
class ValueParts {
public:
  explicit ValueParts(std::span<const runtime::Port> ports) : ports(ports) {}
  /// Keeps `array` and returns true if it is a part of an input, by its name `member` in the archive. Throws Error,
  /// beginning with `file`, if the part is given twice.
  bool take(const std::string &member, const NpyArray &array, const std::string &file);
  /// The inputs that the collected arrays make up, by name. Throws Error if tensors of a sequence are missing, or if
  /// there are both `empty` and tensors.
  std::map<std::string, Value> values(const std::string &file) const;

private:
  struct Parts {
    std::map<size_t, Tensor> tensors;
    bool empty = false, none = false;
  };
  std::span<const runtime::Port> ports;
  std::map<std::string, Parts> found;
};

/// An array of the .npz archive that is written.
struct ValueArray {
  std::string name;
  Tensor tensor;
};
/// The arrays of an .npz archive that stand for a value called `name`. Throws Error for tensors of a type that NumPy
/// does not have.
std::vector<ValueArray> arraysOf(const std::string &name, const Value &value);

/// A value as text for messages: "a sequence of 3 tensors: f32 2x3, ...".
std::string valueText(const Value &value);

} // namespace lathe::jobs
