// testsuite/unit/sched/packing_test.cpp - where a task goes: text in, text out.
#include "sched/packing.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace rota::sched {
namespace {

std::vector<std::string> items_of(const std::string& text, char mark) {
  std::vector<std::string> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, mark);) items.push_back(item);
  return items;
}

std::map<std::string, std::string> words_of(const std::string& item) {
  std::map<std::string, std::string> words;
  std::istringstream in(item);
  for (std::string word; in >> word;)
    words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return words;
}

/// "cpus=4 mem=16 gpus=2 on=AB": GPU models are letters. "share=300": of one GPU, in thousandths.
PackRequest request_of(const std::string& text) {
  auto words = words_of(text);
  PackRequest request;
  if (words.contains("cpus")) request.cpu_milli = 1000 * std::stoll(words["cpus"]);
  if (words.contains("mem")) request.memory_bytes = std::stoll(words["mem"]) << 30;
  if (words.contains("gpus")) request.gpu_count = std::stoi(words["gpus"]);
  if (words.contains("share")) request.gpu_count = 1;
  if (request.gpu_count > 0) request.gpu_share = whole_gpu;
  if (words.contains("share")) request.gpu_share = 1000 * std::stoi(words["share"]);
  if (!words.contains("on")) return request;
  request.models = 0;
  for (const char letter : words["on"]) request.models |= 1u << (letter - 'A');
  return request;
}

class Desk {
 public:
  /// "gpus=8 model=B cpus=96 mem=500; ...": nodes 0, 1 and so on.
  explicit Desk(const std::string& nodes) {
    for (const auto& item : items_of(nodes, ';')) {
      auto words = words_of(item);
      packing.add({.cpu_milli = 1000 * (words.contains("cpus") ? std::stoll(words["cpus"]) : 96),
                   .memory_bytes = (words.contains("mem") ? std::stoll(words["mem"]) : 512) << 30,
                   .gpu_count = words.contains("gpus") ? std::stoi(words["gpus"]) : 0,
                   .model = words.contains("model") ? words["model"][0] - 'A' : 0});
    }
  }
  /// "20 gpus=8; 80 share=500": so many of each are to be expected.
  Desk& expect(const std::string& mix) {
    for (const auto& item : items_of(mix, ';')) {
      std::istringstream in(item);
      std::int64_t count = 0;
      in >> count;
      std::string rest;
      std::getline(in, rest);
      packing.observe(request_of(rest), count);
    }
    return *this;
  }
  /// Places one after the other: "0[0-1] 1[3] -", a dash where there is no room.
  std::string place(const std::string& tasks) {
    std::string all;
    for (const auto& item : items_of(tasks, ';')) {
      const auto choice = packing.choose(request_of(item));
      if (choice) packing.take(request_of(item), choice->spot);
      all += (all.empty() ? "" : " ") + (choice ? text_of(choice->spot) : "-");
    }
    return all;
  }
  void take(NodeIndex node, std::uint32_t gpus, const std::string& task) {
    packing.take(request_of(task), {node, gpus});
  }
  void release(NodeIndex node, std::uint32_t gpus, const std::string& task) {
    packing.release(request_of(task), {node, gpus});
  }

  static std::string text_of(const PackSpot& spot) {
    std::string gpus;
    for (std::uint32_t g = 0; g < 32; ++g)
      if ((spot.gpus >> g & 1u) != 0) gpus += (gpus.empty() ? "" : ",") + std::to_string(g);
    return std::to_string(spot.node) + (gpus.empty() ? "" : "[" + gpus + "]");
  }

  Packing packing;
};

TEST(Packing, NothingIsExpectedAndTheFirstNodeDoes) {
  Desk desk("gpus=2; gpus=2");
  EXPECT_EQ(desk.place("gpus=1; gpus=2; gpus=2; share=500; cpus=1"), "0[0] 1[0,1] - 0[1] 0");
}

// Two nodes, half of the second in use. What is small fills it, so that the first stays whole.
TEST(Packing, KeepsAWholeNodeForTheGang) {
  Desk desk("gpus=8; gpus=8");
  desk.expect("10 gpus=8; 90 gpus=1");
  desk.take(1, 0x0f, "gpus=4");
  EXPECT_EQ(desk.place("gpus=1; gpus=1; gpus=2; gpus=8"), "1[4] 1[5] 1[6,7] 0[0,1,2,3,4,5,6,7]");
}

