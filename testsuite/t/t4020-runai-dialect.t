#!/bin/bash
# testsuite/t/t4020-runai-dialect.t - the reference runs (NetApp TR-4858, 4.8 to 4.10), typed as they were published: runai's
# words, images in real containers, the published states.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"
have_docker || have_podman || skip_all "needs root, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"
plan 39

mkdir -p "$test_dir/extra/bin"
printf '#!/bin/sh\necho "notebook $*"\nexec sleep 1000\n' >"$test_dir/extra/bin/start-notebook.sh"
chmod 755 "$test_dir/extra/bin/start-notebook.sh"
image_tar "$test_dir/image.tar"
images=(gcr.io/run-ai-demo/quickstart jupyter/base-notebook python)
entry=(--change 'CMD ["/bin/sleep","1000"]')
config='node:
  container_gpus: none
'
if have_podman; then
  podman_start
  for image in "${images[@]}"; do
    [[ $image == gcr.io/* ]] || image=docker.io/$([[ $image == */* ]] || echo library/)$image
    pod import "${entry[@]}" "$test_dir/image.tar" "$image" >/dev/null 2>&1 || bail_out "podman import fails"
  done
  config+="  podman: $test_dir/podman/podman
  container_runtime: podman
"
else
  docker_start
  for image in "${images[@]}"; do
    dock import "${entry[@]}" "$test_dir/image.tar" "$image" >/dev/null || bail_out "docker import fails"
  done
  config+="  docker_socket: $test_dir/docker/sock
  container_runtime: docker
"
fi
printf '%s' "$config" >"$test_dir/config.yaml"
cat >"$test_dir/projects.yaml" <<'Y'
projects:
  team-a: {quota: 4, grace: 2s}
  team-b: {quota: 2, grace: 2s}
  team-c: {quota: 2, grace: 2s}
  team-d: {quota: 8, grace: 2s}
Y
cluster_start --nodes 2 --model dgx1-v100-32gb --proxy --config "$test_dir/config.yaml" --projects "$test_dir/projects.yaml"
cd "$test_dir" || exit 1
mkdir home && export HOME=$test_dir/home
unset XDG_CONFIG_HOME
PATH=$ROTA_BUILDDIR/contribs/runai:$PATH

run() {
  timeout 60 "$@" >out 2>err </dev/null
  code=$?
}
held() {
  rshare --json | jq -r '[.shares[] | select(.kind == "project" and (.name | startswith("team-"))) |
    .held_in_quota_gpus + .held_over_quota_gpus] | map(tostring) | join(" ")'
}
holds() { [[ $(held) == "$1" ]]; }
# with_status STATUS: the names that runai lists so.
with_status() { runai list -A | awk -v status="$1" 'NR > 1 && $2 == status {print $1}' | sort | xargs; }
running() { [[ $(with_status Running | wc -w) == "$1" ]]; }
waits() { [[ $(with_status Pending) == "$1" ]]; }

