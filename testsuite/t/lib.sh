# testsuite/t/lib.sh - the verbs of the end-to-end tests: TAP out, a real cluster in.
#
# A test is a bash script `tNNNN-name.t` that sources this file:
#
#   #!/bin/bash
#   # testsuite/t/t0100-quick.t - a job goes in, runs and is seen.
#   . "$(dirname "$0")/lib.sh"
#   plan 2
#   cluster_start --nodes 1
#   ok "a job is taken" rsubmit --parsable -- true
#   is "$(rqueue -o %i -h)" "" "the queue is empty again"
#
# TAP:      plan N (or done_testing at the end) | ok NAME COMMAND... | not_ok NAME COMMAND... |
#           is GOT WANTED NAME | like GOT REGEX NAME | unlike GOT REGEX NAME | pass NAME | fail NAME |
#           diag TEXT | skip COUNT REASON | skip_all REASON | bail_out REASON
# Cluster:  cluster_start [minicluster options] | cluster_stop | daemon_pid NAME |
#           daemon_kill NAME [SIGNAL] | cluster_resume | node_names | wait_state JOB STATE [SECONDS] |
#           wait_for SECONDS COMMAND... | state_of JOB | in_cluster DIR COMMAND...
# Others:   third_party NAME, the folder where contribs/install-deps unpacks it
# Places:   $top_srcdir $top_builddir $test_dir (removed at the end) $cluster_dir
set -u

top_srcdir=${top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)}
if [[ -z ${top_builddir:-} ]]; then
  top_builddir=${ROTA_BUILDDIR:-$top_srcdir/build}
  [[ -d $top_builddir ]] || top_builddir=$top_srcdir
fi
export ROTA_BUILDDIR=$top_builddir
export PATH=$top_builddir/src/commands:$top_builddir/src/sim:$PATH
export LC_ALL=C NO_COLOR=1
unset ROTA_CONFIG ROTA_CONTROLLER ROTA_MUNGE_SOCKET

test_dir=$(mktemp -d "/tmp/rota-t.XXXXXX")
chmod 755 "$test_dir"
cluster_dir=$test_dir/c
tap_count=0
tap_failed=0
tap_planned=
tap_owner=$BASHPID  # a subshell that ends must not end the cluster

# In a build with sanitizers: what a command or a daemon is blamed for ends it, and the test shows it.
# (g++'s libubsan writes to stderr beside libasan: that is in the daemons' logs.)
sanitizer_log=$test_dir/sanitizer
if [[ -n ${ROTA_SANITIZERS:-} ]]; then
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$sanitizer_log
  export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}halt_on_error=1:log_path=$sanitizer_log
fi

# ---- TAP ----

plan() {
  tap_planned=$1
  echo "1..$1"
}

# Instead of plan, as the last line of a test that cannot know its count.
done_testing() {
  plan "$tap_count"
}

diag() {
  printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - ${1//#/\\#}"
}

fail() {
  tap_count=$((tap_count + 1))
  tap_failed=$((tap_failed + 1))
  echo "not ok $tap_count - ${1//#/\\#}"
}

# ok NAME COMMAND...: COMMAND ends with 0; what it printed is shown when it does not.
ok() {
  local name=$1 code=0
  shift
  "$@" >"$test_dir/ok.out" 2>&1 </dev/null || code=$?
  if ((code == 0)); then
    pass "$name"
  else
    fail "$name"
    diag "exit code $code from: $*"
    diag "$(tail -n 30 "$test_dir/ok.out")"
  fi
  return "$code"
}

not_ok() {
  local name=$1
  shift
  if "$@" >"$test_dir/ok.out" 2>&1 </dev/null; then
    fail "$name"
    diag "exit code 0 from: $*"
    diag "$(tail -n 30 "$test_dir/ok.out")"
    return 1
  fi
  pass "$name"
}

is() {
  if [[ $1 == "$2" ]]; then
    pass "$3"
  else
    fail "$3"
    diag "got:    $1"
    diag "wanted: $2"
    return 1
  fi
}

like() {
  if [[ $1 =~ $2 ]]; then
    pass "$3"
  else
    fail "$3"
    diag "got:         $1"
    diag "wanted like: $2"
    return 1
  fi
}

unlike() {
  if [[ $1 =~ $2 ]]; then
    fail "$3"
    diag "got:           $1"
    diag "wanted unlike: $2"
    return 1
  fi
  pass "$3"
}

skip() {
  local i
  for ((i = 0; i < $1; i++)); do
    tap_count=$((tap_count + 1))
    echo "ok $tap_count # SKIP $2"
  done
}

skip_all() {
  echo "1..0 # SKIP $1"
  tap_planned=0
  exit 0
}

bail_out() {
  show_logs
  echo "Bail out! $1"
  tap_planned=$tap_count
  exit 1
}

# third_party NAME: where contribs/install-deps unpacks it, whether it is there or not.
third_party() {
  echo "${ROTA_TEST_CACHE:-/var/cache/rota-test}/$1"
}

# ---- the cluster ----

minicluster() {
  "$top_srcdir/contribs/minicluster" "$@"
}

# Starts a cluster under $cluster_dir and points the commands at it.
cluster_start() {
  minicluster start "$cluster_dir" "$@" >"$test_dir/minicluster.out" 2>&1 || {
    diag "$(cat "$test_dir/minicluster.out")"
    bail_out "the cluster does not start"
  }
  cluster_env
}

# in_cluster DIR COMMAND...: COMMAND talks to the cluster in DIR.
in_cluster() {
  local lines
  lines=$(minicluster env "$1") || return
  shift
  (
    trap - EXIT
    eval "$lines"
    "$@"
  )
}

cluster_env() {
  local lines
  lines=$(minicluster env "$cluster_dir") || bail_out "minicluster env fails"
  eval "$lines"
}

# Brings back whatever was killed.
cluster_resume() {
  minicluster start "$cluster_dir" "$@" >"$test_dir/minicluster.out" 2>&1 || {
    diag "$(cat "$test_dir/minicluster.out")"
    bail_out "the cluster does not come back"
  }
}

cluster_stop() {
  [[ -f $cluster_dir/cluster.conf ]] || return 0
  minicluster stop "$cluster_dir"
}

# daemon_pid rctld | munged | NODE
daemon_pid() {
  local pid
  read -r pid _ <"$cluster_dir/run/$1.pid" && echo "$pid"
}

# Sends SIGNAL (default KILL) and waits until the daemon is gone.
daemon_kill() {
  local pid
  pid=$(daemon_pid "$1") || bail_out "no pid of $1"
  kill "-${2:-KILL}" "$pid" 2>/dev/null
  wait_gone "$pid" 20 || bail_out "$1 (pid $pid) outlives SIG${2:-KILL}"
}

# Waits until PID has ended (a zombie has), at most SECONDS.
wait_gone() {
  local file=$test_dir/wait.$BASHPID
  echo "$1" >"$file"
  timeout "$2" pidwait --pidfile "$file" 2>/dev/null
  rm -f "$file"
  [[ ! -e /proc/$1 || $(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) != [!ZX] ]]
}

node_names() {
  local file
  for file in "$cluster_dir"/nodes/*/rota.yaml; do
    file=${file%/rota.yaml}
    echo "${file##*/}"
  done
}

