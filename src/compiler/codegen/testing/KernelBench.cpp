// kernel-bench: compiles one kernel in this process, checks it against plain loops, times it on one thread and
// says what share of the multiply-add peak measured beside it that is.
//
//   kernel-bench [--target T] [--schedule S] [--check] [--cold] [--loops|--llvm|--asm] [--threads N] PROBLEM...
//   PROBLEM: conv C H O K [stride=1 pad=K/2 group=1 n=1 res=0 rowin=0 rowout=0] | gemm M N K | matmul BATCH M N K |
//            attention B H S D [keys=S bias=0 causal=0] | softmax ROWS LENGTH | resnet50 | mobilenet | transformer |
//            suite FILE.csv[:NAME] (convolutions as columns of /problems/conv2d.csv, of suites whose names contain
//            NAME)
//   --cold   weights come from memory for every run and the other operands from the third-level cache, as in a network
#include "codegen/space/ContractionFormat.h"
#include "codegen/testing/KernelBenchSuite.h"
#include "codegen/testing/KernelTesting.h"
#include "ir/Context.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>

using namespace lathe;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Options {
  std::string target = "native", schedule;
  bool check = false, cold = false;
  int threads = 1;
  Precision precision = Precision::fp32;
  std::optional<EmitStage> stage;
};

struct Buffer {
  std::vector<float> data;
  float *aligned() {
    return reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(data.data()) + 63) & ~uintptr_t(63));
  }
  explicit Buffer(int64_t count) : data(count + 16) {}
};

struct Bench {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  Target target;
  Options options;
  double peak = 0;
  std::vector<char> elsewhere; // what the caches hold instead, where runs are cold
  struct Share {
    double ofPeak, ofLanes; // of the peak; of the part of it that lanes which hold a channel can reach
    std::string problem;
  };
  std::vector<Share> shares;
  double lanesUsed = 1; // of the next problem's vectors

  /// Fills the caches with other memory, then brings the operands that are no weights back as far as the third level.
  void cool(const std::vector<void *> &pointers, const std::vector<std::pair<bool, int64_t>> &floats) {
    elsewhere.resize(size_t(96) << 20);
    for (size_t i = 0; i < elsewhere.size(); i += 64)
      ++elsewhere[i];
    volatile float sink = 0;
    for (size_t i = 0; i < pointers.size(); ++i)
      for (int64_t j = 0; !floats[i].first && j < floats[i].second; j += 16)
        sink = sink + static_cast<float *>(pointers[i])[j];
    for (size_t i = 0; i < size_t(2) << 20; i += 64) // the second level holds something else
      ++elsewhere[i];
  }

  /// Runs the kernel of `text` over buffers of the given float counts (arguments then results); constants are packed.
  void run(const std::string &label, const std::string &text, double flop, const std::vector<int64_t> &counts,
           const std::function<double(std::vector<Buffer> &)> &error) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    if (!module)
      return;
    mlir::func::FuncOp function = *module->getOps<mlir::func::FuncOp>().begin();
    KernelProblem problem{{.threads = options.threads}, function, target};
    problem.precision = options.precision;
    if (!options.schedule.empty() &&
        formatNamed(Schedule::parse(options.schedule).words["type"], ElementType::f32).rounds)
      problem.precision = Precision::bf16; // what the schedule does not say is chosen for rounded operands, too
    Outcome<Schedule> prior = priorSchedule(problem);
    if (!prior) {
      std::printf("%-34s declined: %s\n", label.c_str(), prior.reason().c_str());
      return;
    }
    Schedule schedule = *prior;
    if (!options.schedule.empty()) {
      Schedule given = Schedule::parse(options.schedule);
      if (given.algorithm !=
          schedule.algorithm) { // what was not given comes from that algorithm's own prior, where there is one
        KernelProblem exact = problem;
        exact.exactMath = true;
        Outcome<Schedule> direct = priorSchedule(exact);
        schedule = direct && direct->algorithm == given.algorithm ? *direct : given;
      }
      for (auto &[name, value] : given.numbers)
        schedule.numbers[name] = value;
      for (auto &[name, value] : given.words)
        schedule.words[name] = value;
    }
    double compileStart = now();
    Outcome<GeneratedKernel> kernel = generate(problem, schedule);
    if (!kernel) {
      std::printf("%-34s declined: %s\n", label.c_str(), kernel.reason().c_str());
      return;
    }
    if (options.stage) {
      std::fputs(emitText(*kernel->module, target, *options.stage).c_str(), stdout);
      return;
    }
    double generated = now();
    LoadedKernel loaded(*kernel->module, target);
    double compiled = now();

