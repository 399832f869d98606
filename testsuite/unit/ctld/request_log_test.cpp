// testsuite/unit/ctld/request_log_test.cpp - answers are remembered for an hour, by user.
#include "ctld/request_log.h"

#include <gtest/gtest.h>

namespace rota::ctld {
namespace {

StoredRequest request(std::uint32_t uid, std::uint64_t id) {
  StoredRequest stored;
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

}  // namespace
}  // namespace rota::ctld
