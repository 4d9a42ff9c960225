# Two commands do everything on a fresh Debian 12 machine: `make demo` and `make test`. `make help` lists the rest.
PRESET ?= release
JOBS ?= $(shell nproc)
# One more than processors: many tests wait for processes.
TEST_JOBS := $(shell expr $(JOBS) + 1)
BUILD := build/$(PRESET)
# Models, goldens and conformance cases live beside the checkout. Where they are absent, tests read what tests/stand_ins.py writes.
LATHE_TEST_DATA ?= $(abspath ../shared)
export LATHE_TEST_DATA

.PHONY: help setup setup-bench configure build deb demo test test-all sanitize bench wheel tuning-table dynamic-table gallery records peers format lint clean

help: ## what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: ## installs the Debian packages of dev/packages.txt that are missing
	@dev/setup.sh

# PyTorch exports networks, oneDNN is the peer of single operators: without them those are left out, and said to be.
setup-bench: setup
	@dev/setup.sh bench || echo "PyTorch or oneDNN is missing: what needs them is left out"

CONFIGURE := test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) -DLATHE_TEST_DATA=$(LATHE_TEST_DATA)
configure: setup
	@$(CONFIGURE)

build: configure ## builds everything (PRESET=release, debug, asan or tsan); the program is build/release/bin/lathe
	@ninja -C $(BUILD) -j $(JOBS)

deb: build ## makes the Debian packages lathe-runtime, lathe-tools and lathe-dev in build/release/packages
	@cd $(BUILD) && cpack

demo: ## the main job on zoo resnet50: summary, verification, profile, comparison
	@dev/setup.sh demo
	@$(CONFIGURE)
	@ninja -C $(BUILD) -j $(JOBS) lathe lathe_cli_compiler lathe-runner lathe-runner-onnxruntime
	@dev/demo.sh $(BUILD)/bin/lathe

test: build ## every test but the slow ones
	@dev/run_tests.py $(BUILD) -LE slow -j $(TEST_JOBS)

test-all: build setup-bench ## every test, the slow ones too (with PyTorch's networks and ONNX Runtime)
	@dev/peers.sh || echo "ONNX Runtime or TensorFlow Lite is missing: tests that compare with it are skipped"
	@LATHE_TEST_ALL=1 dev/run_tests.py $(BUILD) -j $(TEST_JOBS)

# The rooms that read what others wrote; package/ is tested by runtime/LoaderTest. Those that include MLIR's headers are
# left out, but for import/.
SANITIZED := support runtime process store import serve
sanitize: export UBSAN_OPTIONS := halt_on_error=1:print_stacktrace=1
sanitize: ## ASan and UBSan over what reads files, pipes, packages and requests, and over packages of random programs (build/asan, build/release)
	@$(MAKE) --no-print-directory configure PRESET=asan
	@ninja -C build/asan -j $(JOBS) $(SANITIZED:%=tests-%)
	@ctest --test-dir build/asan --output-on-failure $(SANITIZE_FLAGS) -j $(JOBS) -R '^($(subst $() ,|,$(SANITIZED)))/' -E CrossTest
	@$(MAKE) --no-print-directory configure PRESET=release
	@ninja -C build/release -j $(JOBS) program_test
	@ninja -C build/asan -j $(JOBS) run-programs
	@tests/programs/packages_test.py build/release/bin/program_test build/asan/bin/run-programs

bench: setup-bench configure peers ## writes docs/performance.md (networks beside ONNX Runtime, convolutions beside oneDNN) and docs/predictions.md (BENCH_SECONDS=2 BENCH_NETWORKS="resnet50 vgg16" shorten)
	@test -x $(BUILD)/bin/lathe-provider-onednn || cmake $(BUILD) >/dev/null
	@ninja -C $(BUILD) -j $(JOBS)
	@$(BUILD)/bin/study legal
	@/usr/bin/python3 bench/bench.py $(BUILD)/bin/lathe
	-@/usr/bin/python3 bench/report_speed.py $(BUILD)/bin/lathe

wheel: configure ## writes dist/lathe-*.whl, the Python package with runtime and compiler (docs/python.md)
	@ninja -C $(BUILD) -j $(JOBS) wheel

TUNED := zoo:alexnet,zoo:inception_v2,zoo:resnet18,zoo:resnet50,zoo:resnet101,zoo:densenet121,zoo:googlenet,zoo:mobilenet_v2
TUNE_BUDGET ?= 10m
TUNE_THREADS ?= 2
tuning-table: configure ## writes docs/tuning-table.md: eight networks untuned and tuned, beside ONNX Runtime (TUNE_BUDGET=10m a network, TUNE_THREADS=2); goes on after an interruption
	@dev/peers.sh || echo "ONNX Runtime is missing: its columns stay empty"
	@ninja -C $(BUILD) -j $(JOBS)
	@mkdir -p build/bench
	@$(BUILD)/bin/lathe tune --all $(TUNED) --budget $(TUNE_BUDGET) --threads $(TUNE_THREADS) --store build/bench/tuning.db -o docs/tuning-table.md

gallery: setup-bench configure peers ## writes docs/gallery.md: screenshots of a report with measurements of this machine; goes on after an interruption
	@ninja -C $(BUILD) -j $(JOBS)
	@/usr/bin/python3 bench/gallery.py $(BUILD)/bin/lathe

dynamic-table: setup-bench configure peers ## writes the table of docs/dynamic-networks.md: networks of open sizes, one package each, beside ONNX Runtime; goes on after an interruption
	@ninja -C $(BUILD) -j $(JOBS) lathe lathe_cli_compiler lathe-runner lathe-runner-onnxruntime
	@/usr/bin/python3 bench/dynamic_networks.py $(BUILD)/bin/lathe --write docs/dynamic-networks.md

# What comes with the source: the records of this kind of machine, and the default searcher's model, which learns from all
# records of the store (docs/records.md). RECORDS_MODELS= only ships what the store has.
RECORDS_MODELS ?= zoo:alexnet zoo:inception_v2 zoo:resnet18 zoo:resnet50 zoo:resnet101 zoo:densenet121 zoo:googlenet zoo:mobilenet_v2
RECORDS_THREADS ?= $(shell printf '%s\n' 1 $$(nproc) | sort -nu)
RECORDS_BUDGET ?= 10m
records: configure ## tunes networks on this machine and writes its archive in data/records and the trained model in data/models (RECORDS_MODELS="zoo:resnet50" RECORDS_BUDGET=5m shorten); goes on after an interruption
	@ninja -C $(BUILD) -j $(JOBS) lathe lathe_cli_compiler lathe-runner lathe-tune-builder lathe-tune-runner
	@set -e; for threads in $(if $(strip $(RECORDS_MODELS)),$(RECORDS_THREADS)); do \
	  $(BUILD)/bin/lathe tune --all "$$(echo $(RECORDS_MODELS) | tr ' ' ,)" --threads $$threads --budget $(RECORDS_BUDGET); done
	@$(BUILD)/bin/lathe records ship data/records
	@$(BUILD)/bin/lathe tune --train-model data/models

peers: setup ## installs the runtimes Lathe is compared with (ONNX Runtime and TensorFlow Lite from npm)
	@dev/peers.sh

format: setup ## clang-format over the tree
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-19 -i

lint: setup ## include walls, formatting, clang-tidy over the lines changed since CI last passed or the last tag (LINT=COMMIT, LINT=all)
	@dev/lint.py $(LINT)

clean: ## removes build/
	@rm -rf build
