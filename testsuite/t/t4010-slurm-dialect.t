#!/bin/bash
# testsuite/t/t4010-slurm-dialect.t - scripts and tools written for Slurm: #SBATCH lines, sbatch, srun, squeue, sacct, ...
. "$(dirname "$0")/lib.sh"
plan 71
cat >"$test_dir/projects.yaml" <<'Y'
projects:
  default: {quota: 8}
  ml: {quota: 4}
queues:
  long: {time_limit_max: 7d}
  short: {time_limit_default: 10m, time_limit_max: 1h}
Y
mkdir "$test_dir/templates.d" "$test_dir/templates.d/ml"
printf '%s\n' '# small ones' '-g 1 --time=5m' '--comment="from the site"' >"$test_dir/templates.d/small"
printf '%s\n' '-g 2 --comment=project' >"$test_dir/templates.d/ml/small"
cat >"$test_dir/extra.yaml" <<Y
jobs:
  template_dir: $test_dir/templates.d
Y
cluster_start --nodes 2 --gpus 4 --projects "$test_dir/projects.yaml" --config "$test_dir/extra.yaml"
nodes=($(node_names))
cd "$test_dir" || exit 1
PATH=$ROTA_BUILDDIR/contribs/slurm:$PATH
run() {
  timeout 60 "$@" >out 2>err </dev/null
  code=$?
}
field() { rqueue --json -a -j "$1" | jq -r ".jobs[0].$2"; }
ends() { wait_state "$1" "${2:-COMPLETED}" 30; }

# ---- a script as it is ----
cat >job.sh <<'S'
#!/bin/bash
#SBATCH --job-name="my job" -N 2
#SBATCH --ntasks-per-node=2 --gres=gpu:v100:2
#SBATCH --account=ml
#SBATCH --partition=short,long   # the first that is free
#SBATCH --mem=0
#SBATCH --time=10:00
#SBATCH --reservation=maint
##SBATCH --nodes=7
echo "job $SLURM_JOB_ID of $SLURM_JOB_NAME on $SLURM_JOB_NUM_NODES nodes, $SLURM_NTASKS tasks"
scontrol show hostnames "$SLURM_JOB_NODELIST" | xargs
srun -l bash -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID'
srun -n1 --gres=gpu:1 --exclusive hostname >/dev/null
srun --ntasks=1 --export=ALL,EXTRA=yes bash -c 'echo extra $EXTRA'
srun --container-image=ubuntu true
#SBATCH --nodes=9
S
chmod +x job.sh
run rsubmit --parsable job.sh
job=$(cat out)
is "$code" 0 "rsubmit reads a script of Slurm's"
like "$(cat err)" "^rsubmit: job.sh:5:9: --partition=short,long is lost: a job goes through one queue, the first
rsubmit: job.sh:8:9: --reservation=maint is lost: there are no reservations by name here$" "what cannot be honoured has a line each"
ok "and it runs" ends "$job" "COMPLETED|FAILED"
is "$(field "$job" name),$(field "$job" project),$(field "$job" queue),$(field "$job" time_limit_seconds)" "my job,ml,short,600" \
  "with what it asked for"
