import type { ObservedLine } from './observed-line.ts';

/** What only logs of Windows hold: named pipes, drives, errors of Winsock, the Service Control Manager. */
const SIGNS = /npipe:|\\\\\.\\pipe|\b[A-Z]:\\|connectex: |\.exe\b|Service Control Manager|not supported on Windows/;

/** Whether the lines are of a Windows machine. */
export function isOfWindows(lines: readonly ObservedLine[]): boolean {
  return lines.some(({ origin, text }) => SIGNS.test(text) || SIGNS.test(origin));
}

/** Commands and files of Linux that remedies name, and what Windows has instead. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [/`journalctl -u kubelet`/g, '`Get-Content C:\\var\\log\\kubelet\\*.log -Tail 100`'],
  [/`journalctl -u containerd`/g, '`Get-WinEvent -LogName Application -MaxEvents 100`'],
  [/`systemctl is-active kubelet`/g, '`Get-Service kubelet`'],
  [
    /`systemctl unmask (\w+)(?: && systemctl start \w+)?`/g,
    '`Set-Service $1 -StartupType Automatic; Start-Service $1`',
  ],
  [/`systemctl start (\w+)`/g, '`Start-Service $1`'],
  [/`systemctl status (\w+)`/g, '`Get-Service $1 | Format-List *`'],
  [/`systemctl reset-failed kubelet`/g, '`Restart-Service kubelet`'],
  [/, (?:then )?run `systemctl daemon-reload`/g, ''],
  [/`ss -ltnp(?: \| grep (\d+))?`/g, '`Get-NetTCPConnection -State Listen`'],
  [/`curl (-\w+) (\S+)`/g, '`curl.exe $1 $2`'],
  [
    /`nft list ruleset`(?:, `iptables -S`)?|`iptables -S`(?:, `nft list ruleset`)?/g,
    '`Get-NetFirewallRule -Enabled True`',
  ],
  [/`ip -brief address`/g, '`Get-NetIPAddress`'],
  [/`ip route get`/g, '`Find-NetRoute`'],
  [/`getent ahosts localhost`/g, '`Resolve-DnsName localhost`'],
  [/`mv (\S+) (\S+)`/g, '`Rename-Item $1 $2`'],
  [/\(chrony, systemd-timesyncd\)/g, '(`w32tm /resync`)'],
  [/\/etc\/hosts/g, 'C:\\Windows\\System32\\drivers\\etc\\hosts'],
  [/\/etc\/containerd\/config\.toml/g, 'C:\\Program Files\\containerd\\config.toml'],
  [/the kubelet's unit/g, "the kubelet's service"],
];

/** A remedy with the commands of Windows. */
export function forWindows(remedy: string): string {
  return INSTEAD.reduce((text, [linux, windows]) => text.replace(linux, windows), remedy);
}
