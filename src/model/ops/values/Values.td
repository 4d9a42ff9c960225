include "ops/Base.td"

// Sequences and optionals. A sequence never holds memory of the plan: what is put into it is copied once, and passing
// the sequence on shares its tensors.
class Nn_Value<string mnemonic> : NnOp<mnemonic> {
  let takesValues = 1;
  let flops = "Dim(0)";
}

def Nn_SequenceConstructOp : Nn_Value<"sequence_construct"> {
  let summary = "a sequence of tensors";
  let description = [{
    Constraints: sequence_construct_c1: the tensors have one element type, `type` if it is stated; an empty sequence states it.
  }];
  let arguments = (ins Variadic<NnTensor>:$items, NnElementType:$type);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SequenceConstruct", 11, 1000, 0>, Onnx<"SequenceEmpty", 11, 1000, 0>];
}

def Nn_SequenceInsertOp : Nn_Value<"sequence_insert"> {
  let summary = "the sequence with a tensor more";
  let description = [{
    The tensor stands before the one at `position`; a negative position counts from the end, none is the end.

    Constraints: sequence_insert_c1: x is a sequence, item a tensor of its element type. sequence_insert_c2: position is an
    integer scalar.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$item, Optional<NnTensor>:$position);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SequenceInsert", 11, 1000, 0>];
}

def Nn_SequenceEraseOp : Nn_Value<"sequence_erase"> {
  let summary = "the sequence without the tensor at `position`, the last one if there is none";
  let description = [{
    Constraints: sequence_erase_c1: x is a sequence. sequence_erase_c2: position is an integer scalar.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$position);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SequenceErase", 11, 1000, 0>];
}

def Nn_SequenceAtOp : Nn_Value<"sequence_at"> {
  let summary = "the tensor of a sequence at `position`";
  let description = [{
    Constraints: sequence_at_c1: x is a sequence. sequence_at_c2: position is an integer scalar. sequence_at_c3: the tensors of x
    have one rank, which is known.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$position);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SequenceAt", 11, 1000, 0>];
}

def Nn_SequenceLengthOp : Nn_Value<"sequence_length"> {
  let summary = "the number of tensors of a sequence, i64";
  let description = [{
    Constraints: sequence_length_c1: x is a sequence.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SequenceLength", 11, 1000, 0>];
}

def Nn_SplitToSequenceOp : Nn_Value<"split_to_sequence"> {
  let summary = "the parts of x along an axis, as a sequence";
  let description = [{
    `split` is the extent of all parts but the last (a scalar) or of each part. Without it every part has extent 1, and the
    axis is gone unless `keepdims`.

    Constraints: split_to_sequence_c1: x is a tensor of rank 1 or more and axis is in [-rank, rank). split_to_sequence_c2: split is
    an integer tensor of rank 0 or 1.
  }];
  let arguments = (ins NnTensor:$x, Optional<NnTensor>:$split, NnI64<"0">:$axis, NnBool<"true">:$keepdims);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"SplitToSequence", 11, 1000, 0>];
}

def Nn_ConcatFromSequenceOp : Nn_Value<"concat_from_sequence"> {
  let summary = "the tensors of a sequence along an axis, a new one if `new_axis`";
  let description = [{
    Constraints: concat_from_sequence_c1: x is a sequence whose tensors have one rank, which is known.
    concat_from_sequence_c2: axis is one of the result's.
  }];
  let arguments = (ins NnTensor:$x, NnI64<"0">:$axis, NnBool<"false">:$new_axis);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"ConcatFromSequence", 11, 1000, 0>];
}

def Nn_OptionalOp : Nn_Value<"optional"> {
  let summary = "an optional that holds x; without x an empty one";
  let description = [{
    An empty one states the element type, and whether it could hold a sequence.

    Constraints: optional_c1: x is a tensor or a sequence; without x the element type is stated.
  }];
  let arguments = (ins Optional<NnTensor>:$x, NnElementType:$type, NnBool<"false">:$sequence);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Optional", 15, 1000, 0>];
}

def Nn_OptionalHasElementOp : Nn_Value<"optional_has_element"> {
  let summary = "true if an optional holds something; true for a tensor or a sequence";
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"OptionalHasElement", 15, 1000, 0>];
}

def Nn_OptionalGetElementOp : Nn_Value<"optional_get_element"> {
  let summary = "what an optional holds; a tensor or a sequence itself";
  let description = [{
    Constraints: optional_get_element_c1: the rank of a tensor that x may hold is known. The run fails if x is empty.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"OptionalGetElement", 15, 1000, 0>];
}

def Nn_PassValueOp : Nn_Value<"pass_value"> {
  let summary = "the sequence or optional itself: a result that lives elsewhere";
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
}