    std::vector<Buffer> buffers;
    uint32_t seed = 1;
    for (int64_t count : counts) {
      buffers.emplace_back(count);
      for (int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        buffers.back().aligned()[i] = float(seed >> 8) / float(1 << 24) - 0.5f;
      }
    }
    std::vector<std::vector<char>> packed(counts.size());
    std::vector<Buffer> packedBuffers;
    packedBuffers.reserve(counts.size());
    std::vector<void *> pointers;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (i < kernel->packings.size() && kernel->packings[i]) {
        auto type = llvm::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
        nn::ConstantData data{ElementType::f32, std::vector<int64_t>(type.getShape()),
                              llvm::ArrayRef<char>(reinterpret_cast<char *>(buffers[i].aligned()), counts[i] * 4),
                              false};
        packed[i] = kernel->packings[i]->pack(data);
        packedBuffers.emplace_back(packed[i].size() / 4);
        std::memcpy(packedBuffers.back().aligned(), packed[i].data(), packed[i].size());
        pointers.push_back(packedBuffers.back().aligned());
      } else {
        pointers.push_back(buffers[i].aligned());
      }
    }
    Buffer scratch(kernel->scratchBytes.constant() / 4 + 16);
    int64_t units = kernel->units.constant();
    auto call = [&] { loaded.call(pointers.data(), nullptr, 0, units, scratch.aligned()); };
    call();
    std::vector<double> times;
    std::vector<std::pair<bool, int64_t>> floats;
    for (size_t i = 0; i < counts.size(); ++i)
      floats.emplace_back(i < kernel->packings.size() && kernel->packings[i], counts[i]);
    double total = 0;
    while (times.size() < 5 || (total < 0.25 && times.size() < (options.cold ? 25 : 2000))) {
      if (options.cold)
        cool(pointers, floats);
      double start = now();
      call();
      times.push_back(now() - start);
      total += times.back();
    }
    std::sort(times.begin(), times.end());
    double median = options.cold ? times[times.size() / 4] : times[0],
           gflops = flop / median / 1e9; // the machine may be shared
    shares.push_back({gflops / peak, gflops / peak / lanesUsed, label});
    std::printf("%-34s %9.1f us %7.1f GFLOPS %6.1f %%  gen %4.0f ms llvm %4.0f ms %6zu B units %5ld  %s", label.c_str(),
                median * 1e6, gflops, 100 * gflops / peak, (generated - compileStart) * 1e3,
                (compiled - generated) * 1e3, loaded.codeBytes(), long(units), kernel->schedule.str().c_str());
    if (options.check && error)
      std::printf("  error %.2g", error(buffers));
    std::printf("\n");
    std::fflush(stdout);
  }

  void conv(int64_t c, int64_t h, int64_t o, int64_t k, std::map<std::string, int64_t> more) {
    auto get = [&](const char *name, int64_t fallback) { return more.count(name) ? more[name] : fallback; };
    int64_t w = get("w", h), g = get("group", 1), n = get("n", 1), kw = get("kw", k);
    int64_t s = get("stride", 1), sw = get("sw", s), d = get("dilation", 1), dw = get("dw", d), p = get("pad", k / 2),
            pw = get("pw", get("pad", kw / 2));
    bool rowIn = get("rowin", 0), rowOut = get("rowout", 0), residual = get("res", 0), relu = get("relu", 0);
    int64_t oh = (h + 2 * p - d * (k - 1) - 1) / s + 1, ow = (w + 2 * pw - dw * (kw - 1) - 1) / sw + 1,
            block = target.channelBlock();
    auto tensor = [&](int64_t channels, int64_t hh, int64_t ww, bool row) {
      return fmt::format("tensor<{}x{}x{}x{}xf32{}>", n, channels, hh, ww,
                         row ? "" : fmt::format(", #nn.blocked<1, {}>", block));
    };
    auto blocks = [&](int64_t channels, bool row) { return row ? channels : (channels + block - 1) / block * block; };
    std::string x = tensor(c, h, w, rowIn), y = tensor(o, oh, ow, rowOut);
    std::string weights = fmt::format("tensor<{}x{}x{}x{}xf32>", o, c / g, k, kw),
                bias = fmt::format("tensor<{}xf32>", o);
    std::string text = fmt::format(
        "func.func private @k(%x: {}, %w: {} {{nn.constant}}, %b: {} {{nn.constant}}{}) -> {} attributes {{nn.family = "
        "\"contraction\"}} {{\n  %0 = nn.conv %x, %w, %b {{strides = array<i64: {}, {}>, dilations = array<i64: {}, "
        "{}>, pads = "
        "array<i64: {}, {}, {}, {}>, group = {} : i64}} : ({}, {}, {}) -> {}\n",
        x, weights, bias, residual ? ", %r: " + y : "", y, s, sw, d, dw, p, pw, p, pw, g, x, weights, bias, y);
    std::string last = "%0";
    if (residual) {
      text += fmt::format("  %1 = nn.add %0, %r : ({0}, {0}) -> {0}\n", y);
      last = "%1";
    }
    if (relu) {
      text += fmt::format("  %2 = nn.relu {1} : ({0}) -> {0}\n", y, last);
      last = "%2";
    }
    text += fmt::format("  return {} : {}\n}}\n", last, y);
    std::vector<int64_t> counts = {n * blocks(c, rowIn) * h * w, o * c / g * k * kw, o};
    if (residual)
      counts.push_back(n * blocks(o, rowOut) * oh * ow);
    counts.push_back(n * blocks(o, rowOut) * oh * ow);
    auto error = [&](std::vector<Buffer> &buffers) {
      double worst = 0;
      auto at = [&](int64_t image, int64_t channel, int64_t pixel, int64_t channels, int64_t pixels, bool row) {
        if (row)
          return (image * channels + channel) * pixels + pixel;
        return ((image * ((channels + block - 1) / block) + channel / block) * pixels + pixel) * block +
               channel % block;
      };
      for (int64_t image = 0; image < n; ++image)
        for (int64_t oc = 0; oc < o; ++oc)
          for (int64_t oy = 0; oy < oh; ++oy)
            for (int64_t ox = 0; ox < ow; ++ox) {
              double sum = buffers[2].aligned()[oc];
              int64_t group = oc / (o / g);
              for (int64_t ic = 0; ic < c / g; ++ic)
                for (int64_t ky = 0; ky < k; ++ky)
                  for (int64_t kx = 0; kx < kw; ++kx) {
                    int64_t iy = oy * s - p + ky * d, ix = ox * sw - pw + kx * dw;
                    if (iy < 0 || iy >= h || ix < 0 || ix >= w)
                      continue;
                    sum += double(buffers[0].aligned()[at(image, group * (c / g) + ic, iy * w + ix, c, h * w, rowIn)]) *
                           buffers[1].aligned()[((oc * (c / g) + ic) * k + ky) * kw + kx];
                  }
              int64_t place = at(image, oc, oy * ow + ox, o, oh * ow, rowOut);
              if (residual)
                sum += buffers[3].aligned()[place];
              if (relu)
                sum = std::max(sum, 0.0);
              worst = std::max(worst, std::abs(sum - buffers.back().aligned()[place]));
            }
      return worst;
    };
    std::string label = fmt::format("conv {}->{} @{} {}x{}/{}", c, o,
                                    w == h ? std::to_string(h) : fmt::format("{}x{}", h, w), k, kw, s);
    for (auto [name, value, usual] :
         {std::tuple<const char *, int64_t, int64_t>{"g", g, 1}, {"n", n, 1}, {"d", d, 1}, {"pad", p, k / 2}})
      if (value != usual)
        label += fmt::format(" {}{}", name, value);
    lanesUsed = g == 1 ? double(o) / double((o + block - 1) / block * block) : 1;
    run(label, text, 2.0 * n * o * oh * ow * (c / g) * k * kw, counts, error);
    lanesUsed = 1;
  }

  /// Every distinct convolution of a table, in the layout a network gives it.
  void suite(const std::string &fileAndName) {
    size_t colon = fileAndName.find(':');
    std::vector<SuiteProblem> problems =
        readSuite(fileAndName.substr(0, colon), colon == std::string::npos ? "" : fileAndName.substr(colon + 1));
    shares.clear();
    for (const SuiteProblem &problem : problems)
      conv(problem.channels, problem.height, problem.outChannels, problem.kernel, problem.more);
    if (options.stage || shares.empty())
      return;
    std::sort(shares.begin(), shares.end(), [](const Share &x, const Share &y) { return x.ofLanes < y.ofLanes; });
    double peaks = 0, lanes = 0;
    for (const Share &share : shares) {
      peaks += std::log(share.ofPeak) / double(shares.size());
      lanes += std::log(share.ofLanes) / double(shares.size());
    }
    std::printf("%zu problems: geometric mean %.1f %% of peak, %.1f %% of what lanes that hold a channel can reach; "
                "below 95 %% of that:\n",
                shares.size(), 100 * std::exp(peaks), 100 * std::exp(lanes));
    for (const Share &share : shares)
      if (share.ofLanes < 0.95)
        std::printf("  %5.1f %%  (%5.1f %% of peak)  %s\n", 100 * share.ofLanes, 100 * share.ofPeak,
                    share.problem.c_str());
  }

  void gemm(int64_t m, int64_t n, int64_t k) {
    std::string a = fmt::format("tensor<{}x{}xf32>", m, k), b = fmt::format("tensor<{}x{}xf32>", k, n),
                y = fmt::format("tensor<{}x{}xf32>", m, n);
    std::string text = fmt::format(
        "func.func private @k(%a: {}, %b: {} {{nn.constant}}) -> {} attributes {{nn.family = \"contraction\"}} {{\n"
        "  %0 = nn.matmul %a, %b : ({}, {}) -> {}\n  return %0 : {}\n}}\n",
        a, b, y, a, b, y, y);
    run(fmt::format("gemm {}x{}x{}", m, n, k), text, 2.0 * m * n * k, {m * k, k * n, m * n},
        [&](std::vector<Buffer> &buffers) {
          double worst = 0;
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t l = 0; l < k; ++l)
                sum += double(buffers[0].aligned()[i * k + l]) * buffers[1].aligned()[l * n + j];
              worst = std::max(worst, std::abs(sum - buffers[2].aligned()[i * n + j]));
            }
          return worst;
        });
  }

  /// A stack of products whose right operands are computed.
  void matmul(int64_t batch, int64_t m, int64_t n, int64_t k) {
    std::string a = fmt::format("tensor<{}x{}x{}xf32>", batch, m, k),
                b = fmt::format("tensor<{}x{}x{}xf32>", batch, k, n),
                y = fmt::format("tensor<{}x{}x{}xf32>", batch, m, n);
    std::string text =
        fmt::format("func.func private @k(%a: {0}, %b: {1}) -> {2} attributes {{nn.family = \"contraction\"}} {{\n"
                    "  %0 = nn.matmul %a, %b : ({0}, {1}) -> {2}\n  return %0 : {2}\n}}\n",
                    a, b, y);
    run(fmt::format("matmul {}x{}x{}x{}", batch, m, n, k), text, 2.0 * batch * m * n * k,
        {batch * m * k, batch * k * n, batch * m * n}, {});
  }

  /// Heads of one projection [B, S, 3, H, D], the result as [B, S, H, D].
  void attention(int64_t batch, int64_t heads, int64_t s, int64_t d, std::map<std::string, int64_t> more) {
    int64_t keys = more.count("keys") ? more["keys"] : s;
    bool bias = more["bias"], causal = more["causal"];
    auto tensor = [](std::vector<int64_t> dims) { return fmt::format("tensor<{}xf32>", fmt::join(dims, "x")); };
    std::string q = tensor({batch, s, heads, d}), k = tensor({batch, keys, heads, d}),
                qt = tensor({batch, heads, s, d}), kt = tensor({batch, heads, keys, d}), b = tensor({heads, s, keys});
    std::string text = fmt::format(
        "func.func private @k(%q: {0}, %k: {1}, %v: {1}{4}) -> {0} attributes {{nn.family = \"attention\"}} {{\n"
        "  %0 = nn.transpose %q {{perm = array<i64: 0, 2, 1, 3>}} : ({0}) -> {2}\n"
        "  %1 = nn.transpose %k {{perm = array<i64: 0, 2, 1, 3>}} : ({1}) -> {3}\n"
        "  %2 = nn.transpose %v {{perm = array<i64: 0, 2, 1, 3>}} : ({1}) -> {3}\n"
        "  %3 = nn.attention %0, %1, %2{5} {{scale = 0.125 : f64, causal = \"{6}\", operandSegmentSizes = array<i32: "
        "1, 1, 1, {7}, 0>}} : "
        "({2}, {3}, {3}{8}) -> {2}\n"
        "  %4 = nn.transpose %3 {{perm = array<i64: 0, 2, 1, 3>}} : ({2}) -> {0}\n  return %4 : {0}\n}}\n",
        q, k, qt, kt, bias ? ", %b: " + b : "", bias ? ", %b" : "", causal ? "upper_left" : "none", bias ? 1 : 0,
        bias ? ", " + b : "");
    std::vector<int64_t> counts = {batch * s * heads * d, batch * keys * heads * d, batch * keys * heads * d};
    if (bias)
      counts.push_back(heads * s * keys);
    counts.push_back(batch * s * heads * d);
    run(fmt::format("attention {}x{}x{}x{}x{}{}{}", batch, heads, s, keys, d, bias ? " bias" : "",
                    causal ? " causal" : ""),
        text, 4.0 * batch * heads * s * keys * d, counts, {});
  }

  void softmax(int64_t rows, int64_t length) {
    std::string x = fmt::format("tensor<{}x{}xf32>", rows, length);
    // Reported in "GFLOPS" of one operation an element.
    run(fmt::format("softmax {}x{}", rows, length),
        fmt::format("func.func private @k(%x: {0}) -> {0} attributes {{nn.family = \"softmax\"}} {{\n"
                    "  %0 = nn.softmax %x {{axis = -1 : i64}} : ({0}) -> {0}\n  return %0 : {0}\n}}\n",
                    x),
        double(rows * length), {rows * length, rows * length}, {});
  }

  /// What vit_b_16, bert-base and swin_t consist of.
  void transformer() {
    for (int64_t m : {64, 128, 197, 394})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{768, 768}, {2304, 768}, {3072, 768}, {768, 3072}})
        gemm(m, n, k);
    for (auto [m, c] : {std::pair<int64_t, int64_t>{3136, 96}, {784, 192}, {196, 384}, {49, 768}}) {
      gemm(m, 3 * c, c);
      gemm(m, c, c);
      gemm(m, 4 * c, c);
      gemm(m, c, 4 * c);
    }
    matmul(12, 197, 197, 64);
    matmul(12, 197, 64, 197);
    attention(1, 12, 197, 64, {});
    attention(1, 12, 128, 64, {});
    attention(1, 12, 1024, 64, {});
    attention(1, 12, 64, 64, {{"causal", 1}});
    for (auto [windows, heads] : {std::pair<int64_t, int64_t>{64, 3}, {16, 6}, {4, 12}, {1, 24}})
      attention(windows, heads, 49, 32, {{"bias", 1}});
    for (int64_t n : {768, 3072})
      gemm(1, n, 768);
  }

  void resnet50() {
    conv(3, 224, 64, 7, {{"stride", 2}, {"pad", 3}, {"rowin", 1}});
    int64_t in = 64, size = 56, mid = 64;
    for (int stage = 0; stage < 4; ++stage, mid *= 2) {
      int64_t out = mid * 4, outSize = stage ? size / 2 : size;
      conv(in, size, mid, 1, {});
      if (stage)
        conv(mid, size, mid, 3, {{"stride", 2}});
      conv(in, size, out, 1, {{"stride", stage ? 2 : 1}, {"pad", 0}});
      conv(out, outSize, mid, 1, {});
      conv(mid, outSize, mid, 3, {});
      conv(mid, outSize, out, 1, {{"res", 1}});
      in = out;
      size = outSize;
    }
    gemm(1, 1000, 2048);
  }

  void mobilenet() {
    conv(3, 224, 32, 3, {{"stride", 2}, {"rowin", 1}});
    for (auto [c, h, s] : std::vector<std::array<int64_t, 3>>{{32, 112, 1},
                                                              {96, 112, 2},
                                                              {144, 56, 1},
                                                              {144, 56, 2},
                                                              {192, 28, 1},
                                                              {192, 28, 2},
                                                              {384, 14, 1},
                                                              {576, 14, 1},
                                                              {576, 14, 2},
                                                              {960, 7, 1}})
      conv(c, h, c, 3, {{"stride", s}, {"group", c}});
    conv(16, 112, 96, 1, {});
    conv(96, 56, 24, 1, {});
    conv(24, 56, 144, 1, {});
    conv(144, 28, 32, 1, {});
    conv(192, 14, 64, 1, {});
    conv(576, 7, 160, 1, {});
    conv(160, 7, 960, 1, {});
    conv(320, 7, 1280, 1, {});
  }
};

} // namespace

