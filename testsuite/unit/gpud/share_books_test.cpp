// testsuite/unit/gpud/share_books_test.cpp - slots, and what follows from what the driver says.
#include <gtest/gtest.h>

#include <memory>

#include "gpud/share/books.h"

namespace rota::gpud {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr char uuid[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";

struct Tables {
  std::unique_ptr<RotaRules> rules = std::make_unique<RotaRules>();
  std::unique_ptr<RotaCounts> counts = std::make_unique<RotaCounts>();
  ShareBooks books{*rules, *counts, {{uuid, 1000 * mib, 300 * mib}}};

  std::uint64_t& count(ShareSlot slot) { return counts->slots[slot.number].bytes[0]; }
  std::uint64_t excess_mib(ShareSlot slot) const { return rules->excess[0][slot.number] / mib; }
  std::optional<ShareBreach> sample(std::vector<GpuProcess> held,
                                    std::vector<std::uint32_t> ours = {}) {
    books.before_sample();
    return books.sample({std::move(held)}, [ours](std::uint32_t pid) {
      return std::find(ours.begin(), ours.end(), pid) != ours.end();
    });
  }
};

TEST(ShareLimit, IsRoundedDownToBytes) {
  EXPECT_EQ(share_limit(34'089'730'048, 500'000, 0), 17'044'865'024);  // V100-32GB: 16,255 MiB
  EXPECT_EQ(share_limit(23'028 * mib, 300'000, 0) / mib, 6'908);       // A10
  EXPECT_EQ(share_limit(10, 333'333, 0), 3);
  EXPECT_EQ(share_limit(34'089'730'048, 0, 0), 34'089'730'048);
  EXPECT_EQ(share_limit(34'089'730'048, 0, 20'480), 20'480 * mib);
  EXPECT_EQ(share_limit(10 * mib, 0, 20), 10 * mib);  // never more than there is
  EXPECT_EQ(share_limit(1ull << 50, 999'999, 0), 1'125'898'780'942'717);
}

TEST(ShareUuid, AsBytes) {
  const auto bytes = uuid_bytes(uuid);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ((*bytes)[0], 0x01);
  EXPECT_EQ((*bytes)[15], 0xEF);
  EXPECT_TRUE(uuid_bytes("GPU-0123456789ABCDEF0123456789abcdef").has_value());
  for (const char* bad : {"", "GPU-", "MIG-01234567-89ab-cdef-0123-456789abcdef",
                          "GPU-01234567-89ab-cdef-0123-456789abcde", "GPU-x1234567",
                          "GPU-01234567-89ab-cdef-0123-456789abcdef0"}) {
    EXPECT_FALSE(uuid_bytes(bad).has_value()) << bad;
  }
}

TEST(ShareBooks, SlotsAreGivenAndTakenBack) {
  Tables t;
  const ShareSlot one = *t.books.join(11), two = *t.books.join(12);
  EXPECT_EQ(t.rules->slot_high, 2);
  t.count(one) = 5 * mib;
  t.books.died(one);
  EXPECT_EQ(t.count(one), 0);
  EXPECT_EQ(t.rules->pids[one.number], 0);
  EXPECT_EQ(t.rules->pids[two.number], 12);
  const ShareSlot three = *t.books.join(13);
  EXPECT_EQ(three.number, one.number);
  // Late news of the first owner does nothing to the second.
  t.count(three) = 7 * mib;
  t.books.died(one);
  EXPECT_EQ(t.count(three), 7 * mib);
}

TEST(ShareBooks, ThereIsAnEndOfSlots) {
  Tables t;
  for (std::uint32_t i = 0; i < rota_region_slot_max; ++i) ASSERT_TRUE(t.books.join(100 + i));
  EXPECT_FALSE(t.books.join(99).has_value());
  EXPECT_EQ(t.books.slots_used(), std::uint32_t{rota_region_slot_max});
}

TEST(ShareBooks, AHungUpSlotStaysWhileTheDriverKnowsTheProcess) {
  Tables t;
  const ShareSlot slot = *t.books.join(11);
  t.count(slot) = 100 * mib;
  t.books.hung_up(slot);
  t.sample({{11, 100 * mib}});
  EXPECT_EQ(t.count(slot), 100 * mib);
  t.sample({{12, 100 * mib}});
  EXPECT_EQ(t.count(slot), 0);
  EXPECT_EQ(t.books.slots_used(), 0);
}

TEST(ShareBooks, ExcessIsTheSmallerOfTwoSamples) {
  Tables t;
  const ShareSlot slot = *t.books.join(11);
  t.count(slot) = 300 * mib;
  t.sample({{11, 450 * mib}});
  EXPECT_EQ(t.excess_mib(slot), 0);
  t.sample({{11, 400 * mib}});
  EXPECT_EQ(t.excess_mib(slot), 100);
  t.sample({{11, 460 * mib}});
  EXPECT_EQ(t.excess_mib(slot), 100);
  t.sample({{11, 300 * mib}});
  EXPECT_EQ(t.excess_mib(slot), 0);
}

// It frees while the driver is asked, which still saw it all: that is no excess.
TEST(ShareBooks, WhatIsFreedDuringASampleIsNoExcess) {
  Tables t;
  const ShareSlot slot = *t.books.join(11);
  for (int i = 0; i < 3; ++i) {
    t.count(slot) = 500 * mib;
    t.books.before_sample();
    t.count(slot) = 100 * mib;
    t.books.sample({{{11, 500 * mib}}}, [](std::uint32_t) { return false; });
    EXPECT_EQ(t.excess_mib(slot), 0);
  }
}

// Two slots of one process, by exec: what the driver says is the newer one's.
TEST(ShareBooks, TheNewestSlotOfAProcessCounts) {
  Tables t;
  const ShareSlot old = *t.books.join(11), young = *t.books.join(11);
  t.sample({{11, 50 * mib}});
  t.sample({{11, 50 * mib}});
  EXPECT_EQ(t.excess_mib(old), 0);
  EXPECT_EQ(t.excess_mib(young), 50);
}

TEST(ShareBooks, ProcessesWithoutASlotCountForTheJob) {
  Tables t;
  t.sample({{21, 200 * mib}, {22, 70 * mib}, {23, 5 * mib}}, {21, 22});
  EXPECT_EQ(t.rules->gpus[0].stray_bytes, 270 * mib);
  t.sample({{23, 5 * mib}}, {21, 22});
  EXPECT_EQ(t.rules->gpus[0].stray_bytes, 0);
}

TEST(ShareBooks, ThreeSamplesOverTheMarginAreABreach) {
  EXPECT_EQ(ShareBooks::tolerated(1000 * mib), 1256 * mib);
  EXPECT_EQ(ShareBooks::tolerated(20'000 * mib), 20'400 * mib);
  EXPECT_EQ(ShareBooks::tolerated(rota_region_no_limit), rota_region_no_limit);
  Tables t;
  t.books.join(11);
  const std::vector<GpuProcess> over = {{11, 1000 * mib}, {12, 257 * mib}, {13, 900 * mib}};
  EXPECT_EQ(t.sample(over, {12}), std::nullopt);
  EXPECT_EQ(t.sample(over, {12}), std::nullopt);
  EXPECT_EQ(t.sample({{11, 1256 * mib}}), std::nullopt);  // within the margin: counted anew
  EXPECT_EQ(t.sample(over, {12}), std::nullopt);
  EXPECT_EQ(t.sample(over, {12}), std::nullopt);
  EXPECT_EQ(t.sample(over, {12}), (ShareBreach{uuid, 1257 * mib, 1000 * mib}));
}

}  // namespace
}  // namespace rota::gpud