like "$(sed -n 1,2p "slurm-$job.out")" "job $job of my job on 2 nodes, 4 tasks
${nodes[0]} ${nodes[1]}" "its output is where Slurm puts it, and scontrol is found"
is "$(grep -E '^[0-3]: ' "slurm-$job.out" | sort | tr '\n' ,)" "0: 0/4 0,1: 1/4 0,2: 2/4 1,3: 3/4 1," "so is srun"
like "$(cat "slurm-$job.out")" "srun: --gpus-per-node=1 is lost: a step runs on all that its job has" "which says what a step cannot have"
is "$(grep extra "slurm-$job.out")" "extra yes" "and passes variables on"
like "$(cat "slurm-$job.out")" "srun: error: --container-image: a step runs where its job does: give it to sbatch" "what it must not leave out it refuses"
run rsubmit --strict job.sh
is "$code:$(tail -n 1 err)" "2:rsubmit: with --strict each of these is a mistake" "--strict makes them errors"
is "$(rqueue -a -n -o %i | sort -n | tail -n 1)" "$job" "and nothing is queued"
printf '#!/bin/sh\n#SBATCH -N x\n' >bad.sh
run rsubmit bad.sh
is "$code:$(cat err)" "2:rsubmit: bad.sh:2:9: --nodes: 'x' is no number; digits are needed, 0 to 4294967295" "a bad value has its place"
printf '#!/bin/sh\n#SBATCH --time=5\n#ROTA --time=7\ntrue\n' >both.sh
job=$(rsubmit --parsable both.sh)
is "$(field "$job" time_limit_seconds)" 420 "#ROTA lines win over #SBATCH lines"

# ---- sbatch ----
run sbatch -J one --wrap 'echo wrapped'
like "$code:$(cat out)" "^0:Submitted batch job [0-9]+$" "sbatch answers as tools expect it"
job=$(sed 's/.* //' out)
ends "$job" >/dev/null
is "$(cat "slurm-$job.out")" wrapped "--wrap"
run sbatch --parsable --array=1-3%2 --output=arr-%A_%a.txt --wrap 'echo task $SLURM_ARRAY_TASK_ID'
array=$(cat out)
like "$array" '^[0-9]+$' "--parsable prints the number alone"
ok "an array" wait_for 30 eval '[[ $(cat arr-*.txt 2>/dev/null | wc -l) == 3 ]]'
is "$(cat "arr-${array}_"{1,2,3}.txt | tr '\n' ,)" "task 1,task 2,task 3," "has a file for each task"
run sbatch --wait --wrap 'exit 7'
is "$code" 7 "--wait returns the job's code"
run sbatch --gpus=99 --wrap true
is "$code" 1 "sbatch ends with 1 when a job is refused"
run sbatch --nonsense --wrap true
is "$code:$(head -n 1 err)" "1:sbatch: error: unknown option '--nonsense'" "and for what it does not know"
run sbatch --test-only --wrap true
is "$code:$(cat err)" "1:sbatch: error: --test-only: nothing tells the start of a job before it is queued" "what must not be left out is refused"
run env SBATCH_ACCOUNT=ml SBATCH_TIMELIMIT=3 sbatch --parsable --time=4 --wrap true
job=$(cat out)
is "$(field "$job" project),$(field "$job" time_limit_seconds)" "ml,240" "variables stand for options, which win over them"
run sbatch --parsable <<<'#!/bin/sh
#SBATCH -J fed'
run bash -c 'printf "#!/bin/sh\n#SBATCH -J fed\ntrue\n" | sbatch --parsable'
is "$(field "$(cat out)" name)" fed "a script may come from standard input"
run sbatch --version
like "$(cat out)" '^slurm [0-9]+\.[0-9]+' "it has a version that tools can read"

# ---- what submitit writes ----
mkdir log
cat >submission.sh <<S
#!/bin/bash
# Parameters
#SBATCH --error=$test_dir/log/%j_0_log.err
#SBATCH --gpus-per-node=1
#SBATCH --job-name=submitit
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --open-mode=append
#SBATCH --output=$test_dir/log/%j_0_log.out
#SBATCH --signal=USR2@90
#SBATCH --time=5
#SBATCH --wckey=submitit
export SUBMITIT_EXECUTOR=slurm
srun --unbuffered --output $test_dir/log/%j_%t_log.out --error $test_dir/log/%j_%t_log.err bash -c 'echo done \$SLURM_LOCALID'
S
run sbatch submission.sh
job=$(grep -oE '[0-9]+$' out)
poll() { [[ $(sacct -o JobID,State,NodeList --parsable2 -j "$job" | sed -n '2s/.*|\(.*\)|.*/\1/p') == "$1" ]]; }
ok "a tool that asks sacct sees it end" wait_for 30 poll COMPLETED
is "$(cat "log/${job}_0_log.out" "log/${job}_1_log.out" | tr '\n' ,)" "done 0,done 1," "and finds the files of its tasks"
is "$(sacct -o JobID,State,NodeList --parsable2 -j "$job")" "JobID|State|NodeList
$job|COMPLETED|$(field "$job" 'nodes[0]')" "sacct's columns are its own"

