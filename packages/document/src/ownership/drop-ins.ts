/**
 * Drop-ins of documents in directories whose files the system merges. Each document has a file of its own there, so that
 * parts come and go with their documents. The files of an image are read first: a document of the machine overrides them.
 */

/** Of a model: the document, and whether it is applied to an image. */
export interface DocumentName {
  readonly metadata: { readonly name: string };
  readonly ofImage?: true;
}

interface Place {
  readonly directory: string;
  /** The beginnings of the file names, which decide the order. */
  readonly image: string;
  readonly document: string;
}

const PLACES = {
  /** `zz` sorts after the usual 99-*.conf, `/etc/sysctl.d/99-sysctl.conf` among them. */
  sysctl: { directory: '/etc/sysctl.d', image: '99-zz-machineadm', document: '99-zzz-machineadm' },
  modules: { directory: '/etc/modules-load.d', image: '90-machineadm', document: '91-machineadm' },
  /** systemd-system.conf(5). */
  serviceLimits: {
    directory: '/etc/systemd/system.conf.d',
    image: '90-machineadm-limits',
    document: '91-machineadm-limits',
  },
  /** limits.conf(5), read by pam_limits. */
  sessionLimits: { directory: '/etc/security/limits.d', image: '90-machineadm', document: '91-machineadm' },
} as const satisfies Readonly<Record<string, Place>>;

export type DropInKind = keyof typeof PLACES;

/** The drop-in of a document. */
export function dropInPath(kind: DropInKind, document: DocumentName): string {
  const { directory, image, document: ofDocument } = PLACES[kind];
  const label = fileLabel(document.metadata.name);
  return `${directory}/${document.ofImage === true ? image : ofDocument}${label === '' ? '' : `-${label}`}.conf`;
}

/**
 * The directory of the drop-ins, the file name that earlier versions used, and whether a file name is that of an image or
 * of an earlier version.
 */
export function imageDropIns(kind: DropInKind): {
  readonly directory: string;
  readonly earlier: string;
  isOne(name: string): boolean;
} {
  const { directory, image } = PLACES[kind];
  return {
    directory,
    earlier: `${image}.conf`,
    isOne: (name) => name === `${image}.conf` || (name.startsWith(`${image}-`) && name.endsWith('.conf')),
  };
}

/** The longest label, so that a file name stays below 255 bytes. */
const LONGEST = 180;

/** The name of a document as a part of a file name: as it is where possible, else with a number that keeps names apart. */
export function fileLabel(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, LONGEST);
  return plain === name ? name : `${plain}-${fnv1a(name)}`;
}

/** FNV-1a of 32 bits, in hexadecimal. */
function fnv1a(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
