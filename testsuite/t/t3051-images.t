#!/bin/bash
# testsuite/t/t3051-images.t - images from a real registry: pulled once for all who wait, the same one for every run of a
# job, and a failure in the registry's own words.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker && command -v docker-registry >/dev/null || skip_all "needs root, docker and docker-registry"
have_busybox || skip_all "needs Debian's busybox-static"

plan 24
registry_start
docker_start
! have_podman || podman_start
# Large enough that a pull is seen on its way, and not to be made small.
mkdir -p "$test_dir/extra/blob"
head -c 60M /dev/urandom >"$test_dir/extra/blob/one"
image_tar "$test_dir/image.tar"
rm -rf "$test_dir/extra"
image=$registry/team/tool:1
# publish WORD: the image says WORD from now on, and this node does not have it.
publish() {
  dock import --change "ENV WORD=$1" "$test_dir/image.tar" "$image" >/dev/null 2>&1 &&
    dock push "$image" >/dev/null 2>&1 && forget
}
forget() {
  dock rmi -f $(dock images -q | sort -u) >/dev/null 2>&1
  ! dock image inspect "$image" >/dev/null 2>&1
}
publish first || bail_out "the image cannot be published"
cat >"$test_dir/config.yaml" <<TEXT
node:
  container_gpus: none
  container_runtime: docker
  docker_socket: $test_dir/docker/sock
  podman: $(have_podman && echo "$test_dir/podman/podman" || echo "''")
jobs:
  launch_backoff: 1s
TEXT
cluster_start --nodes 1 --gpus 4 --config "$test_dir/config.yaml"
log=$cluster_dir/log/$(node_names).log
cd "$test_dir" || exit 1
pulls() { grep -c "is being pulled" "$log"; }

# ---- one pull, and how far it is ----

rqueue --watch -n -a -o '%i %T %{reason_detail}' >seen &
watcher=$!
jobs=$(for _ in 1 2 3; do rsubmit --parsable --image "$image" -o 'out-%j' -- sh -c 'echo $WORD'; done)
for job in $jobs; do
  ok "job $job runs in an image that had to come first" wait_state "$job" COMPLETED 60
done
is "$(cat out-*)" first$'\n'first$'\n'first "and says what the image says"
is "$(pulls)" 1 "one pull served all three"
kill "$watcher"
wait "$watcher" 2>/dev/null
like "$(cat seen)" 'STARTING image' "they were shown as starting with their image"
like "$(rqueue -n -j "${jobs##*$'\n'}" -o '%{image} %{image_digest}')" "^$image $registry/team/tool@sha256:[0-9a-f]{64}$" \
  "which image that was is on record"
like "$(rqueue --json -j "${jobs##*$'\n'}")" '"image_digest":"127.0.0.1:[0-9]*/team/tool@sha256:' "in JSON too"
rsubmit --quiet --wait --image "$image" -o out -- true
is "$(pulls)" 1 "an image that is there is not pulled again"

# ---- the tag moves ----

job=$(rsubmit --parsable --image "$image" -o out-again -- sh -c 'echo $WORD $ROTA_RESTART_COUNT; [ $ROTA_RESTART_COUNT = 1 ] || sleep 600')
ok "a job that runs" wait_state "$job" RUNNING 60
ok "while its image's name comes to mean another" publish second
daemon_kill "$(node_names)"
kill_rstepd "$job.0"
cluster_resume
ok "starts again after its node has lost it" wait_state "$job" COMPLETED 90
is "$(cat out-again)" first$' 0\n'first$' 1' "in the image that it had before"
is "$(rsubmit --quiet --wait --image "$image" --pull always -o out -- sh -c 'echo $WORD' && cat out)" second \
  "--pull always asks for the new one"

# ---- a person who waits for it ----

if command -v script >/dev/null; then
  publish third
  script -qec "rrun --image $image sh -c 'echo \$WORD'" /dev/null >screen </dev/null
  like "$(tr -d '\r' <screen)" 'third' "rrun in an image that had to come first"
  like "$(tr '\r' '\n' <screen)" "rrun: [0-9]+ s: job [0-9]+ starts on [^ ]+: image" "says what it waits for"
  publish second
else
  skip 2 "no script(1)"
fi

# ---- what cannot be pulled ----

job=$(rsubmit --parsable --image "$registry/team/nosuch:7" -- true)
ok "an image that the registry does not have" wait_state "$job" 'LAUNCH_FAILED|FAILED' 30
like "$(rqueue -n -j "$job" -o '%{reason_detail}')" "image '$registry/team/nosuch:7' cannot be pulled: manifest for .* not found" \
  "is told in the registry's words"
is "$(grep -c 'nosuch.*again in' "$log")" 0 "and not tried again"
job=$(rsubmit --parsable --image "127.0.0.1:1/team/tool:1" -- true)
ok "a registry that does not answer is asked more than once" wait_for 30 grep -q "127.0.0.1:1/team/tool:1.*again in 4 s" "$log"
rcancel "$job"
ok "and the job can be cancelled meanwhile" wait_state "$job" CANCELLED 20

# ---- podman tells how far it is, too ----

if have_podman; then
  rqueue --watch -n -a -o '%T %{reason_detail}' >seen &
  watcher=$!
  job=$(rsubmit --parsable --runtime podman --image "$image" -o out -- sh -c 'echo $WORD')
  ok "a job whose image podman brings" wait_state "$job" COMPLETED 60
  is "$(cat out)" second "runs in it"
  kill "$watcher"
  wait "$watcher" 2>/dev/null
  like "$(cat seen)" 'STARTING image [1-9][0-9]? %' "and how much of it was there could be seen"
else
  skip 3 "no podman here"
fi
