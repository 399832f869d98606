#!/bin/bash
# testsuite/t/t3095-prolog.t - the site's programs before and after each job: what they hear, when they run, and what
# their failure means.
. "$(dirname "$0")/lib.sh"
plan 34
cd "$test_dir" || exit 1
chmod 777 .
mkfifo never.in
exec 9<>never.in
cat >prolog <<TEXT
#!/bin/sh
echo "prolog \$ROTA_JOB_ID on \$ROTA_NODENAME" >>$test_dir/story
env | sort >$test_dir/env.\$ROTA_SCRIPT
echo "makes ready for \$ROTA_JOB_USER"
[ ! -e $test_dir/slow.\$ROTA_NODENAME ] || read -r _ <$test_dir/never.in
[ ! -e $test_dir/bad.\$ROTA_NODENAME ] || { echo "no scratch here" >&2; exit 3; }
TEXT
cat >epilog <<TEXT
#!/bin/sh
env | sort >$test_dir/env.\$ROTA_SCRIPT
[ ! -e $test_dir/linger ] || { touch $test_dir/lingers; read -r _ <$test_dir/never.in; }
echo "epilog \$ROTA_JOB_ID \$ROTA_JOB_EXIT_CODE \$ROTA_JOB_EXIT_SIGNAL" >>$test_dir/story
[ ! -e $test_dir/bad.epilog ] || { echo "cannot clean up"; exit 1; }
TEXT
chmod 755 prolog epilog
keys() { # LINE...
  cat <<TEXT
node:
  prolog: $test_dir/prolog
  epilog: $test_dir/epilog
  prolog_limit: 20s
jobs:
  launch_backoff: 100ms
TEXT
}
keys >keys.yaml
cluster_start --nodes 2 --gpus 2 --config keys.yaml
mapfile -t nodes < <(node_names)
one=${nodes[0]} two=${nodes[1]}
state() {
  rinfo --json "$1" | jq -r '.nodes[0].state'
}
is_state() {
  [[ $(state "$1") == "$2" ]]
}
story() {
  sed 's/ on .*//' story
}

# ---- before and after ----
job=$(rsubmit --parsable -G 1 -w "$one" -o /dev/null -- sh -c "echo job >>$test_dir/story; exit 7")
ok "a job runs" wait_state "$job" FAILED
is "$(story)" "prolog $job
job
epilog $job 7 0" "after the prolog, and before the epilog, which hears how it ended"
like "$(cat env.prolog)" "
ROTA_JOB_GPUS=0
.*ROTA_JOB_ID=$job
.*ROTA_JOB_PROJECT=default
.*ROTA_JOB_UID=$(id -u)
ROTA_JOB_USER=$(id -un)
" "both are told of the job"
like "$(cat env.epilog)" "ROTA_JOB_GPU_UUIDS=GPU-.*ROTA_JOB_ID=$job
.*ROTA_SCRIPT=epilog
" "in their environment"
like "$(cat "$cluster_dir/log/$one.log")" "prolog of job $job.0: makes ready for $(id -un)" "what they print is in rgpud's log"

rm story
job=$(rsubmit --parsable -N 2 -o /dev/null -- true)
wait_state "$job" COMPLETED >/dev/null
is "$(story | sort | uniq -c | xargs)" "2 epilog $job 0 0 2 prolog $job" "of a job on two nodes both run them"

# ---- the job keeps its place until the epilog has ended ----
touch linger
job=$(rsubmit --parsable -G 2 -w "$one" -o /dev/null -- true)
ok "its epilog takes a while" wait_for 30 test -e lingers
is "$(state_of "$job")" RUNNING "meanwhile the job is not over"
next=$(rsubmit --parsable -G 2 -w "$one" -o /dev/null -- true)
is "$(state_of "$next")" PENDING "and nobody has its place"
# The node's daemon is killed in the middle of it: the next one runs it again.
rm lingers
daemon_kill "$one" KILL
rm linger
: >story
cluster_resume
ok "after kill -9 of rgpud it is run again" wait_state "$job" COMPLETED 60
like "$(story)" "^epilog $job 0 0" "and knows how the job ended"
ok "then the next one runs" wait_state "$next" COMPLETED 60
echo >&9

