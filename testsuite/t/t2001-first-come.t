#!/bin/bash
# testsuite/t/t2001-first-come.t - gangs, packing and the order of arrival, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 15
cluster_start --nodes 2 --gpus 4
cd "$test_dir" || bail_out "no directory"

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}

a=$(rsubmit --parsable -G 3 -o /dev/null -- sleep 1000)
ok "three GPUs of one node" wait_state "$a" RUNNING
b=$(rsubmit --parsable -G 1 -o /dev/null -- sleep 1000)
ok "a fourth" wait_state "$b" RUNNING
is "$(field "$b" nodes)" "$(field "$a" nodes)" "it goes where it fits tightest"
gang=$(rsubmit --parsable -J gang -N 2 --gpus-per-node 2 -o /dev/null -- sleep 1000)
small=$(rsubmit --parsable -J small -G 1 -o /dev/null -- sleep 1000)
is "$(field "$gang" state) $(field "$small" state)" "PENDING PENDING" "a gang waits, nobody passes it"
like "$(field "$gang" reason_detail)" '4 GPUs.* are free' "the first in line waits for resources, in numbers"
like "$(field "$small" reason_detail)" "behind job $gang" "the next one waits behind it"
is "$(rqueue --noheader -j "$gang" -o %r)" Resources "Slurm's word for the first"
is "$(rqueue --noheader -j "$small" -o %r)" Priority "and for the next"
rcancel "$a"
ok "the gang starts when its last part is free" wait_state "$gang" RUNNING
ok "then the small one" wait_state "$small" RUNNING
is "$(field "$gang" nodes | tr , '\n' | sort -u | wc -l)" 2 "the gang is on two nodes"

out=$(rsubmit -G 5 -o /dev/null -- true 2>&1)
is $? 5 "a request that no node can hold is refused"
like "$out" 'never fit.*4 GPUs' "in numbers"

# One command per task, on all nodes of the gang; output by task and node.
tasks=$(rsubmit --parsable -N 2 -n 4 -o 'out-%x-%j-%N-%t' -J "many" -- sh -c 'echo $ROTA_PROCID $SLURM_PROCID $ROTA_NTASKS')
rcancel "$gang" "$small" "$b"
ok "a command runs once per task" wait_state "$tasks" COMPLETED
is "$(cat out-many-"$tasks"-dgx1-*-* | sort | xargs)" "0 0 4 1 1 4 2 2 4 3 3 4" "each knows its number"
