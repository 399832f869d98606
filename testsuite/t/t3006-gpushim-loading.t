#!/bin/bash
# testsuite/t/t3006-gpushim-loading.t - the shim loads wherever a driver does: old C libraries, every way
# of linking, NVIDIA's own run time.
. "$(dirname "$0")/lib.sh"

shim=$top_builddir/src/gpushim
fakegpu=$top_builddir/testsuite/fakegpu
share_run=$top_builddir/testsuite/unit/gpushim/share_run
export ROTA_FAKEGPU=$test_dir/node.yaml
export ROTA_FAKEGPU_NODE=loading
export ROTA_FAKEGPU_STATE=$test_dir/state
export ROTA_GPU_JOIN_MS=0
# NVIDIA's run time of 13.0 refuses an older driver.
sed 's/^cuda_version: .*/cuda_version: 13000/' "$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml" \
  >"$ROTA_FAKEGPU"

# versions LIBRARY: the newest version of the C library that it needs.
newest_glibc() {
  objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1
}

# dynamic LIBRARY TAG: values in its dynamic section.
dynamic() {
  readelf -d "$1" | sed -n "s/.*($2).*\[\(.*\)\]/\1/p" | sort | tr '\n' ' '
}

# A program that takes 8000 MiB twice, linked as $1 says, in the file $2.
cat >"$test_dir/twice.c" <<'C'
#include <stdio.h>
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuMemAlloc_v2(unsigned long long*, unsigned long);
int main(void) {
  void* context = 0;
  unsigned long long first = 0, second = 0;
  int started = cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  int one = cuMemAlloc_v2(&first, 8000ul << 20), two = cuMemAlloc_v2(&second, 8000ul << 20);
  printf("%d %d %d\n", started, one, two);
  return 0;
}
C
# The same through dlopen with flags $1, or in another namespace.
cat >"$test_dir/opened.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* context = 0;
  unsigned long long first = 0, second = 0;
  void* library = OPEN;
  if (library == 0) return puts(dlerror());
  int (*init)(unsigned) = dlsym(library, "cuInit");
  int (*retain)(void**, int) = dlsym(library, "cuDevicePrimaryCtxRetain");
  int (*current)(void*) = dlsym(library, "cuCtxSetCurrent");
  int (*take)(unsigned long long*, unsigned long) = dlsym(library, "cuMemAlloc_v2");
  int started = init(0);
  retain(&context, 0);
  current(context);
  int one = take(&first, 8000ul << 20), two = take(&second, 8000ul << 20);
  printf("%d %d %d\n", started, one, two);
  return 0;
}
C
cc=${CC:-gcc}
cc=${cc##* }

# opened EXPRESSION: what a program says that opens the driver by it.
opened() {
  "$cc" -w -DOPEN="$1" -o "$test_dir/opened" "$test_dir/opened.c" -ldl && "$share_run" 500000 "$test_dir/opened"
}

plan 19
for library in libcuda.so.1 libnvidia-ml.so.1; do
  newest=$(newest_glibc "$shim/$library")
  is "$(printf '%s\n' GLIBC_2.17 "$newest" | sort -V | tail -n 1)" GLIBC_2.17 "$library needs no C library after 2.17"
  is "$(dynamic "$shim/$library" SONAME)" "$library " "it has the driver's name"
  is "$(dynamic "$shim/$library" RUNPATH)" "/run/rota/drv " "it looks for the real one in a place of ours"
done
is "$(dynamic "$shim/libcuda.so.1" NEEDED)" "libc.so.6 librota_real_cuda.so " "it needs that and the C library, no more"
is "$(dynamic "$shim/libnvidia-ml.so.1" NEEDED)" "libc.so.6 librota_real_nvml.so " "so does NVML's"
is "$(nm -D --defined-only "$shim/libcuda.so.1" | awk '$3 !~ /^cu[A-Z]/ { print $3 }')" "" "it exports CUDA's names only"
is "$(nm -D --defined-only "$shim/libnvidia-ml.so.1" | awk '$3 !~ /^nvml[A-Z]/ { print $3 }')" "" "and NVML's"

if command -v "$cc" >/dev/null; then
  "$cc" -o "$test_dir/twice" "$test_dir/twice.c" -L"$fakegpu" -l:libcuda.so.1
  is "$("$share_run" 500000 "$test_dir/twice")" "0 0 2" "a program linked with the driver has its share"
  is "$(LD_BIND_NOW=1 "$share_run" 500000 "$test_dir/twice")" "0 0 2" "also when all is bound at once"
  is "$(opened 'dlopen("libcuda.so.1", RTLD_LAZY)')" "0 0 2" "one that opens it"
  is "$(opened 'dlopen("libcuda.so", RTLD_NOW|RTLD_GLOBAL)')" "0 0 2" "by the other name, for all"
  is "$(opened 'dlopen("libcuda.so.1", RTLD_NOW|RTLD_DEEPBIND)')" "0 0 2" "with its own names first"
  is "$(opened 'dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW)')" "0 0 2" "in a namespace of its own"
else
  skip 6 "no C compiler"
fi

# NVIDIA's run time asks for private tables that no fake has; up to there it must come, and what it has
# asked for by then must be ours: without a daemon it hears so.
cuda=${ROTA_TEST_CUDA:-/usr/local/cuda}
if [[ -e $cuda/include/cuda_runtime_api.h && -e $cuda/lib64/libcudart_static.a ]]; then
  cat >"$test_dir/runtime.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void) {
  int version = 0, count = -1;
  cudaDriverGetVersion(&version);
  printf("%d ", version);
  printf("%d\n", cudaGetDeviceCount(&count));
  return 0;
}
C
  "$cc" -I"$cuda/include" -o "$test_dir/shared" "$test_dir/runtime.c" -L"$cuda/lib64" -lcudart -Wl,-rpath,"$cuda/lib64"
  "$cc" -I"$cuda/include" -o "$test_dir/static" "$test_dir/runtime.c" "$cuda/lib64/libcudart_static.a" -ldl -lrt -lpthread -lstdc++
  mkdir "$test_dir/alone"
  ln -s "$shim/libcuda.so.1" "$test_dir/alone/"
  ln -s "$fakegpu/libcuda.so.1" "$test_dir/alone/librota_real_cuda.so"
  is "$("$share_run" 500000 "$test_dir/shared")" "13000 801" "the shared CUDA run time comes as far as without us"
  is "$("$share_run" 500000 "$test_dir/static")" "13000 801" "so does the static one"
  is "$(LD_LIBRARY_PATH=$test_dir/alone "$test_dir/static")" "13000 802" "it starts the driver through us"
else
  skip 3 "no CUDA toolkit in $cuda"
fi
