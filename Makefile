# Two commands set everything up on a fresh machine: `make demo` and `make test`. The rest is for daily work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TYPES := $(BIN)/mypy --strict sources bot ingest matrix index bench tests

# Where `make install` puts things; DESTDIR is put before all of it, for packagers.
PREFIX ?= /usr/local
EXTRAS ?= local,mcp,alerts,metrics
# The service manager looks below these two prefixes, and below /etc.
UNITS ?= $(if $(filter /usr /usr/local,$(PREFIX)),$(PREFIX)/lib,/etc)
UNIT_FILES := $(notdir $(wildcard systemd/*.service systemd/*.timer systemd/*.path))
PROGRAM := $(PREFIX)/lib/sources
DOC := $(PREFIX)/share/doc/sources
MAN := $(PREFIX)/share/man/man1
# Where each shell looks for what completes the command; `sources completion` prints it.
COMPLETION_bash := $(PREFIX)/share/bash-completion/completions/sources
COMPLETION_zsh := $(PREFIX)/share/zsh/site-functions/_sources
COMPLETION_fish := $(PREFIX)/share/fish/vendor_completions.d/sources.fish

# A run of the tests starts hundreds of processes: what they import is compiled once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install install-program install-files uninstall help demo test check format lint types contracts docs reference clean constraints

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml constraints.txt Makefile
	@echo "sources: setting up $(VENV) (once, some minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sources: Python 3.11 or newer is needed; name one with make PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade 'pip==26.3' || true  # an older one does it too, in twice the time
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile -c constraints.txt -e '.[local,qdrant,mcp,alerts,metrics,demo,dev]'
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib > /dev/null || true  # pip would do it on one core; some files are for no Python of ours
	@touch $@

demo: $(STAMP)  ## set up, then a homeserver, rooms, a refresh, the bot and proofs; nothing is left
	@$(BIN)/sources demo

# mypy runs on one core, so it runs beside the tests; what it says is shown at the end.
test: $(STAMP) lint contracts  ## set up, then run every check and test
	@mkdir -p build; $(TYPES) > build/types.txt 2>&1 & types=$$!; \
		$(BIN)/python -m pytest -n auto --dist worksteal; tests=$$?; \
		wait $$types; types=$$?; cat build/types.txt; exit $$((tests | types))

lint: $(STAMP)  ## ruff: format and rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

format: $(STAMP)  ## let ruff write the format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs:  ## build the site of docs/ into build/site (needs pip install -c constraints.txt '.[docs]')
	@mkdocs build --strict

types: $(STAMP)  ## mypy --strict
	@$(TYPES)

contracts: $(STAMP)  ## import contracts
	@$(BIN)/lint-imports

reference: $(STAMP)  ## make docs/configuration.md, docs/commands.md and man/sources.1 from the code
	@$(BIN)/python -m sources.config.reference > docs/configuration.md
	@$(BIN)/python -m sources.cli.manual markdown > docs/commands.md
	@$(BIN)/python -m sources.cli.manual man > man/sources.1

constraints:  ## pin the newest versions that every extra together allows
	@rm -rf build/pins && $(PYTHON) -m venv build/pins
	@build/pins/bin/python -m pip install --quiet --disable-pip-version-check -e '.[local,qdrant,mcp,alerts,metrics,demo,dev,docs]'
	@build/pins/bin/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools | grep -E '^[A-Za-z0-9_.-]+==' > build/pins/constraints.txt
	@mv build/pins/constraints.txt constraints.txt

install: install-program install-files  ## install program, units, examples (PREFIX, DESTDIR)
	@if test -z "$(DESTDIR)" && test -d /run/systemd/system; then \
		systemd-sysusers sources.conf && systemd-tmpfiles --create sources.conf && systemctl daemon-reload; fi
	@echo "sources: installed below $(DESTDIR)$(PREFIX); next: docs/install.md"

install-program:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sources: Python 3.11 or newer is needed; name one with make install PYTHON=/usr/bin/python3"; exit 2; }
	@case "$$($(PYTHON) -c 'import os, sys; print(os.path.realpath(sys.executable))')" in /home/*|/root/*) \
		echo "sources: $(PYTHON) is in a home, which units do not see; name another with make install PYTHON=/usr/bin/python3"; exit 2;; esac
	@$(PYTHON) -m venv "$(DESTDIR)$(PROGRAM)"
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
		tar -cf - --exclude=./.git --exclude=./.venv --exclude=./build --exclude='*.egg-info' . | tar -xf - -C "$$copy" && \
		"$(DESTDIR)$(PROGRAM)/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
			-c constraints.txt "$$copy[$(EXTRAS)]"
	@find "$(DESTDIR)$(PROGRAM)/bin" -type f -exec sed -i '1s|^#!$(DESTDIR)/|#!/|' {} +
	@"$(DESTDIR)$(PROGRAM)/bin/python" -m compileall -q -s "$(DESTDIR)" -p / "$(DESTDIR)$(PROGRAM)/lib" > /dev/null || true
	@install -d "$(DESTDIR)$(PREFIX)/bin" && ln -sfn ../lib/sources/bin/sources "$(DESTDIR)$(PREFIX)/bin/sources"
	@$(foreach shell,bash zsh fish,install -d "$(DESTDIR)$(dir $(COMPLETION_$(shell)))" && \
		"$(DESTDIR)$(PROGRAM)/bin/python" -I -c 'from sources.cli.main import main; main()' completion $(shell) \
			> "$(DESTDIR)$(COMPLETION_$(shell))" &&) true

install-files:
	@install -d "$(DESTDIR)$(UNITS)/systemd/system/sources-.service.d" "$(DESTDIR)$(UNITS)/sysusers.d" \
		"$(DESTDIR)$(UNITS)/tmpfiles.d" "$(DESTDIR)$(PREFIX)/libexec/sources" "$(DESTDIR)$(DOC)/examples" "$(DESTDIR)/etc/sources"
	@for unit in $(UNIT_FILES); do sed 's|/usr/local/|$(PREFIX)/|g' "systemd/$$unit" > "$(DESTDIR)$(UNITS)/systemd/system/$$unit" \
		&& chmod 644 "$(DESTDIR)$(UNITS)/systemd/system/$$unit" || exit 1; done
	@install -m 644 systemd/sources-.service.d/sandbox.conf "$(DESTDIR)$(UNITS)/systemd/system/sources-.service.d/"
	@install -m 644 systemd/sources.sysusers.conf "$(DESTDIR)$(UNITS)/sysusers.d/sources.conf"
	@install -m 644 systemd/sources.tmpfiles.conf "$(DESTDIR)$(UNITS)/tmpfiles.d/sources.conf"
	@install -m 755 examples/webhook.py "$(DESTDIR)$(PREFIX)/libexec/sources/"
	@install -m 644 sources.example.toml credentials.example LICENSE "$(DESTDIR)$(DOC)/"
	@install -d "$(DESTDIR)$(MAN)" "$(DESTDIR)$(DOC)/monitoring"
	@install -m 644 man/sources.1 "$(DESTDIR)$(MAN)/"
	@install -m 644 monitoring/* "$(DESTDIR)$(DOC)/monitoring/"
	@install -m 644 $(filter-out examples/README.md,$(wildcard examples/*)) "$(DESTDIR)$(DOC)/examples/"

uninstall:  ## remove what install put there; configuration, credentials and data stay
	@if test -z "$(DESTDIR)" && test -d /run/systemd/system; then \
		systemctl disable --quiet --now sources-refresh.timer sources-audit.timer sources-bot.service sources-webhook.service; \
		systemctl stop 'sources-refresh@*.path' 'sources-refresh*.service' sources-audit.service; \
		systemctl disable --quiet 'sources-refresh@.path'; systemctl reset-failed 'sources-*'; fi
	@rm -rf "$(DESTDIR)$(PROGRAM)" "$(DESTDIR)$(PREFIX)/libexec/sources" "$(DESTDIR)$(DOC)"
	@rm -f "$(DESTDIR)$(MAN)/sources.1" "$(DESTDIR)$(COMPLETION_bash)" "$(DESTDIR)$(COMPLETION_zsh)" "$(DESTDIR)$(COMPLETION_fish)"
	@rm -f "$(DESTDIR)$(PREFIX)/bin/sources" "$(DESTDIR)$(UNITS)/sysusers.d/sources.conf" "$(DESTDIR)$(UNITS)/tmpfiles.d/sources.conf"
	@for unit in $(UNIT_FILES) sources-.service.d/sandbox.conf; do rm -f "$(DESTDIR)$(UNITS)/systemd/system/$$unit"; done
	@rmdir "$(DESTDIR)$(UNITS)/systemd/system/sources-.service.d" 2> /dev/null || true
	@if test -z "$(DESTDIR)" && test -d /run/systemd/system; then systemctl daemon-reload; fi
	@echo "sources: left in place: /etc/sources, credentials in /etc/credstore, /var/lib/sources, and the user sources."
	@echo "sources: to be rid of those too: rm -r /etc/sources /var/lib/sources; userdel sources"

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
