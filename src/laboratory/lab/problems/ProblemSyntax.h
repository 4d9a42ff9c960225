// Short texts of problems, one syntax per kind of operator; texts of benchdnn's drivers are
// accepted. docs/problems.md has the table.
#pragma once

#include "lab/problems/Problem.h"

#include <span>

namespace lathe::lab {

/// Options for facts that the short text of a problem does not state.
struct SyntaxOptions {
  /// Type of all float operands. With i8 or u8, convolutions and products are integer products: the type is that of
  /// their activations, values cover the whole type, and there is no bias.
  ElementType type = ElementType::f32;
  // The following two members are only for convolutions and fully connected layers.
  bool bias = true;
  std::vector<std::string> epilogue = {"relu"}; // epilogue of the problem, in the form of Problem::epilogue
  ElementType weights = ElementType::i8;        // type of integer weights, i8 or u8

  bool bytes() const { return isByte(type); }
};

/// Sets the types in `options` from the text of `--type` or benchdnn's `--dt`: f32 and other floats; u8:s8:s32
/// (activations, weights, sums; s8 is i8), also written int8 or u8; s8:s8:s32, also written i8. Throws Error for other
/// texts.
void setTypes(SyntaxOptions &options, const std::string &text);

/// Sets the epilogue in `options` from a text: "none", or operators joined by +: "bias+relu", "bias+add+relu" (a
/// residual addition in between). Throws Error for an empty word.
void setEpilogue(SyntaxOptions &options, const std::string &text);

struct ProblemSyntax {
  const char *kind;                     // kind of problems, such as "conv2d": first argument of `lathe ops bench`
  std::span<const char *const> aliases; // other accepted names of the kind, such as the name of benchdnn's driver
  const char *form;                     // example of a short text: "mb1g1ic64ih56oc64kh3ph1"
  const char *help;                     // meaning of the parts of a short text
  /// Parses the short text of a problem. Throws Error, which does not say where the text stands.
  Problem (*parse)(const std::string &text, const SyntaxOptions &options);
};

std::span<const ProblemSyntax> problemSyntaxes();
/// The syntax whose kind or alias is `kind`; null if there is none.
const ProblemSyntax *findSyntax(std::string_view kind);

/// Parses a short text of `kind`, or an operator's own text (lab/problems/Problem.h) if `kind` is
/// the name of an operator or the text begins with one. Throws Error with the text and the mistake.
Problem parseProblem(const std::string &kind, const std::string &text, const SyntaxOptions &options = {});

/// Returns a canonical text of a problem: the short text of a convolution in one to three dimensions without bias and
/// activation ("ic64ih56oc64oh56kh3ph1"), and the own text of every other problem. Equal problems have equal texts.
std::string shortText(const Problem &problem);

} // namespace lathe::lab
