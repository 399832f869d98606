#!/bin/bash
# testsuite/t/t2010-lines.t - jobs that are held, chained, dated, put back, suspended and changed, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 39
cluster_start --nodes 1 --gpus 2
cd "$test_dir" || bail_out "no directory"

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"
}
has() { # JOB FIELD VALUE
  [[ $(field "$1" "$2") == "$3" ]]
}
submit() {
  rsubmit --parsable -o /dev/null "$@"
}

# Held, and released; kill -9 of the controller in between.
job=$(submit -H -- true)
is "$(field "$job" reason)" JobHeldUser "a held job says so"
daemon_kill rctld
cluster_resume
ok "it is still held" wait_for 30 has "$job" reason JobHeldUser
ok "rota release" rota release "$job"
ok "it runs" wait_state "$job" COMPLETED
is "$(rota release "$job" 2>&1)" "rota: job $job: job has already ended" "once only"

# A chain: each waits for the one before.
mkfifo go
first=$(submit -- sh -c 'read -r line <go')
second=$(submit -d "afterok:$first" -- true)
third=$(submit -d "afternotok:$first" -- true)
fourth=$(submit -d "afterok:$second,afterany:$first" -- true)
is "$(field "$second" reason),$(field "$second" dependency)" "Dependency,afterok:$first" "a job waits for another"
daemon_kill rctld
cluster_resume
echo >go
ok "the first ends" wait_state "$first" COMPLETED
ok "then the second" wait_state "$second" COMPLETED
ok "then the fourth" wait_state "$fourth" COMPLETED
is "$(field "$third" reason)" DependencyNeverSatisfied "the third waits in vain"
rcancel "$third"
is "$(rsubmit -d afterok:99999 -- true 2>&1)" \
  "rsubmit: no such job: --dependency afterok:99999: job 99999 is not on record" "a job that is not there"
like "$(rsubmit -d whenever:3 -- true 2>&1)" "'whenever' is no kind of dependency; write afterok:12" "a kind that is none"

# Dates.
job=$(submit -b now+1hour -- true)
is "$(field "$job" reason)" BeginTime "a date in an hour"
ok "is now" rota update job "$job" begin=none
ok "and the job runs" wait_state "$job" COMPLETED
job=$(submit --deadline now+1 -- sleep 1000)
ok "a job that is too late is ended" wait_state "$job" DEADLINE

# What fails is tried again.
job=$(submit --retries 2 -- sh -c 'echo x >>tries; test "$(wc -l <tries)" = 3')
ok "a failing job gets more tries" wait_state "$job" COMPLETED
is "$(field "$job" failures),$(field "$job" restarts)" 2,2 "as many as it needed"

# Put back, suspended, resumed.
cat >work.sh <<'TEXT'
#!/bin/bash
trap 'exit 1' TERM
echo "$ROTA_RESTART_COUNT" >>runs
while [[ ! -e done ]]; do sleep 0.05; done
TEXT
chmod 755 work.sh
job=$(submit -G 2 -- ./work.sh)
ok "a job runs" wait_for 30 grep -q 0 runs
ok "rota requeue" rota requeue "$job"
ok "it runs again" wait_for 30 grep -q 1 runs
is "$(field "$job" restarts),$(field "$job" preemptions)" 1,0 "under its number"
ok "rota suspend" rota suspend "$job"
ok "it holds nothing" wait_state "$job" SUSPENDED
other=$(submit -G 2 -- true)
ok "its GPUs are free for others" wait_state "$other" COMPLETED
daemon_kill rctld
cluster_resume
is "$(state_of "$job")" SUSPENDED "it stays so over a restart"
ok "rota resume" rota resume "$job"
ok "it runs once more" wait_for 30 grep -q 2 runs
touch done
ok "and ends" wait_state "$job" COMPLETED

# A new time limit reaches the run.
job=$(submit -t 1h -- sleep 1000)
ok "a job with an hour" wait_state "$job" RUNNING
ok "has a second" rota update job "$job" time=0:01
ok "and is ended" wait_state "$job" TIMEOUT
is "$(rota update job "$job" time=2h 2>&1)" "rota: job $job: job has already ended" "too late"
job=$(submit -H -- true)
like "$(rota update job "$job" tiem=2h 2>&1)" "a job has no 'tiem' that could be changed; did you mean time" "a key that is none"

# The script alone hears of its limit.
cat >signal.sh <<'TEXT'
#!/bin/bash
trap 'echo script >>heard; exit 0' USR1
sh -c 'trap "echo child >>heard" USR1; while :; do sleep 0.05; done' &
wait
TEXT
job=$(submit -t 0:02 --signal B:USR1@1 signal.sh)
ok "a script that is warned" wait_state "$job" COMPLETED
is "$(cat heard)" script "alone"

# It has saved its work, and need not stay to the end of its grace.
rm -f done runs
cat >save.sh <<'TEXT'
#!/bin/bash
trap 'rota checkpointed' USR1
echo started >>runs
while :; do sleep 0.05; done
TEXT
chmod 755 save.sh
job=$(submit --signal USR1 --grace 10m save.sh)
ok "a job with a long grace" wait_for 30 grep -q started runs
rota suspend "$job"
ok "leaves as soon as it has saved its work" wait_state "$job" SUSPENDED 60
rcancel "$job"
is "$(state_of "$job")" CANCELLED "and is cancelled from there"
