# Builds and installs hipq with PGXS, and starts the demo and the tests.
#
#   make [install] [PG_CONFIG=...]   ordinary PGXS: builds for, and installs into, the server of
#                                    pg_config; strips symbols, unless INSTALL_STRIP_FLAG= is given;
#                                    includes the programs of clients/, unless PROGRAMS= is given
#                                    (PROGRAMS=web: only that one); UNITY=0 compiles file by file
#   make extension-image DESTDIR=... the extension as CloudNativePG mounts it from an image: lib/ and
#                                    share/extension/ (docs/how-to/kubernetes.md)
#   make demo | check [PG=17]        see tools/demo and test/run; both install what they need, also
#                                    PostgreSQL itself
#   make check-all                   every test: other versions, assertions, sanitizers, packages;
#                                    takes hours
#   make steady FILE=... [TIMES=50]  runs one test file many times under load, and prints how often
#                                    it failed
#   make demo-shards                 a queue on three servers: one is killed, slots move
#                                    (tools/demo-shards)
#   make web                         a server with jobs, and hipq-web for it (tools/web-demo)
#   make soak [SOAK_MINUTES=10] [SEED=...]   crashes the server under load for as long as you like
#                                    (docs/testing.md)
#   make fuzz [FUZZ_MINUTES=10] [SEED=...]   random statements by every kind of role
#   make asan | check-assert         tests on a server built from Debian's source package, with
#                                    sanitizers, or with assertions
#   make coverage [SUITES=...]       which lines and branches of each room the unit tests run, and these
#                                    suites (tools/coverage)
#   make bench [PEERS="table graphile-worker pg-boss pgq"] [JOBS=...] [RUNS=...]   benchmarks, also of
#                                    other queues (docs/performance.md)
#   make dist                        the source as build/hipq-VERSION.tar.gz and .zip (tools/dist)
#   make site                        a searchable site of docs/, in build/site (tools/site/build)
#   make reference                   fills docs/reference/ from the catalogue (tools/reference)
#   make compile_commands.json       how clang reads each source, for editors; `make` writes it, too
#   make format | lint               clang-format in place; checks of rooms, documents, English,
#                                    clang-format and clang-tidy; DEEP=1: slower and deeper
#
# WERROR=1 is the test build: warnings are errors, assertions are on, and so are the points at which
# tests make a process die (src/pg/point.hpp). CMakeLists.txt builds the same from the same lists,
# always without points.

EXTENSION = hipq
MODULE_big = hipq
# PostgreSQL versions; src/pg/compat.hpp has what differs between them.
SUPPORTED = 15 17 18 19
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" hipq.control)

# The parts of the install script, in the order in which they are joined; this is the only list of
# them. Each has the name of its room in src/, or is in a folder of that name; views come after
# everything that they read.
INSTALL_PARTS = schema pg claim catalog shared admin/control admin/schedules job flow retry admin/dead_letters enqueue execute external admin/queues admin/setup \
    shards/shards shards/permits nodes testing monitor/monitor monitor/statistics monitor/doctor $(INSTALL_VIEWS:%=%_views) rights
INSTALL_VIEWS = catalog admin/control job flow retry admin/dead_letters admin/schedules external shards/shards monitor/monitor monitor/statistics nodes monitor/narrow

