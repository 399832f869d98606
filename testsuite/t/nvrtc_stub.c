// testsuite/t/nvrtc_stub.c - a libnvrtc.so that compiles nothing: hashcat wants one before it looks
// at GPUs.

// Their arguments are not looked at, so that none need be declared.
#define STUB(name)                                       \
  __attribute__((visibility("default"))) int name(void); \
  int name(void) { return 1; }
STUB(nvrtcAddNameExpression)
STUB(nvrtcCompileProgram)
STUB(nvrtcCreateProgram)
STUB(nvrtcDestroyProgram)
STUB(nvrtcGetErrorString)
STUB(nvrtcGetLoweredName)
STUB(nvrtcGetPTX)
STUB(nvrtcGetPTXSize)
STUB(nvrtcGetProgramLog)
STUB(nvrtcGetProgramLogSize)

__attribute__((visibility("default"))) int nvrtcVersion(int* major, int* minor);
int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 2;
  return 0;
}
