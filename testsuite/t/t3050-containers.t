#!/bin/bash
# testsuite/t/t3050-containers.t - jobs in images, by a real dockerd and a real podman: what they see, what they cannot
# reach, how they end, and that nothing of them is left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker || have_podman || skip_all "needs root, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"
command -v setpriv >/dev/null || skip_all "needs setpriv"

# ---- engines and an image ----

# A program that would make anybody root, and an image that says what it runs.
mkdir -p "$test_dir/extra/suid"
cp /bin/busybox "$test_dir/extra/suid/id" && chmod 4755 "$test_dir/extra/suid/id"
ln -s /etc "$test_dir/extra/link"
# And one that would read the node's devices.
mknod -m 666 "$test_dir/extra/device" c 1 5
image_tar "$test_dir/image.tar"
changes=(--change 'ENV FROM_IMAGE=yes' --change 'ENV PATH=/bin:/special' --change 'WORKDIR /job'
  --change 'ENTRYPOINT ["/bin/echo","entry"]' --change 'CMD ["by","itself"]')

runtimes=()
config="jobs:
  restarts_max: 0
node:
  container_gpus: none
  unkillable_after: 10s
"
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
printf '%s' "$config" >"$test_dir/config.yaml"
{
  echo 'queues:'
  for runtime in "${runtimes[@]}" none auto; do printf '  by-%s:\n    container_runtime: %s\n' "$runtime" "$runtime"; done
} >"$test_dir/projects.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml" --projects "$test_dir/projects.yaml"
node=$(node_names)
parent=$(sed -n "s/^ *cgroup_parent: *//p" "$cluster_dir/nodes/$node/rota.yaml")

# ---- a user ----

