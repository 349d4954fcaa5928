# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
#
# One entry for everything a person or CI does with this tree; `make help` lists it.
# The work itself is in tools/setup, tools/check and the Makefiles of the parts.

ifneq ($(word 2,$(CURDIR)),)
$(error the path of this tree has a space in it, which make and the kernel's build cannot handle: $(CURDIR))
endif

BUILD := $(CURDIR)/build
O := $(BUILD)/user
include tools/setup/paths.mk
export PREFIX

PARTS := userspace userspace/apps tools/dsmctl tools/dsmrun tools/bench

need = @tools/setup/need

.PHONY: all module user demo bench check check-all check-all-report quick unit model model-deep lint \
	debug-kernel install uninstall clean help
.DEFAULT_GOAL := all

all: module user

module:
	$(need) module $(if $(filter 6.1 6.12 all,$(KVER)),kernels)
	+@KVER="$(KVER)" DEBUG="$(DEBUG)" MAKE="$(MAKE)" tools/setup/build-module

user:
	$(need) user
	@mkdir -p $(O)/bin $(O)/examples
	+@for d in $(PARTS) tools/demo; do $(MAKE) -s --no-print-directory -C $$d O=$(O) || exit; done

demo:
	$(need) module user guest kernels
	+@$(MAKE) --no-print-directory KVER=6.12 module user
	@tools/demo/run

bench:
	$(need) module user guest kernels bench
	+@$(MAKE) --no-print-directory KVER=$(or $(KVER),all) module user
	@tools/bench/run $(if $(KVER),--kernel $(KVER)) $(if $(FULL),--full) \
		$(if $(JSON),--json $(JSON)) --plots $(BUILD)/bench $(if $(DOC),--document)

check:
	$(need) module user guest kernels unit ksft ssh parmacs apps lint debug-kernel bench
	@tools/check/run check

check-all:
	$(need) module user guest kernels unit ksft ssh parmacs apps lint debug-kernel bench
	@tools/check/all $(SHARD)

check-all-report:
	@tools/check/all --report

quick:
	$(need) module user guest kernels unit ksft
	@tools/check/run quick

unit:
	$(need) unit
	@tools/check/run unit

model:
	$(need) unit
	@tools/check/run model

model-deep:
	$(need) unit
	@tools/check/run model-deep

lint:
	$(need) module lint
	@tools/check/run lint

debug-kernel:
	$(need) module debug-kernel
	@tools/setup/debug-kernel
	+@$(MAKE) --no-print-directory KVER=debug module

install: all
	+@for d in $(PARTS); do $(MAKE) --no-print-directory -C $$d O=$(O) install || exit; done
	@DESTDIR="$(DESTDIR)" tools/setup/install-module

uninstall:
	+@for d in $(PARTS); do $(MAKE) --no-print-directory -C $$d O=$(O) uninstall || exit; done
	@DESTDIR="$(DESTDIR)" tools/setup/install-module --remove

clean:
	rm -rf $(BUILD)

help:
	@printf '%s\n' \
	'make                module, library and tools, for the running kernel if its headers' \
	'                    are here, else for every installed Debian kernel with headers' \
	'make demo           four guests compute on one shared memory (about 5 minutes)' \
	'make bench          times of everything beside raw verbs, in guests (at most 20 minutes);' \
	'                    JSON=FILE writes them down, FULL=1 takes all settings, DOC=1 puts' \
	'                    tables and plots into Documentation/performance.rst' \
	'make check          tests of everything; last line "N passed, N failed" (at most 45 minutes)' \
	'make check-all      the same with all settings, long runs and all of 6.1, in 36 shards of at most' \
	'                    40 minutes; SHARD=2/36: one; make check-all-report: what has run' \
	'make quick          the part of check that fits into 8 minutes' \
	'make unit           core units on the host, under ASan and UBSan' \
	'make model          the protocol explorer, on the host' \
	'make model-deep     the same for longer, every program under every policy that it applies to' \
	'make lint           W=1 and sparse builds, checkpatch, kernel-doc, layers, licences' \
	'make debug-kernel   build (once) the debug kernel for dsmvm --kernel debug' \
	'make install        to PREFIX (now $(PREFIX)), the module for the kernels built' \
	'make uninstall      remove what install put there' \
	'make clean          remove build/' \
	'' \
	'KVER=6.1 | 6.12 | debug | <release> | all   kernels to build the module for' \
	'DEBUG=1                                     compile protocol assertions in' \
	'DSM_NO_INSTALL=1                            print missing packages, do not install' \
	'' \
	'tools/dsmvm run -n 4 -- PROGRAM             run a program on four guests' \
	'tools/dsmvm shell -n 2                      a prompt on a guest of a cluster' \
	'' \
	'Results are below build/: build/<kernel>/dsm.ko, build/user/, build/logs/.'
