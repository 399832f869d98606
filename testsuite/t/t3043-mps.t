#!/bin/bash
# testsuite/t/t3043-mps.t - jobs with a share of a GPU's compute: one MPS daemon for a user on a GPU, which is there as
# long as such jobs are, and what becomes of it when rgpud is killed.
. "$(dirname "$0")/lib.sh"

fakegpu=$top_builddir/testsuite/fakegpu
user=$top_builddir/testsuite/unit/gpushim/shim_user
plan 31
cluster_start --nodes 1 --gpus 2
node=$(node_names)
log=$cluster_dir/log/$node.log
places=$cluster_dir/nodes/$node/spool/mps

# Of the node's fake driver, which a job's processes open by its name, as they would a real one.
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=2 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
export LD_LIBRARY_PATH=$fakegpu
# A daemon of somebody else's, which must not reach any job.
export CUDA_MPS_PIPE_DIRECTORY=/nowhere CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1
cd "$test_dir" || exit 1

# use OUT LINES OPTIONS...: a job that uses its GPU as the LINES say; its answers go to OUT.
use() {
  local out=$1 lines=$2
  shift 2
  rsubmit --quiet -o "$out" "$@" -- sh -c "printf '%s\n' $lines | '$user'"
}
# The daemons' processes, one a line.
daemons() {
  cat "$places"/*/pipe/nvidia-cuda-mps-control.pid 2>/dev/null
}
# "2 1": processes of each kind on the GPUs, clients of MPS first.
clients() {
  "$fakegpu/rota-fakegpu" show | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+=/) n[$i ~ /\(mps\)$/]++ }
    END { print n[1] + 0, n[0] + 0 }'
}
answered() { [[ $(wc -l <"$1") -ge $2 ]]; }
all_ended() { [[ -z $(rqueue -n -o %i) ]]; }
# No directory, and no process that was started for one.
nothing_left() {
  [[ -z $(ls -A "$places" 2>/dev/null) ]] && ! grep -qzs "^CUDA_MPS_PIPE_DIRECTORY=$places/" /proc/[0-9]*/environ
}
refused() { rsubmit "$@" -- true 2>&1; }

# ---- what is refused ----

like "$(refused -g 2 --mps)" "--mps is for at most one GPU per task, and this asks for 2" "two GPUs for one task"
like "$(refused --mps)" "ask for a GPU or a part of one as well" "no GPU at all"
like "$(refused -g 0.5 --mps=0)" "'0' is no share of a GPU's compute; write 1 to 100 percent" "no percent"
like "$(rsubmit -n 2 -g 0.5 --mps --wrap true 2>&1)" "a script has those of all 2 tasks" "a script with several GPUs"

# ---- what a job sees ----

use plain "init 'attribute 16'" --wait -g 0.5
is "$(tail -n 1 plain)" "0 80" "without --mps a job sees all multiprocessors"
use half "init 'retain 0' 'attribute 16' memory" --wait -g 0.5 --mps
is "$(sed -n 4p half)" "0 40" "half of a GPU is half of its multiprocessors"
is "$(sed -n 5p half)" "15950 of 16255" "and half of its memory"
use whole "init 'attribute 16'" --wait -g 1 --mps=25
is "$(tail -n 1 whole)" "0 20" "a quarter of the compute of a whole GPU"
use memory "init 'attribute 16'" --wait --gpu-memory 9753M --mps
is "$(tail -n 1 memory)" "0 24" "30 percent of the memory are 30 percent of the compute"
cat >job.sh <<TEXT
#!/bin/sh
#ROTA -g 0.1 --mps -o script
printf '%s\n' init 'attribute 16' | '$user'
env | grep -c '^CUDA_MPS_.*=$places/.*\|^CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10$'
TEXT
rsubmit --quiet --wait job.sh
is "$(sed -n '3,$p' script | paste -sd' ')" "0 8 3" "a script can ask as well"
ok "the daemon is gone with the last job" wait_for 30 nothing_left

