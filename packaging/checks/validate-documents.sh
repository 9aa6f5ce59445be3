#!/bin/sh
# Validates every bootstrap document among the files and directories of the arguments, each by itself. Other YAML files are
# ignored. The pre-commit hook and the GitHub Action run it. Exits with 0 if all documents are valid, otherwise with the exit
# code of machineadm for the last one that is not.
set -u

if ! command -v machineadm >/dev/null; then
  echo 'validate-documents.sh: machineadm is not in PATH: install it in an earlier step' >&2
  exit 127
fi
if [ $# = 0 ]; then
  echo 'usage: validate-documents.sh FILE|DIRECTORY...' >&2
  exit 2
fi
for path; do
  [ -e "$path" ] || { echo "validate-documents.sh: no such file or directory: $path" >&2; exit 2; }
done

list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
status=0
for path; do
  # find takes a path that starts with a hyphen for an option.
  case $path in -*) path=./$path ;; esac
  find "$path" -name .git -prune -o -type f \( -name '*.yaml' -o -name '*.yml' \) -print || status=1
done >"$list"

while IFS= read -r file; do
  grep -qE "^apiVersion: *[\"']?machineadm\.dev/" "$file"
  case $? in
    0) machineadm validate -f "$file" </dev/null || status=$? ;;
    1) ;;
    *) status=1 ;; # grep printed why it could not read the file
  esac
done <"$list"
exit "$status"