int main(int argc, char **argv) {
  try {
    Bench bench;
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      if (word == "--target" && i + 1 < argc)
        bench.options.target = argv[++i];
      else if (word == "--schedule" && i + 1 < argc)
        bench.options.schedule = argv[++i];
      else if (word == "--threads" && i + 1 < argc)
        bench.options.threads = std::atoi(argv[++i]);
      else if (word == "--precision" && i + 1 < argc)
        bench.options.precision = precisionOf(argv[++i]);
      else if (word == "--cold")
        bench.options.cold = true;
      else if (word == "--check")
        bench.options.check = true;
      else if (word == "--loops")
        bench.options.stage = EmitStage::loops;
      else if (word == "--llvm")
        bench.options.stage = EmitStage::llvm;
      else if (word == "--asm")
        bench.options.stage = EmitStage::assembly;
      else
        words.push_back(word);
    }
    bench.target = Target::parse(bench.options.target);
    if (!bench.options.stage) {
      Target here = Target::parse("native");
      require(!(bench.target.featureBits & ~here.featureBits),
              "code for {} cannot be run on this {}: --loops, --llvm and --asm show it", bench.target.str(),
              here.str());
      bench.peak = peakGflops(bench.context.get(), bench.target);
      std::printf("%s, %u-bit vectors: peak %.1f GFLOPS\n", bench.target.str().c_str(), bench.target.vectorBits,
                  bench.peak);
    }
    for (size_t i = 0; i < words.size();) {
      std::string kind = words[i++];
      if (kind == "suite" && i < words.size()) {
        bench.suite(words[i++]);
        continue;
      }
      std::vector<int64_t> numbers;
      std::map<std::string, int64_t> more;
      for (; i < words.size() && (std::isdigit(words[i][0]) || words[i].find('=') != std::string::npos); ++i)
        if (size_t at = words[i].find('='); at != std::string::npos)
          more[words[i].substr(0, at)] = std::atoll(words[i].c_str() + at + 1);
        else
          numbers.push_back(std::atoll(words[i].c_str()));
      if (kind == "conv" && numbers.size() == 4)
        bench.conv(numbers[0], numbers[1], numbers[2], numbers[3], more);
      else if (kind == "gemm" && numbers.size() == 3)
        bench.gemm(numbers[0], numbers[1], numbers[2]);
      else if (kind == "matmul" && numbers.size() == 4)
        bench.matmul(numbers[0], numbers[1], numbers[2], numbers[3]);
      else if (kind == "attention" && numbers.size() == 4)
        bench.attention(numbers[0], numbers[1], numbers[2], numbers[3], more);
      else if (kind == "softmax" && numbers.size() == 2)
        bench.softmax(numbers[0], numbers[1]);
      else if (kind == "transformer")
        bench.transformer();
      else if (kind == "resnet50")
        bench.resnet50();
      else if (kind == "mobilenet")
        bench.mobilenet();
      else
        fail("problem '{}' is not understood", kind);
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kernel-bench: %s\n", error.what());
    return 2;
  }
}
