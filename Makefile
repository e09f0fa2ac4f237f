# Two commands matter: `make demo` (live video over DDS) and `make test` (everything).
# Programs and tests are chosen from the whole workspace (`--bin`, `--test` without `-p`): of single packages Cargo would take
# other features of the same crates, and compile them once more.
SHELL := /bin/bash
# All targets share what one of them has compiled. Without debug information and incremental builds, which who works with `cargo`
# itself has, that takes a third of the disk and less time.
export CARGO_INCREMENTAL ?= 0
export CARGO_PROFILE_DEV_DEBUG ?= 0
# Tests are not optimised, what they test is.
export RUSTC_WORKSPACE_WRAPPER ?= $(CURDIR)/scripts/rustc.sh
SECONDS ?=
PARTICIPANTS ?= 10,100,1000
DEMO_SECONDS := $(filter-out 0,$(SECONDS))
# SECONDS of the command line, or so many; bash has a variable of that name.
seconds = $(or $(if $(filter command line,$(origin SECONDS)),$(DEMO_SECONDS)),$(1))
PROTOCOL := core sync buf qos cdr wire xtypes dynamic rtps filter cache discovery engine host
# Writes the row of docs/evidence.md that a command proves, unless EVIDENCE=off.
PROOF := scripts/proof.sh
COMMA := ,
PROTOCOL_CRATES := $(foreach c,$(PROTOCOL),-p dunlin-$(c))
LOOM_CRATES := $(foreach c,sync buf shm engine driver,-p dunlin-$(c)) -p dunlin
LOOM = env CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/loom RUSTFLAGS="--cfg loom"
SHUTTLE = env CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/shuttle RUSTFLAGS="--cfg shuttle"

.PHONY: help demo surveillance test test-deep evidence attack attack-32 attacks lint build-tests unit loom shuttle miri miri-short tsan cross cross-full small-board interop interop-fastdds3 network browser gstreamer bench bench-peers counts counts-peers footprint fuzz flood sim mutants mutants-sample router-graphs router-mutants durability-kill durability-crashes durability-mutants hub-mutants hub-seeds recorder-cuts recorder-python services-external scale million soak shapes shapes-quick shapes-peers shm-crash slow-reader leaving interop-dense tutorial pictures

help:
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: ## live video over DDS in a browser; SECONDS=30 ends by itself
	@scripts/setup.sh build demo
	@scripts/demo.sh "$(if $(filter command line,$(origin SECONDS)),$(DEMO_SECONDS))"

surveillance: ## cameras, their recorder, a router and monitors with pages, as processes; SECONDS=30 ends by itself
	@scripts/setup.sh build
	@scripts/programs.sh dunlin-surveillance
	@DUNLIN_NETWORK_INTERFACES=$${DUNLIN_NETWORK_INTERFACES:-lo} $(or $(CARGO_TARGET_DIR),target)/debug/dunlin-surveillance run \
		--folder .cache/surveillance $(if $(filter command line,$(origin SECONDS)),--seconds $(SECONDS))

test: ## everything: lint, unit, model checks, cross builds, other vendors, network, browser
	@scripts/test.sh

test-deep: ## the long forms, for hours: a million samples, 100,000 seeds, mutants, Miri, soak; PARTS="mutants miri" only some
	@scripts/test.sh deep

evidence: ## fails where a proof of docs/evidence.md is missing or too old, and says what to run
	@cargo xtask evidence

lint: ## format, clippy, layer arrows, tidy
	@scripts/setup.sh build test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo xtask deps
	cargo xtask tidy

build-tests: ## builds what `unit` runs and other parts use
	@scripts/setup.sh build test
	cargo test --quiet --workspace --no-run

unit: ## unit, property, simulation and loopback tests; those of docs/conformance.md must have passed; pictures of the docs
	@scripts/setup.sh build test pictures
	@$(PROOF) unit -- scripts/unit.sh
	@scripts/pictures.sh check

# Only the run has a limit of time, not its compilation, which takes longer beside other work.
loom: ## model-check every lock-level kernel
	$(LOOM) cargo test --quiet --no-run --lib $(LOOM_CRATES)
	$(PROOF) loom -- $(LOOM) timeout 600 cargo test --quiet --lib $(LOOM_CRATES) model

shuttle: ## the whole engine under random schedules; SEED=7 ROUNDS=1 repeats one
	$(SHUTTLE) cargo test --quiet --no-run -p dunlin-engine --test shuttle
	$(if $(SEED),,$(PROOF) shuttle --amount $(or $(ROUNDS),400) --) $(SHUTTLE) \
		timeout 600 cargo test --quiet -p dunlin-engine --test shuttle -- --nocapture --test-threads 1

