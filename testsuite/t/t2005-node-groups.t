#!/bin/bash
# testsuite/t/t2005-node-groups.t - node types and groups: who may run where, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 46
cat >"$test_dir/keys.yaml" <<'TEXT'
node_groups:
  lab: dgx1-1,a100-2
  odd-ones: "dgx1-[1,3]"
  later: dgx1-[7-9]
TEXT
cat >"$test_dir/projects.yaml" <<'TEXT'
projects:
  v: {quota: 2, train_node_types: [V100], interactive_node_types: [a100]}
  owner: {quota: 4}
  guest: {}
queues:
  labq: {node_group: lab}
  wide: {placement: spread}
TEXT
# Three nodes of two GPUs: dgx1-1 and dgx1-3 have V100s, a100-2 has A100s.
cluster_start --nodes 3 --gpus 2 --model dgx1-v100-32gb,dgx-a100-40gb --config "$test_dir/keys.yaml" \
  --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

submit() { rsubmit --parsable -o /dev/null "$@" -- sleep 1000; }
nodes_of() { rqueue --noheader -j "$1" -o %N; }
why() { rqueue --noheader -j "$1" -o '%r: %{reason_detail}'; }
runs_on() { # NAME NODES OPTION...
  local name=$1 nodes=$2 job
  shift 2
  job=$(submit "$@") && wait_state "$job" RUNNING >/dev/null
  is "$(nodes_of "$job")" "$nodes" "$name"
  rcancel "$job"
  wait_state "$job" CANCELLED >/dev/null
}

# ---- the configuration ----

check() { # TEXT
  printf '%s\n' "node_groups:" "$1" >bad.yaml
  "$top_builddir/src/ctld/rctld" --check bad.yaml 2>&1
}
is "$(check "  lab: n[1-4],x")" "bad.yaml is good" "a group is a name and a host list"
like "$(check "  la b: n1")" "bad.yaml:2:3: the name of a group must be" "a bad name has its place"
like "$(check "  lab: n[4-1]")" "bad.yaml:2:8: node_groups.lab: host list column 3: 4-1 counts down" "a bad list too"
like "$(check "  lab:")" "bad.yaml:2:7: node_groups.lab takes a host list" "none is not enough"

# ---- rinfo ----

is "$(rinfo --json | jq -c '.nodes | sort_by(.name) | map([.name, .type, .groups])')" \
  '[["a100-2","a100-sxm4-40gb",["lab"]],["dgx1-1","v100-sxm2-32gb",["lab","odd-ones"]],["dgx1-3","v100-sxm2-32gb",["odd-ones"]]]' \
  "rinfo knows types and groups"
like "$(rinfo --noheader dgx1-1)" "v100-sxm2-32gb +lab,odd-ones" "and shows them"

# ---- what a job asks ----

runs_on "without a wish: the first" dgx1-1 -G 1
runs_on "a type" a100-2 -G 1 -C a100
runs_on "as NVML spells it" dgx1-3 -G 1 -C "Tesla V100-SXM2-32GB" -x dgx1-1
runs_on "a group and a type" a100-2 -G 1 -C "LAB&a100-sxm4"
runs_on "one of two types, in a group" dgx1-3 -G 1 -C "a100|v100&odd-ones" -x dgx1-1
runs_on "by name" dgx1-3 -G 1 -w "dgx1-3,a100-2" -C v100
runs_on "not these" a100-2 -G 1 -x "dgx1-[1,3]"
runs_on "a gang in a group" "dgx1-[1,3]" -N 2 --gpus-per-node=2 -C odd-ones
refused() { rsubmit "$@" -- true 2>&1; }
like "$(refused -w dgx1-4)" "no such node: 'dgx1-4' in the list of nodes; did you mean 'dgx1-1'" "an unknown node is refused"
like "$(refused -C labb)" "no such node: 'labb' is no type and no group of nodes; did you mean 'lab'" "an unknown group too"
like "$(refused -C "a100|")" "--constraint: the constraint 'a100\|', column 6: the name of a type or group is missing" "half a list"
like "$(refused -G 3 -N 1 -C a100)" "needs 3 GPUs.*; the cluster has 1 node with 'a100', the largest with 2 GPUs" \
  "what they can never hold is refused"
refused -w dgx1-4 >/dev/null
is "$?" 3 "with the exit code for what is not there"

