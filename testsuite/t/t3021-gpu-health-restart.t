#!/bin/bash
# testsuite/t/t3021-gpu-health-restart.t - rgpud is killed while a GPU is being looked after; Xids in the kernel's log;
# one GPU that hangs.
. "$(dirname "$0")/lib.sh"

fakegpu=$top_builddir/testsuite/fakegpu
plan 20
cd "$test_dir" || exit 1
mkfifo reset.go test.go kmsg
cat >reset <<TEXT
#!/bin/sh
echo "\$*" >>$test_dir/resets
read -r _ <$test_dir/reset.go
exec $fakegpu/rota-fakegpu reset "\$1"
TEXT
cat >test <<TEXT
#!/bin/sh
echo "\$CUDA_VISIBLE_DEVICES" >>$test_dir/tests
test ! -e $test_dir/hold || read -r _ <$test_dir/test.go
TEXT
chmod 755 reset test
cat >keys.yaml <<TEXT
node:
  health_poll: 300ms
  kernel_log: $test_dir/kmsg
  gpu_reset_program: $test_dir/reset
  gpu_test_program: $test_dir/test
TEXT
exec 6<>test.go 7<>reset.go 8<>kmsg
cluster_start --nodes 1 --gpus 4 --config keys.yaml
node=$(node_names)
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=4 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state

gpu() {
  rinfo --json "$node" | jq -r ".nodes[0].gpus[] | select(.index == $1) | .$2"
}
is_gpu() {
  [[ $(gpu "$1" condition) == "$2" ]]
}
state() {
  rinfo --json "$node" | jq -r '.nodes[0].state'
}

cat >job.sh <<'TEXT'
#!/bin/bash
echo $$ >pid.$ROTA_JOB_ID
exec sleep 600
TEXT
chmod 755 job.sh

# The kernel's log names the process: of two jobs that share a GPU only that one fails.
one=$(rsubmit --parsable -g 0.5 -o /dev/null job.sh)
two=$(rsubmit --parsable -g 0.5 -o /dev/null job.sh)
ok "a job with half a GPU" wait_for 30 test -s "pid.$one"
ok "and another on the same" wait_for 30 test -s "pid.$two"
index=$(rinfo --json "$node" | jq ".nodes[0].gpus[] | select(.shares | length == 2) | .index")
"$fakegpu/rota-fakegpu" xid "$index" 31 pid="$(cat "pid.$two")" >line
sed 's/^/4,100,5000000,-;/' line >&8
ok "the one whose process the log names fails" wait_state "$two" FAILED
like "$(rqueue --json -a -j "$two" | jq -r '.jobs[0].reason')" "Xid 31: GPU memory page fault on GPU $index" "and says why"
is "$(state_of "$one")" RUNNING "the other runs on"
# Without the driver's own word: the log alone.
pci=$(gpu "$index" pci_bus_id)
echo "4,101,5000001,-;NVRM: Xid (PCI:${pci#0000}): 95, pid='<unknown>', name=<unknown>, Uncontained" | sed 's/\.0)/)/' >&8
ok "an Xid that only the log has closes the GPU" wait_for 30 is_gpu "$index" resetting
ok "its job is back in the queue or runs elsewhere" wait_for 30 bash -c "[[ \$(rqueue --json -j $one | jq -r '.jobs[0].restarts') == 1 ]]"
ok "the reset has begun" wait_for 30 test -s resets
is "$(cut -d' ' -f1,2 resets)" "$(gpu "$index" uuid) $index" "with the GPU's names"

daemon_kill "$node"
cluster_resume
ok "after kill -9 the GPU is still closed" is_gpu "$index" resetting
ok "and the reset is done again" wait_for 30 bash -c '[[ $(wc -l <resets) == 2 ]]'
printf 'go\ngo\n' >&7
ok "it is reset, tested and returned" wait_for 30 is_gpu "$index" ok
is "$(sort -u tests)" "$(gpu "$index" uuid)" "by the site's program"
is "$(rinfo --health --json | jq -r "[.events[] | select(.xid == 95)] | length")" 1 "no event is there twice"

# Another one, while it is being tested: the test is run again.
other=$(((index + 3) % 4))
touch hold
"$fakegpu/rota-fakegpu" xid $other 95 >/dev/null
echo go >&7
ok "another is being tested" wait_for 30 is_gpu $other testing
rm hold
daemon_kill "$node"
cluster_resume
ok "after kill -9 the test is made, and the GPU is back" wait_for 30 is_gpu $other ok

# One GPU hangs: the node stays in contact, and the others' health is seen.
hanging=$(((index + 1) % 4)) ill=$(((index + 2) % 4))
"$fakegpu/rota-fakegpu" hang nvmlDeviceGetTemperature $hanging
"$fakegpu/rota-fakegpu" remap $ill pending
ok "another GPU's trouble is seen while one hangs" wait_for 8 bash -c \
  "[[ \$(rinfo --json $node | jq -r '.nodes[0].gpus[] | select(.index == $ill) | .condition') != ok ]]"
is "$(state)" up "the node is up"
ok "the one that hangs is suspect" wait_for 40 is_gpu $hanging suspect
"$fakegpu/rota-fakegpu" clear
echo go >&7
ok "until it answers" wait_for 40 is_gpu $hanging ok
rcancel "$one" >/dev/null 2>&1
