# streamhouse: build, install and test, PGXS style.
#
#   make && make install && make installcheck    with PG_CONFIG, as every PGXS extension
#   make demo, make test                         on a fresh Debian 12, set up everything first
#
# WERROR=1 turns warnings into errors (CI).

EXTENSION = streamhouse
EXTVERSION = 1.0
MODULE_big = streamhouse
DATA = streamhouse--1.0.sql

top := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
SRCS := $(sort $(patsubst $(top)/%,%,$(wildcard $(top)/src/*.c $(top)/src/*/*.c $(top)/src/*/*/*.c)))
OBJS = $(SRCS:.c=.o)

# Sources include each other from src/ ("lake/plan.h"); only the SQL-callable
# symbols are visible, so no name can clash with the server's.
PG_CPPFLAGS = -I$(top)/src -I$(libpq_srcdir) '-DPGDLLEXPORT=__attribute__((visibility("default")))'
PG_CFLAGS = -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers \
	-Wno-clobbered -MMD -MP -O2 -ftree-vectorize
ifdef WERROR
PG_CFLAGS += -Werror
endif
SHLIB_LINK = $(libpq) -lzstd -llz4 -lsnappy -lz -lbz2 -lroaring

# setup makes the server "lake" that the other tests use
REGRESS = setup $(filter-out setup,$(patsubst $(top)/sql/%.sql,%,$(wildcard $(top)/sql/*.sql)))
REGRESS_OPTS = --inputdir=$(top) --encoding=UTF8

# LLVM bitcode of the whole library is of no use: nothing of it is inlined into queries
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Debian's server is built without dependency tracking
-include $(OBJS:.o=.d)

# object folders for builds outside the source tree
ifneq ($(top),$(CURDIR))
$(foreach d,$(sort $(dir $(OBJS))),$(shell mkdir -p $(d)))
endif
EXTRA_CLEAN = $(OBJS:.o=.d)

# ---- on a fresh Debian 12, as root or with sudo ----

.PHONY: demo demo-stop test stress bench isolationcheck unit check-tree

demo:
	$(top)/demo/run

demo-stop:
	$(top)/demo/stop

test:
	$(top)/test/run

# a random load on the sync, with kills: STRESS_SECONDS, STRESS_SEED (printed when it is not given)
stress:
	STRESS_SECONDS=$${STRESS_SECONDS:-600} STRESS_SEEDS=$${STRESS_SEEDS:-1} $(top)/test/run stress

bench:
	$(top)/test/bench/run

# test/isolation: sessions that write and read at the same time
isolationcheck:
	$(pg_isolation_regress_installcheck) --inputdir=$(top)/test/isolation --outputdir=output_iso \
		$(patsubst $(top)/test/isolation/specs/%.spec,%,$(sort $(wildcard $(top)/test/isolation/specs/*.spec)))

unit:
	$(MAKE) -C $(top)/test/unit check

check-tree:
	$(top)/test/check-tree