# ---- run 1 ----
run runai submit a-1-1-jupyter -i jupyter/base-notebook -g 1 --interactive --service-type=ingress --port 8888 --args="--NotebookApp.base_url=team-a-test-ingress" --command=start-notebook.sh -p team-a
is "$code:$(cat out)" "0:The job 'a-1-1-jupyter' has been submitted successfully
You can run \`runai describe job a-1-1-jupyter -p team-a\` to check the job status" "runai submit"
is "$(cat err)" "" "nothing of it is lost"
runai submit a-1-g -i gcr.io/run-ai-demo/quickstart -g 1 -p team-a >/dev/null
runai submit a-2-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-a >/dev/null
runai submit b-1-g06 -i gcr.io/run-ai-demo/quickstart -g 0.6 --interactive -p team-b >/dev/null
runai submit b-2-g04 -i gcr.io/run-ai-demo/quickstart -g 0.4 --interactive -p team-b >/dev/null
runai submit b-3-g -i gcr.io/run-ai-demo/quickstart -g 1 -p team-b >/dev/null
runai submit b-4-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-b >/dev/null
runai submit c-1-g05 -i gcr.io/run-ai-demo/quickstart -g 0.5 --interactive -p team-c >/dev/null
runai submit c-2-g03 -i gcr.io/run-ai-demo/quickstart -g 0.3 --interactive -p team-c >/dev/null
runai submit c-3-g02 -i gcr.io/run-ai-demo/quickstart -g 0.2 --interactive -p team-c >/dev/null
runai submit c-4-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-c >/dev/null
runai submit c-5-g -i gcr.io/run-ai-demo/quickstart -g 1 -p team-c >/dev/null
runai submit d-1-gggg -i gcr.io/run-ai-demo/quickstart -g 4 -p team-d >/dev/null
ok "all thirteen run" wait_for 90 running 13
is "$(held)" "4 4 4 4" "16 of 16 GPUs are held"
is "$(rinfo --json | jq '[.nodes[].gpus[] | select((.shares | length) > 1) | .shares | length] | sort | join(",")')" '"2,3"' \
  "the fractions share two GPUs"
is "$(runai list -A | head -n 1 | tr -s ' ')" "NAME STATUS AGE NODE IMAGE TYPE PROJECT USER GPUs SERVICE URL(S)" "the list's columns are Run:ai's"
like "$(runai list -p team-a | grep jupyter)" "^a-1-1-jupyter +Running +[0-9]+[sm] +dgx1-[12] +jupyter/base-notebook +Interactive +team-a +root +1 +http" \
  "its lines, with the address of the notebook"
ok "the command had its arguments" wait_for 20 eval '[[ $(runai logs a-1-1-jupyter -p team-a) == "notebook --NotebookApp.base_url=team-a-test-ingress" ]]'

# ---- run 2 ----
run runai submit d-2-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-d
ok "the quota is a guarantee: two GPUs come back" wait_for 60 eval 'holds "4 4 2 6" || holds "4 2 4 6"' || diag "$(held)"
like "$(with_status Pending)" "^(b-4-gg|c-4-gg)$" "from one team"
run runai submit d-3-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-d
ok "then from the other" wait_for 60 holds "4 2 2 8"
ok "both wait again" wait_for 30 waits "b-4-gg c-4-gg"

# ---- run 3 ----
runai submit a-3-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-a >/dev/null
runai submit a-4-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-a >/dev/null
runai submit b-5-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-b >/dev/null
runai submit c-6-gg -i gcr.io/run-ai-demo/quickstart -g 2 -p team-c >/dev/null
ok "all four wait" waits "a-3-gg a-4-gg b-4-gg b-5-gg c-4-gg c-6-gg"
run runai delete -p team-d d-1-gggg d-2-gg d-3-gg
is "$code:$(cat out)" "0:The job d-1-gggg has been deleted successfully
The job d-2-gg has been deleted successfully
The job d-3-gg has been deleted successfully" "runai delete"
ok "the surplus goes out 4:2:2" wait_for 60 holds "8 4 4 0"
ok "team-a has an empty queue" wait_for 30 eval '[[ -z $(runai list -p team-a | grep Pending) ]]'
is "$(runai list -p team-b | grep -c Pending),$(runai list -p team-c | grep -c Pending)" "1,1" "one of b waits, one of c"

# ---- other words of the walk-throughs ----
run runai project set team-a
is "$code:$(cat out)" "0:Project team-a has been set as default project" "runai project set"
is "$(runai list | awk 'NR > 1 {print $7}' | sort -u)" team-a "is the project of what follows"
run runai project set nobody
is "$code:$(cat err)" "2:runai: there is no project 'nobody'" "one that is not there"
like "$(runai project list)" "team-a \(default\) .*4 +8" "runai project list"
like "$(runai describe job a-1-g -p team-a)" "^Name: a-1-g
.*Status: Running
.*GPUs: 1" "runai describe job"
is "$(runai get a-1-g)" "$(runai describe job a-1-g)" "runai get"
like "$(runai describe job b-5-gg -p team-b; runai describe job b-4-gg -p team-b)" "Reason: needs 2 GPUs" "why one waits"
run runai describe job nothing
is "$code:$(cat err)" "3:runai: no such job: job 'nothing' was not found in project team-a" "a job that is not there"
run runai submit a-1-g -i gcr.io/run-ai-demo/quickstart
is "$code" 2 "a name that is taken"
like "$(cat err)" "a job of the name 'a-1-g' is in project team-a already" "is said"
run runai delete job a-3-gg
is "$code" 0 "runai delete job"
ok "ends it" wait_for 30 eval '[[ -z $(runai list | grep a-3-gg) ]]'
run runai delete a-2-gg a-4-gg
ok "there is room" wait_for 30 eval '[[ $(runai list | grep -c Running) == 2 ]]'
run runai submit build1 -i python -g 1 --interactive --command sleep --args infinity
ok "a workspace" wait_for 60 eval '[[ $(runai list | grep build1) == *Running* ]]' || diag "$(cat err; runai describe job build1)"
is "$(runai exec build1 -- sh -c 'echo $0 in $ROTA_JOB_NAME' </dev/null)" "sh in build1" "runai exec"
is "$(printf 'echo shell $ROTA_JOB_NAME\nexit\n' | script -qec 'runai bash build1' /dev/null 2>/dev/null | tr -d '\r' | grep -c '^shell build1')" 1 "runai bash"
mkdir mnt && echo seen >mnt/file
run runai submit mounted -i gcr.io/run-ai-demo/quickstart --local-image --large-shm -v "$test_dir/mnt:/mnt" -v /tmp:/tmp --command sh --args "-c" --args "cat /mnt/file; sleep 1000" -g 1 -e HOSTNAME=x
ok "volumes and arguments" wait_for 60 eval '[[ $(runai logs mounted 2>/dev/null) == seen ]]' || diag "$(cat err; runai describe job mounted)"
run runai suspend build1
ok "runai suspend" wait_for 30 eval '[[ $(runai list | grep build1) == *Suspended* ]]'
run runai resume build1
ok "runai resume" wait_for 60 eval '[[ $(runai list | grep build1) == *Running* ]]'
run runai submit lossy -i python --host-network --attach
is "$code:$(cat err)" "0:runai: --host-network is lost: this is for the site to configure
runai: --attach is lost: open a shell in the job with 'rota bash'" "what cannot be honoured has a line each"
run runai frobnicate
is "$code:$(cat err)" "2:runai: unknown command 'frobnicate'; 'runai --help' shows all" "a word that nobody knows"
runai delete a-1-1-jupyter a-1-g build1 mounted lossy >/dev/null
runai delete -p team-b b-1-g06 b-2-g04 b-3-g b-4-gg b-5-gg >/dev/null
runai delete -p team-c c-1-g05 c-2-g03 c-3-g02 c-4-gg c-5-g c-6-gg >/dev/null
ok "nothing is left" wait_for 60 eval '[[ -z $(rqueue --noheader -o %i) ]]'
