#include "cli/flags/Options.h"

#include "cli/flags/Describe.h"
#include "jobs/Progress.h"
#include "jobs/Terminal.h"
#include "support/File.h"
#include "support/Interrupt.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace lathe::cli {

namespace {

/// Throws Error if any printed text did not reach the standard output.
void finishOutput() {
  errno = 0;
  std::cout.flush();
  bool good = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  int error = outputError() ? outputError() : errno ? errno : EIO;
  require(good, "cannot write standard output: {}", std::strerror(error));
}

} // namespace

int guarded(const std::string &given, const std::function<int()> &body) {
  std::string verb = enterVerb(given);
  auto say = [&](const std::string &message) { sayError(verb, message); };
  catchInterrupts("lathe " + verb);
  if (std::getenv("LATHE_TYPED_VERB")) // another verb waits for this process: both end together
    ::prctl(PR_SET_PDEATHSIG, SIGHUP);
  makeOutputPrintable();
  try {
    int code = success;
    try {
      code = body();
    } catch (const CLI::CallForHelp &) { // printed by Options::parseAll
    }
    if (code == success || code == failedVerdict) // otherwise an inner guard has printed the error
      finishOutput();
    return code;
  } catch (const ChildFailed &child) {
    return child.exitCode;
  } catch (const CLI::ParseError &error) {
    std::string message = error.what();
    say(message.substr(0, message.find('\n')) + fmt::format(" (see lathe {} --help)", verb));
    return userError;
  } catch (const Error &error) {
    say(error.what());
    return userError;
  } catch (const std::bad_alloc &) {
    say("out of memory");
    return userError;
  } catch (const std::filesystem::filesystem_error &error) { // a folder that may not be read, a name too long
    std::string place = error.path1().string();
    say(place.empty() ? error.what() : fmt::format("{}: {}", place, error.code().message()));
    return userError;
  } catch (const std::exception &error) {
    say(fmt::format("internal error: {}", error.what()));
    return internalError;
  }
}

static std::string footerText(const std::string &examples) {
  return "Examples:\n" + examples +
         "\nExit code: 0 done, 1 negative verdict, 2 wrong input or options, 3 internal error.";
}

int runSubVerb(const std::string &group, const std::string &summary, std::span<const Verb> verbs,
               const std::string &examples, const Arguments &arguments) {
  std::string name = arguments.empty() ? "" : arguments[0], names, list;
  nlohmann::json described = nlohmann::json::array();
  for (const Verb &verb : verbs) {
    if (name == verb.name)
      return guarded(group + " " + name, [&] { return verb.run(Arguments(arguments.begin() + 1, arguments.end())); });
    names += (names.empty() ? "" : ", ") + std::string(verb.name);
    list += fmt::format("  {:<9} {}\n", verb.name, verb.summary);
    described.push_back({{"name", verb.name}, {"summary", verb.summary}});
  }
  if (name == describeFlag) {
    std::cout << nlohmann::json{{"command", "lathe " + group},
                                {"summary", summary},
                                {"footer", footerText(examples)},
                                {"verbs", described}}
              << "\n";
    return success;
  }
  if (name != "--help" && name != "-h")
    fail("expected lathe {} VERB with one of {}, got '{}'", group, names, name);
  std::cout << fmt::format(
      "{}\nUsage: lathe {} VERB [OPTIONS]     (lathe {} VERB --help lists the flags)\n\nVerbs:\n{}\n{}\n", summary,
      group, group, list, footerText(examples));
  return success;
}

std::string spelled(const CLI::Option &option) {
  std::string text = option.get_name();
  if (option.get_items_expected_max() > 0) // otherwise a flag, whose value is its presence
    for (const std::string &value : option.results())
      text += " " + value;
  return text;
}

Options::Options(const std::string &verb, const std::string &summary, const std::string &examples)
    : CLI::App(summary, "lathe " + verb) {
  footer(footerText(examples));
  get_formatter()->column_width(34);
}

