#!/bin/bash
# Installs the runtimes that lathe compares with, each beside its runner: pinned by lock files, without running install scripts.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "dev/peers.sh: npm is missing: install nodejs and npm (dev/setup.sh does)" >&2
  exit 1
fi
for runner in onnxruntime; do
  (cd lab/runners/$runner && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
done
# Half of what it unpacks is for other systems and processors.
rm -rf lab/runners/onnxruntime/node_modules/onnxruntime-node/bin/napi-v6/{darwin,win32}
node --input-type=module -e '
  import { createRequire } from "node:module";
  const require = createRequire(process.cwd() + "/lab/runners/onnxruntime/runner.mjs");
  const ort = require("onnxruntime-node");
  console.log("onnxruntime-node " + require("onnxruntime-node/package.json").version + " is ready");'
