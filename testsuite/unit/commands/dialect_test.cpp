// testsuite/unit/commands/dialect_test.cpp - Slurm's and Run:ai's words, and the scripts people
// have.
#include "commands/dialect.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands/runai_words.h"
#include "commands/slurm_words.h"
#include "commands/template.h"
#include "commands/translate.h"
#include "common/format.h"

namespace rota::commands {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// "--queue=a, lost --qos=x", or the error.
std::string shown(const Result<Translation>& translated) {
  if (!translated) return translated.error().detail;
  std::string text;
  for (const OwnWord& word : translated->options) text += (text.empty() ? "" : " ") + word.text;
  for (const Loss& loss : translated->lost) text += ", lost " + loss.option;
  for (const std::string& word : translated->operands) text += " | " + word;
  return text;
}
std::string sbatch(const std::string& line) {
  return shown(slurm_translate(SlurmCommand::sbatch, split(line)));
}
std::string srun(const std::string& line) {
  return shown(slurm_translate(SlurmCommand::srun, split(line)));
}
std::string runai(const std::string& line) { return shown(runai_submit(split(line))); }

TEST(Slurm, MostOptionsAreOurs) {
  EXPECT_EQ(sbatch("-A ml -p gpu -N2 -t 1:00:00 -J x job.sh -n 4"),
            "--project=ml --queue=gpu --nodes=2 --time=1:00:00 --job-name=x | job.sh | -n | 4");
  EXPECT_EQ(sbatch("--mem=0 --mem=4G --signal=R:USR1@60 --signal=B:TERM"),
            "--mem=4G --signal=USR1@60 --signal=B:TERM");
  EXPECT_EQ(sbatch("--nice --nice=5 --exclusive"), "--nice --nice=5 --exclusive");
  EXPECT_EQ(sbatch("--qos=high --qos=long --qos=7"),
            "--priority=high, lost --qos=long, lost --qos=7");
  EXPECT_EQ(sbatch("-p a,b"), "--queue=a, lost --partition=a,b");
  EXPECT_EQ(sbatch("--open-mode=append --open-mode=truncate"), ", lost --open-mode=append");
}

TEST(Slurm, GenericResourcesAreGpus) {
  EXPECT_EQ(sbatch("--gres=gpu"), "--gpus-per-node=1");
  EXPECT_EQ(sbatch("--gres=gpu:4"), "--gpus-per-node=4");
  EXPECT_EQ(sbatch("--gres=gpu:a100"), "--gpus-per-node=a100:1");
  EXPECT_EQ(sbatch("--gres=gpu:a100_80g:8"), "--gpus-per-node=a100_80g:8");
  EXPECT_EQ(sbatch("--gres=gpu:2(S:0-1)"), "--gpus-per-node=2");
  EXPECT_EQ(sbatch("--gres=none"), "");
  EXPECT_EQ(sbatch("--gres=tmpdisk:10,gpu:1"), "--gpus-per-node=1, lost --gres=tmpdisk:10");
}

TEST(Slurm, WhatMustNotBeLeftOutIsAnError) {
  EXPECT_EQ(sbatch("--test-only x"),
            "--test-only: nothing tells the start of a job before it is queued");
  EXPECT_EQ(sbatch("--uid=bob x"), "--uid: a job belongs to who submits it");
  EXPECT_EQ(sbatch("--frobnicate x"), "unknown option '--frobnicate'");
  EXPECT_EQ(srun("--jobid=3 x"), "--jobid: a step is started from within its job; see rexec(1)");
}

TEST(Slurm, CommandsHaveTheirOwnOptions) {
  EXPECT_EQ(srun("-l -K1 --mpi=pmix --pty -u -W 5 hostname -f"),
            "--label --kill-on-bad-exit=1 --mpi=pmix --pty, lost --wait=5 | hostname | -f");
  EXPECT_EQ(sbatch("-W x"), "--wait | x");
  EXPECT_EQ(sbatch("-l x"), "unknown option '-l'");
}

TEST(Slurm, InAScriptAWordThatNobodyKnowsIsLost) {
  EXPECT_EQ(shown(slurm_directive(split("--site-plugin=1 -t 10 --other 5 -N 2"))),
            "--time=10 --nodes=2, lost --site-plugin=1, lost --other, lost 5");
}

TEST(Slurm, VariablesStandForOptions) {
  const std::vector<const char*> variables{"SBATCH_ACCOUNT=ml", "SBATCH_TIMELIMIT=10", "SLURM_X=1",
                                           "SBATCH_REQUEUE=1", "SBATCH_HOLD=0"};
  EXPECT_EQ(format("{}", fmt::join(slurm_variables(SlurmCommand::sbatch, variables), " ")),
            "--account=ml --time=10 --requeue");
}

TEST(Runai, TheCommandStandsInOptionsOrBehind) {
  EXPECT_EQ(runai("a -i x --command sleep --args infinity"),
            "--job-name=a --image=x --no-entrypoint | sleep | infinity");
  EXPECT_EQ(runai("a -i x --command -- sleep 5"),
            "--job-name=a --image=x --no-entrypoint | sleep | 5");
  EXPECT_EQ(runai("a -i x -- --verbose"), "--job-name=a --image=x --entrypoint | --verbose");
  EXPECT_EQ(runai("a -i x"), "--job-name=a --image=x");
  EXPECT_EQ(runai("a b -i x"),
            "a job has one name, and 'b' is a second; the command stands behind --");
}

TEST(Runai, SizesAndPlaces) {
  EXPECT_EQ(runai("a -g 0.5 -c 1.2 -m 4G --pvc data:/d -e A=b"),
            "--job-name=a --gpus-per-task=0.5 --cpus-per-task=2 --mem=4G --data=data:/d --env=A=b");
  EXPECT_EQ(runai("--host-path path=/a,mount=/b --existing-pvc claimname=c,path=/d"),
            "--container-mounts=/a:/b:ro --data=c:/d");
  EXPECT_EQ(runai("a -c much"), "--cpu: 'much' is no number; write digits, such as 4 or 1.5");
  EXPECT_EQ(shown(runai_submit_dist(split("pytorch a -i x -g 2 --workers 3"))),
            "--job-name=a --image=x --gpus-per-task=2 --ntasks=4");
  EXPECT_EQ(shown(runai_submit_dist(split("ray a"))),
            "submit-dist needs a kind: pytorch, mpi, tf or xgboost");
}

TEST(Translate, ACommandLineIsSplitAsAShellDoes) {
  const auto line = [](const std::vector<std::string>& words) {
    const auto out = translate_command(words);
    return out ? command_line(*out) : out.error().detail;
  };
  EXPECT_EQ(line({"runai", "submit", "a", "-e", "X=it's a b"}),
            R"(rsubmit --job-name=a --env='X=it'\''s a b')");
  EXPECT_EQ(line({"/usr/bin/sbatch", "-N", "2", "job.sh"}), "rsubmit --nodes=2 job.sh");
  EXPECT_EQ(line({"runai", "workspace", "submit", "w", "-i", "x"}),
            "rsubmit --job-name=w --image=x --interactive");
  EXPECT_EQ(line({"qsub", "x"}),
            "'qsub' is no command that can be translated; known are 'runai submit', sbatch, srun "
            "and salloc");
}

TEST(Translate, OnlyLinesOfOptionsChange) {
  const auto out = translate_script(
      "#!/bin/bash\n#SBATCH -p gpu --reservation=r\n#SBATCH --contiguous\n\necho '#SBATCH -N 2'\n"
      "#SBATCH -N 3\nlast",
      "j");
  ASSERT_TRUE(out);
  EXPECT_EQ(out->text, "#!/bin/bash\n#ROTA --queue=gpu\n\necho '#SBATCH -N 2'\n#SBATCH -N 3\nlast");
  EXPECT_EQ(format("{}", fmt::join(out->lost, "\n")),
            "j:2:16: --reservation=r is lost: there are no reservations by name here\n"
            "j:3:9: --contiguous is lost: ask for nodes that are close with --topology");
  EXPECT_EQ(translate_script("#SBATCH 'x\n", "j").error().detail,
            "j:1:9: this ' has no second one on its line");
}

TEST(Template, HoldsLinesOfOptions) {
  const auto given = template_parse("# for all\n-g 1 --time=2h # short\n\n--env A=b\n", "t");
  ASSERT_TRUE(given);
  std::string text;
  for (const Given& one : *given) text += long_option(one.option->name, one.value) + " ";
  EXPECT_EQ(text, "--gpus-per-task=1 --time=2h --env=A=b ");
  EXPECT_EQ(template_parse("-g 1\n--template x\n", "t").error().detail,
            "t:2:7: a template cannot name another");
  EXPECT_EQ(template_parse("--frob\n", "t").error().detail, "t:1:7: unknown option '--frob'");
  EXPECT_EQ(template_options("../x", "").error().detail,
            "--template: '../x' is no name of a template; letters, digits, '-', '.' and '_' make "
            "one");
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The #ROTA lines, then "lost LINE OPTION", as testsuite/scripts/README.md has it.
std::string script_outcome(const std::string& script) {
  const auto out = translate_script(script, "f");
  if (!out) return out.error().detail;
  std::string text;
  std::istringstream lines(out->text);
  bool is_over = false;  // directives stand above the first command
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    is_over = is_over || (first != std::string::npos && line[first] != '#');
    if (!is_over && line.starts_with("#ROTA ")) text += line + "\n";
  }
  for (const std::string& loss : out->lost) {
    const std::size_t line_end = loss.find(':', 2), column_end = loss.find(':', line_end + 1);
    text += format("lost {} {}\n", loss.substr(2, line_end - 2),
                   loss.substr(column_end + 2, loss.find(" is lost: ") - column_end - 2));
  }
  return text;
}

std::string command_outcome(std::string line) {
  while (line.ends_with('\n')) line.pop_back();
  const auto words = words_of_line(line);
  if (!words) return words.error().detail;
  const auto out = translate_command(*words);
  if (!out) return out.error().detail;
  std::string text = command_line(*out) + "\n";
  for (const Loss& loss : out->words.lost) text += format("lost 1 {}\n", loss.option);
  return text;
}

TEST(Scripts, BecomeWhatIsWrittenBesideThem) {
  const std::filesystem::path directory(ROTA_SRCDIR "/testsuite/scripts");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string kind = entry.path().extension();
    if (kind != ".job" && kind != ".runai") continue;
    ++count;
    const std::string text = text_of_file(entry.path());
    std::filesystem::path want = entry.path();
    want.replace_extension(".want");
    EXPECT_EQ(kind == ".job" ? script_outcome(text) : command_outcome(text), text_of_file(want))
        << entry.path();
  }
  EXPECT_GE(count, 40);
}

}  // namespace
}  // namespace rota::commands
