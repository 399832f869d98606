#!/bin/bash
# testsuite/t/t3042-gpu-driver-limit.t - parts of GPUs where the driver itself limits a cgroup's memory (r615): no
# library of ours stands before the driver's.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "not root: limits of a cgroup are for root"
grep -q ' cgroup2 ' /proc/mounts || skip_all "no cgroup v2"

fakegpu=$top_builddir/testsuite/fakegpu
user=$top_builddir/testsuite/unit/gpushim/shim_user
plan 22
cluster_start --nodes 1 --gpus 1 --model hgx-h100-r615
node=$(node_names)
log=$cluster_dir/log/$node.log
if ! grep -q "the driver itself limits parts of GPUs" "$log"; then
  skip 22 "no cgroup v2 that can be written"
  exit 0
fi
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/hgx-h100-r615.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=1 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
export LD_LIBRARY_PATH=$fakegpu
gpu() { "$fakegpu/rota-fakegpu" "$@"; }
limits() { gpu show | sed -n 's/^limit of //p'; }
field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }
cd "$test_dir" || exit 1
half=40779 # MiB of 81,559, of which a context takes 305
bytes=$((81559 * 1048576 / 2))

# use OUT FRACTION LINES [OPTIONS]: a job that uses its GPU as the LINES say.
use() {
  local out=$1 fraction=$2 lines=$3
  shift 3
  rsubmit --quiet -o "$out" -g "$fraction" "$@" -- sh -c "printf '%s\n' $lines | '$user'; grep -c gpushim /proc/self/maps; ls /run/rota/drv 2>/dev/null"
}
use half 0.5 "init 'retain 0' memory 'nvml 0' 'alloc $((half - 304))' 'alloc $((half - 305))' memory" --wait
is "$(sed -n 4p half)" "$((half - 305)) of $half" "CUDA shows half of the GPU" || diag "$(cat half)"
is "$(sed -n 5p half)" "$((half - 305)) of $half, $((half - 305)) of $half" "so does NVML"
is "$(sed -n 6,7p half | tr '\n' ' ')" "2 0 " "and out of memory is where it ends"
is "$(sed -n 8p half)" "0 of $half" "then nothing is left"
is "$(sed -n 9p half)" 0 "no library of ours is in it"
is "$(limits)" "" "nothing is left of its limit"

# ---- two on one GPU ----
mkfifo one.in two.in
exec 5<>one.in 6<>two.in
one=$(rsubmit --parsable -o one -g 0.5 -- sh -c "exec '$user' <$test_dir/one.in")
two=$(rsubmit --parsable -o two -g 0.25 -- sh -c "exec '$user' <$test_dir/two.in")
for line in init "retain 0" "alloc 10000"; do
  echo "$line" >&5
  echo "$line" >&6
done
answered() { [[ $(wc -l <"$1") -ge $2 ]]; }
ok "two share it" wait_for 30 answered one 4
ok "both" wait_for 30 answered two 4
is "$(limits | wc -l)" 2 "with a limit each"
like "$(limits | grep "/$one.0\$")" "^GPU 0: $bytes to $bytes for /.*/$one.0$" "of one what it asked for"
like "$(limits | grep "/$two.0\$")" "^GPU 0: $((bytes / 2)) to $((bytes / 2)) for /.*/$two.0$" "of the other too"

# ---- after kill -9 ----
step_of() { pgrep -P "$(pgrep -P "$(daemon_pid "$node")" -o)" | while read -r pid; do
  grep -qs "/$1.0\$" "/proc/$(pgrep -P "$pid" | head -n 1)/cgroup" && echo "$pid"
done; }
pid=$(step_of "$one")
like "$pid" '^[0-9]+$' "its rstepd is found" && kill -KILL "$pid"
ok "a job whose rstepd was killed is lost" wait_state "$one" "PENDING|NODE_FAIL|STARTING|RUNNING"
gone() { ! limits | grep -q "/$one.0\$"; }
ok "and its limit is taken back" wait_for 30 gone
rcancel "$one" "$two" >/dev/null
exec 5>&- 6>&-
all_ended() { [[ -z $(rqueue -n -o %i) ]]; }
ok "all end" wait_for 30 all_ended
is "$(limits)" "" "and leave no limit"

# ---- a driver that has it and does not do it ----
gpu fail nvmlDeviceSetMemoryLimits_v1 3
use shim 0.5 "init 'retain 0' memory" --wait
is "$(sed -n 4p shim)" "$((half - 305)) of $half" "where the driver fails, the shim holds it to its half"
like "$(grep "librota_gpu does" "$log")" "the driver does not limit its part of a GPU, so librota_gpu does: the driver does not take the limit: NVML error 3" "and the log says so"
gpu clear
gpu fail nvmlDeviceGetMemoryLimits_v1 3
use again 0.5 "init 'retain 0' memory" --wait
is "$(sed -n 4p again)" "$((half - 305)) of $half" "a limit that is not read back proves nothing"
like "$(grep "librota_gpu does" "$log" | tail -n 1)" "the driver does not say the limit again" "and is not trusted"
gpu clear

# ---- a limit above the share ----
use burst 0.25:0.5 "init 'retain 0' 'nvml 0'" --wait
is "$(sed -n 4p burst | sed 's/.* of //')" "$half" "a job with a limit above its share sees the limit"
like "$(cat burst)" "share.sock" "by the shim: what the driver shows would change under it"
