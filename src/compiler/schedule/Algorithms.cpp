// The table of algorithms. A row changes with the code that reads it; a changed meaning needs a new version.
#include "schedule/Algorithms.h"

namespace lathe {
namespace {

using Kind = Parameter::Kind;
using enum Parameter::Role;
constexpr int64_t large = int64_t(1) << 40; // of counts that only the problem limits

/// A number with its default.
Parameter number(const char *name, int64_t least, int64_t most, int64_t standard, const char *meaning,
                 const char *note = "") {
  return {.name = name, .meaning = meaning, .note = note, .least = least, .most = most, .defaultNumber = standard};
}

/// A number whose default depends on the problem; `standard` describes the default.
Parameter openNumber(const char *name, int64_t least, int64_t most, const char *standard, const char *meaning,
                     const char *note = "") {
  return {.name = name, .meaning = meaning, .note = note, .least = least, .most = most, .defaultText = standard};
}

/// One of `words`; the first one is the default.
Parameter word(const char *name, std::vector<const char *> words, const char *meaning, const char *note = "") {
  return {.name = name, .meaning = meaning, .note = note, .kind = Kind::word, .words = std::move(words)};
}

Parameter with(unsigned roles, Parameter parameter) {
  parameter.roles = roles;
  return parameter;
}

Parameter withoutDefault(Parameter parameter) {
  parameter.defaultText = "none";
  return parameter;
}

// ---- The vocabulary: a name has one meaning in all algorithms. `note`: details for one algorithm. ----

Parameter px(const char *note) {
  return with(registerRows, number("px", 1, 64, 1, "output positions of one row per register block, at most", note));
}
Parameter oc(int64_t most = 32) {
  return with(registerVectors, number("oc", 1, most, 1, "vectors of output channels per register block"));
}
/// Beside `mc` it cuts work items, too.
Parameter mr(int64_t most, const char *note, unsigned roles = registerRows | cutsItems) {
  return with(roles, number("mr", 1, most, 1, "rows per register block, at most", note));
}
Parameter vectors(int64_t most, const char *note) {
  return with(registerVectors, number("vectors", 1, most, 1, "vectors of columns per register block", note));
}
Parameter unroll(int64_t standard) { return number("unroll", 1, 64, standard, "reduction steps per loop iteration"); }
Parameter interleave(int64_t most, const char *note) {
  return number("interleave", 1, most, 1, "number of independent results that are computed interleaved", note);
}
constexpr const char *rowsOfItem = "output rows per work item";
Parameter rows(const char *note = "") {
  return with(cutsItems, openNumber("rows", 1, large, "all rows", rowsOfItem, note));
}
Parameter width(const char *note) {
  return openNumber("width", 1, large, "positions of a row", "output positions that count as one row", note);
}
Parameter packb(int64_t standard, const char *note) {
  return number("packb", 0, 1, standard, "1: copy a right operand that is not constant into scratch", note);
}
Parameter mc(int64_t most, const char *note) {
  return with(cutsItems, number("mc", 1, most, 1, "register blocks of rows per work item", note));
}
Parameter kc(int64_t most, const char *note) {
  return number("kc", 0, most, 0,
                "reduction steps per pass over the results, 0: all; partial results stay in scratch between passes",
                note);
}
Parameter grain(int64_t standard, const char *note) {
  return with(cutsItems, number("grain", 1, large, standard, "approximate number of elements per work item", note));
}
Parameter prefetch(const char *note) {
  return number("prefetch", 0, 1, 0, "1: prefetch the next panel of weights while one is used", note);
}
Parameter type(std::vector<const char *> words, const char *note) {
  return with(changesResults, word("type", std::move(words),
                                   "type of the operands of products, to which they are converted if necessary", note));
}
const std::vector<const char *> mayRound = {"f32", "bf16"};
const std::vector<const char *> mayTransform = {"f32", "bf16", "i16", "i32"};
const std::vector<const char *> mayConvert = {"f32", "bf16", "i8", "i16", "i16add", "i32"};
const std::vector<const char *> productsMayConvert = {"f32", "bf16", "i8", "i8mm", "i16", "i32"};

// ---- Constraints of several algorithms ----

Constraint open(const char *text) { return {"open", text}; }
Constraint registers(const char *text) { return {"registers", text}; }
constexpr Constraint scratch{"scratch", "the scratch of a thread is at most 256 MiB"};
constexpr Constraint format{
    "type", "the format takes operands of the kernel's types and the target multiplies it: f32 stands for "
            "one type of operands and sums, bf16 for f32 with avx512bf16, i8 (with vpdpbusd, usdot or sdot, for "
            "constant weights of type i8), i8mm (likewise, for matrix products with usmmla), i16 (with vpmaddwd), "
            "i16add (likewise, for constant weights of type i8 and an input in blocks of channels, in one group) and "
            "i32 for 8-bit operands with sums in i32"};
constexpr Constraint blockSteps{"unroll",
                                "unroll divides the steps of a block of input channels; with type=i16add it is even"};
constexpr const char *positionsFit = "px x oc accumulators and a step's operands fit the registers";
constexpr const char *rowsFit = "mr x vectors accumulators and a step's operands fit the registers";

// ---- Margins of algorithms that were measured to be predicted well ----

constexpr Margins orderedAsPredicted{.change = 0.95};
/// The model's schedules were measured to be faster than the rule's: the margin excludes what noise hides.
constexpr Margins chosenByPrediction{.own = 0.97};

Algorithm direct() {
  return {
      "direct",
      1,
      "contraction",
      "dense and grouped convolutions as small matrix products on unpadded input",
      {px("a row is split evenly"), oc(), unroll(8), rows(),
       width("a convolution of one tap may merge rows, a pointwise one may split them too"),
       kc(large, "steps are input channels"),
       word("outer", {"rows", "channels"},
            "order of work items: with rows, consecutive ones share a range of rows; with channels, a tile of weights"),
       prefetch(""), type(mayConvert, "a range of rows at a time")},
      {{"computes", "the kernel is one convolution"},
       {"groups", "groups of channels begin and end where blocks of the layout do"},
       {"width", "width divides the positions of an image, which must be those of one tap without padding; where the "
                 "tap is strided, width is a multiple of the row"},
       registers(positionsFit),
       format,
       {"kc", "kc divides the input channels of a group into whole blocks"},
       {"held", "with a type that converts operands, kc is 0 and outer is rows: a range of rows is converted once for "
                "all channels"},
       open("with height or width open, kc is 0, the depth of volumes is 1, and type is neither bf16 nor i16add; width "
            "and outer=channels are for pointwise convolutions of blocks, where width cuts the positions of an image "
            "into rows of which the last may be shorter"),
       blockSteps,
       scratch,
       {"code", "a row has at most 1500 different bodies of code: tiles times taps"}},
      {},
      orderedAsPredicted};
}

Algorithm winograd() {
  return {
      "winograd",
      2,
      "contraction",
      "dense 3x3 convolutions of stride 1 with fewer multiplications (Winograd)",
      {with(changesResults, number("m", 2, 6, 4, "outputs per Winograd tile along each axis")),
       mr(64, "rows are tiles"), mc(4096, "rows are tiles"), oc(),
       with(cutsItems,
            number("split", 1, large, 1, "number of shares of the output channels; each transforms the input again")),
       with(cutsItems,
            number("pointsplit", 1, 8, 1,
                   "number of shares of the rows of points, the work items of a first stage; a second stage transforms "
                   "back")),
       unroll(8), prefetch("a panel is one point's"), type(mayTransform, "after the transforms")},
      {{"computes", "the kernel is one dense 3x3 convolution of stride 1 in f32, or of bytes with weights of type i8 "
                    "without zero point and at most 1827 input channels"},
       {"exact", "exact math is off, or the operands are bytes"},
       {"memory", "--memory small is off"},
       {"blocks", "input and result are blocked with the channels of one vector"},
       format,
       {"m", "m is 2, 4 or 6; with type=bf16 2, 3 or 4; of bytes 2"},
       {"oc", "oc divides the vectors of output channels"},
       registers("mr x oc accumulators and a step's operands fit the registers"),
       {"split", "split is at most the number of tiles of output channels"},
       {"pointsplit", "pointsplit is at most m + 2"},
       {"stages", "pointsplit above 1 needs split=1 and one work item of all tiles"},
       open("pointsplit is 1 with height or width open, and the operands are not bytes"),
       blockSteps,
       scratch},
      {{1, {{"px", "mr"}, {"blocks", "mc"}, {"points", "pointsplit"}}}},
      orderedAsPredicted};
}

Algorithm lanewise() {
  return {
      "lanewise",
      1,
      "contraction",
      "depthwise convolutions and narrow groups, with one output channel per lane",
      {px("a row is split evenly"), rows()},
      {{"computes", "the kernel is one convolution"},
       registers("px accumulators and two operands fit the registers"),
       open("with height or width open and stated padding, the groups of a block read its own lanes, in blocks of a "
            "vector's channels"),
       {"code", "a row has at most 20000 different steps: positions times taps times channels of a group"}},
      {},
      chosenByPrediction};
}

Algorithm separable() {
  return {"separable",
          1,
          "contraction",
          "a depthwise convolution and the pointwise one behind it, by ranges of rows",
          {px("of the pointwise convolution"), oc(), unroll(8), rows("rows as defined by `width`"), width("whole rows"),
           prefetch(""),
           number("depthwise", 1, 64, 1, "output positions of one row per register block of the depthwise convolution"),
           type(mayRound, "of the pointwise convolution")},
          {{"computes", "the kernel is a depthwise convolution and the pointwise one that reads its result"},
           {"width", "width is a multiple of a row and divides the positions of an image"},
           registers(positionsFit),
           format,
           blockSteps,
           scratch,
           {"code", "the tiles of a row have at most 1500 different bodies of code, those of the depthwise convolution "
                    "20000 steps"},
           {"depthwise", "depthwise accumulators and two operands fit the registers"}}};
}

std::vector<Algorithm> products() {
  Parameter positions = with(cutsItems, number("rows", 1, int64_t(1) << 32, 32, rowsOfItem,
                                               "of a product or a pointwise convolution positions"));
  return {
      {"gemm",
       2,
       "contraction",
       "matrix products as tiles of broadcast rows times vectors of columns",
       {mr(64, "a static row count is split evenly"), vectors(32, ""), unroll(4), mc(large, ""), kc(large, ""),
        packb(0, "one tile of columns at a time; of packed weights as float32"),
        prefetch("of a constant right operand"), type(productsMayConvert, "the rows of a work item at a time")},
       {{"computes", "the kernel is a matrix product"},
        format,
        {"transposed", "a type that converts operands needs a left operand whose reduction steps are contiguous"},
        {"packb", "a type that converts operands needs packb=1 if the right operand is not constant"},
        {"packed", "weights of 4 or 8 bits need type=f32 and kc=0, and packb=1 for more than 4 rows"},
        registers(rowsFit)},
       {{1, {{"rows", "mr"}}}}},
      {"amx",
       1,
       "contraction",
       "convolutions and matrix products of bytes, or of operands rounded to bf16, on AMX's tile registers",
       {positions, oc(2), prefetch(""), type({"bf16", "i8"}, "")},
       {{"computes",
         "the kernel is one convolution of one group over planes, or a product of rows with a constant, whose "
         "weights have no zero point"},
        {"target", "the target has tile registers: amx-bf16 and avx512bf16, or amx-int8 and avx512vnni"},
        {"type", "operands are f32 for bf16, or 8-bit ones and constant weights of type i8 for i8"},
        {"blocks", "a convolution reads blocks of 16 channels"},
        {"taps", "a convolution has at most 64 taps"},
        open("height and width are static"),
        scratch}},
      {"attention",
       2,
       "attention",
       "softmax(q k^T) v, a register block of queries at a time",
       {mr(64, "rows are queries"), vectors(8, "columns are keys, and lanes of the result"), unroll(4),
        mc(int64_t(1) << 20, "rows are queries"), kc(int64_t(1) << 20, "steps are keys"),
        packb(1, "keys and values of a head; 0: read where they lie, for few queries"),
        type(mayRound, "queries, keys, values and exponentials")},
       {format,
        {"kc", "kc=0 needs a static number of keys"},
        {"packb", "packb=0 needs type=f32, and rows of at most 16 vectors whose elements are neighbours"},
        registers(rowsFit)},
       {{1, {{"rows", "mr"}}}}},
      {"recurrent",
       2,
       "recurrent",
       "all steps of a recurrent network in one call",
       {mr(32, "rows are those of the batch; a work item is one register block", registerRows),
        vectors(16, "of the hidden state, for every gate"), unroll(4),
        with(cutsItems,
             number("stages", 0, 1, 0, "1: every step is a stage of its own and the threads share its columns"))},
       {{"constant", "stages=1 needs constant recurrent weights"},
        registers("mr x vectors x gates accumulators and a step's operands fit the registers")},
       {{1, {{"rows", "mr"}, {"split", "stages"}}}}},
  };
}

Parameter rowsSideBySide() {
  Parameter besides = interleave(4, "rows where they are contiguous; 1, 2 or 4");
  besides.powerOfTwo = true;
  return besides;
}

std::vector<Algorithm> others() {
  std::vector<Constraint> rowsBesides = {{"lanes", "interleave is at most the lanes of a vector"},
                                         {"axis", "interleave above 1 needs rows that are contiguous"}};
  return {
      {"map",
       2,
       "elementwise",
       "a graph of element-wise operators",
       {grain(16384, ""), interleave(16, "vectors")},
       {},
       {{1, {{"unroll", "interleave"}}}}},
      {"pool",
       2,
       "pool",
       "max_pool and average_pool",
       {grain(8192, "of the result"), interleave(16, "output positions of a row")},
       {},
       {{1, {{"unroll", "interleave"}}}},
       chosenByPrediction},
      {"reduce",
       2,
       "reduction",
       "reduce_* over any axes",
       {grain(16384, "of the input"), interleave(16, "vectors, where the lanes are results")},
       {},
       {{1, {{"columns", "interleave"}}}}},
      {"softmax",
       2,
       "softmax",
       "softmax and log_softmax over one axis",
       {grain(8192, ""), rowsSideBySide()},
       rowsBesides,
       {{1, {{"rows", "interleave"}}}}},
      {"normalize",
       2,
       "normalize",
       "layer_norm, rms_norm, instance_norm, group_norm and lp_normalize",
       {grain(16384, ""),
        number("hold", 0, 64, 0,
               "vectors that stay in registers between the passes, of all rows side by side; longer rows are read "
               "again"),
        rowsSideBySide()},
       rowsBesides,
       {{1, {{"rows", "interleave"}}}}},
      {"lrn", 1, "lrn", "local response normalization across channels", {grain(8192, "")}},
      {"resize", 1, "resize", "nearest, linear and cubic sampling", {grain(8192, "of the result")}},
      {"scan",
       1,
       "scan",
       "operators along one axis in order: extremes, running sums, largest elements",
       {grain(16384, "")}},
      {"select", 1, "selection", "positions, boxes and distinct elements by value", {grain(16384, "")}},
      {"index",
       1,
       "indexed",
       "elements read from or written to positions in another tensor",
       {grain(16384, "of the result")}},
      {"move", 1, "movement", "one operator that moves elements, or one layout conversion", {grain(16384, "")}},
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
         .meaning = "a node of that kernel; the operator's own node: a kernel of its own",
         .kind = Kind::name,
         .defaultText = "none"}}},
      {"merge",
       1,
       "",
       "the convolution with which a convolution becomes one; both read one value",
       {{.name = "into", .meaning = "a node of that convolution", .kind = Kind::name, .defaultText = "none"}}},
      {"stream",
       1,
       "",
       "when a kernel runs, and on which slots; kernels of disjoint slots run beside each other",
       {withoutDefault(openNumber("order", 0, 1 << 20, "none", "position among the instructions of the plan")),
        number("first", 0, 1023, 0, "number of the first slot"),
        number("slots", 0, 1024, 0, "number of slots; 0: all, with nothing beside it")}},
  };
}

} // namespace

const std::vector<Algorithm> &algorithms() {
  static const std::vector<Algorithm> table = [] {
    std::vector<Algorithm> all;
    for (std::vector<Algorithm> &part : std::vector<std::vector<Algorithm>>{
             {direct(), winograd(), lanewise(), separable()}, products(), others(), graphChoices()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

} // namespace lathe
