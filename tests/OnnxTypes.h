// Checks the element types in an ONNX model against the type constraints of the ONNX standard.
#pragma once

#include "import/onnx/Types.h"
#include "import/onnx/onnx.pb.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lathe::onnx {

/// The type constraints of operators that tests/onnx_types.txt lists.
class TypeRules {
public:
  explicit TypeRules(const std::string &path);

  /// Returns one line for each operand or result whose type the standard does not allow, and for each operator without
  /// a rule.
  std::vector<std::string> faults(const ModelProto &model) const;

private:
  struct Word {
    // variable: name of a type variable; words with the same variable have the same type
    std::string variable, set;
    bool optional = false, repeated = false, byAttribute = false;
  };
  struct Rule {
    bool checked = true;
    std::vector<Word> inputs, outputs;
  };
  using Types = std::map<std::string, ElementType>; // element type of each value, by the value's name

  std::map<std::string, std::set<ElementType>> sets;
  // rules of each operator name, by the first opset to which they apply
  std::map<std::string, std::map<int64_t, Rule>> rules;

  void readSet(const std::string &name, const std::string &words);
  std::set<ElementType> typesOf(const std::string &word) const;
  Word wordOf(const std::string &text) const;
  const Rule *ruleOf(const std::string &op, int64_t opset) const;
  void check(const GraphProto &graph, Types types, int64_t opset, std::vector<std::string> &faults) const;
  void check(const NodeProto &node, Types &types, int64_t opset, std::vector<std::string> &faults) const;
};

} // namespace lathe::onnx
