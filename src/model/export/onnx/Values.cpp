// Types of sequences and optionals, and operators on them and on strings.
#include "export/onnx/GraphWriter.h"
#include "support/StringList.h"

namespace lathe::onnx {
namespace {

void writeSequenceConstruct(NodeWriter &w) {
  bool empty = w.op.getNumOperands() == 0;
  w.operandsOnly(empty ? "SequenceEmpty" : "SequenceConstruct");
  if (empty)
    w.attr("dtype", static_cast<int64_t>(toOnnxType(nn::attrsAs<SequenceConstructAttrs>(&w.op).type)));
}

void writeSplitToSequence(NodeWriter &w) {
  w.operandsOnly("SplitToSequence");
  auto a = nn::attrsAs<SplitToSequenceAttrs>(&w.op);
  w.attr("axis", a.axis);
  w.attr("keepdims", static_cast<int64_t>(a.keepdims));
}

void writeConcatFromSequence(NodeWriter &w) {
  w.operandsOnly("ConcatFromSequence");
  auto a = nn::attrsAs<ConcatFromSequenceAttrs>(&w.op);
  w.attr("axis", a.axis);
  w.attr("new_axis", static_cast<int64_t>(a.new_axis));
}

void writeOptional(NodeWriter &w) {
  w.operandsOnly("Optional");
  if (w.op.getNumOperands() > 0)
    return;
  auto a = nn::attrsAs<OptionalAttrs>(&w.op);
  AttributeProto &type = *w.node.add_attribute();
  type.set_name("type");
  type.set_type(AttributeProto::TYPE_PROTO);
  TensorInfo info{a.type, {}, std::nullopt};
  info.kind = a.sequence ? ValueKind::sequence : ValueKind::tensor;
  writeType(*type.mutable_tp(), info, false);
}

void writeStringConstant(NodeWriter &w) {
  auto a = nn::attrsAs<StringConstantAttrs>(&w.op);
  w.node.set_op_type("Constant");
  TensorProto value;
  value.set_data_type(TensorProto::STRING);
  for (int64_t extent : a.shape)
    value.add_dims(extent);
  for (const std::string &text : splitStrings(a.strings))
    value.add_string_data(text);
  w.attr("value", value);
}

void writeStringNormalizer(NodeWriter &w) {
  auto a = nn::attrsAs<StringNormalizerAttrs>(&w.op);
  w.operandsOnly("StringNormalizer");
  w.attr("case_change_action", std::string(a.case_change == "lower"   ? "LOWER"
                                           : a.case_change == "upper" ? "UPPER"
                                                                      : "NONE"));
  w.attr("is_case_sensitive", static_cast<int64_t>(a.is_case_sensitive));
  if (!a.stopwords.empty())
    w.attr("stopwords", splitStrings(a.stopwords));
}

} // namespace

void writeType(TypeProto &out, const TensorInfo &info, bool shape) {
  TypeProto *inside = &out;
  if (isOptional(info.kind))
    inside = inside->mutable_optional_type()->mutable_elem_type();
  if (info.kind == ValueKind::sequence || info.kind == ValueKind::optionalSequence)
    inside = inside->mutable_sequence_type()->mutable_elem_type();
  TypeProto::Tensor &tensor = *inside->mutable_tensor_type();
  tensor.set_elem_type(toOnnxType(info.type));
  if (!shape || (!info.isTensor() && !info.items))
    return;
  TensorShapeProto &extents = *tensor.mutable_shape();
  for (const Dim &dim : info.isTensor() ? info.dims : *info.items) {
    auto *extent = extents.add_dim();
    if (dim.isConstant())
      extent->set_dim_value(dim.constant());
    else if (!isUnknown(dim))
      extent->set_dim_param(dim.str());
  }
}

void addValueWriters(Writers &table) {
  table["sequence_construct"] = writeSequenceConstruct;
  table["sequence_insert"] = [](NodeWriter &w) { w.operandsOnly("SequenceInsert"); };
  table["sequence_erase"] = [](NodeWriter &w) { w.operandsOnly("SequenceErase"); };
  table["sequence_at"] = [](NodeWriter &w) { w.operandsOnly("SequenceAt"); };
  table["sequence_length"] = [](NodeWriter &w) { w.operandsOnly("SequenceLength"); };
  table["split_to_sequence"] = writeSplitToSequence;
  table["concat_from_sequence"] = writeConcatFromSequence;
  table["optional"] = writeOptional;
  table["optional_has_element"] = [](NodeWriter &w) { w.operandsOnly("OptionalHasElement"); };
  table["optional_get_element"] = [](NodeWriter &w) { w.operandsOnly("OptionalGetElement"); };
  table["pass_value"] = [](NodeWriter &w) { w.operandsOnly("Identity"); };
  table["string_constant"] = writeStringConstant;
  table["string_normalizer"] = writeStringNormalizer;
}

} // namespace lathe::onnx
