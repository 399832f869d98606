// testsuite/unit/proto/messages_test.cpp - every message: there, back, cut short, older, newer.
#include "proto/messages.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "proto/codec.h"
#include "proto/frame.h"
#include "walk.h"

namespace rota::proto {
namespace {

template <class Tuple>
struct TypesOf;
template <class... Messages>
struct TypesOf<std::tuple<Messages...>> {
  using type = testing::Types<Messages...>;
};

struct MessageName {
  template <class Message>
  static std::string GetName(int) {
    return name_of_type<Message>();
  }
};

/// `body` as a record: with its length in front.
std::string as_record(std::string_view body) {
  Encoder length;
  length.put(static_cast<std::uint32_t>(body.size()));
  return length.take() + std::string(body);
}

/// The sizes that the body has after each of its fields: where an older release may have ended.
template <class Message>
std::vector<std::size_t> field_ends(const Message& message) {
  Encoder encoder;
  std::vector<std::size_t> ends = {0};
  const auto add = [&](const auto& field) {
    encoder.put(field);
    ends.push_back(encoder.size());
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, Message::fields(message));
  return ends;
}

/// The first `count` fields of `full`, the others as they are by default.
template <class Message>
Message first_fields(const Message& full, std::size_t count) {
  Message part{};
  auto to = Message::fields(part);
  auto from = Message::fields(full);
  const auto copy = [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((i < count ? void(std::get<i>(to) = std::get<i>(from)) : void()), ...);
  };
  copy(std::make_index_sequence<std::tuple_size_v<decltype(to)>>());
  return part;
}

template <class Message>
class EveryMessage : public testing::Test {};
TYPED_TEST_SUITE(EveryMessage, TypesOf<AllMessages>::type, MessageName);

TYPED_TEST(EveryMessage, ComesBackAsItWas) {
  const TypeParam full = filled<TypeParam>();
  EXPECT_FALSE(full == TypeParam{});
  const auto back = decode<TypeParam>(encode(full));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(*back == full) << written(*back) << "\nis not\n" << written(full);
  EXPECT_TRUE(*decode<TypeParam>(encode(TypeParam{})) == TypeParam{});
}

TYPED_TEST(EveryMessage, IsRefusedWhenCutShort) {
  const std::string whole = encode(filled<TypeParam>());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode<TypeParam>(std::string_view(whole).substr(0, size))) << size << " bytes";
}

// A body that ends between two fields was written by a release that had only those before; one that
// ends within a field was written by nobody.
TYPED_TEST(EveryMessage, OfAnOlderReleaseKeepsTheDefaults) {
  const TypeParam full = filled<TypeParam>();
  const std::string body = encode(full).substr(4);
  const std::vector<std::size_t> ends = field_ends(full);
  for (std::size_t size = 0; size <= body.size(); ++size) {
    const auto read = decode<TypeParam>(as_record(body.substr(0, size)));
    const auto end = std::find(ends.begin(), ends.end(), size);
    if (end == ends.end()) {
      EXPECT_FALSE(read) << size << " bytes end within a field";
      continue;
    }
    ASSERT_TRUE(read) << size << " bytes: " << read.error().message();
    const TypeParam expected = first_fields(full, static_cast<std::size_t>(end - ends.begin()));
    EXPECT_TRUE(*read == expected) << written(*read) << "\nis not\n" << written(expected);
  }
}

TYPED_TEST(EveryMessage, OfANewerReleaseIsReadAsFarAsKnown) {
  const TypeParam full = filled<TypeParam>();
  const auto read = decode<TypeParam>(as_record(encode(full).substr(4) + "a field of tomorrow"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(*read == full);
}

TYPED_TEST(EveryMessage, IsRefusedWithBytesBehindIt) {
  EXPECT_FALSE(decode<TypeParam>(encode(filled<TypeParam>()) + std::string(1, '\0')));
}

// Anybody may send anything: it is read or refused, and costs no more than it weighs.
TYPED_TEST(EveryMessage, GarbageIsSurvived) {
  std::mt19937 random(TypeParam::number);
  const std::string whole = encode(filled<TypeParam>());
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes = whole;
    for (int change = random() % 8; change >= 0; --change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto read = decode<TypeParam>(bytes);
    if (read) {
      EXPECT_TRUE(*decode<TypeParam>(encode(*read)) == *read);
    }
  }
}

TYPED_TEST(EveryMessage, HasALimitThatTheFrameKnows) {
  EXPECT_EQ(body_size_max(TypeParam::number), TypeParam::size_max);
  EXPECT_LE(TypeParam::size_max, large_message);
  EXPECT_LE(encode(filled<TypeParam>()).size(), TypeParam::size_max);
}

TEST(AllOfThem, HaveNumbersOfTheirOwn) {
  std::map<std::uint16_t, std::string> names;
  for_every_message([&](const auto& message) {
    using Message = std::remove_cvref_t<decltype(message)>;
    const auto [at, is_new] = names.emplace(Message::number, name_of_type<Message>());
    EXPECT_TRUE(is_new) << at->second << " and " << name_of_type<Message>() << " are both "
                        << Message::number;
  });
  EXPECT_GE(names.size(), 25u);
  EXPECT_GT(names.begin()->first, 0u);
}

struct IdentityOfTomorrow {  // NodeIdentity and one more
  NodeIdentity known;
  std::string rack;
  static auto fields(auto& m) {
    return std::tuple_cat(NodeIdentity::fields(m.known), std::tie(m.rack));
  }
};
struct HelloOfTomorrow {
  IdentityOfTomorrow identity;
  NodeInventory inventory;
  static auto fields(auto& m) { return std::tie(m.identity, m.inventory); }
};

// A field added deep inside: a node's identity of tomorrow within today's NodeHello.
TEST(Records, SkipWhatTheyDoNotKnowAtAnyDepth) {
  HelloOfTomorrow tomorrow;
  fill(tomorrow);
  const auto today = decode<NodeHello>(encode(tomorrow));
  ASSERT_TRUE(today) << today.error().message();
  EXPECT_TRUE(today->identity == tomorrow.identity.known);
  EXPECT_TRUE(today->inventory == tomorrow.inventory);
  EXPECT_TRUE(today->runs.empty());
}

}  // namespace
}  // namespace rota::proto
