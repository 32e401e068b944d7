# Common rules for the Makefiles of hipq-run, hipq-top and hipq-web. Each sets these variables
# before it includes this file:
#
#   name         run, top or web
#   unit         its unit for systemd, if it has one
#   parts        other folders of clients/ whose sources belong to it
#   own_flags    compiler flags for it alone
#   apart        sources that are compiled separately, with apart_flags, because they contain paths
#                of the installation
#   libraries    libraries to link, in addition to libpq
#
# prefix=/usr/local is the installation prefix; its default is below. Add further files to install
# as prerequisites of install-program and uninstall.

here := $(dir $(firstword $(MAKEFILE_LIST)))
clients := $(here)..
root := $(clients)/..
version := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(root)/hipq.control)
PG_CONFIG ?= pg_config

builddir ?= $(root)/build/$(name)$(if $(WERROR),-test)

# A distribution has a server's programs in a folder for its version, in which users do not look for
# programs and manual pages. Then the programs go to /usr/local. A server built from source has them
# next to its own.
server_bindir := $(shell $(PG_CONFIG) --bindir)
prefix ?= $(if $(filter /usr/lib/% /usr/pgsql-%,$(server_bindir)),/usr/local)
server_sharedir = $(shell $(PG_CONFIG) --sharedir)
bindir ?= $(if $(prefix),$(prefix)/bin,$(server_bindir))
mandir ?= $(if $(prefix),$(prefix)/share/man,$(shell $(PG_CONFIG) --mandir))
completiondir ?= $(if $(prefix),$(prefix)/share/bash-completion/completions,$(server_sharedir)/hipq)
unitdir ?= $(if $(prefix),$(prefix)/lib/systemd/system,$(server_sharedir)/hipq)
completion ?= hipq-$(name)$(if $(prefix),,.bash)
INSTALL_STRIP_FLAG ?= $(if $(WERROR),,-s)

program = $(builddir)/hipq-$(name)
# A program is one translation unit, which reads its includes once; UNITY=0 compiles each source by
# itself.
all_sources := $(sort $(foreach part,$(name) $(parts),$(wildcard $(clients)/$(part)/src/*.cpp $(clients)/$(part)/src/*/*.cpp)))
sources := $(filter-out $(apart:%=$(clients)/$(name)/src/%),$(all_sources))
objects = $(if $(filter 0,$(UNITY)),$(sources:$(clients)/%.cpp=$(builddir)/%.o),$(builddir)/unit.o)
apart_objects = $(apart:%.cpp=$(builddir)/$(name)/src/%.o)

# They wait for the server nearly all the time, so -O1 suffices, which takes three quarters of the
# compiler's time.
CXXFLAGS ?= $(if $(INSTALL_STRIP_FLAG),$(if $(WERROR),-g1,-g0),-g1) -O1
flags = -std=c++20 -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) -DHIPQ_VERSION='"$(version)"' $(own_flags)
folders = $(foreach part,$(name) $(parts),-I$(clients)/$(part)/src) -I$(clients)/program -I$(clients)/cpp/include -isystem $(shell $(PG_CONFIG) --includedir)
# As the Makefile of the checkout does.
ccache := $(if $(shell command -v ccache),CCACHE_BASEDIR=$(abspath $(root)) CCACHE_NOHASHDIR=1 ccache)
compile = $(ccache) $(CXX) $(CXXFLAGS) $(CPPFLAGS) $(flags) $(folders)

.PHONY: all install install-program install-unit uninstall clean force-look
all: $(program)

$(program): $(objects) $(apart_objects)
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ -L$(shell $(PG_CONFIG) --libdir) -lpq $(libraries)

$(builddir)/%.o: $(clients)/%.cpp $(builddir)/.flags
	@mkdir -p $(@D)
	$(compile) -MMD -MP -c -o $@ $<

$(builddir)/unit.o: $(builddir)/unit.cpp $(builddir)/.flags
	$(compile) -I$(clients) -MMD -MP -c -o $@ $<

$(apart_objects): compile += $(apart_flags)
$(apart_objects): $(builddir)/.apart_flags

$(builddir)/unit.cpp: force-look
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(sources:$(clients)/%=%) | $(root)/tools/write-if-changed $@

# With other flags, or another version of libpq, everything is compiled again.
$(builddir)/.flags: force-look
	@mkdir -p $(@D)
	@echo '$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(flags) $(sources) $(shell $(PG_CONFIG) --version)' | $(root)/tools/write-if-changed $@

$(builddir)/.apart_flags: force-look
	@mkdir -p $(@D)
	@echo '$(apart_flags)' | $(root)/tools/write-if-changed $@

install: install-program $(if $(unit),install-unit)

install-program: all
	install -D -m 755 $(INSTALL_STRIP_FLAG) $(program) '$(DESTDIR)$(bindir)/hipq-$(name)'
	install -D -m 644 $(here)hipq-$(name).1 '$(DESTDIR)$(mandir)/man1/hipq-$(name).1'
	install -D -m 644 $(here)hipq-$(name).bash '$(DESTDIR)$(completiondir)/$(completion)'

install-unit:
	mkdir -p '$(DESTDIR)$(unitdir)'
	sed 's|@bindir@|$(bindir)|' $(here)$(unit).in > '$(DESTDIR)$(unitdir)/$(unit)'

uninstall:
	rm -f '$(DESTDIR)$(bindir)/hipq-$(name)' '$(DESTDIR)$(mandir)/man1/hipq-$(name).1' '$(DESTDIR)$(completiondir)/$(completion)' \
	    $(if $(unit),'$(DESTDIR)$(unitdir)/$(unit)')

clean:
	rm -rf $(builddir)

-include $(patsubst %.o,%.d,$(objects) $(apart_objects))
