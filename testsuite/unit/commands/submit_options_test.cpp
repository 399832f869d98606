// testsuite/unit/commands/submit_options_test.cpp - rsubmit's options from script, environment and
// line.
#include "commands/submit_options.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/format.h"

namespace rota::commands {
namespace {

std::string text_of(const JobSpec& spec) {
  std::string text =
      format("{} in {}, {}, {} nodes, {} tasks, {}+{} GPUs", spec.name,
             spec.project.empty() ? "default" : spec.project, name_of(spec.kind), spec.node_count,
             spec.task_count, spec.task.gpu_count, spec.node.gpu_count);
  const auto limit = [](std::uint32_t above) { return above != 0 ? format(":{}", above) : ""; };
  if (spec.task.gpu_share != 0)
    text += format(", share {}{}", spec.task.gpu_share, limit(spec.task.gpu_share_limit));
  if (spec.task.gpu_memory_mib != 0)
    text += format(", {}{} MiB", spec.task.gpu_memory_mib, limit(spec.task.gpu_memory_limit_mib));
  if (spec.task.uses_mig())
    text += format(", mig {}:{}", spec.task.mig_profile, spec.task.mig_count);
  if (spec.task.uses_mps()) text += ", mps " + mps_text(spec.task);
  if (spec.node.memory_bytes != 0) text += format(", {} bytes", spec.node.memory_bytes);
  if (spec.task.cpu_count != 1 || spec.task.memory_bytes != 0)
    text += format(", {} CPUs", spec.task.cpu_count);
  if (spec.task.memory_bytes != 0) text += format(" and {} bytes", spec.task.memory_bytes);
  if (spec.task.cpu_count != 1 || spec.task.memory_bytes != 0) text += " a task";
  if (spec.time_limit_seconds != 0) text += format(", {} s", spec.time_limit_seconds);
  if (spec.is_elastic()) text += format(", up to {} nodes", spec.node_count_max);
  if (!spec.requeue) text += ", no requeue";
  if (!spec.queue.empty()) text += ", queue " + spec.queue.str();
  if (spec.priority != 0) text += format(", priority {}", spec.priority);
  if (spec.preemptibility == Preemptibility::yes) text += ", preemptible";
  if (spec.preemptibility == Preemptibility::no) text += ", not preemptible";
  if (spec.preemptibility == Preemptibility::semi) text += ", preemptible in part";
  if (spec.background) text += ", in the background";
  if (spec.rules->exclusive) text += ", alone";
  if (spec.signal != 0) text += format(", signal {}@{}", spec.signal, spec.signal_seconds);
  if (spec.grace_seconds >= 0) text += format(", grace {} s", spec.grace_seconds);
  if (!spec.nodes->empty()) text += ", " + rota::text_of(*spec.nodes);
  if (spec.topology->names_levels()) text += ", " + rota::text_of(*spec.topology);
  if (spec.topology->segment > 0) text += rota::format(", segments of {}", spec.topology->segment);
  for (const std::uint16_t port : spec.service->ports) text += rota::format(", port {}", port);
  if (spec.service->url) text += ", for browsers";
  for (const std::string& user : spec.service->users) text += " of " + user;
  return text;
}

/// The job that a script, variables and a command line make together, or the error.
std::string job(std::string_view script, std::vector<const char*> variables,
                const std::string& line) {
  SubmitOptions options;
  auto directives = directives_parse(script, "job.sh");
  if (!directives) return directives.error().detail;
  auto given = directive_options(*directives, "job.sh");
  if (!given) return given.error().detail;
  auto arguments = parse_environment(submit_command(), variables);
  if (!arguments) return arguments.error().detail;
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (const auto bad = parse_words(submit_command(), words, *arguments)) return bad->what;
  given->insert(given->end(), arguments->options.begin(), arguments->options.end());
  for (const Given& one : *given)
    if (auto applied = apply(one, options); !applied) return applied.error().detail;
  const auto spec = job_spec_from(options, "job.sh");
  return spec ? text_of(*spec) : spec.error().detail;
}
std::string line(const std::string& words) { return job("", {}, words); }

TEST(SubmitOptions, SayWhatTheJobIs) {
  EXPECT_EQ(line(""), "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs");
  EXPECT_EQ(line("-J a -A team -G 2 --kind inference"),
            "a in team, inference, 0 nodes, 1 tasks, 2+0 GPUs");
  EXPECT_EQ(line("--name a --account team --project other --gpu 1 -n 4"),
            "a in other, train, 0 nodes, 4 tasks, 1+0 GPUs");
  EXPECT_EQ(line("-N 2 --gpus-per-node=8 --ntasks-per-node 8"),
            "job.sh in default, train, 2 nodes, 16 tasks, 0+8 GPUs");
}

TEST(SubmitOptions, SayWhoComesToItsPorts) {
  const std::string plain = "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs";
  EXPECT_EQ(line("--port 8888"), plain + ", port 8888");
  EXPECT_EQ(line("--port 8888,80 --port=80,81 --url"),
            plain + ", port 8888, port 80, port 81, for browsers");
  EXPECT_EQ(line("--port 80 --url=users:ada,bob"), plain + ", port 80, for browsers of ada of bob");
  EXPECT_EQ(line("--port 80 --url=users:ada --url"), plain + ", port 80, for browsers");
  EXPECT_EQ(job("#ROTA --port=80 --url=users:ada\n", {}, "--port 81"),
            plain + ", port 80, port 81, for browsers of ada");
  EXPECT_EQ(line("--url"), "an address for browsers needs a port: give --port as well");
  EXPECT_EQ(line("--external-url container=9090"), plain + ", port 9090, for browsers");
  EXPECT_EQ(line("--external-url container=9090,authusers=ada;bob"),
            plain + ", port 9090, for browsers of ada of bob");
  EXPECT_EQ(line("--external-url container=x"),
            "--external-url: 'x' is no port, which is 1 to 65535");
  EXPECT_EQ(line("--external-url authusers=ada"),
            "--external-url: the port is missing; write container=8888");
  EXPECT_NE(line("--external-url container=1,url=https://x").find("leave url= out"),
            std::string::npos);
  EXPECT_NE(line("--external-url container=1,authgroups=x").find("'authgroups' is not known"),
            std::string::npos);
  EXPECT_EQ(line("--port 8080:80"),
            "--port: '8080:80': a port is not led to another; give the one that the job listens on "
            "(80), and for one of this host: rota port-forward JOB 8080:80");
  for (const char* wrong : {"0", "65536", "-1", "x", "80,", ",80"})
    EXPECT_EQ(line(std::string("--port=") + wrong),
              rota::format("--port: '{}' is no list of ports; write 8888 or 8888,6006, each 1 to "
                           "65535",
                           wrong));
  for (const char* wrong : {"ada", "users:", "users:ada,", "groups:x"})
    EXPECT_EQ(line(std::string("--port 80 --url=") + wrong),
              rota::format("--url: '{}' names nobody; write --url for yourself, or "
                           "--url=users:alice,bob for them too",
                           wrong));
}

/// What the container's options come to: variables, directory, entry point, sources.
std::string container(std::string_view script) {
  SubmitOptions options;
  const auto directives = directives_parse(script, "job.sh");
  const auto given = directive_options(*directives, "job.sh");
  if (!given) return given.error().detail;
  for (const Given& one : *given)
    if (const auto applied = apply(one, options); !applied) return applied.error().detail;
  std::string text =
      format("{} in {}", fmt::join(options.container.environment, " "), options.container.workdir);
  if (options.container.entrypoint) text += ", entry point";
  for (const GitSource& git : options.sources.git)
    text += format(", {} at {} in {}", git.url, git.revision, git.target);
  return text;
}

TEST(SubmitOptions, AreKnownByTheNamesThatPyxisAndRunAiHave) {
  ::setenv("ROTA_TEST_A", "1", 1);
  ::setenv("ROTA_TEST_B", "2", 1);
  ::unsetenv("ROTA_TEST_C");
  EXPECT_EQ(container("#ROTA --container-env=ROTA_TEST_A,ROTA_TEST_B --environment C=3\n"),
            "ROTA_TEST_A=1 ROTA_TEST_B=2 C=3 in ");
  EXPECT_EQ(container("#ROTA --working-dir /w --container-entrypoint\n"), " in /w, entry point");
  EXPECT_EQ(container("#ROTA --args --no-container-entrypoint --no-container-remap-root\n"),
            " in ");
  EXPECT_EQ(container("#ROTA --git-sync name=x,repository=https://h/c.git,path=/src,rev=v1\n"),
            " in , https://h/c.git at v1 in /src");
  EXPECT_EQ(container("#ROTA --git-sync repository=https://h/c.git,path=src\n"),
            " in , https://h/c.git at  in ./src");
  const auto refusal = [](const std::string& option, std::string_view part) {
    const std::string text = container("#ROTA " + option + "\n");
    return text.find(part) != std::string::npos ? "" : text;
  };
  EXPECT_EQ(refusal("--container-env=ROTA_TEST_C", "'ROTA_TEST_C' has no value here"), "");
  EXPECT_EQ(refusal("--container-env=A=1", "these are names only"), "");
  EXPECT_EQ(refusal("--git-sync repository=https://h/c.git", "both are needed"), "");
  EXPECT_EQ(refusal("--git-sync repository=x,depth=1", "'depth' is not known"), "");
  EXPECT_EQ(refusal("--git-sync name=x,secret=s", "a secret cannot be given here"), "");
  EXPECT_EQ(refusal("--container-remap-root", "who you are outside"), "");
  EXPECT_EQ(refusal("--container-unshare=net", "for the site to say"), "");
}

TEST(SubmitOptions, SayHowItIsToldToMakeWay) {
  const std::string plain = "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs";
  EXPECT_EQ(line("--signal=USR1@120"), plain + ", signal 10@120");
  EXPECT_EQ(line("--signal sigusr2@5m --grace 90s"), plain + ", signal 12@300, grace 90 s");
  EXPECT_EQ(line("--signal=2 --grace=0"), plain + ", signal 2@0, grace 0 s");
  EXPECT_EQ(line("--signal=B:USR1"), plain + ", signal 10@0");
  EXPECT_EQ(
      line("--signal=C:USR1"),
      "--signal: 'C:USR1' is no signal; write a name such as TERM or USR1, or a number from 1 "
      "to 64");
  EXPECT_EQ(line("--signal=USR1@8d"),
            "the signal comes 604801 s before the time limit, it must be 0 to 604800");
  EXPECT_EQ(line("--grace=2d"), "the grace is 86401 s, it must be 0 to 86400");
  EXPECT_NE(line("--grace=soon").find("--grace: "), std::string::npos);
}

TEST(SubmitOptions, SayHowItIsServed) {
  EXPECT_EQ(line("--interactive -p notebooks"),
            "job.sh in default, interactive, 0 nodes, 1 tasks, 0+0 GPUs, queue notebooks");
  EXPECT_EQ(line("--inference --partition a --queue b --priority very-high"),
            "job.sh in default, inference, 0 nodes, 1 tasks, 0+0 GPUs, queue b, priority 150");
  EXPECT_EQ(line("--kind inference --interactive --preemptible --priority 7"),
            "job.sh in default, interactive, 0 nodes, 1 tasks, 0+0 GPUs, priority 7, preemptible");
  EXPECT_EQ(line("--preemptible --non-preemptible"),
            "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, not preemptible");
  EXPECT_EQ(line("--preemptibility semi -N 2-4"),
            "job.sh in default, train, 2 nodes, 2 tasks, 0+0 GPUs, up to 4 nodes, preemptible in "
            "part");
  EXPECT_EQ(line("--background -G 2"),
            "job.sh in default, train, 0 nodes, 1 tasks, 2+0 GPUs, in the background");
  EXPECT_EQ(line("--exclusive -G 2"),
            "job.sh in default, train, 0 nodes, 1 tasks, 2+0 GPUs, alone");
  EXPECT_EQ(line("--exclusive=node"),
            "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, alone");
  EXPECT_EQ(line("--exclusive=user"),
            "--exclusive: 'user' is not known here: a node is shared with every job or with none; "
            "write --exclusive for none");
  EXPECT_EQ(line("--exclusive -g 0.5"),
            "a job that has its nodes to itself gets whole GPUs: ask for whole ones, or leave out "
            "--exclusive");
  EXPECT_EQ(line("--background --interactive"),
            "a job in the background gives way to all others: it is of kind train and preemptible");
  EXPECT_EQ(line("--preemptibility semi -N 2"),
            "semi-preemptible is a job that can do with fewer nodes: ask for a range, such as -N "
            "4-8");
  EXPECT_EQ(line("--preemptibility maybe"),
            "--preemptibility: write preemptible, non-preemptible or semi");
  EXPECT_EQ(line("--preemptible --preemptibility=non-preemptible"),
            "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, not preemptible");
  EXPECT_EQ(line("--priority 0"),
            "--priority: '0' is no priority; write 1 to 1000000, or very-low (25), low (40), "
            "medium-low (65), medium (80), medium-high (90), high (125), very-high (150)");
}

TEST(SubmitOptions, MemoryAndTimeHaveUnits) {
  EXPECT_EQ(line("--mem 512"),
            "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, 536870912 bytes");
  EXPECT_EQ(line("--mem=2G -t 90"),
            "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, 2147483648 bytes, 5400 s");
  EXPECT_EQ(line("-t 1-2:03:04"), "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, 93784 s");
  EXPECT_EQ(line("-t 1h30m"), "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, 5400 s");
  EXPECT_EQ(line("-t 500ms"), "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs, 1 s");
  EXPECT_EQ(line("-t unlimited"), "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs");
}

TEST(SubmitOptions, TheLineBeatsTheEnvironmentBeatsTheScript) {
  const char* script = "#!/bin/sh\n#ROTA -J script -A script\n#ROTA -G 1 --no-requeue\n";
  EXPECT_EQ(job(script, {}, ""), "script in script, train, 0 nodes, 1 tasks, 1+0 GPUs, no requeue");
  EXPECT_EQ(job(script, {"ROTA_SUBMIT_GPUS=2", "ROTA_SUBMIT_PROJECT=env"}, ""),
            "script in env, train, 0 nodes, 1 tasks, 2+0 GPUs, no requeue");
  EXPECT_EQ(job(script, {"ROTA_SUBMIT_GPUS=2", "ROTA_SUBMIT_PROJECT=env"}, "-G 4 --requeue"),
            "script in env, train, 0 nodes, 1 tasks, 4+0 GPUs");
}

TEST(SubmitOptions, VariablesOfARunningJobAreNotOptions) {
  EXPECT_EQ(job("", {"ROTA_SUBMIT_DIR=/tmp", "ROTA_SUBMIT_HOST=x", "ROTA_JOB_NAME=y"}, ""),
            "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs");
}

TEST(SubmitOptions, ARangeOfNodes) {
  EXPECT_EQ(line("-N 4-8"), "job.sh in default, train, 4 nodes, 4 tasks, 0+0 GPUs, up to 8 nodes");
  EXPECT_EQ(line("-N 2-3 --ntasks-per-node 4 -g 1"),
            "job.sh in default, train, 2 nodes, 8 tasks, 1+0 GPUs, up to 3 nodes");
  EXPECT_EQ(line("-N 2-3 --gpus-per-node 8"),
            "job.sh in default, train, 2 nodes, 2 tasks, 0+8 GPUs, up to 3 nodes");
  EXPECT_EQ(line("-N 4-4"), "job.sh in default, train, 4 nodes, 4 tasks, 0+0 GPUs");
  EXPECT_EQ(line("-N 4-8 -N 2"), "job.sh in default, train, 2 nodes, 2 tasks, 0+0 GPUs");
  for (const char* range : {"8-4", "0-4", "4-", "4-x", "4-100001", "4-8-9"})
    EXPECT_EQ(line(std::string("-N ") + range),
              format("--nodes: '{}' is no range of nodes; write 4-8 for at least 4 and up to 8, at "
                     "most 100000",
                     range));
  EXPECT_EQ(line("-N 2-4 -G 8"),
            "--gpus counts the whole job, and this one has 2 to 4 nodes: give --gpus-per-node or "
            "-g");
}

TEST(SubmitOptions, APartOfAGpu) {
  EXPECT_EQ(line("-g 0.5"), "job.sh in default, train, 0 nodes, 1 tasks, 1+0 GPUs, share 500000");
  EXPECT_EQ(line("--gpu 0.25 --gpu-devices 2"),
            "job.sh in default, train, 0 nodes, 1 tasks, 2+0 GPUs, share 250000");
  EXPECT_EQ(line("--gpu-memory 20G -n 2"),
            "job.sh in default, train, 0 nodes, 2 tasks, 1+0 GPUs, 20480 MiB");
  EXPECT_EQ(line("--gpu-memory 100000K"),
            "job.sh in default, train, 0 nodes, 1 tasks, 1+0 GPUs, 98 MiB");
  EXPECT_EQ(line("-g 2.0"), "job.sh in default, train, 0 nodes, 1 tasks, 2+0 GPUs");
  EXPECT_EQ(line("-g 0.5 -g 1"),
            "job.sh in default, train, 0 nodes, 1 tasks, 1+0 GPUs");  // the last word counts
  EXPECT_EQ(
      line("-g 1.5"),
      "--gpus-per-task: '1.5': more than one GPU is asked for in whole ones, or as a share of "
      "each of several: -g 0.5 --gpu-devices=3");
  EXPECT_EQ(line("-g 0.001"),
            "the share of a GPU is 0.001, it must be 0.01 or more and less than 1");
  EXPECT_EQ(line("-G .25"), "--gpus: '.25': a share of a GPU is asked for by each task: -g .25");
  EXPECT_EQ(line("-g 0.5 -G 2"),
            "a share of a GPU is for every task: leave out --gpus, or say of how many GPUs with "
            "--gpu-devices");
  EXPECT_EQ(line("-g 0.5 --gpu-memory 1G"),
            "a share of a GPU and --gpu-memory contradict each other: leave one out");
  EXPECT_EQ(line("--gpu-memory 0"), "--gpu-memory: no memory at all; leave it out, or give a size");
  EXPECT_EQ(line("--gpu-memory 100P"),
            "the memory of a GPU is 16777217 MiB, it must be 1 to 16777216");
  EXPECT_EQ(line("--gpu-devices 2"),
            "--gpu-devices says of how many GPUs a part is asked for: give -g 0.5 or "
            "--gpu-memory=20G with it; for whole GPUs -g is enough");
}

TEST(SubmitOptions, MigInstances) {
  const std::string start = "job.sh in default, train, 0 nodes, 1 tasks, ";
  EXPECT_EQ(line("--mig 3g.20gb"), start + "0+0 GPUs, mig 3g.20gb:1");
  EXPECT_EQ(line("--mig=1g.5gb+me:2"), start + "0+0 GPUs, mig 1g.5gb+me:2");
  EXPECT_EQ(line("--mig 3g.20gb:2 --mig 1g.5gb"), start + "0+0 GPUs, mig 1g.5gb:1");
  EXPECT_EQ(line("--mig auto -g 0.4"), start + "1+0 GPUs, share 400000, mig auto:0");
  EXPECT_EQ(line("--mig auto --gpu-memory 9G"), start + "1+0 GPUs, 9216 MiB, mig auto:0");
  for (const char* bad : {"3g", "20gb", "whole", "3g.20gbextra"})
    EXPECT_NE(line(std::string("--mig=") + bad).find("is not the name of a MIG profile"),
              std::string::npos)
        << bad;
  for (const char* bad : {"3g.20gb:0", "3g.20gb:", "3g.20gb:x", "3g.20gb:1025", "auto:2"})
    EXPECT_NE(
        line(std::string("--mig=") + bad + " -g 0.5").find("stands how many of it, 1 to 1024"),
        std::string::npos)
        << bad;
  EXPECT_EQ(line("--mig auto"),
            "--mig=auto finds the MIG profile for a part of a GPU: give -g 0.5 or "
            "--gpu-memory=20G with it");
  EXPECT_EQ(line("--mig 3g.20gb -g 1"),
            "--mig=3g.20gb and --gpus-per-task contradict each other: MIG instances stand in the "
            "place of GPUs, leave one out");
}

TEST(SubmitOptions, AShareOfTheComputeByMps) {
  const std::string start = "job.sh in default, train, 0 nodes, 1 tasks, 1+0 GPUs";
  EXPECT_EQ(line("-g 0.5 --mps"), start + ", share 500000, mps 50%");
  EXPECT_EQ(line("-g 0.333 --mps"), start + ", share 333000, mps 34%") << "rounded up";
  EXPECT_EQ(line("-g 0.25:0.8 --mps"), start + ", share 250000:800000, mps 25%");
  EXPECT_EQ(line("-g 0.5 --mps=80"), start + ", share 500000, mps 80%");
  EXPECT_EQ(line("-g 0.5 --mps=80 --mps"), start + ", share 500000, mps 50%") << "the later wins";
  EXPECT_EQ(line("-g 1 --mps"), start + ", mps 100%");
  EXPECT_EQ(line("--gpu-memory 9G --mps"), start + ", 9216 MiB, mps by memory");
  EXPECT_EQ(line("--gpu-memory 9G --mps=7"), start + ", 9216 MiB, mps 7%");
  EXPECT_EQ(line("-G 2 -n 2 --mps"),
            "job.sh in default, train, 0 nodes, 2 tasks, 1+0 GPUs, mps 100%");
  EXPECT_EQ(job("#!/bin/sh\n#ROTA --mps -g 0.2\n", {}, ""), start + ", share 200000, mps 20%");
  for (const char* on : {"ROTA_SUBMIT_MPS=yes", "ROTA_SUBMIT_MPS=true"})
    EXPECT_EQ(job("", {on}, "-g 0.2"), start + ", share 200000, mps 20%");
  for (const char* off : {"ROTA_SUBMIT_MPS=no", "ROTA_SUBMIT_MPS=", "ROTA_SUBMIT_MPS=false"})
    EXPECT_EQ(job("", {off}, "-g 0.2"), start + ", share 200000");
  EXPECT_EQ(job("", {"ROTA_SUBMIT_MPS=1"}, "-g 0.2"), start + ", share 200000, mps 1%");
  for (const char* bad : {"0", "101", "-1", "50%", "half", "4294967346"})
    EXPECT_EQ(
        line(std::string("-g 0.5 --mps=") + bad),
        format("--mps: '{}' is no share of a GPU's compute; write 1 to 100 percent, or nothing "
               "for as much as the part of the GPU is",
               bad));
  EXPECT_EQ(
      line("--mps"),
      "--mps is a share of a GPU's compute: ask for a GPU or a part of one as well, with -g 1, "
      "-g 0.5 or --gpu-memory=20G");
  for (const char* two : {"-g 2 --mps", "-g 0.5 --gpu-devices 2 --mps", "-G 2 --mps"})
    EXPECT_EQ(line(two),
              "--mps is for at most one GPU per task, and this asks for 2: a program speaks to one "
              "MPS daemon, and each serves one GPU");
  EXPECT_EQ(line("--gpus-per-node 1 --mps"),
            "--mps is a share of the GPU of each task, and 1 GPU of a node would be for all of its "
            "tasks: give -g 1 or -g 0.5");
  EXPECT_EQ(
      line("--mig 3g.20gb --mps"),
      "--mps and --mig contradict each other: a MIG instance has compute of its own, leave one "
      "out");
}

TEST(SubmitOptions, PartsOfGpusWithALimitAbove) {
  const std::string plain = "job.sh in default, train, 0 nodes, 1 tasks, 1+0 GPUs, ";
  EXPECT_EQ(line("-g 0.25:0.8"), plain + "share 250000:800000");
  EXPECT_EQ(line("-g 0.25:1"), plain + "share 250000:1000000");
  EXPECT_EQ(line("-g 0.25:0.8 -g 0.5"), plain + "share 500000");
  EXPECT_EQ(line("--gpu-memory=20G:30G"), plain + "20480:30720 MiB");
  EXPECT_EQ(line("--gpu-memory=100:200"), plain + "100:200 MiB");
  EXPECT_EQ(line("-g 0.5:0.25"),
            "--gpus-per-task: '0.5:0.25': a limit is at least the share, and at most 1");
  EXPECT_EQ(line("-g 0.5:1.5"),
            "--gpus-per-task: '0.5:1.5': a limit is at least the share, and at most 1");
  EXPECT_EQ(line("-g 2:3"),
            "--gpus-per-task: '2:3': a limit stands above a share of a GPU: -g 0.25:0.8");
  EXPECT_EQ(line("--gpu-memory=30G:20G"),
            "--gpu-memory: '30G:20G': a limit is at least what is asked for");
}

TEST(SubmitOptions, ATypeOfGpuIsAWishForNodes) {
  const auto ends = [](const std::string& words, std::string_view end) {
    EXPECT_TRUE(line(words).ends_with(end)) << line(words);
  };
  ends("--gpus=a100:2", " 2+0 GPUs, with 'a100'");
  ends("--gpus-per-node=h100:8 -C lab|new", " 0+8 GPUs, with 'lab|new&h100'");
  ends("-g v100:1", " 1+0 GPUs, with 'v100'");
  ends("--gpus=a100:2 --gpus=4", " 4+0 GPUs");
  EXPECT_EQ(line("--gpus=a|b:2"),
            "--gpus: 'a|b:2': before the colon stands one type of GPU: a100:4");
  EXPECT_EQ(line("--gpus=a100:x"), "--gpus: 'x' is no number; digits are needed, 0 to 4294967295");
}

TEST(SubmitOptions, WhatStandsForEachCpuOrGpu) {
  const auto ends = [](const std::string& words, std::string_view end) {
    EXPECT_TRUE(line(words).ends_with(end)) << line(words);
  };
  ends("-n 4 -c 8 --mem-per-cpu=2G", " 8 CPUs and 17179869184 bytes a task");
  ends("-n 2 -g 2 --mem-per-gpu=1G", " 1 CPUs and 2147483648 bytes a task");
  ends("-N 2 --gpus-per-node=4 --mem-per-gpu=1G", "0+4 GPUs, 4294967296 bytes");
  ends("-n 2 -g 2 --cpus-per-gpu=6", " 12 CPUs a task");
  ends("-N 1 --ntasks-per-node=3 --gpus-per-node=4 --cpus-per-gpu=4", " 6 CPUs a task");
  ends("-G 8 --ntasks-per-gpu=1", " 8 tasks, 1+0 GPUs");
  ends("-N 2 --gpus-per-node=4 --ntasks-per-gpu=2", " 2 nodes, 16 tasks, 0+4 GPUs");
  EXPECT_EQ(line("--mem=1G --mem-per-cpu=1G"),
            "--mem, --mem-per-cpu and --mem-per-gpu contradict each other: give one");
  EXPECT_EQ(line("--mem-per-gpu=1G"),
            "--mem-per-gpu counts GPUs, and this job has none: give -G or -g with it");
  EXPECT_EQ(line("--cpus-per-gpu=1"),
            "--cpus-per-gpu counts GPUs, and this job has none: give -G or -g with it");
  EXPECT_EQ(line("-g 1 --cpus-per-gpu=1 -c 2"),
            "--cpus-per-gpu and --cpus-per-task contradict each other: leave one out");
  EXPECT_EQ(line("-n 2 -G 2 --ntasks-per-gpu=1"),
            "--ntasks-per-gpu and --ntasks contradict each other: leave one out");
  EXPECT_EQ(line("-c 1000 --mem-per-cpu=16000000T"),
            "--mem-per-cpu: more memory than any computer has");
}

TEST(SubmitOptions, BadValuesNameTheOption) {
  EXPECT_EQ(line("-N x"), "--nodes: 'x' is no number; digits are needed, 0 to 4294967295");
  EXPECT_EQ(line("-n -1"), "--ntasks: '-1' is no number; digits are needed, 0 to 4294967295");
  EXPECT_EQ(line("--kind big"),
            "--kind: 'big' is no kind of job; known are train, interactive, inference");
  EXPECT_EQ(line("--job-name="), "--job-name: the value is empty");
  EXPECT_TRUE(line("-o out-%q")
                  .starts_with("--output: unknown pattern in 'out-%q' at column 5; known are %j"));
  EXPECT_EQ(line("-t 4000-0"), "the time limit is 345600000 s, it must be 0 to 315360000");
}

TEST(SubmitOptions, ErrorsInAScriptNameLineAndColumn) {
  EXPECT_EQ(job("#!/bin/sh\n#ROTA -N 2 --gpos=1\n", {}, ""),
            "job.sh:2:12: unknown option '--gpos'; did you mean '--gpus'?");
  EXPECT_EQ(job("#ROTA -N x\n", {}, ""),
            "job.sh:1:7: --nodes: 'x' is no number; digits are needed, 0 to 4294967295");
  EXPECT_EQ(job("#ROTA -N 2 file\n", {}, ""), "job.sh:1:12: 'file' is not an option");
  EXPECT_EQ(job("#ROTA -N 2 file -n 2\n", {}, ""), "job.sh:1:12: 'file' is not an option");
  EXPECT_EQ(job("#ROTA --json\n", {}, ""),
            "job.sh:1:7: '--json' belongs on the command line, not in a script");
  EXPECT_EQ(job("#ROTA -N 1 --\n", {}, ""), "job.sh:1:12: '--' has no meaning in a script");
  EXPECT_EQ(job("#ROTA -N\n#ROTA 2\n", {}, ""),
            "job.sh:1:7: option '-N' needs an argument: N[-MAX]")
      << "an option and its argument stand on one line";
}

TEST(SubmitOptions, ErrorsInTheEnvironmentNameTheVariable) {
  EXPECT_EQ(job("", {"ROTA_SUBMIT_TIME=soon"}, ""),
            "ROTA_SUBMIT_TIME: --time: 'soon' is no time limit; write minutes, h:m:s, d-h:m:s or a "
            "duration such as 90m");
}

TEST(SubmitOptions, NodesByNameTypeAndGroup) {
  const std::string plain = "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs";
  EXPECT_EQ(line("-w n[1-4] -x n2 -C a100|h100&lab"),
            plain + ", of n[1-4] without n2 with 'a100|h100&lab'");
  EXPECT_EQ(line("--nodelist n1 --nodelist=n2 --exclude=n3"), plain + ", of n2 without n3");
  EXPECT_EQ(job("#ROTA -C 'NVIDIA H100'\n", {"ROTA_SUBMIT_EXCLUDE=n1"}, ""),
            plain + ", without n1 with 'NVIDIA H100'");
  EXPECT_EQ(line("-w n[1-"),
            "--nodelist: the list of nodes: host list column 2: this '[' is never closed");
  EXPECT_EQ(line("--exclude=,"),
            "--exclude: the list of nodes to leave out: host list column 1: a name is missing");
  EXPECT_EQ(
      line("-C a||b"),
      "--constraint: the constraint 'a||b', column 3: the name of a type or group is missing");
  EXPECT_EQ(line("--nodelist="), "--nodelist: the value is empty");
}

TEST(SubmitOptions, Topology) {
  const std::string plain = "job.sh in default, train, 0 nodes, 1 tasks, 0+0 GPUs";
  EXPECT_EQ(line("--topology=preferred:rack,required:block"),
            plain + ", required:block,preferred:rack");
  EXPECT_EQ(job("#ROTA --topology rack\n", {}, ""), plain + ", preferred:rack");
  EXPECT_EQ(job("#ROTA --topology rack\n", {}, "--topology=none"), plain);
  EXPECT_EQ(job("", {"ROTA_SUBMIT_TOPOLOGY=required:rack"}, ""), plain + ", required:rack");
  EXPECT_EQ(line("--topology=must:rack"),
            "--topology: 'must:rack': 'must' is neither 'required' nor 'preferred'; write "
            "required:LEVEL, preferred:LEVEL or both with ',' between");
}

TEST(SubmitOptions, Segments) {
  const std::string plain = "job.sh in default, train, 4 nodes, 4 tasks, 0+0 GPUs";
  EXPECT_EQ(line("-N 4 --segment=2"), plain + ", segments of 2");
  EXPECT_EQ(line("--segment=2 -N 4 --topology=rack"), plain + ", preferred:rack, segments of 2");
  EXPECT_EQ(job("#ROTA --segment 2\n", {}, "-N 4"), plain + ", segments of 2");
  EXPECT_EQ(job("#ROTA --segment 2\n", {}, "-N 4 --segment=0"), plain);
  EXPECT_EQ(job("", {"ROTA_SUBMIT_SEGMENT=4"}, "-N 4"), plain + ", segments of 4");
  EXPECT_EQ(line("-N 5 --segment=2"),
            "5 nodes do not divide into segments of 2; ask for 4 or 6 nodes");
  EXPECT_EQ(line("-N 2 --segment=3"), "2 nodes do not divide into segments of 3; ask for 3 nodes");
  EXPECT_EQ(line("-n 4 --segment=2"),
            "segments of 2 nodes need a number of nodes: 2, or a multiple of it");
  EXPECT_EQ(line("-N 2-4 --segment=2"),
            "segments of 2 nodes cannot grow from 2 to 4 nodes; ask for one number of nodes");
  EXPECT_EQ(line("-N 2 --segment=two").substr(0, 11), "--segment: ");
}

}  // namespace
}  // namespace rota::commands