// Who accepts both models leaves the scarce one to who does not.
TEST(Packing, KeepsAScarceModelForWhoNeedsIt) {
  Desk desk("gpus=2 model=A; gpus=8 model=B");
  desk.expect("50 gpus=1 on=AB; 50 gpus=1 on=A");
  EXPECT_EQ(desk.place("gpus=1 on=AB; gpus=1 on=A; gpus=1 on=AB; gpus=1 on=A"),
            "1[0] 0[0] 1[1] 0[1]");
}

// A second share goes beside the first; a third that no longer fits there breaks a new GPU.
TEST(Packing, SharesGoTogether) {
  Desk desk("gpus=2; gpus=2");
  desk.expect("50 share=500; 50 gpus=1");
  EXPECT_EQ(desk.place("share=500; share=500; share=500; gpus=1; share=500"),
            "0[0] 0[0] 0[1] 1[0] 0[1]");
}

// 0.3 fits the hole of 0.3 and the one of 0.6; in the second it would leave 0.3, and 0.6 is what is
// asked for otherwise.
TEST(Packing, AShareTakesTheHoleThatNobodyElseNeeds) {
  Desk desk("gpus=2");
  desk.expect("50 share=600; 50 share=300");
  desk.take(0, 1, "share=400");
  desk.take(0, 2, "share=700");
  EXPECT_EQ(desk.place("share=300; share=600"), "0[1] 0[0]");
}

// CPUs alone: not where GPUs would be left without any. The first node has 8 for a GPU, and nothing
// to spare; the second has more than its GPUs need, until 16 are left; the third has no GPU.
TEST(Packing, CpusAreTakenWhereNoGpuIsStranded) {
  Desk desk("gpus=8 cpus=64; gpus=2 cpus=96; cpus=96");
  desk.expect("50 gpus=1 cpus=8; 50 cpus=16");
  EXPECT_EQ(desk.place("cpus=16; cpus=80; cpus=64; cpus=1; cpus=2"), "1 2 1 2 2");
  EXPECT_EQ(desk.place("gpus=2 cpus=16; gpus=8 cpus=64"), "1[0,1] 0[0,1,2,3,4,5,6,7]");
}

TEST(Packing, FitsByEveryMeasure) {
  Desk desk("gpus=2 cpus=8 mem=10 model=C");
  EXPECT_EQ(desk.place("gpus=3"), "-");
  EXPECT_EQ(desk.place("gpus=1 cpus=9"), "-");
  EXPECT_EQ(desk.place("gpus=1 mem=11"), "-");
  EXPECT_EQ(desk.place("gpus=1 on=AB"), "-");
  EXPECT_EQ(desk.place("cpus=1 on=AB"), "0") << "without GPUs, their model is nobody's concern";
  EXPECT_EQ(desk.place("gpus=2 cpus=7 mem=10 on=BC"), "0[0,1]");
  EXPECT_EQ(desk.place("share=1"), "-");
}

TEST(Packing, NodesComeAndGo) {
  Desk desk("gpus=2; gpus=2");
  desk.packing.set_usable(0, false);
  EXPECT_EQ(desk.place("gpus=1"), "1[0]");
  EXPECT_EQ(desk.packing.choose_on(request_of("gpus=1"), 0), std::nullopt);
  desk.packing.set_usable(1, false);
  EXPECT_EQ(desk.place("gpus=1"), "-");
  desk.packing.set_usable(1, true);
  EXPECT_EQ(desk.place("gpus=2; gpus=1"), "- 1[1]") << "what was on it is still there";
  desk.packing.set_usable(1, false);
  desk.release(1, 1, "gpus=1");
  desk.packing.set_usable(1, true);
  EXPECT_EQ(desk.place("gpus=1"), "1[0]") << "or has gone meanwhile";
  desk.packing.add({.cpu_milli = 1000, .memory_bytes = 1 << 30, .gpu_count = 4, .model = 0});
  EXPECT_EQ(desk.place("gpus=4"), "2[0,1,2,3]");
}

