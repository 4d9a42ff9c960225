// Movement kernels against the references: bit for bit.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>
#include <numeric>

namespace lathe {
namespace {

class Movement : public testing::Test {
protected:
  Target target = testTarget();
  int64_t block = target.channelBlock();
  std::mt19937_64 random;
  std::string type;
  bool symbolic = false; // axis 0 is N

  using Shape = std::vector<int64_t>;

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  bool maybe(unsigned n = 2) { return random() % n == 0; }

  void start(uint64_t seed) {
    random.seed(seed);
    type = std::vector<std::string>{"f32", "f32", "f32", "i8", "f16", "i64", "i1", "f64", "bf16"}[random() % 9];
    symbolic = false;
  }
  std::string tensor(const Shape &dims, bool blocked = false) {
    std::string result = "tensor<";
    for (size_t i = 0; i < dims.size(); ++i)
      result += (symbolic && i == 0 ? std::string("?") : std::to_string(dims[i])) + "x";
    return result + type + (blocked ? fmt::format(", #nn.blocked<1, {}>>", block) : ">");
  }
  /// "%x: tensor<...> {nn.dims = ...}"
  std::string argument(const std::string &name, const Shape &dims, bool blocked = false) {
    std::string result = name + ": " + tensor(dims, blocked);
    if (!symbolic)
      return result;
    return result + fmt::format(" {{nn.dims = [\"N\", \"{}\"]}}", fmt::join(dims.begin() + 1, dims.end(), "\", \""));
  }
  void check(uint64_t seed, const std::string &arguments, const std::string &result, const std::string &body,
             int64_t batch = 1, double lo = -100, double hi = 100) {
    std::string text = fmt::format("func.func @k({}) -> {} attributes {{nn.family = \"movement\"}} {{\n  {}\n}}",
                                   arguments, result, body);
    std::string schedule = maybe() ? "" : fmt::format("move/1 grain={}", upTo(3000));
    EXPECT_EQ(checkKernel(text, target, seed, 0, lo, hi, schedule, {{"N", batch}}), "") << "seed " << seed;
  }
  Shape shape(size_t rank, int64_t largest) {
    Shape result(rank);
    for (int64_t &extent : result)
      extent = maybe(4) ? 1 : upTo(largest);
    return result;
  }
  static std::string list(const Shape &values) {
    return fmt::format("array<i64{}{}>", values.empty() ? "" : ": ", fmt::join(values, ", "));
  }
};

TEST_F(Movement, layouts) {
  for (uint64_t seed : randomSeeds(120)) {
    start(seed);
    symbolic = maybe(3);
    Shape dims{upTo(3), upTo(50)};
    for (size_t i = 0; i < 1 + seed % 3; ++i)
      dims.push_back(upTo(seed % 3 == 0 ? 70 : 12));
    bool to = maybe();
    std::string from = tensor(dims, !to), result = tensor(dims, to);
    check(seed, argument("%x", dims, !to), result,
          fmt::format("%y = nn.convert_layout %x : {0} -> {1}\n  return %y : {1}", from, result), dims[0]);
  }
}

TEST_F(Movement, transposes) {
  for (uint64_t seed : randomSeeds(120)) {
    start(seed);
    Shape dims = shape(1 + seed % 5, seed % 5 < 2 ? 70 : 20), perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random);
    symbolic = maybe(3) && perm[0] == 0 && dims.size() > 1;
    Shape out;
    for (int64_t axis : perm)
      out.push_back(dims[axis]);
    check(seed, argument("%x", dims), tensor(out),
          fmt::format("%y = nn.transpose %x {{perm = {}}} : ({}) -> {}\n  return %y : {}", list(perm), tensor(dims),
                      tensor(out), tensor(out)),
          dims[0]);
  }
}

TEST_F(Movement, transposesBetweenLayouts) {
  for (uint64_t seed : randomSeeds(120)) {
    start(seed);
    Shape dims{upTo(3), upTo(maybe() ? 70 : 20)}, perm{0, 1}, out;
    for (size_t i = 0; i < 1 + seed % 3; ++i) {
      dims.push_back(upTo(i ? 9 : 40));
      perm.push_back(static_cast<int64_t>(dims.size()) - 1);
    }
    std::shuffle(perm.begin() + 1, perm.end(), random);
    symbolic = maybe(3);
    for (int64_t axis : perm)
      out.push_back(dims[axis]);
    bool from = maybe();
    check(seed, argument("%x", dims, from), tensor(out, !from),
          fmt::format("%y = nn.transpose %x {{perm = {}}} : ({}) -> {}\n  return %y : {}", list(perm),
                      tensor(dims, from), tensor(out, !from), tensor(out, !from)),
          dims[0]);
  }
}

TEST_F(Movement, concatAndSplit) {
  for (uint64_t seed : randomSeeds(150)) {
    start(seed);
    bool blocked = maybe(), split = maybe();
    Shape dims = shape(blocked ? 3 + seed % 3 : 1 + seed % 4, 12);
    size_t axis = blocked && maybe() ? 1 : random() % dims.size();
    symbolic = maybe(3) && axis != 0;
    size_t parts = 1 + random() % 4;
    std::vector<Shape> shapes;
    Shape whole = dims, sizes;
    whole[axis] = 0;
    for (size_t i = 0; i < parts; ++i) {
      Shape part = dims;
      part[axis] = axis == 1 && blocked ? (maybe() ? block * upTo(3) : upTo(40)) : upTo(30);
      if (!blocked && maybe(3))
        part[axis] = upTo(200);
      whole[axis] += part[axis];
      sizes.push_back(part[axis]);
      shapes.push_back(part);
    }
    if (blocked && axis != 1)
      for (Shape *each : {&whole})
        (*each)[1] = dims[1];
    std::vector<std::string> types, names, arguments;
    for (size_t i = 0; i < parts; ++i) {
      types.push_back(tensor(shapes[i], blocked));
      names.push_back(fmt::format("%p{}", i));
      arguments.push_back(argument(names.back(), shapes[i], blocked));
    }
    std::string all = fmt::format("{}", fmt::join(types, ", ")), y = tensor(whole, blocked),
                operands = fmt::format("{}", fmt::join(names, ", "));
    if (!split) {
      check(seed, fmt::format("{}", fmt::join(arguments, ", ")), y,
            fmt::format("%y = nn.concat {} {{axis = {} : i64}} : ({}) -> {}\n  return %y : {}", operands, axis, all, y,
                        y),
            dims[0]);
    } else {
      std::vector<std::string> results;
      for (size_t i = 0; i < parts; ++i)
        results.push_back(fmt::format("%s#{}", i));
      std::string group = parts == 1 ? all : "(" + all + ")";
      check(seed, argument("%x", whole, blocked), "(" + all + ")",
            fmt::format("%s:{} = nn.split %x {{axis = {} : i64, sizes = {}}} : ({}) -> {}\n  return {} : {}", parts,
                        axis, list(sizes), y, group, fmt::join(results, ", "), all),
            dims[0]);
    }
  }
}

TEST_F(Movement, slices) {
  for (uint64_t seed : randomSeeds(150)) {
    start(seed);
    bool blocked = maybe(3);
    Shape dims = shape(blocked ? 3 + seed % 3 : 1 + seed % 4, 40), starts, ends, axes, steps, out = dims;
    bool shifted = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (maybe() || (blocked && shifted))
        continue;
      bool channel = blocked && i == 1;
      if (channel && !axes.empty())
        continue;
      shifted |= channel;
      int64_t step = channel ? 1 : (maybe() ? 1 : upTo(4)) * (maybe(4) ? -1 : 1);
      int64_t from = static_cast<int64_t>(random() % static_cast<uint64_t>(dims[i])), count;
      if (step > 0) {
        int64_t to = from + upTo(dims[i] - from);
        count = (to - from + step - 1) / step;
        starts.push_back(maybe(4) ? from - dims[i] : from);
        ends.push_back(to == dims[i] && maybe() ? std::numeric_limits<int64_t>::max() : to);
      } else {
        count = from / -step + 1;
        starts.push_back(from == dims[i] - 1 && maybe() ? from + 5 : from);
        ends.push_back(std::numeric_limits<int64_t>::min() + 1);
      }
      out[i] = count;
      axes.push_back(static_cast<int64_t>(i));
      steps.push_back(step);
    }
    symbolic = maybe(3) && (axes.empty() || axes[0] != 0) && dims.size() > 1;
    check(seed, argument("%x", dims, blocked), tensor(out, blocked),
          fmt::format("%y = nn.slice %x {{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = {}, ends = {}, "
                      "axes = {}, steps = {}}} : ({}) -> {}\n  return %y : {}",
                      list(starts), list(ends), list(axes), list(steps), tensor(dims, blocked), tensor(out, blocked),
                      tensor(out, blocked)),
          dims[0]);
  }
}

