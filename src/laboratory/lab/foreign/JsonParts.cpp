#include "lab/foreign/JsonParts.h"

#include "store/Lines.h"
#include "support/Error.h"
#include "support/JsonError.h"
#include "support/Text.h"

#include <iterator>

namespace lathe::lab {

using nlohmann::json;

namespace {

/// An error that already names its place in the file.
struct FileError : Error {
  using Error::Error;
};

/// The characters of a file, read on demand.
class Characters {
public:
  explicit Characters(const std::string &path) : reader(path) {}
  bool atEnd() {
    while (!over && at == line.size())
      fill();
    return over;
  }
  char current() const { return line[at]; }
  void next() { ++at; }
  /// True after a read beyond the end.
  bool ended() const { return over; }
  size_t number() const { return std::max<size_t>(reader.number(), 1); }

private:
  void fill() {
    try {
      auto more = reader.next();
      over = !more;
      line = more ? *more : "";
    } catch (const Error &error) {
      throw FileError(error.what());
    }
    if (reader.lineEnded())
      line += '\n';
    at = 0;
  }
  store::LineReader reader;
  std::string line;
  size_t at = 0;
  bool over = false;
};

/// An iterator over Characters for the parser.
struct CharacterIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = char;

  Characters *source = nullptr; // null: the end
  char operator*() const { return source->current(); }
  CharacterIterator &operator++() {
    source->next();
    return *this;
  }
  bool isEnd() const { return !source || source->atEnd(); }
  bool operator==(const CharacterIterator &other) const { return isEnd() == other.isEnd(); }
  bool operator!=(const CharacterIterator &other) const { return !(*this == other); }
};

constexpr size_t deepest = 64, mostValues = 1000000;

/// Builds the parts from the parser's events.
class PartsBuilder : public json::json_sax_t {
public:
  explicit PartsBuilder(const JsonParts &parts) : parts(parts) {}

  bool null() override { return add(json(), false); }
  bool boolean(bool value) override { return add(value, false); }
  bool number_integer(int64_t value) override { return add(value, false); }
  bool number_unsigned(uint64_t value) override { return add(value, false); }
  bool number_float(double value, const std::string &) override { return add(value, false); }
  bool string(std::string &value) override { return add(std::move(value), false); }
  bool binary(json::binary_t &) override { return false; } // not in texts
  bool key(std::string &name) override {
    currentKey = std::move(name);
    return true;
  }
  bool start_object(size_t) override { return add(json::object(), true); }
  bool start_array(size_t) override { return add(json::array(), true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string &, const json::exception &error) override {
    message = messageOf(error);
    return false;
  }

  std::string message; // of the parser
  bool whole() const { return place == Place::behind; }

private:
  enum class Place { before, object, list, behind }; // among the parts

  bool add(json value, bool opens) {
    require(open.size() < deepest, "the document is nested deeper than {} levels", deepest);
    require(++values <= mostValues, "an element has more than {} values", mostValues);
    json *added = &part;
    if (!open.empty() && open.back()->is_array()) {
      open.back()->push_back(std::move(value));
      added = &open.back()->back();
    } else if (!open.empty()) {
      added = &((*open.back())[currentKey] = std::move(value));
    } else if (place == Place::before) {
      bool expected = opens && value.is_array() == parts.list.empty();
      require(expected, "the document is {}, expected {}", value.type_name(),
              parts.list.empty() ? "a list" : "an object");
      place = parts.list.empty() ? Place::list : Place::object;
      return true;
    } else if (place == Place::object && currentKey == parts.list && opens && value.is_array()) {
      place = Place::list;
      return true;
    } else {
      partKey = currentKey;
      part = std::move(value);
    }
    if (opens)
      open.push_back(added);
    else if (open.empty())
      finish();
    return true;
  }
  bool close() {
    if (!open.empty()) {
      open.pop_back();
      if (open.empty())
        finish();
    } else {
      place = place == Place::list && !parts.list.empty() ? Place::object : Place::behind;
    }
    return true;
  }
  void finish() {
    values = 0;
    if (place == Place::list)
      parts.element(part);
    else
      parts.member(partKey, part);
  }

  const JsonParts &parts;
  Place place = Place::before;
  json part;
  std::vector<json *> open; // lists and objects of the part that have not ended
  std::string currentKey, partKey;
  size_t values = 0;
};

/// The parser's message without its position and without long tokens.
std::string shortMessage(const std::string &message) {
  constexpr size_t longest = 200;
  size_t place = message.find("parse error at ");
  size_t from = place == message.npos ? message.npos : message.find(": ", place);
  std::string text = printable(std::string_view(message).substr(from == message.npos ? 0 : from + 2));
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

} // namespace

CutLine readJsonParts(const std::string &path, const JsonParts &parts) {
  Characters characters(path);
  PartsBuilder builder(parts);
  try {
    bool done = json::sax_parse(CharacterIterator{&characters}, CharacterIterator(), &builder);
    if (done)
      return 0;
    if (characters.ended() && !builder.whole())
      return characters.number();
    fail("is not valid JSON: {}", shortMessage(builder.message));
  } catch (const FileError &) {
    throw;
  } catch (const Error &error) {
    fail("{}:{}: {}", path, characters.number(), printable(error.what()));
  }
}

} // namespace lathe::lab
