// testsuite/unit/net/seal_text_test.cpp - texts that only their key and their place open.
#include "net/seal_text.h"

#include <gtest/gtest.h>

#include "net/seal.h"
#include "net/ticket.h"

namespace rota::net {
namespace {

const std::string key(text_key_size, 'k');

TEST(SealText, OpensWithTheSameKeyAndPlace) {
  for (const std::string& text :
       {std::string(), std::string("hunter2"), std::string(1 << 17, 'x'), std::string("a\0b", 3)}) {
    const auto opened = open_text(key, seal_text(key, text, "1000 TOKEN"), "1000 TOKEN");
    ASSERT_TRUE(opened);
    EXPECT_EQ(*opened, text);
  }
}

TEST(SealText, NothingElseOpensIt) {
  const std::string sealed = seal_text(key, "hunter2 and more", "1000 TOKEN");
  EXPECT_FALSE(open_text(std::string(text_key_size, 'j'), sealed, "1000 TOKEN"));
  EXPECT_FALSE(open_text(key, sealed, "1001 TOKEN"));
  EXPECT_FALSE(open_text(key, sealed, ""));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(open_text(key, changed, "1000 TOKEN")) << i;
    EXPECT_FALSE(open_text(key, sealed.substr(0, i), "1000 TOKEN")) << i;
  }
}

TEST(SealText, HidesTheTextAndThatItIsTheSame) {
  const std::string first = seal_text(key, "hunter2 and more", "x");
  EXPECT_EQ(first.find("hunter2"), std::string::npos);
  EXPECT_NE(first, seal_text(key, "hunter2 and more", "x"));
}

TEST(Masks, AreForOneNodeAndOneJob) {
  MaskList list;
  list.add("hunter2\n");
  proto::Ticket ticket;
  ticket.job = JobId{7};
  ticket.masks = seal_masks(list, key, ticket.job);
  EXPECT_EQ(ticket.masks.find("hunter2"), std::string::npos);
  const auto opened = open_masks(ticket, key);
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened, list);
  EXPECT_FALSE(open_masks(ticket, std::string(text_key_size, 'j')));
  ticket.job = JobId{8};
  EXPECT_FALSE(open_masks(ticket, key));
  EXPECT_TRUE(open_masks(proto::Ticket{}, key)->masks.empty());
}

}  // namespace
}  // namespace rota::net
