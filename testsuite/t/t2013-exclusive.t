#!/bin/bash
# testsuite/t/t2013-exclusive.t - jobs that have their nodes to themselves, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 15
cluster_start --nodes 2 --gpus 2
cd "$test_dir" || bail_out "no directory"
chmod 777 .
mkfifo never.in
exec 9<>never.in

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}
wait_for_ever() { rsubmit --parsable -o /dev/null "$@" -- sh -c "read -r _ <$test_dir/never.in"; }

small=$(wait_for_ever -G 1)
ok "a job runs with one GPU" wait_state "$small" RUNNING
alone=$(rsubmit --parsable --exclusive -G 1 -o alone.out -- sh -c "env >env.out; nproc; read -r _ <$test_dir/never.in")
ok "another one that wants no company runs, too" wait_state "$alone" RUNNING
is "$(field "$alone" exclusive),$(field "$small" exclusive)" true,false "rqueue tells them apart"
like "$(rota show job "$alone")" "exclusive: yes" "so does rota show job"
is "$(field "$alone" gpus)" 2 "it has all GPUs of its node"
node=$(field "$alone" nodes)
is "$(rinfo --json "$node" | jq '.nodes[0] | .cpus == .cpus_held')" true "and all CPUs"
ok "it writes its environment" wait_for 10 test -s env.out
like "$(cat env.out)" "SLURM_GPUS_ON_NODE=2|ROTA_GPUS_ON_NODE=2" "which tells it so"
part=$(wait_for_ever -g 0.5)
ok "a part of a GPU goes to the other node" wait_state "$part" RUNNING
unlike "$(field "$part" nodes)" "^$node\$" "not beside it"
second=$(wait_for_ever --exclusive)
is "$(state_of "$second")" PENDING "a second one finds no empty node"
like "$(rqueue --noheader -j "$second" -o '%r: %{reason_detail}')" "Resources: .* with nobody else there: none of 2 nodes is empty" "which is why it waits"
rcancel "$alone"
ok "when the first has ended the second starts" wait_state "$second" RUNNING
rcancel "$second" "$part" "$small"
out=$(rsubmit --exclusive=user -o /dev/null -- true 2>&1)
is "$?" 2 "sharing among one's own jobs is refused"
like "$out" "'user' is not known here: a node is shared with every job or with none" "with a reason"
