# contribs/completion/rota.bash - bash completion for rota and its sister commands.
#
# Use it with:  . contribs/completion/rota.bash
# A test compares the options below with --help and the man pages.

# Every spelling of every option; those that take an argument end in "=", in "[=]" if it may be left out.
declare -gA _rota_options=(
  [rsubmit]="-J= --job-name= --name= -A= --project= --account= -p= --queue= --partition= -G= --gpus= --gpus-per-node=
    -g= --gpus-per-task= --gpu= --gpu-memory= --gpu-devices= --mig= --mps[=] -N= --nodes= -n= --ntasks= --ntasks-per-node= -c= --cpus-per-task= --mem=
    --mem-per-cpu= --mem-per-gpu= --cpus-per-gpu= --ntasks-per-gpu=
    -w= --nodelist= -x= --exclude= -C= --constraint= --topology= --segment= -t= --time=
    -o= --output= -e= --error= -i= --input= -D= --chdir= --kind= --interactive --inference --priority= --preemptible
    --non-preemptible --preemptibility= --background --exclusive[=] --signal= --grace= --requeue --no-requeue
    -a= --array= --runs= --completions= --parallelism= -d= --dependency= --kill-on-invalid-dep= -b= --begin= --deadline= -H --hold --nice[=]
    --retries= --backoff-limit= --comment= --label= --mail-type= --mail-user= --webhook= --export= --image= --container-image=
    --container-mounts= --volume= --container-workdir= --working-dir= --container-mount-home --container-writable --container-readonly
    --entrypoint --args --no-entrypoint --command --container-entrypoint --no-container-entrypoint --env= --environment= --container-env=
    --data= --pvc= --git= --git-sync= --container-name= --container-save= --shm-size= --large-shm --pull= --image-pull-policy= --local-image
    --runtime= --no-container-remap-root --container-remap-root --container-unshare= --secret= --port= --url[=] --external-url= --wrap= --template=
    -W --wait -P --parsable --json
    -Q --quiet --strict --slurm -v --verbose -h --help --usage -V --version"
  [rqueue]="-u= --user= --me -A= --project= --account= -t= --state= --states= --name= -j= --job= --jobs= -a --all
    -l --long -o= --format= -n --noheader -P --parsable --json --watch -v --verbose -h --help --usage -V --version"
  [rcancel]="-n= --name= --job-name= -u= --user= --me -A= --project= --account= -t= --state= --states= -s=
    --signal= -Q --quiet -v --verbose -h --help --usage -V --version"
  [rinfo]="--gpus --health -n --noheader -P --parsable --json -v --verbose -h --help --usage -V --version"
  [rlogs]="-f --follow --tail= --since= --timestamps -e --error --task= -v --verbose -h --help --usage -V --version"
  [rattach]="--no-stdin --task= -v --verbose -h --help --usage -V --version"
  [rrun]="-J= --job-name= --name= -A= --project= --account= -p= --queue= --partition= -G= --gpus= --gpus-per-node=
    -g= --gpus-per-task= --gpu= --gpu-memory= --gpu-devices= --mig= --mps[=] -N= --nodes= -n= --ntasks= --ntasks-per-node= -c= --cpus-per-task= --mem=
    --mem-per-cpu= --mem-per-gpu= --cpus-per-gpu= --ntasks-per-gpu=
    -w= --nodelist= -x= --exclude= -C= --constraint= --exclusive[=] -t= --time= -D= --chdir= --kind= --priority= --pty
    -b= --begin= --deadline= -d= --dependency= --nice[=] --comment= --mail-type= --mail-user=
    -l --label -o= --output= -e= --error= -K[=] --kill-on-bad-exit[=] --overlap --mpi=
    --image= --container-image= --container-mounts= --volume= --container-workdir= --working-dir= --container-mount-home --container-writable
    --container-readonly --entrypoint --args --no-entrypoint --command --container-entrypoint --no-container-entrypoint --env= --environment=
    --container-env= --data= --pvc= --git= --git-sync= --container-name= --container-save= --shm-size= --large-shm --pull=
    --image-pull-policy= --local-image --runtime= --no-container-remap-root --container-remap-root --container-unshare= --secret= --port= --url[=]
    --external-url=
    -v --verbose -h --help --usage -V --version"
  [ralloc]="-J= --job-name= --name= -A= --project= --account= -p= --queue= --partition= -G= --gpus= --gpus-per-node=
    -g= --gpus-per-task= --gpu= --gpu-memory= --gpu-devices= --mig= -N= --nodes= -n= --ntasks= --ntasks-per-node= -c= --cpus-per-task= --mem=
    --mem-per-cpu= --mem-per-gpu= --cpus-per-gpu= --ntasks-per-gpu=
    -w= --nodelist= -x= --exclude= -C= --constraint= --topology= --segment= --exclusive[=] -t= --time= -D= --chdir= --kind= --priority= --secret=
    -b= --begin= --deadline= -d= --dependency= --nice[=] --comment= --mail-type= --mail-user=
    -v --verbose -h --help --usage -V --version"
  [rexec]="-i --interactive -t --tty --pty --task= -v --verbose -h --help --usage -V --version"
  [rsecret]="-f= --file= -u= --user= -n --noheader --json -Q --quiet -v --verbose -h --help --usage -V --version"
  [rshare]="-n --noheader -P --parsable --json -v --verbose -h --help --usage -V --version"
  [rproject]="--department= --quota= --cpu-quota= --memory-quota= --limit= --cpu-limit= --memory-limit= --weight=
    --rank= --over-quota= --train-node-types= --train-node-groups= --interactive-node-types=
    --interactive-node-groups= --inference-node-types= --inference-node-groups= --default-queue=
    --interactive-time-limit= --time-limit-max= --interactive-idle-limit= --train-idle-limit= --users= --groups=
    --user-weights= --half-life= --grace=
    --min-runtime-reclaim= --min-runtime-preempt= --preemption-delay= -n --noheader -P --parsable --json -Q --quiet
    -v --verbose -h --help --usage -V --version"
  [radmin]="--dry-run -y --yes -r= --reason= -n --noheader -P --parsable --json -v --verbose -h --help --usage -V --version"
  [rota]="--json --task= --address= --port= -v --verbose -h --help --usage -V --version"
  [rsim]="--strict --filter= --nodes= --tasks= --arrivals= --seed= --policy= --time --cluster=
    --projects= --trace= --with= --limits= --checkpoint= --one-project --html= --json
    -v --verbose -h --help --usage -V --version"
)
_rota_states="PENDING STARTING RUNNING COMPLETING PREEMPTED SUSPENDED COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL OUT_OF_MEMORY
  LAUNCH_FAILED DEADLINE all"

