// testsuite/unit/gpud/container_test.cpp - what engines say of images, and what they are asked for.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/format.h"
#include "gpud/container/engine.h"
#include "gpud/container/http.h"
#include "gpud/container/image.h"
#include "gpud/container/plan.h"

namespace rota::gpud {
namespace {

constexpr std::string_view inspected = R"({"Id":"sha256:aa","RepoDigests":["other@sha256:00",
  "localhost:5000/team/torch@sha256:bb"],"Size":1234,"Config":{"Env":["PATH=/opt/bin","A=1","bad"],
  "Entrypoint":["/entry","-x"],"Cmd":["serve"],"WorkingDir":"/work"}})";

TEST(ImageNames, RepositoryAndTag) {
  EXPECT_EQ(image_repository("localhost:5000/team/torch:2.4"), "localhost:5000/team/torch");
  EXPECT_EQ(image_tag("localhost:5000/team/torch:2.4"), "2.4");
  EXPECT_EQ(image_repository("localhost:5000/torch"), "localhost:5000/torch");
  EXPECT_EQ(image_tag("localhost:5000/torch"), "latest");
  EXPECT_EQ(image_tag("torch:2@sha256:bb"), "sha256:bb");
  EXPECT_EQ(image_repository("torch:2@sha256:bb"), "torch");
}

TEST(ImageNames, ALaterRunGetsTheSameImage) {
  EXPECT_EQ(pinned_image("localhost:5000/torch:2", "localhost:5000/torch@sha256:bb"),
            "localhost:5000/torch@sha256:bb");
  EXPECT_EQ(pinned_image("busy", "sha256:aa"), "sha256:aa") << "no registry has it: by its id";
}

TEST(ImageFacts, AreReadFromWhatTheEngineTells) {
  const auto facts = image_facts(inspected, "localhost:5000/team/torch:2.4");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->id, "sha256:aa");
  EXPECT_EQ(facts->digest, "localhost:5000/team/torch@sha256:bb");
  EXPECT_EQ(format("{}", fmt::join(facts->environment, " ")), "PATH=/opt/bin A=1");
  EXPECT_EQ(format("{}", fmt::join(facts->entrypoint, " ")), "/entry -x");
  EXPECT_EQ(format("{}", fmt::join(facts->command, " ")), "serve");
  EXPECT_EQ(facts->workdir, "/work");
  EXPECT_EQ(facts->size_bytes, 1234u);
}

TEST(ImageFacts, OfTwoDigestsInOneRepositoryTheOneThatWasAskedFor) {
  const std::string twice =
      R"({"Id":"sha256:aa","RepoDigests":["t@sha256:01","t@sha256:02","t@sha256:03"],"Config":{}})";
  EXPECT_EQ(image_facts(twice, "t@sha256:02")->digest, "t@sha256:02");
}

TEST(ImageFacts, OneThatNoRegistryHasIsKnownByItsId) {
  EXPECT_EQ(image_facts(inspected, "mine:1")->digest, "sha256:aa");
  EXPECT_EQ(image_facts(R"([{"Id":"cc","Config":{}}])", "mine")->id, "sha256:cc")
      << "podman's list";
}

TEST(ImageFacts, NonsenseIsRefused) {
  for (const char* text : {"", "[]", "{}", "{\"Id\":3,\"Config\":{}}", "nonsense", "[[[["})
    EXPECT_EQ(image_facts(text, "x").error().detail, "the description of image 'x' cannot be read")
        << text;
}

TEST(PullProgress, CountsBytesOfAllLayers) {
  PullProgress progress;
  progress.take(
      "{\"status\":\"Pulling fs layer\",\"id\":\"a\"}\n{\"status\":\"Pulling fs layer\",");
  progress.take("\"id\":\"b\"}\n");
  EXPECT_EQ(progress.percent(), 0u);
  progress.take(
      "{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":50,\"total\":"
      "100}}\n");
  EXPECT_EQ(progress.percent(), 25u) << "the size of b is not known yet: as a's";
  progress.take("{\"status\":\"Pull complete\",\"id\":\"a\"}\n");
  progress.take(
      "{\"status\":\"Downloading\",\"id\":\"b\",\"progressDetail\":{\"current\":150,\"total\":"
      "300}}\n");
  EXPECT_EQ(progress.percent(), 62u);
  progress.take("not JSON\n{\"status\":\"Already exists\",\"id\":\"b\"}\n");
  EXPECT_EQ(progress.percent(), 100u);
  EXPECT_EQ(progress.trouble(), "");
}

