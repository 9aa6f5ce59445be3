#!/bin/sh
# Gives one machine the right to download from release-mirror.yaml, and prints the file with its credential: user data lays
# it on the machine, 0600, and the download script sends it to this one location.
#
#   mint-download-credential.sh --namespace machineadm-system --machine prod-a-md-0-x7k2p > credential
#   mint-download-credential.sh --namespace machineadm-system --machine prod-a-md-0-x7k2p --revoke
#
# Needs kubectl (1.20 or later) with the context of the management cluster, and openssl. The kubelet brings a change to
# the mirror within a minute or two.
set -eu
umask 077

usage() {
	echo "usage: $0 --namespace NAMESPACE --machine MACHINE [--revoke]" >&2
	exit 2
}

namespace='' machine='' revoke=false
while [ $# -gt 0 ]; do
	case $1 in
	--revoke) revoke=true; shift; continue ;;
	--namespace | --machine) [ $# -ge 2 ] || usage ;;
	*) usage ;;
	esac
	case $1 in
	--namespace) namespace=$2 ;;
	--machine) machine=$2 ;;
	esac
	shift 2
done
# The names become keys of a Secret and part of a path: nothing but names may be in them (RFC 1123).
for name in "$namespace" "$machine"; do
	case $name in '' | *[!a-z0-9.-]* | [.-]* | *[.-] | *..*) usage ;; esac
done

change() {
	kubectl patch secret release-mirror-credentials --namespace "$namespace" --type merge --patch-file /dev/stdin >&2
}

if $revoke; then
	printf '{"data":{"%s":null}}' "$machine" | change
	exit
fi
password=$(openssl rand -hex 32)
# The mirror keeps what it compares with, not what is sent (crypt(5), sha256crypt).
hash=$(printf '%s' "$password" | openssl passwd -5 -stdin)
printf '{"stringData":{"%s":"%s:%s\\n"}}' "$machine" "$machine" "$hash" | change
printf 'Authorization: Basic %s\n' "$(printf '%s:%s' "$machine" "$password" | base64 | tr -d '\n')"
