#!/bin/bash
# testsuite/t/t3090-steps.t - rrun starts steps: many tasks on several nodes, all or none; their output, signals and codes
# come back.
. "$(dirname "$0")/lib.sh"
plan 61

cat >"$test_dir/extra.yaml" <<'Y'
node:
  session_linger: 3s
Y
cat >"$test_dir/projects.yaml" <<'Y'
projects:
  default: {quota: 8}
Y
cluster_start --nodes 2 --gpus 4 --config "$test_dir/extra.yaml" --projects "$test_dir/projects.yaml"
nodes=($(node_names))
cd "$test_dir" || exit 1
running() { pgrep -fx -- "$1" >/dev/null; }
gone() { ! running "$1"; }
last_job() { rqueue --noheader -a -o %i | sort -n | tail -n 1; }
run() {
  timeout 60 "$@" >out 2>err </dev/null
  code=$?
}

# ---- an allocation of its own ----
run rrun -N 2 -n 4 sh -c 'echo $ROTA_PROCID $ROTA_LOCALID $ROTA_NODEID $ROTA_NODENAME'
is "$code:$(sort out):$(cat err)" "0:0 0 0 ${nodes[0]}
1 1 0 ${nodes[0]}
2 0 1 ${nodes[1]}
3 1 1 ${nodes[1]}:" "four tasks run on two nodes"
ok "and their job completes" wait_state "$(last_job)" COMPLETED
run rrun -N 2 -n 4 -l sh -c 'echo a; echo b; echo e >&2'
is "$(sort out | tr '\n' ,)$(sort err | tr '\n' ,)" "0: a,0: b,1: a,1: b,2: a,2: b,3: a,3: b,0: e,1: e,2: e,3: e," \
  "--label says which task wrote a line"
run rrun -n 12 -l sh -c 'printf "%s" $ROTA_PROCID'
is "$(sort -n out | sed -n '1p;12p' | tr '\n' ,)" " 0: 0,11: 11," "labels are as wide as the widest, and a last line is ended"
run rrun -N 2 -n 3 sh -c 'exit $ROTA_PROCID'
is "$code" 2 "the worst exit code comes back"
is "$(sort err)" "rrun: task 1 on ${nodes[0]} ended with 1
rrun: task 2 on ${nodes[1]} ended with 2" "and who failed is told"
is "$(rqueue --noheader -j "$(last_job)" -o '%T %{exit_code}')" "FAILED 2:0" "the job has it too"
is "$(echo abc | rrun -n 2 -l sh -c 'read -r x; echo got $x' | sort)" "0: got abc
1: got" "standard input goes to task 0"
run rrun -N 2 -n 2 --gpus-per-node 2 sh -c 'echo ${CUDA_VISIBLE_DEVICES} | tr , "\n" | wc -l'
is "$(tr '\n' , <out)" "2,2," "without --gpus-per-task a task sees all GPUs of its node"
run rrun -n 4 -g 1 sh -c 'echo $CUDA_VISIBLE_DEVICES'
is "$(sort -u out | grep -c '^GPU-')" 4 "with it each has its own"
run rrun -N 1-2 true
is "$code:$(cat err)" "2:rrun: rrun's command has a number of nodes, not a range: use rsubmit" "a range of nodes is for rsubmit"

# ---- none or all ----
run rrun -N 2 -n 4 no-such-command
is "$code" 127 "a command that is not there"
like "$(cat err)" "^rrun: task [0-3] on (${nodes[0]}|${nodes[1]}): cannot run 'no-such-command': No such file or directory$" \
  "fails the step with the words of one node"
ok "and its job" wait_state "$(last_job)" FAILED
# A directory that only task 3 cannot enter does not exist on one node alone here, so the GPUs have to do: the job has
# fewer than the last task wants.
cat >uneven.sh <<'S'
#!/bin/sh
rrun -N 2 -n 2 --gpus-per-task 3 sh -c "touch $PWD/ran.\$ROTA_PROCID"
S
sed -i "s:\$PWD:$test_dir:" uneven.sh
run rsubmit --wait -Q -N 2 --gpus-per-node 2 -o uneven.out uneven.sh
like "$(cat uneven.out)" "1 task with 3 GPUs need 3 GPUs on ${nodes[0]}, where the job has 2" "what does not fit is refused"
is "$(ls | grep -c '^ran\.')" 0 "and nothing runs"

