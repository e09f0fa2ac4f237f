# Two commands matter: `make demo` (live video over DDS) and `make test` (everything).
SHELL := /bin/bash
SECONDS ?=
PARTICIPANTS ?= 10,100,1000
DEMO_SECONDS := $(filter-out 0,$(SECONDS))
PROTOCOL := core sync buf qos cdr wire xtypes dynamic rtps filter cache discovery engine
PROTOCOL_CRATES := $(foreach c,$(PROTOCOL),-p dunlin-$(c))

.PHONY: help demo test lint unit loom shuttle miri miri-short tsan cross interop interop-fastdds3 network browser gstreamer bench bench-peers counts counts-peers footprint fuzz flood sim mutants scale million soak shapes shapes-quick shapes-peers shm-crash slow-reader pictures

help:
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: ## live video over DDS in a browser; SECONDS=30 ends by itself
	@scripts/setup.sh build demo
	@scripts/demo.sh "$(if $(filter command line,$(origin SECONDS)),$(DEMO_SECONDS))"

test: ## everything: lint, unit, model checks, cross builds, other vendors, network, browser
	@scripts/test.sh

lint: ## format, clippy, layer arrows, tidy
	@scripts/setup.sh build test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo xtask deps
	cargo xtask tidy

unit: ## unit, property, simulation and loopback tests; those of docs/conformance.md must have passed; pictures of the docs
	@scripts/setup.sh build test pictures
	@scripts/unit.sh
	@scripts/pictures.sh check

loom: ## model-check every lock-level kernel
	CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/loom RUSTFLAGS="--cfg loom" timeout 600 cargo test --quiet --lib \
		-p dunlin-sync -p dunlin-buf -p dunlin-shm -p dunlin-engine -p dunlin-driver -p dunlin model

shuttle: ## the whole engine under random schedules; SEED=7 ROUNDS=1 repeats one
	CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/shuttle RUSTFLAGS="--cfg shuttle" \
		timeout 600 cargo test --quiet -p dunlin-engine --test shuttle -- --nocapture --test-threads 1

miri: ## the protocol crates under Miri (nightly)
	scripts/miri.sh

miri-short: ## Miri on locks and buffers under several schedules, a sample of the rest (nightly)
	scripts/miri.sh short

tsan: ## ThreadSanitizer on all tests with threads; ROUNDS=5 repeats (nightly)
	ROUNDS=$(or $(ROUNDS),1) scripts/tsan.sh

cross: ## no_std for thumbv7em, everything for armv7, protocol tests under emulation
	@scripts/setup.sh build cross
	cargo build --quiet --target thumbv7em-none-eabihf --no-default-features $(PROTOCOL_CRATES)
	cargo build --quiet --target armv7-unknown-linux-gnueabihf --workspace
	cargo test --quiet --target armv7-unknown-linux-gnueabihf $(PROTOCOL_CRATES)

interop: ## exchange with Cyclone DDS, Fast DDS, RustDDS and dust_dds; ROUNDS=20 repeats
	@scripts/setup.sh build test interop
	tests/interop/run.sh

interop-fastdds3: ## the same with Fast DDS 3, from Debian 13's packages (1.1 GB in .cache)
	@scripts/setup.sh build test interop fastdds3
	tests/interop/run.sh fastdds3

shapes: ## every scenario of shape_main, Dunlin with Dunlin, ROUNDS=3 times in a row
	@scripts/setup.sh build
	tests/shapes/run.sh

shapes-quick: ## part of them, half a minute
	@scripts/setup.sh build
	tests/shapes/run.sh quick

shapes-peers: ## every scenario with Cyclone DDS, Fast DDS, RustDDS and dust_dds, in both directions; PEERS="fastdds" only with some, fastdds3 too
	@scripts/setup.sh build interop $(if $(filter fastdds3,$(PEERS)),fastdds3)
	tests/shapes/run.sh peers

