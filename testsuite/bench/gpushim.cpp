// testsuite/bench/gpushim.cpp - what the shim adds to an allocation and to a free, with 1 to 64
// processes of the job.
//
// In front of a driver that does nothing, against that driver alone; the best of several rounds, as
// other processes of the machine can only make one slower.
#include <dlfcn.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "gpud/share/door.h"

namespace rota::gpud {
namespace {

constexpr double promised_ns = 300;
using Take = int (*)(unsigned long long*, std::size_t);
using Give = int (*)(unsigned long long);

struct Times {
  double take_ns = 1e9;
  double give_ns = 1e9;
};

/// Takes `held` pieces and frees them again, many times over.
Times measure(void* library) {
  constexpr int rounds = 200, held = 2000;
  const auto take = reinterpret_cast<Take>(dlsym(library, "cuMemAlloc_v2"));
  const auto give = reinterpret_cast<Give>(dlsym(library, "cuMemFree_v2"));
  std::vector<unsigned long long> pieces(held);
  Times best;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (auto& piece : pieces)
      if (take(&piece, 4096) != 0) std::exit(1);
    const auto middle = std::chrono::steady_clock::now();
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
      if (give(*piece) != 0) std::exit(1);
    const auto end = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::nano> taking = middle - begin, giving = end - middle;
    best.take_ns = std::min(best.take_ns, taking.count() / held);
    best.give_ns = std::min(best.give_ns, giving.count() / held);
  }
  return best;
}

/// In the process that the loader has given the proxy to.
int user(const char* driver, const char* processes) {
  void* shim = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* bare = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  if (bare == nullptr || shim == nullptr) {
    std::fprintf(stderr, "gpushim: %s\n", dlerror());
    return 1;
  }
  if (reinterpret_cast<int (*)(unsigned int)>(dlsym(shim, "cuInit"))(0) != 0) return 1;
  const Times without = measure(bare), with = measure(shim);
  const double take = with.take_ns - without.take_ns, give = with.give_ns - without.give_ns;
  std::printf(
      "shim, job of %2s processes: an allocation +%.0f ns, a free +%.0f ns  %s (< %.0f ns)\n",
      processes, take, give, take < promised_ns ? "ok" : "MISSED", promised_ns);
  return 0;
}

int host(const std::string& self, std::uint32_t processes) {
  std::string pattern = std::filesystem::temp_directory_path() / "rota-gpushim-XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern.data());
  std::filesystem::create_symlink(BENCH_GPUSHIM "/libcuda.so.1", folder / "libcuda.so.1");
  std::filesystem::create_symlink(BENCH_NULL_CUDA, folder / rota_share_real_cuda);
  const GpuShare share{"GPU-11111111-1111-1111-1111-111111111111", 16ull << 30, 0};
  auto door = ShareDoor::open(folder / rota_share_socket, getuid(), {share});
  if (!door) {
    std::fprintf(stderr, "gpushim: %s\n", door.error().message().c_str());
    return 1;
  }
  // The others of the job only have their slots, which every allocation looks at.
  for (std::uint32_t i = 1; i < processes; ++i) (*door)->books().join(1'000'000 + i);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("LD_LIBRARY_PATH", folder.c_str(), 1);
    execl(self.c_str(), self.c_str(), BENCH_NULL_CUDA, std::to_string(processes).c_str(), nullptr);
    _exit(127);
  }
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd waiting[] = {{process.get(), POLLIN, 0}, {(*door)->fd(), POLLIN, 0}};
  while (waiting[0].revents == 0) {
    if (poll(waiting, std::size(waiting), -1) > 0) (*door)->serve();
  }
  int status = 0;
  waitpid(pid, &status, 0);
  std::filesystem::remove_all(folder);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace rota::gpud

int main(int argc, char** argv) {
  if (argc == 3) return rota::gpud::user(argv[1], argv[2]);
  for (const std::uint32_t processes : {1u, 8u, 64u}) {
    const int code = rota::gpud::host(std::filesystem::read_symlink("/proc/self/exe"), processes);
    if (code != 0) return code;
  }
  return 0;
}