# ---- looking ----
job=$(sbatch --parsable -J looker -A ml -p long -N 2 --gpus-per-node=2 -t 1-00:00:00 -w "$(rinfo -nP | cut -d'|' -f1 | sort | paste -sd,)" --wrap 'srun sleep 1000')
wait_state "$job" RUNNING >/dev/null
blocked=$(sbatch --parsable -J blocked -N 2 --gpus-per-node=4 -t 10 --comment "waits" --wrap true)
is "$(squeue -h -j "$job" -o '%i %T')" "$job RUNNING" "squeue -h -o '%i %T'"
is "$(squeue -h -o '%i %t' | sort -n | tr '\n' ,)" "$job R,$blocked PD," "all that is in the queue"
is "$(squeue | head -n 1)" "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)" "its header is Slurm's"
like "$(squeue -j "$job" | tail -n 1)" "^ +$job +long +looker +root +R +0:[0-9]+ +2 ${nodes[0]%1}\[1-2\]$" "and so are its lines"
is "$(squeue -h -t PD -o '%.5i|%-8j|%r|%a|%P' 2>&1 | sed 's/ *$//')" "squeue: error: invalid job format specification: -" "a format that Slurm does not have"
is "$(squeue -h -t pending -u root -n blocked -O JobID:8,State:10,Account)" "$(printf '%-8s%-10s%s' "$blocked" PENDING default)" "-O has names and widths"
is "$(squeue -h -p long -o %A):$(squeue -h -p short -o %A):$(squeue -h -w "${nodes[1]}" -o %A)" "$job::$job" "by queue and by node"
is "$(squeue -h -S -i -o %i | tr '\n' ,)" "$blocked,$job," "-S sorts"
run squeue -j 99999
is "$code:$(cat err)" "1:squeue: error: Invalid job id specified" "a job that is not there"
like "$(squeue --start -h)" "^ +$blocked .* PD +2[0-9T:-]+|N/A" "--start says when"
is "$(sinfo -h -o '%P %D %t %N' | sort | tr '\n' ,)" "long 2 mix ${nodes[0]%1}[1-2],short 2 mix ${nodes[0]%1}[1-2]," "sinfo shows queues as partitions"
is "$(sinfo | head -n 1 | tr -s ' ')" "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST" "with Slurm's header"
is "$(sinfo -h -p long -o '%l')" "7-00:00:00" "and limits"
is "$(sinfo -h -N -p short -o '%N %G' | sort | tr '\n' ,)" "${nodes[0]} gpu:v100-sxm2-32gb:4,${nodes[1]} gpu:v100-sxm2-32gb:4," "-N: a line for each node"
like "$(scontrol show job "$job")" "^JobId=$job JobName=looker
   UserId=root\(0\) .*
   Priority=.* Account=ml .*
   JobState=RUNNING Reason=None" "scontrol show job"
like "$(scontrol -o show job "$job")" "^JobId=$job .* TimeLimit=1-00:00:00 .* NumNodes=2 NumCPUs=2 NumTasks=2 .*gres/gpu=4" "on one line"
like "$(scontrol show job "$blocked")" "JobState=PENDING Reason=Resources .*Comment=waits" "why it waits"
like "$(scontrol show node "${nodes[0]}")" "^NodeName=${nodes[0]} .*State=MIXED .*AllocTRES=.*gpu:v100-sxm2-32gb:2" "scontrol show node"
like "$(scontrol show partition short)" "^PartitionName=short.*MaxTime=01:00:00" "scontrol show partition"
is "$(scontrol show hostnames 'a[1-3],b' | xargs):$(scontrol show hostlist a1,a2,a3,b)" "a1 a2 a3 b:a[1-3],b" "host lists"
run scontrol show hostnames
is "$code" 1 "outside of a job there is none"
run scontrol show job 99999
is "$code:$(cat err)" "1:scontrol: error: Invalid job id specified" "a job that is not there"

