#!/bin/bash
# testsuite/t/t3054-volumes-git.t - volumes that the site has named, and sources that git fetches before a job starts: with
# the owner's rights, within limits, and nothing left of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

((EUID == 0)) || skip_all "needs root"
all_here setpriv git || skip_all "needs setpriv and git"

umask 022
mkdir -p "$test_dir/volume" "$test_dir/closed"
echo data >"$test_dir/volume/file" && chmod 777 "$test_dir/volume"
echo secret >"$test_dir/closed/file" && chmod 700 "$test_dir/closed"
config="jobs:
  restarts_max: 0
data:
  sets:
    path: $test_dir/volume
    target: /sets
    read_only: true
  free: {path: $test_dir/volume}
  closed: {path: $test_dir/closed, target: /closed}
  other: {path: $test_dir/volume, projects: [elsewhere]}
node:
  container_gpus: none
  container_runtime: docker
  unkillable_after: 10s
  git_limit: 20s
  git_size_max: 8
"
runtime=
if have_docker && have_busybox; then
  docker_start
  image_tar "$test_dir/image.tar"
  dock import "$test_dir/image.tar" rota-test:1 >/dev/null || bail_out "docker import fails"
  runtime=docker
  config+="  docker_socket: $test_dir/docker/sock
"
fi
printf '%s' "$config" >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
spool=$cluster_dir/nodes/$node/spool
parent=$(sed -n "s/^ *cgroup_parent: *//p" "$cluster_dir/nodes/$node/rota.yaml")
user_start
run() {
  local code
  as_user rm -f out
  as_user rsubmit --wait -o out "$@" >/dev/null 2>err
  code=$?
  cat out err 2>/dev/null
  return $code
}
traces() {
  ls -d "$spool/scripts/"*.git "$spool/scripts/"*.box 2>/dev/null
  find /sys/fs/cgroup -mindepth 2 -type d -path "*/$parent/*/*" 2>/dev/null
  [[ -z $runtime ]] || dock ps -a --format '{{.Names}}'
}
nothing_left() { [[ -z $(traces) ]]; }

# ---- a repository: a branch, a tag, a commit that is neither's end ----

as_user git init -q -b main work
(
  cd work || exit 1
  commit() { as_user git -c user.name=n -c user.email=e commit -q --allow-empty-message -m "$1"; }
  as_user sh -c 'echo one >file' && as_user git add file && commit one
  as_user git tag v1
  as_user sh -c 'echo two >file' && as_user git add file && commit two
  as_user sh -c 'echo three >file' && as_user git add file && commit three
  as_user git checkout -q -b feature/x && as_user sh -c 'echo branch >file' && as_user git add file && commit four
  as_user git checkout -q main
)
second=$(as_user git -C work rev-parse main~1)
as_user git clone -q --bare work code.git
repo=$test_dir/home/code.git

is "$(run --git "$repo:./src" -- cat src/file)" three "a plain job finds its sources where it wants them"
is "$(stat -c %U src)" nobody "which are the owner's"
like "$(run --git "$repo:./src" -- true)" "cannot fetch .*src' already exists and is not an empty directory" \
  "git does not write over what is there"
rm -rf src
is "$(run --git "$repo@v1:./a" --git "file://$repo@feature/x:./b" --git "$repo@$second:./c" -- cat a/file b/file c/file)" \
  one$'\n'branch$'\n'two "a tag, a branch and a commit, and several of them"
rm -rf a b c
like "$(run --git "$repo@nosuch:./src" -- true)" "cannot fetch '$repo': .*nosuch" "a revision that is not there, in git's words"
rm -rf src
like "$(run --git "$test_dir/home/nosuch.git:./src" -- true)" "fatal: repository '.*nosuch.git' does not exist" "nor a repository"
like "$(run --git "$repo:$test_dir/inside" -- true)" "Permission denied" "a directory that the owner cannot make"

# ---- what is no repository ----

for url in --upload-pack=touch ext::sh 'ext::sh -c id' -x:y fd::3 ssh://-oProxyCommand=id/x ftp://host/x relative/path; do
  like "$(as_user rsubmit --git "$url:/src" -- true 2>&1)" 'git source|directory is missing|not known' "refused: $url"
done
like "$(as_user rsubmit --git "$repo:/proc" -- true 2>&1)" "nothing can be mounted at '/proc'" "a directory that is taken"
like "$(as_user rsubmit --git "$repo@-x:/src" -- true 2>&1)" 'no branch, tag or commit' "a revision that is an option"
like "$(as_user rsubmit --git "https://host/x" -- true 2>&1)" 'the directory is missing' "a URL alone"
like "$(as_user rsubmit -N 2 --git "$repo:/src" -- true 2>&1)" 'jobs on one node' "several nodes that would make the same directory"

