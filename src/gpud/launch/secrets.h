// gpud/launch/secrets.h - a run's secrets on the node: in memory, never in a file on a disk.
//
// rgpud takes them out of the order before it writes the run's record, and hands them to rstepd in
// an open file that has no name (memfd). rstepd keeps them for as long as the run lasts: processes
// that are put into it later get the same variables. Files lie on a tmpfs: in a container on one of
// its own (container/secret_trees.h), else in a directory of the run's.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "gpud/launch/file.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// An open file of these bytes that nobody finds by a name; its position is at the beginning.
Result<Fd> memory_file(std::string_view bytes);
/// All of it; "" when it cannot be read.
std::string memory_read(int fd);

/// What rgpud hands over; none for a run without secrets. The order has none of it any more.
Result<Fd> take_secrets_out(StepOrder& order);
/// In rstepd: puts them back. False: what came does not belong to the order.
bool put_secrets_in(StepOrder& order, int file);

bool has_secret_files(const std::vector<SecretUse>& uses);
/// What the secret of this name says; none: it is not there.
const std::string* secret_value(const std::vector<proto::Secret>& secrets, const std::string& name);

/// Sets the variables, and makes the files of a run without a container. One sentence when that
/// fails, "" when all is well.
std::string place_secrets(StepOrder& order);
/// Removes the directory of a run, with its files; "" is none.
void remove_secrets(const std::string& directory);

/// Where directories of runs may lie, for this node alone; "": there is no tmpfs to keep them on.
std::string secrets_base(const std::string& node);
/// Removes what runs have left that are not wanted any more.
void sweep_secrets(const std::string& base, const std::function<bool(RunId)>& is_wanted);

}  // namespace rota::gpud
