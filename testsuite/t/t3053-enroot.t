#!/bin/bash
# testsuite/t/t3053-enroot.t - jobs in images by a real enroot: all with their owner's rights, what they see, what they
# cannot reach, and that nothing of them is left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_enroot || skip_all "needs root, and enroot (which is no Debian package)"
have_busybox || skip_all "needs Debian's busybox-static"
command -v setpriv >/dev/null || skip_all "needs setpriv"

# As enroot's own import leaves an image: variables in a file, and a script with the entry point.
mkdir -p "$test_dir/extra/etc" "$test_dir/extra/suid"
cp /bin/busybox "$test_dir/extra/suid/id" && chmod 4755 "$test_dir/extra/suid/id"
printf 'FROM_IMAGE=yes\nPATH=/bin:/special\n' >"$test_dir/extra/etc/environment"
printf '%s\n' 'mkdir -p "/job" 2> /dev/null' 'cd "/job" && unset OLDPWD || exit 1' 'if [ $# -gt 0 ]; then' \
  "exec '/bin/echo' 'entry' \"\$@\"" else "exec '/bin/echo' 'entry' 'by' 'itself'" fi >"$test_dir/extra/etc/rc"
image_tar "$test_dir/image.tar"
mkdir "$test_dir/unpacked" && tar -C "$test_dir/unpacked" -xf "$test_dir/image.tar"
mksquashfs "$test_dir/unpacked" "$test_dir/image.sqsh" -all-root -no-progress -quiet >/dev/null || bail_out "mksquashfs fails"
rm -rf "$test_dir/unpacked"

# Who has no rights can import where enroot's helpers have capabilities of their own.
importer=root
[[ -z $(getcap "$(command -v enroot-aufs2ovlfs)" 2>/dev/null) ]] || importer=daemon
cat >"$test_dir/config.yaml" <<TEXT
jobs:
  restarts_max: 0
node:
  container_gpus: none
  unkillable_after: 10s
  enroot_user: $importer
