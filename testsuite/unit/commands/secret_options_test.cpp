// testsuite/unit/commands/secret_options_test.cpp - rsecret's words, and --secret of a job.
#include "commands/secret_options.h"

#include <gtest/gtest.h>

#include "commands/submit_options.h"
#include "common/format.h"

namespace rota::commands {
namespace {

/// "put TOKEN", or the complaint.
std::string parsed(const std::vector<std::string>& words) {
  Arguments arguments;
  if (const auto bad = parse_words(secret_command(), words, arguments)) return bad->what;
  const auto options = secret_options_from(arguments);
  if (!options) return options.error().detail;
  constexpr std::string_view names[] = {"put", "list", "remove", "login", "logout"};
  return format("{} {} {} {}", names[static_cast<int>(options->command)], options->name,
                options->file, options->user);
}

std::string uses(const std::vector<std::string>& words) {
  Arguments arguments;
  if (const auto bad = parse_words(submit_command(), words, arguments)) return bad->what;
  SubmitOptions options;
  for (const Given& given : arguments.options)
    if (const auto applied = apply(given, options); !applied) return applied.error().detail;
  std::string text;
  for (const SecretUse& use : options.secrets) text += format("{}>{} ", use.name, use.target);
  return text;
}

TEST(SecretOptions, Words) {
  EXPECT_EQ(parsed({"put", "TOKEN", "--file", "x"}), "put TOKEN x ");
  EXPECT_EQ(parsed({"list"}), "list   ");
  EXPECT_EQ(parsed({"delete", "TOKEN"}), "remove TOKEN  ");
  EXPECT_EQ(parsed({"login", "GHCR.io", "-u", "ada"}), "login registry/ghcr.io  ada");
  EXPECT_EQ(parsed({"logout", "127.0.0.1:5000"}), "logout registry/127.0.0.1:5000  ");
}

TEST(SecretOptions, MistakesNeverRepeatWhatMayBeASecret) {
  const std::string said = parsed({"put", "TOKEN", "hunter2"});
  EXPECT_NE(said.find("never from the command line"), std::string::npos) << said;
  EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
  EXPECT_EQ(parsed({"put"}), "put which? Give its name");
  EXPECT_NE(parsed({"put", "registry/ghcr.io"}).find("is no name of a secret"), std::string::npos);
  EXPECT_NE(parsed({"login", "ghcr.io/team"}).find("is no registry"), std::string::npos);
  EXPECT_NE(parsed({"list", "--file=x"}).find("only put"), std::string::npos);
  EXPECT_NE(parsed({"pit", "X"}).find("did you mean 'put'?"), std::string::npos);
}

TEST(SecretOptions, OfAJobAddUp) {
  EXPECT_EQ(uses({"--secret", "A,B:/etc/b", "--secret=C:c.txt"}), "A> B>/etc/b C>c.txt ");
  EXPECT_NE(uses({"--secret", "A,,B"}).find("is no name of a secret"), std::string::npos);
  EXPECT_NE(uses({"--secret", "registry/ghcr.io"}).find("is no name of a secret"),
            std::string::npos);
}

}  // namespace
}  // namespace rota::commands
