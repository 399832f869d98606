#!/bin/bash
# testsuite/t/t3062-rrun.t - rrun and ralloc: wait, use, give back; and nothing stays when they are killed.
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || skip_all "no script(1)"
plan 39

cat >"$test_dir/extra.yaml" <<'Y'
node:
  session_linger: 3s
Y
cat >"$test_dir/projects.yaml" <<'Y'
projects:
  default: {quota: 2}
Y
cluster_start --nodes 1 --gpus 2 --config "$test_dir/extra.yaml" --projects "$test_dir/projects.yaml"
nodes=($(node_names))
cd "$test_dir" || exit 1
# Whether a process with exactly these words runs.
running() { pgrep -fx -- "$1" >/dev/null; }
gone() { ! running "$1"; }
mkfifo park
last_job() { rqueue --noheader -a -o %i | sort -n | tail -n 1; }
run() {
  timeout 60 "$@" >out 2>err </dev/null
  code=$?
}

run rrun -g 1 sh -c 'echo $ROTA_JOB_ID; echo e >&2; exit 3'
job=$(cat out)
is "$code:$(cat err)" "3:e" "rrun runs a command and returns its code"
ok "its job has failed with that code" wait_state "$job" FAILED
is "$(rqueue --noheader -j "$job" -o '%{kind} %{exit_code}')" "interactive 3:0" "as an interactive one"
run rrun true
is "$code" 0 "a command that goes well"
ok "completes its job" wait_state "$(last_job)" COMPLETED
run rrun -g 1 sh -c 'kill -9 $$'
is "$code" 137 "a signal is passed on as shells do it"
run rrun -g 1 no-such-command
is "$code:$(cat err)" "127:rrun: cannot run 'no-such-command': No such file or directory" "no such command"
ok "ends the job as well" wait_state "$(last_job)" FAILED
is "$(echo abc | rrun cat)" abc "standard input goes along"
is "$(rrun -g 1 sh -c 'echo ${CUDA_VISIBLE_DEVICES:+has}')" has "it has its GPU"
run rrun -n 2 echo two
is "$code:$(cat out)" "0:two"$'\n'"two" "several tasks run it several times"
run rrun
is "$code" 2 "rrun of nothing is a mistake"
run rrun -G 99 true
is "$code" 5 "what can park run is refused"

# ---- waiting ----
blocker=$(rsubmit --parsable --interactive -G 2 --wrap 'read -r line <park')
wait_state "$blocker" RUNNING
rrun -g 1 echo late >out 2>err &
pid=$!
ok "what cannot start yet says why" wait_for 10 grep -q "rrun: job [0-9]* waits: " err
waiting=$(last_job)
is "$(state_of "$waiting")" PENDING "and waits"
kill -INT "$pid"
wait "$pid"
is $? 130 "an interrupt ends the wait"
ok "and cancels the job" wait_state "$waiting" CANCELLED
script -qfc "rrun -g 1 echo at-last" screen </dev/null >/dev/null 2>&1 &
pid=$!
ok "on a terminal there is a line with the reason" wait_for 10 grep -aqE 'rrun: [0-9]+ s: job [0-9]+ waits: ' screen
echo >park
wait "$pid"
like "$(cat screen)" "at-last" "which makes way for the command"

# ---- while it runs ----
rrun -g 1 sh -c 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.1; done' >out 2>/dev/null &
pid=$!
wait_for 20 grep -q ready out
kill -INT "$pid"
wait "$pid"
is "$?:$(tail -n 1 out)" "5:caught" "while the command runs, an interrupt is the command's"
ok "and its job ends as the command did" wait_state "$(last_job)" FAILED

# ---- inside a job ----
is "$(rrun -g 1 sh -c 'X=1 rrun sh -c "echo \$ROTA_JOB_ID \$X \$PWD"')" "$(last_job) 1 $test_dir" \
  "inside a job, rrun runs in that job"
run rrun sh -c 'rrun -G 1 true'
like "$code:$(cat err)" "^2:rrun: inside job [0-9]+ the command runs on what the job has: --gpus cannot" \
  "where it cannot choose resources"

# ---- ralloc ----
run ralloc -g 1 sh -c 'echo $ROTA_JOB_ID $ROTA_JOB_NODELIST; rrun hostname >/dev/null && echo ran; exit 4'
job=$(last_job)
is "$code:$(cat out)" "4:$job ${nodes[0]}"$'\n'"ran" "ralloc runs a command here, which may use the job"
ok "and gives the job back" wait_state "$job" FAILED
run ralloc no-such-command
is "$code" 127 "a command that is not there"
ralloc -g 1 sleep 4341 2>err &
pid=$!
wait_for 20 running 'sleep 4341'
job=$(last_job)
wait_state "$job" RUNNING
daemon_kill "${nodes[0]}"
cluster_resume
ok "a restart of rgpud does not end an allocation" wait_for 20 rexec "$job" true
like "$(sleep 4; state_of "$job")" RUNNING "which ralloc holds again"
rcancel "$job"
wait "$pid"
is $? 129 "when its job ends, the command gets SIGHUP"
like "$(cat err)" "ralloc: the job has ended" "and ralloc says why"

# ---- killed ----
ralloc -g 1 sleep 4342 2>/dev/null &
pid=$!
wait_for 20 running 'sleep 4342'
job=$(last_job)
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "the allocation of a killed ralloc ends" wait_state "$job" FAILED 20
like "$(rqueue --noheader -j "$job" -o '%r')" "the rrun or ralloc that held it has gone" "and says so"
pkill -f 'sleep 4342'
rrun -g 1 sleep 4343 &
pid=$!
wait_for 20 running 'sleep 4343'
job=$(last_job)
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "so does that of a killed rrun" wait_state "$job" 'FAILED|CANCELLED' 20
ok "with its command" wait_for 5 gone 'sleep 4343'

# ---- time limits ----
script -qfc "rrun -t 0:10 --pty sh -c 'trap \"\" TERM; sleep 4344'; echo code \$?" screen </dev/null >/dev/null 2>&1
like "$(cat screen)" "rota: job [0-9]+ reaches its time limit in 1 seconds? and is ended then" \
  "people in a job are warned before its time limit"
like "$(cat screen)" "code 1(43|37)" "and then it ends"
is "$(state_of "$(last_job)")" TIMEOUT "as TIMEOUT"
ok "nothing is left running" wait_for 10 gone 'sleep 434[0-9]'
is "$(rqueue --noheader -o %i)" "" "and no job"
