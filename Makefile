# SPDX-License-Identifier: GPL-2.0-only
# Every check and every way to use the repository is a target here; `make` alone lists them.

SHELL := /bin/bash
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images of containers often set it: each start of the program would then compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
# An environment of its own: ns-3 is large, compiles for minutes, and only the benches want it.
VENV_BENCH := .venv-bench
SITE := dist/site
GALLERY := dist/gallery
MOVING := dist/moving
CHARTS := dist/charts
# What decides what a run is, and how it is drawn.
SOURCES := $(shell find examples src kernel guest -type f -not -name '*.pyc')
MPTCPLAB := $(BIN)/mptcplab
DEMO_OUT ?= demo-out
PYTEST_ARGS ?=
# One more than there are CPUs, since some tests wait: for a cluster, or for a limit of time.
PYTEST_WORKERS ?= $(shell expr $$(nproc) + 1)
SELFTESTS_ARGS ?=
TORTURE_ARGS ?=
COMPILERS_ARGS ?=
STOCK_ARGS ?=
SMP_ARGS ?=
VM_ARGS ?=
COST_ARGS ?=
ADVISE_ARGS ?=
BISECT_ARGS ?=
LEADERBOARD_ARGS ?=
SYSTEMS_ARGS ?=
COMMANDS_ARGS ?=
# Of `make torture` and `make fuzz`: the first seed; how many runs, and with which kernel; how many calls.
SEED ?= 1
RUNS ?= 1000
VARIANT ?= lab
CALLS ?= 1000000
BENCH_ARGS ?=
BENCH_OUT ?= bench-out
AGAINST_ARGS ?=
MUTANTS_ARGS ?=
PAPERS_ARGS ?=
# What is run in the debug kernel: every scheduler, with every trouble. Not what needs much data.
DEBUG_TESTS := tests/debug tests/kernel/test_kunit.py tests/engine/test_bulk.py \
    tests/engine/test_capture.py tests/engine/test_fuzz.py tests/engine/test_reach.py \
    tests/engine/test_torture.py \
    tests/scenario/test_framework.py tests/scenario/test_obstinate.py \
    tests/scenario/test_every_scheduler.py::test_every_byte_arrives \
    tests/scenario/test_cc_coupled.py

# The tests among the attacks of docs/reliability.md, in its order.
ATTACKS := tests/scenario/test_short_connections.py tests/engine/test_sockets.py \
    tests/engine/test_reach.py tests/engine/test_hostile.py tests/unit/test_run_directory.py \
    tests/engine/test_faults.py tests/engine/test_tasks.py tests/unit/test_together.py \
    tests/unit/test_files.py tests/engine/test_cluster_security.py tests/unit/test_cluster.py \
    tests/unit/test_archive.py tests/unit/test_wrong_tables.py tests/unit/test_formulas.py \
    tests/unit/test_output.py

