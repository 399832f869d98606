#!/bin/bash
# testsuite/t/t1002-disk-full.t - the store's disk is full: no acknowledgement without a commit, a clear
# error, and work goes on when there is space again.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "only root can mount a small file system"
mkdir "$test_dir/small"
mount -t tmpfs -o size=3M,mode=700 rota-small "$test_dir/small" 2>/dev/null ||
  skip_all "no tmpfs can be mounted here"
plan 12
cat >"$test_dir/keys.yaml" <<TEXT
controller:
  state_dir: $test_dir/small/state
TEXT
cluster_start --nodes 1 --config "$test_dir/keys.yaml"
cd "$test_dir" || bail_out "no directory"
mkfifo gate

before=$(rsubmit --parsable -o /dev/null -- true)
ok "a job before" wait_state "$before" COMPLETED
waiting=$(rsubmit --parsable -o /dev/null -- sh -c "read -r _ <'$test_dir/gate'")
ok "a job that runs on" wait_state "$waiting" RUNNING

# Fill it to the last byte.
dd if=/dev/zero of=small/ballast bs=4k >/dev/null 2>&1
dd if=/dev/zero of=small/crumbs bs=1 count=8192 >/dev/null 2>&1
# Small rows may still fit into pages that are there; big ones cannot. None may be lost.
head -c 300000 /dev/zero | tr '\0' x | sed '1s/^/#!\/bin\/sh\n#/' >big.sh
error=$(rsubmit --parsable -o /dev/null big.sh 2>&1)
code=$?
ok "a submit is refused" test $code -ne 0
like "$error" "store cannot be written" "it says why"
like "$error" "full" "and what is wrong with the disk"
ok "the queue can still be read" rqueue -j "$waiting"
like "$(rota ping 2>&1)" "full|written" "ping tells of the trouble"
echo >gate # the job ends while its end cannot be stored
refused=$(rsubmit --parsable -o /dev/null big.sh 2>&1)
like "$refused" "store cannot be written" "still refused"

rm small/ballast small/crumbs
submit_again() {
  after=$(rsubmit --parsable -o /dev/null -- true 2>/dev/null)
}
ok "with space again jobs are taken" wait_for 30 submit_again
after=$(rsubmit --parsable -o /dev/null -- true)
ok "and run" wait_state "$after" COMPLETED 60
ok "the end that came meanwhile was not lost" wait_state "$waiting" COMPLETED 60
is "$(rqueue --noheader -a -o %T | sort -u)" COMPLETED "nothing else is in the queue"
cluster_stop
umount "$test_dir/small"
