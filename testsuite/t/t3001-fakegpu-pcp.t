#!/bin/bash
# testsuite/t/t3001-fakegpu-pcp.t - Performance Co-Pilot, which knows nothing of Rota, takes the fake for NVML.
#
# Its NVIDIA agent (Debian: pcp) is used as it is packaged, in pminfo's own process, without its
# daemons: installed, or unpacked by contribs/install-deps. ROTA_TEST_PCP may name another folder
# with the unpacked packages pcp, pcp-conf, libpcp3 and libpcp-pmda3.
. "$(dirname "$0")/lib.sh"

pcp=${ROTA_TEST_PCP:-}
[[ -n $pcp || -x /usr/bin/pminfo ]] || pcp=$(third_party pcp)
agent=$pcp/usr/lib/pcp/pmdas/nvidia
pminfo=$pcp/usr/bin/pminfo
fakegpu=$top_builddir/testsuite/fakegpu
[[ -x $pminfo && -e $agent/pmda_nvidia.so ]] ||
  skip_all "pcp is neither installed nor in $(third_party pcp): contribs/install-deps test"

# The agent looks for the name without a version, as the development link has it.
mkdir "$test_dir/lib"
ln -s "$fakegpu/libnvidia-ml.so.1" "$test_dir/lib/libnvidia-ml.so.1"
ln -s libnvidia-ml.so.1 "$test_dir/lib/libnvidia-ml.so"
libraries=$test_dir/lib
if [[ -n $pcp ]]; then
  libraries+=:$pcp/usr/lib
  sed "s|=/|=$pcp/|" "$pcp/etc/pcp.conf" >"$test_dir/pcp.conf"
  export PCP_CONF=$test_dir/pcp.conf
fi
domain=$(awk '/define NVML/ { print $3 }' "$agent/domain.h")
{ echo 'root { nvidia }'; sed -e '/^\/\*/,/\*\//d' -e "s/NVML:/$domain:/" "$agent/pmns"; } \
  >"$test_dir/pmns"

export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=third-party
export ROTA_FAKEGPU_STATE=$test_dir/state

# metric NAME: its values, one per line; "GPU VALUE" where there is one per GPU.
metric() {
  LD_LIBRARY_PATH=$libraries "$pminfo" -L -K clear \
    -K "add,$domain,$agent/pmda_nvidia.so,nvidia_init" -n "$test_dir/pmns" -f "nvidia.$1" \
    2>"$test_dir/stderr" | sed -n -e 's/^ *inst \[\([0-9]*\) or .*\] value /\1 /p' -e 's/^ *value //p'
}

# all VALUE: a line for each of the eight GPUs.
all() {
  local gpu
  for gpu in {0..7}; do echo "$gpu $1"; done
}

# but GPU VALUE: the lines on input, with another value for one GPU.
but() {
  sed "s/^$1 .*/$1 $2/"
}

plan 13
is "$(metric numcards)" 8 "it finds eight GPUs"
is "$(metric cardname)" "$(all '"Tesla V100-SXM2-32GB"')" "their names"
is "$(metric carduuid | wc -l)" 8 "their UUIDs"
is "$(metric carduuid | tr -d '"')" "$("$fakegpu/rota-fakegpu" show | cut -d' ' -f1,2)" \
  "the same UUIDs as rota-fakegpu shows"
is "$(metric memtotal)" "$(all $((32510 * 1048576)))" "their memory: 32510 MiB"
is "$(metric memused)" "$(all 0)" "none is used"
is "$(metric temperature)" "$(all 34)" "their temperature"
is "$(metric power)" "$(all 43000)" "their power"

"$fakegpu/rota-fakegpu" set 3 utilization=50 memory-used=4GiB temperature=61
"$fakegpu/rota-fakegpu" add-process 3 $$ 1GiB
is "$(metric gpuactive)" "$(all 0 | but 3 50)" "a GPU that works half of the time"
is "$(metric memused)" "$(all 0 | but 3 $((5 << 30)))" "memory used by a process and otherwise"
is "$(metric temperature)" "$(all 34 | but 3 61)" "a warm GPU"
is "$(metric nprocs)" "$(all 0 | but 3 1)" "one process"
unset ROTA_FAKEGPU
metric numcards >/dev/null
like "$(cat "$test_dir/stderr")" "nvmlInit: " "no description: it says that NVML does not start"