# What is run with each series of Linux. Not what compares builds of one.
KERNELS ?= $(patsubst kernel/patches/%/mptcp,%,$(wildcard kernel/patches/*/mptcp))
KERNEL_TESTS := tests/kernel/test_kunit.py tests/engine tests/scenario

# The archive of the kernel's source, Debian's unless another is given, which `mptcplab kernel build`
# then remembers; checkpatch.pl is taken from it, too.
KERNEL_SOURCE ?= /usr/src/linux-source-6.12.tar.xz
CHOSEN_SOURCE := $(if $(filter file,$(origin KERNEL_SOURCE)),,--source "$(KERNEL_SOURCE)")
CHECKPATCH := $(VENV)/checkpatch/checkpatch.pl
# What a program that is not the kernel cannot follow: its types, macros and attributes.
KERNEL_ONLY := PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO,CAMELCASE,MACRO_ARG_REUSE
# Lists are walked by macros, in the kernel as here; and a tracepoint has a form of its own. The
# kernel's struct Qdisc is checked for its capital where checkpatch has no tree to know it from.
MACROS := MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,CAMELCASE
TRACEPOINT_FILES := kernel/mptcp/trace.h
# The one file that asks which kernel it is built in.
COMPAT_FILES := kernel/mptcp/compat.h
# Kernel style for our C: what goes into the kernel and the program that runs inside.
C_FILES = $(shell find kernel guest -name '*.[ch]' 2>/dev/null)
SHELL_FILES = $(shell find scripts guest examples checks -name '*.sh' 2>/dev/null) .ci/run

.DEFAULT_GOAL := help
# Set-up comes before what needs it, also with --jobs.
.NOTPARALLEL:
.PHONY: help setup setup-lint setup-test setup-bench setup-selftests setup-stock setup-smp setup-vm setup-kernels setup-deb venv venv-dev venv-bench kernel demo picture docs-commands site scheduler-charts site-test test accuracy bench mutants debug-test test-kernels torture fuzz reliability scheduler-changes compilers same-packets bench-against bench-all same-commands stock-check smp-test vm-test vm-test-all interop cost-test sweep-test systems-test selftests oracle cases papers-check papers-v095 advise-check fit-check bisect-check cpu-test leaderboard earliest-evaluation earliest-cases lint checkpatch shellcheck lock wheel wheel-test deb clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup venv kernel ## set up everything and compare two schedulers during a handover
	$(MPTCPLAB) compare --path first:20mbit,20ms --path second:20mbit,20ms --event 5s:second:handover,lasts=2s \
	    --scheduler default,lte --duration 12s --repeat 3 --out $(DEMO_OUT)

picture: demo ## the picture at the top of README.md, which is the one of the demo
	cp $(DEMO_OUT)/goodput.png docs/images/goodput.png

test: setup-test venv-dev kernel ## set up everything and run all tests
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(PYTEST_ARGS)

accuracy: setup venv kernel ## measure what links do against what they are asked for; into docs/limitations.md
	$(BIN)/python -m checks.accuracy --docs docs/limitations.md

bench: setup-bench venv-bench kernel ## measure what runs cost, beside ns-3 and the host; into docs/performance.md (3 min)
	$(VENV_BENCH)/bin/python -m benches --docs docs/performance.md $(BENCH_ARGS)

site: venv-dev $(GALLERY)/.stamp $(MOVING)/.stamp $(CHARTS)/.stamp ## docs/ as pages with search, and reports that can be opened: dist/site/index.html (6 min, the first time)
	rm -rf $(SITE)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -E -d $(SITE)-doctrees -c docs/site . $(SITE)
	@echo "site:    $(SITE)/index.html"

site-test: setup-test venv-dev site ## is each link of the site good, does its search find, do its reports open?
	$(BIN)/python -m pytest --site $(SITE) tests/site $(PYTEST_ARGS)

docs-commands: setup-test venv-dev kernel ## run every command of README.md and docs/ to its end, with one seed each (an hour)
	$(BIN)/python -m pytest --docs-commands tests/docs $(PYTEST_ARGS)

# The reports of the gallery: the commands of its page, as they stand there.
$(GALLERY)/.stamp: docs/gallery.md $(SOURCES) | setup venv kernel
	rm -rf $(GALLERY)
	@mkdir -p $(GALLERY) && ln -s ../../examples $(GALLERY)/examples
	cd $(GALLERY) && PATH="$(CURDIR)/$(BIN):$$PATH" bash -euo pipefail -c "$$(sed -n '/^```/,/^```/{/^```/!p}' $(CURDIR)/$<)"
	@touch $@

# The moving picture of the first page.
$(MOVING)/.stamp: docs/site/moving.py $(SOURCES) | setup venv kernel
	$(BIN)/python -m docs.site.moving $(MOVING)
	@touch $@

scheduler-charts: $(CHARTS)/.stamp ## the five charts of each scheduler's page on the site, into dist/charts (5 min, the first time)

# Runs stay: those of the same kernel are not made again.
$(CHARTS)/.stamp: docs/site/charts.py $(wildcard docs/site/charts/*.toml) $(SOURCES) | setup venv kernel
	$(BIN)/python -m docs.site.charts $(CHARTS)
	@touch $@

# MUTANTS_ARGS: some of the modules, such as "runs.store plan.plan".
mutants: venv-dev ## do the tests notice it if what decides what is true is wrong? (10 min)
	$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

fuzz: setup venv ## make calls at random, of all that a program can reach of our kernel code; SEED=, CALLS= (10 min)
	@$(MPTCPLAB) kernel build --variant debug
	$(BIN)/python -m checks.fuzz --seed $(SEED) --calls $(CALLS)

debug-test: setup venv-dev ## run the tests of runs in a kernel that looks after itself (slow)
	@$(MPTCPLAB) kernel build --variant debug
	$(BIN)/python -m pytest --kernel-variant debug $(DEBUG_TESTS) $(PYTEST_ARGS)

# KERNELS: some of `mptcplab kernel list`, instead of each series that there are patches for.
test-kernels: setup-test setup-kernels venv-dev ## run the tests of runs with each series of Linux (15 min for each)
	for kernel in $(KERNELS); do \
	    $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal --kernel $$kernel $(KERNEL_TESTS) $(PYTEST_ARGS) || exit; \
	done

# SCHEDULER and CC choose some of them, with commas; make itself has a CC, the compiler.
torture: venv ## connections with troubles, SEED=1 RUNS=1000 [VARIANT=debug]: nothing lost, wrong or stuck (7 min)
	@$(MPTCPLAB) kernel build --variant $(VARIANT)
	$(BIN)/python -m checks.torture --seed $(SEED) --runs $(RUNS) --kernel-variant $(VARIANT) \
	    $(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(if $(findstring command,$(origin CC)),--cc $(CC)) $(TORTURE_ARGS)

reliability: setup-test venv-dev kernel ## make every attack of docs/reliability.md (30 min)
	@$(MPTCPLAB) kernel build --variant debug
	@failed=; \
	$(BIN)/python -m checks.torture --runs 1000 || failed=1; \
	$(BIN)/python -m checks.torture --runs 200 --kernel-variant debug || failed=1; \
	$(BIN)/python -m checks.fuzz || failed=1; \
	$(BIN)/python -m pytest $(ATTACKS) || failed=1; \
	test -z "$$failed"

scheduler-changes: setup-test venv-dev kernel ## change each scheduler into each other one: nothing of the first is left (4 min)
	$(BIN)/python -m pytest --all-pairs tests/engine/test_scheduler_changes.py $(PYTEST_ARGS)

# STOCK_ARGS: "--only 'loss 1 %'", --flavour amd64, --seeds 8, --jobs 4, --no-runs; see docs/fidelity.md.
stock-check: setup setup-stock venv kernel ## hold the lab to unmodified Debian kernels in QEMU; into docs/fidelity.md (hours)
	$(BIN)/python -m checks.stock --docs docs/fidelity.md $(STOCK_ARGS)

# SMP_ARGS: --quick (some minutes), --planted, --kind kcsan, --scheduler minrtt, --seeds 3; see docs/reliability.md.
smp-test: setup setup-smp venv ## do CPUs race? KCSAN, KASAN and lockdep on four of them, in QEMU; into docs/reliability.md (hours)
	$(BIN)/python -m checks.smp --docs docs/reliability.md $(SMP_ARGS)

# VM_ARGS: --again, --jobs 2, "--all --scheduler minrtt --load bulk,flap --kernel 7.3"; see docs/kernels.md.
vm-test: setup-vm venv ## the schedulers as modules on unmodified Debian kernels, in QEMU; into docs/kernels.md (40 min)
	$(BIN)/python -m checks.vm --docs docs/kernels.md $(VM_ARGS)

vm-test-all: setup-vm setup-selftests venv ## the same in every combination, for half an hour, upstream's selftests, a restart; needs root (hours)
	$(BIN)/python -m checks.vm --all $(VM_ARGS)
	for series in 6.12 7.3; do scripts/vm-whole.sh $$series vm-out || exit; done

# SOURCE is an archive of Linux 4.19 with MPTCP v0.95; see docs/out-of-tree.md.
interop: setup setup-vm venv ## do versions 0 and 1 of MPTCP understand each other? Two machines in QEMU (10 min)
	$(BIN)/python -m checks.interop $(SOURCE)

# COST_ARGS: "--scheduler roundrobin,lte --pairs 40 --megabytes 400 --seed 2"; see docs/kernels.md.
cost-test: setup-vm venv ## instructions and packets of schedulers as modules, beside default's, in QEMU; into docs/kernels.md (5 min)
	$(BIN)/python -m checks.vm.cost --docs docs/kernels.md $(COST_ARGS)

# OLD is an id, or ID+GUEST; SAME_ARGS: --only TEXT, or --equal docs/results/data/equal.json.
same-packets: venv ## do this kernel and that of the id OLD send the same packets at the same times? (5 min)
	@$(MPTCPLAB) kernel compare $(OLD) current $(SAME_ARGS)

# OLD is a revision, an id, or ID+GUEST. AGAINST_ARGS: "--only default,start --pairs 20".
bench-against: venv kernel ## does this version take as little CPU time as OLD? Both in turn (8 min)
	@$(BIN)/python -m checks.bench_against $(OLD) $(AGAINST_ARGS)

# OLD is a revision or a kernel, as above. Each result is kept in BENCH_OUT, and Ctrl-C loses the present one alone.
bench-all: setup-bench venv-bench venv kernel ## every benchmark in one call, and a sweep of 10,000 runs (two hours)
	@scripts/bench-all.sh $(or $(OLD),9dcfebb) $(BENCH_OUT)

# OLD is a revision, or the directory of a checkout. COMMANDS_ARGS: "--only sweep", --list, --again; see CONTRIBUTING.md.
same-commands: venv-dev kernel ## do this version and OLD answer 600 command lines in the same way? (10 min, the first time)
	$(BIN)/python -m checks.same_commands $(OLD) $(COMMANDS_ARGS)

sweep-test: setup-test venv-dev kernel ## interrupt sweeps of 2000 runs, here and on a cluster, and compare them with another one (10 min)
	$(BIN)/python -m pytest --sweep-runs 2000 -k interrupted tests/engine/test_sweep.py tests/engine/test_cluster.py $(PYTEST_ARGS)

# COMPILERS_ARGS: "--compiler gcc-14,clang --only lossy".
compilers: setup-lint venv kernel ## is all the same with each C compiler of this machine, and what do analyzers find in our C? (10 min for each)
	$(BIN)/python -m checks.compilers $(COMPILERS_ARGS)

# SYSTEMS_ARGS: some of bookworm, trixie, root and user. PYTEST_ARGS is handed on.
systems-test: ## `make demo` and `make test` on fresh Debians, as root and as a user; needs root and debootstrap (hours)
	@scripts/systems-test.sh $(SYSTEMS_ARGS)

selftests: setup-selftests venv ## the kernel's own MPTCP selftests, upstream and with our framework
	$(MPTCPLAB) selftests $(SELFTESTS_ARGS)

oracle: setup venv ## at every decision of many runs, is it what the published scheduler would have picked? (6 min)
	$(BIN)/python -m checks.oracle $(ORACLE_ARGS)

# KERNEL is a name of mptcplab kernel list; CASES some names, instead of all.
cases: venv kernel ## run every public report again with every scheduler; into docs/cases (2 hours)
	$(MPTCPLAB) case run $(or $(CASES),all) $(if $(findstring command,$(origin KERNEL)),--kernel $(KERNEL))
	$(if $(findstring command,$(origin KERNEL)),,$(MPTCPLAB) case publish docs/cases)

# KERNEL is a name of mptcplab kernel list; PAPERS names experiments, instead of all.
papers-v095: venv ## run the papers' experiments on their own kernel, docs/out-of-tree.md: PAPERS="paasch2014" (hours)
	$(MPTCPLAB) papers run $(or $(PAPERS),all) --kernel $(if $(findstring command,$(origin KERNEL)),$(KERNEL),v0.95) $(PAPERS_ARGS)

papers-check: venv ## is what docs/results says still what experiments/ and the kernel are? PAPERS_ARGS=--strict (2 min)
	$(BIN)/python -m checks.papers_check $(PAPERS_ARGS)

# ADVISE_ARGS: "--quick --pairs 20 --cc cubic,bbr --seed 1"; see docs/advise.md.
advise-check: setup venv kernel ## is what advise says right, on random pairs of paths? Into docs/advise.md (hours)
	$(BIN)/python -m checks.advise_check --docs docs/advise.md $(ADVISE_ARGS)

# FIT_ARGS: "--scenarios 12 --seed 1"; see docs/fit.md.
fit-check: setup venv kernel ## does a fitted scenario behave like the original? Into docs/fit.md (half an hour)
	$(BIN)/python -m checks.fit_check --docs docs/fit.md $(FIT_ARGS)

cpu-test: setup-test setup-stock venv-dev kernel ## the same runs on four other processors, which QEMU emulates: the same bytes? (4 min)
	$(BIN)/python -m pytest --capture=no --processors tests/kernel/test_processors.py $(PYTEST_ARGS)

# BISECT_ARGS: "--count 10 --seed 101"; see docs/bisect.md.
bisect-check: setup venv kernel ## does mptcplab bisect find 100 faults that are put into Linux at random? (half an hour)
	$(BIN)/python -m checks.bisect_check $(BISECT_ARGS)

# LEADERBOARD_ARGS: "--count 600 --scheduler ./mine.c"; see docs/leaderboard.md.
leaderboard: setup venv kernel ## which scheduler is nearest to the best of each of 150 scenarios? Into docs/leaderboard.md (10 min)
	$(MPTCPLAB) leaderboard --docs docs/leaderboard.md $(LEADERBOARD_ARGS)

# EVALUATION_SET: the first 8 hexadecimal digits of the commit that changed earliest last, as a number; EVALUATION_ARGS:
# "--count 600"; see docs/earliest-evaluation.md.
earliest-evaluation: setup venv kernel ## does earliest keep its promises, on scenarios drawn after its design? Into docs/earliest-evaluation.md
	$(MPTCPLAB) leaderboard --set $(EVALUATION_SET) --scheduler earliest --chance 4 --out earliest-out $(EVALUATION_ARGS)
	$(BIN)/python -m checks.earliest_evaluation earliest-out docs/earliest-evaluation.md

# EVALUATION_ARGS: "--limit 20 --jobs 2"; see docs/earliest-evaluation.md.
earliest-cases: setup venv kernel ## and in the cases that its design did not see? Into docs/earliest-evaluation.md (hours)
	$(BIN)/python -m checks.earliest_cases docs/earliest-evaluation.md $(EVALUATION_ARGS)

lint: setup-lint venv-dev checkpatch shellcheck ## ruff, mypy --strict, checkpatch, shellcheck, the English of the pages
	$(BIN)/ruff format --check src checks tests benches docs/site
	$(BIN)/ruff check src checks tests benches docs/site
	$(BIN)/mypy
	$(BIN)/python -m checks.prose

setup: ## install the Debian packages that are missing (says which; needs root or sudo then)
	@scripts/setup.sh

setup-lint:
	@scripts/setup.sh --lint

setup-test:
	@scripts/setup.sh --test

setup-bench:
	@scripts/setup.sh --bench

setup-selftests:
	@scripts/setup.sh --selftests

setup-stock:
	@scripts/setup.sh --stock

setup-smp:
	@scripts/setup.sh --smp

setup-deb:
	@scripts/setup.sh --deb

setup-vm:
	@scripts/setup.sh --vm

setup-kernels: ## get the sources of other series of Linux that the lab can be built from: docs/kernels.md
	@scripts/setup.sh --kernels

venv: $(VENV)/.stamp ## the Python environment, from requirements.lock

venv-dev: $(VENV)/.stamp-dev

$(VENV)/.made:
	@python=$$(scripts/python.sh) && echo "Python environment: $(VENV), from $$python" && \
	    "$$python" -m venv --clear $(VENV)
	@touch $@

$(VENV)/.stamp: $(VENV)/.made requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp requirements-cluster.lock requirements-dev.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

venv-bench: $(VENV_BENCH)/.stamp

$(VENV_BENCH)/.stamp: requirements-bench.lock requirements.lock pyproject.toml
	@python=$$(scripts/python.sh) && echo "Python environment: $(VENV_BENCH), from $$python" && \
	    "$$python" -m venv --clear $(VENV_BENCH)
	$(VENV_BENCH)/bin/python -m pip install --quiet --require-hashes -r $<
	$(VENV_BENCH)/bin/python -m pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

wheel: setup venv kernel ## build dist/mptcplab-*.whl, with kernel and guest inside: needs no compiler where it is installed
	$(BIN)/python -m checks.wheel

wheel-test: setup-test venv-dev kernel ## install the wheel into an empty environment, with its packages, and compare its runs (1 min)
	$(BIN)/python -m pytest --wheel-packages tests/kernel/test_wheel.py $(PYTEST_ARGS)

deb: setup-deb venv ## build dist/mptcplab-schedulers-dkms_*.deb: our schedulers for the kernels that Debian has (docs/deploy.md)
	$(MPTCPLAB) scheduler package --out dist

kernel: venv ## build the lab kernel (nothing to do when nothing changed); KERNEL_SOURCE=ARCHIVE where Debian's is not
	@$(MPTCPLAB) kernel build $(CHOSEN_SOURCE)

checkpatch: $(CHECKPATCH) ## kernel style of our C files and patches
	@perl $(CHECKPATCH) --no-tree --strict --terse --quiet --no-summary --show-types \
	    --ignore $(MACROS) -f $(filter-out $(TRACEPOINT_FILES) $(COMPAT_FILES),$(filter kernel/%,$(C_FILES)))
	@perl $(CHECKPATCH) --no-tree --strict --terse --quiet --no-summary --show-types \
	    --ignore $(MACROS),LINUX_VERSION_CODE,CONSTANT_COMPARISON -f $(COMPAT_FILES)
	@perl $(CHECKPATCH) --no-tree --strict --terse --quiet --no-summary --show-types \
	    --ignore $(KERNEL_ONLY) -f $(filter guest/%,$(C_FILES))

shellcheck: ## our shell scripts
	shellcheck $(SHELL_FILES)

$(CHECKPATCH): $(KERNEL_SOURCE) | $(VENV)/.made
	@mkdir -p $(@D)
	@tar -xf $< -C $(@D) --strip-components=2 --wildcards '*/scripts/checkpatch.pl' \
	    '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	@touch $@

lock: ## write the lock files anew with the newest versions (needs uv)
	uv pip compile $(LOCK_OPTIONS) -o requirements.lock pyproject.toml
	$(call LAYER,cluster,requirements.lock,--extra cluster)
	$(call LAYER,dev,requirements.lock requirements-cluster.lock,--extra cluster --extra dev)
	$(call LAYER,bench,requirements.lock,--extra bench)

# A lock names the one below it in its first line, and has what that one lacks.
define LAYER
	echo "-r $(lastword $(2))" > requirements-$(1).lock
	uv pip compile $(LOCK_OPTIONS) $(3) $(addprefix -c ,$(2)) pyproject.toml \
	    $$(sed -n 's/==.*//p' $(2) | sed 's/^/--no-emit-package /') >> requirements-$(1).lock
endef

# One version of each for every Python: figures must not depend on which Python is installed.
LOCK_OPTIONS = --extra all --extra build --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
    --fork-strategy fewest --no-annotate --no-header --no-emit-index-url --no-emit-find-links

clean: ## remove what make made here (the kernel cache is kept: mptcplab's own, shared by clones)
	rm -rf $(VENV) $(VENV_BENCH) $(DEMO_OUT) $(SITE) $(SITE)-doctrees $(GALLERY) dist torture-out .checkpatch-camelcase* .pytest_cache .mypy_cache .ruff_cache .hypothesis
