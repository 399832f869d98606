// testsuite/unit/gpud/health_sources_test.cpp - the kernel's log, processes and programs.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "common/format.h"
#include "gpud/health/kernel_log.h"
#include "gpud/health/program.h"

namespace rota::gpud {
namespace {

using namespace std::chrono_literals;

std::string parsed(std::string_view line) {
  const auto xid = logged_xid_from(line);
  if (!xid) return "none";
  return format("{:x}:{:x}:{:x} {} pid {} line {}", xid->domain, xid->bus, xid->device, xid->xid,
                xid->pid, xid->sequence);
}

TEST(KernelLog, LinesOfTheDriver) {
  EXPECT_EQ(parsed("NVRM: Xid (PCI:0000:06:00): 48, pid=1234, name=python3, An uncorrectable"),
            "0:6:0 48 pid 1234 line 0");
  EXPECT_EQ(
      parsed("4,1289,5140900,-;NVRM: Xid (PCI:0001:af:00): 13, pid='<unknown>', name=<unknown>"),
      "1:af:0 13 pid 0 line 1289");
  EXPECT_EQ(parsed("4,7,99,-,caller=T1;NVRM: Xid (PCI:0000:06:00.0): 79"), "0:6:0 79 pid 0 line 7");
  EXPECT_EQ(parsed("[  12.5] NVRM: Xid (PCI:0000:c3:00): 31, pid='77', name=x"),
            "0:c3:0 31 pid 77 line 0");
  EXPECT_EQ(parsed("NVRM: GPU 0000:06:00.0: GPU has fallen off the bus."), "0:6:0 79 pid 0 line 0");
  EXPECT_EQ(parsed("NVRM: GPU at PCI:0000:06:00: GPU-abc has fallen off the bus"),
            "0:6:0 79 pid 0 line 0");
}

TEST(KernelLog, OtherLines) {
  for (const char* line :
       {"", "usb 1-1: new device", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "NVRM: Xid",
        "NVRM: Xid (PCI:", "NVRM: Xid (PCI:0000:06:00", "NVRM: Xid (PCI:0000:06:00): ",
        "NVRM: Xid (PCI:zz:06:00): 48", "NVRM: Xid (PCI:0000:06:00): 99999999999999",
        "NVRM: GPU has fallen off the bus", "4,1289,5140900,-", "4,1289;", ";;;"})
    EXPECT_EQ(parsed(line), "none") << line;
}

TEST(KernelLog, KnowsTheGpuByItsAddress) {
  const auto xid = logged_xid_from("NVRM: Xid (PCI:0000:c3:00): 31");
  EXPECT_TRUE(is_at(*xid, "00000000:C3:00.0"));
  EXPECT_FALSE(is_at(*xid, "00000001:C3:00.0"));
  EXPECT_FALSE(is_at(*xid, ""));
}

struct Folder {
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "rota-health-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string program(const std::string& name, const std::string& text) const {
    const std::string file = path + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
    chmod(file.c_str(), 0755);
    return file;
  }
  std::string path;
};

TEST(KernelLog, AFifoIsReadLineByLineAndOldLinesAreSkipped) {
  const Folder folder;
  const std::string fifo = folder.path + "/kmsg";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  boost::asio::io_context io;
  std::string seen;
  KernelLog log(io.get_executor(), [&](const LoggedXid& xid) {
    seen += format("{} ", xid.xid);
    if (xid.xid == 95) log.close();
  });
  ASSERT_TRUE(log.open(fifo, 10));
  std::ofstream writer(fifo);
  writer << "4,9,1,-;NVRM: Xid (PCI:0000:06:00): 13\n"
         << "noise\n"
         << std::string(40'000, 'x')
         << "\n4,11,1,-;NVRM: Xid (PCI:0000:06:00): 48\nNVRM: Xid (PCI:00" << std::flush
         << "00:06:00): 95\n"
         << std::flush;
  io.run_for(20s);
  EXPECT_EQ(seen, "48 95 ");
}

TEST(KernelLog, WhatIsNoLogIsAnError) {
  const Folder folder;
  boost::asio::io_context io;
  KernelLog log(io.get_executor(), [](const LoggedXid&) {});
  EXPECT_FALSE(log.open(folder.path + "/none", 0));
  EXPECT_FALSE(log.open(folder.program("file", ""), 0));
}

/// "good", or what is wrong with it.
std::string ran(ProgramOrder order) {
  boost::asio::io_context io;
  std::string text = "never";
  const auto running = run_program(io.get_executor(), std::move(order), [&](Result<void> result) {
    text = result ? "good" : result.error().detail;
    io.stop();
  });
  EXPECT_EQ(text, "never");
  io.run_for(60s);
  return text;
}

TEST(Program, SaysHowItEnded) {
  const Folder folder;
  const std::string good = folder.program("good", "exit 0");
  const std::string bad =
      folder.program("bad", "echo first; echo \"disk is slow: $1\" >&2; exit 3");
  const std::string mute = folder.program("mute", "exit 1");
  const std::string shot = folder.program("shot", "kill -TERM $$");
  EXPECT_EQ(ran({{good}, {}, 10s}), "good");
  EXPECT_EQ(ran({{bad, "sda"}, {}, 10s}), bad + " ended with 3: disk is slow: sda");
  EXPECT_EQ(ran({{mute}, {}, 10s}), mute + " ended with 1");
  EXPECT_TRUE(ran({{shot}, {}, 10s}).starts_with(shot + " ended with 143"));
  EXPECT_NE(ran({{folder.path + "/none"}, {}, 10s}).find("No such file"), std::string::npos);
}

TEST(Program, GetsItsVariablesAndMayTalkALot) {
  const Folder folder;
  const std::string program =
      folder.program("talk", "head -c 1000000 /dev/zero | tr '\\0' 'x'; echo; echo $CUDA; exit 1");
  EXPECT_EQ(ran({{program}, {"CUDA=GPU-1"}, 30s}), program + " ended with 1: GPU-1");
}

TEST(Program, HasALimitThatWhatItLeftDoesNotExtend) {
  const Folder folder;
  const std::string slow = folder.program("slow", "echo waits; read line <> \"$0.never\"");
  ASSERT_EQ(mkfifo((slow + ".never").c_str(), 0600), 0);
  EXPECT_EQ(ran({{slow}, {}, 1s}), slow + " did not end within 1s: waits");
  // It leaves a process behind that holds its output open.
  const std::string leaves = folder.program("leaves", "(read line <> \"$0.never\") & exit 0");
  ASSERT_EQ(mkfifo((leaves + ".never").c_str(), 0600), 0);
  EXPECT_EQ(ran({{leaves}, {}, 2s}), "good");
  std::ofstream(leaves + ".never") << "\n";
}

TEST(Program, IsForgottenWithItsHandle) {
  const Folder folder;
  boost::asio::io_context io;
  auto running = run_program(io.get_executor(), {{folder.program("good", "exit 0")}, {}, 10s},
                             [](Result<void>) { FAIL() << "nobody wants to know"; });
  running.reset();
  io.run_for(10s);
}

}  // namespace
}  // namespace rota::gpud
