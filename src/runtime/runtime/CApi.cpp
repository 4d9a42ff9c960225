// include/lathe/runtime.h on top of Model and Context. Nothing throws across this boundary.
#include "runtime/CApiParts.h"

#include "runtime/Cpu.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace lathe;
using namespace lathe::runtime;

thread_local std::string lathe::runtime::lastError;

namespace {

LoadOptions loadOptions(const lathe_load_options *options, bool &keep) {
  LoadOptions result;
  keep = false;
  if (!options)
    return result;
  lathe_load_options given = readStruct(options, sizeof(lathe_load_options), "options");
  constexpr uint32_t known = LATHE_LOAD_CHECK_CONSTANTS | LATHE_LOAD_KEEP_MEMORY | LATHE_LOAD_SKIP_CONSTANTS;
  expect((given.flags & ~known) == 0, "options: unknown flags {:#x}", given.flags & ~known);
  bool check = given.flags & LATHE_LOAD_CHECK_CONSTANTS, skip = given.flags & LATHE_LOAD_SKIP_CONSTANTS;
  expect(!(check && skip), "options: LATHE_LOAD_CHECK_CONSTANTS and LATHE_LOAD_SKIP_CONSTANTS exclude each other");
  result.checkConstants = !skip;
  keep = given.flags & LATHE_LOAD_KEEP_MEMORY;
  return result;
}

size_t inputIndex(const Model &model, const char *name) {
  expect(name != nullptr, "name is null");
  std::optional<size_t> index = model.findInput(name);
  expect(index.has_value(), "{}: no input is called '{}'", model.file(), name);
  return *index;
}
size_t outputIndex(const Model &model, const char *name) {
  expect(name != nullptr, "name is null");
  std::optional<size_t> index = model.findOutput(name);
  expect(index.has_value(), "{}: no output is called '{}'", model.file(), name);
  return *index;
}

lathe_port toPort(const Port &port, const PortTexts &texts) {
  return {sizeof(lathe_port), port.name.c_str(), int32_t(port.type),    port.tensor(),
          texts.dims.size(),  texts.dims.data(), texts.pointers.data(), int32_t(port.kind)};
}

void checkIndex(size_t index, size_t count, const char *what) {
  expect(index < count, "{} {} of {}", what, index, count);
}

void giveOutput(lathe_context *context, size_t index, lathe_tensor *out) {
  const Value &value = context->context.output(index);
  require(value.isTensor(), "output '{}' is {}: lathe_context_output_element gives its tensors",
          context->context.model().outputs()[index].name, name(kindOf(value)));
  giveTensor(*context, index, 0, value.tensor(), out);
}

} // namespace

