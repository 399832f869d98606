#!/bin/bash
# testsuite/t/t3003-fakecuda-hashcat.t - hashcat, which knows nothing of Rota, takes the fakes for a driver.
#
# It is used as Debian packages it, unpacked by contribs/install-deps, and only asked what GPUs it sees:
# of the fake CUDA driver and NVML, and then with half of each GPU, through the shim.
. "$(dirname "$0")/lib.sh"

hashcat=$(third_party hashcat)
fakegpu=$top_builddir/testsuite/fakegpu
share_run=$top_builddir/testsuite/unit/gpushim/share_run
[[ -x $hashcat/usr/bin/hashcat ]] || skip_all "hashcat is not in $hashcat: contribs/install-deps test"

# It looks for its files beside itself, and for a compiler of kernels before it looks for GPUs.
mkdir "$test_dir/hashcat" "$test_dir/lib" "$test_dir/home"
cp "$hashcat/usr/bin/hashcat" "$test_dir/hashcat/"
ln -s "$hashcat"/usr/share/hashcat/* "$test_dir/hashcat/"
ln -s "$top_builddir/testsuite/t/nvrtc_stub.so" "$test_dir/lib/libnvrtc.so"
ln -s "$fakegpu/libcuda.so.1" "$fakegpu/libnvidia-ml.so.1" "$test_dir/lib/"
ln -s libcuda.so.1 "$test_dir/lib/libcuda.so"
ln -s libnvidia-ml.so.1 "$test_dir/lib/libnvidia-ml.so"

export HOME=$test_dir/home
export LD_LIBRARY_PATH=$test_dir/lib:$(echo "$hashcat"/usr/lib/*-linux-gnu)
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=third-party
export ROTA_FAKEGPU_STATE=$test_dir/state
"$test_dir/hashcat/hashcat" --version >"$test_dir/version" 2>&1 ||
  skip_all "hashcat does not start: $(tail -n 1 "$test_dir/version")"

# report [COMMAND...]: what it says of GPUs, run by COMMAND.
report() {
  (cd "$test_dir" && "$@" "$test_dir/hashcat/hashcat" -I) 2>&1
}

# of GPU WHAT: from the last report; the first GPU is 1.
of() {
  awk -v gpu="#$1" -v what="$2" '/Backend Device ID/ { here = $4 == gpu } here && index($1, what) == 1 {
    sub(/^[^:]*: /, ""); print }' "$test_dir/report"
}

plan 9
report >"$test_dir/report"
is "$(sed -n 's/^CUDA.Version.: //p' "$test_dir/report")" 12.2 "it finds CUDA 12.2"
is "$(grep -c 'Tesla V100-SXM2-32GB' "$test_dir/report")" 8 "and eight V100"
is "$(of 3 Memory.Total)" "32510 MB" "with 32510 MiB each"
is "$(of 3 Memory.Free)" "32205 MB" "of which its own context takes some"
is "$(of 3 PCI.Addr)" "0000:0a:00.0" "each on its place of the bus"

"$fakegpu/rota-fakegpu" add-process 1 $$ 20000MiB
report >"$test_dir/report"
is "$(of 2 Memory.Free)" "12205 MB" "memory that another process holds is not free"
"$fakegpu/rota-fakegpu" remove-process 1 $$

report "$share_run" 500000 >"$test_dir/report"
is "$(of 1 Memory.Total)" "16255 MB" "with half of each GPU it sees 16255 MiB"
is "$(of 1 Memory.Free)" "15950 MB" "less its context"
unset ROTA_FAKEGPU
report >"$test_dir/report"
unlike "$(cat "$test_dir/report")" "V100" "without a description there is no GPU"
