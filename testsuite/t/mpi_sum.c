// testsuite/t/mpi_sum.c - a small MPI program: sums, and ways to end badly.
//
//   mpi_sum            every rank adds its number; each says what came out
//   mpi_sum abort      rank 1 calls MPI_Abort(7), the others wait for it for ever
//   mpi_sum killed     rank 1 is killed, the others wait for it
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  const char* how = argc > 1 ? argv[1] : "";
  if (rank == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (rank == 1 && strcmp(how, "killed") == 0) kill(getpid(), SIGKILL);
  int sum = 0, own = rank + 1, around = -1;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  // Around the ring, so that every rank talks to one on another node.
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &around, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d of %d on %s: sum %d, from %d\n", rank, size, host, sum, around);
  MPI_Finalize();
  return 0;
}
