#!/bin/bash
# testsuite/t/t2006-topology.t - jobs that ask to lie close together in the network, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 36
cat >"$test_dir/keys.yaml" <<'TEXT'
topology:
  levels: [block, rack]
  places:
    a/r1: "dgx1-[1-2]"
    a/r2: "dgx1-[3-4]"
scheduler:
  consolidate_max: 0  # nobody moves to make a rack whole: here it is seen who waits
TEXT
cat >"$test_dir/projects.yaml" <<'TEXT'
projects:
  owner: {quota: 4}
  guest: {}
TEXT
# Five nodes of two GPUs; the fifth has no place.
cluster_start --nodes 5 --gpus 2 --config "$test_dir/keys.yaml" --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

submit() { rsubmit --parsable -o /dev/null "$@" -- sleep 1000; }
pair() { submit -N 2 --gpus-per-node=2 "$@"; }
nodes_of() { rqueue --noheader -j "$1" -o %N; }
where() { rqueue --noheader -j "$1" -o '%N %{placement}'; }
why() { rqueue --noheader -j "$1" -o '%r: %{reason_detail}'; }
runs() { wait_state "$1" RUNNING >/dev/null; }
gone() { # JOB...
  local job
  rcancel "$@"
  for job in "$@"; do wait_state "$job" CANCELLED >/dev/null; done
}

# ---- the configuration ----

check() { # LINE...: below "topology:"
  printf '%s\n' "topology:" "$@" >bad.yaml
  "$top_builddir/src/ctld/rctld" --check bad.yaml 2>&1
}
levels="  levels: [block, rack]"
is "$(check "$levels" "  places:" "    a/1: n[1-4]")" "bad.yaml is good" "levels, and places with host lists"
like "$(check "$levels" "  places:" "    a: n1")" "bad.yaml:4:5: 'a' has 1 part, a place has one for each of the 2 levels" \
  "a place has a name of every level"
like "$(check "$levels" "  places:" "    a/1: n[1-2]" "    a/2: n2")" "bad.yaml:5:10: node 'n2' lies in a/1 already, by line 4" \
  "a node has one place"
like "$(check "  levels: [rack, preferred]")" "bad.yaml:2:18: 'preferred' has a meaning of its own" "words that are taken"

# ---- rinfo ----

is "$(rinfo --json | jq -c '.nodes | sort_by(.name) | map(.place)')" '["a/r1","a/r1","a/r2","a/r2",null]' \
  "rinfo knows the place of a node"
like "$(rinfo --noheader dgx1-3)" "v100-sxm2-32gb +- +a/r2 " "and shows it"

# ---- required ----

first=$(submit -N 1 --gpus-per-node=2)
runs "$first"
is "$(where "$first")" "dgx1-1 rack:a/r1" "the first node is taken"
straddles=$(pair)
runs "$straddles"
is "$(where "$straddles")" "dgx1-[2-3] block:a" "without a wish two nodes are of two racks"
gone "$straddles"
together=$(pair --topology=required:rack)
runs "$together"
is "$(where "$together")" "dgx1-[3-4] rack:a/r2" "required:rack keeps them in one"
is "$(rqueue --json -j "$together" | jq -c '.jobs[0] | [.topology, .placement_level, .placement]')" \
  '["required:rack","rack","a/r2"]' "what was asked and what it got is on record"
waits=$(pair --topology=required:rack)
like "$(why "$waits")" \
  "Resources: needs 4 GPUs, 2 tasks of 1 CPU on 2 nodes in one rack: no rack has room for all of it; 4 GPUs and [0-9]+ CPUs are free, at most 2 GPUs in one rack, at most 2 GPUs on one node; starts by " \
  "another waits, though two nodes are free"
is "$(rqueue --json -j "$waits" | jq -c '.jobs[0] | [.topology, .placement_level, .placement]')" '["required:rack",null,null]' \
  "and lies nowhere"
gone "$first"
ok "it starts when a rack is free" wait_state "$waits" RUNNING
is "$(nodes_of "$waits")" "dgx1-[1-2]" "in that one"
gone "$together" "$waits"
single=$(submit -G 2 --topology=required:rack -x "dgx1-[1-3]")
runs "$single"
is "$(where "$single")" "dgx1-4 rack:a/r2" "a single task is in a rack, not on the node without one"
gone "$single"
tasks=$(submit -n 4 -g 1 --topology=required:rack -x dgx1-1)
runs "$tasks"
is "$(where "$tasks")" "dgx1-[3-4] rack:a/r2" "tasks without a number of nodes too"
gone "$tasks"

