#!/bin/bash
# testsuite/t/t0101-projects.t - projects are described, shown, changed, kept, and rule who may submit.
. "$(dirname "$0")/lib.sh"
plan 72

cat >"$test_dir/projects.yaml" <<'TEXT'
departments:
  research:
    quota: 20
projects:
  team-a:
    department: research
    quota: 4
    interactive_time_limit: 8h
    default_queue: short
  team-b:
    department: research
    quota: 2.5
  private:
    users: [nobody-we-know]
queues:
  short:
    time_limit_default: 30m
    time_limit_max: 2h
    priority: 80
TEXT
cluster_start --nodes 1 --projects "$test_dir/projects.yaml"
cd "$test_dir" || bail_out "no directory"
me=$(id -un)

# run COMMAND...: its exit code in $code, all it says in $out
run() {
  code=0
  out=$("$@" 2>&1 </dev/null) || code=$?
}

# ---- radmin ----
is "$(rproject list -n -P | cut -d '|' -f 1-3 | xargs)" \
  "default|-|0 private|-|0 team-a|research|4 team-b|research|2.5" "minicluster --projects sets them up"
run radmin apply projects.yaml
is "$code,$out" "0,nothing changes" "applied again, nothing changes"
radmin export >export.yaml
run radmin apply export.yaml
is "$code,$out" "0,nothing changes" "radmin export is a file that apply takes back unchanged"
is "$(radmin export | radmin apply -)" "nothing changes" "also from standard input"

sed -e 's/quota: 4/quota: 6/' -e '/  private:/,/users:/d' projects.yaml >changed.yaml
printf '  long: {}\n' >>changed.yaml
wanted="- project private
project team-a: quota 4 -> 6
+ queue long"
run radmin apply --dry-run changed.yaml
is "$code,$out" "0,$wanted" "--dry-run shows the difference"
is "$(rproject show --json team-a | jq .projects[0].quota_gpus)" 4 "and changes nothing"
run radmin apply changed.yaml
is "$code,$out" "0,$wanted
applied: revision 2" "apply shows it and changes it"
is "$(rproject show --json team-a | jq .projects[0].quota_gpus)" 6 "the quota is the new one"
# ---- rota show ----
run rota show project team-a team-b
like "$out" '^project: team-a
department: research' "rota show project has its keys, a line each"
like "$out" '
jobs: 0 running, 0 waiting

project: team-b' "and a blank line before the next"
is "$(rota show --json project team-b | jq -c '.projects | map([.name, .quota_gpus])')" '[["team-b",2.5]]' "also as JSON"
run rota show queue short shrt
is "$code" 3 "of what nobody knows it says so"
like "$out" 'queue: short
.*time_limit_max: 2h' "and shows the others"
like "$out" "rota: no such queue: 'shrt'; did you mean 'short'" "with the nearest name"
node=$(rinfo -n -P | cut -d '|' -f 1)
like "$(rota show node "$node")" "^node: $node
state: up.*
gpus_held: 0
gpu0: .* idle, " "rota show node has the node and its GPUs"
is "$(rota show node --json "$node" | jq -c '.nodes | map([.name, .state])')" "[[\"$node\",\"up\"]]" "also as JSON"
run rota show door front
is "$code,$out" "2,rota: 'door' cannot be shown; 'show job JOB...', 'show node NODES...', 'show project NAME...', 'show queue NAME...'" "other things have nothing to show"
run rproject show private
is "$code,$out" "3,rproject: no such project: 'private'; known are default, team-a, team-b" "the project is gone"
is "$(radmin show --json | jq -c '[.revision, [.departments[].name], [.projects[].name], [.queues[].name], .users]')" \
  '[2,["research"],["default","team-a","team-b"],["long","short"],[]]' "radmin show --json has all of it"
like "$(radmin show)" 'QUEUE .*short' "radmin show prints tables"
is "$(radmin apply --json --dry-run projects.yaml | jq -c '[.applied, .changes, .difference[0]]')" \
  '[false,3,"+ project private quota 0, users [nobody-we-know]"]' "apply --json"

# Mistakes: file, line, column, the nearest word; nothing changes.
sed 's/    quota: 4/    qouta: 4/' projects.yaml >bad.yaml
run radmin apply bad.yaml
is "$code" 1 "an unknown key is refused"
is "$out" "radmin: invalid configuration: bad.yaml:7:5: unknown key 'qouta'; did you mean 'quota'?" "with its place"
sed 's/department: research/department: reserch/' projects.yaml >bad.yaml
run radmin apply bad.yaml
is "$out" "radmin: invalid configuration: bad.yaml:6:17: department 'reserch' does not exist; did you mean 'research'?" \
  "so is an unknown department"
