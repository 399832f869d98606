// contribs/runai/runai.cpp - runai: jobs and projects in Run:ai's words, over our commands.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>

#include "commands/exit_code.h"
#include "commands/job_fields.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/org_ask.h"
#include "commands/output.h"
#include "commands/program.h"
#include "commands/runai_words.h"
#include "commands/session.h"
#include "commands/sisters.h"
#include "commands/table.h"
#include "commands/translate.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"

namespace rota::commands {
namespace {

using Words = std::vector<std::string>;

enum : int { id_project = option_own, id_all, id_follow, id_tail, id_stdin, id_tty };

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_project, 'p', "project", "NAME", "of this project; default: 'runai project set'", here},
    {id_all, 'A', "all-projects", "", "of all projects", here},
    {id_follow, 'f', "follow", "", "with logs: stay and show what comes", here},
    {id_tail, 0, "tail", "N", "with logs: the last N lines", here},
    {id_stdin, 'i', "stdin", "", "with exec: it gets this input", here},
    {id_tty, 't', "tty", "", "with exec: on a terminal", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 9> synopses{
    "submit NAME -i IMAGE [-g N] [-p PROJECT] [OPTION...] [-- COMMAND...]",
    "list [jobs|projects|nodes] [-p PROJECT | -A]",
    "get|describe [job] NAME [-p PROJECT]",
    "logs NAME [-f]",
    "bash NAME",
    "exec NAME [-it] -- COMMAND...",
    "delete [job] NAME...",
    "suspend|resume [job] NAME...",
    "project set|list [NAME]",
};
constexpr Command command{.name = "runai",
                          .synopses = synopses,
                          .summary =
                              "Submit and look after jobs, with Run:ai's words. "
                              "'runai submit --help' shows the options of submit.",
                          .options = table};

// ---- the project that is meant ----

std::string settings_file() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config == '/') return std::string(config) + "/rota/runai-project";
  return home == nullptr ? std::string() : std::string(home) + "/.config/rota/runai-project";
}

std::string default_project() {
  std::ifstream file(settings_file());
  std::string name;
  std::getline(file, name);
  return name;
}

Result<void> set_default_project(const std::string& name) {
  const std::string path = settings_file();
  if (path.empty()) return Error{Errc::io_failed, "there is no HOME to keep that in"};
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  std::ofstream file(path);
  file << name << "\n";
  file.close();
  if (!file) return Error{Errc::io_failed, format("cannot write {}", path)};
  return {};
}

struct Asked {
  Words words;
  Words behind;  // a "--"
  std::string project;
  bool all_projects = false;
  bool follow = false;
  bool terminal = false;
  std::string tail;
};

// ---- jobs by their names ----

Result<std::vector<JobView>> jobs_of(const Program& program, const Asked& asked,
                                     const Words& names) {
  JobFilter filter;
  filter.names = names;
  filter.ended_too = true;
  if (!asked.all_projects && !asked.project.empty()) filter.projects = {asked.project};
  return jobs_matching(program, filter);
}

/// The job of this name: the one that lives, else the last one.
Result<JobView> job_of(const Program& program, const Asked& asked, const std::string& name) {
  ROTA_TRY(const auto jobs, jobs_of(program, asked, {name}));
  const JobView* best = nullptr;
  for (const JobView& job : jobs) {
    const bool is_alive = !is_final(job.state);
    if (best == nullptr || (is_alive && is_final(best->state)) ||
        (is_alive == !is_final(best->state) && job.id > best->id))
      best = &job;
  }
  if (best != nullptr) return *best;
  return Error{Errc::no_such_job,
               format("job {} was not found{}", quoted(name),
                      asked.project.empty() ? "" : format(" in project {}", asked.project))};
}

std::string_view status_of(JobState state) {
  switch (state) {
    case JobState::pending:
      return "Pending";
    case JobState::starting:
      return "ContainerCreating";
    case JobState::running:
      return "Running";
    case JobState::completing:
    case JobState::preempted:
      return "Terminating";
    case JobState::suspended:
      return "Suspended";
    case JobState::completed:
      return "Succeeded";
    case JobState::cancelled:
      return "Deleted";
    default:
      return "Failed";
  }
}