network: ## network namespaces: 921,600-byte samples over 100 Mbit/s; addresses that appear, change and vanish; dunlin doctor where multicast is dropped; a benchmark that is ended
	@scripts/setup.sh build test
	tests/network/run.sh
	tests/network/mobility.sh
	FAMILY=6 tests/network/mobility.sh
	tests/network/doctor.sh
	tests/network/bench.sh

browser: ## the pages of the demo and of dunlin shapes in headless Chromium
	@scripts/setup.sh build demo browser
	scripts/browser-test.sh

gstreamer: ## the video program's tests with its optional GStreamer source
	@scripts/setup.sh build gstreamer
	cargo test --quiet -p dunlin-video --features gstreamer --lib

million: ## 1,000,000 reliable samples through a simulated network that loses 20 %
	cargo test --profile dist --quiet -p dunlin-sim --test scenarios -- --ignored --nocapture a_million

sim: ## random scenarios in the simulator: 400 seeds; SEEDS=100000 runs long and goes on after an interruption
	cargo build --release --quiet -p dunlin-simulation
	$(or $(CARGO_TARGET_DIR),target)/release/dunlin-simulation campaign --seeds $(or $(SEEDS),400) $(if $(SEEDS),--state target/simulation/$(SEEDS).txt)

mutants: ## deliberate protocol bugs, each of which the simulation must find within 1000 seeds
	tests/simulation/mutants.sh

scale: ## what discovery costs with 10, 100 and 1000 participants (8 GB, some minutes); PARTICIPANTS=10,100
	cargo run --release --quiet -p dunlin-scale -- --participants $(PARTICIPANTS) --max-state 9000 --max-datagrams 7

bench: bench-peers ## compare with other implementations in about ten minutes; SCENARIO=latency-2019 runs that one
	@tools/bench/build.sh
	@tools/bench/bench.sh $(or $(SCENARIO),short)

bench-peers: ## build the benchmark's adapters of other implementations; PEERS="cyclone fastdds" only these
	@scripts/setup.sh build bench
	@tools/bench/build-peers.sh $(PEERS)

fuzz: ## each fuzz target for RUNS executions (default 20000); TARGETS="live_participant" SANITIZER=none runs one, faster
	@scripts/setup.sh build
	scripts/fuzz.sh $(or $(RUNS),20000) $(TARGETS)

counts: ## instructions and system calls of a sample, held to their record; RECORD=1 writes the record
	@scripts/setup.sh build counts
	cargo run --release --quiet -p dunlin-counts -- $(if $(RECORD),record,check)

counts-peers: ## the same with Cyclone DDS beside it
	@scripts/setup.sh build bench counts
	@tools/bench/build-peers.sh cyclone
	cargo run --release --quiet -p dunlin-counts -- compare $(or $(DUNLIN_BENCH_PEERS),.cache/bench)/cyclone-counts

footprint: ## memory and threads of a process at rest, with 1,000 writers, and exchanging data through shared memory
	cargo test --release --quiet -p dunlin --test footprint -- --nocapture --test-threads 1

flood: ## a 1 kHz topic under a flood of hostile datagrams SECONDS=30 for so long
	cargo run --release --quiet -p dunlin-flood -- --seconds $(or $(if $(filter command line,$(origin SECONDS)),$(DEMO_SECONDS)),10)

shm-crash: ## kill processes that use shared memory 200 times; ROUNDS=1000 more often
	ROUNDS=$(or $(ROUNDS),200) cargo test --release --quiet -p dunlin --test shared_memory --test loans killed_ -- --nocapture

slow-reader: ## SIGSTOP of one of three reader processes for 30 s; SECONDS=3 for so long
	STOPPED_SECONDS=$(or $(if $(filter command line,$(origin SECONDS)),$(DEMO_SECONDS)),30) \
		cargo test --release --quiet -p dunlin --test slow_reader -- --nocapture

pictures: ## what docs/cli.md shows of ls, echo, top and graph, made anew
	@scripts/setup.sh build pictures
	scripts/pictures.sh

soak: ## the interoperability tests 20 times in a row
	ROUNDS=20 $(MAKE) interop
