#!/bin/bash
# testsuite/t/t4003-start-failure.t - a node that cannot start a job: a pause, then another node.
. "$(dirname "$0")/lib.sh"
plan 22
cat >"$test_dir/keys.yaml" <<'TEXT'
jobs:
  launch_backoff: 2s
  restarts_max: 2
TEXT
cluster_start --nodes 2 --gpus 2 --config "$test_dir/keys.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}
# What stands where a run's record would be: the node cannot start that run.
block() { # NODE JOB RESTART
  touch "$cluster_dir/nodes/$1/spool/runs/$2.$3"
}
failed_times() { [[ $(field "$1" restarts) == "$2" ]]; }
submit() { rsubmit --parsable -o /dev/null "$@"; }

block dgx1-1 1 0
job=$(submit -G 1 -- sleep 1000)
is "$job" 1 "the first job"
ok "its node cannot start it" wait_for 30 failed_times "$job" 1
is "$(field "$job" state),$(field "$job" reason)" "PENDING,StartFailed" "it waits"
like "$(field "$job" reason_detail)" "^start failed on dgx1-1: .*File exists; tried again in [0-2] s$" "and says why, and how long"
ok "then it runs" wait_state "$job" RUNNING
is "$(field "$job" nodes)" dgx1-2 "on another node"
is "$(field "$job" restarts),$(field "$job" reason_detail)" "1,null" "and all is well"
rcancel "$job"
ok "it has ended" wait_state "$job" CANCELLED

# One that may run nowhere else is tried there again; a new controller knows that it has to wait.
block dgx1-1 2 0
block dgx1-1 2 1
job=$(submit -w dgx1-1 -G 1 -- sleep 1000)
ok "the only node cannot start it, twice" wait_for 30 failed_times "$job" 2
like "$(field "$job" reason_detail)" "^start failed 2 times, last on dgx1-1: .*; tried again in [0-4] s$" "the pause grows"
daemon_kill rctld
cluster_resume
like "$(field "$job" state):$(field "$job" reason_detail)" "^PENDING:start failed 2 times, last on dgx1-1: .*; tried again in [0-4] s$" \
  "a new controller knows it too"
ok "the third time it runs" wait_state "$job" RUNNING
is "$(field "$job" nodes)" dgx1-1 "where it may"
rcancel "$job"
ok "it has ended" wait_state "$job" CANCELLED

# Not for ever.
for restart in 0 1 2; do block dgx1-1 3 "$restart"; done
job=$(submit -w dgx1-1 -- true)
ok "in the end it gives up" wait_state "$job" LAUNCH_FAILED
is "$(field "$job" restarts)" 2 "after restarts_max"
like "$(field "$job" reason)" "^start failed 3 times, last on dgx1-1: .*File exists" "and says how often it tried"

# What is the job's own mistake is told at once.
job=$(submit -- /no/such/program)
ok "a command that is not there" wait_state "$job" LAUNCH_FAILED
is "$(field "$job" restarts)" 0 "is not tried again"
job=$(submit -D /no/such/place -- true)
ok "a directory that is not there" wait_state "$job" LAUNCH_FAILED
is "$(field "$job" restarts)" 0 "neither"
like "$(field "$job" reason)" "^cannot enter working directory '/no/such/place'" "the reason is the node's own sentence"
