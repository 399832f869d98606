#!/bin/bash
# testsuite/t/t3060-exec.t - rexec puts a process into a running job: files, signals, ends, refusals.
. "$(dirname "$0")/lib.sh"
plan 48

cluster_start --nodes 2 --gpus 2
nodes=($(node_names))
cd "$test_dir" || exit 1
# Whether a process with exactly these words runs.
running() { pgrep -fx -- "$1" >/dev/null; }
gone() { ! running "$1"; }
mkfifo park go

# rexec's exit code, what it printed and what it complained of, with standard input closed.
run() {
  rexec "$@" >out 2>err </dev/null
  code=$?
}
# How many processes have words that match.
count_of() { pgrep -fxc -- "$1"; }

job=$(rsubmit --parsable -g 1 --wrap 'export X=unseen; cd /; read -r line <'"$test_dir"'/park')
wait_state "$job" RUNNING || bail_out "the job does not run"

run "$job" echo hello
is "$code:$(cat out)" "0:hello" "a command runs in the job"
run "$job" -- sh -c 'echo out; echo err >&2; exit 7'
is "$code:$(cat out):$(cat err)" "7:out:err" "output, errors and exit code come back apart"
run "$job" sh -c 'kill -9 $$'
is "$code" 137 "a signal is 128 and its number"
run "$job" no-such-command
is "$code:$(cat err)" "127:rexec: cannot run 'no-such-command': No such file or directory" "no such command"
touch plain
run "$job" ./plain
is "$code:$(cat err)" "126:rexec: cannot run './plain': Permission denied" "a file that is no program"
run "$job" sh -c 'echo $ROTA_JOB_ID $CUDA_VISIBLE_DEVICES; pwd; id -u'
is "$(cat out)" "$job $(rexec "$job" printenv CUDA_VISIBLE_DEVICES)"$'\n'"$test_dir"$'\n'"$(id -u)" \
  "it has the job's variables, directory and user"
run "$job" echo '$HOME' '; touch x' "a  b" -n
is "$(cat out)" '$HOME ; touch x a  b -n' "no word reaches a shell"
run --task 0 "$job" -i -- sh -c 'echo $1' sh --task
is "$code:$(cat out)" "0:--task" "options stand on both sides of the job, and the command keeps its own"

# ---- standard input ----
is "$(echo abc | rexec "$job" cat)" "" "without -i there is no input"
is "$(printf 'a\nb' | rexec -i "$job" cat)" $'a\nb' "with -i there is, and its end"
head -c 3000000 /dev/urandom >blob
ok "any bytes pass both ways" sh -c "rexec -i $job cat <blob | cmp - blob"
rexec -i "$job" sh -c 'tee /dev/stderr' <blob >out 2>err
ok "and on both outputs at once" sh -c 'cmp out blob && cmp err blob'
is "$(yes | head -c 5000000 | rexec -i "$job" head -c 3)" $'y\ny' "a command may leave its input"
rexec "$job" sh -c 'echo there >/dev/stdout; echo then >/dev/stderr' >out 2>err
is "$(cat out):$(cat err)" "there:then" "its output can be opened again by name"
rexec "$job" sh -c 'sleep 1000 & echo gone' >out
is "$?:$(cat out)" "0:gone" "what it leaves in the background keeps nobody waiting"
rexec -i "$job" cat <&- >out
is "$?:$(cat out)" "0:" "a closed standard input is an empty one"

# ---- signals, and readers that do not read ----
rexec "$job" sh -c 'trap "echo caught; exit 3" TERM; echo ready; while :; do read -t 1 x </dev/tty; sleep 0.1; done' \
  >out 2>/dev/null &
pid=$!
wait_for 10 grep -q ready out
kill -TERM "$pid"
wait "$pid"
is "$?:$(tail -n 1 out)" "3:caught" "SIGTERM is passed on"
mkfifo slow
rexec "$job" sh -c 'yes slow-reader | head -c 50000000' >slow &
pid=$!
exec 7<slow
read -r -u 7 line
is "$line" "slow-reader" "a reader that is slow"
is "$(timeout 20 rexec "$job" echo quick)" "quick" "keeps nobody else waiting"
exec 7<&-
wait "$pid"
is $? 141 "and one that leaves ends it, as a pipe does"
ok "the command behind it ends too" wait_for 10 gone 'yes slow-reader'
sh -c "yes | rexec -i $job sleep 4321" & # input that nobody takes does not keep a signal back
sleeper=$!
wait_for 10 running 'sleep 4321'
pkill -TERM -P "$sleeper" -f "rexec -i $job sleep 4321"
wait "$sleeper"
is $? 143 "a signal passes by input that nobody takes"