TEST_F(Movement, joinsSlices) { // a concatenation of slices of a few tensors, and of whole ones
  for (uint64_t seed : randomSeeds(150)) {
    start(seed);
    bool blocked = maybe();
    Shape dims = shape(blocked ? 3 + seed % 3 : 1 + seed % 4, 12), out = dims;
    size_t axis = blocked && !maybe(4) ? 1 : random() % dims.size();
    symbolic = maybe(3) && axis != 0;
    std::vector<std::string> arguments, parts, types;
    std::vector<Shape> sources;
    std::string body;
    for (int i = 0, n = static_cast<int>(upTo(3)); i < n; ++i) {
      sources.push_back(dims);
      sources.back()[axis] = maybe() ? block * upTo(3) : upTo(50);
      if (!blocked && axis != 0 && maybe(4)) // cut along another axis as well
        sources.back().back() += axis + 1 == dims.size() ? 0 : upTo(3);
      arguments.push_back(argument(fmt::format("%x{}", i), sources.back(), blocked));
    }
    out[axis] = 0;
    for (int i = 0, n = static_cast<int>(upTo(5)); i < n; ++i) {
      size_t from = random() % sources.size();
      const Shape &source = sources[from];
      Shape part = dims, starts, ends, axes, steps;
      bool other = source.back() != dims.back() && axis + 1 != dims.size();
      int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(source[axis]));
      if (maybe(3))
        begin = begin / block * block;
      if (!other && maybe(3)) { // whole
        part[axis] = source[axis];
        parts.push_back(fmt::format("%x{}", from));
      } else {
        bool backwards = !blocked && maybe(5);
        part[axis] = backwards ? begin + 1 : upTo(source[axis] - begin);
        starts = {begin};
        ends = {backwards ? std::numeric_limits<int64_t>::min() + 1 : begin + part[axis]};
        axes = {static_cast<int64_t>(axis)};
        steps = {backwards ? -1 : 1};
        if (other) {
          int64_t last = static_cast<int64_t>(dims.size()) - 1, left = source.back() - dims.back();
          starts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(left + 1)));
          ends.push_back(starts.back() + dims.back());
          axes.push_back(last);
          steps.push_back(1);
        }
        parts.push_back(fmt::format("%s{}", i));
        body += fmt::format("{} = nn.slice %x{} {{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = {}, ends = "
                            "{}, axes = {}, steps = {}}} : ({}) -> {}\n  ",
                            parts.back(), from, list(starts), list(ends), list(axes), list(steps),
                            tensor(source, blocked), tensor(part, blocked));
      }
      types.push_back(tensor(part, blocked));
      out[axis] += part[axis];
    }
    check(seed, fmt::format("{}", fmt::join(arguments, ", ")), tensor(out, blocked),
          fmt::format("{}%y = nn.concat {} {{axis = {} : i64}} : ({}) -> {}\n  return %y : {}", body,
                      fmt::join(parts, ", "), axis, fmt::join(types, ", "), tensor(out, blocked), tensor(out, blocked)),
          dims[0]);
  }
}