// As podman 4.3 draws it, over and over.
TEST(PullProgress, CountsBytesThatPodmanDraws) {
  PullProgress progress(PullProgress::Of::podman);
  progress.take("Trying to pull 127.0.0.1:5000/x:2...\nGetting image source signatures\n");
  EXPECT_EQ(progress.percent(), 0u);
  progress.take(
      "Copying blob ca77 [=========>-] 4.0MiB / 5.0MiB\r\nCopying blob 4a54 [>---] 1.0MiB / ");
  EXPECT_EQ(progress.percent(), 80u) << "only whole lines count";
  progress.take("15.0MiB\n");
  EXPECT_EQ(progress.percent(), 25u);
  progress.take(
      "\x1b[2A\x1b[JCopying blob ca77 done  \nCopying blob 4a54 [==>-] 10.0MiB / 15.0MiB\n");
  EXPECT_EQ(progress.percent(), 75u);
  progress.take(
      "Copying blob 4a54 [====] 15.0MiB / 15.0MiB | 3.0MiB/s\nCopying config 9f [=] 1.0KiB / "
      "1.0KiB\n");
  EXPECT_EQ(progress.percent(), 100u);
  progress.take("Copying blob 1111 [nonsense\nCopying blob 2222 skipped: already exists\n");
  EXPECT_EQ(progress.percent(), 100u);
}

TEST(PullProgress, HasTheRegistrysWords) {
  PullProgress progress;
  progress.take("{\"errorDetail\":{\"message\":\"x\"},\"error\":\"manifest for x:1 not found\"}\n");
  EXPECT_EQ(progress.trouble(), "manifest for x:1 not found");
  EXPECT_EQ(pull_error(progress.trouble()).code, Errc::not_found);
  EXPECT_EQ(pull_error("unauthorized: authentication required").code, Errc::denied);
  EXPECT_EQ(pull_error("connection reset by peer").code, Errc::io_failed);
}

TEST(Docker, ItsComplaintIsOneLine) {
  EXPECT_EQ(message_of({404, "{\"message\":\"No such image: \\\"x\\\"\\nreally\"}\n", ""}),
            "No such image: \"x\" really");
  EXPECT_EQ(message_of({500, "", ""}), "status 500");
  EXPECT_EQ(message_of({0, "", "cannot reach it"}), "cannot reach it");
}

// ---- what is asked for ----

proto::LaunchRun launch_of(const std::string& image) {
  proto::LaunchRun launch;
  launch.run = {JobId{12}, 1};
  launch.spec.image = image;
  launch.owner = {1000, 100, "ada"};
  launch.payload.mode = LaunchMode::tasks;
  launch.payload.arguments = {"train"};
  launch.payload.environment = {"HOME=/home/ada", "PATH=/usr/bin", "A=0", "LD_PRELOAD=/x.so"};
  launch.payload.working_directory = "/home/ada";
  return launch;
}

ContainerFacts node_facts() {
  ContainerFacts facts;
  facts.runtime = "docker";
  facts.docker_socket = "/run/docker.sock";
  facts.podman = "/usr/bin/podman";
  facts.pause_program = "/libexec/rota-pause";
  facts.node = "n1.ab";
  facts.ulimits = {"nofile=10:10"};
  return facts;
}

ContainerOrder plan_of(const proto::LaunchRun& launch, ContainerKind kind,
                       const ContainerFacts& facts = node_facts()) {
  auto order = plan_container(launch, kind, *image_facts(inspected, launch.spec.image.str()), facts,
                              "/spool/12.1.box", "0-3");
  EXPECT_TRUE(order) << order.error().detail;
  return order ? *order : ContainerOrder{};
}

TEST(ContainerPlan, WhoRunsTheImage) {
  const auto kind = [](const char* wish, const ContainerFacts& facts) {
    proto::LaunchRun launch = launch_of("x");
    launch.payload.container.runtime = wish;
    const auto found = container_kind(launch, facts);
    return found ? format("{}", static_cast<int>(*found)) : found.error().detail;
  };
  EXPECT_EQ(kind("", node_facts()), "1");
  EXPECT_EQ(kind("podman", node_facts()), "2");
  EXPECT_EQ(kind("none", node_facts()), "0");
  EXPECT_EQ(kind("enroot", node_facts()), "this node has no enroot to run its image");
  ContainerFacts bare = node_facts();
  bare.runtime.clear();
  EXPECT_EQ(kind("", bare),
            "this node runs no images (node.container_runtime), and the job has one");
}

