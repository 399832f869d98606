// contribs/slurm/submit.cpp - sbatch, srun, salloc and scancel: our commands with other words.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "commands/dialect.h"
#include "commands/exit_code.h"
#include "commands/output.h"
#include "commands/run_options.h"
#include "commands/sisters.h"
#include "commands/slurm_words.h"
#include "common/format.h"
#include "common/version.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using namespace commands;

std::span<const char* const> environment() {
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  return {environ, count};
}

bool has(const Translation& translation, std::string_view option) {
  return std::ranges::any_of(translation.options,
                             [&](const OwnWord& word) { return word.text == option; });
}

/// The value of an option of ours; nothing when it is another one.
std::optional<std::string_view> value_of(const OwnWord& word, std::string_view name) {
  const std::string_view text = word.text;
  if (!text.starts_with(name)) return std::nullopt;
  if (text.size() == name.size()) return std::string_view();
  if (text[name.size()] != '=') return std::nullopt;
  return text.substr(name.size() + 1);
}

Result<Translation> translated(SlurmCommand which, const std::vector<std::string>& words) {
  std::vector<std::string> with_variables = slurm_variables(which, environment());
  with_variables.insert(with_variables.end(), words.begin(), words.end());
  return slurm_translate(which, with_variables);
}

/// --help and its like; nothing when it is none of these.
std::optional<std::string> answer(SlurmCommand which, const Translation& translation) {
  if (has(translation, "--help")) return help_text(slurm_command(which));
  if (has(translation, "--usage")) return usage_text(slurm_command(which));
  if (has(translation, "--version")) return format("{} (rota {})\n", release, version());
  return std::nullopt;
}

int fail(const Program& program, std::string_view what) {
  program.say(format("error: {}", what));
  return exit_failure;
}

/// Variables that --export sets are set here: what a process has goes along with its step.
void set_exported(std::string_view list, Translation& out, std::size_t word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string one(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::size_t equals = one.find('=');
    if (equals != std::string::npos)
      ::setenv(one.substr(0, equals).c_str(), one.substr(equals + 1).c_str(), 1);
    else if (one != "ALL")
      out.lost.push_back({"--export=" + one, "all of your variables go along", word});
  }
}

/// What rrun or ralloc can be asked for; the rest is lost.
Result<Translation> kept_for(const Command& command, bool is_inside, Translation all) {
  Translation out;
  out.lost = std::move(all.lost);
  out.operands = std::move(all.operands);
  for (OwnWord& word : all.options) {
    std::string name = word.text.substr(0, word.text.find('='));
    if (name == "--quiet" || name == "--wait") continue;
    if (const auto list = value_of(word, "--export")) {
      set_exported(*list, out, word.word);
      continue;
    }
    if (const auto kind = value_of(word, "--mpi")) {
      // pmix_v4 and its like are all the same here.
      if (kind->starts_with("pmix")) word.text = "--mpi=pmix";
      if (!kind->starts_with("pmix") && *kind != "none") {
        out.lost.push_back({word.text, "processes find each other by PMIx", word.word});
        continue;
      }
    }
    // To leave it out would run the command beside the image that it was meant for.
    if (is_inside && name == "--image")
      return Error{Errc::usage,
                   "--container-image: a step runs where its job does: give it to sbatch, or in an "
                   "#SBATCH line"};
    const bool is_known = std::ranges::any_of(
        command.options, [&name](const Option& option) { return long_form(option) == name; });
    if (is_known && (!is_inside || is_for_step(name.substr(2)))) {
      out.options.push_back(std::move(word));
    } else if (!is_inside || (name != "--job-name" && name != "--overlap")) {
      out.lost.push_back({word.text,
                          is_inside ? "a step runs on all that its job has"
                                    : "it is for jobs that are queued: sbatch",
                          word.word});
    }
  }
  return out;
}

void tell_lost(const Program& program, const Translation& translation, bool is_quiet) {
  if (is_quiet) return;
  for (const Loss& loss : translation.lost) program.say(loss.text());
}

std::vector<std::string> words_of(const Translation& translation) {
  std::vector<std::string> words;
  for (const OwnWord& word : translation.options) words.push_back(word.text);
  words.insert(words.end(), translation.operands.begin(), translation.operands.end());
  return words;
}

