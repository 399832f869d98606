#!/bin/bash
# testsuite/t/t2002-quota.t - what is lent comes back: projects, politeness and reasons, on real
# daemons.
. "$(dirname "$0")/lib.sh"
plan 36
cat >"$test_dir/projects.yaml" <<'TEXT'
departments:
  research: {quota: 8}
projects:
  owner: {department: research, quota: 4, grace: 20s}
  guest: {department: research, quota: 4, grace: 20s}
  small: {quota: 0, limit: 1}
TEXT
cluster_start --nodes 2 --gpus 4 --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
chmod 777 .

field() { # JOB FIELD
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2 | if type == \"array\" then join(\",\") else . end"
}
share() { # PROJECT FIELD
  rshare --json | jq -r ".shares[] | select(.kind == \"project\" and .name == \"$1\").$2_gpus"
}
# A job that says what it heard and ends on its own terms.
cat >polite.sh <<'TEXT'
#!/bin/bash
trap 'echo "$ROTA_RESTART_COUNT heard USR1" >>heard; exit 9' USR1
echo "$ROTA_RESTART_COUNT started" >>heard
while :; do sleep 0.05; done
TEXT

first=$(rsubmit --parsable -A guest -J first -G 4 -o /dev/null -- sleep 1000)
ok "within its quota" wait_state "$first" RUNNING
lent=$(rsubmit --parsable -A guest -J lent -G 4 --signal=USR1 -o /dev/null polite.sh)
ok "what is idle is lent" wait_state "$lent" RUNNING
is "$(share guest held_in_quota),$(share guest held_over_quota)" "4,4" "rshare tells which is which"
ok "it runs" wait_for 30 grep -q started heard
mine=$(rsubmit --parsable -A owner -J mine -G 4 -o /dev/null -- sleep 1000)
ok "its owner takes it back" wait_state "$mine" RUNNING
is "$(head -n 2 heard | xargs)" "0 started 0 heard USR1" "the job heard its signal"
is "$(field "$lent" state)" PENDING "and is back in the queue under its number"
is "$(field "$lent" restarts),$(field "$lent" preemptions)" "1,1" "one restart, by preemption"
like "$(field "$lent" displaced)" \
  "makes way for job $mine of project 'owner', which held 0 of its share of 4 GPUs; project 'guest' held 8 of its share of 4 GPUs" \
  "who took its place, and by what right"
like "$(field "$lent" reason_detail)" "^needs 4 GPUs.*; preempted: makes way for job $mine of" "rqueue's reason says it too"
is "$(field "$first" state)" RUNNING "what is within the quota stays"
is "$(share owner held_in_quota),$(share guest held_over_quota),$(share guest waiting)" "4,0,4" "rshare follows"
is "$(share owner fair_share),$(share guest fair_share)" "4,4" "and knows what is whose due"
rcancel "$mine"
ok "when it is idle again, the job starts again" wait_state "$lent" RUNNING
ok "as a new run" wait_for 30 grep -q "1 started" heard

# kill -9 of the controller while a job makes way: it still does, once.
cat >slow.sh <<'TEXT'
#!/bin/bash
trap 'echo term >>slow; read -r line <go; exit 1' TERM
echo "start $ROTA_RESTART_COUNT" >>slow
while :; do sleep 0.05; done
TEXT
mkfifo go
rcancel "$lent"
ok "the place is free" wait_state "$lent" CANCELLED
slow=$(rsubmit --parsable -A guest -J slow -G 4 -o /dev/null slow.sh)
ok "another borrows" wait_for 30 grep -q "start 0" slow
mine=$(rsubmit --parsable -A owner -J mine -G 4 -o /dev/null -- sleep 1000)
ok "it is asked to go" wait_state "$slow" PREEMPTED
is "$(rqueue --noheader -j "$slow" -o %t)" PR "PREEMPTED is PR"
is "$(rqueue --noheader -j "$mine" -o %r)" Preempting "the other waits for it to leave"
ok "it heard of it" wait_for 30 grep -q term slow
daemon_kill rctld
cluster_resume
is "$(field "$slow" state)" PREEMPTED "a new controller knows"
echo >go
ok "the owner has its GPUs" wait_state "$mine" RUNNING
ok "the other waits" wait_state "$slow" PENDING
is "$(grep -c term slow)" 1 "it was told once"
rcancel "$mine"
ok "and starts again" wait_for 30 grep -q "start 1" slow
rcancel "$slow" "$first"

# Who may not start twice does not come back.
ok "the first two are gone" wait_state "$slow" CANCELLED
once=$(rsubmit --parsable -A guest --no-requeue -N 2 --gpus-per-node 4 -o /dev/null -- sleep 1000)
ok "it borrows" wait_state "$once" RUNNING
mine=$(rsubmit --parsable -A owner -G 4 -o /dev/null -- sleep 1000)
ok "it ends for good" wait_state "$once" CANCELLED
like "$(field "$once" reason)" "makes way for job $mine of project 'owner'" "and says for whom"
rcancel "$mine"
ok "its owner has left" wait_state "$mine" CANCELLED

# Limits and quotas.
one=$(rsubmit --parsable -A small -G 1 -o /dev/null -- sleep 1000)
ok "up to its limit" wait_state "$one" RUNNING
two=$(rsubmit --parsable -A small -G 1 -o /dev/null -- sleep 1000)
is "$(rqueue --noheader -j "$two" -o '%r %{reason_detail}')" \
  "ProjectLimit needs 1 GPU, 1 task of 1 CPU: project 'small' holds 1 GPU, its limit is 1 GPU" "and not beyond"
three=$(rsubmit --parsable -A guest -G 2 --interactive -o /dev/null -- sleep 1000)
ok "what cannot be preempted runs within the quota" wait_state "$three" RUNNING
four=$(rsubmit --parsable -A guest -G 3 --interactive -o /dev/null -- sleep 1000)
is "$(rqueue --noheader -j "$four" -o %r)" ProjectQuota "and not beyond, though GPUs are idle"
like "$(rqueue --noheader -j "$four" -o '%{reason_detail}')" \
  "project 'guest' has 2 GPUs of its quota of 4 GPUs in such jobs" "in numbers"
rcancel "$one" "$two" "$three" "$four"