TEXT
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
spool=$cluster_dir/nodes/$node/spool
parent=$(sed -n "s/^ *cgroup_parent: *//p" "$cluster_dir/nodes/$node/rota.yaml")
chmod 644 "$test_dir/image.sqsh"
user_start
uid=$(id -u nobody)
image=$test_dir/image.sqsh
run() {
  local code
  as_user rm -f out
  as_user rsubmit --wait --image "$image" -o out "$@" >/dev/null 2>err
  code=$?
  cat out err 2>/dev/null
  return $code
}
traces() {
  grep -F "$cluster_dir" /proc/self/mounts
  ls -d "$spool/scripts/"*.box "$spool/enroot/data/"*/* "$spool/enroot/import/"* 2>/dev/null
  find /sys/fs/cgroup -mindepth 2 -type d -path "*/$parent/*/*" 2>/dev/null
}
nothing_left() { [[ -z $(traces) ]]; }

# ---- what it sees ----

like "$(cat "$cluster_dir/log/$node.log")" 'images are run by enroot' "enroot comes first where it is installed"
got=$(run -- sh -c 'id -u; id -un; echo $FROM_IMAGE; pwd; echo $ROTA_JOB_ID $SLURM_JOB_ID; echo $PATH')
is "$(sed -n 1,2p <<<"$got")" "$uid"$'\n'nobody "it runs as its owner, who has a name there"
is "$(sed -n 3,4p <<<"$got")" yes$'\n'/job "with the image's variables and directory"
like "$(sed -n 5p <<<"$got")" '^[0-9]+ [0-9]+$' "and the cluster's"
is "$(sed -n 6p <<<"$got")" /bin:/special "PATH is the image's"
is "$(run)" "entry by itself" "an image without a command runs its own"
is "$(run --entrypoint -- other words)" "entry other words" "--entrypoint gives the words to it"
run -- sh -c 'exit 7' >/dev/null
is "$?" 7 "its exit code is the job's"
value=$'a\n--privileged\nb'
is "$(run --env "MULTI=$value" --env FROM_IMAGE=mine -- sh -c 'echo "$MULTI"; echo $FROM_IMAGE')" "$value"$'\n'mine \
  "a variable with newlines is just that, and wins over the image's"
printf '#!/bin/sh\n#ROTA --image=%s -o out\necho "script $1 in $(ls -d /job)"\n' "$image" >job.sh
as_user rsubmit --quiet --wait job.sh one
is "$(cat out)" "script one in /job" "a script runs inside"
is "$(run -g 1 -- sh -c 'echo $CUDA_VISIBLE_DEVICES' | grep -c ^GPU-)" 1 "it knows its GPU"
is "$(run -n 2 -- sh -c 'echo $ROTA_PROCID' | sort | tr -d '\n')" 01 "two tasks share a container"
unlike "$(run -- readlink /proc/self/ns/user)" "^$(readlink /proc/self/ns/user)$" "it has a user namespace"
is "$(run -- sh -c 'echo x >/new && cat /new')" x "its files can be changed"
like "$(run --container-readonly -- sh -c 'echo x >/new')" 'Read-only file system' "or not"

# ---- mounts ----

as_user mkdir -p 'data/sub' 'a b' && as_user sh -c 'echo there >data/sub/file; echo space >"a b/file"'
is "$(run --volume data:/mnt/a/b -- sh -c 'cat /mnt/a/b/sub/file; echo new >/mnt/a/b/new')" there \
  "a directory is mounted at a place that the image does not have"
is "$(stat -c '%U' data/new) $(cat data/new)" "nobody new" "what is written there is the owner's"
like "$(run --container-mounts data:/mnt:ro -- sh -c 'echo x >/mnt/y')" 'Read-only file system' "read-only is read-only"
is "$(run --volume data/sub/file:/etc/one,data:/job/two -- cat /etc/one /job/two/sub/file)" there$'\n'there \
  "files can be mounted, and several"
is "$(run --volume 'a b:/a b' -- cat '/a b/file')" space "a name with a space"
is "$(run --container-mount-home -- ls "$test_dir/home/data")" new$'\n'sub "the home directory"
is "$(run --container-workdir /tmp -- pwd)" /tmp "the working directory of one's choice"

# ---- what it cannot reach ----

like "$(run --volume /etc/shadow:/mnt -- cat /mnt)" "cannot mount '/etc/shadow' at '/mnt': Permission denied for nobody" \
  "/etc/shadow is not for everybody"
echo secret >"$test_dir/secret" && chmod 600 "$test_dir/secret"
as_user ln -sfn "$test_dir/secret" lead
like "$(run --volume lead:/mnt -- cat /mnt)" 'Permission denied for nobody' "nor by a link"
cp "$image" "$test_dir/closed.sqsh" && chmod 600 "$test_dir/closed.sqsh"
like "$(run --image "$test_dir/closed.sqsh" -- true)" "cannot read the image '$test_dir/closed.sqsh': Permission denied" \
  "an image that the owner may not read is none"
as_user ln -sfn "$test_dir/closed.sqsh" lead.sqsh
like "$(run --image "$test_dir/home/lead.sqsh" -- true)" 'Permission denied' "nor by a link"
got=$(run -- sh -c 'grep -E "^(Cap|NoNew)" /proc/self/status; /suid/id -u')
is "$(grep -c $'\t0000000000000000$' <<<"$got") $(grep -c 'NoNewPrivs:.1' <<<"$got") $(tail -n 1 <<<"$got")" "5 1 $uid" \
  "no capabilities, and no set-user-id program gives any"
mkdir -p "$test_dir/barred" && echo secret >"$test_dir/barred/file" && chmod 700 "$test_dir/barred"
touch swapping
as_user sh -c "while [ -e swapping ]; do ln -sfn $test_dir/home/data/sub swap; ln -sfn $test_dir/barred swap; done" &
swapper=$!
for _ in 1 2 3 4; do run --volume swap:/mnt -- cat /mnt/file; done >swapped
rm swapping
wait "$swapper"
unlike "$(cat swapped)" secret "a link that is changed in between never leads to what is closed"
# A hook of the user's own is a program of the job's: its rights, its limits.
as_user mkdir -p .config/enroot/hooks.d
printf '#!/bin/sh\n(id -u; cat /proc/self/cgroup) >%s/hook\n' "$test_dir/home" >.config/enroot/hooks.d/90-mine.sh
chmod 755 .config/enroot/hooks.d/90-mine.sh
run -- true >/dev/null
like "$(cat hook)" "^$uid"$'\n'".*/$parent/" "hooks of the user's run as the user, in the job's cgroup"
rm -r .config

# ---- how it ends ----

run --mem 64M -- sh -c 'x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done' >/dev/null
like "$(rqueue --all -n -o '%i %T' | sort -n | tail -n 1)" OUT_OF_MEMORY "its memory limit holds"
job=$(as_user rsubmit --parsable --image "$image" -o out -- sh -c 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.05; done')
ok "a job that goes on" wait_state "$job" RUNNING
ok "it has begun" wait_for 20 grep -q ready out
got=$(as_user rexec "$job" -- sh -c 'id -u; pwd; echo $FROM_IMAGE; grep -E "^NoNew" /proc/self/status')
is "$(tr -d '\t\n ' <<<"$got")" "$uid/jobyesNoNewPrivs:1" "rexec puts people into the container"
as_user rcancel "$job"
ok "and is cancelled" wait_state "$job" CANCELLED
is "$(tail -n 1 out)" bye "it heard the signal"
ok "nothing is left of all these" wait_for 20 nothing_left || diag "$(traces)"
is "$(as_user rrun --image "$image" --volume data:/mnt sh -c 'cat /mnt/sub/file; pwd; exit 5'; echo $?)" there$'\n'/job$'\n'5 \
  "rrun in an image"
job=$(as_user rsubmit --parsable --no-requeue --image "$image" -o out -- sleep 4242)
wait_state "$job" RUNNING >/dev/null
kill_rstepd "$job.0"
ok "a job whose rstepd is killed" wait_state "$job" NODE_FAIL
daemon_kill "$node"
cluster_resume
ok "leaves nothing" wait_for 30 nothing_left || diag "$(traces)"

# ---- from a registry ----

if have_docker && all_here docker-registry parallel jq curl zstd; then
  registry_start
  docker_start
  dock import --change 'ENV WORD=registry' --change 'CMD ["/bin/sh"]' "$test_dir/image.tar" "$registry/team/tool:1" >/dev/null &&
    dock push "$registry/team/tool:1" >/dev/null 2>&1 || bail_out "the image cannot be published"
  image=docker://$registry#team/tool:1
  jobs=$(for _ in 1 2 3; do as_user rsubmit --parsable --image "$image" -o 'out-%j' -- sh -c 'echo $WORD'; done)
  for job in $jobs; do ok "job $job runs in an image of a registry" wait_state "$job" COMPLETED 60; done
  is "$(cat out-*)" registry$'\n'registry$'\n'registry "and says what the image says"
  is "$(grep -c 'is being pulled' "$cluster_dir/log/$node.log")" 1 "one import served all three"
  like "$(rqueue -a -n -j "${jobs##*$'\n'}" -o '%{image_digest}')" "^$registry/team/tool@sha256:[0-9a-f]{64}$" \
    "which image that was is on record"
  is "$(stat -c '%U %a' "$spool/enroot/images/"*.sqsh)" "root 644" "nobody but root can change what was imported"
  like "$(run --image "$registry/team/nosuch:1" -- true)" "image '$registry/team/nosuch:1' cannot be pulled: .*404" \
    "what a registry does not have, in its own words"
  ok "and nothing is left" wait_for 20 nothing_left || diag "$(traces)"
fi
done_testing
