// testsuite/unit/net/ticket_test.cpp - a ticket is good for its user, its time and its words only.
#include "net/ticket.h"

#include <gtest/gtest.h>

#include <functional>

namespace rota::net {
namespace {

constexpr WallTime noon{1'800'000'000'000'000};
constexpr WallTime later{noon.microseconds + 30'000'000};

proto::Ticket ticket() {
  proto::Ticket ticket;
  ticket.uid = 1000;
  ticket.job = JobId{12};
  ticket.restart = 1;
  ticket.purpose = "logs";
  ticket.owner.uid = 1000;
  ticket.owner.gid = 100;
  ticket.owner.user = "ada";
  ticket.stdout_path = "/home/ada/rota-12.out";
  ticket.stderr_path = "/home/ada/rota-12.err";
  ticket.expires = later;
  return ticket;
}

std::string verdict(const proto::Ticket& shown, const std::string& key, std::uint32_t uid,
                    WallTime now) {
  const auto good = verify(shown, key, uid, now);
  return good ? "good" : good.error().message();
}

const std::string not_signed =
    "permission denied: the ticket was not signed by this node's controller";

TEST(Ticket, IsGoodForItsUserUntilItExpires) {
  const std::string key = make_ticket_key();
  proto::Ticket signed_one = ticket();
  sign(signed_one, key);
  EXPECT_EQ(verdict(signed_one, key, 1000, noon), "good");
  EXPECT_EQ(verdict(signed_one, key, 1001, noon),
            "permission denied: the ticket is for uid 1000 and was shown by uid 1001");
  EXPECT_EQ(verdict(signed_one, key, 1000, WallTime{later.microseconds - 1}), "good");
  EXPECT_EQ(
      verdict(signed_one, key, 1000, later),
      "permission denied: the ticket has expired: ask the controller for a new one, and check "
      "the clocks if it does so again");
}

TEST(Ticket, NeedsItsOwnKey) {
  const std::string key = make_ticket_key();
  EXPECT_EQ(key.size(), 32u);
  proto::Ticket signed_one = ticket();
  EXPECT_EQ(verdict(signed_one, key, 1000, noon), not_signed);
  sign(signed_one, key);
  EXPECT_EQ(verdict(signed_one, make_ticket_key(), 1000, noon), not_signed);
  proto::Ticket for_nobody = ticket();
  sign(for_nobody, "");
  EXPECT_EQ(verdict(for_nobody, "", 1000, noon), not_signed);
}

TEST(Ticket, NoFieldCanBeAltered) {
  const std::vector<std::function<void(proto::Ticket&)>> changes = {
      [](auto& t) { t.uid = 0; },
      [](auto& t) { t.job = JobId{13}; },
      [](auto& t) { t.restart = 2; },
      [](auto& t) { t.purpose = "exec"; },
      [](auto& t) { t.owner.uid = 0; },
      [](auto& t) { t.owner.gid = 0; },
      [](auto& t) { t.owner.user = "root"; },
      [](auto& t) { t.stdout_path = "/etc/shadow"; },
      [](auto& t) { t.stderr_path = "/etc/shadow"; },
      [](auto& t) { t.expires.microseconds += 1; },
      [](auto& t) { t.signature.pop_back(); },
      [](auto& t) { t.signature[0] ^= 1; },
      // Bytes moved from one field to the next must not give the same signature.
      [](auto& t) {
        t.stdout_path.pop_back();
        t.stderr_path.insert(0, "t");
      },
  };
  const std::string key = make_ticket_key();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    proto::Ticket altered = ticket();
    sign(altered, key);
    changes[i](altered);
    EXPECT_EQ(verdict(altered, key, altered.uid, noon), not_signed) << "change " << i;
  }
}

}  // namespace
}  // namespace rota::net