/// Names the unknown flags: an argument after an unknown flag may look like a mistake, too.
void Options::requireKnownFlags(const Arguments &arguments) const {
  std::vector<std::string> known;
  for (const CLI::Option *option : get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
  for (const std::string &argument : arguments) {
    std::string flag = argument.substr(0, argument.find('='));
    if (flag == "--")
      return;
    require(!flag.starts_with("--") || std::find(known.begin(), known.end(), flag) != known.end(),
            "{} was not expected{} (see {} --help)", flag, suggestion(flag, known), get_name());
  }
}

void Options::parseAll(const Arguments &arguments) {
  if (arguments == Arguments{describeFlag}) {
    std::cout << describe(*this) << "\n";
    throw CLI::CallForHelp();
  }
  try {
    parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp &) {
    std::cout << help();
    throw;
  } catch (const CLI::ExtrasError &) {
    requireKnownFlags(arguments);
    throw;
  }
  if (quiet)
    Progress::silence();
  for (const std::function<void()> &check : checks)
    check();
  requireOutputs();
}

void Options::requireOutputs() const {
  std::string streams;
  bool writes = false;
  for (const Output &output : outputs) {
    writes |= !output.path->empty();
    if (*output.path != "-")
      continue;
    require(streams.empty(), "{} and {} both write to the standard output: give a file for one of them", streams,
            output.flags);
    streams = output.flags;
  }
  if (!writes)
    return;
  for (const auto &files : readers)
    for (const std::string &file : files())
      protectInput(file);
  // Reports an error before the work starts and before another output is written.
  std::error_code ignored;
  for (const Output &output : outputs)
    if (!output.path->empty() && !output.path->ends_with('/') && !std::filesystem::is_directory(*output.path, ignored))
      PendingFile::check(*output.path);
}

CLI::Option *Options::addOutput(const std::string &flags, std::string &path, const std::string &help) {
  HelpSection section(*this, "Output");
  outputs.push_back({flags.substr(flags.rfind(',') + 1), &path});
  return add_option(flags, path, help)->type_name("FILE");
}

void Options::afterParse(std::function<void()> check) { checks.push_back(std::move(check)); }

bool Options::given(const char *name) const { return get_option(name)->count() > 0; }

void Options::refuse(std::initializer_list<const char *> names, const std::string &reason) const {
  for (const char *name : names)
    require(!given(name), "{}: {}", spelled(*get_option(name)), reason);
}

void Options::addQuiet() {
  HelpSection section(*this, "Output");
  add_flag("--quiet", quiet, "Print only errors");
  add_flag("--only-progress", onlyProgress)->group(""); // hidden, for child processes (quietFlag)
}

bool Options::printsText() const {
  Progress::endLine();
  return !quiet && !onlyProgress &&
         std::none_of(outputs.begin(), outputs.end(), [](const Output &output) { return *output.path == "-"; });
}

void Options::addJson() {
  addOutput("--json", jsonPath, "Write the result to FILE as JSON, units in the keys (-: standard output)");
}

void Options::writeJson(const nlohmann::json &document) const {
  if (jsonPath.empty())
    return;
  bool ascii = PendingFile::isStream(jsonPath); // a terminal may read it; \u also escapes characters that JSON allows
  std::string text = document.dump(2, ' ', ascii, nlohmann::json::error_handler_t::replace) + "\n";
  writeFile(jsonPath, text);
}

void Options::addWide() {
  HelpSection section(*this, "Output");
  add_flag("--wide", wide, "Show all columns in full instead of fitting the terminal ($COLUMNS)");
}

void Options::addShowing() {
  addQuiet();
  addWide();
  addJson();
}

/// Characters of a line of standard output; 0, no limit, where it is no terminal: what reads a pipe wants everything.
static size_t outputWidth() {
  if (const char *given = std::getenv("COLUMNS"); given && *given) {
    char *end = nullptr;
    unsigned long columns = std::strtoul(given, &end, 10);
    if (*end == 0 && std::isdigit(static_cast<unsigned char>(*given)))
      return columns;
  }
  if (!::isatty(STDOUT_FILENO))
    return 0;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

TableStyle Options::tableStyle(size_t rows) const { return {wide ? 0 : outputWidth(), rows}; }

} // namespace lathe::cli
