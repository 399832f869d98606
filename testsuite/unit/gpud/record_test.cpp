// testsuite/unit/gpud/record_test.cpp - the journal of a run: round trip, damage, names.
#include "gpud/launch/record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

StepOrder sample() {
  StepOrder order;
  order.launch.run = {JobId{12}, 3};
  order.launch.spec.name = "train";
  order.launch.owner = {1000, 100, "ada"};
  order.launch.nodes = {"n1", "n2"};
  order.launch.payload.script = "#!/bin/sh\n";
  order.launch.payload.environment = {"A=1", "B=2"};
  order.cpus = {0, 1, 7};
  order.cpu_list = "0-1,7";
  order.groups = {100, 27};
  order.tasks = {{"/out", "/err", true, false, {"ROTA_PROCID=0"}}};
  order.cgroups = {"/cg/t", true, "/cg/m", false, "/cg/c", false};
  order.boot_id = "boot";
  order.script_path = "/spool/scripts/12.3";
  return order;
}

Fd file_with(const std::string& bytes) {
  Fd file(::memfd_create("record", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

TEST(Record, KeepsOrderStartAndEnd) {
  const Fd file = file_with(record_new(sample()));
  ASSERT_TRUE(record_append(file.get(), RecordStart{WallTime{111}}));
  const RunEnd end{EndCause::timeout, 0, 9, 1234, "too long"};
  ASSERT_TRUE(record_append(file.get(), RecordEnd{end, WallTime{111}}));
  const Record record = record_parse(*record_read(file.get()));
  ASSERT_TRUE(record.order && record.start && record.end);
  EXPECT_EQ(*record.order, sample());
  EXPECT_EQ(record.start->start_time, WallTime{111});
  EXPECT_EQ(record.end->end, end);
}

// A record that is cut anywhere is either whole up to an entry's end or lacks that entry.
TEST(Record, AnyTruncationLosesOnlyTheLastEntry) {
  const std::string order = record_new(sample());
  const Fd file = file_with(order);
  ASSERT_TRUE(record_append(file.get(), RecordEnd{{}, WallTime{5}}));
  const std::string whole = *record_read(file.get());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Record record = record_parse(std::string_view(whole).substr(0, size));
    EXPECT_EQ(record.order.has_value(), size >= order.size()) << size;
    EXPECT_FALSE(record.end) << size;
  }
  EXPECT_TRUE(record_parse(whole).end);
}

TEST(Record, AnyFlippedBitIsNoticed) {
  const std::string whole = record_new(sample());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const Record record = record_parse(damaged);
    // Nothing, or (in the header's type) an entry of an unknown kind; never another order.
    EXPECT_FALSE(record.order.has_value()) << at;
  }
}

TEST(Record, GarbageIsAnEmptyRecord) {
  for (const std::string& bytes : {std::string(), std::string("ROTARUN1"), std::string("nonsense"),
                                   std::string(4096, '\0'), "ROTARUN1" + std::string(64, '\xff')}) {
    const Record record = record_parse(bytes);
    EXPECT_FALSE(record.order || record.start || record.end);
  }
}

TEST(Record, NamesOfRuns) {
  EXPECT_EQ(run_name({JobId{12}, 0}), "12.0");
  EXPECT_EQ(run_from_name("12.0"), (RunId{JobId{12}, 0}));
  EXPECT_EQ(run_from_name("18446744073709551615.4294967295"),
            (RunId{JobId{18446744073709551615u}, 4294967295u}));
  EXPECT_EQ(run_name({JobId{12}, 1, 3}), "12.1.3");
  EXPECT_EQ(run_from_name("12.1.3"), (RunId{JobId{12}, 1, 3}));
  for (const char* name : {"", "12", "12.", ".0", "0.0", "12.0.0", "12.0.", "12.0.1.", "12.0.01",
                           "12.0.tmp", "12.0.1.tmp", "+12.0", "-1.0", "012.0", "12.00",
                           "12.4294967296", "18446744073709551616.0", "12 .0"})
    EXPECT_FALSE(run_from_name(name)) << name;
}

}  // namespace
}  // namespace rota::gpud
