#!/bin/bash
# testsuite/t/t3023-unkillable.t - a process that SIGKILL does not end: its job ends all the same, its GPU is closed
# until it is gone, and a restart of rgpud in between changes nothing.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "not root: nothing can be frozen"
freezer=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)
[[ -n $freezer ]] || skip_all "no freezer of cgroup v1, which keeps processes from dying"
ice=$freezer/rota-test-$$
mkdir "$ice" 2>/dev/null || skip_all "$freezer cannot be written"
at_exit 'echo THAWED >"$ice/freezer.state"; wait_for 30 rmdir "$ice"'

fakegpu=$top_builddir/testsuite/fakegpu
plan 12
cd "$test_dir" || exit 1
cat >keys.yaml <<TEXT
jobs:
  kill_wait: 1s
node:
  unkillable_after: 1s
  gpu_reset_program: $test_dir/reset
TEXT
cat >reset <<TEXT
#!/bin/sh
exec $fakegpu/rota-fakegpu reset "\$1"
TEXT
chmod 755 reset
cluster_start --nodes 1 --gpus 2 --config keys.yaml
node=$(node_names)
gpu() { rinfo --json "$node" | jq -r ".nodes[0].gpus[] | select(.index == $1) | .$2"; }
is_gpu() { [[ $(gpu "$1" condition) == "$2" ]]; }
field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }

id=$(rsubmit --parsable -G 1 -o out -- sh -c 'echo $$; exec sleep 600')
wait_state "$id" RUNNING
wait_for 10 test -s out
pid=$(<out)
held=$([[ $(gpu 0 job) == "$id" ]] && echo 0 || echo 1)
echo "$pid" >"$ice/cgroup.procs"
echo FROZEN >"$ice/freezer.state"
is_frozen() { [[ $(<"$ice/freezer.state") == FROZEN ]]; }
ok "a process that cannot die" wait_for 10 is_frozen

rcancel "$id"
ok "its job ends" wait_state "$id" CANCELLED
like "$(field "$id" reason)" "processes that SIGKILL could not end: $pid" "and says what it left"
is "$(gpu "$held" condition)" draining "its GPU is closed"
like "$(gpu "$held" condition_reason)" "SIGKILL did not end process $pid of a job on it" "for a reason"
is "$(gpu $((1 - held)) condition)" ok "the other one is not"
both=$(rsubmit --parsable -G 2 -o /dev/null -- true)
waits() { [[ $(field "$both" state) == PENDING && $(field "$both" reason) != null ]]; }
ok "a job that needs both waits" wait_for 10 waits

daemon_kill "$node" KILL
cluster_resume
ok "a new rgpud knows of it" wait_for 30 is_gpu "$held" draining
ok "which is still there" kill -0 "$pid"

echo THAWED >"$ice/freezer.state"
ok "it dies at last, and the GPU is reset, tested and returned" wait_for 30 is_gpu "$held" ok
ok "and the job that waited runs" wait_state "$both" COMPLETED
like "$(rinfo --health "$node")" "draining>resetting +- +- +SIGKILL did not end process $pid" "the history has it"
