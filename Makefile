# Builds and installs hipq with PGXS, and starts the demo and the tests.
#
#   make [install] [PG_CONFIG=...]   ordinary PGXS: build for, and install into, the server that pg_config belongs to; what is installed
#                                    has no symbols, unless INSTALL_STRIP_FLAG= is given; hipq-run (clients/run), hipq-top
#                                    (clients/top) and hipq-web (clients/web) go along
#   make demo | check [PG=17]        see tools/demo and test/run; both install what they need, also PostgreSQL itself
#   make web                         a server with jobs, and hipq-web to look at it (tools/web-demo)
#   make soak [SOAK_MINUTES=10] [SEED=...]   crashes the server under load for as long as one likes (docs/testing.md)
#   make fuzz [FUZZ_MINUTES=10] [SEED=...]   random statements by every kind of role
#   make asan | check-assert         tests on a server built from Debian's source package, with sanitizers, or with assertions
#   make bench [PEERS="graphile-worker pg-boss pgq table"] [JOBS=...] [RUNS=...]   measures, beside other queues (docs/performance.md)
#   make dist                        the source as build/hipq-VERSION.tar.gz (tools/dist)
#   make reference                   fills docs/reference/ from the catalogue (tools/reference)
#   make format | lint               clang-format in place; rooms, documents, clang-format and clang-tidy as checks
#
# WERROR=1 is the build that tests run on: warnings are errors, assertions are on, and so are the points at which tests make a
# process die (src/pg/point.hpp). CMakeLists.txt builds the same from the same lists, always without points.

EXTENSION = hipq
MODULE_big = hipq
# Of PostgreSQL: what is in them by other names is in src/pg/compat.hpp.
SUPPORTED = 15 16 17 18
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" hipq.control)

# The parts of the install script, in the order in which they are joined: the one list of them. Each has the name of its room
# in src/; views come after all that they read.
INSTALL_PARTS = schema pg limits catalog workers control schedules job retry dead_letters enqueue execute external queues setup testing \
    monitor statistics doctor $(INSTALL_VIEWS:%=%_views) rights
INSTALL_VIEWS = catalog control job retry dead_letters schedules external monitor statistics narrow

