#!/bin/bash
# testsuite/t/t3007-fakecuda-numba.t - numba, which knows nothing of Rota, takes the fake for CUDA's driver.
#
# It needs 40 MB of packages, so it is not unpacked for this test but used where it is installed;
# ROTA_TEST_NUMBA may name a folder with python3-numba and all that it needs. It takes any name that ends
# in _v2 for a newer form, so it gets the names of an older driver.
. "$(dirname "$0")/lib.sh"

root=${ROTA_TEST_NUMBA:-}
fakegpu=$top_builddir/testsuite/fakegpu
export SHARE_RUN_DRIVER=$fakegpu/r535/libcuda.so.1
export ROTA_FAKEGPU=$top_srcdir/testsuite/fakegpu/models/dgx1-v100-32gb.yaml
export ROTA_FAKEGPU_NODE=third-party
export ROTA_FAKEGPU_STATE=$test_dir/state
libraries=
if [[ -n $root ]]; then
  export PYTHONPATH=$root/usr/lib/python3/dist-packages
  for folder in "$root"/usr/lib/*-linux-gnu{,/blas,/lapack}; do libraries+=:$folder; done
fi
LD_LIBRARY_PATH=${libraries#:} python3 -c 'import numba.cuda' 2>/dev/null || skip_all "python3-numba is not installed"

cat >"$test_dir/use.py" <<'PYTHON'
import numpy
from numba import cuda

print(len(cuda.gpus.lst))
memory = cuda.current_context().get_memory_info()
print(memory.total >> 20, memory.free >> 20)
numbers = numpy.arange(1000, dtype=numpy.float32)
print((cuda.to_device(numbers).copy_to_host() == numbers).all())
first = cuda.device_array(10 << 30, dtype=numpy.uint8)
try:
    second = cuda.device_array(10 << 30, dtype=numpy.uint8)
    print("both")
except Exception as error:
    print(error)
PYTHON

plan 2
is "$(LD_LIBRARY_PATH=$fakegpu/r535$libraries python3 "$test_dir/use.py" 2>&1)" \
  "$(printf '%s\n' 8 "32510 32205" True both)" "eight GPUs, real copies, two times 10 GiB"
is "$(LD_LIBRARY_PATH=${libraries#:} "$top_builddir/testsuite/unit/gpushim/share_run" 500000 python3 "$test_dir/use.py" 2>&1)" \
  "$(printf '%s\n' 8 "16255 15950" True '[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY')" \
  "with half of each, the second does not fit"