run radmin apply no-such-file
is "$code" 2 "a file that is not there is a usage error"
run radmin aply x
is "$code,$out" "2,radmin: unknown command 'aply'; did you mean 'apply'?" "a mistyped word"
sed 's/^    quota: 20/    quota: 1/' changed.yaml >tight.yaml
run radmin apply --dry-run tight.yaml
like "$out" "warning: department 'research': quotas below it add up to 8.5, its own is 1" "a warning for what is promised twice"

is "$(radmin apply tight.yaml 2>/dev/null | head -n 1),$(radmin apply tight.yaml 2>&1)" \
  "department research: quota 20 -> 1,nothing changes" "once, when it comes"
radmin apply changed.yaml >/dev/null

# ---- rproject ----
run rproject create team-e --quota 2 --department research --users "$me,bob" --weight 0.5
is "$code,$out" "0,+ project team-e quota 2 in department research, weight 0.5, users [$(printf '%s\n' "$me" bob | sort | paste -sd, | sed 's/,/, /')]" \
  "rproject create"
run rproject create team-e
is "$code,$out" "1,rproject: project exists already: 'team-e'" "a second one is refused"
run rproject update team-e --quota 3.25 --limit 4
is "$code,$out" "0,project team-e: quota 2 -> 3.25
project team-e: limit none -> 4" "rproject update"
run rproject update team-e --limit 1
is "$code,$out" "1,rproject: invalid projects: project 'team-e': quota 3.25 is over its limit 1" "values that do not go together"
run rproject update team-x --quota 1
is "$code,$out" "3,rproject: no such project: 'team-x'; did you mean 'team-a'?" "an unknown project"
run rproject create x --quota many
is "$code,$out" "2,rproject: --quota: 'many' is no number; write digits, such as 4 or 1.5" "a bad value"
is "$(rproject show team-e | grep -E '^(quota|limit|weight|department):' | xargs)" \
  "department: research quota: 3.25 limit: 4 weight: 0.5" "rproject show"
run rproject delete default
is "$code" 5 "default cannot be deleted"

# ---- submission ----
field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }
job=$(rsubmit -P -o /dev/null -- sleep 1000)
is "$(field "$job" project)" default "a job without a project goes to default"
run rsubmit -A taem-a -- true
is "$code,$out" "3,rsubmit: no such project: 'taem-a'; did you mean 'team-a'?" "an unknown project is named with the nearest"
rproject update team-e --users bob >/dev/null
run rsubmit -A team-e -- true
is "$code,$out" "4,rsubmit: permission denied: project 'team-e' is for bob, not for $me; name another with --project" \
  "who is no member is told who is"
rproject update team-e --users none --groups "$(id -gn)" >/dev/null
ok "a group makes members too" rsubmit -A team-e -o /dev/null -- true
queued=$(rsubmit -P -A team-a -G 1 -o /dev/null -- sleep 1000)
is "$(rqueue -n -j "$queued" -o '%a %P %Q %{kind} %l')" "team-a short 80 train 30:00" \
  "the project's queue gives priority and time limit"
run rsubmit -A team-a -t 3h -- true
is "$code,$out" "5,rsubmit: refused by policy: the time limit is 3h, at most 2h is allowed for queue 'short' (time_limit_max)" \
  "more time than the queue allows"
run rsubmit -A team-a -p long --interactive -t 9h -- true
is "$code,$out" "5,rsubmit: refused by policy: the time limit is 9h, at most 8h is allowed for interactive jobs of project 'team-a' (interactive_time_limit)" \
  "more time than the project allows for interactive jobs"
job8=$(rsubmit -P -A team-a -p long --interactive -G 1 -o /dev/null -- sleep 1000)
is "$(rqueue -n -j "$job8" -o '%P %Q %{preemptible} %l')" "long 100 no 08:00:00" "who asks for none gets the limit"
run rsubmit -A team-a -p lnog -- true
is "$code,$out" "3,rsubmit: no such queue: 'lnog'; did you mean 'long'?" "an unknown queue"
job9=$(rsubmit -P -A team-b --priority high --preemptible --inference -G 2 -o /dev/null -- sleep 1000)
is "$(field "$job9" 'priority,.jobs[0].preemptible,.jobs[0].kind' | xargs)" "125 true inference" "priority and kind by option"
like "$(rqueue)" 'PROJECT +KIND +PRIORITY' "rqueue shows project, kind and priority"
radmin export >now.yaml && printf 'users:\n  %s: {default_project: team-b}\n' "$me" >>now.yaml
run radmin apply now.yaml
is "$code,$out" "0,+ user $me default_project team-b
applied: revision $(radmin show --json | jq .revision)" "a default project for a user"
mine=$(rsubmit -P -G 1 -o /dev/null -- sleep 1000)
is "$(field "$mine" project)" team-b "is where the user's jobs go"

