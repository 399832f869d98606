#!/bin/bash
# testsuite/t/t2011-arrays.t - jobs that stand for many, on real daemons.
. "$(dirname "$0")/lib.sh"
plan 27
cluster_start --nodes 2 --gpus 2
cd "$test_dir" || bail_out "no directory"

# wait_array ARRAY STATE: the array itself, not one of its tasks.
wait_array() {
  wait_for 60 bash -c "rqueue -n -j $1 -o '%A %T' | grep -qx '$1 $2'"
}

array=$(rsubmit --parsable -a 2-8:2%3 -g 1 -J sweep --wrap 'echo "$ROTA_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $ROTA_ARRAY_TASK_COUNT $ROTA_ARRAY_TASK_MIN $ROTA_ARRAY_TASK_MAX $ROTA_ARRAY_TASK_STEP"')
ok "an array ends when its tasks have" wait_array "$array" COMPLETED
is "$(cat rota-"$array"_*.out | sort)" "$(printf '%s\n' "$array "{2,4,6,8}" 4 2 8 2" )" "each with its number, in a file of its own"
is "$(rqueue -a -n --name sweep -o %i | sort)" "$(printf '%s\n' "$array"_{2,4,6,8})" "rqueue names them"
is "$(rqueue -n -j "$array" -o '%i %T' | head -n 1)" "$array COMPLETED" "and the array when it is asked"
is "$(rlogs "${array}_4")" "$array 4 4 2 8 2" "rlogs takes the number of a task"

# A long one is one line, and costs what one costs.
mkfifo go
exec 9<>go  # kept open: a reader that gets no line waits for the next
array=$(rsubmit --parsable -a 0-99999%2 -g 1 -o /dev/null -- sh -c 'read -r line <go')
ok "two of a hundred thousand run" wait_for 30 bash -c "[[ \$(rqueue -n -t R -o %i | sort | tr '\n' ' ') == '${array}_0 ${array}_1 ' ]]"
is "$(rqueue -n -t PD -o '%i %r')" "${array}_[2-99999%2] JobArrayTaskLimit" "the others are one line"
daemon_kill rctld
cluster_resume
ok "that is so after kill -9 of the controller" wait_for 30 bash -c "[[ \$(rqueue -n -t PD -o %i) == '${array}_[2-99999%2]' ]]"
is "$(rqueue -n -t R -o %i | sort | tr '\n' ' ')" "${array}_0 ${array}_1 " "and no task runs twice"
echo >&9
ok "when one has ended the next begins" wait_for 30 bash -c "rqueue -n -t R -o %i | grep -qx '${array}_2'"
ok "some are cancelled" rcancel "${array}_[2,4-99990]"
ok "those that run too" wait_for 30 bash -c "rqueue -n -t R -o %i | grep -qx '${array}_3'"
ok "and the others wait" wait_for 30 bash -c "[[ \$(rqueue -n -t PD -o %i) == '${array}_[99991-99999%2]' ]]"
ok "all of it" rcancel "$array"
ok "is cancelled" wait_array "$array" CANCELLED
is "$(rqueue -n)" "" "nothing is left"

# Searches are over when enough have ended well.
array=$(rsubmit --parsable -a 0-99 --parallelism 1 --runs 2 -o /dev/null -- sh -c 'test "$ROTA_ARRAY_TASK_ID" -gt 0')
ok "a search is over" wait_array "$array" COMPLETED
is "$(rqueue -n -a -j "$array" -o '%i %t' | sort)" "$array CD
${array}_0 F
${array}_1 CD
${array}_2 CD" "when two have ended well"

# Others wait for all of it, or for one task.
array=$(rsubmit --parsable -a 0-1 -o /dev/null -- sh -c 'test "$ROTA_ARRAY_TASK_ID" = 0 || read -r line <go')
one=$(rsubmit --parsable -d "afterok:${array}_0" -o /dev/null -- true)
whole=$(rsubmit --parsable -d "afterok:$array" -o /dev/null -- true)
corr=$(rsubmit --parsable -a 0-1 -d "aftercorr:$array" -o /dev/null -- true)
ok "one waits for a task" wait_state "$one" COMPLETED
ok "task by task" wait_for 30 bash -c "rqueue -n -a -j $corr -o '%i %t' | grep -qx '${corr}_0 CD'"
is "$(state_of "$whole")" PENDING "another for all"
echo >&9
ok "which then runs" wait_state "$whole" COMPLETED
ok "and the second of the others" wait_array "$corr" COMPLETED

# What is wrong is said.
like "$(rsubmit -a 9-1 -- true 2>&1)" "--array: '9-1' runs backwards; write numbers and ranges" "backwards"
like "$(rsubmit -a 0-2000000 -- true 2>&1)" "an array of 2000001 tasks, at most 1000000 are allowed" "too many"
is "$(rcancel 99999_3 2>&1)" "rcancel: job 99999: no such job" "an array that is not there"
like "$(rcancel "${array}_77" 2>&1)" "job $array: job has already ended" "a task of one that has ended"
