#!/bin/bash
# testsuite/t/t3096-hollow.t - rgpud --hollow: a hundred nodes in one process, for measuring what the controller and steps cost.
. "$(dirname "$0")/lib.sh"
plan 26

cat >"$test_dir/extra.yaml" <<'Y'
nodes:
  heartbeat: 500ms
  lost_after: 5s
Y
cluster_start --nodes 1 --config "$test_dir/extra.yaml"
real=$(node_names)
cd "$test_dir" || exit 1
rgpud=$top_builddir/src/gpud/rgpud
# As the real node is set up, with a log of its own.
sed "s|^  file: .*|  file: '$cluster_dir/log/hollow.log'|" "$cluster_dir/nodes/$real/rota.yaml" >hollow.yaml
mkfifo ready

# hollow_start COUNT: comes back when all have joined.
hollow_start() {
  "$rgpud" --config hollow.yaml --name hollow --hollow "$1" --ready-fd 7 7>ready 2>hollow.err &
  hollow=$!
  timeout 60 head -n 1 ready >ready.line && [[ -s ready.line ]]
}
at_exit '[[ -z ${hollow:-} ]] || { kill -KILL "$hollow"; wait "$hollow"; } 2>/dev/null'
# States of all nodes with their number: "1 drained,100 up,".
states() { rinfo --noheader -P | cut -d'|' -f2 | sort | uniq -c | awk '{printf "%s %s,", $1, $2}'; }
has_states() { [[ $(states) == "$1" ]]; }
# What is held of nodes that are not the real one.
held() { rinfo --noheader -P | awk -F'|' '$1 ~ /^hollow-/ {print $3 " " $8}' | sort -u; }
is_free() { [[ $(held) == "0/8 0/128" ]]; }
hollow_uuids() { rinfo --json | grep -o '"GPU-[0-9a-f-]*"' | sort -u; }
run() {
  timeout 120 "$@" >out 2>err </dev/null
  code=$?
}

# ---- flags ----
run "$rgpud" --config hollow.yaml --hollow 0
is "$code:$(cat err)" "2:rgpud: invalid argument: --hollow 0: no node at all" "no nodes are refused"
run "$rgpud" --config hollow.yaml --hollow 10001
is "$code" 2 "and too many"
run "$rgpud" --config hollow.yaml --name 'a b' --hollow 2
is "$code" 1 "and a name that is none"

# ---- they join ----
ok "the real node takes no part" radmin node drain -r measuring "$real"
ok "a hundred nodes join" hollow_start 100
is "$(states)" "1 drained,100 up," "rinfo shows them"
is "$(rinfo --noheader -P | grep -c '^hollow-0[01][0-9][0-9]|')" 100 "each by its own name"
is "$(held)" "0/8 0/128" "with eight GPUs and 128 CPUs each"
before=$(hollow_uuids)
is "$(wc -l <<<"$before")" 808 "no GPU is on two nodes"
is "$(pgrep -c -P "$hollow")" 0 "and they have no processes"

# ---- steps ----
run rrun -N 100 -n 1000 true
is "$code:$(cat out err)" "0:" "a step of a thousand tasks ends well"
ok "and leaves all nodes free" wait_for 20 is_free
run rrun -N 100 -n 1000 --mpi none -v true
is "$code:$(grep -c 'step 0 has ended' err)" "0:1" "so does one without PMIx"
run ralloc -N 100 -n 100 -- sh -c 'rrun --mpi none -n 200 true && rrun --mpi none -v true 2>&1 | grep -o "step 1 runs"; exit 3'
is "$code:$(cat out)" "3:step 1 runs" "an allocation has several, and ends with its command's code"
run rrun -N 2 -n 2 --mpi pmix true
like "$code:$(cat err)" "^1:.*a hollow node runs nothing" "what they cannot do they say"
ok "all nodes are free" wait_for 20 is_free

# ---- jobs ----
printf '#!/bin/sh\nexit 5\n' >job.sh
job=$(rsubmit --parsable -N 50 --gpus-per-node 8 job.sh)
ok "a script is said to run" wait_state "$job" RUNNING
like "$(held)" "8/8 " "and holds its GPUs"
ok "a cancel" rcancel "$job"
ok "ends it" wait_state "$job" CANCELLED
job=$(rsubmit --parsable -N 2 --time 1s job.sh)
ok "and so does its time limit" wait_state "$job" TIMEOUT
ok "all nodes are free again" wait_for 20 is_free

# ---- the end ----
kill -TERM "$hollow"
wait "$hollow"
like "$(tail -n 1 "$cluster_dir/log/hollow.log")" "let 2300 tasks of steps run" "every task came to its node"
hollow_start 100 || bail_out "they do not come back"
is "$(hollow_uuids)" "$before" "they come back with the same GPUs"
kill -KILL "$hollow"
wait "$hollow" 2>/dev/null
ok "when their process is killed they go down" wait_for 30 has_states "100 down,1 drained,"
hollow_start 100 || bail_out "they do not come back"
ok "and they come back" wait_for 30 has_states "1 drained,100 up,"
