#!/bin/bash
# testsuite/t/t2001-gangs.t - gangs, packing and the order of arrival, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 18
cluster_start --nodes 2 --gpus 4
cd "$test_dir" || bail_out "no directory"

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}

a=$(rsubmit --parsable -G 3 -t 1h -o /dev/null -- sleep 1000)
ok "three GPUs of one node" wait_state "$a" RUNNING
b=$(rsubmit --parsable -G 1 -t 1h -o /dev/null -- sleep 1000)
ok "a fourth" wait_state "$b" RUNNING
is "$(field "$b" nodes)" "$(field "$a" nodes)" "it goes where it fits tightest"
gang=$(rsubmit --parsable -J gang -N 2 --gpus-per-node 3 -t 1h -o /dev/null -- sleep 1000)
long=$(rsubmit --parsable -J long -G 2 -t 5h -o /dev/null -- sleep 1000)
is "$(field "$gang" state) $(field "$long" state)" "PENDING PENDING" "a gang waits, and nobody who would delay it passes"
like "$(field "$gang" reason_detail)" '4 GPUs.* are free' "it waits for resources, in numbers"
like "$(field "$long" reason_detail)" "would delay job $gang" "the next one knows whom it would delay"
is "$(rqueue --noheader -j "$gang" -o %r)" Resources "Slurm's word for the first"
is "$(rqueue --noheader -j "$long" -o %r)" Priority "and for the next"
short=$(rsubmit --parsable -J short -G 2 -t 1m -o /dev/null -- sleep 1000)
ok "who is over in time passes" wait_state "$short" RUNNING
beside=$(rsubmit --parsable -J beside -G 1 -t 5h -o /dev/null -- sleep 1000)
ok "and who leaves enough for it" wait_state "$beside" RUNNING
rcancel "$a" "$short"
ok "the gang starts when its last part is free" wait_state "$gang" RUNNING
rcancel "$gang"
ok "then the long one" wait_state "$long" RUNNING
is "$(field "$gang" nodes | tr , '\n' | sort -u | wc -l)" 2 "the gang was on two nodes"

out=$(rsubmit -G 5 -o /dev/null -- true 2>&1)
is $? 5 "a request that no node can hold is refused"
like "$out" 'never fit.*4 GPUs' "in numbers"

# One command per task, on all nodes of the gang; output by task and node.
tasks=$(rsubmit --parsable -N 2 -n 4 -o 'out-%x-%j-%N-%t' -J "many" -- sh -c 'echo $ROTA_PROCID $SLURM_PROCID $ROTA_NTASKS')
rcancel "$beside" "$long" "$b"
ok "a command runs once per task" wait_state "$tasks" COMPLETED
is "$(cat out-many-"$tasks"-dgx1-*-* | sort | xargs)" "0 0 4 1 1 4 2 2 4 3 3 4" "each knows its number"
ok "nothing is left" wait_for 30 bash -c '[[ -z $(rqueue --noheader -o %i) ]]'