// One node asked by itself says what it would have cost among all.
TEST(Packing, OneNodeByItselfIsTheSameChoice) {
  Desk desk("gpus=4; gpus=8 cpus=32; gpus=2 model=B");
  desk.expect("10 gpus=4; 50 share=300 cpus=4; 40 gpus=1 on=B");
  for (const std::string task : {"share=300 cpus=4", "gpus=2", "cpus=8", "gpus=1 on=B"}) {
    const auto best = desk.packing.choose(request_of(task));
    ASSERT_TRUE(best) << task;
    EXPECT_EQ(desk.packing.choose_on(request_of(task), best->spot.node), best) << task;
    for (NodeIndex node = 0; node < 3; ++node) {
      const auto there = desk.packing.choose_on(request_of(task), node);
      EXPECT_TRUE(!there || there->loss >= best->loss) << task << " on node " << node;
    }
  }
}

// After a fleet has filled and emptied again, its rooms are worth what they were: tasks that leave
// teach as much as tasks that come.
TEST(Packing, ReleasesAreLearnedFrom) {
  const std::string nodes = "gpus=8; gpus=8", mix = "10 gpus=8; 90 gpus=1";
  Desk used(nodes), fresh(nodes);
  used.expect(mix);
  fresh.expect(mix);
  for (int i = 0; i < 16; ++i) EXPECT_NE(used.place("gpus=1"), "-");
  EXPECT_EQ(used.place("gpus=1"), "-");
  for (NodeIndex node = 0; node < 2; ++node)
    for (int gpu = 0; gpu < 8; ++gpu) used.release(node, 1u << gpu, "gpus=1");
  const PackRoom room = used.packing.fleet().room_of(0);
  EXPECT_EQ(fresh.packing.choose(request_of("gpus=1")), used.packing.choose(request_of("gpus=1")));
  EXPECT_EQ(fresh.packing.worth().of(room), used.packing.worth().of(room));
  EXPECT_GT(used.packing.worth().of(room), 0);
}

// Whole numbers throughout: these come out on every machine, with every compiler.
TEST(Packing, LossesAreTheSameEverywhere) {
  Desk desk("gpus=8 cpus=96; gpus=4 cpus=17 model=B; gpus=1 cpus=20 mem=2");
  desk.expect("3 gpus=8 cpus=80; 40 share=330 cpus=3 mem=1; 29 gpus=1 cpus=7 on=B; 11 cpus=2");
  std::string losses;
  for (const std::string task : {"gpus=8 cpus=80", "share=330 cpus=3 mem=1", "gpus=1", "cpus=2"})
    losses += std::to_string(desk.packing.choose(request_of(task))->loss) + " ";
  EXPECT_EQ(losses, "35960711573 1516255096 3142521797 0 ");
}

TEST(Packing, WhatCannotBeIsRefused) {
  Desk desk("gpus=2");
  EXPECT_DEATH(desk.packing.choose({.gpu_count = 2, .gpu_share = 500'000}), "is_valid");
  EXPECT_DEATH(desk.packing.choose({.gpu_count = 0, .gpu_share = 1}), "is_valid");
  EXPECT_DEATH(desk.packing.observe({.cpu_milli = -1}), "is_valid");
  EXPECT_DEATH(desk.packing.add({.gpu_count = 33}), "is_valid");
  EXPECT_DEATH(desk.take(0, 7, "gpus=2 cpus=97"), "cpu_milli");
  EXPECT_DEATH(desk.release(0, 1, "gpus=1"), "gpu_free");
}

TEST(PackMix, ThePastFades) {
  PackMix mix;
  const PackRequest often = request_of("gpus=1"), once = request_of("gpus=2");
  mix.add(once, 1);
  mix.add(often, PackMix::window - 1);
  EXPECT_EQ(mix.total(), PackMix::window);
  EXPECT_EQ(mix.counts().size(), 2u);
  mix.add(often, 1);
  EXPECT_EQ(mix.total(), PackMix::window / 2);
  EXPECT_EQ(mix.counts().size(), 1u) << "what fell to nothing is forgotten";
  mix.add(once, pack_amount_max);
  EXPECT_LE(mix.total(), PackMix::window);
}

TEST(PackMix, IsBounded) {
  PackMix mix;
  for (std::int64_t i = 0; i < 20000; ++i) {
    mix.add({.cpu_milli = i}, 1 + i % 3);
    ASSERT_LE(mix.counts().size(), PackMix::requests_max);
    ASSERT_LE(mix.total(), PackMix::window);
  }
  EXPECT_GT(mix.counts().size(), 0u);
}

}  // namespace
}  // namespace rota::sched
