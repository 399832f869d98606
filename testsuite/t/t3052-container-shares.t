#!/bin/bash
# testsuite/t/t3052-container-shares.t - a part of a GPU in a container: the image sees it and is held to it, by CUDA and by NVML,
# whatever copies of the driver it has.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"

have_docker || skip_all "needs root and docker"
have_busybox || skip_all "needs Debian's busybox-static"
user=$top_builddir/testsuite/unit/gpushim/shim_user
fakegpu=$top_builddir/testsuite/fakegpu
[[ -x $user ]] || skip_all "needs testsuite/unit/gpushim/shim_user"

# An image with a C library, a program that uses GPUs, and CUDA's compatibility package with another driver in it.
extra=$test_dir/extra
mkdir -p "$extra"/{lib64,usr/lib/x86_64-linux-gnu,usr/local/cuda-12.4/compat,etc}
cp "$user" "$extra/user"
for library in $(ldd "$user" "$fakegpu/libcuda.so.1" "$fakegpu/libnvidia-ml.so.1" |
  awk '$3 ~ /^\// { print $3 }' | sort -u); do
  cp -L "$library" "$extra/usr/lib/x86_64-linux-gnu/"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$extra/lib64/"
cp -L "$fakegpu/libcuda.so.1" "$extra/usr/local/cuda-12.4/compat/"
image_tar "$test_dir/image.tar"

plan 6
docker_start
dock import "$test_dir/image.tar" gpu:1 >/dev/null || bail_out "docker import fails"
place=/usr/lib/x86_64-linux-gnu
cat >"$test_dir/config.yaml" <<TEXT
node:
  container_gpus: none
  container_runtime: docker
  docker_socket: $test_dir/docker/sock
  container_mounts: $fakegpu/libcuda.so.1:$place/libcuda.so.1,$fakegpu/libnvidia-ml.so.1:$place/libnvidia-ml.so.1
TEXT
cluster_start --nodes 1 --gpus 1 --config "$test_dir/config.yaml"
node=$(node_names)
state=$cluster_dir/nodes/$node/gpu_state
ROTA_FAKEGPU=$(readlink -f "$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml")
export ROTA_FAKEGPU
export ROTA_FAKEGPU_NODE=$node ROTA_FAKEGPU_COUNT=1 ROTA_FAKEGPU_STATE=$state
cd "$test_dir" || exit 1
# use OUT LINES OPTIONS...: a job in the image that uses its GPU as the LINES say; its answers go to OUT.
use() {
  local out=$1 lines=$2
  shift 2
  rsubmit --quiet --wait --image gpu:1 --volume "$ROTA_FAKEGPU" --volume "$state" -o "$out" "$@" -- \
    sh -c "printf '%s\n' $lines | /user" || diag "$(rqueue -a -n -o '%i %T %{reason_detail}' | tail -n 1)"
}

use whole "init 'retain 0' memory" -g 1
is "$(tail -n 1 whole)" "32205 of 32510" "a whole GPU is whole"
use half "init 'retain 0' memory 'alloc 15000' 'alloc 2000'" -g 0.5
is "$(sed -n 4p half)" "15950 of 16255" "half of one is half"
is "$(sed -n 5p half)" 0 "and can be used"
is "$(sed -n 6p half)" 2 "but not more of it: out of memory"
use compat "init 'retain 0' memory" -g 0.5 --env LD_LIBRARY_PATH=/usr/local/cuda-12.4/compat
is "$(tail -n 1 compat)" "15950 of 16255" "the image's own copy of the driver shows no more"
nothing_left() { [[ -z $(ls -d "$cluster_dir/nodes/$node/spool/scripts/"* 2>/dev/null) && -z $(dock ps -aq) ]]; }
ok "nothing of them is left" wait_for 20 nothing_left
