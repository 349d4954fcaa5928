# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
#
# Where things are installed, for the Makefiles of all parts. A path of several words would be removed as several
# files, and a relative one would be another place for each part.

PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib

ifneq ($(words $(PREFIX)),1)
$(error PREFIX is one path without a space, not '$(PREFIX)')
endif
ifneq ($(words $(DESTDIR)),$(if $(DESTDIR),1,0))
$(error DESTDIR is one path without a space, not '$(DESTDIR)')
endif
ifneq ($(filter-out /%,$(PREFIX) $(DESTDIR)),)
$(error PREFIX and DESTDIR begin with a slash, unlike '$(filter-out /%,$(PREFIX) $(DESTDIR))')
endif

# The loader looks into these by itself.
RPATH := $(if $(filter /usr/local/lib /usr/lib /lib,$(LIBDIR)),,-Wl,-rpath,$(LIBDIR))