TEST(ContainerPlan, VariablesOfTheImageStandAboveTheSubmittersAndBelowThoseAskedFor) {
  proto::LaunchRun launch = launch_of("x");
  launch.payload.container.environment = {"B=2"};
  const auto list = container_environment(launch.payload, *image_facts(inspected, "x"));
  EXPECT_EQ(format("{}", fmt::join(list, " ")), "HOME=/home/ada PATH=/opt/bin A=1 B=2");
  launch.payload.container.environment = {"A=9", "PATH=/mine"};
  EXPECT_EQ(format("{}", fmt::join(container_environment(launch.payload, {}), " ")),
            "HOME=/home/ada A=9 PATH=/mine");
}

TEST(ContainerPlan, DockerIsAskedForOneProcessWithoutRights) {
  proto::LaunchRun launch = launch_of("x");
  launch.part.memory_bytes = 1 << 30;
  launch.gpu_uuids = {"GPU-1", "GPU-2"};
  ContainerFacts facts = node_facts();
  facts.gpus = "nvidia";
  const ContainerOrder order = plan_of(launch, ContainerKind::docker, facts);
  EXPECT_EQ(order.name, "rota-n1.ab.12.1");
  EXPECT_EQ(order.request,
            R"({"Image":"sha256:aa","Entrypoint":["/run/.rota/pause"],"Cmd":[],"User":"1000:100",)"
            R"("WorkingDir":"/","Env":["NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2",)"
            R"("NVIDIA_DRIVER_CAPABILITIES=compute,utility"],"Healthcheck":{"Test":["NONE"]},)"
            R"("Labels":{"rota.node":"n1.ab","rota.run":"12.1"},"HostConfig":{)"
            R"("Binds":["/spool/12.1.box:/run/.rota:ro"],"NetworkMode":"host","IpcMode":"private",)"
            R"("UsernsMode":"host","ReadonlyRootfs":false,"CapDrop":["ALL"],)"
            R"("SecurityOpt":["no-new-privileges"],"AutoRemove":true,"Init":false,)"
            R"("LogConfig":{"Type":"none"},"Memory":1073741824,"CpusetCpus":"0-3",)"
            R"("DeviceRequests":[{"Driver":"nvidia","DeviceIDs":["GPU-1","GPU-2"],)"
            R"("Capabilities":[["gpu"]]}]}})");
  EXPECT_EQ(format("{}", fmt::join(order.workdirs, " ")), "/work /home/ada /");
  EXPECT_EQ(order.passwd_line, "ada:x:1000:100::/home/ada:/bin/sh");
  EXPECT_EQ(order.digest, "sha256:aa");
  EXPECT_TRUE(order.entry_words.empty()) << "a command runs without the entry point";
}

TEST(ContainerPlan, PodmanGetsTheSameInWords) {
  proto::LaunchRun launch = launch_of("x");
  launch.gpu_uuids = {"GPU-1"};
  launch.payload.container.read_only = true;
  launch.payload.container.shm_bytes = 4096;
  ContainerFacts facts = node_facts();
  facts.gpus = "cdi";
  const ContainerOrder order = plan_of(launch, ContainerKind::podman, facts);
  EXPECT_EQ(
      format("{}", fmt::join(order.start_words, " ")),
      "/usr/bin/podman --cgroup-manager=cgroupfs --events-backend=file --runtime=runc run "
      "--detach --rm --pull=never --log-driver=none --cap-drop=all "
      "--security-opt=no-new-privileges --no-healthcheck --userns=host --workdir=/ --passwd=false "
      "--ulimit=nofile=10:10 --name=rota-n1.ab.12.1 --label=rota.run=12.1 --user=1000:100 "
      "--network=host --ipc=private --pid=private --pidfile=/spool/12.1.box/pid "
      "--volume=/spool/12.1.box:/run/.rota:ro --entrypoint=/run/.rota/pause --read-only "
      "--shm-size=4096 --cpuset-cpus=0-3 "
      "--device=nvidia.com/gpu=GPU-1 -- sha256:aa");
  EXPECT_EQ(order.remove_words.back(), "rota-n1.ab.12.1");
}

