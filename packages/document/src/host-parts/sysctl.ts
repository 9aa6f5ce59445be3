import type { Finding } from '../diagnostics/index.ts';
import { WHOLE_OF_64_BITS, wholeOf64Bits } from '../fields/types.ts';
import { dropInPath } from '../ownership/drop-ins.ts';
import * as z from '../schema/zod.ts';
import { wholeNumber } from '../values/verbatim.ts';
import { claimsOn, hostPart } from './part.ts';

export interface SysctlSetting {
  /** Slash form below /proc/sys: `net/ipv4/conf/eth0.100/rp_filter`. */
  readonly key: string;
  readonly value: string;
  /** True: a kernel that has no such key is left without. */
  readonly optional?: boolean;
}

export const sysctl = hostPart({
  description:
    'Kernel parameters by name, with "." or "/" as separator. They are set now and at every boot, and read back.',
  default: {},
  changes:
    '`/etc/sysctl.d/99-zzz-machineadm-NAME.conf`, with the name of the document, and the parameters of the running kernel',
  example: { 'net.ipv4.ip_forward': 1 },
  linuxOnly: 'these are settings of the Linux kernel',
  schema: z.record(
    z.string().regex(/^[A-Za-z0-9_./-]+$/, 'not a sysctl key, such as net.ipv4.ip_forward'),
    z.union([z.string().regex(/^[^\n]+$/, 'a value must not contain a line break'), wholeOf64Bits], {
      error: WHOLE_OF_64_BITS,
    }),
  ),
  toModel: (section = {}): readonly SysctlSetting[] =>
    Object.entries(section).map(([key, value]) => ({
      key: canonicalSysctlKey(key),
      value: typeof value === 'string' ? value : (wholeNumber(String(value)) ?? value).toString(),
    })),
  claims: (settings, document) =>
    settings.length === 0 ? [] : claimsOn('sysctl', [], 'file', dropInPath('sysctl', document)),
  check(section) {
    const findings: Finding[] = [];
    const keys = new Map<string, string>();
    for (const key of Object.keys(section)) {
      const canonical = canonicalSysctlKey(key);
      const first = keys.get(canonical);
      if (first !== undefined) {
        const message = `the same key as "${first}", in another spelling`;
        findings.push({ code: 'Duplicate', path: [key], key, message, hint: 'keep one of them' });
      }
      keys.set(canonical, key);
      if (canonical.split('/').some((part) => part === '' || part === '.' || part === '..')) {
        findings.push({ path: [key], key, message: 'a key must contain neither ".." nor an empty part' });
      }
    }
    return findings;
  },
});

/**
 * The path below /proc/sys of a sysctl key in either spelling. The first `.` or `/` decides which is the separator, and
 * the other then stands for itself, as sysctl.d(5) has it: `net.ipv4.conf.eth0/100.rp_filter` and
 * `net/ipv4/conf/eth0.100/rp_filter` are the same key.
 */
export function canonicalSysctlKey(key: string): string {
  const first = /[./]/.exec(key)?.[0];
  if (first !== '.') return key;
  return key.replace(/[./]/g, (character) => (character === '.' ? '/' : '.'));
}
