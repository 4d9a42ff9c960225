#!/bin/sh
# usage: dev/lint.sh
# Walls, formatting, then clang-tidy over the sources changed since main (LINT=all: over all), each compiled by itself in
# build/single before.
set -eu
cd "$(dirname "$0")/.."
status=0
/usr/bin/python3 dev/check_walls.py || status=1

if [ "${LINT:-}" = all ]; then
  sources=$(git ls-files '*.cpp' '*.h')
else
  sources=$(git diff --name-only --diff-filter=d main -- '*.cpp' '*.h'; git diff --name-only --diff-filter=d HEAD~1 -- '*.cpp' '*.h')
  sources=$(printf '%s\n' "$sources" | sort -u)
fi
[ -n "$sources" ] || { echo "lint: nothing changed"; exit $status; }
# shellcheck disable=SC2086 # a list of words
clang-format-19 --dry-run --Werror $sources || status=1
compiled=$(printf '%s\n' "$sources" | grep '\.cpp$' || true)
[ -n "$compiled" ] || exit $status
[ -f build/single/build.ninja ] || cmake --preset single >/dev/null
# shellcheck disable=SC2086,SC2046 # SOURCE^ is what is made from it
ninja -C build/single -k 0 $(printf '../../%s^ ' $compiled) || status=1
# The sources are compiled with clang's precompiled header, which clang-tidy of the same version reads.
# shellcheck disable=SC2086
clang-tidy-19 -p build/single --quiet $compiled || status=1
exit $status
