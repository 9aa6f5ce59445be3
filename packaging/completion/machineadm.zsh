#compdef machineadm
# zsh completion for machineadm: a file _machineadm in a directory of $fpath, or read by `source`.
_machineadm() {
  local -a found options
  local line directive
  local program=${~words[1]}
  for line in "${(@f)$("$program" __complete --current="${(Q)PREFIX}" -- "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}"; do
    case $line in
      :*) directive=$line ;;
      *$'\t'?*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}") ;;
    esac
  done
  [[ $directive == :partial ]] && options=(-S '')
  if [[ $directive == (:files|:directories) ]]; then
    [[ $PREFIX == *=* ]] && compset -P '*='
    [[ $directive == :files ]] && _files || _files -/
  fi
  (( $#found )) && _describe -V machineadm found "${(@)options}"
}
if [ "$funcstack[1]" = "_machineadm" ]; then
  _machineadm "$@"
else
  compdef _machineadm machineadm
fi
