#!/bin/sh
# light.sh [plan]: the light quick start, in the temporary copy of the machine that overlay.sh makes; with "plan" only the
# commands that change nothing. It prints each command and runs the real program.
cd "$(dirname "$0")" || exit 1
PATH=$PWD:$PATH
failed=0

title() { printf '\n== %s\n' "$1"; }

# expect STATUS COMMAND...: prints a command, runs it, and reports an unexpected exit status
expect() {
  wanted=$1
  shift
  printf '$ %s\n' "$*"
  status=0
  "$@" || status=$?
  if [ "$status" -ne "$wanted" ]; then
    printf 'quickstart: this should have ended with exit code %s, not %s\n' "$wanted" "$status"
    failed=1
  fi
}

title 'The document: what this machine should be (its host half)'
cat light.yaml
title 'Is it valid?'
expect 0 machineadm validate -f light.yaml
title 'What would it change? (changes nothing)'
expect 0 machineadm plan -f light.yaml
[ "${1:-}" = plan ] && exit "$failed"
title 'Do it'
expect 0 machineadm provision -f light.yaml
title 'How did it go?'
expect 0 machineadm status
expect 0 machineadm timeline
title 'The same again: nothing is left to change'
expect 0 machineadm provision -f light.yaml
title 'What a mistake looks like: a kernel setting that does not exist. Nothing is changed (exit code 4)'
expect 4 machineadm provision -f failing.yaml
exit "$failed"