miri: ## the protocol crates under Miri (nightly)
	scripts/miri.sh

miri-short: ## Miri on locks and buffers under several schedules (nightly)
	scripts/miri.sh short

tsan: ## ThreadSanitizer on all tests with threads; ROUNDS=5 repeats (nightly)
	ROUNDS=$(or $(ROUNDS),1) $(PROOF) tsan -- scripts/tsan.sh

cross: ## no_std for thumbv7em, everything but the video programs for armv7, unit and wire tests under emulation
	@scripts/setup.sh build cross
	cargo check --quiet --target thumbv7em-none-eabihf --no-default-features $(PROTOCOL_CRATES)
	cargo check --quiet --target armv7-unknown-linux-gnueabihf --workspace --exclude dunlin-video --exclude dunlin-surveillance
	RUSTC_WORKSPACE_WRAPPER= cargo test --quiet --target armv7-unknown-linux-gnueabihf $(PROTOCOL_CRATES) --lib --test golden --test vectors --test captured --test views

# The programs as they are built for development: what is shown is that they do the same as everywhere.
small-board: ## publisher and benchmark adapter for armv7 in an emulator, against a viewer and readers of this machine
	@scripts/setup.sh build cross
	RUSTC_WORKSPACE_WRAPPER= cargo build --quiet --target armv7-unknown-linux-gnueabihf --no-default-features \
		-p dunlin-video -p dunlin-bench --bin dunlin-video --bin dunlin-bench
	SMALL_BOARD=$(abspath $(or $(CARGO_TARGET_DIR),target))/armv7-unknown-linux-gnueabihf/debug \
		cargo test --quiet --workspace --test small_board -- --ignored --test-threads 1

cross-full: ## everything built for armv7, all protocol tests under emulation
	@scripts/setup.sh build cross
	cargo build --quiet --target thumbv7em-none-eabihf --no-default-features $(PROTOCOL_CRATES)
	cargo build --quiet --target armv7-unknown-linux-gnueabihf --workspace
	$(PROOF) cross -- env RUSTC_WORKSPACE_WRAPPER= cargo test --quiet --target armv7-unknown-linux-gnueabihf $(PROTOCOL_CRATES)

interop: ## exchange with Cyclone DDS, Fast DDS, RustDDS and dust_dds; ROUNDS=20 repeats
	@scripts/setup.sh build test interop
	$(PROOF) interop -- tests/interop/run.sh

interop-dense: ## dense traffic with the same peers, in both directions; SECONDS=5 for so long with each load, 30 by default
	@scripts/setup.sh build test interop
	DENSE_SECONDS=$(call seconds,30) tests/interop/run.sh dense

interop-fastdds3: ## the same with Fast DDS 3, from Debian 13's packages (1.1 GB in .cache)
	@scripts/setup.sh build test interop fastdds3
	$(PROOF) interop-fastdds3 -- tests/interop/run.sh fastdds3

shapes: ## every scenario of shape_main, Dunlin with Dunlin, ROUNDS=3 times in a row
	@scripts/setup.sh build
	$(PROOF) shapes --amount $(or $(ROUNDS),3) -- tests/shapes/run.sh

shapes-quick: ## part of them, half a minute
	@scripts/setup.sh build
	tests/shapes/run.sh quick

shapes-peers: ## every scenario with Cyclone DDS, Fast DDS, RustDDS and dust_dds, in both directions; PEERS="fastdds" only with some, fastdds3 too; ROUNDS=3
	@scripts/setup.sh build interop $(if $(filter fastdds3,$(PEERS)),fastdds3)
	tests/shapes/run.sh peers

network: ## network namespaces: 921,600-byte samples over 100 Mbit/s; addresses that appear, change and vanish; dunlin doctor where multicast is dropped; a benchmark that is ended; bands and limits of daemons
	@scripts/setup.sh build test
	$(PROOF) network -- tests/network/all.sh

browser: ## the pages of the demo, of dunlin shapes, dunlin record and of a monitor in headless Chromium
	@scripts/setup.sh build demo browser
	$(PROOF) browser -- scripts/browser-test.sh

gstreamer: ## the video program's tests with its optional GStreamer source
	@scripts/setup.sh build gstreamer
	cargo test --quiet -p dunlin-video --features gstreamer --lib

mutants-sample: ## bugs drawn by lot (cargo-mutants) that tests must notice; SEED=1 N=12 of each crate, CRATES="rtps shm" of some
	@scripts/setup.sh build test
	$(if $(CRATES),,$(PROOF) mutants-sample -- )tests/mutants/sample.py $(CRATES)