SOURCES := $(sort $(wildcard src/*.cpp src/*/*.cpp src/*/*/*.cpp))
ALL_HEADERS := $(wildcard src/*.hpp src/*/*.hpp src/*/*/*.hpp)
UNIT_SOURCES := $(sort $(wildcard test/unit/*/*.cpp))

INSTALL_SQL = hipq--$(EXTVERSION).sql
INSTALL_PART_FILES = $(INSTALL_PARTS:%=sql/install/%.sql)
DATA_built = $(INSTALL_SQL)
DATA = $(wildcard sql/hipq--*--*.sql)

# Every sql/<topic>.sql that is not an upgrade script is a test; so is every specification.
REGRESS = $(sort $(filter-out hipq--%,$(patsubst sql/%.sql,%,$(wildcard sql/*.sql))))
REGRESS_OPTS = --load-extension=hipq
ISOLATION = $(sort $(patsubst test/isolation/specs/%.spec,%,$(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=hipq

# HIPQ_SERVER is a server of tools/source-server, with flags of its own.
objdir = build/obj$(if $(WERROR),-werror)$(HIPQ_SERVER:%=-%)
OBJS = $(SOURCES:src/%.cpp=$(objdir)/%.o)
EXTRA_CLEAN = $(wildcard build/obj*) build/tidy

# Goals that work before PostgreSQL's headers are there, and so without PGXS.
tool_goals = demo web check soak fuzz asan check-assert bench dist reference format lint format-check room-check document-check tidy \
    tidy-sample print-%

ifneq (,$(filter $(tool_goals),$(MAKECMDGOALS)))

.PHONY: $(filter-out print-%,$(MAKECMDGOALS))

demo:
	@tools/demo

web:
	@tools/web-demo

check:
	@PG=$(PG) test/run

soak:
	@SOAK_MINUTES=$(or $(SOAK_MINUTES),10) SEED=$(SEED) test/run soak

reference:
	@tools/fill-reference

fuzz:
	@FUZZ_MINUTES=$(or $(FUZZ_MINUTES),10) SEED=$(SEED) test/run fuzz

# What crashes processes on purpose, or measures, is for the packaged server.
asan:
	@HIPQ_SERVER=asan test/run regress isolation pgtap sanitized

check-assert:
	@HIPQ_SERVER=assert test/run regress isolation pgtap sanitized installcheck

bench:
	@bench/drain

dist:
	@tools/dist

lint: room-check document-check format-check tidy-sample tidy

# The value of a variable, for CMakeLists.txt and test/run.
print-%:
	@echo '$($*)'

RUN_SOURCES := $(sort $(wildcard clients/run/src/*.cpp clients/run/src/*/*.cpp))
TOP_SOURCES := $(sort $(wildcard clients/top/src/*.cpp clients/top/src/*/*.cpp))
WEB_SOURCES := $(sort $(wildcard clients/web/src/*.cpp clients/web/src/*/*.cpp))
CLIENT_HEADERS := $(wildcard clients/run/src/*/*.hpp clients/top/src/*/*.hpp clients/web/src/*/*.hpp clients/cpp/include/hipq/*.hpp clients/cpp/include/hipq/client/*.hpp)
CLIENT_TESTS := $(wildcard clients/*/test/*.cpp test/clients/*.cpp)
formatted = $(SOURCES) $(UNIT_SOURCES) $(ALL_HEADERS) $(wildcard tools/clang-tidy/*.cpp) $(RUN_SOURCES) $(TOP_SOURCES) $(WEB_SOURCES) $(CLIENT_HEADERS) \
    $(CLIENT_TESTS)

format:
	clang-format -i $(formatted)

room-check:
	@tools/check-rooms

document-check:
	@tools/check-documents

format-check:
	@clang-format --dry-run -Werror $(formatted)
	@echo "clang-format: $(words $(formatted)) files are formatted"

# One stamp per source, so that only what changed is looked at again. Clang does not know all of gcc's flags: it gets those that matter.
PG_CONFIG ?= pg_config
tidy_flags = -std=c++20 -Wall -Wextra -Wshadow -D_GNU_SOURCE -DHIPQ_VERSION='"$(EXTVERSION)"' -DHIPQ_POINTS -Isrc -isystem $(shell $(PG_CONFIG) --includedir-server)

# As in a compilation (below), what is not a rule starts with the compiled prelude; if the clang of this clang-tidy is there to compile it.
tidy_bin := $(dir $(realpath $(shell command -v clang-tidy)))
tidy_clang := $(wildcard $(tidy_bin)clang++)
tidy_prelude = $(if $(tidy_clang),build/tidy/prelude.pch)
with_tidy_prelude = $(if $(filter src/core/%,$<),,$(tidy_prelude:%=-include-pch %))

# What keeps checks out of others' headers, if those of clang-tidy are there to compile it.
tidy_include := $(if $(wildcard $(tidy_bin)../include/clang-tidy/ClangTidyCheck.h),$(tidy_bin)../include)
tidy_own_files = $(if $(tidy_include),build/tidy/own_files_only.so)
run_tidy = clang-tidy --quiet $(tidy_own_files:%=--load=% --checks=hipq-own-files-only) $< -- $(tidy_flags) $(with_tidy_prelude)

# hipq-run, where what it needs is there.
tidied_run_sources = $(if $(wildcard /usr/include/nlohmann/json.hpp),$(if $(wildcard /usr/include/curl/curl.h /usr/include/*/curl/curl.h),$(RUN_SOURCES)))
tidy_run_flags = -std=c++20 -Wall -Wextra -Wshadow -DHIPQ_VERSION='"$(EXTVERSION)"' -Iclients/run/src -Iclients/cpp/include \
    -isystem $(shell $(PG_CONFIG) --includedir)

