/**
 * Permissions of a file, converted between mode and owner and Windows' security descriptor in its string form (SDDL:
 * learn.microsoft.com, "Security Descriptor String Format").
 * The system (SY) and the administrators (BA) have full access to every file, like root. So only a mode's bits for
 * others are converted: they apply to the local users (BU).
 */

/** Principals that have access anyway: they can take any right. TrustedInstaller owns the files of Windows. */
const PRIVILEGED: ReadonlySet<string> = new Set([
  'SY',
  'BA',
  'S-1-5-18',
  'S-1-5-32-544',
  'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464',
]);
/** CREATOR OWNER: says nothing about the directory itself. OWNER RIGHTS: of a privileged owner. */
const NOBODY: ReadonlySet<string> = new Set(['CO', 'CG', 'OW', 'S-1-3-0', 'S-1-3-1', 'S-1-3-4']);

/** winnt.h constants, with their SDDL names. */
const RIGHTS: Readonly<Record<string, number>> = {
  FA: 0x1f01ff,
  FR: 0x120089,
  FW: 0x120116,
  FX: 0x1200a0,
  GA: 0x1f01ff,
  GR: 0x120089,
  GW: 0x120116,
  GX: 0x1200a0,
  CC: 0x1,
  DC: 0x2,
  LC: 0x4,
  SW: 0x8,
  RP: 0x10,
  WP: 0x20,
  DT: 0x40,
  LO: 0x80,
  CR: 0x100,
  SD: 0x10000,
  RC: 0x20000,
  WD: 0x40000,
  WO: 0x80000,
};

const READ_DATA = 0x1;
/** FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_DELETE_CHILD, DELETE, WRITE_DAC, WRITE_OWNER. */
const ANY_WRITE = 0x2 | 0x4 | 0x40 | 0x10000 | 0x40000 | 0x80000;
const EXECUTE = 0x20;

/**
 * The descriptor of a file or directory with this mode: owned by the administrators, without inheritance, and open to
 * local users as far as the mode is to others.
 */
export function descriptorOf(mode: number, type: 'file' | 'directory'): string {
  const flags = type === 'directory' ? 'OICI' : '';
  const aces = [`(A;${flags};FA;;;SY)`, `(A;${flags};FA;;;BA)`];
  const others = mode & 0o7;
  const rights = (others & 4 ? 0x120089 : 0) | (others & 2 ? 0x120116 | 0x10000 : 0) | (others & 1 ? 0x1200a0 : 0);
  if (rights !== 0) aces.push(`(A;${flags};0x${rights.toString(16)};;;BU)`);
  return `O:BAG:SYD:PAI${aces.join('')}`;
}

/**
 * The mode that corresponds to a descriptor: the bits for others in each class, so that 0600, 0644 and 0755 are
 * preserved, and anything wider is visible. A missing or unreadable descriptor (full access for all) is 0777.
 */
export function modeOf(descriptor: string, type: 'file' | 'directory'): number {
  const list = /D:([A-Z]*)((?:\([^)]{0,1000}\))*)/.exec(descriptor);
  // NO_ACCESS_CONTROL: a null DACL.
  if (list === null || /NO_ACCESS_CONTROL/.test(descriptor)) return 0o777;
  let rights = 0;
  for (const [, ace = ''] of (list[2] ?? '').matchAll(/\(([^)]{0,1000})\)/g)) {
    const [kind, flags = '', given = '', , , account = ''] = ace.split(';');
    // Denials only restrict; object and conditional entries (OA, XA) count with the most that they allow.
    if (kind === 'D' || kind === 'OD' || kind === 'XD') continue;
    if (PRIVILEGED.has(account) || NOBODY.has(account)) continue;
    if (inheritOnly(flags)) continue;
    rights |= mask(given);
  }
  const others = (rights & READ_DATA ? 4 : 0) | (rights & ANY_WRITE ? 2 : 0) | (rights & EXECUTE ? 1 : 0);
  const own = type === 'directory' || others & 1 ? 7 : 6;
  return (own << 6) | (others << 3) | others;
}

/** The owner as a number: 0 for the system and administrators, otherwise the last part of the owner's SID. */
export function ownerOf(descriptor: string): number {
  const owner = /O:(S-[0-9-]+|[A-Z]{2})/.exec(descriptor)?.[1];
  if (owner === undefined) return -1;
  if (PRIVILEGED.has(owner)) return 0;
  const last = /-(\d+)$/.exec(owner)?.[1];
  return last === undefined ? -1 : Number(last);
}

function inheritOnly(flags: string): boolean {
  const letters: readonly string[] = flags.match(/../g) ?? [];
  return letters.includes('IO');
}

function mask(rights: string): number {
  if (/^0x[0-9a-f]+$/i.test(rights)) return Number(rights);
  if (/^\d+$/.test(rights)) return Number(rights);
  let sum = 0;
  for (const right of rights.match(/../g) ?? []) sum |= RIGHTS[right] ?? 0x1f01ff;
  return sum;
}