# ---- what the project and the queue say ----

runs_on "a project's type" dgx1-1 -A v -G 2
runs_on "another kind, another type" a100-2 -A v -G 1 --interactive
runs_on "a queue's group" a100-2 -p labq -G 1 -x dgx1-1
# Its queue and its project have no node in common but dgx1-1, and that it does not want.
none=$(submit -A v -p labq -G 1 -x dgx1-1)
is "$(why "$none")" \
  "ReqNodeNotAvail: needs 1 GPU, 1 task of 1 CPU: no node of type V100 in its queue's group lab without dgx1-1 is known" \
  "a job that no node may run waits, and says why"
is "$(rqueue --json -j "$none" | jq -r '.jobs[0] | "\(.nodelist) \(.exclude)"')" "null dgx1-1" "its wish is on record"
rproject update v --train-node-types=none >/dev/null
ok "it runs when the project lets it" wait_state "$none" RUNNING
is "$(nodes_of "$none")" a100-2 "in its queue's group"
rproject update v --train-node-types=v100 >/dev/null
is "$(state_of "$none")" RUNNING "what runs stays when the rules change"
rcancel "$none"
ok "it has ended" wait_state "$none" CANCELLED
sed 's/labq: .*/labq: {node_group: labs}/' projects.yaml >typo.yaml
like "$(radmin apply --yes typo.yaml 2>&1)" "queue 'labq', node_group: rota.yaml has no node group 'labs'" "radmin warns of a group that is not there"
ok "and takes it back" radmin apply --yes projects.yaml

# ---- pack and spread ----

apart() { # OPTION...: the nodes of three jobs of one GPU
  local jobs i
  jobs=$(for i in 1 2 3; do submit -G 1 "$@"; done)
  for i in $jobs; do wait_state "$i" RUNNING; done >/dev/null
  rqueue --noheader -j "${jobs//$'\n'/,}" -o %N | sort | xargs
  rcancel $jobs
  for i in $jobs; do wait_state "$i" CANCELLED; done >/dev/null
}
is "$(apart)" "a100-2 dgx1-1 dgx1-1" "nodes are filled one after the other"
is "$(apart -p wide)" "a100-2 dgx1-1 dgx1-3" "a queue that spreads takes one after the other"
is "$(apart -p wide -C v100)" "dgx1-1 dgx1-1 dgx1-3" "of those that its jobs may use"

# ---- waiting for nodes ----

late=$(submit -C later)
is "$(why "$late")" "ReqNodeNotAvail: needs 1 task of 1 CPU: no node with 'later' is known" "nodes that have not joined yet"
rcancel "$late"
daemon_kill a100-2 TERM
ok "a node is gone" wait_for 30 bash -c '[[ $(rinfo --json a100-2 | jq -r .nodes[0].state) == down ]]'
down=$(submit -G 1 -C a100)
is "$(why "$down")" \
  "ReqNodeNotAvail: needs 1 GPU, 1 task of 1 CPU: nodes with 'a100' that are down now would have it" "nodes that are down"
cluster_resume
ok "its return starts the job" wait_state "$down" RUNNING
rcancel "$down"
ok "it has ended" wait_state "$down" CANCELLED

# ---- taking back ----

first=$(submit -A guest -G 2 -C a100)
ok "a guest on the A100s" wait_state "$first" RUNNING
second=$(submit -A guest -N 2 --gpus-per-node=2 -C v100)
ok "and on the V100s" wait_state "$second" RUNNING
mine=$(submit -A owner -G 2 -C a100)
ok "the owner takes back what it can use" wait_state "$mine" RUNNING
is "$(state_of "$first"),$(state_of "$second"),$(nodes_of "$mine")" "PENDING,RUNNING,a100-2" "and nothing else"
like "$(why "$first")" "may run on nodes with 'a100'; 0 GPUs and [0-9]+ CPUs are free there, at most 0 GPUs on one node" \
  "the other one waits for such a node"
# A controller that starts again keeps to it.
daemon_kill rctld
cluster_resume
rcancel "$second"
ok "the V100s are free" wait_state "$second" CANCELLED
is "$(state_of "$first")" PENDING "they are of no use to it"
rcancel "$mine"
ok "its own node is" wait_state "$first" RUNNING
rcancel "$first"
