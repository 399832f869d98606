#!/bin/bash
# testsuite/t/t0001-help-man-completion.t - --help, man page and completion name the same options.
. "$(dirname "$0")/lib.sh"

commands=(rsubmit rqueue rcancel rinfo rlogs rexec rattach rrun ralloc rshare rproject rsecret radmin rota rsim)
. "$top_srcdir/contribs/completion/rota.bash"

# "-J, --job-name, --name=NAME", one option a line, as --help shows them.
help_options() {
  "$1" --help | sed -nE 's/^ {2,6}(-[^ ,]+(, -[^ ,]+)*)( .*)?$/\1/p' | sort
}

# The same from the tags of the man page.
man_options() {
  awk '/^\.TP/ { tag = 1; next } tag && /^\\fB\\-/ { print } { tag = 0 }' "$top_srcdir/doc/man/$1.1" |
    sed -E 's/\\f[A-Z]//g; s/\\-/-/g' | sort
}

# Every spelling, with = where an argument follows: "--name=", "--mps[=]" where one may follow.
spellings() {
  local option argument spelling
  while read -r option; do
    argument=
    [[ $option == *=* ]] && argument="="
    [[ $option == *"[="* ]] && argument="[=]"
    option=${option%%[=[]*}
    for spelling in ${option//,/}; do printf "%s\n" "$spelling$argument"; done
  done | sort
}

completion_options() {
  printf '%s\n' ${_rota_options[$1]} | sort
}

# "[OPTION...] JOB" for every form of the command.
help_synopses() {
  "$1" --help | sed -nE "s/^(Usage:|  or: ) $1 //p"
}
man_synopses() {
  awk '/^\.SH/ { on = $2 == "SYNOPSIS"; next } on && !/^\./' "$top_srcdir/doc/man/$1.1" | sed 's/\\-/-/g'
}

# what `complete` would offer for these words, the last of which is being written
offered() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _rota_complete
  echo "${COMPREPLY[*]}"
}

for command in "${commands[@]}"; do
  help=$(help_options "$command")
  ok "$command --help shows options" test "$(wc -l <<<"$help")" -ge 5
  is "$(man_options "$command")" "$help" "$command(1) has the options of --help, and no others"
  is "$(completion_options "$command")" "$(spellings <<<"$help")" "so has its completion, in every spelling"
  is "$(man_synopses "$command")" "$(help_synopses "$command")" "$command(1) shows the forms of --help"
  missing=
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" ENVIRONMENT FILES EXAMPLES "SEE ALSO"; do
    grep -qx "\.SH $section" "$top_srcdir/doc/man/$command.1" || missing+=" $section"
  done
  is "$missing" "" "$command(1) has every section"
  if command -v groff >/dev/null; then
    is "$(groff -t -man -ww -Tascii -z "$top_srcdir/doc/man/$command.1" 2>&1)" "" "$command(1) is good troff"
  else
    skip 1 "no groff"
  fi
  like "$("$command" --usage)" "^Usage: $command \[-[A-Za-z]+\]" "$command --usage is short"
  is "$({ "$command" --help; "$command" --usage; } | awk 'length > 79')" "" "no line is over 79 columns"
  like "$("$command" --version)" '^rota [0-9]+\.[0-9]+' "$command --version"
  is "$("$command" -h)" "$("$command" --help)" "-h is --help"
  "$command" --no-such-option >"$test_dir/out" 2>"$test_dir/err"
  is $? 2 "$command: an unknown option is a usage error"
  is "$(head -n 1 "$test_dir/err")" "$command: unknown option '--no-such-option'" "and is named"
  "$command" --help >/dev/full 2>"$test_dir/err"
  is "$?,$(cat "$test_dir/err")" "1,$command: cannot write to standard output: No space left on device" \
    "$command says that it could not write"
  is "$("$command" --help 2>&1 >&-)" "$command: cannot write to standard output: it is closed" \
    "also when standard output is closed"
done

# Every option that takes an argument says so when it has none, and every flag when it has one.
for command in "${commands[@]}"; do
  wrong=
  for option in $(completion_options "$command"); do
    case $option in
      --*"[=]") for word in "${option%"[=]"}" "${option%"[=]"}=x"; do
          "$command" "$word" >/dev/null 2>"$test_dir/err" </dev/null
          grep -qE "needs an argument|takes no argument" "$test_dir/err" && wrong+=" $option"
        done ;;
      --*=) "$command" "${option%=}" >/dev/null 2>"$test_dir/err" </dev/null
        grep -q "needs an argument" "$test_dir/err" || wrong+=" $option" ;;
      --*) "$command" "$option=x" >/dev/null 2>"$test_dir/err" </dev/null
        grep -q "takes no argument" "$test_dir/err" || wrong+=" $option" ;;
    esac
  done
  is "$wrong" "" "$command: options take what the completion says"
done

# Every field of rqueue -o is in its man page.
fields=$(rqueue -o '%?' 2>&1 | sed -nE 's/.*known are //p' | sed -E 's/, /\n/g')
listed=$(awk '/^\.SH/ { on = $2 == "FORMAT" } on && /\t/' "$top_srcdir/doc/man/rqueue.1" |
  awk -F '\t' '{ print $1 == "" ? "%{" $2 "}" : $1 " (" $2 ")" }')
is "$listed" "$fields" "rqueue(1) lists the fields of -o"

is "$(offered rsubmit --gpus-)" "--gpus-per-node --gpus-per-task" "completion of an option"
is "$(offered rsubmit --mp)" "--mps" "also of one whose argument may be left out"
is "$(offered rsubmit --kind in)" "interactive inference" "completion of an argument"
is "$(offered rsubmit --kind = tr)" "train" "completion behind ="
is "$(offered rqueue -t PENDING,RUN)" "PENDING,RUNNING" "completion in a list"
is "$(offered rota qu)" "queue" "completion of a word of rota"
is "$(offered rota queue --wat)" "--watch" "completion behind a word of rota"
is "$(offered rota show "")" "job node project queue" "completion of what rota shows"
is "$(offered rota show --json qu)" "queue" "behind an option, too"
is "$(offered rota show job --js)" "--json" "and of its option"
is "$(offered rproject cr)" "create" "completion of a word of rproject"
is "$(offered rproject update x --over-quota o)" "on off" "completion of a setting"
is "$(offered radmin ex)" "export" "completion of a word of radmin"
is "$(offered rcancel -s US)" "USR1 USR2" "completion of a signal"

is "$(rota submit --version)" "$(rsubmit --version)" "rota submit is rsubmit"
is "$(rota queue --help)" "$(rqueue --help)" "rota queue is rqueue"
is "$(rota version)" "$(rota --version)" "rota version"
like "$(rota version --json)" '^\{"version":"[0-9.]+"\}$' "rota version --json"
like "$(rota qeue 2>&1)" "unknown command 'qeue'; did you mean 'queue'\?" "rota suggests a word"

done_testing
