// Finds, by bisection, which of several changes make a program faster, if all changes together do not.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace lathe::tune {

/// Function that returns whether the program with the changes `kept` and `added` is faster than with `kept` alone;
/// nothing if there is no time left to find out.
using JudgeChanges =
    std::function<std::optional<bool>(const std::vector<size_t> &kept, const std::vector<size_t> &added)>;

/// Returns the indices of those of `count` changes that make the program faster, in order, when all changes together
/// do not. A group of changes is kept if `judge` finds a gain, otherwise halved; a single change that does not gain is
/// dropped. Changes that cannot be judged any more are dropped. The changes with the greatest expected gain must come
/// first.
std::vector<size_t> gainingChanges(size_t count, const JudgeChanges &judge);

/// The usual number of calls of `judge` in gainingChanges: as many as it takes to find one bad change among `count`.
size_t usualJudgements(size_t count);

} // namespace lathe::tune