# So is hipq-top.
tidied_top_sources = $(if $(wildcard /usr/include/nlohmann/json.hpp),$(if $(wildcard /usr/include/curses.h),$(TOP_SOURCES)))
tidy_top_flags = $(subst clients/run,clients/top,$(tidy_run_flags))

# And hipq-web.
tidied_web_sources = $(if $(wildcard /usr/include/httplib.h),$(if $(wildcard /usr/include/nlohmann/json.hpp),$(WEB_SOURCES)))
tidy_web_flags = -std=c++20 -Wall -Wextra -Wshadow -DHIPQ_VERSION='"$(EXTVERSION)"' -DHIPQ_PAGE='""' -Iclients/web/src -Iclients/metrics/src -Iclients/cpp/include \
    -isystem $(shell $(PG_CONFIG) --includedir) $(shell pkg-config --cflags cpp-httplib 2>/dev/null)

tidy: $(SOURCES:src/%.cpp=build/tidy/%.ok) $(tidied_run_sources:clients/run/src/%.cpp=build/tidy/run/%.ok) \
    $(tidied_top_sources:clients/top/src/%.cpp=build/tidy/top/%.ok) $(tidied_web_sources:clients/web/src/%.cpp=build/tidy/web/%.ok)
	@echo "clang-tidy: $(words $(SOURCES) $(tidied_run_sources) $(tidied_top_sources) $(tidied_web_sources)) files are clean"

build/tidy/top/%.ok: clients/top/src/%.cpp $(CLIENT_HEADERS) .clang-tidy Makefile $(tidy_own_files)
	@mkdir -p $(@D)
	@echo "clang-tidy $<"
	@clang-tidy --quiet $(tidy_own_files:%=--load=% --checks=hipq-own-files-only) $< -- $(tidy_top_flags) && touch $@

build/tidy/run/%.ok: clients/run/src/%.cpp $(CLIENT_HEADERS) .clang-tidy Makefile $(tidy_own_files)
	@mkdir -p $(@D)
	@echo "clang-tidy $<"
	@clang-tidy --quiet $(tidy_own_files:%=--load=% --checks=hipq-own-files-only) $< -- $(tidy_run_flags) && touch $@

build/tidy/web/%.ok: clients/web/src/%.cpp $(CLIENT_HEADERS) .clang-tidy Makefile $(tidy_own_files)
	@mkdir -p $(@D)
	@echo "clang-tidy $<"
	@clang-tidy --quiet $(tidy_own_files:%=--load=% --checks=hipq-own-files-only) $< -- $(tidy_web_flags) && touch $@

build/tidy/prelude.pch: src/pg/postgres.hpp
	@mkdir -p $(@D)
	@echo '#include "pg/postgres.hpp"' > $(@:.pch=.hpp)
	@$(tidy_clang) $(tidy_flags) -x c++-header -o $@ $(@:.pch=.hpp)

build/tidy/own_files_only.so: tools/clang-tidy/own_files_only.cpp
	@mkdir -p $(@D)
	@$(CXX) -std=c++17 -O1 -fPIC -fno-rtti -shared -Wall -Wextra -isystem $(tidy_include) -o $@ $<

build/tidy/%.ok: src/%.cpp $(ALL_HEADERS) .clang-tidy Makefile $(tidy_prelude) $(tidy_own_files)
	@mkdir -p $(@D)
	@echo "clang-tidy $<"
	@$(run_tidy) && touch $@

# Whether clang-tidy, run like this, finds what it is there for: the checks that the sample names, no others.
tidy-sample: tools/clang-tidy/sample.cpp $(tidy_prelude) $(tidy_own_files)
	@$(run_tidy) 2>/dev/null | sed -n 's/.*\[\([a-zA-Z.-]*\),.*\]$$/\1/p' | sort -u > build/tidy/found
	@sed -n 's|.*// finds: ||p' $< | tr ' ' '\n' | sort -u | diff - build/tidy/found
	@echo "clang-tidy: finds all $$(wc -l < build/tidy/found) kinds of trouble in its sample"

