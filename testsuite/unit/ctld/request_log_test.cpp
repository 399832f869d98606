// testsuite/unit/ctld/request_log_test.cpp - answers are remembered for an hour, by user.
#include "ctld/request_log.h"

#include <gtest/gtest.h>

namespace rota::ctld {
namespace {

StoredRequest request(std::uint32_t uid, std::uint64_t id, std::uint64_t sequence = 0) {
  StoredRequest stored;
  stored.sequence = sequence;
  stored.uid = uid;
  stored.request = {1, id};
  stored.reply = "answer";
  return stored;
}

TEST(RequestLog, AnswersItsOwnUserOnly) {
  RequestLog log({}, {});
  std::vector<Row> rows;
  log.put(request(5, 1), {}, rows);
  EXPECT_EQ(rows.size(), 1u);
  ASSERT_NE(log.find(5, {1, 1}), nullptr);
  EXPECT_EQ(log.find(5, {1, 1})->reply, "answer");
  EXPECT_EQ(log.find(6, {1, 1}), nullptr);
}

TEST(RequestLog, ForgetsAfterAnHour) {
  RequestLog log({request(5, 1)}, {});
  std::vector<Row> rows;
  log.drop_old(MonoTime{} + std::chrono::minutes(59), rows);
  EXPECT_NE(log.find(5, {1, 1}), nullptr);
  log.drop_old(MonoTime{} + std::chrono::minutes(61), rows);
  EXPECT_EQ(log.find(5, {1, 1}), nullptr);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<RequestDrop>(rows[0]));
}

// The store is told by number: all up to the last that is too old, and the next goes on from there.
TEST(RequestLog, NumbersGoOnAcrossARestart) {
  RequestLog log({request(5, 1, 41), request(5, 2, 42)}, {});
  std::vector<Row> rows;
  const MonoTime later = MonoTime{} + std::chrono::minutes(30);
  log.put(request(5, 3), later, rows);
  EXPECT_EQ(std::get<RequestPut>(rows.at(0)).request.sequence, 43u);
  log.drop_old(MonoTime{} + std::chrono::minutes(61), rows);
  EXPECT_EQ(std::get<RequestDrop>(rows.at(1)).sequence, 42u);
  EXPECT_EQ(log.find(5, {1, 2}), nullptr);
  EXPECT_NE(log.find(5, {1, 3}), nullptr);
}

}  // namespace
}  // namespace rota::ctld
