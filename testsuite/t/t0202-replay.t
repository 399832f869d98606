#!/bin/bash
# testsuite/t/t0202-replay.t - rsim replay and what-if: a trace on a virtual clock, as a user sees it.
. "$(dirname "$0")/lib.sh"

sample=$top_srcdir/testsuite/replay
plan 55

# replay OPTION...: the small trace on the small cluster.
replay() {
  rsim replay --cluster "$sample/cluster.yaml" --trace "$sample/trace.csv" "$@"
}
# what_if OPTION...: the same with other quotas.
what_if() {
  rsim what-if --cluster "$sample/cluster.yaml" --trace "$sample/trace.csv" "$@"
}

is "$(replay --projects "$sample/projects.yaml")" \
  "PROJECT QUOTA JOBS WAIT  P50  P95  MAX COMPLETION   P99 GPUH-IN GPUH-OVER PREEMPTED GPUH-LOST    USE
default     0    1 0:20 0:20 0:20 0:20       1:00  1:00     0.0       0.0         0       0.0  0.5 %
team-a      4    5 1:15 0:00 5:00 5:00       6:25 23:20     1.3       1.2         1       0.2 55.1 %
team-b      4    2 0:00 0:00 0:00 0:00       3:20  5:00     0.3       0.1         0       0.0  8.5 %
all         8    8 0:46 0:00 5:00 5:00       4:46 23:20     1.6       1.3         1       0.2 64.0 %
cluster: 2 nodes, 8 GPUs
makespan: 34:30
use by tenths of the time, in %: 81 61 100 100 100 100 76 0 0 21
fairness: 0.9676
refused: 1 (larger than the cluster)" "a row for every project and one for all, then the whole"
is "$(replay)" "$(replay)" "the same twice"
gzip -c "$sample/trace.csv" >"$test_dir/trace.csv.gz"
is "$(replay --trace "$test_dir/trace.csv.gz")" "$(replay)" "a gzipped trace"
is "$(replay 2>&1 >/dev/null)" "" "no progress bar where nobody watches"
if command -v script >/dev/null; then
  # Standard error alone is a terminal there.
  bar=$(script -qec "rsim replay --cluster '$sample/cluster.yaml' --trace '$sample/trace.csv' >'$test_dir/out'" /dev/null)
  like "$bar" 'replay \[ *\]   0 %' "a progress bar on a terminal"
else
  skip 1 "no script(1)"
fi

json=$(replay --projects "$sample/projects.yaml" --json)
is "$(jq -c keys <<<"$json")" '["all","fairness","gpus","makespan_seconds","nodes","projects","timeline"]' "--json: the whole"
is "$(jq -c '.projects[1] | keys' <<<"$json")" \
  '["completion_seconds","gpu_hours_in_quota","gpu_hours_lost","gpu_hours_over_quota","gpu_quota","jobs","jobs_finished","jobs_refused","jobs_unfinished","preemptions","project","served","utilisation","wait_seconds"]' \
  "and a project"
is "$(jq -c '.projects[1].wait_seconds | map_values(. + 0)' <<<"$json")" '{"mean":75,"p50":0,"p95":300,"p99":300,"max":300}' "waits"
is "$(jq -c '[.projects[] | .project]' <<<"$json")" '["default","team-a","team-b"]' "projects by name"
is "$(jq '.timeline | (.jobs_waiting | length) == 240 and (.gpus_held | length) == 3 and (.gpus_held[0].gpus | length) == 240' <<<"$json")" \
  true "the timeline has as many pieces for everybody"
is "$(jq '[.timeline.gpus_held[].gpus[]] | add * 2070 / 240 / 3600 * 1000 | round' <<<"$json")" \
  "$(jq '.all | (.gpu_hours_in_quota + .gpu_hours_over_quota) * 1000 | round' <<<"$json")" "and adds up to the hours"

# Every field is described.
undescribed=
for field in $(jq -r '[paths | .[-1] | strings] | unique | .[]' <<<"$json"); do
  grep -q "\`$field\`" "$top_srcdir/doc/json.md" || undescribed+=" $field"
done
is "$undescribed" "" "doc/json.md has every field of replay"

