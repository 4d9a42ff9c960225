#!/bin/sh
# usage: dev/setup.sh [demo|bench]
# Installs the Debian packages of dev/packages.txt that are missing; does nothing where all are there. With "demo" without the
# lines that say "test?", with "bench" also the lines that say "bench?".
set -eu
cd "$(dirname "$0")"

wanted=$(sed 's/#.*//; /^[a-z]*?/d' packages.txt)
[ "${1:-}" = demo ] || wanted="$wanted $(sed -n 's/^test? *//p' packages.txt)"
[ "${1:-}" != bench ] || wanted="$wanted $(sed -n 's/^bench? *//p' packages.txt)"
command -v npm >/dev/null 2>&1 || wanted="$wanted $(sed -n 's/^npm? *//p' packages.txt)"
missing=
for package in $wanted; do
  case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true) in
  ii*) ;;
  *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || {
    echo "dev/setup.sh: these packages are missing and neither root nor sudo is here to install them:$missing" >&2
    exit 1
  }
  as_root=sudo
fi
echo "installing:$missing"
log=$(mktemp) # a name that no other process can have prepared
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing </dev/null >"$log" 2>&1 || {
  tail -20 "$log" >&2
  exit 1
}
rm -f ../build/*/build.ninja # what a build was configured without is found now
