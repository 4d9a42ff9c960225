// include/lathe/compiler.h over the facade. No exception leaves this file.
#include "compile/ArchiveSchedules.h"
#include "compile/CApiParts.h"
#include "compile/Specializer.h"
#include "ir/Context.h"
#include "support/PendingFile.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace lathe {
namespace {

thread_local std::string lastError;

/// Adds "data=1x3x224x224" to `options`.
void addShape(ImportOptions &options, const std::string &text) {
  size_t equals = text.rfind('=');
  require(equals != std::string::npos && equals > 0, "shape '{}': expected NAME=1x3x224x224", text);
  std::vector<int64_t> dims;
  const char *at = text.c_str() + equals + 1;
  while (*at) {
    char *end = nullptr;
    errno = 0;
    long long extent = std::strtoll(at, &end, 10);
    require(end != at && (*end == 0 || (*end == 'x' && end[1])) && extent >= -1 && errno == 0,
            "shape '{}': expected NAME=1x3x224x224", text);
    dims.push_back(extent);
    at = *end ? end + 1 : end;
  }
  options.shapes[text.substr(0, equals)] = std::move(dims);
}

/// Sizes of the structure before versions 4 and 6, and now.
constexpr size_t sizes[] = {offsetof(lathe_compile_options, requantize_rounding),
                            offsetof(lathe_compile_options, options), sizeof(lathe_compile_options)};

/// Converts options to this version: members that an older version lacks are 0.
lathe_compile_options current(const lathe_compile_options *given) {
  lathe_compile_options options{};
  std::memcpy(&options, given, std::min(given->struct_size, sizeof options));
  return options;
}

// The numbers of the C header equal the enumerations.
static_assert(int(LayoutChoice::planes) == LATHE_LAYOUT_NCHW && int(LayoutChoice::blocked) == LATHE_LAYOUT_BLOCKED &&
              int(LayoutChoice::channelsLast) == LATHE_LAYOUT_NHWC && int(Precision::bf16) == LATHE_PRECISION_BF16);

/// Sets an option by text, such as "memory=small" of lathe_compile_options::options.
void setOption(capi::Parsed &parsed, const std::string &text) {
  size_t equals = std::min(text.find('='), text.size());
  std::string name = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
  if (name == "override") {
    parsed.import.overrides.insert(value);
  } else if (name == "custom") {
    size_t split = value.find('=');
    require(split != 0 && split < value.size() - 1, "{}: expected custom=CLASS=FILE", text);
    parsed.import.custom[value.substr(0, split)] = value.substr(split + 1);
  } else if (name == "records") {
    parsed.compile.schedules.push_back(archiveSchedules(value));
  } else {
    setOption(parsed.compile, name, value);
  }
}

} // namespace

lathe_status capi::failed(lathe_status status, const std::string &message) {
  lastError = message;
  return status;
}

capi::Parsed capi::parse(const lathe_compile_options *given) {
  Parsed parsed;
  if (!given)
    return parsed;
  const lathe_compile_options copy = current(given), *options = &copy;
  if (options->requantize_rounding == LATHE_REQUANTIZE_OPTIMISED)
    parsed.import.requantizeRounding = RequantizeRounding::optimised;
  if (options->signature)
    parsed.import.signature = options->signature;
  if (options->target)
    parsed.compile.target = options->target;
  require(options->threads >= 0 && options->threads <= 1024, "options.threads is {}, expected 0 to 1024",
          options->threads);
  if (options->threads)
    parsed.compile.threads = options->threads;
  parsed.compile.level = options->level;
  parsed.compile.exactMath = options->exact_math != 0;
  parsed.compile.layout = static_cast<LayoutChoice>(options->layout);
  parsed.compile.precision = static_cast<Precision>(options->precision);
  if (options->schedule)
    parsed.compile.schedule = {"schedule", options->schedule};
  for (size_t i = 0; i < options->shape_count; ++i) {
    require(options->shapes && options->shapes[i], "shape {} is null", i);
    addShape(parsed.import, options->shapes[i]);
  }
  for (size_t i = 0; i < options->option_count; ++i) {
    require(options->options && options->options[i], "option {} is null", i);
    setOption(parsed, options->options[i]);
  }
  auto records = std::move(parsed.compile.schedules);
  parsed.compile = CompileOptions(CompileChoices(parsed.compile)); // which reads the texts of extents
  parsed.compile.schedules = std::move(records);
  return parsed;
}

