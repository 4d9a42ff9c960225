// Short ways to write problems: one a kind of operator, close to benchdnn's drivers, whose texts are understood too.
// docs/problems.md has the table.
#pragma once

#include "lab/problems/Problem.h"

#include <span>

namespace lathe::lab {

/// What a short text leaves open.
struct SyntaxOptions {
  /// Of all operands that are floats. Where it is i8 or u8 convolutions and products are those of integers: this is
  /// their activations' type, their values are of its whole range, and they have no bias.
  ElementType type = ElementType::f32;
  // Of convolutions and fully connected layers:
  bool bias = true;
  std::vector<std::string> epilogue = {"relu"}; // as in Problem
  ElementType weights = ElementType::i8;        // of integers, i8 or u8

  bool bytes() const { return type == ElementType::i8 || type == ElementType::u8; }
};

/// Types as `--type` and benchdnn's `--dt` have them: f32 and other floats; u8:s8:s32 (activations, weights, sums; s8
/// is i8), of which int8 and u8 are short forms, as i8 is of s8:s8:s32. Throws Error for others.
void setTypes(SyntaxOptions &options, const std::string &text);

/// "none", or what follows these operators, joined by +: "bias+relu", "bias+add+relu" (a residual addition in between).
/// Operators are those of Problem's text. Throws Error for an empty word.
void setEpilogue(SyntaxOptions &options, const std::string &text);

struct ProblemSyntax {
  const char *kind;                     // "conv2d": what `lathe ops bench` is told first
  std::span<const char *const> aliases; // benchdnn's driver and other names
  const char *form;                     // "mb1g1ic64ih56oc64kh3ph1"
  const char *help;                     // what its parts mean
  Problem (*parse)(const std::string &text, const SyntaxOptions &options); // throws Error without place
};

std::span<const ProblemSyntax> problemSyntaxes();
/// By kind or alias; null where there is none.
const ProblemSyntax *findSyntax(std::string_view kind);

/// A problem of `kind`: its short text, or the operator's own (lab/problems/Problem.h) when `kind` is an operator's name or the
/// text begins with one. Throws Error naming the text and what is wrong.
Problem parseProblem(const std::string &kind, const std::string &text, const SyntaxOptions &options = {});

/// `{16,32,64}`, `{1..4}`, `{16..64..16}` (a step) and `{16..256*2}` (a factor) in a text, to all texts they stand for,
/// the last one varying first. Throws Error for a brace that is not closed and for more than 100000 texts.
std::vector<std::string> expandRanges(const std::string &text);

/// The short text of a convolution in one to three dimensions, without bias and activation, so that equal problems have
/// equal texts ("ic64ih56oc64oh56kh3ph1"); every other problem's own.
std::string shortText(const Problem &problem);

} // namespace lathe::lab
