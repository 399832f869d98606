// commands/secret_options.h - --secret of a job, and rsecret's options and what it reads.
#pragma once
#include <string>
#include <vector>

#include "commands/cli.h"
#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// "TOKEN,KEY:/etc/key": each beside those that were given before.
Result<void> apply_secrets(const Given& given, std::vector<SecretUse>& secrets);

enum class SecretCommand : std::uint8_t { put, list, remove, login, logout };

struct SecretOptions {
  SecretCommand command = SecretCommand::list;
  std::string name;  // of the secret, or of the registry
  std::string file;
  std::string user;
  bool json = false;
  bool header = true;
  bool quiet = false;
};

const Command& secret_command();
Result<SecretOptions> secret_options_from(const Arguments& arguments);

/// What the secret says: the file's bytes; or what comes from standard input, without the newline
/// that ends a single line; or what is typed twice at a terminal, which does not show it.
Result<std::string> read_secret(const std::string& file, const std::string& what);
/// Typed at a terminal, which shows it.
Result<std::string> ask_line(const std::string& what);

}  // namespace rota::commands
