#!/bin/bash
# testsuite/t/t0201-pack.t - rsim pack: how full the packing fills a cluster.
#
# The small experiment in testsuite/pack always runs. The public trace is not part of the tree: it
# runs where ROTA_TRACES names a directory with openb in it, or where one lies beside the tree.
. "$(dirname "$0")/lib.sh"

sample=$top_srcdir/testsuite/pack
traces=${ROTA_TRACES:-$top_srcdir/../shared/traces}/openb
plan 24

# pack OPTION...: the small experiment.
pack() {
  rsim pack --nodes "$sample/nodes.csv" --tasks "$sample/tasks.csv" --arrivals "$sample/arrivals.csv" "$@"
}

is "$(pack)" "1 95.31 96.93
2 96.77 96.77
3 96.25 96.49
mean 96.11 96.73" "one line a seed, then the mean"
is "$(pack)" "$(pack)" "the same twice"
is "$(pack --policy first-fit)" "1 96.59 96.59
2 96.30 96.30
3 96.64 96.64
mean 96.51 96.51" "first fit"
is "$(pack --seed 2)" "2 96.77 96.77
mean 96.77 96.77" "one seed"
like "$(pack --seed 2 --time)" "^2 96\.77 96\.77 [0-9]+\.[0-9]+" "the time of a decision"
is "$(pack --json --seed 2)" \
  '{"policy":"least-loss","seeds":[{"seed":2,"alloc100":96.77,"alloc130":96.77,"decision_microseconds":null}],"mean":{"alloc100":96.77,"alloc130":96.77,"decision_microseconds":null}}' \
  "as JSON"
is "$(pack --json --time | jq '.mean.decision_microseconds > 0')" true "with the time"
for file in nodes tasks arrivals; do gzip -c "$sample/$file.csv" >"$test_dir/$file.csv.gz"; done
is "$(rsim pack --nodes "$test_dir/nodes.csv.gz" --tasks "$test_dir/tasks.csv.gz" \
  --arrivals "$test_dir/arrivals.csv.gz")" "$(pack)" "gzipped files"
grep -v '^2,' "$sample/arrivals.csv" | sed -E 's/^(1,tasks(,[0-9]+){3}).*/\1/' >"$test_dir/few.csv"
is "$(pack --arrivals "$test_dir/few.csv")" "1 - -
3 96.25 96.49
mean - -" "too few arrivals to tell: a dash"

pack --seed 9 >"$test_dir/out" 2>&1
is "$?,$(cat "$test_dir/out")" "3,rsim: not found: $sample/arrivals.csv: no seed 9; there are 1 to 3" "no such seed"
pack --policy first-fot >"$test_dir/out" 2>&1
is $? 2 "no such policy: a usage error"
like "$(cat "$test_dir/out")" "did you mean 'first-fit'\?" "and the nearest is suggested"
like "$(pack --seed x 2>&1)" "--seed.*'x' is no number" "no number"
like "$(pack more 2>&1)" "what is 'more'\?" "no operands"
like "$(pack --strict 2>&1)" "pack does not take --strict" "an option of another command"
like "$(rsim pack 2>&1)" "which nodes\? --nodes=FILE" "it asks for the files"
like "$(rsim pakc 2>&1)" "unknown command 'pakc'; did you mean 'pack'\?" "an unknown command"
like "$(rsim qqqqqqq 2>&1)" "known are conform, pack, replay" "nothing is near that"
sed 's/gpu_models/gpu_model/' "$sample/tasks.csv" >"$test_dir/tasks.csv"
pack --tasks "$test_dir/tasks.csv" >"$test_dir/out" 2>&1
is "$?,$(cat "$test_dir/out")" \
  "1,rsim: invalid argument: $test_dir/tasks.csv:1:1: no column 'gpu_models'; there is 'gpu_model'" \
  "a wrong file: where, and what was expected"
like "$(pack --nodes "$test_dir/none.csv" 2>&1)" "none.csv: No such file" "a file that is not there"

# The default tasks of the public trace; what the policy reached when it was taken in, less a margin.
if [[ -r $traces/nodes.csv ]]; then
  openb() {
    rsim pack --nodes "$traces/nodes.csv" --tasks "$traces/tasks_default.csv.gz" \
      --arrivals "$traces/arrivals_default.csv.gz" --seed "$1"
  }
  for seed in 42 43; do
    read -r _ alloc100 alloc130 < <(openb $seed)
    ok "openb, seed $seed, at 100 %: $alloc100" awk -v a="$alloc100" 'BEGIN { exit !(a >= 95.4 - 0.2) }'
    ok "openb, seed $seed, at 130 %: $alloc130" awk -v a="$alloc130" 'BEGIN { exit !(a >= 95.5 - 0.2) }'
  done
else
  skip 4 "no openb trace: set ROTA_TRACES"
fi
