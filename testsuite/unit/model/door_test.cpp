// testsuite/unit/model/door_test.cpp - addresses of doors, and which wishes for them are refused.
#include "model/door.h"

#include <gtest/gtest.h>

#include "model/job.h"

namespace rota {
namespace {

std::string refusal(const ServiceWish& service) {
  const auto valid = validate(service);
  return valid ? "" : valid.error().detail;
}

TEST(Door, HasOneNameEach) {
  EXPECT_EQ(name_of(Door{JobId{12}, 8888}), "12-8888");
  EXPECT_EQ(door_from("12-8888"), (Door{JobId{12}, 8888}));
  for (const char* wrong :
       {"", "-", "12", "12-", "-8888", "012-8888", "12-08888", "12-0", "0-80", "12-65536",
        "12-8888-1", "12-8888/", "+12-8888", "12-88 88", "99999999999999999999-80", "12-8888x"})
    EXPECT_FALSE(door_from(wrong)) << wrong;
}

TEST(Door, LiesBelowTheBase) {
  const Door door{JobId{12}, 8888};
  EXPECT_EQ(door_url("https://login:8443", door), "https://login:8443/12-8888/");
  EXPECT_EQ(door_url("https://login:8443/", door), "https://login:8443/12-8888/");
  EXPECT_EQ(door_path("https://login:8443", door), "/12-8888/");
}

TEST(Door, MayHaveAHostOfItsOwn) {
  const Door door{JobId{12}, 8888};
  EXPECT_EQ(door_url("https://*.jobs.example.org:8443", door),
            "https://12-8888.jobs.example.org:8443/");
  EXPECT_EQ(door_path("https://*.jobs.example.org", door), "/");
}

TEST(Door, IsShownOnlyWhenAskedFor) {
  ServiceWish service{{8888, 6006}, true, {}};
  EXPECT_EQ(door_urls("http://h", JobId{3}, service),
            (std::vector<std::string>{"http://h/3-8888/", "http://h/3-6006/"}));
  EXPECT_TRUE(door_urls("", JobId{3}, service).empty());
  service.url = false;
  EXPECT_TRUE(door_urls("http://h", JobId{3}, service).empty());
}

TEST(Door, TellsTheJobWhereItIs) {
  std::vector<std::string> variables{"A=1", "ROTA_URL=http://outer/", "ROTA_BASE_URL_80=/1-80/",
                                     "ROTA_PORT=1", "ROTA_URLS=mine"};
  set_door_variables("http://h", JobId{3}, ServiceWish{{8888, 80}, true, {}}, variables);
  EXPECT_EQ(variables, (std::vector<std::string>{
                           "A=1", "ROTA_URLS=mine", "ROTA_PORT=8888", "ROTA_URL=http://h/3-8888/",
                           "ROTA_BASE_URL=/3-8888/", "ROTA_URL_8888=http://h/3-8888/",
                           "ROTA_BASE_URL_8888=/3-8888/", "ROTA_URL_80=http://h/3-80/",
                           "ROTA_BASE_URL_80=/3-80/"}));
  set_door_variables("http://h", JobId{3}, {}, variables);
  EXPECT_EQ(variables, (std::vector<std::string>{"A=1", "ROTA_URLS=mine"}));
}

TEST(Service, HasBounds) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{8888}, true, {"alice", "bob@ad"}}), "");
  EXPECT_EQ(refusal({{0}, false, {}}), "a port is 0, it must be 1 to 65535");
  EXPECT_EQ(refusal({{1, 2, 1}, false, {}}), "a port is named twice");
  EXPECT_EQ(refusal({{}, true, {}}), "an address for browsers needs a port: give --port as well");
  EXPECT_EQ(refusal({{1}, false, {"alice"}}),
            "users are named, and no address for browsers is asked for");
  EXPECT_EQ(refusal({{1}, true, {"a,b"}}), "'a,b' is no user's name of at most 64 bytes");
  EXPECT_NE(refusal({{1}, true, {std::string(65, 'x')}}), "");
  ServiceWish many;
  for (std::uint16_t port = 1; port <= 17; ++port) many.ports.push_back(port);
  EXPECT_EQ(refusal(many), "17 ports, at most 16 are allowed");
  EXPECT_EQ(refusal({{1}, true, std::vector<std::string>(65, "u")}),
            "65 users are named, at most 64 are allowed");
}

TEST(Service, IsCheckedWithTheJob) {
  JobSpec spec;
  spec.name = "x";
  ASSERT_TRUE(validate(spec));
  spec.service.edit().url = true;
  EXPECT_FALSE(validate(spec));
}

}  // namespace
}  // namespace rota
