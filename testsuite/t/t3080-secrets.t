#!/bin/bash
# testsuite/t/t3080-secrets.t - secrets: put, sealed, handed to jobs as variables and files, hidden in logs, and found in no
# file of any daemon's, whoever is killed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

# Whatever of it turns up in a file was written there by us.
value=Zq7-hunter2-$RANDOM$RANDOM-xK
other=Yw3-swordfish-$RANDOM$RANDOM-pL
config="jobs:
  launch_backoff: 1s
node:
  container_gpus: none
"
runtimes=()
if have_busybox && have_docker; then
  docker_start
  image_tar "$test_dir/image.tar"
  dock import "$test_dir/image.tar" rota-test:1 >/dev/null || bail_out "docker import fails"
  runtimes+=(docker)
  config+="  docker_socket: $test_dir/docker/sock
"
fi
if have_busybox && have_podman; then
  podman_start
  [[ -f $test_dir/image.tar ]] || image_tar "$test_dir/image.tar"
  pod import "$test_dir/image.tar" rota-test:1 >/dev/null 2>&1 || bail_out "podman import fails"
  runtimes+=(podman)
  config+="  podman: $test_dir/podman/podman
"
fi
printf '%s' "$config" >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --config "$test_dir/config.yaml"
node=$(node_names)
mkdir "$test_dir/out"
cd "$test_dir/out" || exit 1