# `make install check`: what is not a tool's goal is made by a make that includes PGXS.
other_goals = $(filter-out $(tool_goals),$(MAKECMDGOALS))
ifneq (,$(other_goals))
$(other_goals):
	@$(MAKE) --no-print-directory $@
endif

else # PGXS

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq (,$(wildcard $(PGXS)))
$(error PostgreSQL's extension headers were not found by "$(PG_CONFIG)": set PG_CONFIG, or run tools/setup demo)
endif
server_version := $(shell $(PG_CONFIG) --version)
ifeq (,$(filter $(SUPPORTED),$(firstword $(subst ., ,$(word 2,$(server_version))))))
$(error hipq is for PostgreSQL $(SUPPORTED), not for $(server_version))
endif

# PGXS passes no C++ flags to bitcode, so there is none.
override with_llvm = no
# PostgreSQL's own macros count in volatile variables, which clang has something against.
# GCC 13 and later take a reference to a part of one argument for a dangling one if another argument is a temporary; clang does not
# know that warning.
PG_CXXFLAGS = -std=c++20 -Wall -Wextra -Wshadow -Wno-register -Wno-unknown-warning-option -Wno-dangling-reference -Wno-deprecated-volatile -fvisibility=hidden $(if $(HIPQ_SERVER),-O1 -g1,-O2)
PG_CPPFLAGS = -Isrc -DHIPQ_VERSION='"$(EXTVERSION)"'
ifdef WERROR
# GCC 16 warns of parts of a map that is not made yet when a member after it throws.
PG_CXXFLAGS += $(if $(HIPQ_SERVER),,-Werror -Wno-error=maybe-uninitialized)
PG_CPPFLAGS += -DUSE_ASSERT_CHECKING -DHIPQ_POINTS
endif
# It links with the C compiler.
SHLIB_LINK += -lstdc++
# The library of tests keeps its symbols, for debuggers; without them it is 30 times smaller.
INSTALL_STRIP_FLAG = $(if $(WERROR),,-s)

include $(PGXS)

# Warnings are for our own code: a folder that is given as -isystem too is searched as one of the system's.
compile = $(CXX) $(CXXFLAGS) $(CPPFLAGS) -isystem $(includedir_server)

# Two thirds of the time of a compilation are PostgreSQL's headers: all sources but the rules, which know nothing of PostgreSQL,
# start with the compiled prelude.
prelude = $(objdir)/prelude.hpp
with_prelude = $(if $(filter src/core/%,$<),,-include $(prelude))

$(prelude).gch: src/pg/postgres.hpp $(objdir)/.flags
	@mkdir -p $(@D)
	@echo '#include "pg/postgres.hpp"' > $(prelude)
	$(compile) -x c++-header -o $@ $(prelude)

$(objdir)/%.o: src/%.cpp $(prelude).gch $(objdir)/.flags
	@mkdir -p $(@D)
	$(compile) $(with_prelude) -MMD -MP -c -o $@ $<

# Another server or other flags: everything is compiled again.
build_flags = $(shell $(PG_CONFIG) --version) $(compile)
$(objdir)/.flags: force-look
	@mkdir -p $(@D)
	@echo '$(build_flags)' | cmp -s - $@ || echo '$(build_flags)' > $@

# A source that was removed must leave the library too, and so must the objects of the other kind of build.
$(MODULE_big)$(DLSUFFIX): build/obj/.linked
build/obj/.linked: force-look
	@mkdir -p $(@D)
	@echo '$(OBJS)' | cmp -s - $@ || echo '$(OBJS)' > $@

$(INSTALL_SQL): $(INSTALL_PART_FILES) hipq.control Makefile
	@{ printf '%s\n' '\echo Use "CREATE EXTENSION hipq" to load this file. \quit' && cat $(INSTALL_PART_FILES); } > $@.new && mv $@.new $@

# hipq-run, for workers outside the server, is made by a Makefile of its own. It needs JSON for C++ (nlohmann-json3-dev) and libcurl
# (libcurl4-openssl-dev); without them, or with WITHOUT_RUN=1, it is left out.
run_headers := $(if $(WITHOUT_RUN)$(HIPQ_SERVER),,$(shell printf '#if __has_include(<nlohmann/json.hpp>) && __has_include(<curl/curl.h>) && __has_include(<libpq-fe.h>)\nfound\n#endif\n' | \
    $(CXX) -x c++ -E -I'$(includedir)' - 2>/dev/null | grep -x found))
ifneq (,$(run_headers))
all: run-all
install: run-install
uninstall: run-uninstall
else
all: run-left-out
endif
clean: run-clean
# Not both at once, in which case each would compile.
run-install: run-all

run-all run-install run-uninstall run-clean:
	@$(MAKE) --no-print-directory -C clients/run $(@:run-%=%) PG_CONFIG='$(shell command -v $(PG_CONFIG))'

run-left-out:
	@echo 'hipq-run is not built: $(if $(WITHOUT_RUN)$(HIPQ_SERVER),it is not wanted,nlohmann/json.hpp, curl/curl.h or libpq-fe.h is missing)'

# hipq-top, for the terminal, likewise. It needs JSON for C++ and ncurses (libncurses-dev).
top_headers := $(if $(WITHOUT_RUN)$(HIPQ_SERVER),,$(shell printf '#if __has_include(<nlohmann/json.hpp>) && __has_include(<curses.h>) && __has_include(<libpq-fe.h>)\nfound\n#endif\n' | \
    $(CXX) -x c++ -E -I'$(includedir)' - 2>/dev/null | grep -x found))
ifneq (,$(top_headers))
all: top-all
install: top-install
uninstall: top-uninstall
else
all: top-left-out
endif
clean: top-clean
top-install: top-all

top-all top-install top-uninstall top-clean:
	@$(MAKE) --no-print-directory -C clients/top $(@:top-%=%) PG_CONFIG='$(shell command -v $(PG_CONFIG))'

top-left-out:
	@echo 'hipq-top is not built: $(if $(WITHOUT_RUN)$(HIPQ_SERVER),it is not wanted,nlohmann/json.hpp, curses.h or libpq-fe.h is missing)'

# hipq-web needs cpp-httplib (libcpp-httplib-dev) and OpenSSL (libssl-dev) for it; WITHOUT_WEB=1, or WITHOUT_RUN=1, leaves it out.
web_headers := $(if $(WITHOUT_WEB)$(WITHOUT_RUN)$(HIPQ_SERVER),,$(shell pkg-config --exists cpp-httplib 2>/dev/null && printf '#if __has_include(<nlohmann/json.hpp>) && __has_include(<httplib.h>) && __has_include(<openssl/hmac.h>) && __has_include(<libpq-fe.h>)\nfound\n#endif\n' | \
    $(CXX) -x c++ -E -I'$(includedir)' - 2>/dev/null | grep -x found))
ifneq (,$(web_headers))
all: web-all
install: web-install
uninstall: web-uninstall
else
all: web-left-out
endif
clean: web-clean
web-install: web-all

web-all web-install web-uninstall web-clean:
	@$(MAKE) --no-print-directory -C clients/web $(@:web-%=%) PG_CONFIG='$(shell command -v $(PG_CONFIG))'

web-left-out:
	@echo 'hipq-web is not built: $(if $(WITHOUT_WEB)$(WITHOUT_RUN)$(HIPQ_SERVER),it is not wanted,pkg-config, nlohmann/json.hpp, httplib.h, openssl/hmac.h or libpq-fe.h is missing)'

.PHONY: force-look run-all run-install run-uninstall run-clean run-left-out top-all top-install top-uninstall top-clean top-left-out \
    web-all web-install web-uninstall web-clean web-left-out
force-look:

-include $(OBJS:.o=.d)

endif
