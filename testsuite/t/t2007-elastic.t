#!/bin/bash
# testsuite/t/t2007-elastic.t - jobs that grow and shrink while they run, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 31
cat >"$test_dir/projects.yaml" <<'TEXT'
projects:
  owner: {quota: 4, grace: 20s}
  guest: {quota: 2, grace: 20s}
TEXT
cluster_start --nodes 3 --gpus 2 --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}
has() { # JOB FIELD VALUE
  [[ $(field "$1" "$2") == "$3" ]]
}
held() { # JOB: GPUs held by it as rinfo sees them
  rinfo --json | jq "[.nodes[].gpus[] | select(.job == $1)] | length"
}
cat >worker.sh <<'TEXT'
#!/bin/bash
trap 'echo "$ROTA_PROCID left" >>log; exit 0' TERM
echo "$ROTA_PROCID of $ROTA_NTASKS on $ROTA_NNODES nodes, $ROTA_GPUS GPUs" >>log
while [[ ! -e done ]]; do sleep 0.05; done
TEXT
chmod 755 worker.sh

# It takes what is idle, gives back what others have a right to, and takes it again.
job=$(rsubmit --parsable -A guest -N 1-3 --gpus-per-node 2 -o /dev/null -- ./worker.sh)
ok "it starts" wait_state "$job" RUNNING
is "$(field "$job" nodes | tr , '\n' | wc -l)" 3 "on all that is idle"
is "$(field "$job" gpus),$(field "$job" nodes_min),$(field "$job" nodes_max)" 6,1,3 "and rqueue tells"
ok "its tasks run" wait_for 30 bash -c '(( $(wc -l <log) == 3 ))'
is "$(sort log | head -n 1)" "0 of 3 on 3 nodes, 6 GPUs" "and know how many they are"
before=$(field "$job" nodes)
mine=$(rsubmit --parsable -A owner -N 1 --gpus-per-node 2 -o /dev/null -- sleep 1000)
ok "others get their due" wait_state "$mine" RUNNING
is "$(field "$job" state),$(field "$job" restarts),$(field "$job" preemptions)" RUNNING,0,0 "it goes on"
is "$(field "$job" nodes)" "${before%,*}" "on the nodes that are left"
is "$(grep left log)" "2 left" "the last came off, politely"
like "$(field "$job" displaced)" "^shrinks by 1 node: makes way for job $mine of project 'owner'" "and rqueue tells for whom"
is "$(held "$job")" 4 "its GPUs are counted"
more=$(rsubmit --parsable -A owner -N 1 --gpus-per-node 2 -o /dev/null -- sleep 1000)
ok "and once more" wait_state "$more" RUNNING
is "$(field "$job" nodes)" "${before%%,*}" "down to its minimum"
third=$(rsubmit --parsable -A owner -N 1 --gpus-per-node 2 -o /dev/null -- sleep 1000)
ok "and not beyond" wait_for 30 has "$third" reason Resources
is "$(field "$job" state),$(held "$job")" RUNNING,2 "its minimum is within its quota"
rcancel "$third" "$more"
ok "what is idle again is its" wait_for 30 has "$job" gpus 4
ok "with the number that is free" wait_for 30 bash -c '(( $(grep -c "^1 of 2" log) == 1 ))'

# kill -9 of the controller while it shrinks; and of a node daemon under what it grew by.
cat >slow.sh <<'TEXT'
#!/bin/bash
trap 'echo "$ROTA_PROCID asked" >>slow; read -r line <go; exit 1' TERM
echo "$ROTA_PROCID runs" >>slow
while :; do sleep 0.05; done
TEXT
chmod 755 slow.sh
mkfifo go
exec 9<>go # one end stays open, so that a reader waits for its line whatever the others do
rcancel "$job" "$mine"
ok "all is free" wait_state "$mine" CANCELLED
slow=$(rsubmit --parsable -A guest -N 1-3 --gpus-per-node 2 -o /dev/null -- ./slow.sh)
ok "another one" wait_for 30 bash -c '(( $(grep -c runs slow) == 3 ))'
mine=$(rsubmit --parsable -A owner -N 1 --gpus-per-node 2 -o /dev/null -- sleep 1000)
ok "it is asked to shrink" wait_for 30 grep -q "2 asked" slow
daemon_kill rctld
cluster_resume
ok "a new controller knows" wait_for 30 has "$slow" reason_detail "$(field "$slow" displaced)"
is "$(field "$slow" state),$(field "$mine" state)" RUNNING,PENDING "and the other still waits"
echo >&9
ok "until it has left" wait_state "$mine" RUNNING
is "$(grep -c asked slow)" 1 "it was asked once"
rcancel "$mine"
ok "it grows again" wait_for 30 bash -c '(( $(grep -c "2 runs" slow) == 2 ))'
node=$(field "$slow" nodes | cut -d, -f3)
daemon_kill "$node"
cluster_resume
ok "what grew is adopted by a new rgpud" wait_for 30 has "$slow" reason null
is "$(field "$slow" state),$(held "$slow"),$(grep -c runs slow)" RUNNING,6,4 "and goes on"
rcancel "$slow"
ok "it is cancelled" wait_for 30 grep -q "0 asked" slow
for _ in 1 2 3; do echo >&9; done
ok "all of it ends" wait_state "$slow" CANCELLED

# What cannot be elastic.
like "$(rsubmit -N 1-3 -n 3 -- true 2>&1)" "--ntasks counts the whole job, and this one has 1 to 3 nodes: give --ntasks-per-node" "a total of tasks"
like "$(rsubmit -N 3-1 -- true 2>&1)" "'3-1' is no range of nodes; write 4-8" "a range the wrong way round"