TEST_F(Movement, pads) {
  const char *modes[] = {"constant", "constant", "edge", "reflect", "wrap"};
  for (uint64_t seed : randomSeeds(150)) {
    start(seed);
    bool blocked = maybe(3);
    std::string mode = modes[seed % 5];
    Shape dims = shape(blocked ? 3 + seed % 3 : 1 + seed % 4, 30), out = dims, pads(2 * dims.size(), 0);
    symbolic = maybe(3) && dims.size() > 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (maybe(3) || (blocked && i == 1) || (symbolic && i == 0))
        continue;
      int64_t limit = mode == "reflect" ? dims[i] - 1 : mode == "wrap" ? dims[i] : 9;
      for (size_t side : {i, dims.size() + i})
        pads[side] = limit ? static_cast<int64_t>(random() % static_cast<uint64_t>(limit + 1)) : 0;
      if (mode == "constant" && maybe(4) && dims[i] > 3)
        pads[i] = -upTo(2);
      out[i] += pads[i] + pads[dims.size() + i];
    }
    std::string value = mode == "constant" && type[0] != 'i' ? ", value = -1.5"
                        : mode == "constant"                 ? ", value = 1.0"
                                                             : "";
    check(seed, argument("%x", dims, blocked), tensor(out, blocked),
          fmt::format("%y = nn.pad %x {{operandSegmentSizes = array<i32: 1, 0, 0>, mode = \"{}\", pads = {}{}}} : ({}) "
                      "-> {}\n  return %y : {}",
                      mode, list(pads), value, tensor(dims, blocked), tensor(out, blocked), tensor(out, blocked)),
          dims[0]);
  }
}

