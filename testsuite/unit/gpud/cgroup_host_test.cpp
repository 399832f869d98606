// testsuite/unit/gpud/cgroup_host_test.cpp - which hierarchies are used, and where a run's cgroups
// are.
#include "gpud/launch/cgroup_host.h"

#include <gtest/gtest.h>

namespace rota::gpud {
namespace {

constexpr const char* hybrid =
    "proc /proc proc rw 0 0\n"
    "tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0\n"
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
    "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n"
    "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
    "cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0\n"
    "cgroup /sys/fs/cgroup/devices cgroup rw,devices 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

std::string text_of(const CgroupMounts& mounts) {
  return "v2=" + mounts.v2 + " memory=" + mounts.v1_memory + " cpuset=" + mounts.v1_cpuset +
         " freezer=" + mounts.v1_freezer + " devices=" + mounts.v1_devices;
}

TEST(CgroupHost, FindsBothVersionsOnAHybridHost) {
  EXPECT_EQ(text_of(cgroup_mounts(hybrid, "auto")),
            "v2=/sys/fs/cgroup/unified memory=/sys/fs/cgroup/memory cpuset=/sys/fs/cgroup/cpuset "
            "freezer=/sys/fs/cgroup/freezer devices=/sys/fs/cgroup/devices");
}

TEST(CgroupHost, LooksOnlyForWhatTheConfigurationAllows) {
  EXPECT_EQ(text_of(cgroup_mounts(hybrid, "v2")),
            "v2=/sys/fs/cgroup/unified memory= cpuset= freezer= devices=");
  EXPECT_EQ(text_of(cgroup_mounts(hybrid, "v1")),
            "v2= memory=/sys/fs/cgroup/memory cpuset=/sys/fs/cgroup/cpuset "
            "freezer=/sys/fs/cgroup/freezer devices=/sys/fs/cgroup/devices");
  EXPECT_EQ(text_of(cgroup_mounts(hybrid, "none")), "v2= memory= cpuset= freezer= devices=");
}

TEST(CgroupHost, FindsThePureSecondVersion) {
  EXPECT_EQ(text_of(cgroup_mounts("cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n", "auto")),
            "v2=/sys/fs/cgroup memory= cpuset= freezer= devices=");
}

TEST(CgroupHost, BrokenLinesAreSkipped) {
  EXPECT_EQ(text_of(cgroup_mounts("cgroup2\n\ncgroup2 /x\n", "auto")),
            "v2= memory= cpuset= freezer= devices=");
}

TEST(CgroupHost, EveryRunHasADirectoryOfItsOwn) {
  CgroupBase base;
  base.tracking = base.memory = "/cg/rota/n1.0000abcd";
  base.tracking_v2 = base.memory_v2 = true;
  const CgroupPlan plan = base.plan_for("12.0");
  EXPECT_EQ(plan.tracking, "/cg/rota/n1.0000abcd/12.0");
  EXPECT_EQ(plan.memory, plan.tracking);
  EXPECT_EQ(plan.cpuset, "");
  EXPECT_TRUE(CgroupBase().plan_for("12.0").empty());
}

TEST(CgroupHost, SaysWhatCannotBeConfinedAndWhy) {
  EXPECT_EQ(cgroup_prepare({}, "rota", "n1.0000abcd").trouble,
            "jobs are not confined to their memory and CPUs, and are tracked by their process tree "
            "only (no such cgroup is mounted)");
  EXPECT_EQ(cgroup_prepare({}, "rota", "n1.0000abcd").device_trouble, "no such cgroup is mounted");
  CgroupMounts mounts;
  mounts.v2 = mounts.v1_memory = "/proc/no-such-place";
  EXPECT_EQ(cgroup_prepare(mounts, "rota", "n1.0000abcd").trouble,
            "jobs are not confined to their memory and CPUs, and are tracked by their process tree "
            "only (cannot make /proc/no-such-place/rota: No such file or directory)");
}

}  // namespace
}  // namespace rota::gpud