SOURCES := $(sort $(wildcard src/*.cpp src/*/*.cpp src/*/*/*.cpp))
ALL_HEADERS := $(wildcard src/*.hpp src/*/*.hpp src/*/*/*.hpp)
UNIT_SOURCES := $(sort $(wildcard test/unit/*/*.cpp))
CLIENT_SOURCES := $(sort $(wildcard clients/*/src/*.cpp clients/*/src/*/*.cpp))
CLIENT_HEADERS := $(wildcard clients/*/src/*/*.hpp clients/cpp/include/hipq/*.hpp clients/cpp/include/hipq/client/*.hpp)
CLIENT_TESTS := $(wildcard clients/*/test/*.cpp test/clients/*.cpp)

INSTALL_SQL = hipq--$(EXTVERSION).sql
INSTALL_PART_FILES = $(INSTALL_PARTS:%=sql/install/%.sql)
DATA_built = $(INSTALL_SQL) $(UPDATE_SQL)

# One update script from each release at which a file of sql/update/ starts.
UPDATE_CHANGES = $(wildcard sql/update/*--*.sql)
UPDATE_FROM = $(foreach file,$(notdir $(UPDATE_CHANGES)),$(firstword $(subst --, ,$(file))))
UPDATE_SQL = $(UPDATE_FROM:%=hipq--%--$(EXTVERSION).sql)

# Every sql/<topic>.sql is a test, and every specification is one, too.
REGRESS = $(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql)))
REGRESS_OPTS = --load-extension=hipq
ISOLATION = $(sort $(patsubst test/isolation/specs/%.spec,%,$(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=hipq

PG_CONFIG ?= pg_config

# With ccache, another checkout of the same source compiles nothing, wherever it is.
# CCACHE_DISABLE=1 turns this off.
ccache := $(if $(shell command -v ccache),CCACHE_BASEDIR=$(CURDIR) CCACHE_NOHASHDIR=1 ccache)

# The programs: clients/NAME makes hipq-NAME, if the headers and the packages of pkg-config (.pc)
# that it needs are installed.
PROGRAMS ?= run top web
needs_run = nlohmann/json.hpp libpq-fe.h curl/curl.h
needs_top = nlohmann/json.hpp libpq-fe.h curses.h
needs_web = nlohmann/json.hpp libpq-fe.h httplib.h openssl/hmac.h cpp-httplib.pc

libpq_headers := $(shell $(PG_CONFIG) --includedir 2>/dev/null)
needed = $(sort $(foreach program,$(PROGRAMS),$(needs_$(program))))
found_headers = printf '\#if __has_include(<%s>)\n%s\n\#endif\n' $(foreach header,$(filter-out %.pc,$(needed)),$(header) $(header)) | \
    $(CXX) -x c++ -E -P -I'$(libpq_headers)' -
found_packages = for package in $(filter %.pc,$(needed)); do pkg-config --exists $${package%.pc} && echo $$package; done
not_found := $(filter-out $(shell { $(found_headers); $(found_packages); } 2>/dev/null),$(needed))

# Why a program is left out; empty if it is built.
why_not = $(or $(if $(HIPQ_SERVER),it is not wanted),$(addsuffix $(space)is missing,$(filter $(not_found),$(needs_$1))))
space := $() $()
comma := ,
built_programs := $(foreach program,$(PROGRAMS),$(if $(call why_not,$(program)),,$(program)))

# A room is one translation unit: its headers and PostgreSQL's are then read once, instead of once
# for each source, and a build takes less than a third of the processor time. Rooms that contain
# only folders are one unit for each folder. UNITY=0 compiles each source by itself, which checks
# that it includes what it uses (make check-all).
source_names = $(SOURCES:src/%.cpp=%)
divided_rooms = shared admin
unit_of_path = $(word 1,$1)$(if $(filter $(divided_rooms),$(word 1,$1)),/$(word 2,$1))
units := $(if $(filter 0,$(UNITY)),$(source_names),$(sort $(foreach name,$(source_names),$(call unit_of_path,$(subst /, ,$(name))))))
sources_of = $(patsubst %,%.cpp,$(filter $1 $1/%,$(source_names)))

# How clang reads a source, in an editor and for clang-tidy: the important ones of gcc's flags.
server_headers := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)
clang_flags = -std=c++20 -Wall -Wextra -Wshadow -DHIPQ_VERSION='"$(EXTVERSION)"' $(if $(filter clients/%,$1),$(call client_flags,$(word 2,$(subst /, ,$1))),$(own_flags))
own_flags = -D_GNU_SOURCE -DHIPQ_POINTS -Isrc -isystem $(server_headers)
client_flags = -Iclients/$1/src -Iclients/program -Iclients/metrics/src -Iclients/cpp/include -isystem $(libpq_headers) $(httplib_flags) -DHIPQ_PAGE='""'
httplib_flags := $(shell pkg-config --cflags cpp-httplib 2>/dev/null)
test_flags = -DHIPQ_INSTALL_SCRIPTS='"sql/install"' -DHIPQ_REFERENCE='"docs/reference"'

# For editors, each source by itself.
define newline


endef
command = {"directory": "$(CURDIR)", "file": "$1", "command": "clang++ $(subst ",\",$(strip $(call clang_flags,$1) $(if $(filter test/%,$1),$(test_flags)))) -c $1"}
commands = $(foreach source,$(SOURCES) $(UNIT_SOURCES) $(CLIENT_SOURCES) $(wildcard clients/*/test/*.cpp),$(call command,$(source)))

.DEFAULT_GOAL = all
# Written only when it changes, so that the user who installs need not own the checkout.
commands_file = [$(subst } {,}$(comma)$(newline){,$(commands))]
differ = $(or $(subst x$1,,x$2),$(subst x$2,,x$1))
compile_commands.json: force-look
	$(if $(call differ,$(file <$@),$(commands_file)),$(file >$@,$(commands_file)))@:
force-look:

EXTRA_CLEAN = $(wildcard build/obj build/tidy*) compile_commands.json

# Goals that work without PostgreSQL's headers, and so without PGXS.
tool_goals = demo demo-shards web check check-all steady soak fuzz asan check-assert coverage bench dist site reference format lint format-check room-check document-check tidy \
    tidy-sample compile_commands.json print-%

ifneq (,$(filter $(tool_goals),$(MAKECMDGOALS)))

.PHONY: $(filter-out print-%,$(MAKECMDGOALS))

demo:
	@tools/demo

demo-shards:
	@tools/demo-shards

web:
	@tools/web-demo

check:
	@PG=$(PG) test/run

check-all:
	@test/run all

steady:
	@test/steady $(FILE) $(TIMES)

soak:
	@SOAK_MINUTES=$(or $(SOAK_MINUTES),10) SEED=$(SEED) test/run soak

reference:
	@tools/fill-reference

fuzz:
	@FUZZ_MINUTES=$(or $(FUZZ_MINUTES),10) SEED=$(SEED) test/run fuzz

asan:
	@test/run asan

check-assert:
	@test/run assert

coverage:
	@SUITES='$(SUITES)' tools/coverage

bench:
	@bench/drain

dist:
	@tools/dist --zip

site:
	@tools/site/build

lint: room-check document-check format-check tidy-sample tidy

# The value of a variable, for CMakeLists.txt and test/run.
print-%:
	@echo '$($*)'

formatted = $(SOURCES) $(UNIT_SOURCES) $(wildcard test/unit/*/*.hpp bench/paper/*.?pp) $(ALL_HEADERS) $(wildcard tools/clang-tidy/*.cpp) $(CLIENT_SOURCES) $(CLIENT_HEADERS) \
    $(CLIENT_TESTS)

format:
	clang-format -i $(formatted)

room-check:
	@tools/check-rooms

document-check:
	@tools/check-documents
	@tools/check-names
	@tools/check-widths
	@tools/check-english

format-check:
	@clang-format --dry-run -Werror $(formatted)
	@echo "clang-format: $(words $(formatted)) files are formatted"

# Clang-tidy checks a room, or a program, as one unit, which halves its time. Two checks then find
# nothing, because they skip included files: unused names of `using`, and unused aliases. DEEP=1
# checks each source by itself, with the deepest analysis, which takes about four times as long: use
# it for releases, and with SOURCES=... for changed files. Clang-tidy skips programs that are left
# out, and the sources that only they use.
chosen := $(filter command,$(origin SOURCES))
tidied_clients = $(built_programs) $(if $(filter web,$(built_programs)),metrics)
tidied := $(SOURCES) $(if $(chosen),,$(filter $(tidied_clients:%=clients/%/src/%),$(CLIENT_SOURCES)))
by_source := $(DEEP)$(chosen)
tidy_unit_of_path = $(word 1,$1)/$(if $(filter src,$(word 1,$1)),$(call unit_of_path,$(wordlist 2,9,$1)),$(word 2,$1))
tidy_units := $(if $(by_source),$(tidied:.cpp=),$(sort $(foreach source,$(tidied:.cpp=),$(call tidy_unit_of_path,$(subst /, ,$(source))))))
in_unit = $(filter $1.cpp $1/%,$(tidied))
tidy_depth := $(if $(DEEP),,-Xclang -analyzer-config -Xclang mode=shallow)
tidy_out := build/tidy$(if $(DEEP),-deep)

# As in a compilation, every source except the rules starts with the precompiled prelude, if the
# clang of this clang-tidy is installed to compile it.
tidy_bin := $(dir $(realpath $(shell command -v clang-tidy)))
tidy_clang := $(wildcard $(tidy_bin)clang++)
tidy_prelude = $(if $(tidy_clang),$(tidy_out)/prelude.pch)
with_tidy_prelude = $(if $(filter src/core% clients/%,$1),,$(tidy_prelude:%=-include-pch %))

# hipq's own checks, if the headers of clang-tidy are installed to compile them.
tidy_include := $(if $(wildcard $(tidy_bin)../include/clang-tidy/ClangTidyCheck.h),$(tidy_bin)../include)
tidy_own_checks = $(if $(tidy_include),$(tidy_out)/hipq_checks.so)

# $1: a unit; $2: its sources. The analyzer looks into the sources that a unit includes if
# "UnifiedSource" is in its name.
tidy_file = $(if $(by_source),$2,$(tidy_out)/$1/UnifiedSource.cpp)
write_unit = mkdir -p $(dir $(tidy_file)) && printf '%s "%s"  // NOLINT\n' $(foreach source,$2,'$(hash)include' $(source)) >$(tidy_file) &&
run_tidy = $(if $(by_source),,$(write_unit)) clang-tidy --quiet $(tidy_own_checks:%=--load=% --checks=hipq-own-files-only$(comma)hipq-no-destructor-in-call) $3 $(tidy_file) \
    -- $(call clang_flags,$1) -I. $(tidy_depth) $(with_tidy_prelude)
hash := \#

# One stamp for each unit, so that only changed units are checked again.
tidy: $(tidy_units:%=$(tidy_out)/%.ok)
	@echo "clang-tidy: $(words $(tidied)) files are clean"

$(foreach unit,$(tidy_units),$(eval $(tidy_out)/$(unit).ok: $(call in_unit,$(unit)) $(if $(filter clients/%,$(unit)),$(CLIENT_HEADERS),$(ALL_HEADERS))))
$(tidy_units:%=$(tidy_out)/%.ok): $(tidy_out)/%.ok: .clang-tidy Makefile $(tidy_prelude) $(tidy_own_checks)
	@mkdir -p $(@D)
	@echo "clang-tidy $*"
	@$(call run_tidy,$*,$(call in_unit,$*)) && touch $@

$(tidy_out)/prelude.pch: src/pg/postgres.hpp
	@mkdir -p $(@D)
	@echo '#include "pg/postgres.hpp"' > $(@:.pch=.hpp)
	@$(tidy_clang) $(call clang_flags,src) -x c++-header -o $@ $(@:.pch=.hpp)

$(tidy_out)/hipq_checks.so: tools/clang-tidy/hipq_checks.cpp
	@mkdir -p $(@D)
	@$(CXX) -std=c++17 -O1 -fPIC -fno-rtti -shared -Wall -Wextra -isystem $(tidy_include) -o $@ $<

# Whether clang-tidy, run like this, finds exactly the checks that the sample names.
tidy-sample: tools/clang-tidy/sample.cpp $(tidy_prelude) $(tidy_own_checks)
	@{ $(call run_tidy,sample,$<,--header-filter=sample.cpp); } 2>/dev/null | sed -n 's/.*\[\([a-zA-Z.-]*\),.*\]$$/\1/p' | sort -u > $(tidy_out)/found
	@sed -nE 's|.*// finds$(if $(by_source),( by itself)?): ||p' $< | tr ' ' '\n' | sort -u | diff - $(tidy_out)/found
	@echo "clang-tidy: finds all $$(wc -l < $(tidy_out)/found) kinds of trouble in its sample"

# `make install check`: a second make, which includes PGXS, makes the goals that are not tool goals.
other_goals = $(filter-out $(tool_goals),$(MAKECMDGOALS))
ifneq (,$(other_goals))
$(other_goals):
	@$(MAKE) --no-print-directory $@
endif

else # PGXS

PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq (,$(wildcard $(PGXS)))
$(error PostgreSQL's extension headers were not found by "$(PG_CONFIG)": set PG_CONFIG, or run tools/setup demo)
endif
server_version := $(shell $(PG_CONFIG) --version)
# "PostgreSQL 18.1", "PostgreSQL 19rc1"
major_version := $(firstword $(subst ., ,$(subst devel,.,$(subst beta,.,$(subst rc,.,$(word 2,$(server_version)))))))
ifeq (,$(filter $(SUPPORTED),$(major_version)))
$(error hipq is for PostgreSQL $(SUPPORTED), not for $(server_version))
endif

# PGXS passes no C++ flags to bitcode, so bitcode is turned off.
override with_llvm = no
# PostgreSQL's own macros increment volatile variables, about which clang warns.
# GCC 13 and later report a reference to a part of one argument as dangling if another argument is a
# temporary; clang does not know this warning.
# The test library keeps its symbols for debuggers; without them it is 30 times smaller. It has line
# tables only, which is enough for a stack trace: full debug information takes a third of the
# compile time.
INSTALL_STRIP_FLAG = $(if $(WERROR),,-s)
# HIPQ_SERVER is a server of tools/source-server or tools/coverage, with its own flags.
PG_CXXFLAGS = -std=c++20 -Wall -Wextra -Wshadow -Wno-register -Wno-unknown-warning-option -Wno-dangling-reference -Wno-deprecated-volatile -fvisibility=hidden $(if $(HIPQ_SERVER),-O1,-O2) $(if $(INSTALL_STRIP_FLAG),$(if $(WERROR),-g1,-g0),-g1)
PG_CPPFLAGS = -Isrc -DHIPQ_VERSION='"$(EXTVERSION)"'
ifdef WERROR
# GCC 16 warns about parts of a map that does not exist yet when a later member throws.
PG_CXXFLAGS += $(if $(HIPQ_SERVER),,-Werror -Wno-error=maybe-uninitialized)
PG_CPPFLAGS += -DUSE_ASSERT_CHECKING -DHIPQ_POINTS
endif

# Objects count what runs, in files beside them.
ifeq (coverage,$(HIPQ_SERVER))
PG_CXXFLAGS += --coverage -fprofile-abs-path -fprofile-update=atomic -Og
SHLIB_LINK += --coverage
endif

# Objects have a folder for each version of PostgreSQL, compiler and flags: after a return to an
# earlier combination nothing is compiled again. Paths do not count, so another pg_config of the
# same server, or a checkout that was moved, uses the same folder.
compiled_with := $(shell { $(PG_CONFIG) --version --configure; $(CXX) --version; } | head -n 3) $(CXX) $(filter-out -I%,$(PG_CXXFLAGS) $(CXXFLAGS) $(PG_CPPFLAGS) $(CPPFLAGS) $(COPT) $(PROFILE))
objdir := build/obj/$(word 2,$(server_version))$(if $(WERROR),-test)$(HIPQ_SERVER:%=-%)-$(shell echo '$(subst ',,$(compiled_with))' | cksum | cut -d' ' -f1)
OBJS = $(units:%=$(objdir)/%.o)

# PGXS links with the C compiler.
SHLIB_LINK += -lstdc++

include $(PGXS)

# Only hipq's own code gives warnings: a folder that is also given as -isystem is searched as a
# system folder.
compile = $(ccache) $(CXX) $(CXXFLAGS) $(CPPFLAGS) -isystem $(includedir_server)

ifeq (0,$(UNITY))

$(objdir)/%.o: src/%.cpp
	@mkdir -p $(@D)
	$(compile) -MMD -MP -c -o $@ $<

else

$(OBJS): %.o: %.cpp
	$(compile) -MMD -MP -c -o $@ $<

# A unit includes the sources of its room. It is written again when a source was added or removed.
$(OBJS:.o=.cpp): $(objdir)/.units
	@true

$(objdir)/.units: force-look
	@mkdir -p $(sort $(dir $(OBJS)))
	@$(foreach unit,$(units),printf '#include "src/%s"\n' $(call sources_of,$(unit)) | tools/write-if-changed $(objdir)/$(unit).cpp;)

endif

# The same files as `make install PROGRAMS=`, in the layout of an image: extension_control_path and
# dynamic_library_path of the server find them wherever the image is mounted.
extension-image:
	$(if $(DESTDIR),,$(error say where the files are to go: DESTDIR=...))
	@$(MAKE) --no-print-directory install PROGRAMS= pkglibdir=/lib datadir=/share

# A removed source must leave the library too, and so must the objects of another version or kind of
# build.
$(MODULE_big)$(DLSUFFIX): build/obj/.linked
build/obj/.linked: force-look
	@mkdir -p $(@D)
	@echo '$(OBJS)' | tools/write-if-changed $@

$(INSTALL_SQL): $(INSTALL_PART_FILES) hipq.control Makefile
	@{ printf '%s\n' '\echo Use "CREATE EXTENSION hipq" to load this file. \quit' && cat $(INSTALL_PART_FILES); } > $@.new && mv $@.new $@

$(UPDATE_SQL): hipq--%--$(EXTVERSION).sql: tools/update-script $(wildcard sql/update/*.sql) $(INSTALL_PART_FILES) hipq.control Makefile
	@tools/update-script $* $(INSTALL_PART_FILES) > $@.new && mv $@.new $@

# Each program has its own Makefile, or is left out.
left_out_programs := $(filter-out $(built_programs),$(PROGRAMS))
program_goals = $(foreach goal,all install uninstall clean,$(PROGRAMS:%=%-$(goal)))

all: $(built_programs:%=%-all) $(left_out_programs:%=%-left-out) compile_commands.json
install: $(built_programs:%=%-install)
uninstall: $(built_programs:%=%-uninstall)
clean: $(PROGRAMS:%=%-clean)
# Install only after all: otherwise both would compile at the same time.
$(PROGRAMS:%=%-install): %-install: %-all

# run-install: "install" in clients/run.
$(program_goals):
	@$(MAKE) --no-print-directory -C clients/$(subst -, ,$@) PG_CONFIG='$(shell command -v $(PG_CONFIG))'

$(PROGRAMS:%=%-left-out): %-left-out:
	@echo 'hipq-$* is not built: $(call why_not,$*)'

.PHONY: extension-image force-look $(program_goals) $(PROGRAMS:%=%-left-out)

-include $(OBJS:.o=.d)

endif