extern "C" {

uint32_t lathe_runtime_api_version(void) { return LATHE_RUNTIME_API_VERSION; }
const char *lathe_runtime_version(void) { return LATHE_VERSION; }
const char *lathe_last_error(void) { return lastError.c_str(); }
uint32_t lathe_element_bits(int32_t type) {
  return type > 0 && type <= int(ElementType::u4) ? bitWidth(ElementType(type)) : 0;
}

lathe_status lathe_model_load(const char *path, const lathe_load_options *options, lathe_model **model) {
  return guarded([&] {
    expect(path && model, "path or model is null");
    *model = nullptr;
    bool keep;
    LoadOptions given = loadOptions(options, keep);
    *model = new lathe_model(Model::load(path, given));
  });
}

lathe_status lathe_model_load_memory(const void *data, size_t bytes, const lathe_load_options *options,
                                     lathe_model **model) {
  return guarded([&] {
    expect((data || bytes == 0) && model, "data or model is null");
    *model = nullptr;
    bool keep;
    LoadOptions given = loadOptions(options, keep);
    std::shared_ptr<const void> alive;
    if (keep)
      alive = std::shared_ptr<const void>(data, [](const void *) {}); // the caller's promise
    *model =
        new lathe_model(Model::fromBytes({static_cast<const char *>(data), bytes}, "package in memory", alive, given));
  });
}

void lathe_model_free(lathe_model *model) { delete model; }

size_t lathe_model_input_count(const lathe_model *model) { return model ? model->inputs.size() : 0; }
size_t lathe_model_output_count(const lathe_model *model) { return model ? model->outputs.size() : 0; }

lathe_status lathe_model_input(const lathe_model *model, size_t index, lathe_port *port) {
  return guarded([&] {
    expect(model != nullptr, "model is null");
    checkIndex(index, model->inputs.size(), "input");
    writeStruct(port, toPort(model->model->inputs()[index], model->inputs[index]), offsetof(lathe_port, value_kind),
                "port");
  });
}
lathe_status lathe_model_output(const lathe_model *model, size_t index, lathe_port *port) {
  return guarded([&] {
    expect(model != nullptr, "model is null");
    checkIndex(index, model->outputs.size(), "output");
    writeStruct(port, toPort(model->model->outputs()[index], model->outputs[index]), offsetof(lathe_port, value_kind),
                "port");
  });
}
lathe_status lathe_model_find_input(const lathe_model *model, const char *name, size_t *index) {
  return guarded([&] {
    expect(model && index, "model or index is null");
    *index = inputIndex(*model->model, name);
  });
}
lathe_status lathe_model_find_output(const lathe_model *model, const char *name, size_t *index) {
  return guarded([&] {
    expect(model && index, "model or index is null");
    *index = outputIndex(*model->model, name);
  });
}

lathe_status lathe_model_get_info(const lathe_model *model, lathe_model_info *info) {
  return guarded([&] {
    expect(model != nullptr, "model is null");
    const Model &m = *model->model;
    lathe_model_info result{sizeof(lathe_model_info), m.source().c_str(), m.producer().c_str(), m.options().c_str(),
                            m.target().c_str(),       m.constantBytes(),  m.codeBytes()};
    writeStruct(info, result, sizeof(lathe_model_info), "info");
  });
}

lathe_status lathe_pool_create(const lathe_pool_options *options, lathe_pool **pool) {
  return guarded([&] {
    expect(pool != nullptr, "pool is null");
    *pool = nullptr;
    lathe_pool_options given{};
    if (options)
      given = readStruct(options, sizeof(lathe_pool_options), "options");
    expect(given.slots >= 0 && given.slots <= 1024, "options: {} slots, expected 0 to 1024", given.slots);
    int slots = given.slots ? given.slots : availableCpus();
    std::span<const int> cpus(given.cpus, given.cpus ? static_cast<size_t>(slots) : 0);
    *pool = new lathe_pool{std::make_shared<ThreadPool>(slots, cpus)};
  });
}
void lathe_pool_free(lathe_pool *pool) { delete pool; }

lathe_status lathe_context_create(const lathe_model *model, const lathe_context_options *options,
                                  lathe_context **context) {
  return guarded([&] {
    expect(model && context, "model or context is null");
    *context = nullptr;
    ContextOptions given;
    if (options) {
      auto read = readStruct(options, offsetof(lathe_context_options, pool), "options");
      given.threads = read.threads;
      expect(given.threads >= 0 && given.threads <= 1024, "options: {} threads, expected 0 to 1024", given.threads);
      if (read.pool) {
        given.pool = read.pool->pool;
        given.firstSlot = read.first_slot;
        int slots = given.pool->slots();
        expect(read.first_slot >= 0 && read.first_slot < slots && given.threads <= slots - read.first_slot,
               "options: {} threads from slot {} on, expected slots of the pool, which has {}", given.threads,
               read.first_slot, slots);
      }
    }
    *context = new lathe_context(model->model, given);
  });
}
void lathe_context_free(lathe_context *context) { delete context; }

lathe_status lathe_context_set_input(lathe_context *context, size_t index, const lathe_tensor *tensor) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    checkIndex(index, context->context.model().inputs().size(), "input");
    context->context.setInput(index, toTensor(tensor));
  });
}
lathe_status lathe_context_set_input_by_name(lathe_context *context, const char *name, const lathe_tensor *tensor) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    context->context.setInput(inputIndex(context->context.model(), name), toTensor(tensor));
  });
}
lathe_status lathe_context_set_output(lathe_context *context, size_t index, const lathe_tensor *tensor) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    checkIndex(index, context->context.model().outputs().size(), "output");
    context->context.setOutput(index, tensor ? toTensor(tensor) : Tensor());
  });
}
lathe_status lathe_context_set_output_by_name(lathe_context *context, const char *name, const lathe_tensor *tensor) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    context->context.setOutput(outputIndex(context->context.model(), name), tensor ? toTensor(tensor) : Tensor());
  });
}

