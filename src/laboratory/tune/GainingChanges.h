// Bisection over changes that each gain alone, but do not gain all together.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace lathe::tune {

/// Returns whether the whole with the changes `kept` and `added` is faster than with `kept` alone; nothing if there is
/// no time left to find out.
using JudgeChanges =
    std::function<std::optional<bool>(const std::vector<size_t> &kept, const std::vector<size_t> &added)>;

/// Returns those of `count` changes that make the whole faster, in order. All together do not gain. A group of changes
/// is kept if `judge` finds a gain, otherwise halved; a single change that does not gain is dropped. Changes that are
/// not judged any more are dropped. The changes with the greatest expected gain come first.
std::vector<size_t> gainingChanges(size_t count, const JudgeChanges &judge);

/// The usual number of judgements: as many as it takes to find one bad change among `count`.
size_t usualJudgements(size_t count);

} // namespace lathe::tune
