#!/bin/bash
# testsuite/t/t4002-fence.t - with nodes.fence_after, a node that is cut off ends its own jobs, also without
# rgpud, and only then do they start elsewhere.
. "$(dirname "$0")/lib.sh"
plan 11
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
rcancel "$job"
wait_state "$job" CANCELLED >/dev/null

# A gang: the step on the lost node fails, and its script with it. That is not the job's failure.
cat >gang.sh <<'S'
#!/bin/bash
echo "start $SLURM_NTASKS" >>gang
rrun --mpi none sleep 4391
S
chmod +x gang.sh
gang=$(rsubmit --parsable -N 2 -n 2 -o gang.out gang.sh)
both() { [[ $(pgrep -fxc 'sleep 4391') == 2 ]]; }
ok "a gang runs a step on two nodes" wait_for 30 both
nodes=($(rqueue --json -j "$gang" | jq -r '.jobs[0].nodes[]'))
daemon_kill "${nodes[1]}"
gone() { ! pgrep -fx 'sleep 4391' >/dev/null; }
ok "a lost node ends all of it" wait_for 30 gone
like "$(cat gang.out)" "rrun: .*the session with ${nodes[1]} ended" "and rrun says so"
cluster_resume
again() { [[ $(wc -l <gang) == 2 ]] && both; }
ok "the job waits for its nodes, and starts again" wait_for 60 again
is "$(rqueue --json -j "$gang" | jq -c '.jobs[0] | [.state, .restarts]')" '["RUNNING",1]' "under its number"
rcancel "$gang"