# ---- rshare ----
for id in "$job" "$queued" "$job8" "$job9" "$mine"; do wait_state "$id" RUNNING >/dev/null; done
waiting=$(rsubmit -P -A team-b -G 8 -o /dev/null -- sleep 1000)
share=$(rshare --json)
line() { jq -r --arg n "$1" '.shares[] | select(.name == $n and .kind != "user") |
  "\(.held_in_quota_gpus) \(.held_over_quota_gpus) \(.waiting_gpus) \(.jobs_running) \(.jobs_waiting)"' <<<"$share"; }
is "$(line team-a)" "2 0 0 2 0" "what a project holds"
is "$(line team-b)" "2.5 0.5 8 2 1" "in and over its quota, and what it waits for"
is "$(line research)" "4.5 0.5 8 4 1" "a department is the sum of its projects"
is "$(jq -c '[.shares[] | select(.kind == "user") | .held_in_quota_gpus + .held_over_quota_gpus] | add' <<<"$share")" 5 \
  "the users' lines add up to what is held"
is "$(jq -r '.shares[0] | .name, .usage' <<<"$share" | xargs)" "research 0" "nothing was used yet"
is "$(jq -r '.shares[] | select(.kind == "project" and .fair_share_gpus == null).name' <<<"$share")" "" "and everybody has a fair share"
is "$(rshare | head -n 1 | xargs)" "NAME KIND QUOTA FAIR_SHARE IN_QUOTA OVER_QUOTA WAITING WEIGHT USAGE JOBS" "rshare prints a table"
is "$(rshare -n | sed -n 2p | cut -c 1-8)" "  team-a" "as a tree"
is "$(rshare -n -P | tail -n 1 | cut -d '|' -f 1,5-7,10)" "TOTAL|4.5|0.5|8|5/1" "with the total at its end"
is "$(rproject list -n -P | grep ^team-b | cut -d '|' -f 8-10)" "3|8|3" "rproject list shows it too"

# ---- what is in use stays ----
run rproject delete team-a
is "$code,$out" "5,rproject: still in use: project 'team-a' has live jobs and cannot be deleted: jobs $queued, $job8" \
  "a project with live jobs is not deleted, and they are named"
before=$(radmin export)
out=$(radmin apply - <<<"projects: {team-b: {quota: 1}}" 2>&1)
is "$?,$out" "5,radmin: still in use: project 'team-a' has live jobs and cannot be deleted: jobs $queued, $job8" \
  "neither by a file"
is "$(radmin export)" "$before" "and nothing else of the file was done"
rcancel "$queued" "$job8"
wait_state "$queued" CANCELLED && wait_state "$job8" CANCELLED
run rproject delete team-a
is "$code,$out" "0,- project team-a" "without jobs it is"
run rproject delete team-b
is "$code,$out" "5,rproject: still in use: project 'team-b' has live jobs and cannot be deleted: jobs $job9, $mine, $waiting" \
  "waiting jobs live too"

# ---- it is kept ----
before=$(radmin show --json | jq 'del(.projects[] | .jobs_running, .jobs_waiting, .held_in_quota_gpus, .held_over_quota_gpus, .waiting_gpus)')
daemon_kill rctld
cluster_resume
is "$(radmin show --json | jq 'del(.projects[] | .jobs_running, .jobs_waiting, .held_in_quota_gpus, .held_over_quota_gpus, .waiting_gpus)')" \
  "$before" "all of it survives kill -9 of the controller"

# ---- who may change it ----
user_can() {
  ((EUID == 0)) && command -v setpriv >/dev/null &&
    setpriv --reuid nobody --regid nogroup --clear-groups test -x "$top_builddir/src/commands/rproject"
}
if user_can; then
  as_user() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
  run as_user rproject create mine
  is "$code,$out" "4,rproject: permission denied: only an administrator or an editor may change projects" "others may not change projects"
  run as_user rproject list -n -P
  is "$code" 0 "but may look"
  role() { # ROLE: of nobody
    { radmin export | sed '/^users:/,$d'; printf 'users:\n  nobody: {role: %s}\n' "$1"; } >role.yaml
    radmin apply role.yaml >/dev/null
  }
  role editor
  run as_user rproject create mine --quota 1
  is "$code" 0 "unless they are editors"
  role viewer
  run as_user rsubmit -- true
  is "$code,$out" "4,rsubmit: permission denied: nobody has the role viewer, which submits no jobs" "a viewer submits nothing"
  run as_user rproject delete mine
  is "$code,$out" "4,rproject: permission denied: only an administrator or an editor may change projects" "and changes nothing"
else
  skip 5 "not root, or the tree is closed to others"
fi
for id in $(rqueue -n -o %i); do rcancel "$id"; done

# ---- minicluster ----
printf 'projects:\n  a: {quota: x}\n' >bad.yaml
like "$(minicluster start "$test_dir/x" --nodes 1 --projects bad.yaml 2>&1)" \
  "bad.yaml:2:14: quota: 'x' is no number" "minicluster says what is wrong with the file"
is "$(minicluster status "$test_dir/x" | awk '{ print $1, $2 }' | xargs)" "munged down rctld down dgx1-1 down" "and leaves nothing running"