# ---- kill -9 in the middle of a prolog ----
touch "slow.$one"
: >story
job=$(rsubmit --parsable -G 2 -w "$one" -o /dev/null -- sh -c "echo job >>$test_dir/story")
ok "a prolog takes a while" wait_for 30 grep -q "prolog $job" story
daemon_kill "$one" KILL
rm "slow.$one"
cluster_resume
ok "the job runs after all" wait_state "$job" COMPLETED 60
is "$(story | tail -n 3 | xargs)" "prolog $job job epilog $job 0 0" "with a prolog before and an epilog after it"
is "$(grep -c ^job story)" 1 "and once"
echo >&9

# ---- ended while its prolog runs ----
touch "slow.$one"
: >story
job=$(rsubmit --parsable -G 2 -w "$one" -o /dev/null -- sh -c "echo job >>$test_dir/story")
wait_for 30 grep -q "prolog $job" story
rcancel "$job"
rm "slow.$one"
echo >&9
ok "a job can be cancelled meanwhile" wait_state "$job" CANCELLED 60
is "$(story | xargs)" "prolog $job epilog $job 0 0" "what its prolog did the epilog undoes"

# ---- a prolog that fails ----
touch "bad.$one"
: >story
first=$(rsubmit --parsable -G 2 -o "$test_dir/where.%j" -- sh -c 'echo $ROTA_NODENAME')
second=$(rsubmit --parsable -G 2 -o "$test_dir/where.%j" -- sh -c 'echo $ROTA_NODENAME')
ok "a job whose prolog fails" wait_state "$first" COMPLETED 60
ok "is started" wait_state "$second" COMPLETED 60
is "$(cat "where.$first" "where.$second" | xargs)" "$two $two" "on the other node"
ok "the one that failed is drained" wait_for 30 is_state "$one" drained
like "$(rinfo "$one")" "prolog of job [0-9]+: .*/prolog ended with 3: no scratch here" "with the prolog's words"
is "$(state "$two")" up "the other is not"
daemon_kill "$one" KILL
cluster_resume
is "$(state "$one")" drained "it is so after kill -9, too"
rm "bad.$one"
radmin node resume "$one" >/dev/null
ok "until an administrator says otherwise" wait_for 30 is_state "$one" up

# ---- a step that is faster than the other node ----
touch "slow.$two"
job=$(rsubmit --parsable -N 2 -w "$one,$two" -o "$test_dir/early.out" --wrap "echo begun >>$test_dir/early.out; rrun -N 2 -n 2 --mpi none true && echo both")
first=$(rqueue --json -j "$job" | jq -r '.jobs[0].nodes[0]')
begun() { grep -q begun early.out; }
if [[ $first == "$one" ]]; then wait_for 30 begun; fi
is "$(rqueue -n -j "$job" -o %T)" STARTING "while a node's prolog runs, a job is starting"
rm "slow.$two"
echo go >&9
ok "and the step of its script waits for that" wait_for 30 grep -qx both early.out
wait_state "$job" COMPLETED >/dev/null

# ---- an epilog that fails ----
touch bad.epilog
job=$(rsubmit --parsable -w "$one" -o /dev/null -- true)
ok "of a job whose epilog fails" wait_state "$job" COMPLETED 60
ok "the node is drained" wait_for 30 is_state "$one" drained
like "$(rinfo "$one")" "epilog of job $job: .*/epilog ended with 1: cannot clean up" "with its words"
rm bad.epilog
cluster_stop >/dev/null

# ---- a limit, and no drain ----
rm -rf "$cluster_dir"
{ keys | sed 's/prolog_limit: .*/prolog_limit: 1s\n  prolog_failure: requeue\n  epilog_failure: ignore/'; } >keys.yaml
cluster_start --nodes 2 --gpus 2 --config keys.yaml
touch "slow.$one" bad.epilog
first=$(rsubmit --parsable -G 2 -o "$test_dir/where.%j" -- sh -c 'echo $ROTA_NODENAME')
second=$(rsubmit --parsable -G 2 -o "$test_dir/where.%j" -- sh -c 'echo $ROTA_NODENAME')
ok "a prolog that takes too long has failed" wait_state "$first" COMPLETED 60
ok "and its job is started elsewhere" wait_state "$second" COMPLETED 60
is "$(cat "where.$first" "where.$second" | xargs),$(state "$one"),$(state "$two")" "$two $two,up,up" \
  "without a drain, if that is what the site wants"
