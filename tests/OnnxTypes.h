// Element types of an ONNX model against the type constraints of the standard.
#pragma once

#include "import/onnx/Types.h"
#include "import/onnx/onnx.pb.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lathe::onnx {

/// The rules of tests/onnx_types.txt.
class TypeRules {
public:
  explicit TypeRules(const std::string &path);

  /// One line for each operand or result whose type the standard does not allow, and for each operator without a rule.
  std::vector<std::string> faults(const ModelProto &model) const;

private:
  struct Word {
    std::string variable, set; // equal variables have one type
    bool optional = false, repeated = false, byAttribute = false;
  };
  struct Rule {
    bool checked = true;
    std::vector<Word> inputs, outputs;
  };
  using Types = std::map<std::string, ElementType>; // of values

  std::map<std::string, std::set<ElementType>> sets;
  std::map<std::string, std::map<int64_t, Rule>> rules; // by the first opset

  void readSet(const std::string &name, const std::string &words);
  std::set<ElementType> typesOf(const std::string &word) const;
  Word wordOf(const std::string &text) const;
  const Rule *ruleOf(const std::string &op, int64_t opset) const;
  void check(const GraphProto &graph, Types types, int64_t opset, std::vector<std::string> &faults) const;
  void check(const NodeProto &node, Types &types, int64_t opset, std::vector<std::string> &faults) const;
};

} // namespace lathe::onnx
