// Times ONNX Runtime on a decoder, step after step, with its keys and values bound to memory of this program: the peer of
// `lathe run --steps` (bench/decoding.py).
//
// Inputs: input_ids (i64), past_* (f32), and where the model has them seqlens_k and total_sequence_length (i32) of
// GroupQueryAttention. Outputs: next_ids, present_* in the order of past_*, and others, first of all the logits. The presents
// of one step are the pasts of the next one; nothing is copied between steps. The tokens are given, so that all sides
// compute the same.
#include "lab/compare/OnnxRuntimePlace.h"
#include "lab/problems/OnnxTypes.h"
#include "lab/runners/onnxruntime/Network.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstring>
#include <iostream>

namespace lathe::ort {
namespace {

class Decoder {
public:
  /// `shared`: one buffer of `most` positions holds a past and its present, as GroupQueryAttention wants it. Otherwise
  /// every past has two buffers, which change places.
  Decoder(const Api &api, const Env &env, const std::string &path, int threads, int64_t most, bool shared)
      : api(api), network(api, env, path, threads, ort::sequential), options(sessionOptions(api, threads)),
        session(make(api, api.releaseSession, api.createSession, &env, path.c_str(),
                     static_cast<const SessionOptions *>(options.get()))),
        memory(make(api, api.releaseMemoryInfo, api.createCpuMemoryInfo, deviceAllocator, defaultMemory)),
        runOptions(make(api, api.releaseRunOptions, api.createRunOptions)),
        binding(make(api, api.releaseIoBinding, api.createIoBinding, session.get())), shared(shared) {
    for (const Port &port : network.inputs())
      if (port.name.starts_with("past_"))
        pasts.push_back(port);
    for (const Port &port : network.outputs())
      if (port.name.starts_with("present_"))
        presents.push_back(port.name);
    require(pasts.size() == presents.size(), "{} pasts and {} presents", pasts.size(), presents.size());
    for (const Port &past : pasts)
      for (std::vector<Tensor> *side : {&front, &back})
        side->emplace_back(ElementType::f32, std::vector<int64_t>{extent(past, 0), past.dims[1], most, past.dims[3]});
    ids = Tensor(ElementType::i64, {1, 1});
    next = Tensor(ElementType::i64, {1, 1});
    lengths = Tensor(ElementType::i32, {1});
    total = Tensor(ElementType::i32, {});
    bindOthers();
  }