/// Kubernetes' short form: "5s", "3m", "2h", "4d".
std::string age_of(const JobView& job) {
  const std::int64_t seconds = std::max<std::int64_t>(
      0, (wall_now().microseconds - job.submit_time.microseconds) / 1'000'000);
  if (seconds < 120) return format("{}s", seconds);
  if (seconds < 7200) return format("{}m", seconds / 60);
  return seconds < 172'800 ? format("{}h", seconds / 3600) : format("{}d", seconds / 86'400);
}

std::string kind_of(const JobView& job) {
  std::string kind(name_of(job.spec.kind));
  kind.front() = static_cast<char>(kind.front() - 'a' + 'A');
  return kind;
}

Result<int> list_jobs(const Program& program, const Asked& asked) {
  ROTA_TRY(const auto jobs, jobs_of(program, asked, {}));
  Table rows({{"NAME"},
              {"STATUS"},
              {"AGE"},
              {"NODE"},
              {"IMAGE"},
              {"TYPE"},
              {"PROJECT"},
              {"USER"},
              {"GPUs"},
              {"SERVICE URL(S)"}});
  for (const JobView& job : jobs) {
    if (job.state == JobState::cancelled) continue;
    const bool has_nodes = !job.nodes.empty() && job.state != JobState::pending;
    for (const std::string& cell :
         {std::string(job.spec.name), std::string(status_of(job.state)), age_of(job),
          has_nodes ? hostlist_fold(job.nodes) : "<none>", std::string(job.spec.image),
          kind_of(job), std::string(job.spec.project), std::string(job.owner.user),
          decimal_format(job.gpu_amount, 6), format("{}", fmt::join(job.urls, " "))})
      rows.add(cell);
  }
  ROTA_CHECK(print(rows.render(style_for(STDOUT_FILENO))));
  return exit_ok;
}

Result<int> describe(const Program& program, const Asked& asked) {
  if (asked.words.size() != 1) return Error{Errc::usage, "one name of a job is needed"};
  ROTA_TRY(const JobView job, job_of(program, asked, asked.words.front()));
  std::string text = format("Name: {}\nNamespace: runai-{}\nType: {}\nStatus: {}\n", job.spec.name,
                            std::string(job.spec.project), kind_of(job), status_of(job.state));
  text += format("Project: {}\nUser: {}\nJob ID: {}\nAge: {}\nImage: {}\nGPUs: {}\n",
                 std::string(job.spec.project), std::string(job.owner.user), id_text(job),
                 age_of(job), job.spec.image, decimal_format(job.gpu_amount, 6));
  text += format("Node: {}\n", job.nodes.empty() ? "<none>" : hostlist_fold(job.nodes));
  if (!job.urls.empty()) text += format("Service URL(s): {}\n", fmt::join(job.urls, " "));
  if (!job.reason.empty()) text += format("Reason: {}\n", job.reason);
  if (!job.displaced.empty()) text += format("Preempted: {}\n", job.displaced);
  if (job.expected_start) text += format("Expected start: {}\n", rfc3339(job.expected_start));
  std::string shown;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    shown += printable(text.substr(start, end - start)) + "\n";
    start = end + 1;
  }
  ROTA_CHECK(print(shown));
  return exit_ok;
}

/// "delete job A B" and "delete A B" are the same.
Words without_kind(Words words) {
  if (!words.empty() && (words.front() == "job" || words.front() == "jobs"))
    words.erase(words.begin());
  return words;
}

/// `verb` of rota or rcancel for each of the jobs, and a line for each.
Result<int> change(const Program& program, const Asked& asked, std::string_view verb,
                   std::string_view done) {
  if (asked.words.empty()) return Error{Errc::usage, "a name of a job is needed"};
  int worst = exit_ok;
  for (const std::string& name : asked.words) {
    const auto job = job_of(program, asked, name);
    if (!job) {
      program.say(job.error().detail);
      worst = exit_error;
      continue;
    }
    const std::string id = format("{}", job->id.value);
    const bool is_delete = verb == "delete";
    // What has ended has nothing more to lose.
    if (!(is_delete && is_final(job->state))) {
      ROTA_TRY(const int code, is_delete ? run_sister("rcancel", {id})
                                         : run_sister("rota", {std::string(verb), id}));
      if (code != exit_ok) {
        worst = code;
        continue;
      }
    }
    ROTA_CHECK(print(format("The job {} has been {} successfully\n", name, done)));
  }
  return worst;
}