# ---- changing ----
scontrol hold "$blocked"
is "$(squeue -h -j "$blocked" -o %r)" JobHeldUser "scontrol hold"
scontrol update "JobId=$blocked" TimeLimit=30:00 Name=renamed Partition=short
is "$(squeue -h -j "$blocked" -o '%j %l %P')" "renamed 30:00 short" "scontrol update"
scontrol release "$blocked"
unlike "$(squeue -h -j "$blocked" -o %r)" Held "scontrol release"
run scontrol update "JobId=$blocked" Frobs=3
is "$code:$(cat err)" "1:scontrol: error: Update of this parameter is not supported: Frobs=3" "what cannot be changed"
run scancel "$blocked"
is "$code" 0 "scancel"
ok "ends what waits" wait_state "$blocked" CANCELLED
scontrol requeue "$job"
ok "scontrol requeue" wait_for 30 eval '[[ $(squeue -h -j "$job" -o "%T") == RUNNING && $(field "$job" restarts) == 1 ]]'
run scancel "$job"
ok "and what runs" wait_state "$job" CANCELLED
run scancel 99999
is "$code" 1 "a job that is not there"
run scancel "$job.0"
like "$code:$(cat err)" "^1:scancel: error: $job.0: a step ends with its srun" "a step cannot be ended alone"

# ---- what was ----
like "$(sacct -n -P -j "$job" -o JobID,JobName,Account,State,ExitCode,NNodes,Timelimit)" "^$job\|looker\|ml\|CANCELLED\|[0-9]+:[0-9]+\|2\|1-00:00:00$" "sacct -n -P -o"
like "$(sacct -X -u root --name looker -o jobid,state%15,elapsed)" "^ +JobID +State +Elapsed *
-{12} -{15} -{10} *
$job +CANCELLED +00:0" "columns have widths"
is "$(sacct -n -P -S now-1hour -s CD -o State | sort -u):$(sacct -n -P -S tomorrow -o JobID)" "COMPLETED:" "by state and time"
run sacct -o Frobs
is "$code:$(cat err)" '1:sacct: error: Invalid field requested: "Frobs"' "a field that is not there"
like "$(seff "$job")" "^Job ID: $job
.*State: CANCELLED .*Nodes: 2
.*GPUs: 4" "seff"
run srun -N 2 -n 2 -l hostname
is "$code:$(wc -l <out)" "0:2" "srun outside of a job makes its own"
run srun --comment=x --begin=now --mpi=pmi2 --cpu-bind=cores true
is "$code:$(cat err)" "0:srun: --cpu-bind=cores is lost: which cores and memory a task is bound to is Rota's choice
srun: --mpi=pmi2 is lost: processes find each other by PMIx" "and says what it cannot do"
is "$(salloc -Q -N 1 -t 5 sh -c 'echo $SLURM_JOB_NUM_NODES; srun hostname | wc -l')" "1
1" "salloc holds resources for a command"

# ---- templates ----
job=$(rsubmit --parsable --template small --hold --wrap true)
is "$(field "$job" gpus),$(field "$job" time_limit_seconds),$(field "$job" comment)" "1,300,from the site" "a template"
job=$(rsubmit --parsable --template small -A ml -t 9m --hold --wrap true)
is "$(field "$job" gpus),$(field "$job" time_limit_seconds),$(field "$job" comment)" "2,540,project" "the project's is nearer, and flags win"
run rsubmit --template nothing --wrap true
is "$code:$(cat err)" "2:rsubmit: --template: there is no 'nothing' in $test_dir/templates.d" "one that is not there"
