#!/bin/bash
# testsuite/t/t0203-scenario.t - rsim scenario: our own stories hold, and one that does not is told.
. "$(dirname "$0")/lib.sh"

scenarios=$top_srcdir/testsuite/scenarios
files=("$scenarios"/*.yaml)
plan $((${#files[@]} + 12))

for file in "${files[@]}"; do
  ok "${file##*/}" rsim scenario "$file"
done
is "$(rsim scenario "${files[@]}" | sed -E 's/^[1-9][0-9]+ passed/N passed/')" "N passed, 0 failed" "all of them at once"

cat >"$test_dir/wrong.yaml" <<'EOF'
cluster: {nodes: [{names: n1, gpus: 4}]}
steps:
  - submit: {name: "x-[1-2]", gpus: 3}
  - wait: 90s
  - expect: {running: ["x-[1-2]"], idle: 1, held: {default: 4}}
EOF
out=$(rsim scenario "$test_dir/wrong.yaml")
is "$?" 1 "an expectation that does not hold: exit code 1"
is "$out" "$test_dir/wrong.yaml:5:14: after 1m30s: running: expected x-[1-2], came x-1 (x-2: needs 3 GPUs, 1 task of 1 CPU: 1 GPUs and 63 CPUs are free, at most 1 GPUs on one node)
$test_dir/wrong.yaml:5:52: after 1m30s: held: default: expected 4, came 3
1 passed, 2 failed" "what was expected, what came, and the counts"
json=$(rsim scenario --json "$test_dir/wrong.yaml")
is "$?" 1 "the same with --json"
is "$(jq -c '[.passed, .failed, (.failures | length)]' <<<"$json")" "[1,2,2]" "the counts"
is "$(jq -c '.failures[1]' <<<"$json")" \
  "{\"file\":\"$test_dir/wrong.yaml\",\"line\":5,\"column\":52,\"time_seconds\":90,\"what\":\"held: default\",\"expected\":\"4\",\"came\":\"3\"}" \
  "a failure"
undescribed=
for field in $(jq -r '[paths | .[-1] | strings] | unique | .[]' <<<"$json"); do
  grep -q "\`$field\`" "$top_srcdir/doc/json.md" || undescribed+=" $field"
done
is "$undescribed" "" "doc/json.md has every field"

# A scheduler that keeps no place for the gang fails its scenario: the tests can fail.
sed 's/^projects:/policy: {reservations: 0}\nprojects:/' "$scenarios/gang-against-a-stream.yaml" >"$test_dir/starved.yaml"
like "$(rsim scenario "$test_dir/starved.yaml")" "running: expected gang, came s-" "without reservations the gang starves"

rsim scenario "$test_dir/missing.yaml" >"$test_dir/out" 2>&1
is "$?" 3 "a file that is not there"
printf 'cluster: {nodes: [{names: n1, gpus: 4}]}\nsteps:\n  - wiat: 5m\n' >"$test_dir/bad.yaml"
like "$(rsim scenario "$test_dir/bad.yaml" 2>&1)" "bad.yaml:3:5: a step has no key 'wiat'; did you mean 'wait'\?" "a wrong step"
like "$(rsim scenario 2>&1)" "which files\?" "it asks for a file"
like "$(rsim scenario --seed 3 x 2>&1)" "scenario does not take --seed" "an option of another command"
