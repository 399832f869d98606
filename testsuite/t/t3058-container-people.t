#!/bin/bash
# testsuite/t/t3058-container-people.t - what people ask of a container by every name that the option has, what they see in it, and
# how they get at it: shells, files, ports and logs of jobs in images, by a real dockerd and a real podman.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker || have_podman || skip_all "needs root, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"
all_here setpriv script || skip_all "needs setpriv and script"

image_tar "$test_dir/image.tar"
changes=(--change 'ENV FROM_IMAGE=yes' --change 'WORKDIR /job' --change 'ENTRYPOINT ["/bin/echo","entry"]')
runtimes=()
config="jobs:
  restarts_max: 0
  launch_backoff: 1s
node:
  container_gpus: none
  container_network: none
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
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
user_start
# run RUNTIME OPTIONS...: as the user, to its end; its output and complaints.
run() {
  local runtime=$1
  shift
  as_user rm -f out
  as_user rsubmit --wait --runtime "$runtime" -o out "$@" >/dev/null 2>err
  cat out err 2>/dev/null
}
refused() { as_user rsubmit --image rota-test:1 "$@" -- true 2>&1; }

# ---- what is refused, and why ----

like "$(refused --container-remap-root)" 'you are who you are outside, with your own number' "--container-remap-root is refused with its reason"
like "$(refused --container-unshare=net)" 'for the site to say' "--container-unshare too"
like "$(refused --container-env 'A=b')" 'these are names only' "--container-env has names"
like "$(refused --port 8080:80)" "a port is not led to another; give the one that the job listens on \(80\)" "a port is not mapped"
like "$(refused --container-name=--privileged)" "names no container" "--privileged is no name of a container"
like "$(refused --container-name='x --privileged')" "names no container" "nor a part of one"
like "$(refused --git-sync name=x,secret=y)" "a secret cannot be given here" "--git-sync without a secret"

