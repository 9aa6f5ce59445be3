#!/usr/bin/env bash
# build-wine.sh DIR: builds DIR/root, a minimal Debian 13 with Wine 10, and in it the Wine prefix /prefix. (Debian 12's
# Wine 8 cannot run Node 24: "Fatal process out of memory: SegmentedTable::InitializeTable".) Needs root. Takes about
# 1 minute and 2 GB.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-wine.sh DIR}")
root=$dir/root

# Use the Debian mirror and the proxy of this machine's apt.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' | awk '$2=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

rm -rf "$root"
echo "==> installing Debian trixie and its Wine"
debootstrap --variant=minbase --include=wine64,wine trixie "$root" "$mirror"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
echo "==> creating the Wine prefix"
mkdir "$root/prefix" "$dir/io"
sh "$(dirname "$0")/run-in-wine.sh" "$root" "$dir/io" - wineboot -i
[ -e "$root/prefix/drive_c/windows/system32/kernel32.dll" ] || { cat "$dir/io/err" >&2; exit 1; }
rm -r "$dir/io"
echo "==> Wine is complete"