million: ## 1,000,000 reliable samples through a simulated network that loses 20 %; SAMPLES=100000
	$(PROOF) million --amount $(or $(SAMPLES),1000000) -- \
		cargo test --quiet --workspace --test scenarios -- --ignored --nocapture a_million

sim: ## random scenarios in the simulator: all seeds that ever failed, and some that nobody has run; SEEDS=100000 FIRST=2:1 runs long and goes on after an interruption
	cargo build --release --quiet --bin dunlin-simulation
	$(PROOF) seeds --part "$(or $(SEEDS),2000) from $(or $(FIRST),$(if $(SEEDS),2:1,the commit))" --amount $(or $(SEEDS),2000) -- \
		$(or $(CARGO_TARGET_DIR),target)/release/dunlin-simulation campaign $(if $(FIRST),--first $(FIRST)) \
		$(if $(SEEDS),--seeds $(SEEDS) --state target/simulation/$(SEEDS)-$(or $(FIRST),2:1).txt,--known $(if $(FIRST),--seeds 2000,--fresh))

hub-seeds: ## random scenarios with discovery servers and daemons of hosts; SEEDS=20000 FIRST=1, goes on after an interruption
	cargo build --release --quiet --bin dunlin-simulation
	$(or $(CARGO_TARGET_DIR),target)/release/dunlin-simulation campaign --architectures --generation 1 --first $(or $(FIRST),1) \
		--seeds $(or $(SEEDS),20000) --state target/simulation/hub-$(or $(SEEDS),20000)-$(or $(FIRST),1).txt

mutants: ## deliberate protocol bugs, each of which the simulation must find within 1000 seeds, or tests; NAMES="ack-base" some, NAMES=checks those that tests find
	$(if $(NAMES),,$(PROOF) mutants -- )tests/simulation/mutants.sh $(NAMES)

router-graphs: ## random graphs of routers in the simulator, each sample once in each domain; GRAPHS=1000 so many (100 by default)
	@scripts/setup.sh build
	SEEDS=$(or $(GRAPHS),100) $(PROOF) router-graphs --amount $(or $(GRAPHS),100) -- \
		cargo test --release --quiet -p dunlin-router --test sim graphs

router-mutants: ## deliberate bugs of the router, each of which its scenarios must find; NAMES="ways-merged" only some
	@scripts/setup.sh build
	services/mutants.sh router $(NAMES)

durability-kill: ## writers and the durability service killed as processes, each late reader gets the history; ROUNDS=100
	@scripts/setup.sh build
	ROUNDS=$(or $(ROUNDS),100) cargo test --quiet -p dunlin-durability --test program killed

durability-crashes: ## the store on a disk that loses what was not synchronised, stopped at random points; CRASHES=10000
	@scripts/setup.sh build
	CRASHES=$(or $(CRASHES),10000) cargo test --quiet -p dunlin-durability --test store crashes

durability-mutants: ## deliberate bugs of the durability service, each of which its tests must find; NAMES="tombstone-too-early" only some
	@scripts/setup.sh build
	services/mutants.sh durability $(NAMES)

hub-mutants: ## deliberate bugs of daemon and discovery server, each of which their tests must find; NAMES="bands-turned" only some
	@scripts/setup.sh build
	services/mutants.sh hub $(NAMES)

recorder-cuts: ## recordings cut at 1,000 places keep all that was whole
	@scripts/setup.sh build
	cargo test --quiet -p dunlin-recorder --test file -- --ignored

recorder-python: ## recordings opened by MCAP's reader for Python, from PyPI
	@scripts/setup.sh build
	python3 -m venv .cache/mcap && .cache/mcap/bin/pip install --quiet mcap==1.6.0
	PYTHON=$(CURDIR)/.cache/mcap/bin/python cargo test --quiet -p dunlin-recorder --test python -- --ignored

services-external: ## services with what they reach beside DDS, built for this alone; PARTS="bridge" or "stores" only one
	@scripts/setup.sh build
	$(if $(PARTS),,$(PROOF) services-external -- )services/external.sh $(PARTS)

scale: ## what discovery costs with 10, 100 and 1000 participants (8 GB, some minutes); PARTICIPANTS=10,100
	$(PROOF) scale --amount $(lastword $(subst $(COMMA), ,$(PARTICIPANTS))) -- \
		cargo run --release --quiet --bin dunlin-scale -- --participants $(PARTICIPANTS) --max-state 9000 --max-datagrams 7

