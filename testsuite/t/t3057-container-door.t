#!/bin/bash
# testsuite/t/t3057-container-door.t - only the container's own first process is let in at the door of a run: not a job of the same
# user with a part of a GPU, whose namespaces root made too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker || have_podman || skip_all "needs root, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"
all_here setpriv /usr/bin/python3 || skip_all "needs setpriv and python3"

mkdir -p "$test_dir/extra/in-the-image"
image_tar "$test_dir/image.tar"
runtimes=()
config="jobs:
  restarts_max: 0
node:
  container_gpus: none
"
if have_docker; then
  docker_start
  dock import "$test_dir/image.tar" rota-test:1 >/dev/null || bail_out "docker import fails"
  runtimes+=(docker)
  config+="  docker_socket: $test_dir/docker/sock
"
fi
if have_podman; then
  podman_start
  pod import "$test_dir/image.tar" rota-test:1 >/dev/null 2>&1 || bail_out "podman import fails"
  runtimes+=(podman)
  config+="  podman: $test_dir/podman/podman
"
fi
printf '%s' "$config" >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
scripts=$cluster_dir/nodes/$node/spool/scripts
user_start
# The fake driver is to be found by who has a part of a GPU.
model=$test_dir/home/model.yaml
cp "$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml" "$model" && chmod 644 "$model"
export ROTA_FAKEGPU=$model ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=2 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
export LD_LIBRARY_PATH=$top_builddir/testsuite/fakegpu

# knock.py DIRECTORY STOP: calls at the door there as soon as it is made, and says what became of it.
cat >knock.py <<'P'
import os, socket, sys
directory, stop = sys.argv[1:]
print("mounts", os.readlink("/proc/self/ns/mnt"), os.getpid(), flush=True)
calls = 0
while not os.path.exists(stop):
    door = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(directory)
        door.connect("door")
    except OSError:
        continue
    calls += 1
    if calls == 1:
        print("called", flush=True)
    door.settimeout(60)
    try:
        print("heard", door.recv(1), flush=True) if calls == 1 else door.recv(1)
    except OSError as error:
        print("kept", error, flush=True)
P
chmod 644 knock.py
as_user mkdir data && as_user sh -c 'echo there >data/file'
planted=$test_dir/planted/deep

for runtime in "${runtimes[@]}"; do
  as_user rm -f stop knocks out
  caller=$(as_user rsubmit --parsable -g 0.5 -o knocks --wrap \
    "exec /usr/bin/python3 $PWD/knock.py $scripts/\$((ROTA_JOB_ID + 1)).0.box $PWD/stop")
  ok "$runtime: a job with a part of a GPU" wait_for 30 grep -q mounts knocks || diag "$(rqueue -a -j "$caller")"
  unlike "$(cat knocks)" "$(readlink /proc/self/ns/mnt)" "$runtime: has mounts of its own, of the host's files"
  job=$(as_user rsubmit --parsable --runtime "$runtime" --image rota-test:1 --volume "data:$planted" -o out -- \
    sh -c "ls -d /in-the-image; cat $planted/file; id -u")
  ok "$runtime: a container, at whose door it calls first, runs" wait_state "$job" COMPLETED 60 || diag "$(rqueue -a -n -o '%i %T %{reason_detail}')"
  like "$(cat knocks)" called "$runtime: it did call"
  like "$(cat knocks)" "heard b''" "$runtime: and was sent away"
  is "$(cat out)" /in-the-image$'\n'there$'\n'"$(id -u nobody)" "$runtime: the job was in its container, with its mount"
  is "$(ls -d "$test_dir/planted" 2>&1 | grep -c 'No such file')" 1 "$runtime: nothing was made on the node's own files"
  is "$(nsenter -t "$(awk '/^mounts/ { print $3 }' knocks)" -m grep -c planted /proc/self/mounts)" 0 \
    "$runtime: nor mounted in the namespace of the one who called"
  as_user touch stop
  ok "$runtime: the caller ends" wait_state "$caller" COMPLETED 90
done
done_testing
