#!/bin/bash
# testsuite/t/t3059-container-kills.t - kill -9 of whatever keeps a container, and a removal that fails: in the end nothing is there
# that was not there before. Containers, mounts (the engines' too), cgroups, sockets and processes are listed before and after.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker || have_podman || skip_all "needs root, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"

image_tar "$test_dir/image.tar"
runtimes=()
config="jobs:
  restarts_max: 0
node:
  container_gpus: none
  unkillable_after: 10s
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
  # One that does not remove containers while there is a file "stuck".
  sed -i "s|^exec|for word; do [ \"\$word\" != rm ] \|\| [ ! -e $test_dir/stuck ] \|\| exit 1; done\nexec|" "$test_dir/podman/podman"
  runtimes+=(podman)
  config+="  podman: $test_dir/podman/podman
"
fi
printf '%s' "$config" >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
parent=$(sed -n "s/^ *cgroup_parent: *//p" "$cluster_dir/nodes/$node/rota.yaml")
cd "$test_dir" || exit 1

# One a line: all that a container is made of.
traces() {
  if have_docker; then dock ps -a --format 'container {{.Names}}'; fi
  if have_podman; then pod ps -a --format 'container {{.Names}}'; fi
  # What a dockerd or a podman of this test has mounted, too: layers, /dev/shm, namespaces. The root of podman's store and dockerd's
  # namespace for the host's network come and stay.
  awk -v dir="$test_dir/" 'index($2, dir) && $2 !~ /(podman\/root\/overlay|docker\/exec\/netns\/default)$/ { print "mount", $2 }' /proc/self/mounts
  find "$cluster_dir/nodes/$node/spool/scripts" -mindepth 1 -printf 'file %P\n' 2>/dev/null
  find /sys/fs/cgroup -mindepth 2 -type d -path "*/$parent/*/*" -printf 'cgroup %p\n' 2>/dev/null
  awk -v dir="$cluster_dir/" 'index($8, dir) && /\.box/ { print "socket", $8 }' /proc/net/unix
  grep -lx pause /proc/[0-9]*/comm 2>/dev/null | while read -r file; do
    # Others on this host may have containers, too.
    grep -qF "$cluster_dir/" "${file%/*}/mountinfo" 2>/dev/null && echo "process ${file#/proc/}"
  done
}
# pause_of RUNTIME: the process number of the container's first process.
pause_of() {
  if [[ $1 == docker ]]; then dock inspect -f '{{.State.Pid}}' "$(dock ps -q)"; else pod inspect -f '{{.State.Pid}}' "$(pod ps -q)"; fi
}
parent_of() { awk '/^PPid:/ { print $2 }' "/proc/$1/status"; }
as_before() { [[ $(traces | sort) == "$before" ]]; }
before=$(traces | sort)

for runtime in "${runtimes[@]}"; do
  for victim in pause keeper; do
    job=$(rsubmit --parsable --no-requeue --runtime "$runtime" --image rota-test:1 -o /dev/null -- sleep 4242)
    wait_state "$job" RUNNING 60 >/dev/null
    pause=$(pause_of "$runtime")
    # The name of a run's container ends with job and restart; before them stand node and cluster.
    [[ $runtime != podman ]] || prefix=$(pod ps --format '{{.Names}}' | sed "s/\.$job\.0\$//")
    keeper=$(parent_of "$pause")
    like "$(tr '\0' ' ' <"/proc/$keeper/cmdline")" 'shim|conmon' "$runtime: a container has its keeper"
    isnt_empty=$(traces | grep -c -e ^container -e ^mount -e ^cgroup)
    ok "$runtime: it is seen while it runs" test "$isnt_empty" -gt 2
    if [[ $victim == pause ]]; then kill -9 "$pause"; else kill -9 "$keeper"; fi
    if [[ $victim == pause ]]; then
      ok "$runtime: without rota-pause the job is over" wait_state "$job" 'FAILED|CANCELLED|COMPLETED|NODE_FAIL' 40 || diag "$(rqueue -a -j "$job")"
    else
      # Its tasks are not the keeper's: the job may go on, until it is told to end.
      rcancel "$job" 2>/dev/null
      ok "$runtime: without its keeper the job can be ended" wait_state "$job" 'FAILED|CANCELLED|COMPLETED|NODE_FAIL' 60 || diag "$(rqueue -a -j "$job")"
    fi
    ok "$runtime: kill -9 of its $victim leaves nothing" wait_for 40 as_before || diag "$(diff <(echo "$before") <(traces | sort))"
  done
done

if have_podman; then
  # podman itself, while it makes the container.
  job=$(rsubmit --parsable --no-requeue --runtime podman --image rota-test:1 -o /dev/null -- sleep 4242)
  maker() { pgrep -f -- "--root $test_dir/podman/root .* run --detach .*--name=$prefix.$job.0 "; }
  ok "a podman that makes a container" wait_for 20 eval 'maker >/dev/null'
  for pid in $(maker); do kill -9 "$pid"; done
  rcancel "$job" 2>/dev/null
  ok "is killed while it works" wait_state "$job" 'FAILED|CANCELLED|LAUNCH_FAILED|NODE_FAIL' 60
  ok "leaves nothing" wait_for 40 as_before || diag "$(diff <(echo "$before") <(traces | sort))"

  # A removal that fails is tried again soon, not when the next period comes.
  touch stuck
  pod create --network=none --name "$prefix.4242.0" rota-test:1 /bin/sleep 1 >/dev/null 2>&1
  daemon_kill "$node"
  cluster_resume
  log=$cluster_dir/log/$node.log
  ok "a container without a job that cannot be removed" wait_for 30 eval '(($(grep -c "container $prefix.4242.0 has no job" "$log") >= 2))'
  rm stuck
  ok "is removed once it can be" wait_for 30 as_before || diag "$(diff <(echo "$before") <(traces | sort))"
fi
done_testing
