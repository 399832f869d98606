#!/bin/bash
# testsuite/t/t1001-controller-kill.t - kill -9 the controller again and again while clients submit:
# what was acknowledged is there, and runs exactly once.
. "$(dirname "$0")/lib.sh"
plan 5
kills=${ROTA_TEST_KILLS:-100}
cluster_start --nodes 2
cd "$test_dir" || bail_out "no directory"
ran=$test_dir/ran
: >"$ran"

# Each client submits until told to stop, and keeps the numbers it was given.
client() {
  while [[ ! -e $test_dir/enough ]]; do
    rsubmit --parsable -o /dev/null -- sh -c "echo \$ROTA_JOB_ID >>'$ran'" 2>>"$test_dir/errors.$1"
  done >>"$test_dir/acknowledged.$1"
}
more_than() {
  (($(cat acknowledged.* 2>/dev/null | wc -l) > $1))
}
queue_is_empty() {
  [[ -z $(rqueue --noheader) ]]
}

for i in 1 2 3; do client $i & done

for ((i = 0; i < kills; i++)); do
  before=$(cat acknowledged.* 2>/dev/null | wc -l)
  # Let it acknowledge something, so that there is something to lose.
  wait_for 30 more_than "$before" || bail_out "nothing is acknowledged any more"
  daemon_kill rctld
  cluster_resume
done
touch enough
wait
acknowledged=$(cat acknowledged.* | wc -l)
diag "$kills kills, $acknowledged jobs acknowledged, $(cat errors.* | wc -l) errors told to clients"
ok "jobs were acknowledged under every life of the controller" test "$acknowledged" -ge "$kills"
ok "the queue empties" wait_for 120 queue_is_empty
is "$(cat acknowledged.* | sort | uniq -d | wc -l)" 0 "no number was given twice"
is "$(sort -u "$ran" | comm -13 - <(cat acknowledged.* | sort -u) | wc -l)" 0 \
  "every acknowledged job ran"
is "$(sort "$ran" | uniq -d | wc -l)" 0 "no job ran twice"
