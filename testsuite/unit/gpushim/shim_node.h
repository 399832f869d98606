// testsuite/unit/gpushim/shim_node.h - jobs that share fake GPUs, and their processes, for a test.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpud/inventory/nvml.h"
#include "gpud/share/door.h"
#include "inventory_fake_node.h"

namespace rota::gpud {

/// One job's share: the folder that its processes find their libraries in, and who counts.
class ShareJob {
 public:
  explicit ShareJob(std::vector<GpuShare> shares) {
    link("libcuda.so.1", TEST_GPUSHIM_DIR "/libcuda.so.1");
    link("libnvidia-ml.so.1", TEST_GPUSHIM_DIR "/libnvidia-ml.so.1");
    link(rota_share_real_cuda, TEST_FAKEGPU_DIR "/libcuda.so.1");
    link(rota_share_real_nvml, TEST_FAKEGPU_LIBRARY);
    door_ = ShareDoor::open(folder_.path(rota_share_socket), getuid(), std::move(shares)).value();
  }
  void link(const std::string& name, const std::string& target) {
    std::filesystem::remove(folder_.path(name));
    std::filesystem::create_symlink(target, folder_.path(name));
  }
  std::string folder() const { return folder_.path(""); }
  ShareDoor& door() { return *door_; }
  void close_door() { door_.reset(); }
  bool has_door() const { return door_ != nullptr; }

 private:
  TestFolder folder_;
  std::unique_ptr<ShareDoor> door_;
};

/// A process of a job: shim_user, which does as it is told. Killed at the end.
class ShareUser {
 public:
  ShareUser(ShareJob& job, std::vector<ShareJob*> jobs) : jobs_(std::move(jobs)) {
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) abort();
    const std::string libraries = job.folder();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(down[0], 0);
      dup2(up[1], 1);
      setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
      setenv("ROTA_GPU_JOIN_MS", "0", 1);
      execl(TEST_SHIM_USER, TEST_SHIM_USER, nullptr);
      _exit(127);
    }
    in_ = Fd(down[1]);
    out_ = Fd(up[0]);
    close(down[0]);
    close(up[1]);
    answer();
  }
  ~ShareUser() { kill(); }
  ShareUser(const ShareUser&) = delete;
  ShareUser& operator=(const ShareUser&) = delete;

  pid_t pid() const { return pid_; }
  void tell(const std::string& line) {
    const std::string text = line + "\n";
    if (write(in_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) abort();
  }
  /// One line of its output, while the jobs' doors are served; "" when it has ended.
  std::string answer() {
    std::string line;
    for (;;) {
      std::vector<pollfd> waiting = {{out_.get(), POLLIN, 0}};
      for (ShareJob* job : jobs_)
        if (job->has_door()) waiting.push_back({job->door().fd(), POLLIN, 0});
      if (poll(waiting.data(), waiting.size(), 60'000) <= 0) return "no answer in a minute";
      for (ShareJob* job : jobs_)
        if (job->has_door()) job->door().serve();
      char c = 0;
      while (waiting[0].revents != 0) {
        if (read(out_.get(), &c, 1) != 1 || c == '\n') return line;
        line += c;
        if (poll(waiting.data(), 1, 0) <= 0) break;
      }
    }
  }
  std::string ask(const std::string& line) {
    tell(line);
    return answer();
  }
  /// The answers to several lines, with a space between them.
  std::string ask_all(const std::vector<std::string>& lines) {
    std::string answers;
    for (const std::string& line : lines) answers += (answers.empty() ? "" : " ") + ask(line);
    return answers;
  }
  /// kill -9, and everybody has noticed.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (ShareJob* job : jobs_)
      if (job->has_door()) job->door().serve();
    pid_ = 0;
  }

 private:
  std::vector<ShareJob*> jobs_;
  pid_t pid_ = 0;
  Fd in_;
  Fd out_;
};

/// The node as the daemon sees it: the driver itself, behind no shim.
class ShareNode {
 public:
  explicit ShareNode(const std::string& model = "dgx1-v100-32gb")
      : fake_(model), nvml_(Nvml::open(fake_library).value()), gpus_(nvml_->gpus().value()) {
    unsetenv("CUDA_VISIBLE_DEVICES");
  }

  GpuShare share(std::uint32_t millionths, std::size_t gpu = 0) const {
    return {gpus_[gpu].uuid, share_limit(gpus_[gpu].memory_bytes, millionths, 0), 305ull << 20};
  }
  std::vector<GpuProcess> processes(std::size_t gpu = 0) const {
    return nvml_->processes(gpus_[gpu].uuid).value();
  }
  std::uint64_t held_mib(std::size_t gpu = 0) const {
    std::uint64_t bytes = 0;
    for (const GpuProcess& process : processes(gpu)) bytes += process.memory_bytes;
    return bytes >> 20;
  }
  /// The most that was in use at once: the driver writes it down at every allocation.
  std::uint64_t high_mib(std::size_t gpu = 0) const {
    const std::string command = fake_tool + " high " + std::to_string(gpu);
    std::uint64_t bytes = 0;
    FILE* output = popen(command.c_str(), "r");
    if (output == nullptr || fscanf(output, "%" SCNu64, &bytes) != 1) abort();
    pclose(output);
    return bytes >> 20;
  }

 private:
  FakeNode fake_;
  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
};

}  // namespace rota::gpud