# ---- steps of a batch script ----
cat >steps.sh <<'S'
#!/bin/sh
rrun sh -c 'echo step $ROTA_STEP_ID $SLURM_STEP_ID task $ROTA_PROCID of $ROTA_STEP_NUM_TASKS on $ROTA_STEP_NUM_NODES $PWD'
rrun -N 1 -n 1 sh -c 'echo step $ROTA_STEP_ID on $ROTA_STEP_NODELIST'
rrun -w NODE1 -n 1 sh -c 'echo step $ROTA_STEP_ID on $ROTA_NODENAME, node $ROTA_NODEID of $ROTA_NNODES, job $ROTA_JOB_NODELIST'
rrun -n 5 -l sh -c 'echo $ROTA_GTIDS $ROTA_STEP_TASKS_PER_NODE'
rrun -N 2 --ntasks-per-node 1 --gpus-per-task 1 -l sh -c 'echo $CUDA_VISIBLE_DEVICES $ROTA_GPUS_PER_TASK'
rrun -n 2 sh -c 'test $ROTA_TASK_PID = $$ && test $SLURM_TASK_PID = $$ && echo pid'
X=y rrun -N 1 -n 1 sh -c 'echo X is $X'
rrun -n 2 sh -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $((MASTER_PORT > 1023))'
rrun -w nowhere true
rrun -n 3 -c 99 true
rrun -g 1 -A other true
rrun -n 4 -K sh -c 'test $ROTA_PROCID = 2 && exit 7; exec sleep 4352'
echo code $?
rrun -n 4 sh -c 'test $ROTA_PROCID = 1 && kill -SEGV $$; exec sleep 4352'
echo code $?
rrun -n 2 --kill-on-bad-exit=0 sh -c 'test $ROTA_PROCID = 0 && exit 4; echo other'
echo code $?
rrun -N 2 -n 4 -o "step-%t.out" sh -c 'echo $ROTA_PROCID; echo error >&2'
rrun -n 2 -o none sh -c 'echo nothing'
rrun -n 2 --overlap -o both.out --error none sh -c 'echo $ROTA_PROCID; echo nothing >&2'
rrun -n 2 -o /no/such/place true
echo code $?
S
sed -i "s/NODE1/${nodes[1]}/" steps.sh
job=$(rsubmit --parsable -N 2 -n 2 --gpus-per-node 2 -o steps.out steps.sh)
ok "a batch script with steps" wait_state "$job" 'COMPLETED' 60
has() { grep -qxF -- "$1" steps.out || { diag "$(cat steps.out)"; false; }; }
ok "a step has the job's tasks: the first" has "step 0 0 task 0 of 2 on 2 $test_dir"
ok "the second" has "step 0 0 task 1 of 2 on 2 $test_dir"
ok "the next step has the next number, and -N chooses the first node" has "step 1 on ${nodes[0]}"
ok "-w chooses others; the job's own variables stay" has "step 2 on ${nodes[1]}, node 0 of 1, job $(rqueue --noheader -j "$job" -o %N)"
ok "another number of tasks is spread evenly" has "4: 3,4 3,2"
ok "the first nodes get more" has "0: 0,1,2 3,2"
is "$(grep -cE '^[01]: GPU-[^,]* 1$' steps.out)" 2 "GPUs are divided inside a job, too"
is "$(grep -cx pid steps.out)" 2 "each task knows its process"
ok "the script's variables go along" has "X is y"
ok "PyTorch's are there" has "1/2 0 127.0.0.1 1"
ok "a node of others is refused" has "rrun: nowhere is not a node of the job, which has $(rqueue --noheader -j "$job" -o %N)"
like "$(cat steps.out)" "2 tasks with 99 CPUs need 198 CPUs on ${nodes[0]}, where the job has [0-9]+" "so are too many CPUs"
like "$(cat steps.out)" "rrun: inside job $job the command runs on what the job has: --project cannot be chosen here" "and a project"
like "$(cat steps.out)" "rrun: task 2 on ${nodes[1]} ended with 7
code 7" "-K ends the others when one fails, and its code counts"
like "$(cat steps.out)" "rrun: task 1 on ${nodes[0]} was ended by signal 11 \(Segmentation fault\)
code 139" "a signal does so by itself"
like "$(cat steps.out)" "other
.*code 4|ended with 4
other
code 4" "without -K they go on"
ok "none of them is left" wait_for 5 gone 'sleep 4352'
is "$(cat step-0.out step-3.out | tr '\n' ,)" "0,error,3,error," "-o makes a file for each task"
is "$(grep -c nothing steps.out)" 0 "none goes nowhere"
is "$(sort both.out | tr '\n' ,)" "0,1," "or one for all, without errors"
like "$(cat steps.out)" "rrun: cannot open /no/such/place: No such file or directory
code 1" "a file that cannot be opened stops the step"

