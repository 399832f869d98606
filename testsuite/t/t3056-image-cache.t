#!/bin/bash
# testsuite/t/t3056-image-cache.t - the images that jobs brought to a node: those not used for longest go when they take
# too much room; jobs go where theirs is; it comes while they wait; and all nodes of a job have the same one. Two nodes
# with a real dockerd each, and one registry.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker && command -v docker-registry >/dev/null || skip_all "needs root, docker and docker-registry"
have_busybox || skip_all "needs Debian's busybox-static"

plan 35
registry_start
docker_start
docker_name=docker2 docker_start
dock1() { docker_name=docker dock "$@"; }
dock2() { docker_name=docker2 dock "$@"; }

# publish NAME WORD: an image of 20 MB that says WORD; no node has it.
publish() {
  mkdir -p "$test_dir/extra/blob"
  head -c 20M /dev/urandom >"$test_dir/extra/blob/$2"
  image_tar "$test_dir/image.tar"
  rm -rf "$test_dir/extra"
  dock1 import --change "ENV WORD=$2" "$test_dir/image.tar" "$registry/$1" >/dev/null &&
    dock1 push "$registry/$1" >/dev/null 2>&1 && dock1 rmi "$registry/$1" >/dev/null && rm "$test_dir/image.tar"
}
for name in one two three four; do
  publish "$name:1" "$name" || bail_out "image $name cannot be published"
done
image_tar "$test_dir/theirs.tar"
for client in dock1 dock2; do
  $client import "$test_dir/theirs.tar" theirs:1 >/dev/null || bail_out "no image of somebody else"
done

cat >"$test_dir/config.yaml" <<TEXT
node:
  container_gpus: none
  container_runtime: docker
  docker_socket: $test_dir/docker/sock
  image_cache: 50M
jobs:
  launch_backoff: 1s
TEXT
cluster_start --nodes 2 --gpus 4 --config "$test_dir/config.yaml"
read -r first second < <(node_names | xargs)
daemon_kill "$second"
cat >"$cluster_dir/nodes/$second/user.yaml" <<TEXT
node:
  docker_socket: $test_dir/docker2/sock
TEXT
cluster_resume
cd "$test_dir" || exit 1
log1=$cluster_dir/log/$first.log
log2=$cluster_dir/log/$second.log
# has CLIENT: the names of its images, without the registry.
has() { "$1" images --format '{{.Repository}}' | sed 's,.*/,,' | sort | xargs; }
has_just() { [[ $(has "$1") == "$2" ]]; }
run_on() { rsubmit --quiet --wait -w "$1" --image "$2" -o out -- true; }

# ---- the one that was not used for longest goes ----

ok "a job brings its image" run_on "$first" "$registry/one:1"
ok "a second job another one" run_on "$first" "$registry/two:1"
ok "a job uses an image that somebody else put there" run_on "$first" theirs:1
is "$(has dock1)" "one theirs two" "there is room for two of them"
ok "the first is used again" run_on "$first" "$registry/one:1"
ok "a third image comes" run_on "$first" "$registry/three:1"
ok "and the one that was not used for longest goes" wait_for 20 has_just dock1 "one theirs three"
like "$(cat "$log1")" "image '$registry/two:1' is removed" "which is logged"

# What was there before rgpud is not forgotten with it.
daemon_kill "$first"
cluster_resume
ok "after kill -9 of rgpud a job brings another image" run_on "$first" "$registry/two:1"
ok "and again the one that was not used for longest goes" wait_for 20 has_just dock1 "theirs three two"

# ---- an image that is in use stays ----

