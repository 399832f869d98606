// testsuite/unit/gpushim/share_run.cpp - share_run: a program with a part of every GPU of the fake
// node.
//
// usage: share_run MILLIONTHS COMMAND [ARGUMENT...]
// SHARE_RUN_DRIVER may name another fake libcuda.so.1, such as an older one's.
// The program finds the proxies first on LD_LIBRARY_PATH, under the names with and without a
// version; a share is counted for it until it ends. Exit code: the program's.
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "shim_node.h"

namespace rota::gpud {
namespace {

int run(std::uint32_t millionths, char** command) {
  auto nvml = Nvml::open(fake_library);
  if (!nvml) {
    std::fprintf(stderr, "share_run: %s\n", nvml.error().message().c_str());
    return 125;
  }
  std::vector<GpuShare> shares;
  for (const Gpu& gpu : (*nvml)->gpus().value()) {
    shares.push_back({gpu.uuid, share_limit(gpu.memory_bytes, millionths, 0), 305ull << 20});
  }
  ShareJob job(std::move(shares));
  job.link("libcuda.so", TEST_GPUSHIM_DIR "/libcuda.so.1");
  job.link("libnvidia-ml.so", TEST_GPUSHIM_DIR "/libnvidia-ml.so.1");
  if (const char* driver = std::getenv("SHARE_RUN_DRIVER")) job.link(rota_share_real_cuda, driver);
  const char* others = std::getenv("LD_LIBRARY_PATH");
  const std::string libraries = job.folder() + (others != nullptr ? std::string(":") + others : "");
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(127);
  }
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  for (;;) {
    pollfd waiting[] = {{process.get(), POLLIN, 0}, {job.door().fd(), POLLIN, 0}};
    if (poll(waiting, std::size(waiting), -1) < 0) continue;
    job.door().serve();
    if (waiting[0].revents != 0) break;
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace
}  // namespace rota::gpud

int main(int argc, char** argv) {
  const long millionths = argc > 2 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (millionths <= 0 || millionths > 1'000'000) {
    std::fputs("usage: share_run MILLIONTHS COMMAND [ARGUMENT...]\n", stderr);
    return 125;
  }
  return rota::gpud::run(static_cast<std::uint32_t>(millionths), argv + 2);
}
