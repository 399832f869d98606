#!/bin/bash
# testsuite/t/t0006-fuzz.t - a few seconds of every fuzz target, from the kept corpus.
# The same inputs every time: what is new is for `make fuzz`, which runs them longer.
exec "${top_srcdir:-$(dirname "$0")/../..}/testsuite/fuzz/run" --seconds "${FUZZ_SECONDS:-5}" --seed 1
