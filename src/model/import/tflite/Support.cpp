// Writes docs/generated/tflite.md, which says how every builtin operator is imported.
#include "import/tflite/Quantized.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// Operators without an importer on tensors: how they are imported, or why they are not.
struct Other {
  BuiltinOperator code;
  const char *reason;
  bool supported = false;
};

constexpr Other others[] = {
    {ASSIGN_VARIABLE, "a state", true},
    {CALL, "the operators of its subgraph", true},
    {CALL_ONCE, "states that begin with zeros", true},
    {COMPLEX_ABS, "complex numbers"},
    {CONCAT_EMBEDDINGS, "no longer in TensorFlow Lite"},
    {CONV_3D_TRANSPOSE, "not yet"},
    {CUSTOM, "TFLite_Detection_PostProcess alone", true},
    {DELEGATE, "not an operator of a file"},
    {DENSIFY, "sparse tensors"},
    {DILATE, "not yet"},
    {EMBEDDING_LOOKUP_SPARSE, "sparse tensors"},
    {HASHTABLE, "tables"},
    {HASHTABLE_FIND, "tables"},
    {HASHTABLE_IMPORT, "tables"},
    {HASHTABLE_LOOKUP, "tables"},
    {HASHTABLE_SIZE, "tables"},
    {IF, "a branch, or nn.if", true},
    {IMAG, "complex numbers"},
    {LSH_PROJECTION, "hashes of strings"},
    {MULTINOMIAL, "random numbers"},
    {PLACEHOLDER_FOR_GREATER_OP_CODES, "not an operator of a file"},
    {RANDOM_STANDARD_NORMAL, "random numbers"},
    {RANDOM_UNIFORM, "random numbers"},
    {READ_VARIABLE, "a state", true},
    {REAL, "complex numbers"},
    {REDUCE_WINDOW, "no longer in TensorFlow Lite"},
    {RFFT2D, "complex numbers"},
    {SKIP_GRAM, "strings"},
    {VAR_HANDLE, "a state", true},
    {WHILE, "nn.loop", true},
};

const Other *otherOf(BuiltinOperator code) {
  for (const Other &other : others)
    if (other.code == code)
      return &other;
  return nullptr;
}

} // namespace

std::string supportPage() {
  std::string rows;
  int supported = 0, count = 0;
  for (BuiltinOperator code : file::EnumValuesBuiltinOperator()) {
    const Importer *plain = importerOf(code);
    bool quantised = quantisedImporters().contains(code), hasOwn = plain && plain->run;
    const Other *other = otherOf(code);
    bool any = hasOwn || quantised || (other && other->supported);
    supported += any;
    ++count;
    std::string floats = hasOwn ? "yes" : other ? other->reason : quantised ? "-" : "StableHLO: not yet";
    std::string integers = quantised ? "yes" : hasOwn && plain->moves ? "yes, moved" : "no";
    if (!hasOwn && !quantised)
      integers = any ? "-" : "no";
    rows += fmt::format("| {} | {} | {} |\n", operatorName(code),
                        any && !hasOwn && other ? other->reason
                        : any                   ? floats
                                                : "no: " + floats,
                        integers);
  }
  return fmt::format("<!-- Written from the tables of import/tflite by `ninja tflite-page`; do not edit. -->\n"
                     "# Which TensorFlow Lite operators are supported?\n\n"
                     "{} of the {} builtin operators of the format are imported. The second column is about float, "
                     "integer and\n"
                     "bool tensors, the third one about quantised tensors (8 or 16 bits with a scale); \"moved\" says "
                     "that the\n"
                     "operator leaves the elements as they are. What an operator does not take, such as an option, is "
                     "an error\n"
                     "that names it. [tflite.md](../tflite.md) tells how a model is read.\n\n"
                     "| operator | becomes | quantised |\n|---|---|---|\n",
                     supported, count) +
         rows;
}

} // namespace lathe::tflite