# ---- preferred ----

three=$(submit -N 3 --gpus-per-node=2 --topology=preferred:rack)
runs "$three"
is "$(rqueue --noheader -j "$three" -o '%{topology} %{placement}')" "preferred:rack block:a" "what no rack holds goes into a block"
gone "$three"
five=$(submit -N 5 --gpus-per-node=2 --topology=rack)
runs "$five"
is "$(where "$five")" "dgx1-[3-4,1-2,5] " "or anywhere, rack by rack"
gone "$five"
blocker=$(submit -N 1 --gpus-per-node=2)
runs "$blocker"
both=$(pair --topology=preferred:rack,required:block)
runs "$both"
is "$(where "$both")" "dgx1-[3-4] rack:a/r2" "the narrowest that has room"
gone "$both" "$blocker"
cat >job.sh <<'TEXT'
#!/bin/sh
#ROTA --topology=required:rack
exec sleep 1000
TEXT
script=$(rsubmit --parsable -o /dev/null -N 2 -n 2 job.sh)
is "$(rqueue --noheader -j "$script" -o '%{topology}')" "required:rack" "a script can ask as well"
gone "$script"
script=$(rsubmit --parsable -o /dev/null --topology=none job.sh)
is "$(rqueue --noheader -j "$script" -o '[%{topology}]')" "[]" "and the command line has the last word"
gone "$script"

# ---- what is refused ----

refused() { rsubmit "$@" -- true 2>&1; }
like "$(refused -N 3 -n 3 --topology=required:rack)" \
  "request can never fit this cluster: needs 3 tasks of 1 CPU on 3 nodes in one rack; .*; a rack has at most 2 nodes and 4 GPUs" \
  "what no rack can ever hold"
like "$(refused -G 6 -n 6 --topology=required:rack)" "request can never fit this cluster: .* in one rack; " "so many GPUs too"
like "$(refused --topology=required:rak)" "not found: the topology has no level 'rak'; did you mean 'rack'\?" "a level that is not there"
refused --topology=required:rak >/dev/null
is "$?" 3 "with the exit code for what is not there"
like "$(refused --topology=required:rack,preferred:block)" \
  "a job in one rack is in one block as well, so 'preferred:block' says nothing" "a wish that says nothing"
like "$(refused --topology=must:rack)" "--topology: 'must:rack': 'must' is neither 'required' nor 'preferred'" "a word that is none"

# ---- nodes that go, and a controller that starts again ----

daemon_kill dgx1-2 TERM
daemon_kill dgx1-4 TERM
ok "half of each rack is gone" wait_for 30 bash -c \
  '[[ $(rinfo --json | jq "[.nodes[] | select(.state == \"down\")] | length") == 2 ]]'
down=$(pair --topology=required:rack)
is "$(why "$down")" \
  "ReqNodeNotAvail: needs 4 GPUs, 2 tasks of 1 CPU on 2 nodes in one rack: a rack would have it with nodes that are not up now" \
  "a job waits for nodes that are down"
daemon_kill rctld
cluster_resume
ok "their return starts it" wait_state "$down" RUNNING
like "$(where "$down")" "rack:a/r[12]$" "in one rack"
gone "$down"

# ---- taking back ----

guests=()
for node in 1 3 2 4 5; do guests+=("$(submit -A guest -G 2 -w "dgx1-$node")"); done
for job in "${guests[@]}"; do runs "$job"; done
owner=$(pair -A owner --topology=required:rack)
ok "the owner takes back a rack" wait_state "$owner" RUNNING
like "$(where "$owner")" "rack:a/r[12]$" "one of them"
is "$(for job in "${guests[@]}"; do state_of "$job"; done | sort | uniq -c | xargs)" "2 PENDING 3 RUNNING" "and no more"
gone "$owner" "${guests[@]}"

# ---- a site that says nothing ----

daemon_kill rctld
: >"$cluster_dir/user.yaml"
cluster_resume
like "$(refused --topology=rack)" "not supported here: rota.yaml of the controller says nothing of a topology" "without a topology"
is "$(rinfo --json | jq -c '[.nodes[].place] | unique')" "[null]" "nodes have no place"
