#!/bin/bash
# testsuite/t/t2003-scheduler-keys.t - what rota.yaml says of the scheduler reaches it.
. "$(dirname "$0")/lib.sh"
plan 6
cat >"$test_dir/projects.yaml" <<'TEXT'
projects:
  owner: {quota: 4}
TEXT
cat >"$test_dir/keys.yaml" <<'TEXT'
scheduler:
  reservations: 0
  min_runtime_reclaim: 1h
  min_runtime_preempt: 1h
  packing: least-loss
TEXT
cluster_start --nodes 1 --gpus 4 --config "$test_dir/keys.yaml" --projects "$test_dir/projects.yaml"
why() { rqueue --noheader -j "$1" -o %r; }

borrowed=$(rsubmit --parsable -G 3 -t 1h -o /dev/null -- sleep 1000)
ok "three GPUs are borrowed" wait_state "$borrowed" RUNNING
big=$(rsubmit --parsable -G 4 -t 1h -o /dev/null -- sleep 1000)
is "$(why "$big")" Resources "a large job waits"
long=$(rsubmit --parsable -G 1 -t 5h -o /dev/null -- sleep 1000)
ok "with no reservations a long one passes it" wait_state "$long" RUNNING
mine=$(rsubmit --parsable -A owner -G 1 -o /dev/null -- sleep 1000)
is "$(why "$mine")" Resources "what began less than the minimum runtime ago is safe from its owner"
high=$(rsubmit --parsable -G 1 --priority high -o /dev/null -- sleep 1000)
is "$(why "$high")" Resources "and from a higher priority in its project"
is "$(state_of "$borrowed") $(state_of "$long")" "RUNNING RUNNING" "nobody made way"
rcancel "$borrowed" "$big" "$long" "$mine" "$high"