TEST(ContainerPlan, EnrootGetsAnImageAndAPlaceOfTheOwners) {
  ContainerFacts facts = node_facts();
  facts.enroot = "/opt/enroot/bin/enroot";
  facts.enroot_dir = "/spool/enroot";
  proto::LaunchRun launch = launch_of("/images/x.sqsh");
  launch.gpu_uuids = {"GPU-1", "GPU-2"};
  facts.gpus = "nvidia";
  ImageFacts image;
  image.id = "/images/x.sqsh";
  const auto plan = [&] {
    return *plan_container(launch, ContainerKind::enroot, image, facts, "/spool/12.1.box", "0-3");
  };
  ContainerOrder order = plan();
  EXPECT_EQ(order.root, "/spool/enroot/data/1000/rota-n1.ab.12.1");
  EXPECT_EQ(format("{}", fmt::join(order.create_words, " ")),
            "/opt/enroot/bin/enroot create --name rota-n1.ab.12.1 -- /images/x.sqsh");
  EXPECT_EQ(format("{}", fmt::join(order.start_words, " ")),
            "/opt/enroot/bin/enroot start --rc /spool/12.1.box/rc --rw");
  EXPECT_NE(std::ranges::find(order.environment, "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2"),
            order.environment.end());
  EXPECT_TRUE(order.entry_words.empty());
  launch.payload.arguments.clear();
  launch.payload.container.name = "tools:create";
  launch.payload.container.read_only = true;
  order = plan();
  EXPECT_EQ(order.root, "/spool/enroot/data/1000/kept.tools");
  EXPECT_TRUE(order.is_fresh);
  EXPECT_EQ(order.start_words.back(), "/spool/12.1.box/rc");
  EXPECT_EQ(format("{}", fmt::join(order.entry_words, " ")), "/bin/sh /etc/rc");
}

TEST(ContainerPlan, VolumesHaveThePlaceAndTheLimitsOfTheSite) {
  ContainerFacts facts = node_facts();
  facts.data = {{"own", "/lustre/own", "/own", false, {"elsewhere"}},
                {"sets", "/lustre/sets", "/sets", true, {}}};
  proto::LaunchRun launch = launch_of("x");
  launch.payload.container.data = {{"sets", "", false}, {"sets", "/mnt", false}};
  const ContainerOrder order = plan_of(launch, ContainerKind::docker, facts);
  EXPECT_EQ(order.mounts, (std::vector<ContainerMount>{{"/lustre/sets", "/sets", true},
                                                       {"/lustre/sets", "/mnt", true}}));
  launch.payload.container.data = {{"own", "", false}};
  const auto refused = plan_container(launch, ContainerKind::docker, {}, facts, "/d", "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail,
            "the configuration of this node has no volume 'own' for project 'default'");
}

TEST(ContainerPlan, WhatIsKeptIsTheOwnersAndSaysWhatTheImageSaid) {
  proto::LaunchRun launch = launch_of("x");
  launch.payload.container.name = "tools";
  ContainerOrder order = plan_of(launch, ContainerKind::docker);
  EXPECT_EQ(order.keep, "rota-own-kept:1000.tools");
  EXPECT_EQ(order.keep_request.find("pause"), std::string::npos);
  order = plan_of(launch, ContainerKind::podman);
  EXPECT_EQ(order.keep_words.back(), "localhost/rota-own-kept:1000.tools");
  EXPECT_EQ(order.keep_words[order.keep_words.size() - 2], "rota-n1.ab.12.1");
}

TEST(ContainerPlan, TheImageRunsItsOwnCommandWhenTheJobHasNone) {
  proto::LaunchRun launch = launch_of("x");
  launch.payload.arguments.clear();
  EXPECT_EQ(format("{}", fmt::join(plan_of(launch, ContainerKind::docker).entry_words, " ")),
            "/entry -x serve");
  const auto none = plan_container(launch, ContainerKind::docker, {}, node_facts(), "/d", "");
  EXPECT_EQ(none.error().detail, "image 'x' has no command of its own: give one behind --");
  launch.payload.arguments = {"word"};
  launch.payload.container.entrypoint = true;
  EXPECT_EQ(format("{}", fmt::join(plan_of(launch, ContainerKind::docker).entry_words, " ")),
            "/entry -x");
}

TEST(ContainerPlan, NobodyWritesALineOfPasswdForOthers) {
  proto::LaunchRun launch = launch_of("x");
  launch.owner.user = "a:b\nroot";
  launch.payload.environment = {"HOME=/h:x\nroot::0:0"};
  EXPECT_EQ(plan_of(launch, ContainerKind::docker).passwd_line,
            "a_b_root:x:1000:100::/h_x_root__0_0:/bin/sh");
}

}  // namespace
}  // namespace rota::gpud