# ---- two jobs of one user on one GPU ----

mkfifo one.in two.in other.in
for job in one two; do
  rsubmit --quiet -J "$job" -o "$job" -g 0.3 --mps -- sh -c "'$user' <$test_dir/$job.in"
done
rsubmit --quiet -o other -g 0.3 -- sh -c "'$user' <$test_dir/other.in"
exec 5<>one.in 6<>two.in 7<>other.in
for line in init "retain 0" "attribute 16" "alloc 1000"; do
  echo "$line" >&5
  echo "$line" >&6
  echo "$line" >&7
done
for job in one two other; do wait_for 30 answered "$job" 5; done
is "$(sed -n 4p one),$(sed -n 4p two),$(sed -n 4p other)" "0 24,0 24,0 80" "each sees its share"
is "$(daemons | wc -l)" 1 "the two have one daemon"
is "$(clients)" "2 1" "and are its clients; the third is not"
is "$(rqueue -n -o '%{mps}' --name one)" "30%" "rqueue shows what was asked"
id=$(rqueue -n -o %i --name one)
like "$(rota show job "$id")" "mps: 30%" "so does rota show job"
is "$(rqueue --json -j "$id" | jq -c '.jobs[0] | [.mps, .mps_percent]')" '[true,30]' "and --json"
# What the watchdog and the meter see of a client is what it holds.
holds() { [[ $(rqueue --json -j "$id" | jq .jobs[0].gpu_usage.memory_bytes) == $((1305 << 20)) ]]; }
ok "what a client holds is counted" wait_for 40 holds

# ---- rgpud is killed ----

pid=$(daemons)
daemon_kill "$node" KILL
echo memory >&5
wait_for 30 answered one 6
is "$(sed -n 6p one)" "8448 of 9753" "jobs run on without rgpud"
ok "so does the daemon" kill -0 "$pid"
cluster_resume 5>&- 6>&- 7>&-  # the daemons must not hold the jobs' pipes
ok "the next rgpud takes it over" wait_for 30 grep -q "the MPS daemon of uid $EUID on GPU-.* was there before us" "$log"
echo exec >&6
for line in init "attribute 16"; do echo "$line" >&6; done
wait_for 30 answered two 8
is "$(sed -n 8p two)" "0 24" "who comes to it again is served"
use three "init 'attribute 16'" --wait -g 0.1 --mps
is "$(tail -n 1 three)" "0 8" "and so is the next job"
is "$(daemons)" "$pid" "by the same daemon"
exec 5>&-
wait_state "$id" COMPLETED
is "$(daemons)" "$pid" "which stays for the last of them"

# ---- it dies, and cannot be had ----

kill -KILL "$pid"
ok "a daemon that dies under its jobs is noted" wait_for 30 grep -q "on GPU-.* has died under 1 job" "$log"
use four "init 'attribute 16'" --wait -g 0.1 --mps
is "$(tail -n 1 four)" "0 8" "the next job gets a new one"
exec 6>&- 7>&-
wait_for 30 all_ended
ok "nothing is left behind" wait_for 30 nothing_left

cat >"$test_dir/keys.yaml" <<TEXT
node:
  mps_control: rota-no-such-program
TEXT
minicluster stop "$cluster_dir" >/dev/null
cluster_start --config "$test_dir/keys.yaml"
id=$(rsubmit --parsable -o missing -g 0.5 --mps -- echo it runs)
start_failed() { [[ $(rqueue --json -j "$id" | jq -r .jobs[0].reason) == StartFailed ]]; }
wait_for 30 start_failed
like "$(rqueue --json -j "$id" | jq -r .jobs[0].reason_detail)" \
  "the MPS daemon of uid $EUID on GPU-.* cannot be had: rota-no-such-program: cannot be run: No such file or directory" \
  "where the program is missing, the start fails by the node, in its words"
is "$(cat missing 2>/dev/null)" "" "and nothing has run"
rcancel "$id" >/dev/null 2>&1
ok "no directory is left either" wait_for 30 nothing_left
