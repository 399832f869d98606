#!/bin/bash
# testsuite/t/t3040-gpu-usage.t - what jobs do with their GPUs: seen while they run, kept when they end, and what
# becomes of those that do nothing.
. "$(dirname "$0")/lib.sh"

fakegpu=$top_builddir/testsuite/fakegpu
user=$top_builddir/testsuite/unit/gpushim/shim_user
plan 31
cat >"$test_dir/keys.yaml" <<'TEXT'
nodes:
  heartbeat: 200ms
jobs:
  idle_window: 1s
  kill_wait: 2s
TEXT
cat >"$test_dir/projects.yaml" <<'TEXT'
projects:
  default: {quota: 4}
  lazy: {quota: 4, interactive_idle_limit: 8s}
TEXT
cluster_start --nodes 1 --gpus 2 --config "$test_dir/keys.yaml" --projects "$test_dir/projects.yaml"
node=$(node_names)
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=2 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
gpu() { "$fakegpu/rota-fakegpu" "$@"; }
cd "$test_dir" || exit 1
mkfifo never.in
exec 9<>never.in

field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }
# told JOB EXPRESSION: jq's expression is true of the job.
told() { [[ $(rqueue --json -a -j "$1" | jq ".jobs[0] | $2") == true ]]; }

# ---- a whole GPU and more ----
gpu set all utilization=80 power=250000 memory-used=4GiB
id=$(rsubmit --parsable -G 2 -o /dev/null -- sh -c "read -r _ <$test_dir/never.in")
ok "a job with two GPUs runs" wait_state "$id" RUNNING
ok "its utilisation is seen" wait_for 20 told "$id" '.gpu_usage.utilization_percent == 80'
ok "memory and power are sums" told "$id" '.gpu_usage.memory_bytes == 8 * 1073741824 and .gpu_usage.power_watts == 500'
ok "time and energy grow" wait_for 20 told "$id" '.gpu_usage.sampled_gpu_seconds >= 6 and .gpu_usage.energy_joules > 1000'
ok "busy time is weighed by utilisation" told "$id" \
  '(.gpu_usage.busy_gpu_seconds / .gpu_usage.sampled_gpu_seconds) as $u | $u > 0.5 and $u < 0.81'
like "$(rqueue --long | sed -n 1p)" "GPUS +GPU% +MEAN% +GPUMEM +MAXGPUMEM +POWER +ENERGY +IDLE +NODES" "rqueue --long has the columns"
like "$(rqueue --long -j "$id" | sed -n 2p)" " 80% +[78][0-9]% +8GiB +8GiB +500W +[0-9]+J +- +1 +- +$node" "and the values" ||
  diag "$(rqueue --long)"
like "$(rota show job "$id")" "gpu_utilization: 80%" "rota show job tells as well"
is "$(rota show --json job "$id" | jq '.jobs[0].gpu_usage.utilization_percent')" 80 "and as JSON"
out=$(rota show job 999 2>&1)
is "$?,$out" "3,rota: no such job: 999" "of a job that is there"
gpu set all utilization=0 memory-used=0
ok "memory that was used is remembered" wait_for 20 told "$id" \
  '.gpu_usage.memory_bytes == 0 and .gpu_usage.memory_max_bytes == 8 * 1073741824'

# ---- idle ----
ok "idle GPUs are marked" wait_for 20 told "$id" '.idle_since != null and .gpu_usage.idle_seconds >= 2'
like "$(field "$id" reason)" "^its GPUs are idle since 20.*Z$" "and said"
ok "nobody ends it: its project does not ask for that" test "$(state_of "$id")" = RUNNING
gpu set 1 utilization=1
ok "one GPU that does anything is enough" wait_for 20 told "$id" '.idle_since == null and .reason == null'