# ---- signals ----
rrun -N 2 -n 4 sh -c 'trap "echo caught \$ROTA_PROCID; exit 5" INT; echo ready; while :; do sleep 0.1; done' >out 2>err &
pid=$!
ready() { [[ $(grep -c ready out) == 4 ]]; }
wait_for 20 ready
kill -INT "$pid"
wait "$pid"
is "$?:$(grep caught out | sort | tr '\n' ,)" "5:caught 0,caught 1,caught 2,caught 3," "an interrupt goes to all tasks"
rrun -N 2 -n 2 sleep 4353 &
pid=$!
two() { [[ $(pgrep -fxc 'sleep 4353') == 2 ]]; }
wait_for 20 two
job=$(last_job)
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "a killed rrun takes its tasks along" wait_for 10 gone 'sleep 4353'
ok "and its job" wait_state "$job" 'FAILED|CANCELLED' 20
job=$(rsubmit --parsable -N 2 --wrap 'rrun -n 2 sleep 4354; echo code $?' -o cancelled.out)
two4() { [[ $(pgrep -fxc 'sleep 4354') == 2 ]]; }
wait_for 20 two4
rcancel "$job"
ok "the end of a job ends its steps" wait_state "$job" CANCELLED 20
ok "on all nodes" wait_for 5 gone 'sleep 4354'
# The command is gone, its tasks ignore that: after the kill wait they go all the same.
rrun -N 2 -n 2 sh -c 'trap "" HUP TERM; while :; do sleep 4355; done' &
pid=$!
two5() { [[ $(pgrep -fxc 'sleep 4355') == 2 ]]; }
wait_for 20 two5
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "tasks that ignore everything are killed" wait_for 20 gone 'sleep 4355'
wait_state "$(last_job)" 'FAILED|CANCELLED' 20 >/dev/null

# ---- a lost node ----
rrun -N 2 -n 2 sleep 4356 2>err &
pid=$!
two6() { [[ $(pgrep -fxc 'sleep 4356') == 2 ]]; }
wait_for 20 two6
job=$(last_job)
daemon_kill "${nodes[1]}"
wait "$pid"
is "$?" 69 "a node's rgpud that goes ends the step"
like "$(cat err)" "rrun: .*the session with ${nodes[1]} ended" "and rrun says so"
cluster_resume
ok "its tasks go" wait_for 20 gone 'sleep 4356'
ok "and the job, by the node's failure" wait_state "$job" NODE_FAIL 30

# ---- meeting ----
rendezvous=$top_srcdir/testsuite/t/rendezvous.py
if command -v python3 >/dev/null; then
  run rsubmit --wait -Q -N 2 -n 4 -o 'meet-%t.out' -- python3 "$rendezvous"
  is "$code:$(cat meet-*.out | tr '\n' ,)" "0:rank 0 of 4: 30,rank 1 of 4: 30,rank 2 of 4: 30,rank 3 of 4: 30," \
    "the tasks of a job on two nodes find each other"
  run rrun -N 2 -n 6 -l python3 "$rendezvous"
  is "$code:$(sort out | tail -n 1)" "0:5: rank 5 of 6: 91" "so do those of a step"
else
  skip 2 "no python3"
fi
# Somebody has the port that a job would have got: it gets another.
first=$(rsubmit --parsable -o port1.out --wrap 'echo $MASTER_ADDR $MASTER_PORT; rrun -n 1 sh -c "echo \$MASTER_PORT"')
wait_state "$first" COMPLETED >/dev/null
second=$(rsubmit --parsable -o port2.out --wrap 'echo $MASTER_ADDR $MASTER_PORT')
wait_state "$second" COMPLETED >/dev/null
like "$(head -n 1 port1.out)" "^127\.0\.0\.1 [1-3][0-9]{4}$" "a batch job has a port"
unlike "$(tail -n 1 port1.out)" "$(sed -n '1s/.* //p' port1.out)" "its steps have others"
unlike "$(cat port2.out)" "$(sed -n '1s/.* //p' port1.out)" "so has the next job"
is "$(rsubmit -Q --wait --env MASTER_PORT=5 -o port3.out --wrap 'echo $MASTER_PORT' && cat port3.out)" 5 \
  "who gives a port keeps it"
is "$(rsubmit -Q --wait -o port4.out --wrap 'MASTER_PORT=7 rrun sh -c "echo \$MASTER_PORT"' && cat port4.out)" 7 \
  "also for a step"
is "$(rrun --env MASTER_PORT=8 sh -c 'echo $MASTER_PORT')" 8 "or an allocation"

# ---- mistakes ----
run rrun -n 2 --pty true
is "$code:$(cat err)" "2:rrun: --pty is for one task on one node" "a terminal is one"
run rrun --pty -l true
is "$code" 2 "and has no labels"
run rrun -n 2 --kill-on-bad-exit=3 true
is "$code" 2 "-K takes 0 or 1"
ok "nothing is left running" wait_for 10 gone 'sleep 435[0-9]'
is "$(rqueue --noheader -o %i)" "" "and no job"
