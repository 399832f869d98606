#!/bin/bash
# testsuite/t/t3061-exec-terminal.t - rexec -it on a real terminal: keys, window, job control, ends.
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || skip_all "no script(1)"
plan 21

cluster_start --nodes 1 --gpus 2
nodes=($(node_names))
cd "$test_dir" || exit 1
# Whether a process with exactly these words runs.
running() { pgrep -fx -- "$1" >/dev/null; }
gone() { ! running "$1"; }
mkfifo park
job=$(rsubmit --parsable --wrap "read -r line <park")
wait_state "$job" RUNNING || bail_out "the job does not run"

# term_start COMMAND: runs it on a terminal of its own, whose keys are `keys` and whose screen is in `screen`.
term_start() {
  rm -f keys screen code
  mkfifo keys
  : >screen
  script -qfc "stty rows 31 cols 101; tty >tty; $1; echo \"code \$?\"; stty -a" screen <keys >/dev/null 2>&1 &
  term=$!
  exec 8>keys
}
type_keys() { printf '%b' "$1" >&8; }
# screen_has REGEX: waits until the screen shows it.
screen_has() {
  wait_for "${2:-15}" grep -aqE -- "$1" screen
}
term_end() {
  exec 8>&-
  wait_gone "$term" 10 || kill -KILL "$term"
  wait "$term" 2>/dev/null
}

term_start "rexec -it $job bash --norc"
type_keys 'echo $((6*7))-$TERM; tty; stty size\r'
ok "a shell on a terminal answers" screen_has '42-'
ok "which has a name of its own" screen_has '/dev/pts/[0-9]+'
ok "and the size of ours" screen_has '31 101'
type_keys 'trap "echo resized" WINCH\r'
stty -F "$(cat tty)" rows 25 cols 77
type_keys '\r\rstty size\r'
ok "a change of the window arrives" screen_has '25 77'
ok "as a signal" screen_has 'resized'
type_keys 'sleep 4331\r'
wait_for 10 running 'sleep 4331'
type_keys '\032'
ok "^Z stops a command: there is job control" screen_has 'Stopped +sleep 4331'
type_keys 'kill %1; wait; echo over-$?\r'
ok "and the shell goes on" screen_has 'over-'
type_keys 'sleep 4332; echo after\r'
wait_for 10 running 'sleep 4332'
type_keys '\003'
ok "^C ends a command" wait_for 10 gone 'sleep 4332'
type_keys 'echo still-here\r'
ok "and not the shell" screen_has 'still-here.$'
type_keys 'exit 5\r'
ok "the shell's exit code is rexec's" screen_has 'code 5'
ok "the terminal is as it was" screen_has '(^|[^-])icanon'
term_end

term_start "rota bash $job"
type_keys 'echo from-$0; exit\r'
ok "rota bash opens a shell" screen_has 'from-.*sh'
ok "and ends with it" screen_has 'code 0'
term_end

term_start "rexec -it $job cat"
type_keys 'some words\r'
screen_has 'some words.*' && wait_for 5 sh -c "[ \$(grep -ac 'some words' screen) -ge 2 ]"
type_keys '\004'
ok "^D ends the input" screen_has 'code 0'
term_end
is "$(printf 'echo $((40+2))-piped\nexit 3\n' | timeout 20 rexec -it "$job" sh 2>/dev/null | tr -d '\r' | grep -c '42-piped')" 1 \
  "-it with a pipe as input works as well"

# The terminal is closed under it.
term_start "rexec -it $job sh -c 'trap \"echo hung >hung; exit\" HUP; while :; do sleep 0.1; done'"
ok "it runs" wait_for 10 pgrep -fx 'sh -c trap .*echo hung.*'
kill -KILL "$(pgrep -f "rexec -it $job" | while read -r p; do [[ $(readlink "/proc/$p/exe") == */rexec ]] && echo "$p"; done)"
ok "when rexec is killed the command gets SIGHUP" wait_for 10 test -f hung
ok "and ends" wait_for 10 gone 'sh -c trap .*echo hung.*'
term_end
is "$(state_of "$job")" RUNNING "the job goes on"
ptys=$(ls -l "/proc/$(daemon_pid "${nodes[0]}")/fd" | grep -c ptmx)
is "$ptys" 0 "rgpud holds no terminal any more"

term_start "rexec -it $job sh -c 'echo begun; exec sleep 4333'"
screen_has begun
rcancel "$job"
ok "a job that ends ends its terminals" screen_has 'code 1(43|37)'
term_end
