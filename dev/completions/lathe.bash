# The words of the command up to the cursor, in the array `line`: bash cuts them at the colons and equals signs of
# COMP_WORDBREAKS.
_lathe_line() {
  local glued= word i
  line=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#line[@]} > 1)) && [[ $glued || $word == [:=]* ]]; then
      line[${#line[@]} - 1]+=$word
    else
      line+=("$word")
    fi
    [[ $word == [:=]* ]] && glued=yes || glued=
  done
}

# Adds the words of $1 that begin with $current.
_lathe_add() {
  local IFS=$' \t\n'
  COMPREPLY+=($(compgen -W "$1" -- "$current"))
}

# Adds the words of $1 behind the words that $current already lists.
_lathe_add_list() {
  local before= word IFS=$' \t\n'
  [[ $current == *,* ]] && before=${current%,*},
  for word in $1; do
    [[ ,$before == *,$word,* || $word != "${current##*,}"* ]] || COMPREPLY+=("$before$word")
  done
}

# Adds folders, and files whose extension is one of the arguments; all files without arguments.
_lathe_add_files() {
  local name extension
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do
    if [[ $# -eq 0 || -d $name ]]; then
      COMPREPLY+=("$name")
      continue
    fi
    for extension; do
      [[ $name != *.$extension ]] || COMPREPLY+=("$name")
    done
  done < <(compgen -f -- "$current")
}

_lathe_add_model() {
  if [[ $current == zoo:* ]]; then
    _lathe_add "$_lathe_networks"
    return
  fi
  _lathe_add_files "$@"
  if [[ zoo: == "$current"* ]]; then
    COMPREPLY+=(zoo:)
    ((${#COMPREPLY[@]} > 1)) || compopt -o nospace 2>/dev/null
  fi
}

# Adds the ids of the stored experiments, of the store of --store if the command has one. A server that does not answer is
# not waited for.
_lathe_add_experiments() {
  local i store=
  for ((i = 1; i < ${#line[@]} - 1; i++)); do
    case ${line[i]} in
    --store) store=${line[i + 1]} ;;
    --store=*) store=${line[i]#--store=} ;;
    esac
  done
  store=${store//[\"\'\\]/} # as it was typed, with what the shell takes away
  _lathe_add_list "$(LATHE_STORE_WAIT=0 "${line[0]/#\~/$HOME}" store list --wide ${store:+--store "${store/#\~/$HOME}"} \
    2>/dev/null | sed -n 's/^\([0-9a-f]\{8\}\) .*/\1/p')"
}

# $1: a specification, kinds separated by ";".
_lathe_offer() {
  local part kinds
  IFS=';' read -ra kinds <<<"$1"
  for part in "${kinds[@]}"; do
    part=${part# }
    case $part in
    words\ *) _lathe_add "${part#words }" ;;
    list\ *) _lathe_add_list "${part#list }" ;;
    model\ *) _lathe_add_model ${part#model } ;;
    files*) _lathe_add_files ${part#files} ;;
    folder) _lathe_add_files ;;
    experiment) _lathe_add_experiments ;;
    esac
  done
}

# Completes arguments of the verb $1; the first of them is ${line[$2]}.
_lathe_arguments() {
  local verb=$1 last=$((${#line[@]} - 1)) specification flag= number=0 i offered
  for ((i = $2; i < last; i++)); do
    if [[ $flag ]]; then
      flag=
    elif [[ ${line[i]} == -*=* ]]; then
      :
    elif [[ ${line[i]} == -* ]]; then
      _lathe_specification "$verb ${line[i]}"
      [[ ! $specification ]] || flag=${line[i]}
    else
      number=$((number + 1))
    fi
  done
  if [[ $flag ]]; then
    _lathe_specification "$verb $flag"
  elif [[ $current == --*=* ]]; then
    _lathe_specification "$verb ${current%%=*}"
    prefix=${current%%=*}=
    current=${current#*=}
  elif [[ $current == -* ]]; then
    _lathe_flags "$verb"
    _lathe_add "$offered"
    return
  else
    _lathe_specification "$verb #$number"
    [[ $specification ]] || _lathe_specification "$verb #*"
    if [[ ! $specification && ! $current ]]; then
      _lathe_flags "$verb"
      _lathe_add "$offered"
    fi
  fi
  _lathe_offer "$specification"
}

# $1: the index of a verb in `line`, where the cursor is at or behind it.
_lathe_verb() {
  local last=$((${#line[@]} - 1)) verb=${line[$1]} offered
  _lathe_group "$verb"
  if [[ $offered ]]; then
    if (($1 + 1 == last)); then
      _lathe_add "$offered --help"
    else
      _lathe_arguments "$verb ${line[$1 + 1]}" $(($1 + 2))
    fi
  else
    _lathe_arguments "$verb" $(($1 + 1))
  fi
}

_lathe() {
  local line current prefix= offered i breaks whole cut=
  _lathe_line
  current=${line[-1]}
  COMPREPLY=()
  if ((${#line[@]} == 2)); then
    _lathe_add "$_lathe_verbs help --help --version"
  elif [[ ${line[1]} == help ]]; then
    _lathe_group "${line[2]}"
    if ((${#line[@]} == 3)); then
      _lathe_add "$_lathe_verbs schedules"
    elif ((${#line[@]} == 4)) && [[ ${line[2]} == schedules ]]; then
      _lathe_add "$_lathe_algorithms"
    elif ((${#line[@]} == 4)); then
      _lathe_add "$offered"
    fi
  else
    _lathe_verb 1
  fi
  # Bash replaces only what follows the last character of COMP_WORDBREAKS in the word.
  breaks=${COMP_WORDBREAKS//[^:=]/}
  whole=$prefix$current
  [[ ! $breaks || $whole != *[$breaks]* ]] || cut=${whole%"${whole##*[$breaks]}"}
  for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
    COMPREPLY[i]=$prefix${COMPREPLY[i]}
    COMPREPLY[i]=${COMPREPLY[i]#"$cut"}
  done
}

complete -F _lathe lathe
