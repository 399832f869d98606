#!/bin/bash
# testsuite/t/t0200-conformance.t - the scheduler's decisions against conformance cases: the public
# ones, and our own for rules that those hardly guard.
. "$(dirname "$0")/lib.sh"

cases=$top_srcdir/testsuite/conformance
plan 11

out=$(rsim conform "$cases/kai-public.json.gz" 2>&1)
is "$(tail -n 1 <<<"$out")" "167 passed, 0 failed" "every scheduling case ends in the required states"
out=$(rsim conform --strict "$cases"/*.json.gz 2>&1)
is "$(tail -n 1 <<<"$out")" "225 passed, 0 failed" "on the same nodes and shared GPUs too; and every numeric fact"
out=$(rsim conform --strict "$cases/rota.json" 2>&1)
is "$out" "$(jq '.cases | length' "$cases/rota.json") passed, 0 failed" "our own cases: one for each rule"
is "$(jq -c '[.cases[] | select((.notes // "") == "") | .id]' "$cases/rota.json")" "[]" "each of them says its rule"
is "$(rsim conform --filter Elastic --json "$cases/kai-public.json.gz" | jq -c 'keys')" \
  '["failed","failures","passed"]' "as JSON"

# A case that asks for what cannot be: the line says what was expected and what came.
zcat "$cases/kai-public.json.gz" | jq '{cases: [.cases[0] | .expected.tasks |= map_values(.status = "Failed")]}' \
  >"$test_dir/wrong.json"
out=$(rsim conform "$test_dir/wrong.json")
code=$?
is "$code" 1 "a case that does not hold: exit code 1"
like "$out" "expected Failed, is Binding" "it says what was expected and what came"
is "$(tail -n 1 <<<"$out")" "0 passed, 1 failed" "and counts it"

echo 'not json' >"$test_dir/bad.json"
like "$(rsim conform "$test_dir/bad.json" 2>&1)" "bad.json: not JSON" "a file that is no JSON is named"
like "$(rsim conform "$test_dir/none.json" 2>&1)" "none.json: No such file" "a file that is not there is named"
like "$(rsim conform 2>&1)" "which files" "no file: it asks for one"
