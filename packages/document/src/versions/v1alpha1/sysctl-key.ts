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
