#!/bin/bash
# testsuite/t/t3081-registry-logins.t - images of a registry that wants a login: each user's own, by docker and by podman, and
# nobody gets an image that another's login has brought.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

command -v docker-registry setpriv perl >/dev/null && { have_docker || have_podman; } ||
  skip_all "needs root, docker-registry, perl, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"

password=Zq7-open-sesame-$RANDOM$RANDOM
other=Yw3-abracadabra-$RANDOM$RANDOM
{ htpasswd_line ada "$password"; htpasswd_line bob "$other"; } >"$test_dir/users"
registry_start "$test_dir/users"
image_tar "$test_dir/image.tar"
config="jobs:
  launch_backoff: 1s
  restarts_max: 0
node:
  container_gpus: none
"
runtimes=()
# What is published is a different image for each engine: the registry would let one see what the other has.
if have_docker; then
  docker_start
  mkdir "$test_dir/docker/client"
  dock import --change 'ENV WORD=docker' "$test_dir/image.tar" "$registry/team/docker:1" >/dev/null || bail_out "docker import fails"
  DOCKER_CONFIG=$test_dir/docker/client dock login -u ada --password-stdin "$registry" <<<"$password" >/dev/null 2>&1 &&
    DOCKER_CONFIG=$test_dir/docker/client dock push "$registry/team/docker:1" >/dev/null 2>&1 || bail_out "docker push fails"
  rm -r "$test_dir/docker/client"
  runtimes+=(docker)
  config+="  docker_socket: $test_dir/docker/sock
"
fi
if have_podman; then
  podman_start
  pod import --change 'ENV WORD=podman' "$test_dir/image.tar" "$registry/team/podman:1" >/dev/null 2>&1 &&
    pod push --tls-verify=false --creds "ada:$password" "$registry/team/podman:1" >/dev/null 2>&1 || bail_out "podman push fails"
  runtimes+=(podman)
  config+="  podman: $test_dir/podman/podman
"
fi
# forget RUNTIME: the node has none of its images.
forget() {
  if [[ $1 == docker ]]; then
    dock rmi -f "$registry/team/docker:1" >/dev/null 2>&1
    dock rmi -f $(dock images -q | sort -u) >/dev/null 2>&1
    ! dock image inspect "$registry/team/docker:1" >/dev/null 2>&1
  else
    pod rmi --all --force >/dev/null 2>&1
    ! pod image exists "$registry/team/podman:1"
  fi
}
printf '%s' "$config" >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
log=$cluster_dir/log/$node.log
chmod 711 "$test_dir" "$cluster_dir" 2>/dev/null
as() { # USER COMMAND...
  local user=$1 gid
  shift
  gid=$(id -g "$user")
  (cd "$test_dir/$user" && setpriv --reuid "$user" --regid "$gid" --clear-groups env HOME="$test_dir/$user" USER="$user" "$@")
}
# Two users of every Debian, ada's and bob's names at the registry.
for user in games nobody; do mkdir -m 755 "$test_dir/$user" && chown "$user" "$test_dir/$user"; done
as games rqueue >/dev/null 2>&1 || skip_all "this build tree is not open to other users"
# run USER RUNTIME OPTIONS...: says what the image says, or why it did not start.
run() {
  local user=$1 runtime=$2 job
  shift 2
  job=$(as "$user" rsubmit --parsable --runtime "$runtime" --image "$registry/team/$runtime:1" "$@" -o out -- sh -c 'echo $WORD') || return
  wait_state "$job" 'COMPLETED|FAILED|LAUNCH_FAILED' 60 >/dev/null
  [[ $(state_of "$job") == COMPLETED ]] && cat "$test_dir/$user/out" || rqueue -a -n -j "$job" -o '%{reason_detail}'
}
# login USER NAME PASSWORD: by standard input.
login() { as "$1" rota login "$registry" --user "$2" <<<"$3"; }
pulls() { grep -c "is being pulled" "$log"; }
denied='cannot be pulled: .*([Uu]nauthorized|no basic auth credentials|authentication required|denied)'

for runtime in "${runtimes[@]}"; do
  ok "$runtime: the node has no image" forget "$runtime"
  like "$(run games "$runtime")" "$denied" "$runtime: without a login the registry gives nothing, in its own words"
  ok "$runtime: a user logs in" login games ada "wrong-$RANDOM"
  like "$(run games "$runtime")" "$denied" "$runtime: a wrong password is no use"
  ok "$runtime: and again" login games ada "$password"
  is "$(as games rsecret list -n | awk '{ print $1, $2 }')" "$registry login" "$runtime: the list has the registry"
  before=$(pulls)
  jobs=$(for i in 1 2 3; do as games rsubmit --parsable --runtime "$runtime" --image "$registry/team/$runtime:1" -o "out-$i" -- sh -c 'echo $WORD'; done)
  for job in $jobs; do ok "$runtime: job $job runs" wait_state "$job" COMPLETED 60; done
  is "$(($(pulls) - before))" 1 "$runtime: one pull served all that wait with this login"
  is "$(run games "$runtime")" "$runtime" "$runtime: what is there is used again"
  is "$(($(pulls) - before))" 1 "$runtime: without asking"
  is "$(run games "$runtime" --pull never)" "$runtime" "$runtime: also with --pull never"

  like "$(run nobody "$runtime")" "$denied" "$runtime: another user without a login does not get what is there"
  like "$(run nobody "$runtime" --pull never)" "another user's login" "$runtime: nor with --pull never"
  id=$(if [[ $runtime == docker ]]; then dock image inspect -f '{{.Id}}' "$registry/team/docker:1"; else pod image inspect -f '{{.Id}}' "$registry/team/podman:1"; fi)
  job=$(as nobody rsubmit --parsable --runtime "$runtime" --image "${id#sha256:}" -o out -- true 2>&1)
  if [[ $job =~ ^[0-9]+$ ]]; then
    ok "$runtime: nor by its id" wait_state "$job" 'FAILED|LAUNCH_FAILED' 90
  else
    pass "$runtime: nor by its id"
  fi
  # The memory of it outlives everybody.
  daemon_kill "$node"
  cluster_resume
  ok "$runtime: the node is back" wait_for 20 bash -c '[[ $(rinfo -n -P) == *"|"* ]]'
  like "$(run nobody "$runtime")" "$denied" "$runtime: nor after a restart"
  ok "$runtime: the other user logs in" login nobody bob "$other"
  is "$(run nobody "$runtime")" "$runtime" "$runtime: and gets it, as the registry lets them"
  is "$(run nobody "$runtime" --pull never)" "$runtime" "$runtime: from then on without asking"
  ok "$runtime: a login can be deleted" as nobody rota logout "$registry"
  like "$(run nobody "$runtime" --pull always)" "$denied" "$runtime: and is not used any more"
  as games rota logout "$registry" >/dev/null
done
like "$(as games rota logout "$registry" 2>&1)" "you are not logged in to '$registry'" "who is not logged in is told"
is "$(grep -rlaF -e "$password" -e "$other" "$cluster_dir" 2>/dev/null)" "" "no password is in any file of the cluster"
is "$(grep -rlaF -e "$(printf 'ada:%s' "$password" | base64)" "$cluster_dir" 2>/dev/null)" "" "nor in another spelling"
done_testing
