// The kinds of values in a graph, shared by every room.
#pragma once

#include <cstdint>
#include <string_view>

namespace lathe {

/// The kind of a value: a tensor, a sequence or an optional. The numbers are stored in packages: append only, never
/// renumber.
enum class ValueKind : uint8_t {
  tensor = 0,
  sequence = 1,         // a sequence of tensors of one element type
  optional = 2,         // a tensor or nothing
  optionalSequence = 3, // a sequence or nothing
};

/// The kind of a value in words, for messages: "a tensor", "a sequence", ...
constexpr std::string_view name(ValueKind kind) {
  constexpr std::string_view names[] = {"a tensor", "a sequence", "an optional tensor", "an optional sequence"};
  return names[static_cast<uint8_t>(kind)];
}

/// True for kinds of values that may be nothing.
constexpr bool isOptional(ValueKind kind) { return kind == ValueKind::optional || kind == ValueKind::optionalSequence; }

} // namespace lathe
