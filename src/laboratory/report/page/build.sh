#!/bin/sh
# usage: src/laboratory/report/page/build.sh PAGE.html PLOTS.mjs
#        src/laboratory/report/page/build.sh --again
# Builds the page of reports with npm and Vite. Where that is impossible it says so loudly, writes two empty files and
# succeeds: the build goes on, and `lathe report` says what is missing. --again removes such empty files of every build,
# so that the next build tries again.
set -u
cd "$(dirname "$0")"
if [ "${1:-}" = --again ]; then
  find ../../../../build -path '*/report/page/*' \( -name report.html -o -name plots.mjs \) -size 0 -print -delete
  exit
fi
page=$1 plots=$2
log=$page.log
mkdir -p "$(dirname "$page")"

without() {
  : >"$page"
  : >"$plots"
  {
    echo "*******************************************************************************"
    echo "** lathe report WILL NOT WORK in this build: $1"
    echo "** Everything else is built. src/laboratory/report/page/build.sh --again makes the next build try again."
    echo "*******************************************************************************"
  } >&2
  exit 0
}

command -v npm >/dev/null 2>&1 || without "npm is missing (dev/setup.sh installs it)"
# What npm has installed is kept beside the sources while the lock file stays the same.
if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=20000 >"$log" 2>&1 ||
    { tail -5 "$log" >&2; without "npm cannot install what src/laboratory/report/page/package-lock.json pins"; }
  cp package-lock.json node_modules/.installed-lock.json
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# An error in the sources is an error of the build.
LATHE_PAGE_OUT=$out npm run --silent check && LATHE_PAGE_OUT=$out npm run --silent build >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
mv "$out/report.html" "$page" && mv "$out/plots.mjs" "$plots"
