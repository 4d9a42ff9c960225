#!/bin/sh
# usage: dev/setup_test.sh
# dev/setup.sh with an apt-get that only pretends: its log has a name of its own and goes away, also after a failure.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tmp" "$work/dev" "$work/build/release"
cp setup.sh packages.txt "$work/dev"
for name in dpkg-query sudo; do
  printf '#!/bin/sh\n[ "$0" = "%s/bin/sudo" ] && exec "$@"\nexit 1\n' "$work" >"$work/bin/$name"
done
cat >"$work/bin/apt-get" <<EOF
#!/bin/sh
echo "\$*" >>"$work/calls"
ls "$work/tmp" >>"$work/logs"
case \$1 in install) echo "E: no such package"; exit \$(cat "$work/code");; esac
EOF
chmod +x "$work"/bin/*
for code in 0 1; do
  echo $code >"$work/code"
  status=0
  touch "$work/build/release/build.ninja"
  PATH="$work/bin:$PATH" TMPDIR="$work/tmp" "$work/dev/setup.sh" >"$work/said" 2>&1 || status=$?
  [ $status -eq $code ] || { echo "exit code $status, expected $code"; cat "$work/said"; exit 1; }
  [ -z "$(ls "$work/tmp")" ] || { echo "left behind: $(ls "$work/tmp")"; exit 1; }
  [ $code = 1 ] || [ ! -e "$work/build/release/build.ninja" ] || { echo "a build keeps what it was configured without"; exit 1; }
done
grep -q "E: no such package" "$work/said" || { echo "the log of a failure is not shown"; exit 1; }
grep -q "^install -y -qq --no-install-recommends .*clang-19" "$work/calls"
grep -q " qemu-user" "$work/calls"
: >"$work/calls"
echo 0 >"$work/code"
PATH="$work/bin:$PATH" TMPDIR="$work/tmp" "$work/dev/setup.sh" demo >/dev/null
grep -q "^install .*clang-19" "$work/calls"
! grep -q " qemu-user" "$work/calls" || { echo "the demo installs what only tests need"; exit 1; }
[ "$(sort -u "$work/logs" | grep -c .)" -ge 2 ] || { echo "two runs had a log of the same name"; exit 1; }
! grep -n "/tmp/" setup.sh peers.sh demo.sh || { echo "a fixed name below /tmp"; exit 1; }
