/** Written by `npm run generate` from packaging/completion. */
export const COMPLETION_SCRIPTS = {
  bash: `# bash completion for machineadm, 4.2 and later, with bash-completion or without; \`machineadm completion bash\` prints it.
# Readline splits words at = and : (COMP_WORDBREAKS): they are joined, and what is before the last of them is not repeated.
_machineadm() {
  local program=\${COMP_WORDS[0]/#\\~/$HOME} words=() last=-1 join='' word line directive='' i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((last >= 0)) && { [[ -n $join ]] || [[ $word == [=:]* ]]; }; then
      words[last]+=$word
    else
      last=$((last + 1))
      words[last]=$word
    fi
    [[ $word == *[=:] ]] && join=yes || join=''
  done
  ((last >= 0)) || return
  local cur=\${words[last]} prefix=''
  unset "words[last]"
  # What names a document is quoted here as the user typed it.
  words=("\${words[@]//[\\\\\\"\\']/}")
  [[ $cur == *[=:]* ]] && prefix=\${cur%"\${cur##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) directive=$line ;;
      *)
        line=\${line%%$'\\t'*}
        COMPREPLY+=("\${line#"$prefix"}")
        ;;
    esac
  done < <("$program" __complete --current="$cur" -- "\${words[@]}" 2>/dev/null)
  cur=\${cur#"$prefix"}
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
`,
  zsh: `#compdef machineadm
# zsh completion for machineadm: a file _machineadm in a directory of $fpath, or read by \`source\`.
_machineadm() {
  local -a found options
  local line directive
  local program=\${~words[1]}
  for line in "\${(@f)$("$program" __complete --current="\${(Q)PREFIX}" -- "\${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}"; do
    case $line in
      :*) directive=$line ;;
      *$'\\t'?*) found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      *) found+=("\${\${line%%$'\\t'*}//:/\\\\:}") ;;
    esac
  done
  [[ $directive == :partial ]] && options=(-S '')
  if [[ $directive == (:files|:directories) ]]; then
    [[ $PREFIX == *=* ]] && compset -P '*='
    [[ $directive == :files ]] && _files || _files -/
  fi
  (( $#found )) && _describe -V machineadm found "\${(@)options}"
}
if [ "$funcstack[1]" = "_machineadm" ]; then
  _machineadm "$@"
else
  compdef _machineadm machineadm
fi
`,
  fish: `# fish completion for machineadm; \`machineadm completion fish\` prints it.
function __machineadm_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l found ($program __complete --current="$current" -- $words 2>/dev/null)
    test (count $found) -gt 0; or return
    set -l prefix (string match -r '^.*=' -- $current)
    set -l typed (string replace -r '^.*=' '' -- $current)
    switch $found[-1]
        case ':files'
            for path in (__fish_complete_path "$typed")
                printf '%s\\n' "$prefix$path"
            end
        case ':directories'
            for path in (__fish_complete_directories "$typed")
                printf '%s\\n' "$prefix$path"
            end
    end
    set -e found[-1]
    test (count $found) -eq 0; or printf '%s\\n' $found
end
complete -c machineadm -f -k -a '(__machineadm_complete)'
`,
  powershell: `# PowerShell completion for machineadm, Windows PowerShell 5.1 and later; \`machineadm completion powershell\` prints it.
# Where a completer returns nothing, PowerShell offers files.
Register-ArgumentCompleter -Native -CommandName 'machineadm', 'machineadm.exe' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $elements = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text.Trim('"', "'") })
  $program = $commandAst.CommandElements[0].Extent.Text.Trim('"', "'")
  $words = @($elements | Select-Object -Skip 1)
  $found = @(& $program '__complete' "--current=$wordToComplete" '--' $words 2>$null)
  if ($found.Count -eq 0) { return }
  $directive = $found[-1]
  foreach ($line in $found) {
    if ($line.StartsWith(':')) { continue }
    $value, $description = $line -split [char]9, 2
    if (-not $description) { $description = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
  }
  if ($found.Count -eq 1 -and ($directive -eq ':none' -or $directive -eq ':partial')) { '' }
}
`,
} as const;
