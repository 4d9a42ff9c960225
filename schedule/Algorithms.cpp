// The table of algorithms. A row changes with the code that reads it; a changed meaning is a new version.
#include "schedule/Algorithms.h"

namespace lathe {
namespace {

using Kind = Parameter::Kind;
constexpr int64_t large = int64_t(1) << 40; // of counts that only the problem limits

/// A number with a default of its own.
Parameter number(const char *name, int64_t least, int64_t most, int64_t standard, const char *meaning) {
  return {.name = name, .meaning = meaning, .least = least, .most = most, .defaultNumber = standard};
}

/// A number whose default depends on the problem: `standard` says what it is.
Parameter openNumber(const char *name, int64_t least, int64_t most, const char *standard, const char *meaning) {
  return {.name = name, .meaning = meaning, .least = least, .most = most, .defaultText = standard};
}

Parameter powerOfTwo(const char *name, int64_t least, int64_t most, int64_t standard, const char *meaning) {
  Parameter result = number(name, least, most, standard, meaning);
  result.powerOfTwo = true;
  return result;
}

/// One of `words`; the first one is the default.
Parameter word(const char *name, std::vector<const char *> words, const char *meaning) {
  return {.name = name, .meaning = meaning, .kind = Kind::word, .words = std::move(words)};
}

Parameter withoutDefault(Parameter parameter) {
  parameter.defaultText = "none";
  return parameter;
}

// What several algorithms have alike.

Parameter grain(int64_t standard, const char *meaning = "elements a work item computes, about") {
  return number("grain", 1, large, standard, meaning);
}

Parameter unroll(int64_t standard) { return number("unroll", 1, 64, standard, "reduction steps a loop iteration"); }

Parameter prefetch(const char *meaning) { return number("prefetch", 0, 1, 0, meaning); }

Parameter operandType(const char *meaning) { return word("type", {"f32", "bf16"}, meaning); }

Parameter outputVectors() { return number("oc", 1, 32, 1, "vectors of output channels a register block"); }

Parameter rowWidth(const char *meaning) { return openNumber("width", 1, large, "positions of a row", meaning); }

constexpr const char *fetchesPanel = "1: while one panel of weights is used, the next one is fetched";

std::vector<Algorithm> convolutions() {
  return {
      {"direct",
       1,
       "contraction",
       "dense and grouped convolutions as small matrix products on unpadded input",
       {number("px", 1, 64, 1, "output positions of one row a register block, at most; a row is split evenly"),
        outputVectors(), unroll(8), openNumber("rows", 1, large, "all rows", "output rows a work item"),
        rowWidth("output positions that count as one row; a convolution of one tap may merge rows, a pointwise one may "
                 "split them too"),
        number("kc", 0, large, 0,
               "input channels reduced before the next row, 0: all; partial sums then wait in scratch"),
        word("outer", {"rows", "channels"},
             "work items that follow each other: rows share a range of rows, channels share a tile of weights"),
        prefetch(fetchesPanel),
        operandType("bf16: both operands are rounded, a range of rows at a time; needs outer=rows and kc=0")}},
      {"winograd",
       1,
       "contraction",
       "dense 3x3 convolutions of stride 1 with fewer multiplications (Winograd)",
       {number("m", 2, 6, 4, "outputs a tile and axis: 2, 4 or 6; with type=bf16 2, 3 or 4"),
        number("px", 1, 64, 1, "tiles a register block of the multiplication"),
        number("blocks", 1, 4096, 1, "register blocks a chunk of tiles"), outputVectors(),
        number("split", 1, large, 1, "shares of the output channels; each one transforms the input again"),
        number("points", 1, 8, 1,
               "shares of the rows of points: work items of a first stage; a second stage transforms back"),
        unroll(8), prefetch("1: while the weights of one point are used, those of the next point are fetched"),
        operandType("bf16: transformed input and transformed weights are rounded")}},
      {"lanewise",
       1,
       "contraction",
       "depthwise convolutions and narrow groups: one lane, one output channel",
       {number("px", 1, 64, 1, "output positions of one row a register block, at most; a row is split evenly"),
        openNumber("rows", 1, large, "all rows", "output rows a work item")}},
      {"separable",
       1,
       "contraction",
       "a depthwise convolution and the pointwise one behind it, by ranges of rows",
       {number("px", 1, 64, 1, "output positions of one row a register block of the pointwise convolution, at most"),
        outputVectors(), unroll(8),
        openNumber("rows", 1, large, "all rows", "rows of `width` positions computed at once"),
        rowWidth("output positions that count as one row: whole rows"), prefetch(fetchesPanel),
        number("depthwise", 1, 64, 1, "output positions of one row a register block of the depthwise convolution"),
        operandType("bf16: both operands of the pointwise convolution are rounded")}},
  };
}

std::vector<Algorithm> products() {
  return {
      {"gemm",
       1,
       "contraction",
       "matrix products as tiles of broadcast rows times vectors of columns",
       {number("rows", 1, 64, 1, "rows a register block, at most; a static row count is split evenly"),
        number("vectors", 1, 32, 1, "vectors of columns a register block"), unroll(4),
        number("mc", 1, large, 1, "register blocks of rows a work item"),
        number("kc", 0, large, 0,
               "reduction steps done for all work items of a chunk of rows before the next ones, 0: all; partial sums "
               "then wait in scratch"),
        number("packb", 0, 1, 0,
               "1: a right operand that is not constant is copied into scratch, a tile of columns at a time"),
        prefetch("1: while one tile of a constant right operand is used, the next one is fetched"),
        operandType("bf16: both operands are rounded, the rows of a chunk at a time; needs packb=1 where the right "
                    "operand is not constant")}},
      {"amx",
       1,
       "contraction",
       "convolutions and matrix products of operands rounded to bf16 on AMX's tile registers",
       {number(
            "rows", 1, int64_t(1) << 32, 32,
            "output rows (of a product or a pointwise convolution: positions) whose input is rounded into scratch at "
            "once"),
        number("oc", 1, 2, 2, "vectors of output channels a register block"),
        prefetch("1: while the weights of one tile of columns are used, those of the next one are fetched"),
        word("type", {"bf16"}, "operands are rounded to bf16")}},
      {"attention",
       1,
       "attention",
       "softmax(q k^T) v, a register block of queries at a time",
       {number("rows", 1, 64, 1, "queries a register block"),
        number("vectors", 1, 8, 1,
               "vectors of keys (of the scores) and of value lanes (of the result) a register block"),
        unroll(4), number("mc", 1, int64_t(1) << 20, 1, "register blocks of queries a work item"),
        number("kc", 0, int64_t(1) << 20, 0, "keys worked on at a time, 0: all, only where their number is static"),
        operandType("bf16: queries, keys, values and exponentials are rounded where they enter a product")}},
      {"recurrent",
       1,
       "recurrent",
       "all steps of a recurrent network in one call",
       {number("rows", 1, 32, 1, "rows of the batch a work item"),
        number("vectors", 1, 16, 1, "vectors of hidden columns a tile, for every gate"), unroll(4),
        number("split", 0, 1, 0, "1: the slots share the columns of every step, which is a stage of its own")}},
  };
}

std::vector<Algorithm> others() {
  constexpr const char *sideBySide = "rows walked side by side where the axis is innermost";
  return {
      {"map",
       1,
       "elementwise",
       "a graph of element-wise operators",
       {grain(16384), number("unroll", 1, 16, 1, "vectors an iteration of the innermost loop")}},
      {"pool",
       1,
       "pool",
       "max_pool and average_pool",
       {grain(8192, "elements of the result a work item computes, about"),
        number("unroll", 1, 16, 1, "output positions of a row computed side by side")}},
      {"reduce",
       1,
       "reduction",
       "reduce_* over any axes",
       {grain(16384, "elements a work item reads, about"),
        number("columns", 1, 16, 1, "vectors of results computed side by side where the lanes are results")}},
      {"softmax",
       1,
       "softmax",
       "softmax and log_softmax over one axis",
       {grain(8192), powerOfTwo("rows", 1, 4, 1, sideBySide)}},
      {"normalize",
       1,
       "normalize",
       "layer_norm, rms_norm, instance_norm, group_norm and lp_normalize",
       {grain(16384),
        number("hold", 0, 64, 0,
               "vectors that stay in registers between the passes, of all rows side by side; longer rows are read "
               "again"),
        powerOfTwo("rows", 1, 4, 1, "rows walked side by side where rows are contiguous")}},
      {"lrn", 1, "lrn", "local response normalization across channels", {grain(8192)}},
      {"resize",
       1,
       "resize",
       "nearest, linear and cubic sampling at static extents",
       {grain(8192, "elements of the result a work item computes, about")}},
      {"scan", 1, "scan", "along one axis in order: extremes, running sums, the greatest elements", {grain(16384)}},
      {"index", 1, "indexed", "elements read from or written to places that another tensor names", {grain(16384)}},
      {"move", 1, "movement", "one operator that moves elements, or one change of layout", {grain(16384)}},
  };
}

std::vector<Algorithm> graphChoices() {
  return {
      {"layout",
       1,
       "",
       "the layouts that an operator reads and writes; either may be left out",
       {withoutDefault(word("in", {"row", "blocked"}, "layout of the operands")),
        withoutDefault(word("out", {"row", "blocked"}, "layout of the results"))}},
      {"fuse",
       1,
       "",
       "the kernel that computes an operator",
       {{.name = "with",
         .meaning = "a node of that kernel; the operator's own: a kernel of its own",
         .kind = Kind::name,
         .defaultText = "none"}}},
  };
}

} // namespace

const std::vector<Algorithm> &algorithms() {
  static const std::vector<Algorithm> table = [] {
    std::vector<Algorithm> all;
    for (std::vector<Algorithm> &part : std::vector{convolutions(), products(), others(), graphChoices()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

} // namespace lathe
