#!/bin/bash
# testsuite/t/t3063-attach.t - a session on a terminal outlives its connection, and rattach takes it up.
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || skip_all "no script(1)"
plan 14

cat >"$test_dir/extra.yaml" <<'Y'
node:
  session_linger: 20s
Y
cat >"$test_dir/projects.yaml" <<'Y'
projects:
  default: {quota: 2}
Y
cluster_start --nodes 1 --gpus 2 --config "$test_dir/extra.yaml" --projects "$test_dir/projects.yaml"
nodes=($(node_names))
cd "$test_dir" || exit 1
# Whether a process with exactly these words runs.
running() { pgrep -fx -- "$1" >/dev/null; }
gone() { ! running "$1"; }

# term_start NAME COMMAND: on a terminal with the keys NAME.keys and the screen NAME.screen.
term_start() {
  rm -f "$1.keys"
  mkfifo "$1.keys"
  : >"$1.screen"
  script -qfc "$2; echo \"code \$?\"" "$1.screen" <"$1.keys" >/dev/null 2>&1 &
  exec {keys}>"$1.keys"
}
screen_has() { wait_for 15 grep -aqE -- "$2" "$1.screen"; }
pid_of() {
  local pid
  for pid in $(pgrep -f "$1"); do
    [[ $(readlink "/proc/$pid/exe") == */${1%% *} ]] && echo "$pid"
  done
}

term_start a "rrun --pty -g 1 bash --norc"
first=$keys
printf 'echo job-$ROTA_JOB_ID-\r' >&"$first"
ok "rrun --pty opens a shell" screen_has a 'job-[0-9]+-'
job=$(grep -aoE 'job-[0-9]+-' a.screen | head -n 1 | tr -dc 0-9)
printf 'MARK=kept; echo before-$((20+3))\r' >&"$first"
screen_has a 'before-23'
kill -KILL "$(pid_of 'rrun --pty')"
is "$(state_of "$job")" RUNNING "a killed rrun leaves the session"
term_start b "rattach $job"
ok "rattach shows what was last seen" screen_has b 'before-23'
printf 'echo again-$MARK\r' >&"$keys"
ok "and goes on in the same shell" screen_has b 'again-kept'
second=$keys
term_start c "rattach $job"
ok "another one takes it over" screen_has c 'again-kept'
ok "and the one before is told" screen_has b 'another command has taken over this session'
term_start d "rattach --no-stdin $job"
screen_has d 'again-kept'
printf 'echo not-seen-$((1+1))\r' >&"$keys"
fourth=$keys
term_start e "rattach $job"
printf 'echo from-e-$((2+2))\r' >&"$keys"
ok "with --no-stdin no key arrives" screen_has e 'from-e-4'
unlike "$(cat e.screen)" 'not-seen-2' "not even later"
printf 'exit 6\r' >&"$keys"
ok "the exit code comes to whom is there" screen_has e 'code 6'
ok "and ends the job" wait_state "$job" FAILED
exec {first}>&- {second}>&- {fourth}>&- {keys}>&-

plain=$(rsubmit --parsable --wrap 'echo printed; sleep 0.2')
wait_state "$plain" 'RUNNING|COMPLETED'
like "$(rattach "$plain" 2>&1)" "has no terminal to attach to; its output follows.*printed|job $plain is COMPLETED" \
  "a job without a terminal shows its output"
rattach 99999 2>err
is "$?:$(cat err)" "3:rattach: no such job: 99999" "no such job"

term_start f "rrun --pty -g 1 sh -c 'echo up; sleep 4351'"
screen_has f up
job=$(rqueue --noheader -o %i)
kill -KILL "$(pid_of 'rrun --pty')"
ok "nobody comes back: the session and its job end" wait_state "$job" 'FAILED|CANCELLED' 40
ok "with the command" wait_for 5 gone 'sleep 4351'
exec {keys}>&-
