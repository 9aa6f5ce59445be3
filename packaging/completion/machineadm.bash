# bash completion for machineadm, 4.2 and later, with bash-completion or without; `machineadm completion bash` prints it.
# Readline splits words at = and : (COMP_WORDBREAKS): they are joined, and what is before the last of them is not repeated.
_machineadm() {
  local program=${COMP_WORDS[0]/#\~/$HOME} words=() last=-1 join='' word line directive='' i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((last >= 0)) && { [[ -n $join ]] || [[ $word == [=:]* ]]; }; then
      words[last]+=$word
    else
      last=$((last + 1))
      words[last]=$word
    fi
    [[ $word == *[=:] ]] && join=yes || join=''
  done
  ((last >= 0)) || return
  local cur=${words[last]} prefix=''
  unset "words[last]"
  # What names a document is quoted here as the user typed it.
  words=("${words[@]//[\\\"\']/}")
  [[ $cur == *[=:]* ]] && prefix=${cur%"${cur##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) directive=$line ;;
      *)
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$prefix"}")
        ;;
    esac
  done < <("$program" __complete --current="$cur" -- "${words[@]}" 2>/dev/null)
  cur=${cur#"$prefix"}
  case $directive in
    :partial) compopt -o nospace 2>/dev/null ;;
    :files | :directories)
      compopt -o filenames 2>/dev/null
      if declare -F _filedir >/dev/null; then
        if [[ $directive == :files ]]; then _filedir; else _filedir -d; fi
      else
        local action=file
        [[ $directive == :files ]] || action=directory
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -A "$action" -- "$cur")
      fi
      ;;
  esac
}
complete -F _machineadm machineadm