user_start
uid=$(id -u nobody) gid=$(id -g nobody)
# run RUNTIME OPTIONS... : as the user, to its end; its output on standard output, its exit code as ours.
run() {
  local runtime=$1 code
  shift
  as_user rm -f out
  as_user rsubmit --wait --runtime "$runtime" --image rota-test:1 -o out "$@" >/dev/null 2>err
  code=$?
  cat out 2>/dev/null
  cat err
  return $code
}
# Containers, mounts, cgroups and directories of the node's, one a line.
traces() {
  if have_docker; then dock ps -a --format '{{.Names}}'; fi
  if have_podman; then pod ps -a --format '{{.Names}}'; fi
  grep -F "$cluster_dir" /proc/self/mounts
  ls -d "$cluster_dir/nodes/$node/spool/scripts/"*.box 2>/dev/null
  find /sys/fs/cgroup -mindepth 2 -type d -path "*/$parent/*/*" 2>/dev/null
}
nothing_left() { [[ -z $(traces) ]]; }
for runtime in "${runtimes[@]}"; do
  # ---- what it sees ----

  got=$(run "$runtime" -- sh -c 'id -u; id -g; id -un; echo $FROM_IMAGE; pwd; echo $ROTA_JOB_ID $SLURM_JOB_ID; echo $PATH')
  is "$(sed -n 1,3p <<<"$got")" "$uid"$'\n'"$gid"$'\n'nobody "$runtime: it runs as its owner, who has a name there"
  is "$(sed -n 4,5p <<<"$got")" yes$'\n'/job "$runtime: with the image's variables and directory"
  like "$(sed -n 6p <<<"$got")" '^[0-9]+ [0-9]+$' "$runtime: and the cluster's"
  is "$(sed -n 7p <<<"$got")" /bin:/special "$runtime: PATH is the image's"
  is "$(run "$runtime")" "entry by itself" "$runtime: an image without a command runs its own"
  is "$(run "$runtime" --entrypoint -- other words)" "entry other words" "$runtime: --entrypoint gives the words to it"
  run "$runtime" -- sh -c 'exit 7' >/dev/null
  is "$?" 7 "$runtime: its exit code is the job's"
  value=$'a\n--privileged\nb'
  is "$(run "$runtime" --env "MULTI=$value" --env FROM_IMAGE=mine -- sh -c 'echo "$MULTI"; echo $FROM_IMAGE')" \
    "$value"$'\n'mine "$runtime: a variable with newlines is just that, and wins over the image's"
  printf '#!/bin/sh\n#ROTA --image=rota-test:1 --runtime=%s -o out\necho "script $1 in $(ls -d /job)"\n' "$runtime" >job.sh
  as_user rsubmit --quiet --wait job.sh one
  is "$(cat out)" "script one in /job" "$runtime: a script runs inside"
  is "$(run "$runtime" -g 1 -- sh -c 'echo $CUDA_VISIBLE_DEVICES' | grep -c ^GPU-)" 1 "$runtime: it knows its GPU"
  is "$(run "$runtime" -n 2 -- sh -c 'echo $ROTA_PROCID' | sort | tr -d '\n')" 01 "$runtime: two tasks share a container"

  # ---- mounts ----

  as_user mkdir -p data/sub && as_user sh -c 'echo there >data/sub/file'
  is "$(run "$runtime" --volume data:/mnt/a/b -- sh -c 'cat /mnt/a/b/sub/file; echo new >/mnt/a/b/new')" there \
    "$runtime: a directory is mounted at a place that the image does not have"
  is "$(stat -c '%U' data/new) $(cat data/new)" "nobody new" "$runtime: what is written there is the owner's"
  like "$(run "$runtime" --container-mounts data:/mnt:ro -- sh -c 'echo x >/mnt/y')" 'Read-only file system' \
    "$runtime: read-only is read-only"
  is "$(run "$runtime" --volume data/sub/file:/etc/one,data:/job/two -- cat /etc/one /job/two/sub/file)" \
    there$'\n'there "$runtime: files can be mounted, and several"
  is "$(run "$runtime" --volume ../home/data -- cat "$test_dir/home/data/sub/file")" there "$runtime: by a path with .."
  is "$(run "$runtime" --container-mount-home -- ls "$test_dir/home/data")" new$'\n'sub "$runtime: the home directory"
  is "$(run "$runtime" --container-workdir /tmp -- pwd)" /tmp "$runtime: the working directory of one's choice"
  like "$(run "$runtime" --container-readonly -- sh -c 'echo x >/tmp/y && cat /tmp/y; echo x >/etc/y')" \
    ^x$'\n''.*Read-only file system' "$runtime: a root that is only read, but for /tmp"

  # ---- what it cannot reach ----

  echo secret >"$test_dir/secret"
  chmod 600 "$test_dir/secret"
  like "$(run "$runtime" --volume /etc/shadow:/mnt -- cat /mnt)" \
    "cannot mount '/etc/shadow' at '/mnt': Permission denied for nobody" "$runtime: /etc/shadow is not for everybody"
  as_user ln -sfn "$test_dir/secret" lead
  like "$(run "$runtime" --volume lead:/mnt -- cat /mnt)" 'Permission denied for nobody' "$runtime: nor by a link"
  is "$(run "$runtime" --volume data:/link/rota-test -- ls /etc/rota-test)$(ls -d /etc/rota-test 2>/dev/null)" \
    new$'\n'sub "$runtime: a link in the image leads nowhere but in the image"
  like "$(run "$runtime" --volume data:/proc/x -- true)" "nothing can be mounted at '/proc/x'" "$runtime: not over /proc"
  got=$(run "$runtime" -- sh -c 'grep -E "^(Cap|NoNew)" /proc/self/status; /suid/id -u')
  is "$(grep -c $'\t0000000000000000$' <<<"$got") $(grep -c 'NoNewPrivs:.1' <<<"$got") $(tail -n 1 <<<"$got")" "5 1 $uid" \
    "$runtime: no capabilities, and no set-user-id program gives any"
  is "$(run "$runtime" -- sh -c 'head -c 1 /device | wc -c; echo x >/dev/null && head -c 1 /dev/zero | wc -c' 2>/dev/null | tail -n 2)" \
    0$'\n'1 "$runtime: device files of the image are closed, those of /dev are not"
  like "$(run "$runtime" -- sh -c 'ls -d /proc/[0-9]* | wc -l; kill -9 1; echo alive')" ^[1-6]$'\n'alive$ \
    "$runtime: no processes but its own are seen, and the first one cannot be killed"
  # A link that is changed all the time, between a directory of the user's and one of root's.
  mkdir -p "$test_dir/closed" && echo secret >"$test_dir/closed/file" && chmod 700 "$test_dir/closed"
  touch swapping
  as_user sh -c "while [ -e swapping ]; do ln -sfn $test_dir/home/data/sub swap; ln -sfn $test_dir/closed swap; done" &
  swapper=$!
  for _ in 1 2 3 4; do run "$runtime" --volume swap:/mnt -- cat /mnt/file; done >swapped
  rm swapping
  wait "$swapper"
  unlike "$(cat swapped)" secret "$runtime: a link that is changed in between never leads to what is closed"

  # ---- how it ends ----

  run "$runtime" --mem 64M -- sh -c 'x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done' >/dev/null
  like "$(rqueue --all -n -o '%i %T' | sort -n | tail -n 1)" OUT_OF_MEMORY "$runtime: its memory limit holds"
  job=$(as_user rsubmit --parsable --runtime "$runtime" --image rota-test:1 -o out -- \
    sh -c 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.05; done')
  ok "$runtime: a job that goes on" wait_state "$job" RUNNING
  ok "$runtime: it has begun" wait_for 20 grep -q ready out
  as_user rcancel "$job"
  ok "$runtime: and is cancelled" wait_state "$job" CANCELLED
  is "$(tail -n 1 out)" bye "$runtime: it heard the signal"
  ok "$runtime: nothing is left of all these" wait_for 20 nothing_left || diag "$(traces)"

  # ---- a container for a person ----

  is "$(as_user rrun --runtime "$runtime" --image rota-test:1 --volume data:/mnt sh -c 'cat /mnt/sub/file; pwd; exit 5'; echo $?)" \
    there$'\n'/job$'\n'5 "$runtime: rrun in an image"
  ok "$runtime: which is gone with it" wait_for 20 nothing_left || diag "$(traces)"

  # ---- kill -9 of each ----

  job=$(as_user rsubmit --parsable --no-requeue --runtime "$runtime" --image rota-test:1 -o out -- sleep 4242)
  wait_state "$job" RUNNING >/dev/null
  kill_rstepd "$job.0"
  ok "$runtime: a job whose rstepd is killed" wait_state "$job" NODE_FAIL
  ok "$runtime: leaves nothing" wait_for 30 nothing_left || diag "$(traces)"
  as_user mkdir -p go
  job=$(as_user rsubmit --parsable --runtime "$runtime" --image rota-test:1 --volume go:/go -o out -- \
    sh -c 'echo began; while [ ! -e /go/on ]; do sleep 0.05; done; echo done')
  wait_state "$job" RUNNING >/dev/null
  got=$(as_user rexec "$job" -- sh -c 'id -u; pwd; echo $FROM_IMAGE; grep -E "^(CapBnd|NoNew)" /proc/self/status; ls /go')
  is "$(head -n 5 <<<"$got" | tr -d '\t\n ')" "$uid/jobyesCapBnd:0000000000000000NoNewPrivs:1" \
    "$runtime: rexec puts people into the container, with no more than the job has"
  daemon_kill "$node"
  cluster_resume
  as_user touch go/on
  ok "$runtime: a job goes on while rgpud is killed and comes back" wait_state "$job" COMPLETED
  is "$(cat out)" began$'\n'done "$runtime: to its own end"
  as_user rm -r go
  ok "$runtime: and leaves nothing" wait_for 30 nothing_left || diag "$(traces)"
done

# ---- what is refused before it is queued ----

like "$(as_user rsubmit --image=--privileged -- true 2>&1)" "begins with a letter or a digit" "an option is no image"
like "$(as_user rsubmit --image 'a b' -- true 2>&1)" "an image is written as registry/name:tag" "nor are two words"
like "$(as_user rsubmit --volume /data -- true 2>&1)" "mounts are for a job with an image" "mounts need an image"
like "$(as_user rsubmit --image x --runtime lxc -- true 2>&1)" "known are docker, podman, enroot and none" "a runtime"
like "$(run "${runtimes[0]}" --image nosuch:1 --pull never -- true)" \
  "the node does not have image 'nosuch:1', and it must not be pulled" "an image that is not there"
is "$(as_user rsubmit --quiet --wait --image rota-test:1 --runtime none -o out -- sh -c 'echo $0' && cat out)" sh \
  "--runtime none runs on the node itself"

# ---- the queue says what runs them ----

# by QUEUE OPTIONS...: what the job ran in; engines leave a mark.
by() {
  local queue=$1
  shift
  as_user rsubmit --quiet --wait --queue "by-$queue" --image rota-test:1 -o out "$@" -- \
    sh -c 'if [ ! -e /suid/id ]; then echo "none, $(id -u)"; elif [ -e /.dockerenv ]; then echo docker; else echo podman; fi'
  cat out
}
for runtime in "${runtimes[@]}"; do
  is "$(by "$runtime")" "$runtime" "a queue whose images $runtime runs"
  is "$(by none --runtime "$runtime")" "$runtime" "$runtime: --runtime wins over the queue"
done
is "$(by none)" "none, $uid" "a queue can choose none"
is "$(by auto)" "${runtimes[0]}" "or leave it to the nodes"
done_testing