job=$(rsubmit --parsable -w "$first" --image "$registry/three:1" -o out-three -- sh -c 'echo up; exec sleep 600')
ok "a job runs in the oldest image" wait_state "$job" RUNNING 60
daemon_kill "$first"
cluster_resume
ok "others come on the same node" run_on "$first" "$registry/two:1"
ok "one more than there is room for" run_on "$first" "$registry/one:1"
ok "the one that goes is not the one that is in use" wait_for 20 has_just dock1 "one theirs three"
is "$(state_of "$job")" RUNNING "whose job goes on"
rcancel "$job"
wait_state "$job" CANCELLED 30
ok "it is a matter of its turn afterwards" run_on "$first" "$registry/two:1"
ok "and goes" wait_for 20 has_just dock1 "one theirs two"

# ---- jobs go where their image is ----

is "$(rsubmit --quiet --wait -o where -- sh -c 'echo $SLURMD_NODENAME' && cat where)" "$first" "a job goes to the first node"
ok "the second node gets an image" run_on "$second" "$registry/four:1"
is "$(has dock2)" "four theirs" "of its own"
is "$(rsubmit --quiet --wait --image "$registry/four:1" -o where -- sh -c 'echo $SLURMD_NODENAME' && cat where)" "$second" \
  "a job with that image goes to the second"
daemon_kill rctld
cluster_resume
# The nodes come back one after the other, and then say what they have. The first must not get the image meanwhile.
goes_to_second() {
  rsubmit --quiet --wait --pull never --image "$registry/four:1" -o where -- sh -c 'echo $SLURMD_NODENAME' &&
    [[ $(<where) == "$second" ]]
}
ok "and does after kill -9 of the controller" wait_for 30 goes_to_second

# ---- it comes while the job waits ----

filler=$(rsubmit --parsable -N 2 -g 4 --time 30 -o out-filler -- sleep 600)
ok "all GPUs are in use" wait_state "$filler" RUNNING 30
job=$(rsubmit --parsable -N 2 -g 4 --time 30 --image "$registry/three:1" -o out-gang -- sh -c 'echo $WORD')
ok "the first node brings the image of a job that waits" wait_for 30 dock1 image inspect "$registry/three:1"
ok "so does the second" wait_for 30 dock2 image inspect "$registry/three:1"
is "$(state_of "$job")" PENDING "while it waits"
rcancel "$filler"
ok "then it runs" wait_state "$job" COMPLETED 60
is "$(cat "$log1" "$log2" | grep -c "image '$registry/three[:@].* is being pulled")" 3 "and nothing was pulled again"

# ---- which image a name means is found out once for all nodes of a job ----

dock1 rmi "$registry/three:1" "$registry/four:1" >/dev/null 2>&1
publish three:1 newer || bail_out "the image cannot be published"
dock1 pull -q "$registry/three:1" >/dev/null 2>&1
job=$(rsubmit --parsable -N 2 -g 4 --image "$registry/three:1" -o 'out-%N' -- sh -c 'echo $WORD')
ok "a name that means two images on two nodes" wait_state "$job" COMPLETED 60
is "$(cat "out-$first" "out-$second")" newer$'\n'newer "means one to a job"
is "$(rqueue -n -j "$job" -o '%{restarts}')" 0 "which starts once"

# ---- kill -9 in the middle of a pull ----

dock1 rmi "$registry/one:1" >/dev/null 2>&1
pulls=$(grep -c "image '$registry/one:1' is being pulled" "$log1")
pulled_again() { (($(grep -c "image '$registry/one:1' is being pulled" "$log1") > pulls)); }
kill -STOP "$registry_pid"
job=$(rsubmit --parsable -w "$first" --image "$registry/one:1" -o out -- true)
ok "a pull is on its way" wait_for 30 pulled_again
daemon_kill "$first"
kill -CONT "$registry_pid"
cluster_resume
ok "kill -9 of rgpud in the middle of it costs the job nothing" wait_state "$job" COMPLETED 60
ok "an image that came so is removed in its turn" run_on "$first" "$registry/two:1"
run_on "$first" "$registry/four:1"
ok "like others" wait_for 20 has_just dock1 "four theirs two"
