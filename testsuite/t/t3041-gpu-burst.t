#!/bin/bash
# testsuite/t/t3041-gpu-burst.t - a part of a GPU with a limit above it: lent while nobody needs it, and given back.
. "$(dirname "$0")/lib.sh"

fakegpu=$top_builddir/testsuite/fakegpu
user=$top_builddir/testsuite/unit/gpushim/shim_user
plan 16
cat >"$test_dir/keys.yaml" <<'TEXT'
jobs:
  kill_wait: 1s
node:
  burst_grace: 2s
TEXT
cluster_start --nodes 1 --gpus 1 --config "$test_dir/keys.yaml"
node=$(node_names)
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=1 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
export LD_LIBRARY_PATH=$fakegpu
cd "$test_dir" || exit 1

field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }
mkfifo one.in two.in three.in
exec 5<>one.in 6<>two.in 7<>three.in
# begin NAME OPTION...: a job whose program reads its lines from NAME.in.
begin() {
  local name=$1
  shift
  rsubmit --parsable --name "$name" -o "$name" "$@" -- sh -c "exec '$user' <$test_dir/$name.in"
}
# say FD FILE LINE: a line to the program, and its answer.
say() {
  local before
  before=$(wc -l <"$2")
  echo "$3" >&"$1"
  wait_for 30 more "$2" "$before"
  tail -n 1 "$2"
}
more() { [[ $(wc -l <"$1") -gt $2 ]]; }
# shows FD FILE WANTED: "memory" answers so, sooner or later.
shows() { [[ $(say "$1" "$2" memory) == "$3" ]]; }

out=$(rsubmit -g 0.5:0.2 -- true 2>&1)
like "$?,$out" "^2,rsubmit: .*a limit is at least the share" "a limit below the share is refused"

# ---- alone ----
one=$(begin one -g 0.25:0.8)
ok "a job with a limit above its share starts" wait_state "$one" RUNNING
ok "its program too" wait_for 30 test -s one
say 5 one init >/dev/null
say 5 one "retain 0" >/dev/null
is "$(say 5 one "nvml 0" | sed 's/.* of //')" 26008 "it sees a GPU as large as its limit"
ok "all of it is free once nobody else is seen" wait_for 20 shows 5 one "25703 of 26008"
is "$(say 5 one "alloc 20000")" 0 "it takes more than its share"
is "$(say 5 one "alloc 6000")" 2 "but not more than its limit"

# ---- a neighbour that is owed what it holds ----
two=$(begin two -g 0.5)
ok "the neighbour waits for its room" wait_for 20 grep -q "job $two.0 waits for memory of its GPUs" "$cluster_dir/log/$node.log"
ok "who does not give it back is ended" wait_state "$one" OUT_OF_MEMORY
like "$(field "$one" reason)" "^it held 20305 MiB of GPU-.*, its request is 8127 MiB, and the rest is owed to job $two$" "and hears why"
exec 5>&-
ok "then the neighbour runs" wait_state "$two" RUNNING
wait_for 30 test -s two
say 6 two init >/dev/null
say 6 two "retain 0" >/dev/null
is "$(say 6 two "alloc 15900")" 0 "and has all that it was promised"

# ---- beside a neighbour ----
three=$(begin three -g 0.25:0.8)
ok "another one with a limit starts beside it" wait_state "$three" RUNNING
wait_for 30 test -s three
say 7 three init >/dev/null
say 7 three "retain 0" >/dev/null
ok "what is the neighbour's is not lent to it" wait_for 20 shows 7 three "15950 of 26008"
is "$(say 7 three "alloc 15951")" 2 "out of memory is where the neighbour's share begins"
is "$(say 7 three "alloc 15950")" 0 "and not before"
exec 6>&- 7>&-