# ---- where it is ----
own_cgroup=$(rexec "$job" cat /proc/self/cgroup)
task_cgroup=$(cat "/proc/$(pgrep -fx "/bin/sh .*/$job\\.0" | head -n 1)/cgroup" 2>/dev/null)
is "$own_cgroup" "$task_cgroup" "it is in the job's cgroups"
tasks=$(rsubmit --parsable -N 2 -n 2 -- sh -c "exec sleep 5000")
wait_state "$tasks" RUNNING
is "$(for i in 0 1; do rexec --task $i "$tasks" sh -c 'echo $ROTA_PROCID $ROTA_NODENAME'; done)" \
  "$(printf '0 %s\n1 %s' "${nodes[@]}")" "each task has its place"
run --task 2 "$tasks" true
is "$code:$(cat err)" "1:rexec: invalid argument: task 2 of 2; they count from 0" "a task that is not there"
run --task x "$tasks" true
is "$code" 2 "a task that is no number"

# ---- many ----
for i in $(seq 40); do rexec "$job" echo "$i" >"many.$i" & pids[i]=$!; done
for i in $(seq 40); do wait "${pids[i]}"; done
is "$(cat many.* | sort -n | tr '\n' ' ')" "$(seq -s ' ' 40) " "forty at once"
run "$job" echo "$(head -c 100000 /dev/zero | tr '\0' x)"
is "$code:$(wc -c <out)" "0:100001" "a long argument"
run "$job" echo "$(head -c 130000 /dev/zero | tr '\0' x)" "$(head -c 130000 /dev/zero | tr '\0' x)"
is "$code" 1 "one that is too long"
like "$(cat err)" "too large: the command has [0-9]+ bytes, at most 131072 are possible|frame" "is refused"

# ---- refusals ----
run 99999 true
is "$code:$(cat err)" "3:rexec: no such job: 99999" "no such job"
run x true
is "$code" 2 "a job that is no number"
run
is "$code" 2 "no job at all"
waiting=$(rsubmit --parsable -G 2 -w "${nodes[0]},${nodes[1]}" -N 2 -n 2 -c 80 --wrap 'true')
run "$waiting" true
like "$code:$(cat err)" "^1:rexec: job has not started: job $waiting is PENDING" "a job that waits"
rcancel "$waiting"
ended=$(rsubmit --parsable --wrap true)
wait_state "$ended" COMPLETED
run "$ended" true
is "$code:$(cat err)" "1:rexec: job has already ended: job $ended is COMPLETED" "a job that has ended"

# ---- ends ----
rexec "$job" sleep 4322 &
pid=$!
wait_for 10 running 'sleep 4322'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "when rexec is killed, its command ends" wait_for 10 gone 'sleep 4322'
is "$(state_of "$job")" RUNNING "and the job goes on"
rexec "$tasks" sh -c 'trap "" HUP; exec sleep 4323' 2>err &
pid=$!
wait_for 10 running 'sleep 4323'
daemon_kill "${nodes[0]}"
wait "$pid"
is $? 69 "when rgpud is killed, rexec says that the session is lost"
like "$(cat err)" "rexec: connection lost: the session with the node ended" "in words"
cluster_resume
ok "rgpud is back and takes commands for the job of before" wait_for 20 rexec "$tasks" true
is "$(count_of 'sleep 4323')" 1 "a command that ignores SIGHUP stays in the job"
rexec "$tasks" sleep 4324 2>err &
pid=$!
wait_for 10 running 'sleep 4324'
rcancel "$tasks"
wait "$pid"
is $? 143 "a command ends with its job"
wait_state "$tasks" CANCELLED
is "$(count_of 'sleep 432[0-9]')" 0 "and so does one that ignored SIGHUP"
job2=$(rsubmit --parsable --wrap 'read -r line <go')
wait_state "$job2" RUNNING
rexec "$job2" sleep 4325 2>err &
pid=$!
wait_for 10 running 'sleep 4325'
step=$(ps -o ppid= -p "$(pgrep -fx 'sleep 4325')" | tr -d ' ')
like "$(cat "/proc/$step/cmdline" | tr '\0' ' ')" "rstepd" "the command is a child of the job's rstepd"
kill -KILL "$step"
wait "$pid"
is $? 1 "when rstepd is killed, rexec ends"
ok "and the command" wait_for 20 gone 'sleep 4325'
echo >park
wait_state "$job" COMPLETED
is "$(count_of 'sleep 1000')" 0 "nothing is left of a job that has ended"
sockets=$(ls -l "/proc/$(daemon_pid "${nodes[0]}")/fd" | grep -cE 'socket|pipe|ptmx')
ok "and rgpud holds no file of it" test "$sockets" -le 12