# ---- options ----

is "$(replay --json | jq -c '[.projects[] | .gpu_quota]')" "[2.666666,2.666666,2.666666]" "without projects: an even share each"
is "$(replay --one-project --json | jq -c '[.projects[] | [.project, .jobs, .gpu_quota]]')" '[["default",8,8]]' "--one-project"
is "$(replay --projects "$sample/projects.yaml" --checkpoint 30s --json | jq '.all.gpu_hours_lost * 1000 | round')" 22 "--checkpoint loses less"
is "$(replay --projects "$sample/projects.yaml" --policy min_runtime_reclaim=1h --json | jq -c '.projects[2] | [.wait_seconds.max + 0, .preemptions]')" \
  "[900,0]" "--policy: team-a is safe for an hour, so team-b waits"
is "$(replay --policy reservations=0,preemption_delay=5m --json | jq .all.jobs_finished)" 7 "--policy: several keys"
is "$(replay --limits none --json | jq .all.jobs_finished)" 7 "--limits none"
is "$(replay --limits factor:1.5 --json | jq .all.jobs_finished)" 7 "--limits factor:1.5"
printf 'projects:\n  team-a: {quota: 0, over_quota: off}\n  team-b: {quota: 8}\n' >"$test_dir/none.yaml"
is "$(replay --projects "$test_dir/none.yaml" | tail -n 1)" "unfinished: 4 (wait for ever)" "jobs that never may start"

replay --projects "$sample/projects.yaml" --html "$test_dir/page.html" >"$test_dir/out"
is "$(cat "$test_dir/out")" "$(replay --projects "$sample/projects.yaml")" "--html prints the table too"
is "$(grep -c '<svg ' "$test_dir/page.html")" 3 "three plots"
is "$(grep -icE 'https?:|<script|<link|<img|url\(|@import' "$test_dir/page.html")" 0 "nothing from elsewhere"
like "$(cat "$test_dir/page.html")" "prefers-color-scheme: dark" "dark"
like "$(cat "$test_dir/page.html")" "@media print" "and on paper"
if command -v xmllint >/dev/null; then
  ok "well-formed" xmllint --html --noout "$test_dir/page.html"
else
  skip 1 "no xmllint"
fi

# ---- what-if ----

is "$(what_if --projects "$sample/projects.yaml" --with "$sample/changed.yaml")" \
  "PROJECT QUOTA         WAIT   CHANGE          P95   COMPLETION   CHANGE   GPUH-IN GPUH-OVER PREEMPTED GPUH-LOST
default     0         0:20    0.0 %         0:20         1:00    0.0 %       0.0       0.0         0       0.0
team-a  4 > 8  1:15 > 3:20 +166.7 % 5:00 > 13:20  6:25 > 8:05  +26.0 % 1.3 > 2.3 1.2 > 0.0     1 > 0 0.2 > 0.0
team-b  4 > 0 0:00 > 14:35        - 0:00 > 15:00 3:20 > 17:55 +437.5 % 0.3 > 0.0 0.1 > 0.4         0       0.0
all         8  0:46 > 6:07 +703.1 % 5:00 > 15:00  4:46 > 9:53 +107.5 % 1.6 > 2.3 1.3 > 0.4     1 > 0 0.2 > 0.0
makespan: 34:30
use: 64.0 % > 59.2 %
fairness: 0.9676 > 0.8070
refused: 1 (larger than the cluster)" "what-if: before and after"
json=$(what_if --projects "$sample/projects.yaml" --with "$sample/changed.yaml" --json)
is "$(jq -c 'keys' <<<"$json")" '["after","before","difference"]' "as JSON"
is "$(jq -c .before <<<"$json")" "$(replay --projects "$sample/projects.yaml" --json | jq -c .)" "before is what replay says"
is "$(jq -c .after <<<"$json")" "$(replay --projects "$sample/changed.yaml" --json | jq -c .)" "and so is after"
is "$(jq -c '.difference.projects[2] | [.project, .gpu_quota, .wait_seconds_mean + 0]' <<<"$json")" '["team-b",-4,875]' "the difference"
undescribed=
for field in $(jq -r '[.difference | paths | .[-1] | strings] | unique | .[]' <<<"$json") before after difference; do
  grep -q "\`$field\`" "$top_srcdir/doc/json.md" || undescribed+=" $field"