# The state of a job, ended ones too; empty when there is no such job.
state_of() {
  rqueue --noheader -j "$1" -o %T 2>/dev/null
}

# wait_state JOB STATE [SECONDS]: comes back when the controller says so; fails when the job has ended
# in another state, or after SECONDS (default 30). STATE may be "FAILED|TIMEOUT".
wait_state() {
  local job=$1 wanted=$2 state seen='' watch events end=$((SECONDS + ${3:-30}))
  while :; do
    coproc timeout "${3:-30}" rqueue --watch --noheader -j "$job" -o %T 2>/dev/null
    watch=$COPROC_PID
    exec {events}<&"${COPROC[0]}"
    while read -r -u "$events" state; do
      seen="$seen $state"
      [[ $state =~ ^($wanted)$ ]] && break
      case $state in PENDING | STARTING | RUNNING | COMPLETING | PREEMPTED | SUSPENDED) ;; *) break ;; esac
    done
    kill "$watch" 2>/dev/null
    wait "$watch" 2>/dev/null
    exec {events}<&-
    [[ ${seen##* } =~ ^($wanted)$ ]] && return
    # A watch that never began says nothing about the job: on a busy machine a connect may time out.
    [[ -z $seen ]] && ((SECONDS < end)) || break
  done
  echo "job $job went through:${seen:- nothing}; wanted: $wanted"
  return 1
}

# wait_for SECONDS COMMAND...: tries COMMAND until it ends with 0. For what has no event of its own.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    read -r -t 0.05 <>"$test_dir/never" || true
  done
}

show_logs() {
  local log
  for log in "$cluster_dir"/log/*.log; do
    [[ -f $log ]] || continue
    diag "--- ${log##*/}"
    diag "$(tail -n "${ROTA_TEST_LOG_LINES:-25}" "$log")"
  done
}

# Fails, with the reports, when a sanitizer has made any.
show_blame() {
  local log
  for log in "$sanitizer_log".*; do
    [[ -f $log ]] || return 0
    diag "--- ${log##*/}"
    diag "$(head -n 60 "$log")"
  done
  return 1
}

# at_exit COMMAND: run when the test ends, however it does.
at_exit_commands=()
at_exit() {
  at_exit_commands+=("$1")
}

finish() {
  local code=$? stop_failed=0 command
  [[ $BASHPID == "$tap_owner" ]] || return
  trap - EXIT
  for command in "${at_exit_commands[@]}"; do eval "$command"; done
  if ((tap_failed > 0)); then show_logs; fi
  cluster_stop >"$test_dir/minicluster.out" 2>&1 || {
    diag "minicluster stop failed: $(cat "$test_dir/minicluster.out")"
    stop_failed=1
  }
  show_blame || stop_failed=1
  # The result is what TAP says: the exit code of the script's last line says nothing, unless a
  # signal or a bail-out ended it before its plan was done.
  if [[ -n $tap_planned && $tap_planned == "$tap_count" ]] && ((code < 128)); then
    code=$((tap_failed > 0 || stop_failed))
  else
    diag "planned ${tap_planned:-nothing}, ran $tap_count"
    code=$((code > 0 ? code : 1))
  fi
  if [[ -n ${ROTA_TEST_KEEP:-} ]]; then
    diag "kept: $test_dir"
  else
    rm -rf "$test_dir"
  fi
  exit "$code"
}
mkfifo "$test_dir/never"
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