/// rrun or ralloc in our place.
int become(SlurmCommand which, std::string_view sister, const Command& command,
           const std::vector<std::string>& words) {
  prepare_standard_files();
  const Program program(slurm_command(which).name);
  auto all = translated(which, words);
  if (!all) return fail(program, all.error().detail);
  if (const auto text = answer(which, *all)) return print(*text) ? exit_ok : exit_failure;
  const bool is_quiet = has(*all, "--quiet");
  const bool is_inside = which == SlurmCommand::srun && std::getenv("ROTA_JOB_ID") != nullptr;
  const auto kept = kept_for(command, is_inside, *std::move(all));
  if (!kept) return fail(program, kept.error().detail);
  tell_lost(program, *kept, is_quiet);
  return fail(program, become_sister(sister, words_of(*kept)).detail);
}

}  // namespace

int sbatch(const std::vector<std::string>& words) {
  prepare_standard_files();
  const Program program("sbatch");
  const auto all = translated(SlurmCommand::sbatch, words);
  if (!all) return fail(program, all.error().detail);
  if (const auto text = answer(SlurmCommand::sbatch, *all))
    return print(*text) ? exit_ok : exit_failure;
  tell_lost(program, *all, has(*all, "--quiet"));
  std::vector<std::string> own = words_of(*all);
  own.insert(own.begin(), "--slurm");
  // With --wait the code is the job's; else Slurm knows two.
  if (has(*all, "--wait")) return fail(program, become_sister("rsubmit", own).detail);
  const auto code = run_sister("rsubmit", own);
  if (!code) return fail(program, code.error().detail);
  return *code == 0 ? exit_ok : exit_failure;
}

int srun(const std::vector<std::string>& words) {
  return become(SlurmCommand::srun, "rrun", run_command(), words);
}

int salloc(const std::vector<std::string>& words) {
  return become(SlurmCommand::salloc, "ralloc", alloc_command(), words);
}

namespace {

enum : int {
  id_account = option_own,
  id_name,
  id_user,
  id_me,
  id_state,
  id_signal,
  id_quiet,
  id_batch,
  id_ignored,
  id_refused,
};

constexpr auto here = Scope::command_line;
constexpr auto cancel_table = std::to_array<Option>({
    {id_account, 'A', "account", "LIST", "only jobs of these projects", here},
    {id_batch, 'b', "batch", "", "lost: all processes of a job hear its signals", here},
    {id_ignored, 'f', "full", "", "signal the script and its steps, as always here", here},
    {id_ignored, 'H', "hurry", "", "accepted", here},
    {id_ignored, 0, "ctld", "", "accepted", here},
    {id_refused, 'i', "interactive", "", "refused: nobody is asked", here},
    {id_ignored, 'M', "clusters", "LIST", "accepted: there is one", here},
    {id_me, 0, "me", "", "only your own jobs", here},
    {id_name, 'n', "name", "LIST", "only jobs with these names", here, "jobname"},
    {id_refused, 'p', "partition", "NAME", "refused: choose by state, name, user or project", here},
    {id_refused, 'q', "qos", "NAME", "refused: there are none", here},
    {id_quiet, 'Q', "quiet", "", "do not say which jobs could not be cancelled", here},
    {id_signal, 's', "signal", "SIGNAL", "send this signal instead of ending the jobs", here},
    {id_state, 't', "state", "LIST", "only jobs in these states", here},
    {id_user, 'u', "user", "LIST", "only jobs of these users", here},
    {id_refused, 'w', "nodelist", "NODES", "refused: choose by state, name, user or project", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 1> cancel_synopses{"[OPTION...] [JOB...]"};
constexpr Command cancel_command_here{.name = "scancel",
                                      .synopses = cancel_synopses,
                                      .summary = "End jobs, or send them a signal.",
                                      .options = cancel_table};

Result<int> cancel(Program& program, Arguments arguments) {
  std::vector<std::string> words;
  for (const Given& given : arguments.options) {
    if (given.option->id == id_ignored || given.option->id < option_own) continue;
    if (given.option->id == id_refused)
      return Error{Errc::usage, format("--{} is {}", given.option->name, given.option->help)};
    if (given.option->id == id_batch) {
      program.say("--batch is lost: all processes of a job hear its signals");
      continue;
    }
    words.push_back(
        long_option(given.option->name == "account" ? "project" : given.option->name, given.value));
  }
  for (const std::string& operand : arguments.operands) {
    // "12.0" is a step: Slurm ends it alone, and the job's number is before the dot.
    if (operand.find('.') != std::string::npos)
      return Error{Errc::usage,
                   format("{}: a step ends with its srun; the job is ended with scancel {}",
                          operand, operand.substr(0, operand.find('.')))};
    words.push_back(operand);
  }
  ROTA_TRY(const int code, run_sister("rcancel", words));
  return code == 0 ? exit_ok : exit_failure;
}

}  // namespace

int scancel(const std::vector<std::string>& words) {
  return slurm_main(cancel_command_here, words, cancel);
}

}  // namespace rota::slurm
