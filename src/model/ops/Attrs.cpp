#include "ops/Attrs.h"
#include "support/Error.h"

#include <flatbuffers/flexbuffers.h>

namespace lathe {
namespace {

class Encoder : public AttrVisitor {
public:
  flexbuffers::Builder builder;
  void field(const char *name, int64_t &value) override { builder.Int(name, value); }
  void field(const char *name, double &value) override { builder.Double(name, value); }
  void field(const char *name, bool &value) override { builder.Bool(name, value); }
  void field(const char *name, std::string &value) override { builder.String(name, value); }
  void field(const char *name, ElementType &value) override { builder.String(name, std::string(lathe::name(value))); }
  void field(const char *name, std::vector<int64_t> &value) override {
    builder.Vector(name, [&] {
      for (int64_t v : value)
        builder.Int(v);
    });
  }
  void field(const char *name, std::vector<double> &value) override {
    builder.Vector(name, [&] {
      for (double v : value)
        builder.Double(v);
    });
  }
};

class Decoder : public AttrVisitor {
public:
  explicit Decoder(flexbuffers::Map map) : map(map) {}
  void field(const char *name, int64_t &value) override {
    if (auto entry = map[name]; !entry.IsNull())
      value = entry.AsInt64();
  }
  void field(const char *name, double &value) override {
    if (auto entry = map[name]; !entry.IsNull())
      value = entry.AsDouble();
  }
  void field(const char *name, bool &value) override {
    if (auto entry = map[name]; !entry.IsNull())
      value = entry.AsBool();
  }
  void field(const char *name, std::string &value) override {
    if (auto entry = map[name]; !entry.IsNull())
      value = entry.AsString().str();
  }
  void field(const char *name, ElementType &value) override {
    if (auto entry = map[name]; !entry.IsNull()) {
      std::string text = entry.AsString().str();
      auto type = elementTypeFromName(text);
      require(type || text == "invalid", "attribute '{}': unknown element type '{}'", name, text);
      value = type.value_or(ElementType::invalid);
    }
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    if (auto entry = map[name]; !entry.IsNull()) {
      auto vector = entry.AsVector();
      value.clear();
      for (size_t i = 0; i < vector.size(); ++i)
        value.push_back(vector[i].AsInt64());
    }
  }
  void field(const char *name, std::vector<double> &value) override {
    if (auto entry = map[name]; !entry.IsNull()) {
      auto vector = entry.AsVector();
      value.clear();
      for (size_t i = 0; i < vector.size(); ++i)
        value.push_back(vector[i].AsDouble());
    }
  }

private:
  flexbuffers::Map map;
};

class Describer : public AttrVisitor {
public:
  std::vector<std::pair<std::string, std::string>> fields;
  void field(const char *name, int64_t &value) override { put(name, fmt::format("{}", value)); }
  void field(const char *name, double &value) override { put(name, fmt::format("{}", value)); }
  void field(const char *name, bool &value) override { put(name, value ? "true" : "false"); }
  void field(const char *name, std::string &value) override { put(name, value); }
  void field(const char *name, ElementType &value) override { put(name, std::string(lathe::name(value))); }
  void field(const char *name, std::vector<int64_t> &value) override {
    put(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void field(const char *name, std::vector<double> &value) override {
    put(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }

private:
  void put(const char *name, std::string text) { fields.emplace_back(name, std::move(text)); }
};

} // namespace

std::vector<uint8_t> encodeAttrs(Attrs &attrs) {
  Encoder encoder;
  encoder.builder.Map([&] { attrs.visit(encoder); });
  encoder.builder.Finish();
  return encoder.builder.GetBuffer();
}

void decodeAttrs(const std::vector<uint8_t> &bytes, Attrs &attrs) {
  require(!bytes.empty() && flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), nullptr),
          "attributes of a reference call are malformed ({} bytes)", bytes.size());
  Decoder decoder(flexbuffers::GetRoot(bytes).AsMap());
  attrs.visit(decoder);
}

std::string describe(const Attrs &attrs) {
  Describer describer, defaults;
  attrs.clone()->visit(describer);
  attrs.defaults()->visit(defaults);
  std::string result;
  for (size_t i = 0; i < describer.fields.size(); ++i)
    if (describer.fields[i] != defaults.fields[i])
      result +=
          fmt::format("{}{}={}", result.empty() ? "" : ", ", describer.fields[i].first, describer.fields[i].second);
  return result;
}

} // namespace lathe

#include "ops/AttrsMethods.inc"