TEST_F(Movement, gathers) {
  for (uint64_t seed : randomSeeds(80)) {
    start(seed);
    Shape dims = shape(1 + seed % 4, 30), indices = shape(random() % 3, 9), out;
    size_t axis = random() % dims.size();
    dims[axis] = 10;
    for (size_t i = 0; i < dims.size(); ++i)
      if (i == axis)
        out.insert(out.end(), indices.begin(), indices.end());
      else
        out.push_back(dims[i]);
    std::string indexType = "tensor<";
    for (int64_t extent : indices)
      indexType += std::to_string(extent) + "x";
    indexType += maybe() ? "i64>" : "i32>";
    check(seed, argument("%x", dims) + ", %i: " + indexType, tensor(out),
          fmt::format("%y = nn.gather %x, %i {{axis = {} : i64}} : ({}, {}) -> {}\n  return %y : {}", axis,
                      tensor(dims), indexType, tensor(out), tensor(out)),
          1, -9.4, 9.4);
  }
}

TEST_F(Movement, expandAndTile) {
  for (uint64_t seed : randomSeeds(80)) {
    start(seed);
    Shape dims = shape(1 + seed % 4, 30), out = dims, repeats;
    if (maybe()) {
      Shape wanted;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 1)
          out[i] = upTo(20);
        wanted.push_back(out[i]);
      }
      if (maybe()) {
        wanted.insert(wanted.begin(), 3);
        out.insert(out.begin(), 3);
      }
      check(seed, argument("%x", dims), tensor(out),
            fmt::format("%y = nn.expand %x {{shape = {}}} : ({}) -> {}\n  return %y : {}", list(wanted), tensor(dims),
                        tensor(out), tensor(out)));
    } else {
      for (int64_t &extent : out) {
        repeats.push_back(upTo(3));
        extent *= repeats.back();
      }
      check(seed, argument("%x", dims), tensor(out),
            fmt::format("%y = nn.tile %x {{repeats = {}}} : ({}) -> {}\n  return %y : {}", list(repeats), tensor(dims),
                        tensor(out), tensor(out)));
    }
  }
}

