#include "support/Npy.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Memory.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace lathe {
namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr size_t magicBytes = 6;

/// NumPy's type code ("f4") of an element type; null if it has none.
const char *codeOf(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return "f4";
  case ElementType::f64:
    return "f8";
  case ElementType::f16:
    return "f2";
  case ElementType::bf16:
    return "V2";
  case ElementType::i8:
    return "i1";
  case ElementType::i16:
    return "i2";
  case ElementType::i32:
    return "i4";
  case ElementType::i64:
    return "i8";
  case ElementType::u8:
    return "u1";
  case ElementType::u16:
    return "u2";
  case ElementType::u32:
    return "u4";
  case ElementType::u64:
    return "u8";
  case ElementType::boolean:
    return "b1";
  default:
    return nullptr;
  }
}

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Reads the header's Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &file) : text(text), file(file) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      std::string key = string();
      expect(':');
      if (key == "descr") {
        header.descr = string();
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran = boolean();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        fail("{}: malformed .npy header: unknown key '{}'", file, key);
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    require(descr && order && shape, "{}: malformed .npy header: expected descr, fortran_order and shape", file);
    return header;
  }

private:
  std::string_view text;
  const std::string &file;
  size_t at = 0;

  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool take(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) { require(take(c), "{}: malformed .npy header: expected '{}' at character {}", file, c, at); }
  std::string string() {
    skip();
    char quote = at < text.size() ? text[at] : '\0';
    require(quote == '\'' || quote == '"',
            "{}: malformed .npy header: expected a string at character {} (structured types are not supported)", file,
            at);
    size_t end = text.find(quote, at + 1);
    require(end != std::string_view::npos, "{}: malformed .npy header: a string is not closed", file);
    std::string result(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return result;
  }
  bool boolean() {
    skip();
    for (auto [word, value] : {std::pair{"True", true}, std::pair{"False", false}})
      if (text.substr(at).starts_with(word)) {
        at += std::strlen(word);
        return value;
      }
    fail("{}: malformed .npy header: expected True or False at character {}", file, at);
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> result;
    expect('(');
    while (!take(')')) {
      skip();
      int64_t value = 0;
      size_t first = at;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
        require(!__builtin_mul_overflow(value, 10, &value) && !__builtin_add_overflow(value, text[at] - '0', &value),
                "{}: malformed .npy header: an extent is beyond 64 bits", file);
      require(at > first, "{}: malformed .npy header: expected an extent at character {}", file, at);
      if (at < text.size() && text[at] == 'L') // written by Python 2
        ++at;
      result.push_back(value);
      require(result.size() <= 64, "{}: malformed .npy header: more than 64 dimensions", file);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }
};

/// Rearranges a column-major array of `width`-byte elements to row-major.
std::vector<char> toRowMajor(std::span<const char> from, const std::vector<int64_t> &dims, size_t width) {
  std::vector<char> to(from.size());
  size_t rank = dims.size();
  std::vector<int64_t> index(rank), stride(rank, 1);
  for (size_t i = 1; i < rank; ++i)
    stride[i] = stride[i - 1] * dims[i - 1];
  int64_t source = 0;
  for (char *at = to.data(); at != to.data() + to.size(); at += width) {
    std::memcpy(at, from.data() + static_cast<size_t>(source) * width, width);
    for (size_t axis = rank; axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < dims[axis])
        break;
      source -= stride[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return to;
}

void appendUtf8(std::string &text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (code >> 18 & 7));
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// Fixed-width cells of characters (U: 32 bits each, S: 8 bits), filled up with zeros.
std::vector<std::string> decodeStrings(std::span<const char> data, size_t width, bool wide) {
  std::vector<std::string> result;
  for (size_t at = 0; width && at < data.size(); at += width) {
    std::string &text = result.emplace_back();
    for (size_t i = 0; i < width; i += wide ? 4 : 1) {
      uint32_t code = 0;
      std::memcpy(&code, data.data() + at + i, wide ? 4 : 1);
      if (wide)
        appendUtf8(text, code);
      else
        text += static_cast<char>(code);
    }
    size_t end = text.find_last_not_of('\0');
    text.resize(end == std::string::npos ? 0 : end + 1);
  }
  return result;
}

/// The element format of an array.
struct Cells {
  ElementType type = ElementType::invalid;
  size_t width = 0, unit = 0; // bytes of an element, and of the units that the byte order applies to
  bool swapped = false;       // big-endian
};

/// Reads a type such as "<f4"; throws Error for types that are not supported.
Cells cellsOf(const std::string &descr, const std::string &name) {
  Cells cells;
  char order = descr.empty() ? '|' : descr[0];
  bool hasOrder = order == '<' || order == '>' || order == '|' || order == '=';
  std::string code = hasOrder ? descr.substr(1) : descr;
  bool wide = code.starts_with('U');
  if (wide || code.starts_with('S')) {
    cells.type = ElementType::string;
    cells.unit = wide ? 4 : 1;
    require(code.size() > 1 && code.size() <= 9 &&
                std::all_of(code.begin() + 1, code.end(), [](unsigned char c) { return std::isdigit(c); }),
            "{}: .npy type '{}' is malformed", name, descr);
    cells.width = cells.unit * std::stoul(code.substr(1));
  } else {
    for (int t = 1; t <= static_cast<int>(ElementType::u4); ++t)
      if (const char *candidate = codeOf(static_cast<ElementType>(t));
          candidate && (code == candidate || (code == "?" && std::string(candidate) == "b1")))
        cells.type = static_cast<ElementType>(t);
    require(cells.type != ElementType::invalid, "{}: .npy type '{}' is not supported", name, descr);
    cells.width = cells.unit = bitWidth(cells.type) / 8;
  }
  cells.swapped = order == '>' && cells.unit > 1;
  return cells;
}

/// The number of elements; throws Error unless `bytes` of data are exactly theirs.
int64_t elementCount(const std::vector<int64_t> &dims, size_t width, size_t bytes, const std::string &name) {
  int64_t elements = 1, total = 0;
  bool overflow = false;
  for (int64_t dim : dims)
    overflow |= __builtin_mul_overflow(elements, dim, &elements);
  overflow |= __builtin_mul_overflow(elements, static_cast<int64_t>(width), &total);
  require(!overflow, "{}: malformed .npy header: the extents {} need more than 2^63 bytes", name, fmt::join(dims, "x"));
  require(bytes == static_cast<uint64_t>(total), "{}: {} bytes of data, expected {} elements of {} bytes", name, bytes,
          elements, width);
  return elements;
}

/// The header of an array, and facts derived from it.
struct Layout {
  NpyHeader header;
  Cells cells;
  bool fortran = false;
  size_t dataAt = 0; // byte of the file at which the elements begin
};

Layout layoutOf(std::span<const char> bytes, const std::string &name) {
  require(bytes.size() >= magicBytes + 4 && std::memcmp(bytes.data(), magic, magicBytes) == 0,
          "{}: expected a .npy array, got another kind of file", name);
  int version = bytes[magicBytes];
  require(version >= 1 && version <= 3, "{}: .npy version {}, expected 1 to 3", name, version);
  size_t lengthBytes = version == 1 ? 2 : 4, headerAt = magicBytes + 2 + lengthBytes;
  uint32_t length = 0;
  require(bytes.size() >= headerAt, "{}: truncated .npy header", name);
  std::memcpy(&length, bytes.data() + magicBytes + 2, lengthBytes);
  require(bytes.size() - headerAt >= length, "{}: truncated .npy header: {} bytes, expected {}", name,
          bytes.size() - headerAt, length);
  Header header = HeaderParser(std::string_view(bytes.data() + headerAt, length), name).parse();
  Layout layout{{}, cellsOf(header.descr, name), header.fortran, headerAt + length};
  layout.header = {layout.cells.type, std::move(header.shape)};
  return layout;
}

} // namespace

NpyHeader parseNpyHeader(std::span<const char> beginning, uint64_t fileBytes, const std::string &name) {
  Layout layout = layoutOf(beginning, name);
  elementCount(layout.header.dims, layout.cells.width, fileBytes - layout.dataAt, name);
  requireMemory(fileBytes, name);
  return layout.header;
}

NpyArray parseNpy(std::span<const char> bytes, const std::string &name) {
  Layout layout = layoutOf(bytes, name);
  std::span<const char> data = bytes.subspan(layout.dataAt);
  const Cells &cells = layout.cells;
  NpyArray array;
  array.dims = layout.header.dims;
  array.type = cells.type;
  size_t width = cells.width;
  int64_t elements = elementCount(array.dims, width, data.size(), name);

  std::vector<char> values(data.begin(), data.end());
  if (cells.swapped)
    for (auto at = values.begin(); at != values.end(); at += static_cast<ptrdiff_t>(cells.unit))
      std::reverse(at, at + static_cast<ptrdiff_t>(cells.unit));
  if (layout.fortran && array.dims.size() > 1 && !values.empty())
    values = toRowMajor(values, array.dims, width);
  if (array.type == ElementType::boolean)
    for (char &value : values)
      value = value != 0;
  if (array.type == ElementType::string) {
    require(width > 0 || elements <= (1 << 20), "{}: {} empty strings", name, elements);
    array.strings = decodeStrings(values, width, cells.unit == 4);
    array.strings.resize(static_cast<size_t>(elements));
  } else {
    array.data = std::move(values);
  }
  return array;
}

NpyArray readNpy(const std::string &path) { return parseNpy(readFile(path), path); }

namespace {

/// UTF-8 as code points; a byte that is not part of valid UTF-8 becomes U+FFFD.
std::vector<uint32_t> codePoints(const std::string &text) {
  std::vector<uint32_t> points;
  for (size_t at = 0; at < text.size();) {
    auto byte = static_cast<uint8_t>(text[at++]);
    unsigned more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    bool valid = byte < 0x80 || (byte >= 0xc2 && byte <= 0xf4 && at + more <= text.size());
    uint32_t point = more ? byte & (0x3fu >> more) : byte;
    for (unsigned i = 0; valid && i < more; ++i) {
      auto follower = static_cast<uint8_t>(text[at + i]);
      valid = (follower & 0xc0) == 0x80;
      point = point << 6 | (follower & 0x3f);
    }
    points.push_back(valid ? point : 0xfffd);
    at += valid ? more : 0;
  }
  return points;
}

/// Elements of a 'U' array, each of `width` characters; at least one, as NumPy's are.
std::vector<char> encodeStrings(std::span<const std::string> strings, size_t &width) {
  std::vector<std::vector<uint32_t>> texts;
  width = 1;
  for (const std::string &text : strings) {
    texts.push_back(codePoints(text));
    width = std::max(width, texts.back().size());
  }
  std::vector<char> bytes(texts.size() * width * 4);
  for (size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].empty())
      std::memcpy(bytes.data() + i * width * 4, texts[i].data(), texts[i].size() * 4);
  return bytes;
}

/// "(1, 3)", with a comma after a single extent.
std::string shapeText(std::span<const int64_t> dims) {
  std::string shape;
  for (int64_t dim : dims)
    shape += fmt::format("{}, ", dim);
  if (!dims.empty())
    shape.resize(shape.size() - (dims.size() > 1 ? 2 : 1));
  return "(" + shape + ")";
}

} // namespace

std::vector<char> npyBytes(const NpyView &view) {
  int64_t elements = 1;
  for (int64_t dim : view.dims)
    elements *= dim;
  std::string code;
  std::vector<char> encoded;
  std::span<const char> data;
  if (view.type == ElementType::string) {
    size_t width;
    encoded = encodeStrings({static_cast<const std::string *>(view.data), static_cast<size_t>(elements)}, width);
    code = fmt::format("U{}", width);
    data = encoded;
  } else {
    require(codeOf(view.type) != nullptr, "NumPy has no element type {}", name(view.type));
    code = codeOf(view.type);
    data = {static_cast<const char *>(view.data), static_cast<size_t>(byteSize(view.type, elements))};
  }
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                   bitWidth(view.type) == 8 ? '|' : '<', code, shapeText(view.dims));
  size_t start = magicBytes + 4, padded = (start + header.size() + 1 + 63) / 64 * 64; // data is aligned to 64 bytes
  header.resize(padded - start - 1, ' ');
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());
  std::vector<char> bytes(magic, magic + magicBytes);
  bytes.insert(bytes.end(), {1, 0, static_cast<char>(length & 0xff), static_cast<char>(length >> 8)});
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

void writeNpy(const std::string &path, const NpyView &view) { writeFile(path, npyBytes(view)); }

} // namespace lathe