# ---- over the network ----

port=$((20000 + RANDOM % 20000))
# Itself, not git before it: it is ended by its number.
setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$test_dir/home" "$(git --exec-path)/git-daemon" --listen=127.0.0.1 --port=$port --export-all --base-path="$test_dir/home" --reuseaddr >/dev/null 2>&1 &
at_exit "ends $!"
wait_for 20 bash -c ": <>/dev/tcp/127.0.0.1/$port" || bail_out "git daemon does not start"
is "$(run --git "git://127.0.0.1:$port/code.git@v1:./net" -- cat net/file)" one "from a server"
rm -rf net

# ---- limits and ends ----

as_user sh -c 'head -c 20M /dev/urandom >work/large' && as_user git -C work add large &&
  as_user git -C work -c user.name=n -c user.email=e commit -q -m large && as_user git clone -q --bare --no-local work large.git
like "$(run --git "file://$test_dir/home/large.git:./src" -- true)" "cannot fetch" "what is too large is not fetched"
rm -rf src
# A server that takes calls and says nothing.
silent_port=$((40000 + RANDOM % 9000))
python3 -c "
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', $silent_port)); s.listen(5)
kept = []
while True: kept.append(s.accept())
" &
at_exit "ends $!"
wait_for 20 bash -c ": <>/dev/tcp/127.0.0.1/$silent_port" || bail_out "the silent server does not start"
job=$(as_user rsubmit --parsable --git "git://127.0.0.1:$silent_port/x:./src" -o out -- true)
fetching() { pgrep -f "[g]it clone .*127.0.0.1:$silent_port" >/dev/null; }
not_fetching() { ! fetching; }
ok "git waits for a server that says nothing" wait_for 20 fetching
as_user rcancel "$job"
ok "and is ended with its job" wait_state "$job" CANCELLED 20
ok "at once" wait_for 5 not_fetching
is "$(ls -d src* 2>/dev/null)" "" "and takes along what it had made"
job=$(as_user rsubmit --parsable --no-requeue --git "git://127.0.0.1:$silent_port/x:./src" -o out -- true)
wait_for 20 fetching
kill_rstepd "$job.0"
ok "one whose rstepd is killed meanwhile" wait_state "$job" NODE_FAIL 30
ok "leaves nothing" wait_for 30 nothing_left || diag "$(traces)"
ok "no git either" wait_for 5 not_fetching
like "$(run --git "git://127.0.0.1:$silent_port/x:./src" -- true)" 'took longer than 20 s \(node.git_limit\)' "its time has a limit"

# ---- in a container ----

if [[ -n $runtime ]]; then
  is "$(run --image rota-test:1 --git "$repo@v1:/src" -- sh -c 'cat /src/file; touch /src/mine; ls /src')" \
    one$'\n'file$'\n'mine "a container finds its sources where it wants them, and may change them"
  ok "they go with it" wait_for 20 nothing_left || diag "$(traces)"
  is "$(run --image rota-test:1 --data sets -- cat /sets/file)" data "a volume, where the site says"
  like "$(run --image rota-test:1 --data sets:/mnt -- sh -c 'cat /mnt/file; echo x >/mnt/x')" ^data$'\n''.*Read-only file system' \
    "or where the job says, with the site's limits"
  is "$(run --image rota-test:1 --pvc free:/mnt -- sh -c 'echo x >/mnt/x && cat /mnt/x')" x "--pvc is the same"
  like "$(run --image rota-test:1 --data free:/mnt:ro -- sh -c 'echo x >/mnt/x')" 'Read-only file system' "read-only by wish"
  like "$(run --image rota-test:1 --data closed -- cat /closed/file)" \
    "cannot mount '$test_dir/closed' at '/closed': Permission denied for nobody" "a name opens nothing that is closed to the owner"
  like "$(run --image rota-test:1 --data nosuch -- true)" \
    "there is no volume 'nosuch' for jobs of project 'default'; they have closed, free, sets" "one that is not there"
  like "$(run --image rota-test:1 --data other -- true)" "there is no volume 'other'" "nor one of another project"
  like "$(run --image rota-test:1 --data a/b -- true)" "names no volume" "a name is no path"
fi
like "$(as_user rsubmit --data sets -- true 2>&1)" "mounts are for a job with an image" "volumes need a container"
done_testing