# ---- over a restart of rgpud ----
before=$(field "$id" gpu_usage.sampled_gpu_seconds)
saved() { [[ -s $cluster_dir/nodes/$node/spool/usage ]]; }
ok "what was counted is written down" wait_for 40 saved
daemon_kill "$node"
cluster_resume 9>&-
ok "counting goes on" wait_for 60 told "$id" ".gpu_usage.sampled_gpu_seconds > $before + 1"
echo >&9
ok "it ends" wait_state "$id" COMPLETED
ok "what it did stays known" told "$id" ".gpu_usage.sampled_gpu_seconds > $before and .gpu_usage.power_watts == 0"
ledger() {
  sqlite3 -readonly "$(find "$cluster_dir" -name '*.db' | head -n 1)" \
    "SELECT gpu_sampled_ms > 0 AND gpu_busy_ms > 0 AND energy_mj > 0 AND gpu_memory_max_bytes = 8 * 1073741824 FROM allocations WHERE job=$1"
}
if command -v sqlite3 >/dev/null; then
  is "$(ledger "$id")" 1 "the ledger has it"
else
  skip 1 "no sqlite3"
fi
none=$(rsubmit --parsable --wait -o /dev/null -- true)
is "$(field "$none" gpu_usage)" null "a job without GPUs has nothing to show"

# ---- a GPU that two share ----
gpu set all utilization=0 power=100000
mkfifo one.in two.in
exec 5<>one.in 6<>two.in
export LD_LIBRARY_PATH=$fakegpu
for job in one two; do
  rsubmit --quiet --name "$job" -o "$job" -g 0.5 -- sh -c "exec '$user' <$test_dir/$job.in"
done
unset LD_LIBRARY_PATH
for line in init "retain 0" "alloc 1000"; do
  echo "$line" >&5
  echo "$line" >&6
done
answered() { [[ $(wc -l <"$1") -ge 4 ]]; }
wait_for 30 answered one
wait_for 30 answered two
one=$(rqueue -n --name one -o %i) two=$(rqueue -n --name two -o %i)
shared=$(gpu show | awk '{ n = 0; for (i = 1; i <= NF; i++) n += $i ~ /^[0-9]+=/; if (n == 2) print $1 }')
pids=$(gpu show | grep "^$shared " | grep -o ' [0-9]*=' | tr -d '= ')
pid_of() { # of a job's process on the GPU
  local pid
  for pid in $pids; do grep -qz "^ROTA_JOB_ID=$1\$" "/proc/$pid/environ" && echo "$pid"; done
}
gpu set "$shared" utilization=80
gpu load "$shared" "$(pid_of "$one")" 60
gpu load "$shared" "$(pid_of "$two")" 20
ok "each has the load of its own processes" wait_for 20 told "$one" '.gpu_usage.utilization_percent == 60'
ok "as the other" wait_for 20 told "$two" '.gpu_usage.utilization_percent == 20'
ok "its own memory" told "$one" '.gpu_usage.memory_bytes == 1305 * 1048576'
ok "and its part of the power" told "$two" '.gpu_usage.power_watts == 25'
exec 5>&- 6>&-
ok "they end" wait_state "$two" COMPLETED

# ---- idle for longer than the project allows ----
gpu set all utilization=0
id=$(rsubmit --parsable --kind interactive --project lazy -G 1 -o /dev/null -e idle.err -- sh -c "read -r _ <$test_dir/never.in")
ok "an idle job of a strict project is ended" wait_state "$id" TIMEOUT
like "$(<idle.err)" "^rota: the GPUs of job $id have been idle for 0:0[4-7]; it is ended when they are for 0:08$" "after a word in its output"
is "$(wc -l <idle.err)" 1 "and only one"
like "$(field "$id" reason)" "^its GPUs were idle for 0:(0[89]|1[0-9]), the project allows 0:08$" "and hears why"
like "$(cat "$cluster_dir/log/rctld.log")" "job $id is ended: its GPUs were idle for" "so does the controller's log"
