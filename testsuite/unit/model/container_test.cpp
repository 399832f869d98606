// testsuite/unit/model/container_test.cpp - images and mounts as people write them, and as
// attackers do.
#include "model/container.h"

#include <gtest/gtest.h>

#include "common/format.h"

namespace rota {
namespace {

std::string image_check(std::string_view image) {
  const auto good = validate_image(image);
  return good ? "good" : good.error().detail;
}

/// "/a -> /b ro", or what is wrong.
std::string mount_of(std::string_view text) {
  const auto mount = mount_parse(text);
  if (!mount) return mount.error().detail;
  if (const auto good = validate(*mount); !good) return good.error().detail;
  return format("{} -> {}{}", mount->source, mount->target, mount->read_only ? " ro" : "");
}

TEST(Image, NamesAreThoseOfRegistries) {
  for (const char* image : {"busy", "busy:1", "nvcr.io/nvidia/pytorch:24.01-py3",
                            "localhost:5000/team/a_b:x@sha256:0123abcd", "/images/torch.sqsh"})
    EXPECT_EQ(image_check(image), "good") << image;
}

TEST(Image, NothingElseIsOne) {
  EXPECT_EQ(image_check("--privileged"),
            "the image is '--privileged': an image's name begins with a letter or a digit");
  EXPECT_EQ(image_check("-v"),
            "the image is '-v': an image's name begins with a letter or a digit");
  EXPECT_EQ(image_check("busy --privileged"),
            "the image is 'busy --privileged': an image is written as registry/name:tag, with "
            "letters, digits and . _ : / @ + -");
  EXPECT_EQ(
      image_check("a;b"),
      "the image is 'a;b': an image is written as registry/name:tag, with letters, digits and "
      ". _ : / @ + -");
  EXPECT_EQ(image_check("busy\n--rm"),
            "the image is 'busy\\n--rm': an image is written as registry/name:tag, with letters, "
            "digits and . _ : / @ + -");
  EXPECT_EQ(image_check("busy:"), "the image is 'busy:': something is missing at its end");
  EXPECT_EQ(image_check(""), "the image is empty");
  EXPECT_EQ(image_check(std::string(513, 'a')),
            "the image's name has 513 bytes, at most 512 are allowed");
}

TEST(Image, EnrootsSpellingMeansTheSame) {
  EXPECT_EQ(image_name("docker://nvcr.io#nvidia/pytorch:24.01"), "nvcr.io/nvidia/pytorch:24.01");
  EXPECT_EQ(image_name("docker://ubuntu"), "ubuntu");
  EXPECT_EQ(image_name("ubuntu:22.04"), "ubuntu:22.04");
}

TEST(Mount, HasASourceAPlaceAndPerhapsIsOnlyRead) {
  EXPECT_EQ(mount_of("/data"), "/data -> /data");
  EXPECT_EQ(mount_of("/data:/mnt"), "/data -> /mnt");
  EXPECT_EQ(mount_of("/data:/mnt:ro"), "/data -> /mnt ro");
  EXPECT_EQ(mount_of("/data:ro"), "/data -> /data ro");
  EXPECT_EQ(mount_of("/data:/mnt:rw"), "/data -> /mnt");
}

TEST(Mount, WhatCannotBeOneIsRefused) {
  EXPECT_EQ(mount_of("/a:/b:/c"), "'/a:/b:/c': a mount is written as SOURCE[:TARGET][:ro]");
  EXPECT_EQ(mount_of(":/b"), "':/b': a mount is written as SOURCE[:TARGET][:ro]");
  EXPECT_EQ(mount_of(""), "'': a mount is written as SOURCE[:TARGET][:ro]");
  EXPECT_EQ(mount_of("/a:b"), "the target of a mount is 'b', it must be an absolute path");
  EXPECT_EQ(mount_of("/a:/b/../../c"),
            "the target of a mount is '/b/../../c': '.' and '..' are not allowed in it");
  EXPECT_EQ(mount_of("/a:/"), "nothing can be mounted at '/' of the container");
  EXPECT_EQ(mount_of("/a:/proc/sys"), "nothing can be mounted at '/proc/sys' of the container");
  EXPECT_EQ(mount_of("/a:/run/.rota/"), "nothing can be mounted at '/run/.rota/' of the container");
  EXPECT_EQ(mount_of("/a\nb:/c"),
            "the source of a mount is '/a\\nb': control characters are not allowed");
}

TEST(Container, IsCheckedFieldByField) {
  EXPECT_TRUE(validate(ContainerSpec{}));
  const auto wrong = [](auto change) {
    ContainerSpec container;
    change(container);
    const auto good = validate(container);
    return good ? "good" : good.error().detail;
  };
  EXPECT_EQ(wrong([](ContainerSpec& c) { c.runtime = "lxc"; }),
            "'lxc' runs no containers; known are docker, podman, enroot and none");
  EXPECT_EQ(wrong([](ContainerSpec& c) {
              c.mounts.resize(65, {"/a", "/b", false});
            }),
            "65 mounts, at most 64 are allowed");
  EXPECT_EQ(wrong([](ContainerSpec& c) { c.workdir = "here"; }),
            "the container's working directory is 'here', it must be an absolute path");
  EXPECT_EQ(wrong([](ContainerSpec& c) { c.environment = {"A"}; }), "'A' is not NAME=value");
  EXPECT_EQ(wrong([](ContainerSpec& c) { c.environment = {"A=1\nB=2"}; }), "good");
  EXPECT_EQ(wrong([](ContainerSpec& c) { c.shm_bytes = ~std::uint64_t{0}; }),
            "the shared memory is 18446744073709551615 bytes, at most 8796093022208 are possible");
}

}  // namespace
}  // namespace rota