/// To a batch that another argument has, as passes/kernels/Partition.cpp writes it.
TEST_F(Movement, expandsToAnOpenBatch) {
  for (uint64_t seed : randomSeeds(40)) {
    start(seed);
    int64_t batch = upTo(9);
    Shape dims = shape(2 + seed % 3, 20), out = dims;
    bool leading = maybe();
    std::string x = tensor(dims), extents, parts = "%n", types = "tensor<1xi64>";
    if (leading) {
      out.insert(out.begin(), batch);
    } else {
      dims[0] = 1;
      x = tensor(dims);
    }
    for (size_t i = 1; i < out.size(); ++i) {
      if (out[i] == 1)
        out[i] = upTo(20);
      extents +=
          fmt::format("  %e{0} = nn.constant {{value = dense<{1}> : tensor<1xi64>}} : tensor<1xi64>\n", i, out[i]);
      parts += fmt::format(", %e{}", i);
      types += ", tensor<1xi64>";
    }
    symbolic = true;
    std::string y = tensor(out);
    check(seed, fmt::format("%like: tensor<3x?xf32> {{nn.dims = [\"3\", \"N\"]}}, %x: {}", x), y,
          fmt::format("%n = nn.shape %like {{start = 1 : i64, end = 2 : i64}} : (tensor<3x?xf32>) -> tensor<1xi64>\n{0}"
                      "  %shape = nn.concat {1} {{axis = 0 : i64}} : ({2}) -> tensor<{3}xi64>\n"
                      "  %y = nn.expand %x, %shape : ({4}, tensor<{3}xi64>) -> {5}\n  return %y : {5}",
                      extents, parts, types, out.size(), x, y),
          batch);
  }
}

TEST_F(Movement, shapes) {
  for (uint64_t seed : randomSeeds(60)) {
    start(seed);
    symbolic = maybe();
    Shape dims = shape(2 + seed % 4, 9);
    int64_t rank = static_cast<int64_t>(dims.size()), begin = upTo(rank) - 1, end = begin + upTo(rank - begin);
    bool blocked = maybe() && rank > 2;
    std::string x = tensor(dims, blocked);
    check(seed, argument("%x", dims, blocked), fmt::format("tensor<{}xi64>", end - begin),
          fmt::format("%y = nn.shape %x {{start = {0} : i64, end = {1} : i64}} : ({2}) -> tensor<{3}xi64>\n  return %y "
                      ": tensor<{3}xi64>",
                      begin, end, x, end - begin),
          dims[0]);
  }
}

TEST_F(Movement, depthAndSpace) {
  for (uint64_t seed : randomSeeds(60)) {
    start(seed);
    int64_t size = upTo(4);
    bool blocked = maybe(3);
    Shape small{upTo(2), blocked ? block * upTo(3) : upTo(20), upTo(9), upTo(20)}, deep = small, wide = small;
    deep[1] *= size * size;
    wide[2] *= size;
    wide[3] *= size;
    bool toSpace = maybe(3) == false;
    symbolic = maybe(3);
    const Shape &in = toSpace ? deep : wide, &out = toSpace ? wide : deep;
    std::string mode = toSpace ? fmt::format(", mode = \"{}\"", maybe() || blocked ? "DCR" : "CRD") : "";
    std::string x = tensor(in, blocked), y = tensor(out, blocked);
    check(seed, argument("%x", in, blocked), y,
          fmt::format("%y = nn.{} %x {{block_size = {} : i64{}}} : ({}) -> {}\n  return %y : {}",
                      toSpace ? "depth_to_space" : "space_to_depth", size, mode, x, y, y),
          in[0]);
  }
}

} // namespace
} // namespace lathe