for runtime in "${runtimes[@]}"; do
  # ---- options, by all their names ----

  is "$(run "$runtime" --container-image rota-test:1 --local-image --large-shm --container-writable -- sh -c 'echo x >/tmp/x && cat /tmp/x')" x \
    "$runtime: --container-image --local-image --large-shm --container-writable"
  is "$(run "$runtime" --image rota-test:1 --image-pull-policy Never --no-entrypoint -- echo alone)" alone \
    "$runtime: --image-pull-policy --no-entrypoint"
  is "$(run "$runtime" --image rota-test:1 --args -- a b)" "entry a b" "$runtime: --args are what the entry point is given"
  is "$(run "$runtime" --image rota-test:1 --command -- echo b)" b "$runtime: --command runs by itself"
  is "$(run "$runtime" --image rota-test:1 --container-entrypoint -- c)" "entry c" "$runtime: --container-entrypoint"
  is "$(run "$runtime" --image rota-test:1 --no-container-entrypoint --no-container-remap-root -- echo d)" d "$runtime: --no-container-entrypoint"
  is "$(export FROM_IMAGE=mine; run "$runtime" --image rota-test:1 -- sh -c 'echo $FROM_IMAGE')" yes "$runtime: the image's variable wins"
  is "$(export FROM_IMAGE=mine; run "$runtime" --image rota-test:1 --container-env HOME,FROM_IMAGE -- sh -c 'echo $FROM_IMAGE')" mine \
    "$runtime: unless --container-env names it"
  is "$(run "$runtime" --image rota-test:1 --environment A=1 --working-dir /tmp -- sh -c 'echo $A; pwd')" 1$'\n'/tmp \
    "$runtime: --environment and --working-dir"
  is "$(as_user rrun --runtime "$runtime" --image rota-test:1 --entrypoint of rrun)" "entry of rrun" "$runtime: rrun --entrypoint"
  is "$(as_user rrun --runtime "$runtime" --image rota-test:1 --command --large-shm echo rrun)" rrun "$runtime: rrun --command --large-shm"
  is "$(run "$runtime" -J --privileged --image rota-test:1 -- sh -c 'grep CapBnd /proc/self/status | tr -d "\t"')" \
    CapBnd:0000000000000000 "$runtime: a job that is named --privileged is not"

  # ---- what it sees ----

  is "$(run "$runtime" --image rota-test:1 --shm-size 7M -- df -k /dev/shm | awk 'END { print $2 }')" 7168 "$runtime: /dev/shm has the size asked for"
  for ask in 'grep Cpus_allowed_list /proc/self/status' 'echo $MASTER_ADDR $MASTER_PORT | grep .' 'echo $ROTA_JOB_NODELIST $SLURM_NNODES $ROTA_NPROCS'; do
    is "$(run "$runtime" -c 1 --image rota-test:1 -- sh -c "$ask" | sed 's/[0-9]*$//')" "$(run none -c 1 --wrap "$ask" | sed 's/[0-9]*$//')" \
      "$runtime: as outside: $ask"
  done

  # ---- people in it ----

  # A server on a port of a network of its own, output to follow, and files.
  job=$(as_user rsubmit --parsable --runtime "$runtime" --image rota-test:1 -n 2 -o 'out.%t' -- sh -c '
    echo begin $ROTA_PROCID
    [ $ROTA_PROCID = 1 ] || while :; do echo answer | nc -l -p 4242; done &
    echo only here >/tmp/mark
    until [ -e /tmp/more ]; do sleep 0.05; done
    echo more $ROTA_PROCID
    until [ -e /tmp/end ]; do sleep 0.05; done
    echo end $ROTA_PROCID; kill $! 2>/dev/null; true')
  ok "$runtime: a job with two tasks" wait_state "$job" RUNNING 60
  screen=$(as_user script -qec "stty rows 31 cols 101; rexec -it $job -- sh -c 'cat /tmp/mark; stty size; tty'" /dev/null </dev/null | tr -d '\r')
  like "$screen" 'only here[^0-9]*31 101[^/]*/dev/pts/[0-9]+' "$runtime: rexec -it has a terminal of that size in the container"
  head -c 3000000 /dev/urandom >blob && chown nobody blob
  ok "$runtime: rota cp into it" as_user rota cp blob "$job:/tmp/blob"
  ok "$runtime: and out of it" as_user rota cp "$job:/tmp/blob" back
  ok "$runtime: byte for byte" cmp blob back
  is "$(ls -d /tmp/mark 2>/dev/null)" "" "$runtime: which are not the node's files"
  port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  as_user rota port-forward "$job" "$port:4242" >forward 2>&1 &
  forward=$!
  ok "$runtime: rota port-forward" wait_for 20 grep -q "$port" forward || diag "$(cat forward)"
  ask() { [[ $(timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat <&3" 2>/dev/null) == answer ]]; }
  ok "$runtime: reaches a port in a network of its own" wait_for 20 ask
  kill "$forward"
  wait "$forward" 2>/dev/null

  # ---- its logs ----

  rm -f followed stamped
  as_user rlogs -f --task 1 "$job" >followed &
  follower=$!
  as_user rlogs -f --timestamps "$job" >stamped &
  stamper=$!
  ok "$runtime: rlogs -f --task shows what there is" wait_for 20 grep -qx 'begin 1' followed
  ok "$runtime: rlogs -f --timestamps too" wait_for 20 grep -q 'begin 0' stamped
  middle=$(date +%Y-%m-%dT%H:%M:%S)
  daemon_kill "$node"
  cluster_resume
  ok "$runtime: rexec finds it again" wait_for 20 as_user rexec "$job" -- touch /tmp/more
  ok "$runtime: rlogs -f goes on while rgpud is killed and comes back" wait_for 40 grep -qx 'more 1' followed
  as_user rexec "$job" -- touch /tmp/end
  ok "$runtime: the job ends" wait_state "$job" COMPLETED 30
  wait "$follower" "$stamper"
  is "$(cat followed)" $'begin 1\nmore 1\nend 1' "$runtime: rlogs -f --task ends with it, and every line came once"
  like "$(cat stamped)" '^[0-9-]+T[0-9:.]+[^ ]* begin 0' "$runtime: --timestamps puts a time before each line"
  like "$(as_user rlogs --since "$middle" --task 0 "$job" 2>&1)" 'end 0' "$runtime: --since shows what came later"
  is "$(as_user rlogs --tail 1 --task 1 "$job")" 'end 1' "$runtime: --tail --task"
done

# ---- a registry that is not there ----

job=$(as_user rsubmit --parsable --runtime "${runtimes[0]}" --image 127.0.0.1:1/team/tool:1 -- true)
told() { rqueue -a -n -j "$job" -o '%T %{reason_detail}' | grep -q "cannot be pulled: .*onnection refused"; }
ok "when all tries are used up, it is told in the engine's own words" wait_for 60 told || diag "$(rqueue -a -n -j "$job" -o '%T %{reason_detail}')"
is "$(grep -c "127.0.0.1:1/team/tool:1.*again in" "$cluster_dir/log/$node.log")" 3 "after three more"
rcancel "$job"
done_testing
