// testsuite/unit/model/topology_request_test.cpp - what --topology may say.
#include "model/topology_request.h"

#include <gtest/gtest.h>

#include "model/job.h"

namespace rota {
namespace {

std::string parsed(std::string_view text) {
  const auto request = topology_parse(text);
  return request ? text_of(*request) : request.error().detail;
}

TEST(TopologyRequest, EitherOrBothInAnyOrder) {
  EXPECT_EQ(parsed("required:rack"), "required:rack");
  EXPECT_EQ(parsed("preferred:rack,required:block"), "required:block,preferred:rack");
  EXPECT_EQ(parsed("Required:Block,PREFERRED:rack"), "required:Block,preferred:rack");
  EXPECT_EQ(parsed("rack"), "preferred:rack");
  EXPECT_EQ(parsed("rack,required:block"), "required:block,preferred:rack");
  EXPECT_EQ(parsed("none"), "");
}

TEST(TopologyRequest, WhatIsWrongIsSaid) {
  const std::string usage = "; write required:LEVEL, preferred:LEVEL or both with ',' between";
  EXPECT_EQ(parsed(""), "'': the name of a level is missing" + usage);
  EXPECT_EQ(parsed("rack,"), "'rack,': the name of a level is missing" + usage);
  EXPECT_EQ(parsed("required:"), "'required:': the name of a level is missing" + usage);
  EXPECT_EQ(parsed("required"), "'required': the name of a level is missing" + usage);
  EXPECT_EQ(parsed("must:rack"),
            "'must:rack': 'must' is neither 'required' nor 'preferred'" + usage);
  EXPECT_EQ(parsed("required:a,required:b"), "'required:a,required:b': two levels are required");
  EXPECT_EQ(parsed("required:a:b"), "'a:b' is no level of a topology" + usage);
  EXPECT_EQ(parsed("required:" + std::string(65, 'x')),
            "the topology's level has 65 bytes, at most 64 are allowed");
}

TEST(TopologyRequest, IsCheckedWithItsJob) {
  JobSpec spec;
  spec.name = "job";
  spec.topology.edit().required = "a\nb";
  EXPECT_EQ(validate(spec).error().detail,
            "'a\\nb' is no level of a topology; write required:LEVEL, preferred:LEVEL or both with "
            "',' between");
}

}  // namespace
}  // namespace rota
