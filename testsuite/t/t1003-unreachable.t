#!/bin/bash
# testsuite/t/t1003-unreachable.t - a command that cannot reach the controller says where, why and what to
# check, within five seconds.
. "$(dirname "$0")/lib.sh"
plan 11
cluster_start --nodes 1

answer_of() {
  local start=$EPOCHREALTIME
  answer=$("$@" 2>&1)
  code=$?
  elapsed=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print (b - a < 5.5) ? "quick" : b - a " s" }')
}

real=$ROTA_CONTROLLER
daemon_kill rctld TERM
answer_of rqueue
is $code 69 "exit code 69 when nobody listens"
like "$answer" "${real//./\\.}" "the address is named"
like "$answer" 'refused' "and the reason"
like "$answer" 'check|is rctld running' "and what to check"

# Somebody listens but never says a word.
socat -d -d TCP-LISTEN:0,bind=127.0.0.1,fork EXEC:"sleep 60" 2>"$test_dir/socat.log" &
socat=$!
wait_for 10 grep -q 'listening on' "$test_dir/socat.log"
port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$test_dir/socat.log" | head -1)
export ROTA_CONTROLLER=127.0.0.1:$port
answer_of rsubmit -- true
is $code 69 "exit code 69 when the peer is dumb"
is "$elapsed" quick "after at most five seconds"
like "$answer" "127\.0\.0\.1:$port" "the address is named"
kill $socat

# A name that nobody has (RFC 2606), whatever the host's databases are.
export ROTA_CONTROLLER=nobody.invalid:7117
answer_of rqueue
is "$code,$elapsed" 69,quick "exit code 69 when the name is unknown"
like "$answer" "nobody\.invalid:7117: name 'nobody\.invalid': " "the name is named"

export ROTA_CONTROLLER=$real ROTA_MUNGE_SOCKET=$test_dir/no-munge
cluster_resume
answer_of rqueue
like "$answer" 'no-munge' "a missing munged is named with its socket"
ok "it fails" test $code -ne 0
