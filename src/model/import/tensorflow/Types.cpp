#include "import/tensorflow/Types.h"

#include "support/Error.h"

namespace lathe::tensorflow {
namespace {

struct TypeRow {
  int32_t code;
  ElementType type;
  const char *name;
};
constexpr TypeRow types[] = {
    {1, ElementType::f32, "float"},
    {2, ElementType::f64, "double"},
    {3, ElementType::i32, "int32"},
    {4, ElementType::u8, "uint8"},
    {5, ElementType::i16, "int16"},
    {6, ElementType::i8, "int8"},
    {7, ElementType::string, "string"},
    {8, ElementType::invalid, "complex64"},
    {9, ElementType::i64, "int64"},
    {10, ElementType::boolean, "bool"},
    {11, ElementType::invalid, "qint8"},
    {12, ElementType::invalid, "quint8"},
    {13, ElementType::invalid, "qint32"},
    {14, ElementType::bf16, "bfloat16"},
    {15, ElementType::invalid, "qint16"},
    {16, ElementType::invalid, "quint16"},
    {17, ElementType::u16, "uint16"},
    {18, ElementType::invalid, "complex128"},
    {19, ElementType::f16, "half"},
    {resourceType, ElementType::invalid, "resource"},
    {variantType, ElementType::invalid, "variant"},
    {22, ElementType::u32, "uint32"},
    {23, ElementType::u64, "uint64"},
    {24, ElementType::f8e5m2, "float8_e5m2"},
    {25, ElementType::f8e4m3fn, "float8_e4m3fn"},
    {29, ElementType::invalid, "int4"},
    {30, ElementType::invalid, "uint4"},
};
constexpr int64_t reference = 100;

const TypeRow *find(int64_t code) {
  if (code > reference)
    code -= reference;
  for (const TypeRow &row : types)
    if (row.code == code)
      return &row;
  return nullptr;
}

} // namespace

ElementType elementType(int64_t code) {
  const TypeRow *row = find(code);
  return row ? row->type : ElementType::invalid;
}

std::string typeName(int64_t code) {
  const TypeRow *row = find(code);
  return row ? row->name : fmt::format("number {}", code);
}

} // namespace lathe::tensorflow
