#!/bin/bash
# testsuite/t/t3031-mig-jobs.t - jobs that ask for MIG instances: cut for them, seen by them, ended after them.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "not root: GPUs are cut by root only"

fakegpu=$top_builddir/testsuite/fakegpu
user=$top_builddir/testsuite/unit/gpushim/shim_user
plan 25
cat >"$test_dir/keys.yaml" <<TEXT
nodes:
  heartbeat: 200ms
node:
  mig_hold: 1s
TEXT
cluster_start --nodes 1 --gpus 2 --model hgx-h100-80gb --config "$test_dir/keys.yaml"
node=$(node_names)
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/hgx-h100-80gb.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=2 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
export LD_LIBRARY_PATH=$fakegpu
cd "$test_dir" || exit 1

layout() { "$fakegpu/rota-fakegpu" layout | sed 's/ MIG-.*//' | tr -s '\n ' ' '; }
is_laid_out() { [[ $(layout) == "$1" ]]; }
drawn() { rinfo --gpus -n -P | cut -d'|' -f7 | paste -sd' '; }
field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }
# holder OUT OPTIONS: a job that holds what it has until its fifo is written to.
holder() {
  local out=$1
  shift
  mkfifo "$out.in"
  rsubmit --parsable -o "$out" "$@" -- sh -c "echo \$CUDA_VISIBLE_DEVICES; read -r _ <$test_dir/$out.in"
}
let_go() { echo >"$1.in"; }

rsubmit --quiet --wait -o one --mig 3g.40gb -- \
  sh -c "echo \$CUDA_VISIBLE_DEVICES; printf '%s\n' init 'total 0' 'retain 0' memory | '$user'"
like "$(sed -n 1p one)" '^MIG-' "a job with an instance sees its UUID"
like "$(sed -n 6p one)" ' of 40[0-9]{3}$' "CUDA shows it the instance's memory"
ok "after it the GPU is whole again" wait_for 30 is_laid_out "0 mig=off 1 mig=off "

big=$(holder big --mig 4g.40gb)
small=$(holder small --mig 1g.10gb:2)
wait_state "$big" RUNNING
wait_state "$small" RUNNING
is "$(drawn)" "[4444.11.] idle" "rinfo draws what it is cut into"
is "$(layout | grep -o ' [0-9]*:[0-9]*' | sort | paste -sd' ' | tr -s ' ')" " 0:4 5:1 6:1" "and so it is"
is "$(tr ',' '\n' <small | grep -c '^MIG-')" 2 "a job with two instances sees two"
is "$(field "$big" gpus)" 0.5 "half of the slices is half a GPU"
whole=$(holder whole -g 1)
ok "a whole GPU goes to the other one" wait_state "$whole" RUNNING
is "$(drawn)" "[4444.11.] whole" "which is whole"
seven=$(holder seven --mig 7g.80gb)
like "$(field "$seven" reason_detail)" "there is room for 0 of them now" "a job for which there is no room is told so"
let_go big
wait_state "$big" COMPLETED
# Before the other, for which a place is kept: it is over in time.
three=$(holder three -t 10 --mig 3g.40gb)
ok "what comes free is cut anew" wait_state "$three" RUNNING

# rgpud goes away and comes back: instances stay, and go with their jobs.
before=$(layout)
daemon_kill "$node" KILL
cluster_resume
ok "a new rgpud finds the instances of its jobs" wait_for 30 grep -q "runs in the spool" "$cluster_dir/log/$node.log"
is "$(layout)" "$before" "and leaves them"
let_go three
let_go small
wait_state "$three" COMPLETED
wait_state "$small" COMPLETED
ok "the empty GPU goes to the job that waited for all of it" wait_state "$seven" RUNNING
like "$(layout)" " 7g.80gb 0:8 " "it is cut in one piece"
let_go whole
let_go seven
wait_state "$whole" COMPLETED
wait_state "$seven" COMPLETED
ok "in the end both are whole" wait_for 30 is_laid_out "0 mig=off 1 mig=off "

rsubmit --quiet --wait -o auto --mig auto -g 0.2 -- sh -c 'echo $CUDA_VISIBLE_DEVICES $ROTA_JOB_MIG'
like "$(<auto)" 'MIG-.*1g.20gb' "auto finds the smallest profile that has the part"
rsubmit --quiet --wait -o tasks -n 2 --mig 1g.10gb -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
is "$(tr ',' '\n' <tasks | sort -u | grep -c '^MIG-')" 2 "two tasks have an instance each"

# What they do, as far as the driver tells.
mkfifo use.in
exec 8<>use.in
use=$(rsubmit --parsable -o use --mig 3g.40gb -- sh -c "exec '$user' <$test_dir/use.in")
printf '%s\n' init 'retain 0' 'alloc 2048' >&8
used() { rqueue --json -j "$use" | jq -e ".jobs[0].gpu_usage.memory_bytes >= $((2048 << 20))"; }
ok "an instance's memory is seen" wait_for 30 used
is "$(field "$use" 'gpu_usage.utilization_percent')" null "its utilisation is not known"
rcancel "$use"
ok "it ends" wait_state "$use" CANCELLED
exec 8>&-

is_error() { ! rsubmit "$@" -- true 2>error; }
ok "a profile that no GPU has is refused" is_error --mig 5g.50gb
like "$(<error)" "can be cut into 1g.10gb, " "with those that there are"
ok "so is nonsense" is_error --mig 3x
like "$(<error)" "is not the name of a MIG profile" "with how one is written"
