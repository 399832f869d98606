// commands/queue_watch.h - rqueue --watch: the queue as it changes.
#pragma once
#include "commands/queue_options.h"
#include "commands/session.h"

namespace rota::commands {

/// On a terminal: one screen, drawn again when something changed and while times grow. Ends only
/// with an error.
awaitable<Result<int>> watch_on_screen(net::ConnectOptions controller, QueueOptions options);

/// Into a pipe or file: the list, then a row (or a JSON document) for every change.
awaitable<Result<int>> watch_as_lines(net::ConnectOptions controller, QueueOptions options);

}  // namespace rota::commands
