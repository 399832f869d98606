// testsuite/unit/gpud/devices_test.cpp - real jobs that try to open the GPUs of others.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "gpud/launch/cgroup.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

/// Device files as the driver makes them, and which of them a job could open: a driver that is not
/// there says "no such device" where the kernel let the job through.
class Gates : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs root";
    for (const unsigned minor : {0U, 1U, 2U, 255U}) {
      const std::string file = rgpud.path("nvidia" + std::to_string(minor));
      if (::mknod(file.c_str(), S_IFCHR | 0666, makedev(195, minor)) != 0)
        GTEST_SKIP() << "no device files can be made here";
      ::chmod(file.c_str(), 0666);
      const int fd = ::open(file.c_str(), O_RDWR);
      const int error = fd < 0 ? errno : 0;
      if (fd >= 0) ::close(fd);
      if (error != ENXIO) GTEST_SKIP() << "device files cannot be told apart here";
    }
    NodeFacts& facts = rgpud.facts();
    facts.closes_gpus = true;
    for (const std::uint32_t minor : {0U, 1U, 2U}) {
      Gpu& gpu = facts.gpus.emplace_back();
      gpu.uuid = std::string("GPU-") + "abc"[minor];
      gpu.minor = minor;
    }
  }
  std::string opened(const std::vector<std::string>& gpus, const std::string& more = "") {
    auto launch = rgpud.batch(
        "#!/bin/bash\nfor f in nvidia0 nvidia1 nvidia2 nvidia255 /dev/null; do\n"
        "  if (: <>$f) 2>err || grep -q 'No such device' err; then echo -n \"$f \"; fi\ndone\n" +
        more);
    launch.gpu_uuids = gpus;
    auto step = rgpud.start(launch);
    const std::string end = rgpud.end_of(step);
    return end == "exited 0" ? rgpud.read("out") : end;
  }
  void expect_closed() {
    EXPECT_EQ(opened({"GPU-b"}), "nvidia1 nvidia255 /dev/null ");
    EXPECT_EQ(opened({"GPU-c", "GPU-a"}), "nvidia0 nvidia2 nvidia255 /dev/null ");
    EXPECT_EQ(opened({}), "nvidia255 /dev/null ");
    EXPECT_EQ(opened({"GPU-b"}, "mknod m c 195 0 2>/dev/null && echo made; true"),
              "nvidia1 nvidia255 /dev/null ")
        << "nor may root make a file of its own";
    rgpud.facts().closes_gpus = false;
    EXPECT_EQ(opened({}), "nvidia0 nvidia1 nvidia2 nvidia255 /dev/null ");
  }

  StepHarness rgpud;
};

TEST_F(Gates, AJobOpensItsOwnGpus) {
  if (!rgpud.facts().cgroups.devices_v2) GTEST_SKIP() << rgpud.facts().cgroups.device_trouble;
  expect_closed();
}

TEST_F(Gates, AlsoByTheFirstVersionOfCgroups) {
  const CgroupBase base =
      cgroup_prepare(cgroup_mounts(file_read("/proc/mounts"), "v1"), "rota-test-v1", "n1.gates");
  if (base.devices.empty()) GTEST_SKIP() << base.device_trouble;
  EXPECT_FALSE(base.devices_v2);
  rgpud.facts().cgroups = base;
  expect_closed();
  for (const std::string& directory : {base.tracking, base.memory, base.cpuset, base.devices})
    EXPECT_TRUE(directory.empty() || cgroup_remove(directory.substr(0, directory.rfind('/'))));
}

TEST_F(Gates, WithoutThemItDoesNotStart) {
  rgpud.facts().cgroups.devices.clear();
  EXPECT_EQ(opened({"GPU-b"}),
            "launch_failed by node: cannot confine the job to its GPUs: there is no cgroup to do "
            "it with");
}

}  // namespace
}  // namespace rota::gpud
