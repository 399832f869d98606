// testsuite/unit/commands/job_access_test.cpp - how people name ports and files of a job.
#include <gtest/gtest.h>

#include "commands/copy.h"
#include "commands/forward.h"
#include "common/format.h"

namespace rota::commands {
namespace {

std::string ports(std::string_view text) {
  const auto port = forward_port_from(text);
  return port ? format("{}->{}", port->here, port->there) : port.error().detail;
}

TEST(ForwardPorts, AreAPairOrOne) {
  EXPECT_EQ(ports("8888:80"), "8888->80");
  EXPECT_EQ(ports("80"), "80->80");
  EXPECT_EQ(ports("0:80"), "0->80");
  EXPECT_EQ(ports("65535:65535"), "65535->65535");
  for (const auto text :
       {"", ":", "0", "80:", ":80", "80:0", "65536:1", "1:65536", "a:1", "1:2:3", "-1:2", " 1:2"})
    EXPECT_EQ(ports(text), format("'{}' is no pair of ports: write 8888:80, or 80", text));
}

std::string place(const std::string& text) {
  const auto place = copy_place_from(text);
  return place ? format("{}|{}", place->job.value, place->path) : "error";
}

TEST(CopyPlaces, AreHereOrInAJob) {
  EXPECT_EQ(place("12:a/b"), "12|a/b");
  EXPECT_EQ(place("12:/a:b"), "12|/a:b");
  EXPECT_EQ(place("a/b"), "0|a/b");
  EXPECT_EQ(place("./12:a"), "0|./12:a");  // a file here with a colon in its name
  for (const auto text : {"", "12:", "x:a", "0:a", "-1:a", ":a"}) EXPECT_EQ(place(text), "error");
}

}  // namespace
}  // namespace rota::commands
