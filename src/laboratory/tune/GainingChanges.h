// Bisection over changes that gain alone, but not all together.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace lathe::tune {

/// Returns whether the whole with the changes `kept` and `added` is faster than with `kept` alone; nothing where no time is
/// left to find out.
using JudgeChanges =
    std::function<std::optional<bool>(const std::vector<size_t> &kept, const std::vector<size_t> &added)>;

/// Of `count` changes, which do not gain all together, returns the changes that make the whole faster, in order. A
/// group of changes is kept where `judge` finds a gain, and is halved where it does not; a single change that does not
/// gain is dropped. Changes that are not judged any more are dropped. The changes with the greatest expected gain come
/// first.
std::vector<size_t> gainingChanges(size_t count, const JudgeChanges &judge);

/// Number of judgements that find one bad change among `count`.
size_t usualJudgements(size_t count);

} // namespace lathe::tune
