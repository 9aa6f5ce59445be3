/**
 * The shell's half of a hook group: one shell reads the entries one after the other (`.`). After each entry that counts as
 * done it writes down how far it came and its own state, which the agent makes durable before the next begins. A group that
 * is killed, or whose entry fails, then continues with that entry in a shell like the one before.
 *
 * What a shell can write down is restored: variables, exports, functions, aliases, options, traps, umask, the working
 * directory and the positional parameters. The restored shell writes its state once more, and is used only if that is the
 * same text. What a shell cannot write down is found, and said in the first line of the state; see `StateKind`.
 */

/**
 * How much of the shell a state holds. `whole`: all of it. `fresh`: nothing, for no entry ended before the shell did.
 * The others name what would be missing: functions or aliases that a later entry uses, in a shell that cannot print them;
 * jobs in the background; the directory stack; open descriptors, redirections of the shell itself, and its limits.
 */
export type StateKind = 'whole' | 'fresh' | 'functions' | 'jobs' | 'directories' | 'descriptors';

/** The files of the driver, by name. Arguments: see `driverArguments`. */
export const DRIVER_FILES: Readonly<Record<string, string>> = {
  driver: `machineadm_directory=$1 machineadm_state=$2 machineadm_token=$3
machineadm_entry=$4 machineadm_last=$5 machineadm_on_error=$6 machineadm_resuming=$7
machineadm_mv=$(command -v mv) machineadm_sync=$(command -v sync) machineadm_cat=$(command -v cat)
machineadm_readlink=$(command -v readlink)
shift 7
machineadm_phase=\${MACHINEADM_PHASE-}
umask 022
# Where a descriptor leads. Before Linux 5.14 proc_pid_fdinfo(5) does not say which inode that is.
machineadm_target() {
  machineadm_text=
  while IFS= read -r machineadm_line; do
    case $machineadm_line in mnt_id:* | ino:*) machineadm_text="$machineadm_text $machineadm_line" ;; esac
  done <"/proc/$$/fdinfo/$1"
  case $machineadm_text in
    *ino:*) ;;
    *) machineadm_text=$("$machineadm_readlink" "/proc/$$/fd/$1") ;;
  esac
  # It becomes a part of a quoted word.
  while :; do
    case $machineadm_text in *\\'*) machineadm_text=\${machineadm_text%%\\'*}?\${machineadm_text#*\\'} ;; *) break ;; esac
  done
  printf '%s\\n' "$machineadm_text"
}
# Of the shell itself, asked in a subshell, which does not change its descriptors. The file assigns them to a variable: dash
# reads commands in large pieces, but the input of "read" byte by byte.
machineadm_descriptors() (
  umask 077
  {
    unset GLOBIGNORE
    set +f
    printf "machineadm_text='" && printf '%s\\n' "/proc/$$/fd/"* && machineadm_target 1 && machineadm_target 2 &&
      ulimit -Sa && ulimit -Ha && printf "'\\n"
  } >| "$machineadm_directory/$1" 2>/dev/null
)
# Whether the descriptors and limits are those that the shell began with. Text in variables would be written down with them.
machineadm_is_as_begun() {
  [ "$machineadm_begun" = yes ] && machineadm_descriptors descriptors-now || return
  . "$machineadm_directory/descriptors"
  machineadm_had=$machineadm_text
  . "$machineadm_directory/descriptors-now"
  [ "$machineadm_text" = "$machineadm_had" ]
}
# The text of a file, without a program.
machineadm_load() {
  machineadm_text=
  while IFS= read -r machineadm_line; do
    machineadm_text="$machineadm_text$machineadm_line
"
  done <"$machineadm_directory/$1"
}
if [ -n "\${BASH_VERSION-}" ]; then . "$machineadm_directory/state-bash"; else . "$machineadm_directory/state-sh"; fi
# Writes the state to the file $1; the rest are the positional parameters of the entries.
machineadm_write() {
  machineadm_file=$1
  shift
  machineadm_kind=whole machineadm_incomplete=no
  machineadm_find_lost
  machineadm_is_as_begun || machineadm_kind=descriptors
  machineadm_had= machineadm_text= machineadm_traps=
  {
    printf '# machineadm hook %s %s %s\\n' "$machineadm_token" "$machineadm_entry" "$machineadm_kind"
    printf 'umask %s\\n' "$machineadm_umask"
    machineadm_dump "$@"
    machineadm_load traps || machineadm_incomplete=yes
    machineadm_traps=$machineadm_text
    machineadm_text=
    if [ "$machineadm_has_options" = yes ]; then . "$machineadm_directory/options"; else machineadm_incomplete=yes; fi
    printf '%s' "$machineadm_traps$machineadm_text" && [ "$machineadm_incomplete" = no ]
  } >| "$machineadm_file"
}
machineadm_before=0 machineadm_answer= machineadm_traps=
machineadm_return() {
  return "$1"
}
# For the program that runs between two groups of one script.
machineadm_surroundings() {
  [ "$machineadm_entry" -eq "$machineadm_last" ] && [ "$machineadm_on_error$machineadm_phase" = ScriptbeforeBootstrap ] || return 0
  { printf '%s\\0%s\\0' "$PWD" "$machineadm_umask"; "$machineadm_cat" /proc/self/environ; } >| "$machineadm_directory/environment"
}
# The agent makes it durable, without a program. A trapped signal interrupts "read" in dash: only a write shows whether the agent
# is gone. Then the shell makes it durable by itself, so that no entry that ended is repeated; it cannot encrypt it.
machineadm_save() {
  machineadm_surroundings && machineadm_write "$machineadm_directory/state-$machineadm_entry" "$@" || return
  machineadm_word=save
  while printf '%s %s\\n' "$machineadm_word" "$machineadm_entry" >&3; do
    IFS= read -r machineadm_answer <&3 || :
    case $machineadm_answer in saved) return 0 ;; unsaved) return 1 ;; esac
    machineadm_word=wait
  done 2>/dev/null
  "$machineadm_cat" "$machineadm_file" >| "$machineadm_state.new" && "$machineadm_sync" "$machineadm_state.new" &&
    { [ ! -e "$machineadm_directory/environment" ] ||
      { "$machineadm_cat" "$machineadm_directory/environment" >| "$machineadm_state.environment" &&
        "$machineadm_sync" "$machineadm_state.environment"; }; } &&
    "$machineadm_mv" -f "$machineadm_state.new" "$machineadm_state"
}
machineadm_is_restored() {
  [ "$machineadm_unmoved" = no ] && machineadm_write "$machineadm_directory/restored" "$@" &&
    [ "$("$machineadm_cat" "$machineadm_directory/restored")" = "$("$machineadm_cat" "$machineadm_directory/before")" ]
}
if [ -n "$machineadm_state" ]; then
  machineadm_begun=no
  machineadm_descriptors descriptors && machineadm_begun=yes
fi
if [ "$machineadm_resuming" = yes ]; then
  machineadm_entry=$((machineadm_entry - 1)) machineadm_unmoved=no
  . "$machineadm_directory/before"
fi
while [ "$machineadm_entry" -le "$machineadm_last" ]; do
  machineadm_status=0
  if [ "$machineadm_resuming" = no ]; then
    printf 'begin %s\\n' "$machineadm_entry" >&3
    machineadm_status=
    # The status of the entry before is that of the command before; with set -e it would end the shell here.
    case $- in *e*) ;; *) machineadm_return "$machineadm_before" ;; esac
    . "$machineadm_directory/entry-$machineadm_entry" </dev/null 3>&-
    machineadm_status=\${machineadm_status:-$?}
    machineadm_before=$machineadm_status
  fi
  if [ -n "$machineadm_state" ] && { [ "$machineadm_status" -eq 0 ] || [ "$machineadm_on_error" != Fail ]; }; then
    # Neither in a function nor in a subshell, where bash has other traps and options. A trace of it would be in the output.
    {
      machineadm_umask=$(umask) machineadm_tracing= machineadm_has_options=no
      umask 077
      trap >| "$machineadm_directory/traps" || :
      { printf "machineadm_text='" && set +o && printf "'\\n"; } >| "$machineadm_directory/options" &&
        machineadm_has_options=yes
      case $- in *x*) machineadm_tracing=x; set +x ;; esac
      case $- in *v*) machineadm_tracing=v$machineadm_tracing; set +v ;; esac
    } 2>/dev/null
    if [ "$machineadm_resuming" = no ]; then
      # A write to an agent that is gone must not end the shell before that.
      trap '' PIPE
      machineadm_save "$@" || printf 'unsaved %s\\n' "$machineadm_entry" >&3 || :
      trap - PIPE
      case $machineadm_traps in *PIPE*) . "$machineadm_directory/traps" ;; esac
    elif ! machineadm_is_restored "$@"; then
      printf 'unrestored %s\\n' "$machineadm_entry" >&3
      trap - EXIT
      exit 0
    fi
    umask "$machineadm_umask"
    [ -z "$machineadm_tracing" ] || set "-$machineadm_tracing"
  fi
  [ "$machineadm_resuming" = yes ] || printf 'end %s %s\\n' "$machineadm_entry" "$machineadm_status" >&3
  machineadm_resuming=no
  if [ "$machineadm_status" -ne 0 ] && [ "$machineadm_on_error" = Fail ]; then
    exit "$machineadm_status"
  fi
  machineadm_entry=$((machineadm_entry + 1))
done
# The script is not at its end yet: this is for the shell that continues.
[ "$machineadm_on_error" != Script ] || [ "$machineadm_phase" != beforeBootstrap ] || trap - EXIT
exit 0
`,

  // Options before functions: extglob decides how a function is read.
  'state-bash': `machineadm_find_lost() {
  jobs -pr >| "$machineadm_directory/jobs"
  [ ! -s "$machineadm_directory/jobs" ] || machineadm_kind=jobs
  [ "\${#DIRSTACK[@]}" -le 1 ] || machineadm_kind=directories
}
machineadm_dump() {
  shopt -p || :
  printf 'command cd -- %q || machineadm_unmoved=yes\\nunset OLDPWD\\nset --' "$PWD"
  [ "$#" -eq 0 ] || printf ' %q' "$@"
  printf '\\n'
  while IFS= read -r machineadm_name; do
    case $machineadm_name in
      BASH | BASHOPTS | BASHPID | BASH_* | SHELLOPTS | UID | EUID | PPID | GROUPS | DIRSTACK | SHLVL | PWD | _) continue ;;
      RANDOM | SRANDOM | SECONDS | EPOCH* | LINENO | FUNCNAME | PIPESTATUS | HISTCMD | COMP_*) continue ;;
      machineadm_* | MACHINEADM_RUN | MACHINEADM_PHASE) continue ;;
    esac
    declare -p "$machineadm_name" 2>/dev/null || :
  done <<MACHINEADM_END
$(compgen -v)
MACHINEADM_END
  while IFS= read -r machineadm_name; do
    case $machineadm_name in '' | *' machineadm_'*) continue ;; esac
    # Not in posix mode, for a name that posix mode does not know.
    declare -f "\${machineadm_name##* }" || machineadm_incomplete=yes
    # Its attributes: exported, traced, read-only.
    case $machineadm_name in 'declare -f '*) ;; *) printf '%s\\n' "$machineadm_name" ;; esac
  done <<MACHINEADM_END
$(declare -F)
MACHINEADM_END
  alias -p || :
}
`,

  // dash and the ash of busybox print neither functions nor attributes. They tell what a word is (XCU, command -V).
  'state-sh': `machineadm_find_lost() {
  jobs >/dev/null
  jobs -p >| "$machineadm_directory/jobs"
  [ ! -s "$machineadm_directory/jobs" ] || machineadm_kind=jobs
  while IFS=' ' read -r machineadm_later machineadm_word; do
    [ "$machineadm_later" -gt "$machineadm_entry" ] || break
    command -V "$machineadm_word" || :
  done <"$machineadm_directory/words" >| "$machineadm_directory/kinds" 2>/dev/null
  while IFS= read -r machineadm_word; do
    case $machineadm_word in
      *' is a shell function' | *' is a function' | *' is an alias for '*) machineadm_kind=functions ;;
    esac
  done <"$machineadm_directory/kinds"
}
machineadm_quote() {
  machineadm_rest=$1
  machineadm_quoted=
  while :; do
    case $machineadm_rest in *\\'*) ;; *) break ;; esac
    machineadm_quoted=$machineadm_quoted\${machineadm_rest%%\\'*}"'\\\\''"
    machineadm_rest=\${machineadm_rest#*\\'}
  done
  printf "'%s'" "$machineadm_quoted$machineadm_rest"
}
machineadm_is_name() {
  case $1 in '' | [0-9]* | *[!A-Za-z0-9_]*) return 1 ;; esac
  case $1 in
    PPID | LINENO | SHLVL | PWD | RANDOM | SECONDS | EPOCH* | _ | machineadm_* | MACHINEADM_RUN | MACHINEADM_PHASE) return 1 ;;
  esac
}
# Prints "$1 NAME" for each line "$1 NAME=VALUE" of the file $2.
machineadm_attributes() {
  while IFS= read -r machineadm_line; do
    case $machineadm_line in "$1 "*) ;; *) continue ;; esac
    machineadm_line=\${machineadm_line#* }
    machineadm_is_name "\${machineadm_line%%=*}" && printf '%s %s\\n' "$1" "\${machineadm_line%%=*}"
  done <"$2"
  :
}
machineadm_dump() {
  printf 'command cd -- '
  machineadm_quote "$(pwd)"
  printf ' || machineadm_unmoved=yes\\nunset OLDPWD\\nset --'
  for machineadm_word; do
    printf ' '
    machineadm_quote "$machineadm_word"
  done
  printf '\\n'
  set >| "$machineadm_directory/variables"
  while IFS= read -r machineadm_line; do
    machineadm_name=\${machineadm_line%%=*}
    machineadm_is_name "$machineadm_name" || continue
    # A line within a value may look like a variable.
    eval "[ \\"\\\${$machineadm_name+is}\\" = is ]" || continue
    eval "machineadm_value=\\$$machineadm_name"
    printf '%s=' "$machineadm_name"
    machineadm_quote "$machineadm_value"
    printf '\\n'
  done <"$machineadm_directory/variables"
  export -p >| "$machineadm_directory/variables"
  machineadm_attributes export "$machineadm_directory/variables"
  readonly -p >| "$machineadm_directory/variables"
  machineadm_attributes readonly "$machineadm_directory/variables"
}
`,
};

/**
 * Words of entries that may be the names of functions or aliases: lines of `ENTRY WORD`, with the last entry that contains the
 * word. The last entries come first, so the driver stops reading at the entries that it has run.
 */
export function possibleFunctionNames(commands: readonly string[]): string {
  const last = new Map<string, number>();
  for (const [index, command] of [...commands.entries()].reverse())
    for (const word of command.match(/[A-Za-z_][\w.-]*/g) ?? []) if (!last.has(word)) last.set(word, index + 1);
  return [...last].map(([word, entry]) => `${entry} ${word}\n`).join('');
}