# Candidates from a list of words; the last part of a list with commas is what is completed.
_rota_words() {
  local word=$1 before=
  shift
  if [[ $word == *,* ]]; then
    before=${word%,*},
    word=${word##*,}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$*" -- "$word")
}

# What the cluster knows; nothing when it cannot be asked.
_rota_jobs() { rqueue --noheader -o "%${1:-i}" 2>/dev/null | sort -u; }
_rota_projects() { rproject list --noheader --parsable 2>/dev/null | cut -d '|' -f 1; }
_rota_queues() {
  radmin export 2>/dev/null |
    awk '/^[a-z]/ { section = $1 } section == "queues:" && /^  [^ ]/ { sub(/:$/, "", $1); print $1 }'
}
_rota_groups() { rinfo --json 2>/dev/null | jq -r '.nodes[] | .type, .groups[]' 2>/dev/null | sort -u; }
_rota_secrets() { rsecret list --noheader 2>/dev/null | awk -v kind="$1" '$2 == kind { print $1 }'; }
_rota_nodes() { rinfo --noheader --parsable 2>/dev/null | cut -d '|' -f 1; }

# The argument of an option.
_rota_argument() {
  local command=$1 option=$2 word=$3
  [[ $command == rrun || $command == ralloc ]] && command=rsubmit  # whose options they have
  case $command:$option in
    rsubmit:--mpi) _rota_words "$word" pmix none ;;
    rsubmit:--kind) _rota_words "$word" train interactive inference ;;
    rsubmit:--preemptibility) _rota_words "$word" preemptible non-preemptible semi ;;
    rsubmit:-p | rsubmit:--queue | rsubmit:--partition | rproject:--default-queue)
      _rota_words "$word" "$(_rota_queues)" ;;
    rsubmit:-w | rsubmit:--nodelist | rsubmit:-x | rsubmit:--exclude) _rota_words "$word" "$(_rota_nodes)" ;;
    rsubmit:-C | rsubmit:--constraint | rproject:*-node-types | rproject:*-node-groups)
      _rota_words "$word" "$(_rota_groups)" ;;
    rsubmit:--secret) _rota_words "$word" "$(_rota_secrets secret)" ;;
    rsecret:-f | rsecret:--file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    rsecret:-u | rsecret:--user) COMPREPLY=() ;;
    rsubmit:--topology) _rota_words "$word" required: preferred: none ;;
    rsubmit:--priority)
      _rota_words "$word" very-low low medium-low medium medium-high high very-high ;;
    rsubmit:-D | rsubmit:--chdir) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    rsubmit:-o | rsubmit:-e | rsubmit:--output | rsubmit:--error)
      mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    rqueue:-t | rqueue:--state* | rcancel:-t | rcancel:--state*) _rota_words "$word" "$_rota_states" ;;
    rqueue:-u | rcancel:-u | *:--user) _rota_words "$word" "$(compgen -u)" ;;
    *:-A | *:--project | *:--account) _rota_words "$word" "$(_rota_projects)" ;;
    rproject:--over-quota) _rota_words "$word" on off ;;
    rproject:--users) _rota_words "$word" "$(compgen -u)" ;;
    rproject:--groups) _rota_words "$word" "$(compgen -g)" ;;
    rqueue:-j | rqueue:--job | rqueue:--jobs) _rota_words "$word" "$(_rota_jobs)" ;;
    rqueue:--name | rcancel:-n | rcancel:--name | rcancel:--job-name) _rota_words "$word" "$(_rota_jobs j)" ;;
    rcancel:-s | rcancel:--signal) _rota_words "$word" "$(compgen -A signal SIG | sed 's/^SIG//')" ;;
    rsim:--policy)
      _rota_words "$word" least-loss first-fit reservations= limit_assumed= min_runtime_reclaim= min_runtime_preempt= \
        preemption_delay= consolidate_max= history_weight= history_window= history_half_life= ;;
    rsim:--limits) _rota_words "$word" exact none factor: ;;
    rsim:--nodes | rsim:--tasks | rsim:--arrivals | rsim:--cluster | rsim:--projects | rsim:--trace | rsim:--with | rsim:--html)
      mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    *) COMPREPLY=() ;;
  esac
}

