# What the Makefiles of hipq-run, hipq-top and hipq-web have in common. Each sets before it includes this one:
#
#   name         run, top or web
#   unit         its unit for systemd, if it has one
#   parts        other folders of clients/ whose sources belong to it
#   own_flags    flags of the compiler that it alone needs
#   libraries    what it links beside libpq
#
# What else is to be installed hangs on install-program and uninstall.

here := $(dir $(firstword $(MAKEFILE_LIST)))
clients := $(here)..
root := $(clients)/..
version := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(root)/hipq.control)
PG_CONFIG ?= pg_config

builddir ?= $(root)/build/$(name)$(if $(WERROR),-werror)
bindir ?= $(shell $(PG_CONFIG) --bindir)
mandir ?= $(shell $(PG_CONFIG) --mandir)
# Where bash and systemd look is for packages to say: /usr/share/bash-completion/completions, /usr/lib/systemd/system.
completiondir ?= $(shell $(PG_CONFIG) --sharedir)/hipq
unitdir ?= $(shell $(PG_CONFIG) --sharedir)/hipq
completion ?= hipq-$(name).bash
INSTALL_STRIP_FLAG ?= $(if $(WERROR),,-s)

program = $(builddir)/hipq-$(name)
sources := $(sort $(wildcard $(here)src/*.cpp $(here)src/*/*.cpp))
part_sources := $(sort $(foreach part,$(parts),$(wildcard $(clients)/$(part)/src/*/*.cpp)))
objects = $(sources:$(here)src/%.cpp=$(builddir)/%.o) $(part_sources:$(clients)/%.cpp=$(builddir)/%.o)

CXXFLAGS ?= $(if $(WERROR),-g1,-g) -O2
flags = -std=c++20 -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) -I$(here)src $(parts:%=-I$(clients)/%/src) -I$(clients)/cpp/include \
    -isystem $(shell $(PG_CONFIG) --includedir) -DHIPQ_VERSION='"$(version)"' $(own_flags)
compile = $(CXX) $(CXXFLAGS) $(CPPFLAGS) $(flags)

.PHONY: all install install-program install-unit uninstall clean force-look
all: $(program)

$(program): $(objects)
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ -L$(shell $(PG_CONFIG) --libdir) -lpq $(libraries)

$(builddir)/%.o: $(here)src/%.cpp $(builddir)/.flags
	@mkdir -p $(@D)
	$(compile) -MMD -MP -c -o $@ $<

$(builddir)/%.o: $(clients)/%.cpp $(builddir)/.flags
	@mkdir -p $(@D)
	$(compile) -MMD -MP -c -o $@ $<

# Other flags: everything is compiled again.
$(builddir)/.flags: force-look
	@mkdir -p $(@D)
	@echo '$(compile) $(objects)' | cmp -s - $@ || echo '$(compile) $(objects)' > $@

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

-include $(objects:.o=.d)
