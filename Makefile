# The thin front of the build: Meson and Ninja do the work. `make help` lists the targets.
# ARGS="…" reaches tests/run (make check) and the fuzz and bench runners.

# ARCH=arm64 makes them for that architecture, and `check` its lab tests only.

ARCH ?=
BUILD ?= build$(ARCH:%=-%)
PREFIX ?= /usr/local
MESON_FLAGS ?=

# What Meson has to know to build for ARCH; nothing without one.
CROSS = $(if $(ARCH),root=`scripts/foreign-root $(ARCH)` && set -- --cross-file "$$root.ini" \
	--cross-file scripts/cross-$(ARCH).ini &&)

.DEFAULT_GOAL := all
.PHONY: all configure lab-programs packages demo check check-all asan fuzz bench lint install clean help

all: configure
	@ninja -C $(BUILD)

# With ARCH: what lab tests take, which tests/run makes when it needs it.
lab-programs: configure
	@ninja -C $(BUILD) lab-programs

configure: packages
	@test -f $(BUILD)/build.ninja || { $(CROSS) meson setup $(BUILD) --prefix=$(PREFIX) "$$@" $(MESON_FLAGS) && \
		echo '$(PREFIX)' >$(BUILD)/.prefix; }

packages:
	@scripts/install-packages
	@$(if $(ARCH),scripts/install-packages $(ARCH))

demo: all
	@KVMPROF_BUILD=$(abspath $(BUILD)) scripts/demo

check: all
	@tests/run --build $(BUILD) $(ARGS)

check-all: all
	@tests/run --build $(BUILD) --all $(ARGS)

asan: packages
	@test -f build-asan/build.ninja || CC=clang meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false --buildtype=debugoptimized
	@ninja -C build-asan
	@tests/run --build build-asan --only unit,golden $(ARGS)

fuzz: packages
	@test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false --buildtype=debugoptimized
	@ninja -C build-fuzz
	@scripts/fuzz build-fuzz $(ARGS)

bench: all
	@bench/run --build $(BUILD) $(ARGS)

lint: packages
	@scripts/lint

# With the PREFIX of the build nothing is written there: root would own it, in a build of another's.
install: all
	@grep -qx '$(PREFIX)' $(BUILD)/.prefix 2>/dev/null || meson configure $(BUILD) --prefix=$(PREFIX) >/dev/null
	@ninja -C $(BUILD)
	@meson install -C $(BUILD) --no-rebuild
	@grep -qx '$(PREFIX)' $(BUILD)/.prefix 2>/dev/null || echo '$(PREFIX)' >$(BUILD)/.prefix

clean:
	rm -rf build build-arm64 build-asan build-fuzz

help:
	@echo 'make            build; with ARCH=arm64 for arm64, in build-arm64'
	@echo 'make demo       profile a guest in the lab, write a flame graph and a perf.data'
	@echo 'make check      build, then unit, golden and lab tests'
	@echo 'make check-all  the slow lab tests, too'
	@echo 'make asan       unit and golden tests under ASan and UBSan'
	@echo 'make fuzz       each fuzz target for two minutes (FUZZ_SECONDS=N for another time)'
	@echo 'make bench      the figures of doc/results.md'
	@echo 'make lint       layers, headers, style, static analysis'
	@echo 'make install    install under PREFIX ($(PREFIX)); DESTDIR is honoured'