  /// Runs step `position` and returns its milliseconds, binding included.
  double step(int64_t position) {
    *ids.as<int64_t>() = tokenAt(position);
    auto start = std::chrono::steady_clock::now();
    *lengths.as<int32_t>() = static_cast<int32_t>(position);
    *total.as<int32_t>() = static_cast<int32_t>(position + 1);
    if (!shared || position == 0)
      bindStates(position);
    check(api, api.runWithBinding(session.get(), runOptions.get(), binding.get()));
    if (!shared)
      std::swap(front, back);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  /// The likeliest next token, and its logit.
  int64_t token() const { return *next.as<int64_t>(); }
  float logit() const { return others.front().as<float>()[token()]; }

private:
  const Api &api;
  Network network; // for its ports
  Owned<SessionOptions> options;
  Owned<Session> session;
  Owned<MemoryInfo> memory;
  Owned<RunOptions> runOptions;
  Owned<IoBinding> binding;
  bool shared;
  std::vector<Port> pasts;
  std::vector<std::string> presents;
  std::vector<Tensor> front, back; // memory of pasts and presents
  std::vector<Tensor> others;
  Tensor ids, next, lengths, total;
  std::vector<Owned<Value>> values, states;

  static Owned<SessionOptions> sessionOptions(const Api &api, int threads) {
    auto options = make(api, api.releaseSessionOptions, api.createSessionOptions);
    check(api, api.setSessionExecutionMode(options.get(), sequential));
    check(api, api.setSessionGraphOptimizationLevel(options.get(), allOptimizations));
    check(api, api.setSessionLogSeverityLevel(options.get(), errorLevel));
    check(api, api.setIntraOpNumThreads(options.get(), threads));
    check(api, api.setInterOpNumThreads(options.get(), 1));
    return options;
  }

  /// As bench/decoding.py has them.
  static int64_t tokenAt(int64_t position) { return (position * 7919 + 13) % 50257; }

  static int64_t extent(const Port &port, size_t axis) { return port.dims[axis] < 0 ? 1 : port.dims[axis]; }

  Owned<Value> valueOf(Tensor &tensor, const std::vector<int64_t> &dims) const {
    int64_t elements = 1;
    for (int64_t dim : dims)
      elements *= dim;
    return make(api, api.releaseValue, api.createTensorWithData, static_cast<const MemoryInfo *>(memory.get()),
                tensor.data(), static_cast<size_t>(byteSize(tensor.type(), elements)), dims.data(), dims.size(),
                lab::onnxNumber(tensor.type()));
  }

  void bindOthers() {
    for (const Port &port : network.inputs()) {
      Tensor *tensor = port.name == "input_ids"               ? &ids
                       : port.name == "seqlens_k"             ? &lengths
                       : port.name == "total_sequence_length" ? &total
                                                              : nullptr;
      if (!tensor)
        continue;
      values.push_back(valueOf(*tensor, tensor->dims()));
      check(api, api.bindInput(binding.get(), port.name.c_str(), values.back().get()));
    }
    others.reserve(network.outputs().size());
    for (const Port &port : network.outputs()) {
      if (port.name.starts_with("present_"))
        continue;
      std::vector<int64_t> dims;
      for (size_t axis = 0; axis < port.dims.size(); ++axis)
        dims.push_back(extent(port, axis));
      if (port.name != "next_ids")
        others.emplace_back(port.type, dims);
      Tensor &tensor = port.name == "next_ids" ? next : others.back();
      values.push_back(valueOf(tensor, dims));
      check(api, api.bindOutput(binding.get(), port.name.c_str(), values.back().get()));
    }
  }

  void bindStates(int64_t position) {
    std::vector<Owned<Value>> bound;
    for (size_t i = 0; i < pasts.size(); ++i) {
      std::vector<int64_t> dims = front[i].dims(), after = dims;
      if (!shared) {
        dims[2] = position;
        after[2] = position + 1;
      }
      bound.push_back(valueOf(front[i], dims));
      check(api, api.bindInput(binding.get(), pasts[i].name.c_str(), bound.back().get()));
      bound.push_back(valueOf(shared ? front[i] : back[i], after));
      check(api, api.bindOutput(binding.get(), presents[i].c_str(), bound.back().get()));
    }
    states = std::move(bound);
  }
};

int decode(const std::string &path, int64_t steps, int threads, bool shared) {
  auto place = lab::onnxRuntimeLibrary();
  require(place.has_value(), "{}", lab::notInstalled("ONNX Runtime"));
  Library library = openOnnxRuntime(place->string());
  auto env = make(*library.api, library.api->releaseEnv, library.api->createEnv, errorLevel, "lathe");
  Decoder decoder(*library.api, *env, path, threads, steps, shared);
  nlohmann::json result{
      {"version", library.version}, {"step_ms", nlohmann::json::array()}, {"tokens", nlohmann::json::array()}};
  for (int64_t position = 0; position < steps; ++position) {
    result["step_ms"].push_back(decoder.step(position));
    result["tokens"].push_back(decoder.token());
    result["logits"].push_back(decoder.logit());
  }
  std::cout << result.dump() << "\n";
  return 0;
}

} // namespace
} // namespace lathe::ort

int main(int argc, char **argv) {
  try {
    bool shared = argc == 5 && std::string_view(argv[4]) == "--shared";
    if (argc != 4 && !shared) {
      std::cerr << "usage: lathe-decoding-onnxruntime MODEL.onnx STEPS THREADS [--shared]\n"
                   "--shared: one buffer holds a past and its present (GroupQueryAttention)\n";
      return 2;
    }
    return lathe::ort::decode(argv[1], std::stoll(argv[2]), std::stoi(argv[3]), shared);
  } catch (const std::exception &error) {
    std::cerr << "lathe-decoding-onnxruntime: " << error.what() << "\n";
    return 2;
  }
}
