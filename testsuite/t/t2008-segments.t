#!/bin/bash
# testsuite/t/t2008-segments.t - jobs whose nodes are in groups that lie together, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 15
cat >"$test_dir/keys.yaml" <<'TEXT'
topology:
  levels: [block, rack]
  places:
    a/r1: "dgx1-[1-2]"
    a/r2: "dgx1-[3-4]"
    b/r3: "dgx1-[5-6]"
scheduler:
  consolidate_max: 0  # nobody moves to make a rack whole: here it is seen who waits
TEXT
cluster_start --nodes 6 --gpus 1 --config "$test_dir/keys.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

submit() { rsubmit --parsable -o /dev/null "$@" -- sleep 1000; }
gang() { submit -N "$1" --gpus-per-node=1 "${@:2}"; }
nodes_of() { rqueue --noheader -j "$1" -o %N; }
why() { rqueue --noheader -j "$1" -o '%r: %{reason_detail}'; }
runs() { wait_state "$1" RUNNING >/dev/null; }
gone() { # JOB...
  local job
  rcancel "$@"
  for job in "$@"; do wait_state "$job" CANCELLED >/dev/null; done
}

# ---- each group in one rack ----

first=$(gang 1)
runs "$first"
is "$(nodes_of "$first")" "dgx1-1" "the first node is taken"
plain=$(gang 4)
runs "$plain"
is "$(nodes_of "$plain")" "dgx1-[2-5]" "without segments four nodes are of three racks"
gone "$plain"
pairs=$(gang 4 --segment=2)
runs "$pairs"
is "$(rqueue --json -j "$pairs" | jq -r '.jobs[0].nodes | sort | join(" ")')" "dgx1-3 dgx1-4 dgx1-5 dgx1-6" "with them, two whole racks"
is "$(rqueue --json -j "$pairs" | jq -c '.jobs[0] | [.segment, .topology]')" '[2,null]' "what was asked is on record"
is "$(rqueue --noheader -j "$pairs" -o '%{segment}')" "2" "and shown"
waits=$(gang 2 --segment=2)
like "$(why "$waits")" "Resources: needs 2 GPUs, 2 tasks of 1 CPU on 2 nodes, 2 together: too few places have 2 nodes free together in one rack; " \
  "a job waits for a whole rack"

# ---- a controller that starts again ----

daemon_kill rctld
cluster_resume
is "$(rqueue --json -j "$waits" | jq -c '.jobs[0].segment')" 2 "the controller remembers it"
gone "$first"
ok "it starts when a rack is free" wait_state "$waits" RUNNING
is "$(nodes_of "$waits")" "dgx1-[1-2]" "in that one"
gone "$pairs" "$waits"

# ---- with --topology ----

block=$(gang 4 --segment=2 --topology=required:block,preferred:rack)
runs "$block"
is "$(rqueue --noheader -j "$block" -o '%{placement}')" "block:a" "both levels: groups in racks, all of it in one block"
gone "$block"

# ---- a script, and what is refused ----

cat >job.sh <<'TEXT'
#!/bin/sh
#ROTA --segment=2
exec sleep 1000
TEXT
script=$(ROTA_SUBMIT_NODES=2 rsubmit --parsable -o /dev/null job.sh)
is "$(rqueue --noheader -j "$script" -o '%{segment}')" "2" "a script can ask as well"
gone "$script"
refused() { rsubmit "$@" -- true 2>&1; }
like "$(refused -N 3 --segment=2)" "3 nodes do not divide into segments of 2; ask for 2 or 4 nodes" "a number that does not divide"
like "$(refused --segment=2)" "segments of 2 nodes need a number of nodes: 2, or a multiple of it" "no number of nodes"
like "$(refused -N 4 --segment=4 --topology=required:rack)" \
  "request can never fit this cluster: a segment of 4 nodes must lie in one rack, and the largest has 2" "what no rack can hold"
like "$(refused -N 2-4 --segment=2)" "segments of 2 nodes cannot grow from 2 to 4 nodes; ask for one number of nodes" "a job that grows"
