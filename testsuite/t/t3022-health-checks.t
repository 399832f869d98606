#!/bin/bash
# testsuite/t/t3022-health-checks.t - a site's own checks drain a node with their words, and return it; so does an
# administrator.
. "$(dirname "$0")/lib.sh"

plan 20
cd "$test_dir" || exit 1
cat >check <<TEXT
#!/bin/sh
echo "looks"
[ ! -e $test_dir/slow ] || read -r _ <$test_dir/never.come
[ ! -e $test_dir/bad ] || { echo "scratch is full: 99%" >&2; exit 3; }
TEXT
chmod 755 check
mkfifo never.come
cat >keys.yaml <<TEXT
node:
  health_checks: $test_dir/check
  health_check_interval: 200ms
  health_check_limit: 1s
TEXT
cluster_start --nodes 1 --gpus 2 --config keys.yaml
node=$(node_names)
state() {
  rinfo --json "$node" | jq -r '.nodes[0].state'
}
is_state() {
  [[ $(state) == "$1" ]]
}

is "$(state)" up "a node whose check is good is up"
running=$(rsubmit --parsable -G 1 -o /dev/null -- sleep 600)
ok "a job runs" wait_state "$running" RUNNING
touch bad
ok "a check that fails drains the node" wait_for 30 is_state drained
like "$(rinfo "$node")" "check ended with 3: scratch is full: 99%" "with its words"
is "$(state_of "$running")" RUNNING "what it has goes on"
waiting=$(rsubmit --parsable -G 1 -o /dev/null -- sleep 600)
is "$(state_of "$waiting")" PENDING "it takes nothing new"
daemon_kill "$node"
cluster_resume
is "$(state)" drained "nor after kill -9"
rm bad
ok "a good one returns it" wait_for 30 is_state up
ok "and the job runs" wait_state "$waiting" RUNNING
touch slow
ok "one that does not end in time drains it, too" wait_for 30 is_state drained
like "$(rinfo "$node")" "check did not end within 1s" "which it says"
rm slow
ok "until it does" wait_for 30 is_state up
ok "an administrator drains the node" radmin node drain -r "new cable" "$node"
like "$(rinfo "$node")" "drained .*new cable \\(root\\)|drained .*new cable \\($(id -un)\\)" "which it says"
radmin node resume "$node" >/dev/null
is "$(state)" up "and returns it"
rcancel "$running" "$waiting" >/dev/null 2>&1
cluster_stop >/dev/null

# Before each job: the check is good for as long as nobody looks, and its answer decides where a job starts.
rm -rf "$cluster_dir"
cat >check <<TEXT
#!/bin/sh
case \$ROTA_FAKEGPU_NODE in *-1) ;; *) exit 0 ;; esac
echo looked >>$test_dir/looked
[ ! -e $test_dir/bad ] || { echo "scratch is gone"; exit 1; }
TEXT
cat >keys.yaml <<TEXT
node:
  health_checks: $test_dir/check
  health_check_interval: 1d
  health_check_jobs: true
jobs:
  launch_backoff: 100ms
TEXT
cluster_start --nodes 2 --gpus 2 --config keys.yaml
node=$(node_names | head -n 1)
ok "the check was run once" wait_for 30 test -s looked
: >looked
first=$(rsubmit --parsable -w "$node" -o /dev/null -- true)
ok "a job runs after a check" wait_state "$first" COMPLETED
is "$(wc -l <looked)" 1 "which was run for it"
touch bad
second=$(rsubmit --parsable -G 2 -o where -- sh -c 'echo $ROTA_FAKEGPU_NODE')
third=$(rsubmit --parsable -G 2 -o where -- sh -c 'echo $ROTA_FAKEGPU_NODE')
wait_state "$second" COMPLETED >/dev/null
ok "where the check fails no job starts, but elsewhere" wait_state "$third" COMPLETED
like "$(rinfo "$node")" "drained .*check ended with 1: scratch is gone" "and the node is drained"
