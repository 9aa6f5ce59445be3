#!/usr/bin/env bash
# build-image-fresh.sh DIR: builds DIR/root, the root file system of a new machine: the required packages of Debian 12, and
# nothing else. `npm run test:fresh` runs the tests in a copy of it. Needs root. Takes about 1 minute.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-image-fresh.sh DIR}"); image=$dir/root

# Use the Debian mirror and the proxy of this machine's apt.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
  awk '$2=="bookworm" && $3=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian bookworm" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

rm -rf "$image"
echo "==> installing the required packages of Debian 12"
debootstrap --variant=minbase bookworm "$image" "$mirror"
# Every machine has this file; debootstrap writes none.
printf '127.0.0.1 localhost\n::1 localhost\n' > "$image/etc/hosts"
rm -rf "$image"/var/cache/apt/archives/*.deb "$image"/var/lib/apt/lists/*
echo "==> the machine image is complete"