done
is "$undescribed" "" "doc/json.md has every field of what-if"

what_if --projects "$sample/projects.yaml" --with "$sample/changed.yaml" --html "$test_dir/page.html" >"$test_dir/out"
is "$(cat "$test_dir/out")" "$(what_if --projects "$sample/projects.yaml" --with "$sample/changed.yaml")" \
  "what-if --html prints the table too"
is "$(grep -c '<svg ' "$test_dir/page.html")" 6 "three plots of all, and one of each project"
is "$(grep -c 'class="line dashed"' "$test_dir/page.html")" 6 "before is in every one"
is "$(grep -c 'class="line"' "$test_dir/page.html")" 6 "and after"
like "$(cat "$test_dir/page.html")" '<td class="bad">\+166.7 %</td>' "the differences"
is "$(grep -icE 'https?:|<script|<link|<img|url\(|@import' "$test_dir/page.html")" 0 "nothing from elsewhere"
if command -v xmllint >/dev/null; then
  ok "well-formed" xmllint --html --noout "$test_dir/page.html"
else
  skip 1 "no xmllint"
fi

# ---- mistakes ----

printf 'projects: {team-a: {quota: 8}}\n' >"$test_dir/one.yaml"
replay --projects "$test_dir/one.yaml" >"$test_dir/out" 2>&1
is "$?,$(cat "$test_dir/out")" \
  "1,rsim: invalid argument: $sample/trace.csv:3:27: project: there is no project 'team-b'; did you mean 'team-a'?" \
  "a project that is not in the file: the first, and where"
sed 's/^b2,150/b2,soon/' "$sample/trace.csv" >"$test_dir/bad.csv"
replay --trace "$test_dir/bad.csv" >"$test_dir/out" 2>&1
is "$?,$(cat "$test_dir/out")" \
  "1,rsim: invalid argument: $test_dir/bad.csv:4:4: submit_s: 'soon' is not a decimal number from 0 to 4000000000" \
  "a wrong field: file, line and column"
printf 'nodes:\n  - {names: n1, gpu: 8}\n' >"$test_dir/bad.yaml"
replay --cluster "$test_dir/bad.yaml" >"$test_dir/out" 2>&1
is "$?" 1 "a wrong cluster"
like "$(cat "$test_dir/out")" "bad.yaml:2:17: a node has no key 'gpu'; did you mean 'gpus'\?" "and where it is wrong"
replay --cluster "$test_dir/missing.yaml" >"$test_dir/out" 2>&1
is "$?" 3 "a file that is not there"
replay --policy reservation=4 >"$test_dir/out" 2>&1
is "$?" 2 "an unknown key: a usage error"
like "$(cat "$test_dir/out")" "unknown key 'reservation'; did you mean 'reservations'\?" "and the nearest is suggested"
like "$(replay --policy reservations=x 2>&1)" "scheduler.reservations must be a number from 0 to 1000, not 'x'" "a value that the key does not take"
like "$(replay --policy reservations 2>&1)" "'reservations' is not KEY=VALUE" "no value"
like "$(replay --limits factor:0.5 2>&1)" "the factor must be a decimal number from 1 to 1000" "limits that would kill jobs"
like "$(replay --one-project --projects "$sample/projects.yaml" 2>&1)" "give one of them" "one project, or a file of them"
like "$(rsim replay 2>&1)" "on which cluster\? --cluster=FILE" "it asks for the cluster"
like "$(rsim replay --cluster "$sample/cluster.yaml" 2>&1)" "which jobs\? --trace=FILE" "and for the trace"
like "$(what_if 2>&1)" "with which projects instead\? --with=FILE" "and what-if for the other projects"
like "$(what_if --with "$sample/changed.yaml" --html /dev/full 2>&1)" "cannot write /dev/full: No space left" "what-if's too"
like "$(replay --html /dev/full 2>&1)" "cannot write /dev/full: No space left" "a page that cannot be written"
