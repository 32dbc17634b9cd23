# SPDX-License-Identifier: Apache-2.0
# A thin front: meson does the work.
#   make demo      install packages (as root), build, diagnose a bundled incident
#   make test      build and run every check that a change must pass
#   make           build only, into build/

BUILD ?= build

.PHONY: all deps demo test nightly bench install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESONFLAGS)

deps:
	@tools/install-packages build

demo: deps all
	@BUILD=$(BUILD) tools/demo

test:
	@tools/install-packages test
	@tools/run-checks $(BUILD)

nightly:
	@tools/install-packages test
	@tools/run-checks --nightly $(BUILD)

bench: all
	@BUILD=$(BUILD) bench/run

install: all
	@meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-*
