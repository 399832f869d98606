#!/bin/bash
# testsuite/t/t3055-kept-containers.t - a container's files outlive its job: kept on the node under a name of its owner's, or
# saved to a file that is an image again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker || have_podman || have_enroot || skip_all "needs root, and docker, podman or enroot"
have_busybox || skip_all "needs Debian's busybox-static"
command -v setpriv >/dev/null || skip_all "needs setpriv"

# Any user of it may write there.
mkdir -p "$test_dir/extra/store" && chmod 1777 "$test_dir/extra/store"
image_tar "$test_dir/image.tar"
chmod 644 "$test_dir/image.tar"
runtimes=()
config="jobs:
  restarts_max: 0
node:
  container_gpus: none
  unkillable_after: 10s
  container_kept_max: 2
"
changes=(--change 'ENV FROM_IMAGE=yes' --change 'WORKDIR /job' --change 'ENTRYPOINT ["/bin/echo","entry"]')
if have_docker; then
  docker_start
  dock import "${changes[@]}" "$test_dir/image.tar" rota-test:1 >/dev/null || bail_out "docker import fails"
  runtimes+=(docker)
  config+="  docker_socket: $test_dir/docker/sock
"
fi
if have_podman; then
  podman_start
  pod import "${changes[@]}" "$test_dir/image.tar" rota-test:1 >/dev/null 2>&1 || bail_out "podman import fails"
  runtimes+=(podman)
  config+="  podman: $test_dir/podman/podman
"
fi
if have_enroot; then
  mkdir "$test_dir/unpacked" && tar -C "$test_dir/unpacked" -xf "$test_dir/image.tar"
  mksquashfs "$test_dir/unpacked" "$test_dir/image.sqsh" -all-root -no-progress -quiet >/dev/null || bail_out "mksquashfs fails"
  rm -rf "$test_dir/unpacked"
  chmod 644 "$test_dir/image.sqsh"
  runtimes+=(enroot)
fi
printf '%s' "$config" >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
spool=$cluster_dir/nodes/$node/spool
parent=$(sed -n "s/^ *cgroup_parent: *//p" "$cluster_dir/nodes/$node/rota.yaml")
mkdir -m 755 "$test_dir/closed"
user_start
run() {
  local runtime=$1 code
  shift
  as_user rm -f out
  as_user rsubmit --wait --runtime "$runtime" -o out "$@" >/dev/null 2>err
  code=$?
  cat out err 2>/dev/null
  return $code
}
detail() { rqueue --all -n -o '%i %{reason_detail}' | sort -n | tail -n 1; }
traces() {
  if have_docker; then dock ps -a --format '{{.Names}}' && dock images --format '{{.Repository}}' | grep rota-own-file; fi
  if have_podman; then pod ps -a --format '{{.Names}}' && pod images --format '{{.Repository}}' | grep rota-own-file; fi
  grep -F "$cluster_dir" /proc/self/mounts
  ls -d "$spool/scripts/"*.box "$spool/enroot/data/"*/rota-* 2>/dev/null
  find /sys/fs/cgroup -mindepth 2 -type d -path "*/$parent/*/*" 2>/dev/null
  ls -A "$test_dir/home" | grep -F .rota-
}
nothing_left() { [[ -z $(traces) ]]; }
# kept_id RUNTIME NAME: the id of the image that is kept under this name of the user's, without its prefix.
kept_id() {
  case $1 in
    docker) dock image inspect -f '{{.Id}}' "rota-own-kept:$(id -u nobody).$2" | sed 's/^sha256://' ;;
    podman) pod image inspect -f '{{.Id}}' "localhost/rota-own-kept:$(id -u nobody).$2" | sed 's/^sha256://' ;;
  esac
}
kept_count() {
  case $1 in
    docker) dock images -q rota-own-kept | wc -l ;;
    podman) pod images -q localhost/rota-own-kept | wc -l ;;
    enroot) ls -d "$spool/enroot/data/$(id -u nobody)/kept."* | wc -l ;;
  esac
}
# nameless RUNTIME: ids of images that jobs have kept and whose names others have now.
nameless() {
  case $1 in
    docker) dock images -q --filter dangling=true --filter label=rota.own ;;
    podman) pod images -q --filter dangling=true --filter label=rota.own ;;
  esac
}

