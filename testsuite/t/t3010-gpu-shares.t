#!/bin/bash
# testsuite/t/t3010-gpu-shares.t - jobs with a part of a GPU on a real node: what they see, what they get,
# and what becomes of one that takes more.
. "$(dirname "$0")/lib.sh"

fakegpu=$top_builddir/testsuite/fakegpu
user=$top_builddir/testsuite/unit/gpushim/shim_user
plan 18
cluster_start --nodes 1 --gpus 2
node=$(node_names)

# Of the node's fake driver, which a job's processes open by its name, as they would a real one.
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=2 ROTA_FAKEGPU_STATE=$cluster_dir/nodes/$node/gpu_state
export LD_LIBRARY_PATH=$fakegpu
cd "$test_dir" || exit 1

field() {
  rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"
}

# use OUT FRACTION LINES [OPTIONS]: a job that uses its GPU as the LINES say; its answers go to OUT.
use() {
  local out=$1 fraction=$2 lines=$3
  shift 3
  rsubmit --quiet -o "$out" -g "$fraction" "$@" -- sh -c "printf '%s\n' $lines | '$user'"
}

use half 0.5 "init 'total 0' 'retain 0' memory 'nvml 0' 'alloc 15951' 'alloc 15950' memory" --wait
is "$(sed -n 3p half)" "0 17044602880" "half of a V100-32GB is a GPU of 17044602880 bytes"
is "$(sed -n 5p half)" "15950 of 16255" "CUDA shows 16255 MiB"
is "$(sed -n 6p half)" "15950 of 16255, 15950 of 16255" "so does NVML"
is "$(sed -n 7,8p half | tr '\n' ' ')" "2 0 " "and out of memory is where they end"
is "$(sed -n 9p half)" "0 of 16255" "then nothing is left"

use memory 1 "init 'retain 0' memory" --wait
is "$(sed -n 4p memory)" "32205 of 32510" "a whole GPU is left alone"
rsubmit --quiet --wait -o mib --gpu-memory 4096M -- sh -c "printf '%s\n' init 'retain 0' memory | '$user'"
is "$(sed -n 4p mib)" "3791 of 4096" "so many MiB are so many MiB"

# Two jobs on one GPU: each holds its pipe open until both have looked.
mkfifo one.in two.in
for job in one two; do
  rsubmit --quiet -o "$job" -g 0.5 -- sh -c "'$user' <$test_dir/$job.in"
done
exec 5<>one.in 6<>two.in
for line in init "retain 0" "alloc 15000" memory "processes 0"; do
  echo "$line" >&5
  echo "$line" >&6
done
# answered FILE LINES: the job has written so many lines.
answered() {
  [[ $(wc -l <"$1") -ge $2 ]]
}
wait_for 30 answered one 6
wait_for 30 answered two 6
is "$(rqueue -n -o %T | sort | uniq -c | awk '{ print $1, $2 }')" "2 RUNNING" "two halves run at once"
is "$("$fakegpu/rota-fakegpu" show | awk '{ n = 0; for (i = 1; i <= NF; i++) n += $i ~ /^[0-9]+=/; print n }' | sort -n | paste -sd' ')" \
  "0 2" "on one GPU"
for job in one two; do
  is "$(sed -n 5,6p "$job" | paste -sd' ')" "950 of 16255 0 1" "job $job sees its own memory and process only"
done
# rstepd keeps the door: who joins while rgpud is dead is counted too.
daemon_kill "$node" KILL
for line in exec init "retain 0" memory; do echo "$line" >&5; done
wait_for 30 answered one 10
is "$(sed -n 8,10p one | paste -sd' ')" "0 0 15950 of 16255" "a share outlives rgpud"
cluster_resume 5>&- 6>&-  # the daemons must not hold the jobs' pipes
exec 5>&- 6>&-
all_ended() {
  [[ -z $(rqueue -n -o %i) ]]
}
wait_for 30 all_ended
is "$(find "$cluster_dir"/nodes/*/spool/scripts -name '*.gpu')" "" "nothing is left of their shares"

# A program that goes past us: it opens the driver itself, under a name that nobody covers.
cp "$fakegpu/libcuda.so.1" "$test_dir/own.so"
cat >own.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  void *library = dlopen(argv[1], RTLD_NOW), *context = 0;
  unsigned long long pointer = 0;
  ((int (*)(unsigned))dlsym(library, "cuInit"))(0);
  ((int (*)(void**, unsigned, int))dlsym(library, "cuCtxCreate_v2"))(&context, 0, 0);
  printf("%d\n", ((int (*)(unsigned long long*, unsigned long))dlsym(library, "cuMemAlloc_v2"))(&pointer, 20000ul << 20));
  fflush(stdout);
  pause();
}
C
cc=${CC:-gcc}
if "${cc##* }" -w -o own own.c -ldl 2>/dev/null; then
  id=$(rsubmit --parsable -o thief -g 0.5 -- "$test_dir/own" "$test_dir/own.so")
  wait_state "$id" OUT_OF_MEMORY 30
  is "$(cat thief)" 0 "a program that goes past the shim gets its memory"
  is "$(state_of "$id")" OUT_OF_MEMORY "but not for long"
  like "$(field "$id" reason)" "^it held 20305 MiB of GPU-.*, and its share is 16255 MiB" "and hears why"
else
  skip 3 "no C compiler"
fi

# An environment that does not show the share is no place to start in.
cp "$fakegpu/libcuda.so.1" "$test_dir/libcuda.so.1"
id=$(LD_LIBRARY_PATH=$test_dir rsubmit --parsable -o past -g 0.5 -- echo it runs)
if [[ $(cat "$cluster_dir/log/$node.log") == *"no right to mount"* ]]; then
  skip 2 "no right to mount here: LD_LIBRARY_PATH leads to us before it leads elsewhere"
else
  refused() {
    [[ $(field "$id" reason) == StartFailed ]]
  }
  wait_for 30 refused
  like "$(field "$id" reason_detail)" "cannot give it a part of a GPU: CUDA shows 32510 MiB of GPU-.*, and its share is 16255 MiB" \
    "where another driver comes first, the probe refuses the start"
  rcancel "$id" >/dev/null 2>&1
  is "$(cat past 2>/dev/null)" "" "and nothing has run"
fi
