#!/usr/bin/env python3
# testsuite/t/rendezvous.py - what torch.distributed does at its start, in small: rank 0 listens on
# MASTER_ADDR:MASTER_PORT, the others come, and all learn the sum of what each brought.
import os
import socket
import sys
import time

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
limit = time.monotonic() + 30


def come():
    while True:
        try:
            return socket.create_connection(where, timeout=30)
        except ConnectionRefusedError:  # rank 0 is not as far yet
            if time.monotonic() > limit:
                raise
            time.sleep(0.01)


def line_of(peer):
    text = b""
    while not text.endswith(b"\n"):
        piece = peer.recv(64)
        if not piece:
            sys.exit(f"rank {rank}: the other end has gone")
        text += piece
    return int(text)


own = (rank + 1) ** 2
if rank == 0:
    with socket.create_server(where) as door:
        door.settimeout(30)
        peers = [door.accept()[0] for _ in range(size - 1)]
    total = own + sum(line_of(peer) for peer in peers)
    for peer in peers:
        peer.sendall(b"%d\n" % total)
else:
    peer = come()
    peer.sendall(b"%d\n" % own)
    total = line_of(peer)
print(f"rank {rank} of {size}: {total}", flush=True)
