#!/usr/bin/env bash
# ignition.sh ROOT IGNITION LAYER CONFIG: runs the stages fetch and files of Ignition (Debian's, in the layer IGNITION over
# the machine image ROOT) for a machine whose own layer is LAYER, in a mount namespace. What it writes stays in LAYER.
set -euo pipefail
root=$1 ignition=$2 layer=$3 config=$4
if [ "${5:-}" != inside ]; then
  exec unshare --mount --propagation private bash "$0" "$root" "$ignition" "$layer" "$config" inside
fi
work=$(mktemp -d "$(dirname "$layer")/ignition.XXXXXX")
mkdir "$work"/{tool,tool-upper,tool-work,policy,sysroot-work}
# Ignition relabels what it wrote and needs an SELinux policy and setfiles(8) for that; Debian has neither. These are not
# the machine's: they lie below its layer, and stay here.
mkdir -p "$work/policy/etc/selinux/targeted/contexts/files"
printf 'SELINUX=disabled\nSELINUXTYPE=targeted\n' > "$work/policy/etc/selinux/config"
: > "$work/policy/etc/selinux/targeted/contexts/files/file_contexts"
mkdir -p "$work/tool-upper"/{sysroot,in,usr/sbin}
printf '#!/bin/sh\nexit 0\n' > "$work/tool-upper/usr/sbin/setfiles"
chmod 0755 "$work/tool-upper/usr/sbin/setfiles"
cp "$config" "$work/tool-upper/in/config.ign"
mount -t overlay overlay -o "lowerdir=$ignition:$root,upperdir=$work/tool-upper,workdir=$work/tool-work" "$work/tool"
# At /sysroot the root of the machine as it will boot.
mount -t overlay overlay -o "lowerdir=$work/policy:$root,upperdir=$layer,workdir=$work/sysroot-work" "$work/tool/sysroot"
mount -t proc proc "$work/tool/proc"
mount -t tmpfs tmpfs "$work/tool/run"
status=0
for stage in fetch files; do
  chroot "$work/tool" env IGNITION_CONFIG_FILE=/in/config.ign PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /usr/lib/dracut/modules.d/30ignition/ignition --platform file --stage "$stage" --root /sysroot \
    --config-cache /run/ignition.json --log-to-stdout || { status=$?; break; }
done
umount -R "$work/tool"
rm -rf "$work"
exit "$status"