// ---- submit ----

std::string some_name() {
  std::random_device random;
  return format("job-{:08x}", random());
}

bool has_option(const Translation& words, std::string_view name) {
  return std::ranges::any_of(words.options, [name](const OwnWord& word) {
    return word.text == name || word.text.starts_with(std::string(name) + "=");
  });
}

std::string value_of(const Translation& words, std::string_view name) {
  std::string value;
  for (const OwnWord& word : words.options)
    if (word.text.starts_with(std::string(name) + "=")) value = word.text.substr(name.size() + 1);
  return value;
}

Result<int> submit(const Program& program, const Words& words) {
  Words whole{"runai"};
  whole.insert(whole.end(), words.begin(), words.end());
  ROTA_TRY(auto translated, translate_command(whole));
  Translation& out = translated.words;
  if (has_option(out, "--help")) {
    ROTA_CHECK(print(help_text(runai_submit_command())));
    return exit_ok;
  }
  if (!has_option(out, "--job-name"))
    out.options.insert(out.options.begin(), {long_option("job-name", some_name()), 0});
  Asked asked;
  asked.project = value_of(out, "--project");
  if (asked.project.empty() && !(asked.project = default_project()).empty())
    out.options.push_back({long_option("project", asked.project), 0});
  const std::string name = value_of(out, "--job-name");
  ROTA_TRY(const auto others, jobs_of(program, asked, {name}));
  for (const JobView& job : others)
    if (!is_final(job.state) && (!asked.project.empty() || job.owner.user == own_user()))
      return Error{Errc::usage,
                   format("a job of the name {} is in project {} already; choose another, or end "
                          "it with 'runai delete {}'",
                          quoted(name), std::string(job.spec.project), name)};
  for (const Loss& loss : out.lost) program.say(loss.text());
  Words own{"--quiet"};
  for (const OwnWord& option : out.options) own.push_back(option.text);
  if (out.after_dashes) own.push_back("--");
  own.insert(own.end(), out.operands.begin(), out.operands.end());
  ROTA_TRY(const int code, run_sister("rsubmit", own));
  if (code != exit_ok) return code;
  const std::string behind = asked.project.empty() ? "" : " -p " + asked.project;
  ROTA_CHECK(
      print(format("The job '{}' has been submitted successfully\n"
                   "You can run `runai describe job {}{}` to check the job status\n",
                   name, name, behind)));
  return exit_ok;
}

// ---- projects ----

Result<int> list_projects(const Program& program) {
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(const auto answer, ask_org(controller, true));
  const std::string own = default_project();
  Table rows({{"PROJECT"}, {"DEPARTMENT"}, {"GPU QUOTA"}, {"ALLOCATED GPUs"}});
  for (const ShareView& share : answer.shares) {
    if (share.kind != ShareKind::project) continue;
    for (const std::string& cell : {share.name + (share.name == own ? " (default)" : ""),
                                    share.parent, decimal_format(share.quota, 6),
                                    decimal_format(share.held_in_quota + share.held_over_quota, 6)})
      rows.add(cell);
  }
  ROTA_CHECK(print(rows.render(style_for(STDOUT_FILENO))));
  return exit_ok;
}

Result<int> project(const Program& program, const Asked& asked) {
  const std::string verb = asked.words.empty() ? "list" : asked.words.front();
  if (verb == "list") return list_projects(program);
  if (verb != "set" || asked.words.size() != 2)
    return Error{Errc::usage, "write 'runai project set NAME' or 'runai project list'"};
  const std::string& name = asked.words[1];
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(const auto answer, ask_org(controller, false));
  const auto is_it = [&name](const Project& each) { return each.name == name; };
  if (std::ranges::none_of(answer.org.projects, is_it))
    return Error{Errc::usage, format("there is no project {}", quoted(name))};
  ROTA_CHECK(set_default_project(name));
  ROTA_CHECK(print(format("Project {} has been set as default project\n", name)));
  return exit_ok;
}

