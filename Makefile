# Set-up, build and tests in one word each; everything also works as plain CMake, see CMakePresets.json.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pare
BIN := $(CACHE)/venv/bin
JOBS := $(shell nproc)
SOURCES = $$(git ls-files --cached --others --exclude-standard '*.h' '*.cpp')

.PHONY: demo test build asan coverage format-check tidy clean setup setup-all

build: setup
	@$(BIN)/cmake --preset release --log-level=NOTICE
	@$(BIN)/cmake --build --preset release

demo: setup
	@$(BIN)/cmake --preset release --log-level=NOTICE
	@$(BIN)/cmake --build --preset release --target pare_cli
	@build/release/cli/pare demo -o build/demo

test: setup
	@$(BIN)/cmake --preset release --log-level=NOTICE -DPARE_WERROR=ON
	@$(BIN)/cmake --build --preset release
	@$(BIN)/ctest --preset release -j$(JOBS)

asan: setup
	@$(BIN)/cmake --preset asan --log-level=NOTICE
	@$(BIN)/cmake --build --preset asan
	@$(BIN)/ctest --preset asan -j$(JOBS)

coverage: setup-all
	@$(BIN)/cmake --preset coverage --log-level=NOTICE
	@$(BIN)/cmake --build --preset coverage
	@find build/coverage -name '*.gcda' -delete
	@$(BIN)/ctest --preset coverage -j$(JOBS)
	@tools/coverage build/coverage

format-check: setup-all
	@clang-format --dry-run -Werror $(SOURCES)

tidy: setup-all
	@$(BIN)/cmake --preset release --log-level=NOTICE
	@run-clang-tidy -quiet -p build/release -extra-arg=-Wno-unknown-warning-option '/(src|cli)/'

clean:
	rm -rf build

setup:
	@tools/setup -q

setup-all:
	@tools/setup -q --all