# A word that is neither an option nor the argument of one.
_rota_operand() {
  local command=$1 word=$2
  case $command in
    rsubmit | rrun | ralloc) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    rcancel | rlogs | rexec | rattach) _rota_words "$word" "$(_rota_jobs)" ;;
    rinfo) _rota_words "$word" "$(_rota_nodes)" ;;
    rota) _rota_words "$word" version ping show hold release requeue suspend resume update checkpointed bash cp port-forward login logout url translate submit run alloc queue cancel info logs exec attach share project admin secret ;;
    rproject)
      if [[ ${3:-} == verb ]]; then
        _rota_words "$word" list show create update delete
      else
        _rota_words "$word" "$(_rota_projects)"
      fi ;;
    rsecret)
      if [[ ${3:-} == verb ]]; then
        _rota_words "$word" put list delete login logout
      else
        _rota_words "$word" "$(_rota_secrets secret) $(_rota_secrets login)"
      fi ;;
    radmin)
      if [[ ${3:-} == verb ]]; then
        _rota_words "$word" apply show export node gpu
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      fi ;;
    rsim) mapfile -t COMPREPLY < <(compgen -W "conform pack replay what-if scenario" -- "$word"; compgen -f -- "$word") ;;
  esac
}

# What stands behind "rota show".
_rota_shown() {
  local noun=$1 word=$2
  case $noun in
    job) _rota_words "$word" "$(_rota_jobs)" ;;
    node) _rota_words "$word" "$(_rota_nodes)" ;;
    project) _rota_words "$word" "$(_rota_projects)" ;;
    queue) _rota_words "$word" "$(_rota_queues)" ;;
    *) _rota_words "$word" job node project queue ;;
  esac
}

_rota_complete() {
  local command=${COMP_WORDS[0]##*/} word=${COMP_WORDS[COMP_CWORD]} before= option noun= i
  COMPREPLY=()
  if [[ $command == rota ]]; then
    for ((i = 1; i < COMP_CWORD; ++i)); do
      [[ ${COMP_WORDS[i]} == -* ]] && continue
      [[ -n ${_rota_options[r${COMP_WORDS[i]}]:-} ]] && command=r${COMP_WORDS[i]}
      [[ ${COMP_WORDS[i]} == bash || ${COMP_WORDS[i]} == port-forward || ${COMP_WORDS[i]} == url ]] && command=rexec
      [[ ${COMP_WORDS[i]} == version || ${COMP_WORDS[i]} == ping ]] && command=rota-word
      [[ ${COMP_WORDS[i]} == show ]] && command=rota-show
      break
    done
  fi
  # "--kind=tr" is three words to bash: --kind, = and tr.
  ((COMP_CWORD > 0)) && before=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $word == "=" ]]; then
    word=
  elif [[ $before == "=" && $COMP_CWORD -gt 1 ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $command == rota-word || $command == rota-show && $word == -* ]]; then
    _rota_words "$word" --json
    return
  fi
  if [[ $command == rota-show ]]; then
    while ((++i < COMP_CWORD)) && [[ -z $noun ]]; do
      [[ ${COMP_WORDS[i]} == -* ]] || noun=${COMP_WORDS[i]}
    done
    _rota_shown "$noun" "$word"
    return
  fi
  for option in ${_rota_options[$command]:-}; do
    if [[ $option == "$before=" ]]; then
      _rota_argument "$command" "$before" "$word"
      return
    fi
  done
  if [[ $word == -* ]]; then
    local all=${_rota_options[$command]:-}
    _rota_words "$word" "${all//[\[=\]]/}"
  else
    # The first operand of some commands is a verb: there is none before this word yet.
    local place=verb
    for ((i = 1; i < COMP_CWORD; ++i)); do
      [[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == "${command#r}" && ${COMP_WORDS[0]##*/} == rota ]] || place=
    done
    _rota_operand "$command" "$word" "$place"
  fi
}

complete -o default -F _rota_complete rsubmit rqueue rcancel rinfo rlogs rexec rattach rrun ralloc rshare rproject rsecret radmin rota rsim
