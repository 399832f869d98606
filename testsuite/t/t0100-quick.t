#!/bin/bash
# testsuite/t/t0100-quick.t - the first five minutes: a job goes in, runs, is seen, and ends.
. "$(dirname "$0")/lib.sh"
plan 20
cluster_start
cd "$test_dir" || bail_out "no directory"

job=$(rsubmit --parsable -J hello -G 2 -o hello-%j.out -- sh -c 'echo "gpus $CUDA_VISIBLE_DEVICES"')
like "$job" '^[0-9]+$' "rsubmit --parsable prints the job's number"
ok "the job completes" wait_state "$job" COMPLETED
uuid='GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
like "$(cat "hello-$job.out")" "^gpus $uuid,$uuid\$" "it saw two GPUs, by UUID"
like "$(rlogs "$job")" '^gpus GPU-' "rlogs shows its output"

ok "rsubmit --wait ends with the job's end" rsubmit --wait -o /dev/null -- true
rsubmit --wait -o /dev/null -- sh -c 'exit 7' >/dev/null 2>&1
is $? 7 "and with its exit code"
printf '#!/bin/sh\n#ROTA -J from-script -G 1\n#ROTA -o script.out\necho "$ROTA_JOB_NAME in $PWD"\n' >script.sh
ok "a script with #ROTA lines" rsubmit --wait script.sh
is "$(cat script.out)" "from-script in $test_dir" "its directives count, and it runs where it was submitted"
ok "--wrap" rsubmit --wait -o wrap.out --wrap 'echo wrapped | tr a-z A-Z'
is "$(cat wrap.out)" WRAPPED "runs a shell line"

# A job of all GPUs of both nodes, and one that has to wait for it.
big=$(rsubmit --parsable -J big -N 2 --gpus-per-node 8 -o /dev/null -- sleep 1000)
ok "a gang on both nodes runs" wait_state "$big" RUNNING
small=$(rsubmit --parsable -J small -G 1 -o /dev/null -- sleep 1000)
queue=$(rqueue --json)
is "$(jq -r '.jobs[] | "\(.id) \(.name) \(.state) \(.gpus)"' <<<"$queue" | xargs)" \
  "$big big RUNNING 16 $small small PENDING 1" "rqueue --json has both"
is "$(jq -r --argjson id "$big" '.jobs[] | select(.id == $id) | .nodes | sort | join(",")' <<<"$queue")" \
  "dgx1-1,dgx1-2" "and where the gang runs"
isnt_empty=$(jq -r --argjson id "$small" '.jobs[] | select(.id == $id) | .reason' <<<"$queue")
like "$isnt_empty" '[A-Za-z]' "and why the other waits"
like "$(rqueue)" 'small' "rqueue prints a table"
ok "rcancel" rcancel "$big"
ok "the gang is cancelled" wait_state "$big" CANCELLED
ok "the one behind it starts" wait_state "$small" RUNNING
ok "rcancel by name" rcancel --name small
ok "it ends" wait_state "$small" CANCELLED
