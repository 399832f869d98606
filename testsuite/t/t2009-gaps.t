#!/bin/bash
# testsuite/t/t2009-gaps.t - jobs in the background, and jobs that are preempted only above their minimum.
. "$(dirname "$0")/lib.sh"
plan 20
cat >"$test_dir/projects.yaml" <<'TEXT'
projects:
  owner: {quota: 2, grace: 20s}
  guest: {quota: 2, grace: 20s}
TEXT
cluster_start --nodes 2 --gpus 2 --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .
mkfifo never.in
exec 9<>never.in

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}
has() { [[ $(field "$1" "$2") == "$3" ]]; }
held() { rinfo --json | jq "[.nodes[].gpus[] | select(.job == $1)] | length"; }
wait_for_ever() { rsubmit --parsable -o /dev/null "$@" -- sh -c "read -r _ <$test_dir/never.in"; }

# ---- in the background ----
gap=$(wait_for_ever -A guest --background -N 2 --gpus-per-node 2)
ok "a job in the background takes all that is idle" wait_state "$gap" RUNNING
is "$(held "$gap"),$(field "$gap" background)" 4,true "all four GPUs"
is "$(rshare --json | jq -c '[.shares[] | select(.name == "guest") | .held_in_quota_gpus + .held_over_quota_gpus]')" "[0]" "and nobody is charged for it"
job=$(wait_for_ever -A owner -G 1)
ok "another job takes its place" wait_state "$job" RUNNING
is "$(field "$gap" displaced)" "gives way to job $job of project 'owner', as jobs in the background do" "and it hears to whom"
ok "it waits under the same number" wait_for 30 has "$gap" state PENDING
is "$(field "$gap" preemptions)" 1 "and has been preempted once"
rcancel "$job"
ok "and comes back when nobody wants it" wait_state "$gap" RUNNING 60

# The controller is killed under it: it is in the background still.
daemon_kill rctld KILL
cluster_resume
ok "after a crash of the controller it goes on" wait_state "$gap" RUNNING
firm=$(wait_for_ever -A guest --inference -G 1)
ok "and still gives way" wait_state "$firm" RUNNING
rcancel "$firm" "$gap"
ok "it ends as any other" wait_state "$gap" CANCELLED
not_ok "a notebook is not for the background" rsubmit --background --interactive -o /dev/null -- true

# ---- preempted in part ----
semi=$(wait_for_ever -A guest -N 1-2 --gpus-per-node 2 --preemptibility semi)
ok "a job that may be preempted in part starts" wait_state "$semi" RUNNING
ok "and grows beyond the quota" wait_for 30 has "$semi" gpus 4
is "$(field "$semi" preemptibility)" semi "rqueue tells"
job=$(wait_for_ever -A owner -G 2)
ok "the owner gets its quota" wait_state "$job" RUNNING
is "$(field "$semi" state),$(held "$semi"),$(field "$semi" restarts)" RUNNING,2,0 "and the job keeps its minimum"
high=$(wait_for_ever -A guest -G 2 --priority very-high --preemptible)
ok "priority does not take that either" wait_for 30 has "$high" reason Resources
is "$(field "$semi" state),$(held "$semi")" RUNNING,2 "it runs on"
not_ok "what cannot shrink cannot be preempted in part" rsubmit --preemptibility semi -N 2 -o /dev/null -- true