# seen_in TEXT: the files of the cluster that have it, and processes that have it among their words.
seen_in() {
  grep -rlaF -- "$1" "$cluster_dir" 2>/dev/null
  [[ ! -d $test_dir/docker ]] || grep -rlaF -- "$1" "$test_dir/docker" 2>/dev/null
  # Not this shell, nor those that it has just started to look.
  grep -laF -- "$1" /proc/[0-9]*/cmdline 2>/dev/null | grep -vE "^/proc/($$|$BASHPID)/" |
    while read -r file; do tr '\0' ' ' <"$file" 2>/dev/null | grep -vE '^grep |t3080' | grep -F -- "$1"; done
}
nowhere() { is "$(seen_in "$value")$(seen_in "$other")" "" "$1"; }
# The directories of runs with files of secrets.
left_files() { ls -d /run/rota-secrets."$place"/* /dev/shm/rota-secrets."$place"/* 2>/dev/null; }

# "n1.3fa94c20": this node among all rgpuds of this host.
place=$(rsubmit --quiet --wait -o out --wrap 'echo ${ROTA_RUN%/*}' && cat out)
like "$place" "^$node\\.[0-9a-f]+$" "the node has a name of its own on this host"

# ---- put, list, delete ----

is "$(rsecret put TOKEN <<<"$value")" "secret TOKEN is put" "a secret comes from standard input"
printf '%s\nline two\n' "$other" >"$test_dir/key"
ok "or from a file" rsecret put KEY --file "$test_dir/key"
is "$(rsecret list -n | awk '{ print $1, $2 }')" "KEY secret"$'\n'"TOKEN secret" "the list has the names"
like "$(rsecret list --json)" '"name":"KEY","kind":"secret","changed":"20' "in JSON too"
rsecret put TOKEN "$value" >said 2>&1
is $? 2 "what it says is not taken from the command line"
unlike "$(cat said)" "$value" "nor repeated"
like "$(rsecret put 9X <<<x 2>&1)" "is no name of a secret" "a name is one of a variable"
like "$(rsecret put ROTA_X <<<x 2>&1)" "are the cluster's" "and not one of ours"
like "$(rsecret put EMPTY </dev/null 2>&1)" "the secret is empty" "an empty one is none"
like "$(head -c 131073 /dev/zero | rsecret put LONG 2>&1)" "more than the 131072 bytes" "and there is a limit"
like "$(rsecret delete NO_SUCH 2>&1)" "you have no secret 'NO_SUCH'" "one that is not there is said"
is "$(stat -c %a "$(find "$cluster_dir" -name secret.key)")" 600 "the key is for the controller alone"
nowhere "nothing of them stands in any file"

# ---- jobs ----

is "$(rsubmit --quiet --wait --secret TOKEN -o out --wrap 'printf %s "$TOKEN" | md5sum | cut -c 1-32' && cat out)" \
  "$(printf %s "$value" | md5sum | cut -c 1-32)" "a job has it as a variable"
rsubmit --quiet --wait --secret KEY:key.pem,TOKEN:t -o out --wrap \
  'stat -c "%a %u" $ROTA_SECRETS_DIR/key.pem; md5sum <$ROTA_SECRETS_DIR/key.pem; stat -f -c %T $ROTA_SECRETS_DIR; echo ${TOKEN-none}'
is "$(cat out)" "400 $(id -u)"$'\n'"$(md5sum <"$test_dir/key")"$'\ntmpfs\nnone' "or as a file of its own, in memory"
is "$(left_files)" "" "which is gone with it"
like "$(rsubmit --secret NO_SUCH -- true 2>&1)" "you have no secret 'NO_SUCH'" "one that is not there is refused"
like "$(rsubmit --secret registry/docker.io -- true 2>&1)" "is no name of a secret" "a login is no secret for a job"
like "$(rsubmit --secret KEY:/etc/key -- true 2>&1)" 'ROTA_SECRETS_DIR' "a path needs an image"
TOKEN=mine rsubmit --quiet --wait --secret TOKEN -o out --wrap '[ "$TOKEN" != mine ] && echo good'
is "$(cat out)" good "it stands before a variable of the same name"
is "$(rrun --secret TOKEN sh -c 'printf %s "$TOKEN" | md5sum | cut -c 1-32')" "$(printf %s "$value" | md5sum | cut -c 1-32)" \
  "rrun hands it on"

# ---- hidden in logs ----

rsubmit --quiet --wait --secret TOKEN,KEY:k -o shown --wrap 'echo "a $TOKEN b"; cat $ROTA_SECRETS_DIR/k; printf "<%s>" "$TOKEN"'
job=$(rqueue -a -n -o %i | sort -n | tail -n 1)
is "$(rlogs "$job")" 'a *** b'$'\n***\n***\n<***>' "rlogs shows three stars for it"
is "$(rlogs --tail 2 "$job")" $'***\n<***>' "also for the last lines"
is "$(grep -c "$value" shown)" 2 "the file is the user's own and has it"
# As long as several blocks, so that borders fall into secrets.
rsubmit --quiet --wait --secret TOKEN -o shown --wrap 'for i in $(seq 20000); do echo "$i $TOKEN"; done'
job=$(rqueue -a -n -o %i | sort -n | tail -n 1)
is "$(rlogs "$job" | md5sum)" "$(seq 20000 | sed 's/$/ ***/' | md5sum)" "across all borders of blocks"
unlike "$(rota show job --json "$job"; rqueue -a --json)" "$value" "records and lists do not have it"

# ---- everybody is killed under a job ----

mkfifo go
job=$(rsubmit --parsable --secret TOKEN,KEY:k -o out --wrap \
  "read -r _ <$PWD/go; printf %s \"\$TOKEN\" | md5sum; md5sum <\$ROTA_SECRETS_DIR/k")
ok "a job with secrets runs" wait_state "$job" RUNNING
nowhere "while it runs they are in no file"
daemon_kill rctld
daemon_kill "$node"
nowhere "nor when the daemons are gone"
cluster_resume
ok "rexec waits for the node" wait_for 30 rexec "$job" -- true
is "$(rexec "$job" -- sh -c 'printf %s "$TOKEN" | md5sum')" "$(printf %s "$value" | md5sum)" "what rexec runs has them after that"
echo >go
ok "the job goes on and ends" wait_state "$job" COMPLETED
is "$(cat out)" "$(printf %s "$value" | md5sum)"$'\n'"$(md5sum <"$test_dir/key")" "with what it had"
is "$(left_files)" "" "and leaves no file"
job=$(rsubmit --parsable --no-requeue --secret KEY:k -o out -- sleep 4242)
ok "a job whose rstepd is killed" wait_state "$job" RUNNING
daemon_kill "$node"
kill_rstepd "$job.0"
cluster_resume
ok "is over" wait_state "$job" 'NODE_FAIL|FAILED|CANCELLED'
is "$(left_files)" "" "and its files are swept away"
nowhere "nothing of it is left in any file"

# ---- deleted, and another key ----

job=$(rsubmit --parsable -G 2 -o /dev/null -- sleep 4242)
ok "a job takes all GPUs" wait_state "$job" RUNNING
waiting=$(rsubmit --parsable --secret TOKEN -G 2 -o out -- true)
ok "a secret can be deleted while a job waits for it" rsecret delete TOKEN
rcancel "$job"
ok "which then does not start" wait_state "$waiting" 'LAUNCH_FAILED|FAILED'
like "$(rqueue -a -n -j "$waiting" -o '%{reason_detail}')" "its secret 'TOKEN' has been deleted" "and says why"
key=$(find "$cluster_dir" -name secret.key)
mv "$key" "$test_dir/saved"
daemon_kill rctld
cluster_resume
like "$(cat "$cluster_dir"/log/rctld.log)" "no secret can be opened: .*secret.key.* is missing" "a key that is missing is said at the start"
ok "other jobs run all the same" rsubmit --quiet --wait -o out -- true
job=$(rsubmit --parsable --secret KEY:k -o out -- true)
ok "a job with a secret does not" wait_state "$job" 'LAUNCH_FAILED|FAILED'
like "$(rqueue -a -n -j "$job" -o '%{reason_detail}')" "its secret 'KEY' cannot be opened: .* is missing" "and says why"
echo "rota-secret-key-1 $(printf '0%.0s' {1..64})" >"$key"
daemon_kill rctld
cluster_resume
job=$(rsubmit --parsable --secret KEY:k -o out -- true)
ok "nor with another key" wait_state "$job" 'LAUNCH_FAILED|FAILED'
like "$(rqueue -a -n -j "$job" -o '%{reason_detail}')" "was not sealed with .*secret.key: put it again" "and says what to do"
mv "$test_dir/saved" "$key"
daemon_kill rctld
cluster_resume
ok "with its own key it does" rsubmit --quiet --wait --secret KEY:k -o out -- true

# ---- containers ----

rsecret put -Q TOKEN <<<"$value"
for runtime in "${runtimes[@]}"; do
  rsubmit --quiet --wait --runtime "$runtime" --image rota-test:1 --secret TOKEN,KEY:/etc/app/key,KEY:k -o out -- sh -c '
    printf %s "$TOKEN" | md5sum; md5sum </etc/app/key; stat -c "%a %u" /etc/app/key; md5sum <$ROTA_SECRETS_DIR/k
    grep -c " $ROTA_SECRETS_DIR tmpfs ro" /proc/mounts; (echo x >$ROTA_SECRETS_DIR/new) 2>/dev/null || echo closed'
  is "$(cat out)" "$(printf %s "$value" | md5sum)"$'\n'"$(md5sum <"$test_dir/key")"$'\n'"400 $(id -u)"$'\n'"$(md5sum <"$test_dir/key")"$'\n1\nclosed' \
    "$runtime: variables and files are inside"
  is "$(rsubmit --quiet --wait --runtime "$runtime" --image rota-test:1 --container-readonly --secret KEY:k -o out -- \
    sh -c 'md5sum <$ROTA_SECRETS_DIR/k' && cat out)" "$(md5sum <"$test_dir/key")" "$runtime: also where nothing else can be written"
  rm -f go && mkfifo go
  job=$(rsubmit --parsable --runtime "$runtime" --image rota-test:1 --volume "$PWD:/go" --secret TOKEN,KEY:/k -o out -- \
    sh -c 'read -r _ </go/go')
  ok "$runtime: a job runs" wait_state "$job" RUNNING
  nowhere "$runtime: they are in no file meanwhile"
  is "$(rexec "$job" -- sh -c 'printf %s "$TOKEN" | md5sum; md5sum </k')" "$(printf %s "$value" | md5sum)"$'\n'"$(md5sum <"$test_dir/key")" \
    "$runtime: rexec sees the same"
  echo >go
  ok "$runtime: it ends" wait_state "$job" COMPLETED
done
((${#runtimes[@]} > 0)) || skip 1 "no container engine"

# ---- another user ----

if ((EUID == 0)) && command -v setpriv >/dev/null; then
  as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/ "$@"; }
  chmod 711 "$cluster_dir" 2>/dev/null
  if as_user rqueue >/dev/null 2>&1; then
    is "$(as_user rsecret list -n)" "" "another user sees none of them"
    like "$(as_user rsubmit --secret TOKEN -- true 2>&1)" "you have no secret 'TOKEN'" "and cannot have one"
    like "$(as_user rsecret delete TOKEN 2>&1)" "you have no secret 'TOKEN'" "nor delete it"
  else
    skip 3 "this build tree is not open to other users"
  fi
else
  skip 3 "needs root"
fi
nowhere "in the end they are in no file"
done_testing
