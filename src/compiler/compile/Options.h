// The options of a compilation. Each option is declared once.
//
// visitOptions lists the options. Flags and arguments of the command line (cli/flags/ModelFlags.h), messages to the
// tuner's builder, the C interface and Python's builder are made from that list. A new option needs a field, an entry
// in the list, and the code that obeys it.
#pragma once

#include "codegen/target/KernelOptions.h"
#include "support/LayoutChoice.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lathe {

/// The text of an option's file, and the file's name for messages. Where options become arguments of programs, the
/// path `name` replaces the text.
struct NamedText {
  std::string name, text = {};
};

/// The choices of a user about a compilation. `relaxedMath` and `typical`, inherited from KernelOptions, follow from
/// `level` and `optimizeFor` (kernelOptionsOf).
struct CompileChoices : KernelOptions {
  std::string target = "native"; // text of the target (codegen/target/Target.h)
  NamedText machine; // facts of the machine (machine/MachineFacts.h); empty: the facts that belong to the target
  bool referencesOnly = false;                   // true: generates no code, every operator runs on its reference
  int level = 3;                                 // optimisation level, 0 to 4 (PipelineOptions::level)
  LayoutChoice layout = LayoutChoice::automatic; // layout of activations inside the network
  std::string streams = "off";                   // "auto", "off" or a number of teams (compile/streams/Streams.h)
  NamedText schedule;                            // text of a schedule file (compile/ScheduleBook.h)
  /// Texts about symbols that compile/Extents.h parses: specialize "N=1,8", ranges "N=1..64", optimizeFor "N=8".
  std::vector<std::string> specialize, ranges, optimizeFor;
};

/// Description of one compiler option, which visitOptions passes to its visitor. The option's flag is "--" and the
/// name, its key in messages is `key()`.
struct CompileOption {
  const char *name, *help;
  const char *type = nullptr; // type of the option's value, for help; null: the type of the field tells it
  // if the value is one of several words: the names of the values 0, 1, ...
  std::span<const char *const> words = {};
  int least = 0, most = 0; // for a number: smallest and largest value
  bool always = false;     // true: lists of arguments include the option even if it has its default
  bool ofCode = true;      // false: the option matters even if no code is generated (referencesOnly)

  /// True for an option without a value (a switch).
  template <class T> bool isSwitch() const { return std::is_same_v<T, bool> && words.empty(); }
  std::string flag() const { return std::string_view(name) == "level" ? "-O" : std::string("--") + name; }
  /// The option's name with underscores, for messages: "exact_math".
  std::string key() const;
};

/// The part of visitOptions that visits the options about the machine for which code is made.
template <class Choices, class Visit> void visitPlace(Choices &choices, Visit &visit) {
  visit(CompileOption{.name = "target",
                      .help = "Compile for native, machine (see --machine), an LLVM CPU name, or LLVM/TVM target text",
                      .always = true,
                      .ofCode = false},
        choices.target);
  visit(CompileOption{.name = "threads",
                      .help = "Plan kernels for this number of threads; verbs that run a model use as many",
                      .least = 1,
                      .most = 1024,
                      .always = true,
                      .ofCode = false},
        choices.threads);
  visit(CompileOption{.name = "machine",
                      .help = "Choose schedules for the machine that FILE describes (lathe machine --json); without "
                              "--target, compile for its CPU too",
                      .type = "FILE"},
        choices.machine);
  visit(CompileOption{.name = "references-only",
                      .help = "Generate no kernels: the package computes every operator with its reference",
                      .ofCode = false},
        choices.referencesOnly);
}

/// Calls visit(CompileOption, field) for every compiler option, in the order in which arguments name them.
template <class Choices, class Visit> void visitOptions(Choices &choices, Visit &&visit) {
  static constexpr const char *memories[] = {"any", "small"};
  visitPlace(choices, visit);
  visit(CompileOption{.name = "level",
                      .help = "Optimise: 0 one kernel per operator, 1 folding, 2 fusion, 3 layout and algorithms, 4 "
                              "shorter functions (errors up to 2^-12)",
                      .most = 4,
                      .always = true},
        choices.level);
  visit(CompileOption{.name = "layout",
                      .help = "Keep activations in planes (nchw), with the channels last (nhwc) or in blocks of "
                              "channels; auto: what is fastest (docs/layouts.md)",
                      .words = layoutNames},
        choices.layout);
  visit(
      CompileOption{.name = "exact-math",
                    .help = "Forbid algorithms that reassociate sums (Winograd), and scale factors moved into weights"},
      choices.exactMath);
  visit(CompileOption{.name = "memory",
                      .help = "Limit memory: small forbids algorithms that enlarge the weights (Winograd), and "
                              "streams that nobody asked for",
                      .words = memories},
        choices.smallMemory);
  visit(CompileOption{.name = "streams",
                      .help = "Run kernels beside each other on disjoint threads, and merge convolutions that read one "
                              "value: auto where it is predicted to be faster, off, or N teams wherever operands allow "
                              "it (docs/streams.md)",
                      .type = "auto|off|N"},
        choices.streams);
  visit(CompileOption{.name = "precision",
                      .help = "Set the precision: bf16 rounds operands of contractions and attention, sums stay fp32",
                      .words = precisionNames},
        choices.precision);
  visit(CompileOption{.name = "schedule",
                      .help = "Read schedules (lathe help schedules) from FILE, one 'KERNEL-OR-NODE: SCHEDULE' a line",
                      .type = "FILE"},
        choices.schedule);
  visit(CompileOption{.name = "specialize",
                      .help = "Add a variant to the package for every combination of these extents, as N=1,8 or "
                              "\"H=224,320 W=224,320\"; the runtime chooses when inputs are bound",
                      .type = "SYMBOL=EXTENTS",
                      .ofCode = false},
        choices.specialize);
  visit(CompileOption{.name = "range",
                      .help = "Refuse inputs with extents outside a range, as N=1..64",
                      .type = "SYMBOL=FIRST..LAST",
                      .ofCode = false},
        choices.ranges);
  visit(CompileOption{.name = "optimize-for",
                      .help = "Choose schedules of symbolic extents for these values, as N=8 or \"N=8 T=128\" "
                              "(default: 1)",
                      .type = "SYMBOL=EXTENT"},
        choices.optimizeFor);
}

/// The user's choices as arguments of `lathe compile`: options that differ from their defaults, and options that are
/// always included.
std::vector<std::string> argumentsOf(const CompileChoices &choices);

/// Sets the compiler option `name` (its flag without dashes). The value of a switch is "true", "false" or "". Throws
/// Error for an unknown name, with the known names, and for an invalid value. For machine and schedule, the value is
/// the text of the file.
void setOption(CompileChoices &choices, std::string_view name, const std::string &value);

void to_json(nlohmann::json &json, const CompileChoices &choices);
void from_json(const nlohmann::json &json, CompileChoices &choices);

} // namespace lathe