lathe_status lathe_context_output_dims(lathe_context *context, size_t index, int64_t *dims, size_t capacity,
                                       size_t *rank) {
  return guarded([&] {
    expect(context && rank && (dims || capacity == 0), "context, dims or rank is null");
    checkIndex(index, context->context.model().outputs().size(), "output");
    *rank = context->context.model().outputs()[index].dims.size();
    std::vector<int64_t> known = context->context.outputDims(index);
    *rank = known.size();
    std::copy_n(known.begin(), std::min(capacity, known.size()), dims);
  });
}

lathe_status lathe_context_run(lathe_context *context) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    context->profiled = false;
    context->strings.clear();
    context->context.run();
  });
}

void lathe_context_cancel(lathe_context *context) {
  if (context)
    context->context.cancel();
}
void lathe_context_reset_cancel(lathe_context *context) {
  if (context)
    context->context.resetCancel();
}
lathe_status lathe_context_set_cancel_check(lathe_context *context, int (*check)(void *data), void *data) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    context->context.setCancelCheck(check, data);
  });
}

lathe_status lathe_context_output(lathe_context *context, size_t index, lathe_tensor *tensor) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    checkIndex(index, context->context.model().outputs().size(), "output");
    giveOutput(context, index, tensor);
  });
}
lathe_status lathe_context_output_by_name(lathe_context *context, const char *name, lathe_tensor *tensor) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    giveOutput(context, outputIndex(context->context.model(), name), tensor);
  });
}

lathe_status lathe_context_memory(const lathe_context *context, lathe_memory_use *use) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    MemoryUse m = context->context.memory();
    lathe_memory_use result{sizeof(lathe_memory_use), m.arenaBytes,  m.liveBytes,
                            m.scratchBytes,           m.outputBytes, m.copiedBytes,
                            m.constantBytes,          m.stateBytes};
    writeStruct(use, result, offsetof(lathe_memory_use, state_bytes), "use");
  });
}

lathe_status lathe_context_keep_state(lathe_context *context, size_t input, size_t output, int64_t max_extent) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    checkIndex(input, context->context.model().inputs().size(), "input");
    checkIndex(output, context->context.model().outputs().size(), "output");
    context->context.keepState(input, output, max_extent);
  });
}
lathe_status lathe_context_keep_state_by_name(lathe_context *context, const char *input, const char *output,
                                              int64_t max_extent) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    const Model &model = context->context.model();
    context->context.keepState(inputIndex(model, input), outputIndex(model, output), max_extent);
  });
}
lathe_status lathe_context_reset_states(lathe_context *context) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    context->context.resetStates();
  });
}

lathe_status lathe_context_run_profiled(lathe_context *context) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    context->profiled = false;
    context->strings.clear();
    context->context.run({.profile = true});
    context->nodes.clear();
    context->rows = context->context.profileRows();
    for (const ProfileRow &row : context->rows) {
      std::string text;
      for (const std::string &node : row.info.nodes)
        text += (text.empty() ? "" : ", ") + node;
      context->nodes.push_back(std::move(text));
    }
    context->profiled = true;
  });
}

size_t lathe_context_profile_rows(const lathe_context *context, uint64_t *total) {
  if (!context || !context->profiled)
    return 0;
  const RunProfile &profile = context->context.profile();
  if (total)
    *total = profile.end - profile.begin;
  return context->nodes.size() + 1;
}

lathe_status lathe_context_profile_row(const lathe_context *context, size_t index, lathe_profile_row *row) {
  return guarded([&] {
    expect(context != nullptr, "context is null");
    expect(context->profiled, "no profiled run was made");
    checkIndex(index, context->nodes.size() + 1, "profile row");
    lathe_profile_row result{sizeof(lathe_profile_row), "overhead", "", "", "", "", "", 0, 0, 0};
    if (index == context->nodes.size()) {
      result.nanoseconds = context->context.profile().overhead;
    } else {
      const ProfileRow &one = context->rows[index];
      // Views of whole std::strings of the plan: zero-terminated.
      auto text = [](std::string_view view) { return view.data() ? view.data() : ""; };
      result.kind = one.info.kind;
      result.name = text(one.info.name);
      result.family = text(one.info.family);
      result.shapes = text(one.info.shapes);
      result.schedule = text(one.info.schedule);
      result.nodes = context->nodes[index].c_str();
      result.nanoseconds = one.nanoseconds;
      result.flops = one.info.flops;
      result.bytes = one.info.bytes;
    }
    writeStruct(row, result, sizeof(lathe_profile_row), "row");
  });
}

} // extern "C"
