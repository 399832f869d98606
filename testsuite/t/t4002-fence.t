#!/bin/bash
# testsuite/t/t4002-fence.t - with nodes.fence_after, a node that is cut off ends its own jobs, also without
# rgpud, and only then do they start elsewhere.
. "$(dirname "$0")/lib.sh"
plan 6
cat >"$test_dir/keys.yaml" <<TEXT
nodes:
  heartbeat: 200ms
  lost_after: 1s
  fence_after: 1s
jobs:
  kill_wait: 1s
TEXT
cluster_start --nodes 2 --config "$test_dir/keys.yaml"
cd "$test_dir" || bail_out "no directory"

job=$(rsubmit --parsable -G 8 -o /dev/null -- sh -c 'echo $$ $SLURMD_NODENAME >>starts; exec sleep 1000')
ok "a job runs" wait_state "$job" RUNNING
wait_for 10 test -s starts
read -r pid node <starts
daemon_kill "$node"
ok "its rstepd ends it, without rgpud" wait_gone "$pid" 10
is "$(rqueue --json -j "$job" | jq .jobs[0].restarts)" 0 "the controller has waited for that"
twice() { [[ $(wc -l <starts) == 2 ]]; }
ok "then it starts again" wait_for 40 twice
ok "on the other node" test "$(awk '{ print $2 }' starts | sort -u | wc -l)" = 2
cluster_resume
wait_state "$job" RUNNING
is "$(wc -l <starts)" 2 "and nothing changes when the node comes back"