for runtime in "${runtimes[@]}"; do
  image=rota-test:1 suffix=tar
  [[ $runtime != enroot ]] || image=$test_dir/image.sqsh suffix=sqsh

  # ---- kept ----

  like "$(run "$runtime" --container-name tools -- true)" "no container 'tools' of nobody is kept on this node" \
    "$runtime: nothing is there yet"
  is "$(run "$runtime" --image "$image" --container-name tools -- sh -c 'echo mine >/store/file; cat /store/file')" mine \
    "$runtime: the first job needs an image"
  former=$(kept_id "$runtime" tools)
  is "$(run "$runtime" --container-name tools -- sh -c 'cat /store/file; echo more >>/store/file')" mine \
    "$runtime: the next begins with what it left"
  is "$(run "$runtime" --image "$image" --container-name tools -- cat /store/file)" mine$'\n'more "$runtime: and so on"
  if [[ $runtime != enroot ]]; then
    is "$(run "$runtime" --container-name tools --entrypoint -- sh -c 'echo $FROM_IMAGE; pwd')" 'entry sh -c echo $FROM_IMAGE; pwd' \
      "$runtime: its entry point is the image's"
    is "$(run "$runtime" --container-name tools -- sh -c 'echo $FROM_IMAGE; pwd')" yes$'\n'/job "$runtime: variables and directory too"
    like "$(run "$runtime" --image rota-own-kept:0.tools -- true)" 'names are taken' "$runtime: nobody gets it as an image"
    id=$(kept_id "$runtime" tools)
    for each in "$id" "sha256:$id" "${id:0:12}" "${former:0:20}"; do
      like "$(run "$runtime" --pull never --image "$each" -- cat /store/file)" "is what a job has kept: its owner alone" \
        "$runtime: nor as $each"
    done
  fi
  is "$(run "$runtime" --image "$image" --container-name tools:create -- ls /store)" "" "$runtime: or anew"
  for name in one two three; do run "$runtime" --image "$image" --container-name "$name" -- true >/dev/null; done
  like "$(as_user rsubmit --image "$image" --container-name ../x -- true 2>&1)" 'names no container' "$runtime: a name is no path"
  like "$(as_user rsubmit --image "$image" --container-name x:y -- true 2>&1)" 'known are create, auto' "$runtime: nor anything else"

  # ---- saved ----

  is "$(run "$runtime" --image "$image" --container-save "saved.$suffix" -- sh -c 'echo saved >/store/file; cat /store/file')" saved \
    "$runtime: a container whose files are saved"
  is "$(stat -c '%U' "saved.$suffix")" nobody "$runtime: to a file of the owner's"
  is "$(run "$runtime" --image "$test_dir/home/saved.$suffix" -- cat /store/file)" saved "$runtime: which is an image again"
  run "$runtime" --image "$image" --container-save "$test_dir/closed/x" -- true >/dev/null
  is "$?" 0 "$runtime: a file that the owner cannot write"
  like "$(detail)" "the container was not saved: cannot write '$test_dir/closed/x': Permission denied" "$runtime: is told at the end"
  as_user ln -sfn "$test_dir/closed" door
  run "$runtime" --image "$image" --container-save door/x -- true >/dev/null
  like "$(detail)" 'the container was not saved: .*Permission denied' "$runtime: nor by a link"
  is "$(ls "$test_dir/closed")" "" "$runtime: nothing was written there"
  echo root >"$test_dir/roots" && chmod 644 "$test_dir/roots"
  as_user ln -sfn "$test_dir/roots" roots.out
  run "$runtime" --image "$image" --container-save roots.out -- true >/dev/null
  is "$(cat "$test_dir/roots")" root "$runtime: a link in its place is replaced, not followed"
  rm -f roots.out "saved.$suffix"
  cp "$test_dir/image.tar" "$test_dir/closed.tar" && chmod 600 "$test_dir/closed.tar"
  like "$(run "$runtime" --image "$test_dir/closed.tar" -- true)" "cannot read the image '$test_dir/closed.tar': Permission denied" \
    "$runtime: a file that the owner may not read is no image"
  ok "$runtime: nothing is left" wait_for 20 nothing_left || diag "$(traces)"

  # ---- killed in the middle ----

  job=$(as_user rsubmit --parsable --no-requeue --runtime "$runtime" --image "$image" --container-save "late.$suffix" -o out -- \
    sh -c 'head -c 150000000 /dev/urandom >/store/large; echo written')
  wait_for 60 grep -q written out
  kill_rstepd "$job.0"
  ok "$runtime: a job whose rstepd is killed while it saves" wait_state "$job" 'NODE_FAIL|COMPLETED' 60
  daemon_kill "$node"
  cluster_resume
  ok "$runtime: leaves nothing" wait_for 30 nothing_left || diag "$(traces)"
  rm -f "late.$suffix"
  # node.container_kept_max is 2 here; four names were used.
  ok "$runtime: no more are kept of a user than the site allows" wait_for 30 eval '(($(kept_count "$runtime") == 2))' || diag "$(kept_count "$runtime")"
  ok "$runtime: nor what was kept before and has no name any more" wait_for 30 eval '[[ -z $(nameless "$runtime") ]]'
done
done_testing
