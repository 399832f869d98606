#!/bin/bash
# testsuite/t/t3004-fakecuda-boinc.t - BOINC, which knows nothing of Rota, takes the fake for CUDA's driver.
#
# Its client is used as Debian packages it, unpacked by contribs/install-deps, and only looks for GPUs.
. "$(dirname "$0")/lib.sh"

boinc=$(third_party boinc)
fakegpu=$top_builddir/testsuite/fakegpu
share_run=$top_builddir/testsuite/unit/gpushim/share_run
[[ -x $boinc/usr/bin/boinc ]] || skip_all "boinc is not in $boinc: contribs/install-deps test"

mkdir "$test_dir/lib" "$test_dir/work"
ln -s "$fakegpu/libcuda.so.1" "$test_dir/lib/libcuda.so.1"
ln -s libcuda.so.1 "$test_dir/lib/libcuda.so"
export LD_LIBRARY_PATH=$test_dir/lib:$(echo "$boinc"/usr/lib/*-linux-gnu)
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=third-party
export ROTA_FAKEGPU_STATE=$test_dir/state
"$boinc/usr/bin/boinc" --version >"$test_dir/version" 2>&1 ||
  skip_all "boinc does not start: $(tail -n 1 "$test_dir/version")"

# detect [COMMAND...]: lets it look, run by COMMAND.
detect() {
  rm -f "$test_dir/work/coproc_info.xml"
  (cd "$test_dir/work" && "$@" "$boinc/usr/bin/boinc" --detect_gpus) >"$test_dir/boinc.log" 2>&1
}

# all ELEMENT: its values, one per GPU.
all() {
  sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" "$test_dir/work/coproc_info.xml"
}

plan 10
ok "it looks for GPUs" detect
is "$(all cuda_version)" 12020 "CUDA 12.2"
is "$(all name | sort | uniq -c | awk '{ print $1, $2, $3 }')" "8 Tesla V100-SXM2-32GB" "eight V100"
is "$(all totalGlobalMem | sort -u)" "$((32510 << 20)).000000" "32510 MiB each"
is "$(all available_ram | sort -u)" "$((32205 << 20)).000000" "less a context"
is "$(all multiProcessorCount | sort -u) $(all major | sort -u).$(all minor | sort -u)" "80 7.0" "what they are"
is "$(all bus_id | tr '\n' ' ')" "6 7 10 11 133 134 137 138 " "where they are"

CUDA_VISIBLE_DEVICES=2,4 detect
is "$(all bus_id | tr '\n' ' ')" "10 133 " "only those that it is to see"

detect "$share_run" 300000
is "$(all totalGlobalMem | sort -u)" "$((9753 << 20)).000000" "three tenths of each are 9753 MiB"
is "$(all available_ram | sort -u)" "$((9448 << 20)).000000" "less a context"