bench: bench-peers ## compare with other implementations in about a quarter of an hour; SCENARIO=latency-2019 runs that one
	@tools/bench/build.sh
	@$(if $(wildcard tools/bench/src/presets/$(or $(SCENARIO),short).toml),$(PROOF) bench-$(or $(SCENARIO),short) --amount 1 --) \
		tools/bench/bench.sh $(or $(SCENARIO),short)

bench-peers: ## build the benchmark's adapters of other implementations; PEERS="cyclone fastdds" only these
	@scripts/setup.sh build bench
	@tools/bench/build-peers.sh $(PEERS)

fuzz: ## each fuzz target for RUNS executions (default 20000); TARGETS="live_participant" SANITIZER=none runs one, faster
	@scripts/setup.sh build
	scripts/fuzz.sh $(or $(RUNS),20000) $(TARGETS)

# Of its package alone, with the features that users get: the record is of those.
counts: ## instructions and system calls of a sample, held to their record; RECORD=1 writes the record
	@scripts/setup.sh build counts
	$(if $(RECORD),,$(PROOF) counts --) cargo run --release --quiet -p dunlin-counts -- $(if $(RECORD),record,check)

counts-peers: ## the same with Cyclone DDS beside it
	@scripts/setup.sh build bench counts
	@tools/bench/build-peers.sh cyclone
	cargo run --release --quiet -p dunlin-counts -- compare $(or $(DUNLIN_BENCH_PEERS),.cache/bench)/cyclone-counts

footprint: ## memory and threads of a process at rest, with 1,000 writers, and exchanging data through shared memory
	$(PROOF) footprint -- cargo test --release --quiet -p dunlin --test footprint -- --nocapture --test-threads 1

flood: ## a 1 kHz topic under a flood of hostile datagrams SECONDS=30 for so long
	$(PROOF) flood --amount $(call seconds,10) -- cargo run --release --quiet --bin dunlin-attack -- --seconds $(call seconds,10) flood-of-datagrams

attack: ## named attacks on a live pair, each with its bounds; NAMES="gap tcp" some, AGAINST=cyclone beside Cyclone DDS
	@scripts/setup.sh build test
	$(if $(NAMES),,$(PROOF) attack -- )cargo run --release --quiet --bin dunlin-attack -- $(if $(AGAINST),--against $(AGAINST)) $(NAMES)

# The kernel is the one of 64 bits: what differs is the program, its addresses and sizes.
attack-32: ## the same attacks on a pair of programs of 32 bits; NAMES="fork memory" some
	@scripts/setup.sh build test x86-32
	$(if $(NAMES),,$(PROOF) attack-32 -- )cargo run --release --quiet --target i686-unknown-linux-gnu --bin dunlin-attack -- $(NAMES)

attacks: ## published attacks and hostile datagrams, against the engine
	$(PROOF) attacks -- cargo test --quiet -p dunlin-engine --test regressions --test hostile

shm-crash: ## kill processes that use shared memory 200 times; ROUNDS=1000 more often
	$(PROOF) shm-crash --amount $(or $(ROUNDS),200) -- env ROUNDS=$(or $(ROUNDS),200) cargo test --release --quiet -p dunlin --test shared_memory --test loans killed_ -- --nocapture

slow-reader: ## SIGSTOP of one of three reader processes for 30 s; SECONDS=3 for so long
	$(PROOF) slow-reader --amount $(call seconds,30) -- env STOPPED_SECONDS=$(call seconds,30) \
		cargo test --release --quiet -p dunlin --test slow_reader -- --nocapture

leaving: ## 400 programs that end right after their last sample or write; ROUNDS=8 of each kind, 40 by default
	env ROUNDS=$(or $(ROUNDS),40) WITHIN_MS=100 \
		cargo test --quiet -p dunlin --test leaving -- --nocapture --test-threads 1

tutorial: ## publisher and subscriber of docs/getting-started.md, 50 times each on an idle and a loaded machine; ROUNDS=5
	env DUNLIN_TUTORIAL_ROUNDS=$(or $(ROUNDS),50) cargo test --quiet --workspace --test getting_started
	env DUNLIN_TUTORIAL_ROUNDS=$(or $(ROUNDS),50) DUNLIN_TUTORIAL_LOAD=4 cargo test --quiet --workspace --test getting_started

pictures: ## what docs/cli.md shows of ls, echo, top and graph, made anew
	@scripts/setup.sh build pictures
	scripts/pictures.sh

soak: ## the interoperability tests 20 times in a row
	@scripts/setup.sh build test interop
	ROUNDS=20 $(PROOF) soak --amount 20 -- tests/interop/run.sh