std::string capi::mistakeIn(const lathe_compile_options *given) {
  if (!given)
    return "";
  if (std::find(std::begin(sizes), std::end(sizes), given->struct_size) == std::end(sizes))
    return "options.struct_size is of another version";
  const lathe_compile_options copy = current(given), *options = &copy;
  if (options->requantize_rounding != LATHE_REQUANTIZE_REFERENCE &&
      options->requantize_rounding != LATHE_REQUANTIZE_OPTIMISED)
    return fmt::format("options.requantize_rounding is {}, expected {} (reference) or {} (optimised)",
                       options->requantize_rounding, int(LATHE_REQUANTIZE_REFERENCE), int(LATHE_REQUANTIZE_OPTIMISED));
  if (options->layout < LATHE_LAYOUT_AUTO || options->layout > LATHE_LAYOUT_BLOCKED)
    return fmt::format("options.layout is {}, expected {} (auto), {} (nchw), {} (nhwc) or {} (blocked)",
                       options->layout, int(LATHE_LAYOUT_AUTO), int(LATHE_LAYOUT_NCHW), int(LATHE_LAYOUT_NHWC),
                       int(LATHE_LAYOUT_BLOCKED));
  if (options->precision != LATHE_PRECISION_FP32 && options->precision != LATHE_PRECISION_BF16)
    return fmt::format("options.precision is {}, expected {} (fp32) or {} (bf16)", options->precision,
                       int(LATHE_PRECISION_FP32), int(LATHE_PRECISION_BF16));
  return "";
}

} // namespace lathe

using namespace lathe;
using namespace lathe::capi;

uint32_t lathe_compiler_api_version(void) { return LATHE_COMPILER_API_VERSION; }

void lathe_compile_options_init(lathe_compile_options *options) {
  if (!options)
    return;
  *options = {};
  options->struct_size = sizeof *options;
  options->threads = 1;
  options->level = 3;
}

lathe_status lathe_compile_file(const char *model_path, const char *package_path,
                                const lathe_compile_options *options) {
  return guarded([&] {
    if (!model_path || !package_path)
      return failed(LATHE_INVALID_ARGUMENT, "lathe_compile_file: a path is null");
    if (std::string mistake = mistakeIn(options); !mistake.empty())
      return failed(LATHE_INVALID_ARGUMENT, "lathe_compile_file: " + mistake);
    requireApart(package_path, model_path);
    Parsed parsed = parse(options);
    auto context = makeContext();
    auto module = importModel(*context, model_path, parsed.import);
    compile(*module, parsed.compile, package_path);
    return LATHE_OK;
  });
}

lathe_status lathe_compile_bytes(const void *model, size_t model_bytes, const char *name,
                                 const lathe_compile_options *options, void **package, size_t *package_bytes) {
  return guarded([&] {
    if (!model || !package || !package_bytes)
      return failed(LATHE_INVALID_ARGUMENT, "lathe_compile_bytes: a pointer is null");
    if (std::string mistake = mistakeIn(options); !mistake.empty())
      return failed(LATHE_INVALID_ARGUMENT, "lathe_compile_bytes: " + mistake);
    *package = nullptr;
    *package_bytes = 0;
    Parsed parsed = parse(options);
    auto context = makeContext();
    auto module = importModelBytes(*context, {static_cast<const char *>(model), model_bytes}, name ? name : "model",
                                   parsed.import);
    std::vector<char> bytes;
    compileToBytes(*module, parsed.compile, bytes);
    // Aligned to 64 bytes, so that the runtime can use constants in place.
    void *copy = std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64);
    if (!copy)
      throw std::bad_alloc();
    std::memcpy(copy, bytes.data(), bytes.size());
    *package = copy;
    *package_bytes = bytes.size();
    return LATHE_OK;
  });
}

void lathe_compiler_free(void *package) { std::free(package); }

struct lathe_specializer {
  Specializer specializer;
};

struct lathe_specialized {
  std::shared_ptr<const PackageBytes> bytes;
};

lathe_status lathe_specializer_create(const char *model_path, const lathe_compile_options *options,
                                      size_t most_packages, lathe_specializer **specializer) {
  return guarded([&] {
    if (!model_path || !specializer)
      return failed(LATHE_INVALID_ARGUMENT, "lathe_specializer_create: a pointer is null");
    if (std::string mistake = mistakeIn(options); !mistake.empty())
      return failed(LATHE_INVALID_ARGUMENT, "lathe_specializer_create: " + mistake);
    *specializer = nullptr;
    Parsed parsed = parse(options);
    auto context = makeContext();
    auto module = importModel(*context, model_path, parsed.import);
    *specializer =
        new lathe_specializer{{std::move(context), std::move(module), std::move(parsed.compile), most_packages}};
    return LATHE_OK;
  });
}

void lathe_specializer_free(lathe_specializer *specializer) { delete specializer; }

lathe_status lathe_specializer_package(lathe_specializer *specializer, const char *extents,
                                       lathe_specialized **package) {
  return guarded([&] {
    if (!specializer || !package)
      return failed(LATHE_INVALID_ARGUMENT, "lathe_specializer_package: a pointer is null");
    *package = nullptr;
    Extents values = extents && *extents ? parseExtents(extents) : Extents{};
    *package = new lathe_specialized{specializer->specializer.package(values)};
    return LATHE_OK;
  });
}

const void *lathe_specialized_data(const lathe_specialized *package, size_t *bytes) {
  if (bytes)
    *bytes = package ? package->bytes->size() : 0;
  return package ? package->bytes->data() : nullptr;
}

void lathe_specialized_free(lathe_specialized *package) { delete package; }

const char *lathe_compiler_last_error(void) { return lastError.c_str(); }
