#!/bin/bash
# testsuite/t/t3002-fakegpu-rust.t - a program built on the public Rust bindings takes the fake for NVML.
#
# nvml_report.rs is ours; every struct layout and signature that it uses is of the crate
# nvml-wrapper-sys, as Debian packages it. contribs/install-deps unpacks it with its compiler.
. "$(dirname "$0")/lib.sh"

rust=$(third_party rust-nvml)
crates=$rust/usr/share/cargo/registry
fakegpu=$top_builddir/testsuite/fakegpu
[[ -x $rust/usr/bin/rustc ]] || skip_all "no Rust compiler in $rust: contribs/install-deps test"

rustc() {
  LD_LIBRARY_PATH=$(echo "$rust"/usr/lib/*-linux-gnu) "$rust/usr/bin/rustc" --sysroot "$rust/usr" \
    --cap-lints allow --out-dir "$test_dir" -L "$test_dir" "$@"
}

# crate NAME EDITION [NEEDED]: makes it a library.
crate() {
  rustc --crate-type rlib --crate-name "${1//-/_}" --edition "$2" "$crates/$1"-*/src/lib.rs \
    ${3:+--extern "$3=$test_dir/lib$3.rlib"}
}

build() {
  crate cfg-if 2018 && crate libloading 2015 cfg_if && crate nvml-wrapper-sys 2018 libloading &&
    rustc --edition 2021 --extern nvml_wrapper_sys="$test_dir/libnvml_wrapper_sys.rlib" \
      "$top_srcdir/testsuite/t/nvml_report.rs"
}

export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=third-party
export ROTA_FAKEGPU_STATE=$test_dir/state

report() {
  "$test_dir/nvml_report" "$fakegpu/libnvidia-ml.so.1" 2>&1
}

# of GPU WHAT: what the last report says about it.
of() {
  sed -n "s/^$1 $2 //p" "$test_dir/report"
}

plan 20
ok "it builds" build || bail_out "no report without its program"
report >"$test_dir/report"
is "$(grep -c ' name Tesla V100-SXM2-32GB$' "$test_dir/report")" 8 "it finds eight GPUs by name"
is "$(sed -n 's/^\(.\) uuid /\1 /p' "$test_dir/report")" "$("$fakegpu/rota-fakegpu" show | cut -d' ' -f1,2)" \
  "the same UUIDs as rota-fakegpu shows"
is "$(of 2 pci)" "00000000:0A:00.0 a 1db510de" "where a GPU lies on the bus"
is "$(of 0 memory)" "$((32510 << 20)) 0 $((32510 << 20))" "its memory: 32510 MiB, all of it free"
is "$(of 0 memory-v2)" "$((32768 << 20)) $((258 << 20)) 0" "and with what the driver keeps"
is "$(of 7 busy)" 0 "it does nothing"
is "$(of 7 process)" "" "for nobody"
is "$(of 4 cpus)" "f00000fffff00000 000000000000ffff" "the CPUs next to it: 20-39 and 60-79"
is "$(of 1 shares)" "10 0 30 30 50 50 50 50" "what it shares with the others"
is "$(of 0 link | sort | uniq -c | awk '{ print $1, $2 }')" \
  "$(printf '%s\n' '1 00000000:07:00.0' '1 00000000:0A:00.0' '2 00000000:0B:00.0' '2 00000000:85:00.0')" "its NVLinks"

"$fakegpu/rota-fakegpu" set 3 utilization=50 memory-used=4GiB
"$fakegpu/rota-fakegpu" add-process 3 $$ 1GiB
report >"$test_dir/report"
is "$(of 3 busy) of $(of 3 memory | cut -d' ' -f2)" "50 of $((5 << 30))" "a GPU that works half of the time"
is "$(of 3 process)" "$$ $((1 << 30))" "one process and its memory"
"$fakegpu/rota-fakegpu" ecc 6 uncorrected 3
exec {events}< <("$test_dir/nvml_report" "$fakegpu/libnvidia-ml.so.1" events 2>&1)
read -r -t 30 -u "$events" line
"$fakegpu/rota-fakegpu" xid 6 48 instance=5 >/dev/null
read -r -t 30 -u "$events" line
is "$line" "6 xid 8 48 5" "an Xid reaches who waits for events"
read -r -t 30 -u "$events" line
is "$line" "6 errors 3" "and its errors are counted"
exec {events}<&-

# MIG, which only root may change.
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/hgx-h200.yaml ROTA_FAKEGPU_STATE=$test_dir/state-h200
cut() {
  "$test_dir/nvml_report" "$fakegpu/libnvidia-ml.so.1" cut 2 >"$test_dir/cut" 2>&1
}
if ((EUID == 0)); then
  ok "it cuts a GPU" cut
  is "$(sed -n 's/^profile //p' "$test_dir/cut")" "MIG 3g.71gb 9 3 2 71168" "a profile, by its index"
  is "$(sed -n 's/^instance //p' "$test_dir/cut")" "1 9 4:4" "an instance, by its id"
  is "$(sed -n 's/^device MIG-[0-9a-f-]* //p; s/^early //p' "$test_dir/cut")" "60 71168
19" "the device in it, and no end before its own (in use)"
else
  skip 4 "only root cuts GPUs"
fi
unset ROTA_FAKEGPU
is "$(report)" "nvmlInit: NVML says 9" "no description: NVML does not start (the driver is not loaded)"
