#!/bin/bash
# testsuite/t/t3005-fakecuda-ffmpeg.t - ffmpeg, which knows nothing of Rota, sends pictures through the fake GPU.
#
# Its libraries need a hundred packages, so it is not unpacked for this test but used where it is installed;
# ROTA_TEST_FFMPEG may name a folder with all of them unpacked.
. "$(dirname "$0")/lib.sh"

root=${ROTA_TEST_FFMPEG:-}
fakegpu=$top_builddir/testsuite/fakegpu
share_run=$top_builddir/testsuite/unit/gpushim/share_run
[[ -x $root/usr/bin/ffmpeg ]] || skip_all "ffmpeg is not installed"

mkdir "$test_dir/lib"
ln -s "$fakegpu/libcuda.so.1" "$test_dir/lib/libcuda.so.1"
export LD_LIBRARY_PATH=$test_dir/lib
for folder in "$root"/usr/lib/*-linux-gnu{,/blas,/lapack,/pulseaudio}; do
  [[ -z $root ]] || LD_LIBRARY_PATH+=:$folder
done
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=third-party
export ROTA_FAKEGPU_STATE=$test_dir/state
"$root/usr/bin/ffmpeg" -version >"$test_dir/version" 2>&1 ||
  skip_all "ffmpeg does not start: $(tail -n 1 "$test_dir/version")"

# frames FILTER [COMMAND...]: the checksums of five pictures that went through FILTER, run by COMMAND.
frames() {
  local filter=$1
  shift
  "$@" "$root/usr/bin/ffmpeg" -nostdin -loglevel error -f lavfi -i "testsrc=size=322x240:rate=5:duration=1" \
    -init_hw_device cuda=gpu:0 -filter_hw_device gpu -vf "$filter" -f framemd5 - 2>"$test_dir/stderr" |
    grep -v '^#'
}

plan 5
frames format=nv12 >"$test_dir/here"
is "$(wc -l <"$test_dir/here")" 5 "five pictures without a GPU"
frames format=nv12,hwupload,hwdownload,format=nv12 >"$test_dir/there"
is "$(cat "$test_dir/there")" "$(cat "$test_dir/here")" "the same pictures after the GPU had them"
frames format=nv12,hwupload,hwdownload,format=nv12 "$share_run" 500000 >"$test_dir/there"
is "$(cat "$test_dir/there")" "$(cat "$test_dir/here")" "and after half a GPU had them"
# Its context alone takes 305 MiB.
is "$(frames format=nv12,hwupload,hwdownload,format=nv12 "$share_run" 10000)" \
  "$(cat "$test_dir/here")" "and after a hundredth of a GPU had them"
"$fakegpu/rota-fakegpu" set 0 memory-used=32500MiB
frames format=nv12,hwupload,hwdownload,format=nv12 >/dev/null
like "$(cat "$test_dir/stderr")" "CUDA_ERROR_OUT_OF_MEMORY: out of memory" "a full GPU is out of memory"
