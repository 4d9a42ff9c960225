// What the files of the runtime's C API share. No exception crosses the API's boundary.
#pragma once

#include "lathe/runtime.h"

#include "runtime/Context.h"
#include "runtime/ThreadPool.h"

#include <cstring>
#include <map>
#include <new>

namespace lathe::runtime {

/// Texts and extents of a model's port in the form to which the C structures point.
struct PortTexts {
  std::vector<int64_t> dims;
  std::vector<std::string> texts;
  std::vector<const char *> pointers;

  explicit PortTexts(const Port &port) {
    for (const Dim &dim : port.dims) {
      dims.push_back(dim.constantOr(-1));
      texts.push_back(dim.str());
    }
    for (const std::string &text : texts)
      pointers.push_back(text.c_str());
  }
};

extern thread_local std::string lastError; // message of this thread's last failed call

struct ArgumentError {
  std::string message;
};
template <class... Args> void expect(bool condition, fmt::format_string<Args...> format, Args &&...args) {
  if (!condition)
    throw ArgumentError{fmt::format(format, std::forward<Args>(args)...)};
}

/// Runs `body`, the code of a C function. An exception becomes a status code, and its text the message of this thread
/// (lastError).
template <class Body> lathe_status guarded(const Body &body) noexcept {
  lathe_status status = LATHE_OK;
  try {
    try {
      body();
      return LATHE_OK;
    } catch (const ArgumentError &error) {
      status = LATHE_INVALID_ARGUMENT;
      lastError = error.message;
    } catch (const Cancelled &error) {
      status = LATHE_CANCELLED;
      lastError = error.what();
    } catch (const Error &error) {
      status = LATHE_FAILED;
      lastError = error.what();
    } catch (const std::bad_alloc &) {
      status = LATHE_OUT_OF_MEMORY;
      lastError = "out of memory";
    } catch (const std::exception &error) {
      status = LATHE_INTERNAL_ERROR;
      lastError = std::string("internal error: ") + error.what();
    }
  } catch (...) { // no memory for the message
    status = LATHE_OUT_OF_MEMORY;
  }
  return status;
}

/// Copies a C structure of the caller, whose version may be older (shorter) or newer (longer) than this library.
/// Members that an older structure does not have are zero.
template <class T> T readStruct(const T *given, size_t least, const char *what) {
  expect(given != nullptr, "{} is null", what);
  expect(given->struct_size >= least, "{}: struct_size is {}, expected at least {}", what, given->struct_size, least);
  T result{};
  std::memcpy(static_cast<void *>(&result), given, std::min(given->struct_size, sizeof(T)));
  return result;
}

/// Writes `value` to the caller's C structure, as many bytes as that structure has room for.
template <class T> void writeStruct(T *target, T value, size_t least, const char *what) {
  expect(target != nullptr, "{} is null", what);
  size_t size = target->struct_size;
  expect(size >= least, "{}: struct_size is {}, expected at least {}", what, size, least);
  value.struct_size = size;
  std::memcpy(static_cast<void *>(target), &value, std::min(size, sizeof(T)));
}

} // namespace lathe::runtime

struct lathe_model {
  std::shared_ptr<const lathe::runtime::Model> model;
  std::vector<lathe::runtime::PortTexts> inputs, outputs;

  explicit lathe_model(std::shared_ptr<const lathe::runtime::Model> loaded) : model(std::move(loaded)) {
    for (const lathe::runtime::Port &port : model->inputs())
      inputs.emplace_back(port);
    for (const lathe::runtime::Port &port : model->outputs())
      outputs.emplace_back(port);
  }
};

struct lathe_pool {
  std::shared_ptr<lathe::runtime::ThreadPool> pool;
};

struct lathe_context {
  lathe::runtime::Context context;
  bool profiled = false;
  std::vector<lathe::runtime::ProfileRow> rows; // profile rows of the last profiled run
  std::vector<std::string> nodes;               // source nodes of each row in `rows`
  /// Strings of the outputs that the caller asked for since the last run, by output and by tensor of the output.
  std::map<std::pair<size_t, size_t>, std::vector<lathe_string>> strings;

  lathe_context(std::shared_ptr<const lathe::runtime::Model> model, const lathe::runtime::ContextOptions &options)
      : context(std::move(model), options) {}
};

namespace lathe::runtime {

/// Returns the caller's C tensor as a Tensor, without a copy of its numbers; strings are copied. Throws ArgumentError.
Tensor toTensor(const lathe_tensor *given);
/// Describes `tensor`, which is number `element` of output `index`, to the caller in the C structure `out`.
void giveTensor(lathe_context &context, size_t index, size_t element, const Tensor &tensor, lathe_tensor *out);

} // namespace lathe::runtime
