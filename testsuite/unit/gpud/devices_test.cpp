// testsuite/unit/gpud/devices_test.cpp - real jobs that try to open the GPUs of others.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <sstream>

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
    for (const unsigned minor : {0U, 1U, 2U, 255U})
      if (!make_file("nvidia" + std::to_string(minor), 195, minor)) GTEST_SKIP() << trouble;
    NodeFacts& facts = rgpud.facts();
    facts.closes_gpus = true;
    for (const std::uint32_t minor : {0U, 1U, 2U}) {
      Gpu& gpu = facts.gpus.emplace_back();
      gpu.uuid = std::string("GPU-") + "abc"[minor];
      gpu.minor = minor;
    }
  }
  bool make_file(const std::string& name, unsigned major, unsigned minor) {
    const std::string file = rgpud.path(name);
    trouble = "no device files can be made here";
    if (::mknod(file.c_str(), S_IFCHR | 0666, makedev(major, minor)) != 0) return false;
    ::chmod(file.c_str(), 0666);
    const int fd = ::open(file.c_str(), O_RDWR);
    const int error = fd < 0 ? errno : 0;
    if (fd >= 0) ::close(fd);
    trouble = "device files cannot be told apart here";
    return error == ENXIO;
  }
  /// Of character devices that no driver of this kernel has.
  static unsigned unused_major() {
    std::istringstream lines(file_read("/proc/devices"));
    std::set<unsigned> used;
    std::string line;
    while (std::getline(lines, line) && !line.starts_with("Block"))
      used.insert(static_cast<unsigned>(std::strtoul(line.c_str(), nullptr, 10)));
    unsigned major = 60;  // for local use, as are some after it
    while (used.contains(major)) ++major;
    return major;
  }
  std::string opened(const std::vector<std::string>& gpus, const std::string& more = "") {
    auto launch = rgpud.batch(
        "#!/bin/bash\nfor f in nvidia0 nvidia1 nvidia2 nvidia255 $(ls cap* 2>/dev/null) "
        "/dev/null; do\n"
        "  if (: <>$f) 2>err || grep -q 'No such device' err; then echo -n \"$f \"; fi\ndone\n" +
        more);
    launch.gpu_uuids = gpus;
    launch.part.mig.resize(rgpud.instances().size());
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
    EXPECT_TRUE(opened({}).starts_with("nvidia0 nvidia1 nvidia2 nvidia255 "));
  }

  /// Instances 1 and 2 of the second GPU, and the file that allows to cut it.
  void expect_instances_closed() {
    const unsigned major = unused_major();
    for (const unsigned minor : {1U, 30U, 31U, 40U, 41U})
      ASSERT_TRUE(make_file("cap" + std::to_string(minor), major, minor)) << trouble;
    rgpud.facts().caps = MigMinors(
        "config 1\ngpu1/gi1/access 30\ngpu1/gi1/ci0/access 31\ngpu1/gi2/access 40\n"
        "gpu1/gi2/ci0/access 41\n",
        std::to_string(major) + " nvidia-caps\n");
    rgpud.instances() = {{"MIG-x", 1, 2, 0}};
    EXPECT_EQ(opened({}), "nvidia1 nvidia255 cap40 cap41 /dev/null ");
    EXPECT_EQ(opened({"GPU-b"}), "nvidia1 nvidia255 cap40 cap41 /dev/null ");
    rgpud.instances().push_back({"MIG-y", 1, 1, 0});
    EXPECT_EQ(opened({}), "nvidia1 nvidia255 cap30 cap31 cap40 cap41 /dev/null ");
    rgpud.instances().clear();
    EXPECT_EQ(opened({"GPU-b"}), "nvidia1 nvidia255 /dev/null ") << "a whole GPU has no instances";
  }

  StepHarness rgpud;
  std::string trouble;
};

TEST_F(Gates, AJobOpensItsOwnInstances) {
  if (!rgpud.facts().cgroups.devices_v2) GTEST_SKIP() << rgpud.facts().cgroups.device_trouble;
  expect_instances_closed();
}

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
  expect_instances_closed();
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
