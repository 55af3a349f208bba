# The entry point to the repository's scripts, which also work alone. `make` lists the targets.

.DEFAULT_GOAL := help
.PHONY: help build test example lint format docs bench costs verify integrations api ci release

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the libraries
	swift build

test: ## Run the tests that need no other package; end with a table of the results
	Scripts/test

example: ## Run an example: downloads from mirrors that misbehave
	swift run --package-path Examples downloads

lint: ## Check the format of all Swift sources, and the documentation's words and links
	Scripts/format --lint
	Scripts/check-documentation

format: ## Format all Swift sources
	Scripts/format

docs: ## Build the documentation; any warning is an error
	Scripts/build-documentation

bench: ## Measure Pledge and its peers on this machine
	swift run -c release --package-path Benchmarks bench

costs: ## Check that no hot path costs more than its baseline; needs valgrind
	Benchmarks/check-costs

verify: ## Check the engine in all orders of its steps, with sanitizers, and Apple's availability
	Tests/Explorer/check
	Tests/Apple/check
	Tests/Stress/sanitize

integrations: ## Test the integrations, the examples HTTP and Workers with the real packages; 45 minutes
	Scripts/check-integrations
	swift test --package-path Examples/HTTP
	Examples/Workers/server run swift test --package-path Examples/Workers
	Migrate/check-fixtures --plugin
	swift run -c release --package-path Benchmarks bench self-test

api: ## Compare the public API with the baseline
	Scripts/check-api

ci: ## Run every check that a change must pass
	.ci/run

release: ## Check a release, and write what is published to .build/published
	Scripts/check-api --exact
	Scripts/check-release
	rm -rf .build/published
	Scripts/publish .build/published
