#!/bin/bash
# testsuite/t/t2004-reference-runs.t - four teams on two DGX-1 (NetApp TR-4858, 4.8 to 4.10): the
# published runs end in the published states, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 27
cat >"$test_dir/projects.yaml" <<'TEXT2'
projects:
  team-a: {quota: 4}
  team-b: {quota: 2}
  team-c: {quota: 2}
  team-d: {quota: 8}
TEXT2
cluster_start --nodes 2 --model dgx1-v100-32gb --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

declare -A ids
submit() { # NAME PROJECT GPUS [OPTION...]
  ids[$1]=$(rsubmit --parsable -J "$1" -A "$2" -g "$3" -o /dev/null --grace 5s "${@:4}" -- sleep 1000)
}
# held TEAM: GPUs that it holds, in and over its quota.
held() {
  rshare --json | jq -r --arg team "$1" \
    '.shares[] | select(.kind == "project" and .name == $team) | .held_in_quota_gpus + .held_over_quota_gpus'
}
all_held() {
  echo "$(held team-a) $(held team-b) $(held team-c) $(held team-d)"
}
holds() {
  [[ $(all_held) == "$1" ]]
}
names() { # STATES
  rqueue --noheader --state "$1" -o %j | sort | xargs
}
waiting() { names PENDING,PREEMPTED,STARTING; }
waits() {
  [[ $(waiting) == "$1" ]]
}
# "NODE/GPU" of a job that has a part of one.
gpu_of() { # NAME
  rinfo --json | jq -r --argjson job "${ids[$1]}" \
    '.nodes[] | .name as $node | .gpus[] | select(any(.shares[]; .job == $job)) | "\($node)/\(.index)"'
}

rsubmit --quiet --wait -A team-a -g 0.25 --gpu-devices 2 -o part -- sh -c 'echo $ROTA_GPU_FRACTION of $ROTA_GPUS_ON_NODE'
is "$(cat part)" "0.25 of 2" "a job knows what it has of its GPUs"

# ---- run 1: over-quota fills the cluster ----
submit a-1-1-jupyter team-a 1 --interactive
submit a-1-g team-a 1
submit a-2-gg team-a 2
submit b-1-g06 team-b 0.6 --interactive
submit b-2-g04 team-b 0.4 --interactive
submit b-3-g team-b 1
submit b-4-gg team-b 2
submit c-1-g05 team-c 0.5 --interactive
submit c-2-g03 team-c 0.3 --interactive
submit c-3-g02 team-c 0.2 --interactive
submit c-4-gg team-c 2
submit c-5-g team-c 1
submit d-1-gggg team-d 4
for name in "${!ids[@]}"; do
  wait_state "${ids[$name]}" RUNNING || diag "$name does not run"
done
is "$(waiting)" "" "nothing waits"
is "$(all_held)" "4 4 4 4" "16 of 16 GPUs are held"
is "$(rinfo --json | jq '[.nodes[].gpus[] | select(.job == null and .shares == [])] | length')" 0 "none is idle"
is "$(gpu_of c-2-g03) $(gpu_of c-3-g02)" "$(gpu_of c-1-g05) $(gpu_of c-1-g05)" "the fractions of team-c share one GPU"
is "$(gpu_of b-2-g04)" "$(gpu_of b-1-g06)" "those of team-b another"
isnt_same() { [[ $(gpu_of b-1-g06) != "$(gpu_of c-1-g05)" ]]; }
ok "and not the same" isnt_same
is "$(rqueue --json -j "${ids[b-1-g06]}" | jq .jobs[0].gpus)" 0.6 "rqueue tells the part"
like "$(rinfo --gpus --noheader)" "${ids[b-1-g06]}:0.6 ${ids[b-2-g04]}:0.4" "rinfo tells who shares"
is "$(rinfo --noheader --parsable | cut -d'|' -f3 | xargs)" "8/8 8/8" "both nodes are full"

# ---- run 2: the quota is a guarantee ----
submit d-2-gg team-d 2
ok "the first takes two GPUs back" wait_state "${ids[d-2-gg]}" RUNNING
first=$(waiting)
like "$first" "^(b-4-gg|c-4-gg)$" "from one team that is over its quota"
submit d-3-gg team-d 2
ok "the second as well" wait_state "${ids[d-3-gg]}" RUNNING
ok "now both teams wait, each with the job it had lent for" wait_for 30 waits "b-4-gg c-4-gg"
is "$(all_held)" "4 2 2 8" "everybody holds their quota"
is "$(rqueue --json --state PENDING | jq -c '[.jobs[].id] | sort')" \
  "$(printf '[%s,%s]' "${ids[b-4-gg]}" "${ids[c-4-gg]}")" "they wait under their own numbers"
is "$(rqueue --json -a | jq '[.jobs[] | select(.preemptions > 0)] | length')" 2 "nobody else was touched"

# ---- run 3: the surplus is shared by quota ----
submit a-3-gg team-a 2
submit a-4-gg team-a 2
submit b-5-gg team-b 2
submit c-6-gg team-c 2
ok "all four wait" waits "a-3-gg a-4-gg b-4-gg b-5-gg c-4-gg c-6-gg"
is "$(all_held)" "4 2 2 8" "nothing moves"
rcancel "${ids[d-1-gggg]}" "${ids[d-2-gg]}" "${ids[d-3-gg]}"
ok "what team-d leaves goes out 4:2:2" wait_for 30 holds "8 4 4 0"
ok "team-a has an empty queue" wait_state "${ids[a-4-gg]}" RUNNING
is "$(waiting | wc -w)" 2 "two jobs wait"
is "$(rqueue --noheader --state PENDING -A team-b -o %j | wc -l)" 1 "one of team-b"
is "$(rqueue --noheader --state PENDING -A team-c -o %j | wc -l)" 1 "one of team-c"

is "$(rqueue --json --state PENDING | jq '[.jobs[] | .expected_start_time > .submit_time] | all')" true "they know by when they start"
like "$(rqueue --noheader --state PENDING -A team-b -o %{reason_detail})" "; starts by 2[0-9]{3}-" "and say it"

# A controller that is killed finds the parts of GPUs where they were.
before=$(rinfo --json | jq -c '[.nodes[] | {name, gpus: [.gpus[] | {uuid, job, shares}]}]')
daemon_kill rctld
cluster_resume
same() {
  [[ $(rinfo --json | jq -c '[.nodes[] | {name, gpus: [.gpus[] | {uuid, job, shares}]}]') == "$before" ]]
}
ok "after a kill of the controller all is where it was" wait_for 30 same
