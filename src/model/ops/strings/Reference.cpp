#include "ops/ReferenceSupport.h"
#include "support/StringList.h"

#include <algorithm>
#include <cwctype>

#include <clocale>
#include <re2/re2.h>

namespace lathe {
namespace {

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The words of a text; after `most` splits the rest, with white space at its end.
std::vector<std::string> words(const std::string &text, int64_t most) {
  std::vector<std::string> parts;
  size_t at = 0;
  auto skip = [&] {
    while (at < text.size() && isSpace(text[at]))
      ++at;
  };
  for (skip(); at < text.size(); skip()) {
    if (static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text.substr(at));
      break;
    }
    size_t end = at;
    while (end < text.size() && !isSpace(text[end]))
      ++end;
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

std::vector<std::string> partsBetween(const std::string &text, const std::string &delimiter, int64_t most) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t found; static_cast<int64_t>(parts.size()) < most && (found = text.find(delimiter, at)) != text.npos;
       at = found + delimiter.size())
    parts.push_back(text.substr(at, found - at));
  parts.push_back(text.substr(at));
  return parts;
}

/// The code point of UTF-8 text at `at`, and advances `at`. An invalid byte is returned as it is, with `valid` false.
uint32_t next(const std::string &text, size_t &at, bool &valid) {
  auto byte = static_cast<uint8_t>(text[at++]);
  size_t more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
  valid = byte < 0x80 || (byte >= 0xC2 && byte <= 0xF4 && at + more <= text.size());
  if (!valid || more == 0)
    return byte;
  uint32_t point = byte & (0x3Fu >> more);
  for (size_t i = 0; i < more; ++i) {
    auto follower = static_cast<uint8_t>(text[at + i]);
    valid &= (follower & 0xC0) == 0x80;
    point = point << 6 | (follower & 0x3F);
  }
  if (!valid)
    return byte;
  at += more;
  return point;
}

void append(std::string &text, uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  int more = point >= 0x10000 ? 3 : point >= 0x800 ? 2 : 1;
  constexpr uint32_t leading[] = {0xC0, 0xE0, 0xF0};
  text += static_cast<char>(leading[more - 1] | point >> (6 * more));
  while (more-- > 0)
    text += static_cast<char>(0x80 | (point >> (6 * more) & 0x3F));
}

/// `text` in lower or upper case, by the tables of Unicode; on a system without these tables, only for ASCII.
std::string inCase(const std::string &text, bool upper) {
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    bool valid;
    uint32_t point = next(text, at, valid);
    if (!valid)
      result += static_cast<char>(point);
    else if (unicode)
      append(result, static_cast<uint32_t>(upper ? ::towupper_l(static_cast<wint_t>(point), unicode)
                                                 : ::towlower_l(static_cast<wint_t>(point), unicode)));
    else if (point < 0x80)
      result +=
          static_cast<char>(upper ? std::toupper(static_cast<int>(point)) : std::tolower(static_cast<int>(point)));
    else
      append(result, point);
  }
  return result;
}

} // namespace

void runStringConstant(const StringConstantAttrs &a, ReferenceCall &call) {
  call.out(0).strings() = splitStrings(a.strings);
}

void runStringConcat(const StringConcatAttrs &, ReferenceCall &call) {
  Tensor &out = call.out(0);
  std::vector<int64_t> x = broadcastStrides(call.in(0).dims(), out.dims());
  std::vector<int64_t> y = broadcastStrides(call.in(1).dims(), out.dims()), own = stridesOf(out.dims());
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t rest = i, atX = 0, atY = 0;
    for (size_t axis = 0; axis < own.size(); ++axis) {
      int64_t at = rest / own[axis];
      rest %= own[axis];
      atX += at * x[axis];
      atY += at * y[axis];
    }
    out.strings()[static_cast<size_t>(i)] =
        call.in(0).strings()[static_cast<size_t>(atX)] + call.in(1).strings()[static_cast<size_t>(atY)];
  }
}

void runStringSplit(const StringSplitAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t most = a.maxsplit < 0 ? std::numeric_limits<int64_t>::max() : a.maxsplit, longest = 0;
  std::vector<std::vector<std::string>> parts;
  Tensor counts(ElementType::i64, x.dims());
  for (const std::string &text : x.strings()) {
    parts.push_back(a.delimiter.empty() ? words(text, most) : partsBetween(text, a.delimiter, most));
    auto count = static_cast<int64_t>(parts.back().size());
    counts.as<int64_t>()[parts.size() - 1] = count;
    longest = std::max(longest, count);
  }
  std::vector<int64_t> dims = x.dims();
  dims.push_back(longest);
  Tensor all(ElementType::string, dims);
  for (size_t i = 0; i < parts.size(); ++i)
    std::move(parts[i].begin(), parts[i].end(), all.strings().begin() + static_cast<int64_t>(i) * longest);
  call.outputs[0] = std::move(all);
  if (call.outputs[1].tensor().defined())
    assign(call.out(1), counts);
  else
    call.outputs[1] = std::move(counts);
}

void runStringNormalizer(const StringNormalizerAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  auto folded = [&](const std::string &text) { return a.is_case_sensitive ? text : inCase(text, false); };
  std::vector<std::string> stop = splitStrings(a.stopwords), left;
  for (std::string &word : stop)
    word = folded(word);
  std::sort(stop.begin(), stop.end());
  for (const std::string &text : x.strings())
    if (!std::binary_search(stop.begin(), stop.end(), folded(text)))
      left.push_back(a.case_change == "none" ? text : inCase(text, a.case_change == "upper"));
  if (left.empty())
    left.emplace_back();
  std::vector<int64_t> dims = x.dims();
  dims.back() = static_cast<int64_t>(left.size());
  if (call.outputs[0].tensor().defined()) {
    call.out(0).strings() = std::move(left);
    return;
  }
  Tensor result(ElementType::string, dims);
  result.strings() = std::move(left);
  call.outputs[0] = std::move(result);
}

void runRegexFullMatch(const RegexFullMatchAttrs &a, ReferenceCall &call) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  re2::RE2 pattern(a.pattern, options);
  require(pattern.ok(), "pattern '{}' is not valid: {}", a.pattern, pattern.error());
  for (int64_t i = 0; i < call.out(0).elements(); ++i)
    call.out(0).as<uint8_t>()[i] = re2::RE2::FullMatch(call.in(0).strings()[static_cast<size_t>(i)], pattern);
}

} // namespace lathe
