#include "stage/AttributeSetter.h"

#include "support/Text.h"

#include <set>

namespace lathe {
namespace {

class Setter : public AttrVisitor {
public:
  explicit Setter(const std::vector<BuilderAttribute> &given) {
    for (const BuilderAttribute &attribute : given)
      require(byName.emplace(attribute.name, &attribute).second, "attribute '{}' is given twice",
              printable(attribute.name));
  }

  std::vector<std::string> known; // names of the operator's fields
  std::set<std::string> used;

  void field(const char *name, int64_t &value) override { one(name, value, "one integer"); }
  void field(const char *name, double &value) override {
    std::vector<double> values{value};
    reals(name, values, "one number");
    require(values.size() == 1, "attribute '{}' has {} values, expected one number", name, values.size());
    value = values[0];
  }
  void field(const char *name, bool &value) override {
    int64_t number = value;
    one(name, number, "true (1) or false (0)");
    require(number == 0 || number == 1, "attribute '{}' is {}, expected true (1) or false (0)", name, number);
    value = number != 0;
  }
  void field(const char *name, std::string &value) override { read(name, value, "a text"); }
  void field(const char *name, ElementType &value) override {
    std::string text;
    if (!read(name, text, "the name of an element type"))
      return;
    std::optional<ElementType> type = elementTypeFromName(text);
    require(type.has_value(), "attribute '{}' is '{}', expected an element type, as f32", name, printable(text));
    value = *type;
  }
  void field(const char *name, std::vector<int64_t> &value) override { read(name, value, "integers"); }
  void field(const char *name, std::vector<double> &value) override { reals(name, value, "numbers"); }

private:
  std::map<std::string, const BuilderAttribute *> byName;

  const BuilderAttribute *find(const char *name) {
    known.push_back(name);
    auto found = byName.find(name);
    if (found == byName.end())
      return nullptr;
    used.insert(name);
    return found->second;
  }

  [[noreturn]] void failKind(const char *name, const BuilderAttribute &given, const char *expected) {
    static const char *const kinds[] = {"integers", "numbers", "a text"};
    fail("attribute '{}' is {}, expected {}", name, kinds[given.value.index()], expected);
  }

  /// Reads attribute `name` into `value`, and returns true if it is given.
  template <class T> bool read(const char *name, T &value, const char *expected) {
    const BuilderAttribute *given = find(name);
    if (!given)
      return false;
    const T *held = std::get_if<T>(&given->value);
    if (!held)
      failKind(name, *given, expected);
    value = *held;
    return true;
  }

  void one(const char *name, int64_t &value, const char *expected) {
    std::vector<int64_t> values{value};
    read(name, values, expected);
    require(values.size() == 1, "attribute '{}' has {} values, expected {}", name, values.size(), expected);
    value = values[0];
  }

  void reals(const char *name, std::vector<double> &values, const char *expected) {
    const BuilderAttribute *given = find(name);
    if (!given)
      return;
    if (auto *numbers = std::get_if<std::vector<double>>(&given->value))
      values = *numbers;
    else if (auto *integers = std::get_if<std::vector<int64_t>>(&given->value))
      values.assign(integers->begin(), integers->end());
    else
      failKind(name, *given, expected);
  }
};

} // namespace

void setFields(Attrs &attrs, const std::string &mnemonic, const std::vector<BuilderAttribute> &given) {
  Setter setter(given);
  attrs.visit(setter);
  for (const BuilderAttribute &attribute : given)
    require(setter.used.contains(attribute.name), "{} has no attribute '{}'{}{}", mnemonic, printable(attribute.name),
            setter.known.empty() ? "" : "; it has " + listed(setter.known), suggestion(attribute.name, setter.known));
}

} // namespace lathe
