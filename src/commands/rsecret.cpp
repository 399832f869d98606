// commands/rsecret.cpp - rsecret: put, list, delete, login, logout.
#include <unistd.h>

#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/output.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/secret_options.h"
#include "commands/session.h"
#include "commands/table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/secret.h"

namespace rota::commands {
namespace {

/// "registry/ghcr.io" is the login to ghcr.io.
std::string name_for_people(const std::string& name) {
  return is_login_secret(name) ? name.substr(login_secret("").size()) : name;
}

std::string json_text(const proto::SecretReply& reply) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("secrets");
  json.begin_array();
  for (const proto::SecretEntry& entry : reply.secrets) {
    json.begin_object();
    json.field("name", name_for_people(entry.name));
    json.field("kind", is_login_secret(entry.name) ? "login" : "secret");
    json.field("changed", rfc3339(entry.changed));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string table_text(const proto::SecretReply& reply, bool header) {
  Table table({{"NAME"}, {"KIND"}, {"CHANGED"}});
  for (const proto::SecretEntry& entry : reply.secrets) {
    table.add(name_for_people(entry.name));
    table.add(is_login_secret(entry.name) ? "login" : "secret");
    table.add(rfc3339(entry.changed));
  }
  TableStyle style = style_for(STDOUT_FILENO);
  style.header = header;
  return table.render(style);
}

Result<std::string> value_for(const SecretOptions& options) {
  if (options.command != SecretCommand::login)
    return read_secret(options.file, format("Secret {}", options.name));
  const std::string registry = name_for_people(options.name);
  std::string user = options.user;
  if (user.empty()) {
    ROTA_TRY(user, ask_line(format("User at {}", registry)));
  }
  if (user.empty() || user.find(':') != std::string::npos)
    return Error{Errc::usage, format("{} is no name of a user", quoted(user))};
  ROTA_TRY(const std::string password, read_secret("", format("Password at {}", registry)));
  if (password.empty()) return Error{Errc::usage, "the password is empty"};
  return format("{}:{}", user, password);
}

std::string done_text(const SecretOptions& options) {
  const std::string name = name_for_people(options.name);
  switch (options.command) {
    case SecretCommand::put:
      return format("secret {} is put\n", name);
    case SecretCommand::remove:
      return format("secret {} is deleted\n", name);
    case SecretCommand::login:
      return format("the login to {} is kept; whether it is good is seen at the first pull\n",
                    name);
    default:
      return format("the login to {} is deleted\n", name);
  }
}

Result<int> secret(Program& program, Arguments arguments) {
  ROTA_TRY(const auto options, secret_options_from(arguments));
  proto::SecretRequest request;
  request.name = options.name;
  const bool puts =
      options.command == SecretCommand::put || options.command == SecretCommand::login;
  if (puts) {
    request.verb = proto::SecretVerb::put;
    ROTA_TRY(request.value, value_for(options));
    if (request.value.empty()) return Error{Errc::usage, "the secret is empty"};
  } else if (options.command != SecretCommand::list) {
    request.verb = proto::SecretVerb::remove;
  }
  ROTA_TRY(request.request, make_request_id());
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  ROTA_TRY(const auto reply, ask<proto::SecretReply>(controller, request));
  if (options.command == SecretCommand::list) {
    ROTA_CHECK(print(options.json ? json_text(reply) : table_text(reply, options.header)));
  } else if (!options.quiet) {
    ROTA_CHECK(print(done_text(options)));
  }
  return exit_ok;
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(secret_command(), argc, argv, secret);
}
