_lathe_words() {
  local expl
  _wanted values expl value compadd -- "$@"
}

# Words that are separated by commas.
_lathe_list() {
  _sequence -s , compadd - "$@"
}

# Models: files with these extensions, folders, zoo:NAME.
_lathe_model() {
  local expl ret=1
  local pattern="*.(${(j:|:)@})(-.)"
  if compset -P 'zoo:'; then
    _wanted networks expl 'built-in network' compadd -- "${(@)_lathe_networks#zoo:}" && ret=0
    return ret
  fi
  _files -g "$pattern" && ret=0
  _wanted networks expl 'built-in network' compadd -S '' -- zoo: && ret=0
  return ret
}

# Ids of the stored experiments, of the store of --store if the command has one. A server that does not answer is not waited
# for. _call_program evaluates its arguments: the store is quoted for it.
_lathe_experiment() {
  local -a store ids
  local place=${words[(I)--store]} typed=
  if (( place && place < CURRENT - 1 )); then
    typed=${words[place + 1]}
  elif (( ${words[(I)--store=*]} )); then
    typed=${words[(R)--store=*]#--store=}
  fi
  [[ $typed ]] && store=(--store ${(q)${(Q)typed}/#\~/$HOME})
  ids=(${(f)"$(_call_program experiments LATHE_STORE_WAIT=0 lathe store list --wide $store 2>/dev/null |
    sed -n 's/^\([0-9a-f]\{8\}\) .*/\1/p')"})
  _sequence -s , compadd - $ids
}

# Each argument is an action.
_lathe_several() {
  local action ret=1
  for action; do
    eval "$action" && ret=0
  done
  return ret
}

_lathe() {
  local -a verbs
  local name
  if (( CURRENT == 2 )); then
    _describe -t verbs verb _lathe_top
    return
  fi
  if [[ $words[2] == help ]]; then
    verbs=()
    if (( CURRENT == 3 )); then
      verbs=($_lathe_top 'schedules:Explain the algorithms of schedules')
    elif [[ $words[3] == schedules ]]; then
      verbs=($_lathe_algorithms)
    else
      _lathe_group $words[3]
    fi
    _describe -t verbs verb verbs
    return
  fi
  _lathe_group $words[2]
  name=$words[2]
  if (( $#verbs )); then
    if (( CURRENT == 3 )); then
      _describe -t verbs verb verbs
      return
    fi
    name=${words[2]}_$words[3]
    shift words
    (( CURRENT-- ))
  fi
  shift words
  (( CURRENT-- ))
  name=_lathe_${name//-/_}
  (( $+functions[$name] )) && $name
}

if [[ $funcstack[1] == _lathe ]]; then
  _lathe "$@"
else
  compdef _lathe lathe
fi
