import type { TimeSection } from '@machineadm/document/host-parts/time.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Spec } from '../spec/spec.ts';

/** `host.time`. cloud-init installs a missing client (cloudinit/config/cc_ntp.py); here the image must contain one. */
export function convertTime({ time }: Spec, { report, platform }: Conversion): TimeSection | undefined {
  if (time === undefined) return undefined;
  if (!time.enabled) {
    if (time.servers.length > 0) report.add('WithoutEffect', time.at, 'servers beside enabled: false');
    return { enabled: false };
  }
  if (platform === 'Linux')
    report.add('TimeServiceNotInstalled', time.at, 'chrony, systemd-timesyncd or ntpd must be in the image');
  return { enabled: true, servers: time.servers.length === 0 ? undefined : [...time.servers] };
}
