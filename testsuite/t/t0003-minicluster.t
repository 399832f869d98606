#!/bin/bash
# testsuite/t/t0003-minicluster.t - a cluster starts, comes back piece by piece, and leaves nothing.
. "$(dirname "$0")/lib.sh"
plan 35

# The processes of the cluster in DIR, and those of its jobs, which carry MARK in their environment.
processes_of() {
  local file
  for file in /proc/[0-9]*; do
    if tr '\0' '\n' <"$file/cmdline" | grep -qF "$1/" ||
      tr '\0' '\n' <"$file/environ" | grep -qxF "MARK=$1" ||
      readlink "$file"/fd/* | grep -qF "$1/"; then
      echo "${file#/proc/}: $(tr '\0' ' ' <"$file/cmdline")"
    fi
  done 2>/dev/null
}
gpu_counts() {
  rinfo --json | jq -r '[.nodes[] | "\(.name)=\(.gpus | length)"] | sort | join(" ")'
}

ok "a cluster starts" minicluster start "$cluster_dir" || bail_out "no cluster"
status=$(minicluster status "$cluster_dir")
is $? 0 "status ends with 0 when all are up"
is "$(awk '{ print $1, $2 }' <<<"$status" | xargs)" "munged up rctld up dgx1-1 up dgx1-2 up" \
  "status has a line for each daemon"
like "$status" 'rctld +up +pid [0-9]+ +127\.0\.0\.1:[0-9]+' "status shows pid and address"
is "$(minicluster env "$cluster_dir" | grep -vcE '^export [A-Z_]+=')" 0 "env prints export lines only"
cluster_env
ok "the commands reach it" rota ping
is "$(gpu_counts)" "dgx1-1=8 dgx1-2=8" "two nodes of eight GPUs"

# Starting what runs changes nothing.
before=$(minicluster status "$cluster_dir")
ok "start again" minicluster start "$cluster_dir"
is "$(minicluster status "$cluster_dir")" "$before" "nothing was restarted"
not_ok "another shape is refused" minicluster start "$cluster_dir" --nodes 5

# What was killed comes back, at the same address and with its jobs.
job=$(rsubmit --parsable -o /dev/null -- sleep 1000)
wait_state "$job" RUNNING
daemon_kill rctld
not_ok "status fails when rctld is down" minicluster status "$cluster_dir"
like "$(minicluster status "$cluster_dir")" 'rctld +down' "status says so"
ok "start brings it back" minicluster start "$cluster_dir"
is "$(minicluster status "$cluster_dir" | awk '$1 == "rctld" { print $5 }')" "$ROTA_CONTROLLER" \
  "at the same address"
ok "the job still runs" wait_state "$job" RUNNING
daemon_kill dgx1-1
daemon_kill munged
ok "a node and munged come back too" minicluster start "$cluster_dir"
ok "all are up again" minicluster status "$cluster_dir"
ok "the job has not noticed" wait_state "$job" RUNNING

# A second cluster beside it, of another shape, with a key of its own, in a directory whose name is
# too long for a socket.
long=$test_dir/$(printf 'long%.0s' {1..30})
printf 'jobs:\n  kill_wait: 1s\nnodes:\n  heartbeat: 2s\n' >"$test_dir/keys.yaml"
ok "a second cluster" minicluster start "$long" --nodes 1 --gpus 3 --model hgx-h100-80gb \
  --config "$test_dir/keys.yaml"
is "$(grep -cE '^  (kill_wait: 1s|heartbeat: 2s)$' "$long/rota.yaml")" 2 "its file has the keys"
is "$(eval "$(minicluster env "$long")" && gpu_counts)" "h100-1=3" "one node of three GPUs"
is "$(gpu_counts)" "dgx1-1=8 dgx1-2=8" "the first is as it was"

# stop leaves no process, whatever the job does about it.
stubborn=$(eval "$(minicluster env "$long")" &&
  MARK=$long rsubmit --parsable -o /dev/null -- sh -c 'trap "" TERM; setsid sleep 1000 & sleep 1000; sleep 1000')
ok "a job that ignores SIGTERM" in_cluster "$long" wait_state "$stubborn" RUNNING
like "$(processes_of "$long")" 'rctld .*rgpud .*sleep 1000' "its processes are seen"
ok "stop" minicluster stop "$long"
is "$(processes_of "$long")" "" "no process is left"
not_ok "status of a stopped cluster" minicluster status "$long"
ok "start after stop" minicluster start "$long"
ok "the job that was cut short starts again" in_cluster "$long" wait_state "$stubborn" RUNNING
ok "stop once more" minicluster stop "$long"

# Mistakes are told.
like "$(minicluster start "$test_dir/x" --nodes 0 2>&1)" "--nodes '0': a number from 1" "no nodes"
like "$(minicluster start "$test_dir/x" --model dgx9 2>&1)" "unknown model 'dgx9': use one of a10, .*dgx1-v100-32gb" "no such model"
printf 'jobs:\n  kil_wait: 1s\n' >"$test_dir/keys.yaml"
like "$(minicluster start "$test_dir/x" --config "$test_dir/keys.yaml" 2>&1)" \
  "keys.yaml:2:3: .*did you mean 'jobs.kill_wait'" "a key that is not known"
printf 'munge:\n  socket: /x\n' >"$test_dir/keys.yaml"
like "$(minicluster start "$test_dir/x" --config "$test_dir/keys.yaml" 2>&1)" \
  "keys.yaml:2: munge.socket is set by minicluster" "a key that is not the user's"

# Any user can have one.
user_can() {
  ((EUID == 0)) && command -v setpriv >/dev/null && setpriv --reuid nobody --regid nogroup --clear-groups \
    test -x "$top_builddir/src/ctld/rctld" -a -r "$top_srcdir/contribs/minicluster"
}
as_user() {
  setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$test_dir/user" "$@"
}
run_as_user() {
  mkdir -m 777 "$test_dir/user"
  as_user "$top_srcdir/contribs/minicluster" start "$test_dir/user/c" --nodes 1 || return
  as_user bash -c 'eval "$("$1" env "$2")" && cd "$2" && rsubmit --wait -o who -- id -un && cat who' - \
    "$top_srcdir/contribs/minicluster" "$test_dir/user/c" | tail -n 1 | grep -qx nobody
  local code=$?
  as_user "$top_srcdir/contribs/minicluster" stop "$test_dir/user/c" && return "$code"
}
if user_can; then
  ok "an ordinary user starts a cluster and runs a job in it" run_as_user
else
  skip 1 "not root, or the tree is closed to others"
fi
