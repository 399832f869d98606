#!/bin/bash
# testsuite/t/t3020-gpu-health.t - a GPU of eight fails: its job starts elsewhere, the other seven go on, and it is
# reset, tested and returned; a job's own error ends the job; a GPU off the bus closes the node.
. "$(dirname "$0")/lib.sh"

fakegpu=$top_builddir/testsuite/fakegpu
plan 34
cd "$test_dir" || exit 1
mkfifo reset.go
cat >reset <<TEXT
#!/bin/sh
read -r _ <$test_dir/reset.go
exec $fakegpu/rota-fakegpu reset "\$1"
TEXT
chmod 755 reset
cat >keys.yaml <<TEXT
node:
  health_poll: 300ms
  gpu_reset_program: $test_dir/reset
TEXT
cluster_start --nodes 2 --gpus 8 --config keys.yaml
exec 7<>reset.go
read -r first second <<<"$(node_names | paste -sd' ')"

# fake NODE WORDS...: what the node's fake driver does.
fake() {
  local node=$1
  shift
  ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=8 \
    ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state "$fakegpu/rota-fakegpu" "$@"
}

# gpu NODE INDEX FIELD
gpu() {
  rinfo --json "$1" | jq -r ".nodes[0].gpus[] | select(.index == $2) | .$3"
}

# is_gpu NODE INDEX CONDITION
is_gpu() {
  [[ $(gpu "$1" "$2" condition) == "$3" ]]
}

# strikes NODE GPU XID: injects it until it is on record: rgpud may only just have begun to listen.
strikes() {
  fake "$1" xid "$2" "$3"
  wait_for 10 on_record "$1" "$3"
}
on_record() {
  rinfo --health --json "$1" | jq -e ".events[] | select(.xid == $2)"
}

field() {
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"
}

cat >job.sh <<'TEXT'
#!/bin/bash
echo "$ROTA_JOB_ID $(hostname) $CUDA_VISIBLE_DEVICES $$" >>started
exec sleep 600
TEXT
chmod 755 job.sh

# Eight jobs with one GPU each fill the first node that is taken.
jobs=()
for _ in 1 2 3 4 5 6 7 8; do jobs+=("$(rsubmit --parsable -G 1 -o /dev/null job.sh)"); done
for job in "${jobs[@]}"; do wait_state "$job" RUNNING >/dev/null; done
is "$(rqueue -n -t RUNNING -o %N | sort | uniq -c | awk '{ print $1, NF - 1 }')" "8 1" "eight jobs on eight GPUs of a node"
node=$(rqueue -n -j "${jobs[0]}" -o %N)
other=$first
[[ $node == "$first" ]] && other=$second
victim=$(gpu "$node" 3 job)
uuid=$(gpu "$node" 3 uuid)

ok "Xid 48 on one of them" wait_for 30 strikes "$node" 3 48
ok "its job starts again" wait_for 30 bash -c "[[ \$(rqueue --json -j $victim | jq -r '.jobs[0].restarts') == 1 ]]"
ok "and runs" wait_state "$victim" RUNNING
is "$(field "$victim" 'nodes[0]')" "$other" "on the other node"
ok "the GPU is empty and being reset" wait_for 30 is_gpu "$node" 3 resetting
like "$(gpu "$node" 3 condition_reason)" "Xid 48: double bit ECC error" "for a reason"
is "$(rqueue -n -t RUNNING -o %N | sort | uniq -c | awk '{ print $1 }' | paste -sd' ')" \
  "$([[ $node < $other ]] && echo '7 1' || echo '1 7')" "the other seven jobs run on"
like "$(rinfo --gpus "$node")" "resetting +$uuid +Xid 48" "rinfo shows it"
is "$(rinfo --json "$node" | jq -r '.nodes[0].state')" up "the node is up"

# It takes no job while it is closed: eight more fill the other node and nothing else.
more=()
for _ in 1 2 3 4 5 6 7 8; do more+=("$(rsubmit --parsable -G 1 -o /dev/null job.sh)"); done
for job in "${more[@]:0:7}"; do wait_state "$job" RUNNING >/dev/null; done
is "$(state_of "${more[7]}")" PENDING "a job waits although the closed GPU is empty"
wide=$(rsubmit --parsable -N 2 --gpus-per-node 8 -o /dev/null job.sh)
is "$?" 0 "a job that needs all GPUs is taken"
rcancel "$wide"

echo go >&7
ok "the GPU is reset, tested and returned" wait_for 30 is_gpu "$node" 3 ok
ok "and the job that waited runs" wait_state "${more[7]}" RUNNING
is "$(field "${more[7]}" 'nodes[0]')" "$node" "on it"
is "$(rinfo --health --json "$node" | jq -r ".events[] | select(.gpu == \"$uuid\") | .before + \">\" + .after" | uniq | paste -sd' ')" \
  "ok>draining draining>resetting resetting>testing testing>ok" "the history has every step"
is "$(rinfo --health --json "$node" | jq -c '[.events[] | select(.xid == 48)][0].jobs')" "[$victim]" "and the job"
like "$(rinfo --health "$node")" "ok>draining +48 +$victim +Xid 48: double bit ECC error" "for people, too"

# A job's own error.
guilty=$(gpu "$node" 5 job)
ok "Xid 13 on another" wait_for 30 strikes "$node" 5 13
ok "its job fails" wait_state "$guilty" FAILED
like "$(field "$guilty" reason)" "Xid 13: graphics engine exception on GPU 5" "and says why"
is "$(gpu "$node" 5 condition)" ok "the GPU is well"

# An administrator.
not_ok "a drain needs a reason" radmin gpu drain "$node" 5
ok "a GPU is drained by hand" radmin gpu drain -r "strange noise" "$node" 5
like "$(gpu "$node" 5 condition_reason)" "strange noise" "which shows"
ok "and returned" radmin gpu ok "$node" 5
is "$(gpu "$node" 5 condition)" ok "which shows, too"

# Off the bus.
lost=$(gpu "$node" 6 job)
fake "$node" lose 6
ok "a GPU is lost: the node takes no more jobs" wait_for 30 bash -c "[[ \$(rinfo --json $node | jq -r '.nodes[0].state') == drained ]]"
like "$(rinfo "$node")" "GPU 6: .*(lost|fallen off the bus)" "and says why"
ok "its job is lost with it" wait_for 30 bash -c "[[ \$(rqueue --json -j $lost | jq -r '.jobs[0].restarts') == 1 ]]"
ok "the GPU has failed" wait_for 30 is_gpu "$node" 6 failed
fake "$node" restore 6
ok "it is back, and an administrator says so" radmin gpu ok "$node" 6
ok "it is tested and returned" wait_for 30 is_gpu "$node" 6 ok
ok "and the node is up" wait_for 30 bash -c "[[ \$(rinfo --json $node | jq -r '.nodes[0].state') == up ]]"
rcancel "${jobs[@]}" "${more[@]}" >/dev/null 2>&1
