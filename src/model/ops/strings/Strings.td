include "ops/Base.td"

// Operators on text, UTF-8. Operators that move or compare elements (gather, concat, equal, ...) take strings, too.
class Nn_String<string mnemonic> : NnOp<mnemonic> {
  let flops = "Dim(0)";
}

def Nn_StringConstantOp : Nn_String<"string_constant"> {
  let summary = "a constant tensor of strings";
  let description = [{
    `strings` holds the elements one after the other, each as its number of bytes, a colon and the bytes: "2:ab0:3:cde".

    Constraints: string_constant_c1: there are as many strings as the shape has elements.
  }];
  let arguments = (ins NnStr<"">:$strings, NnI64s<>:$shape);
  let results = (outs NnTensor:$y);
}

def Nn_StringConcatOp : Nn_String<"string_concat"> {
  let summary = "each string of x followed by that of y";
  let description = [{
    Constraints: string_concat_c1: both are strings. They broadcast.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$y);
  let results = (outs NnTensor:$z);
  let mappings = [Onnx<"StringConcat", 20>];
}

def Nn_StringSplitOp : Nn_String<"string_split"> {
  let summary = "the parts of each string between delimiters, and their numbers";
  let description = [{
    The parts are along a new last axis, filled up with empty strings. An empty delimiter splits at runs of white space, and
    leaves none at the ends. After `maxsplit` splits the rest is one part; -1: no limit.

    Constraints: string_split_c1: x are strings.
  }];
  let arguments = (ins NnTensor:$x, NnStr<"">:$delimiter, NnI64<"-1">:$maxsplit);
  let results = (outs NnTensor:$parts, NnTensor:$counts);
  let mappings = [Onnx<"StringSplit", 20>];
}

def Nn_StringNormalizerOp : Nn_String<"string_normalizer"> {
  let summary = "strings without stop words, in upper or lower case";
  let description = [{
    `case_change` is none, lower or upper; the rules of Unicode hold, not those of a language. `stopwords` has the form of
    string_constant. When no string is left the result is one empty string.

    Constraints: string_normalizer_c1: x are strings of extents [C] or [1, C]. string_normalizer_c2: case_change is known.
  }];
  let arguments = (ins NnTensor:$x, NnStr<"none">:$case_change, NnBool<"false">:$is_case_sensitive,
                       NnStr<"">:$stopwords);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"StringNormalizer", 10, 1000, 0>];
}

def Nn_RegexFullMatchOp : Nn_String<"regex_full_match"> {
  let summary = "true for each string that matches the pattern as a whole";
  let description = [{
    The pattern has the syntax of RE2, and time grows linearly with the length of a string.

    Constraints: regex_full_match_c1: x are strings. The run fails for a pattern that is none.
  }];
  let arguments = (ins NnTensor:$x, NnStr<"">:$pattern);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"RegexFullMatch", 20>];
}