/// rlogs, rexec and their like know jobs by number.
Result<int> visit(const Program& program, const Asked& asked, std::string_view sister,
                  Words before) {
  if (asked.words.empty()) return Error{Errc::usage, "a name of a job is needed"};
  ROTA_TRY(const JobView job, job_of(program, asked, asked.words.front()));
  before.push_back(format("{}", job.id.value));
  before.insert(before.end(), asked.words.begin() + 1, asked.words.end());
  if (!asked.behind.empty()) before.push_back("--");
  before.insert(before.end(), asked.behind.begin(), asked.behind.end());
  return become_sister(sister, before);
}

Result<int> run(Program& program, const Words& words) {
  const std::string verb = words.front();
  if (verb.starts_with("submit") || verb == "training" || verb == "workspace" ||
      verb == "inference")
    return submit(program, words);
  const auto dashes = std::ranges::find(words, "--");
  Arguments arguments;
  if (const auto bad = parse_words(command, Words(words.begin() + 1, dashes), arguments))
    return Error{Errc::usage, bad->what};
  Asked asked;
  asked.words = std::move(arguments.operands);
  if (dashes != words.end()) asked.behind.assign(dashes + 1, words.end());
  for (const Given& given : arguments.options) {
    const int id = given.option->id;
    if (id == id_project) asked.project = given.value;
    if (id == id_tail) asked.tail = given.value;
    asked.all_projects = asked.all_projects || id == id_all;
    asked.follow = asked.follow || id == id_follow;
    asked.terminal = asked.terminal || id == id_tty;
  }
  if (asked.project.empty()) asked.project = default_project();
  if (verb == "project" || verb == "projects") return project(program, asked);
  if (verb == "config") {  // of earlier releases: "config project NAME"
    if (asked.words.empty() || asked.words.front() != "project")
      return Error{Errc::usage, "write 'runai project set NAME'"};
    asked.words.front() = "set";
    return project(program, asked);
  }
  if (verb == "list" || verb == "get") {
    const std::string what = asked.words.empty() ? "jobs" : asked.words.front();
    if (what == "nodes") return become_sister("rinfo", {});
    if (what == "projects") return list_projects(program);
    if (verb == "list" && (what == "jobs" || what == "job")) return list_jobs(program, asked);
    if (verb == "list")
      return Error{Errc::usage,
                   format("{} cannot be listed; jobs, projects and nodes can", quoted(what))};
  }
  asked.words = without_kind(std::move(asked.words));
  if (verb == "get" || verb == "describe") return describe(program, asked);
  if (verb == "delete") return change(program, asked, "delete", "deleted");
  if (verb == "suspend") return change(program, asked, "suspend", "suspended");
  if (verb == "resume") return change(program, asked, "resume", "resumed");
  if (verb == "bash") return visit(program, asked, "rexec", {"-it"});
  if (verb == "attach") return visit(program, asked, "rattach", {});
  if (verb == "exec")
    return visit(program, asked, "rexec", asked.terminal ? Words{"-it"} : Words{});
  if (verb == "port-forward") {
    return visit(program, asked, "rota", {"port-forward"});
  }
  if (verb == "logs") {
    Words before;
    if (asked.follow) before.push_back("--follow");
    if (!asked.tail.empty()) before.push_back("--tail=" + asked.tail);
    return visit(program, asked, "rlogs", before);
  }
  if (verb == "version") return become_sister("rota", {"version"});
  if (verb == "whoami") {
    ROTA_CHECK(print(format("User: {}\n", own_user())));
    return exit_ok;
  }
  return Error{Errc::usage, format("unknown command {}; 'runai --help' shows all", quoted(verb))};
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  prepare_standard_files();
  Program program("runai");
  const Words words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() == "--help" || words.front() == "-h" ||
      words.front() == "help")
    return print(help_text(command)) ? exit_ok : exit_error;
  const auto code = run(program, words);
  return code ? *code : program.fail(code.error());
}
