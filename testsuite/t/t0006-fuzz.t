#!/bin/bash
# testsuite/t/t0006-fuzz.t - a few seconds of every fuzz target, from the kept corpus.
# `make fuzz` runs them longer.
exec "${top_srcdir:-$(dirname "$0")/../..}/testsuite/fuzz/run" --seconds "${FUZZ_SECONDS:-5}"
