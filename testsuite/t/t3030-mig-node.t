#!/bin/bash
# testsuite/t/t3030-mig-node.t - what an rgpud does at its start with the MIG instances that it finds.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "not root: GPUs are cut by root only"
plan 8
fakegpu=$top_builddir/testsuite/fakegpu/rota-fakegpu

# tool WORDS...: rota-fakegpu for the one node.
tool() {
  ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/hgx-h100-80gb.yaml ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=2 \
    "$fakegpu" --state "$cluster_dir/nodes/$node/gpu_state" "$@"
}
layout() { tool layout | sed 's/ MIG-.*//' | tr -s '\n ' ' '; }
is_laid_out() { [[ $(layout) == "$1" ]]; }

cluster_start --nodes 1 --gpus 2 --model hgx-h100-80gb
node=$(node_names | head -n 1)
is "$(layout)" "0 mig=off 1 mig=off " "a GPU is left as it is until a job wants it cut"
tool set 0 mig=on
uuid=$(tool create-instance 0 3g.40gb 4)
like "$uuid" '^MIG-' "somebody cuts one behind our back"
log=$cluster_dir/log/$node.log
daemon_kill "$node" TERM
cluster_resume
ok "a new rgpud finds it, and leaves it alone" \
  wait_for 30 grep -q "MIG instance 2 at 4:4 of GPU-.* is not ours: its slices are left alone" "$log"
is "$(layout)" "0 mig=on 2 3g.40gb 4:4 1 mig=off " "it is there"

cat >"$test_dir/keys.yaml" <<TEXT
node:
  mig_strangers: destroy
TEXT
minicluster stop "$cluster_dir" >/dev/null
cluster_start --config "$test_dir/keys.yaml"
ok "with mig_strangers: destroy it is ended" wait_for 30 is_laid_out "0 mig=on 1 mig=off "
ok "and the log says so" grep -q "MIG instance 2 at 4:4 of GPU-.* is not ours, and is ended" "$log"
daemon_kill "$node" TERM
tool set 0 mig=off
cluster_resume
like "$(rinfo --json | jq -c '.nodes[0].state')" up "the node is back"
is "$(layout)" "0 mig=off 1 mig=off " "and finds nothing"
