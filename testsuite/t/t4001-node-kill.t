#!/bin/bash
# testsuite/t/t4001-node-kill.t - kill -9 rgpud or rstepd under running jobs: they go on, or are known to
# be gone, and no end is lost.
. "$(dirname "$0")/lib.sh"
plan 14
cluster_start --nodes 1
cd "$test_dir" || bail_out "no directory"
node=$(node_names)
mkfifo gate1 gate2

one=$(rsubmit --parsable -o one.out -- sh -c "echo \$\$ >one.pid; read -r code <'$test_dir/gate1'; exit \$code")
two=$(rsubmit --parsable -o two.out -- sh -c "read -r code <'$test_dir/gate2'; exit \$code")
ok "two jobs run" wait_state "$one" RUNNING
wait_state "$two" RUNNING
daemon_kill "$node"
ok "their processes live on without rgpud" test -d "/proc/$(cat one.pid)"
echo 3 >gate1 # one ends while nobody is there to see it
wait_gone "$(cat one.pid)" 20
is "$(state_of "$two")" RUNNING "the controller does not give up the jobs"
cluster_resume
ok "the end that nobody saw is told" wait_state "$one" FAILED
is "$(rqueue --json -a -j "$one" | jq .jobs[0].exit_code)" 3 "with its exit code"
is "$(state_of "$two")" RUNNING "the other one runs on"
daemon_kill rctld
cluster_resume
echo 0 >gate2
ok "and completes under a new rgpud and a new rctld" wait_state "$two" COMPLETED
is "$(rqueue --json -a | jq '[.jobs[].restarts] | add')" 0 "no job was started again"

# rstepd itself is killed: the run is lost, its processes must go, and the job starts again.
three=$(rsubmit --parsable -o three.out -- sh -c 'echo $$ >>three.pids; (setsid sh -c "echo \$\$ >>three.pids; exec sleep 1000" &) ; exec sleep 1000')
ok "a job with a child that forked away" wait_state "$three" RUNNING
wait_for 10 test "$(wc -l <three.pids)" = 2
# Other clusters on this host have such numbers too: ours holds the run's record open.
step=$(for pid in $(pgrep -f "rstepd.*[/ ]$three\.0"); do
  find "/proc/$pid/fd" -lname "$cluster_dir/nodes/$node/spool/*" -printf "$pid\n" -quit
done)
ok "its rstepd is found" test -n "$step"
first=$(head -2 three.pids)
kill -9 "$step"
restarted() { [[ $(rqueue --json -j "$three" | jq .jobs[0].restarts) == 1 ]]; }
ok "the job starts again under the same number" wait_for 60 restarted
ok "it runs" wait_state "$three" RUNNING
left=0
for pid in $first; do wait_gone "$pid" 1 || left=$((left + 1)); done
is $left 0 "nothing of the first run is left"
rcancel "$three"
ok "and ends" wait_state "$three" CANCELLED
