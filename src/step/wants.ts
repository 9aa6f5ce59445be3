import { OWN_FILE_PREFIX, unitPath } from '@machineadm/document/ownership/paths.ts';
import { partsOf, type Resource } from '../host/seam/resource.ts';

/** What a document asks for, as the journal records it: without values, which may be secrets. */
export interface Asked {
  /** The version that recorded it: another one may fingerprint the same values differently. */
  readonly agent: string;
  readonly wishes: readonly RecordedWish[];
  readonly claims: readonly RecordedClaim[];
}

/** A `Wish` with the fingerprint of its value. */
export interface RecordedWish {
  readonly step: string;
  readonly key: string;
  /** Absent: any value will do. */
  readonly value?: string;
  readonly field: string;
  /** `node.yaml:7:3` */
  readonly place: string;
}

/** A `Claim` on a path. */
export interface RecordedClaim {
  readonly step: string;
  readonly kind: string;
  readonly path: string;
  /** A regular expression. */
  readonly names?: string;
  readonly field: string;
  readonly place: string;
}

/** Whether a document asks for a resource that a step changed first. */
export type Wants = (of: Resource | `hosts:${string}`, step: string) => boolean;

export const WANTS_NOTHING: Wants = () => false;

/**
 * Whether a document asks for a resource. Used for other documents than that of a run: what one of them still asks for
 * is neither removed nor restored, and belongs to it from then on.
 */
export function wantsOf({ wishes, claims }: Pick<Asked, 'wishes' | 'claims'>): Wants {
  const keys = new Set(wishes.map(({ key }) => key));
  const settings = wishes.flatMap(({ key }) =>
    key.startsWith('kernel:/proc/sys/') ? [setBy(key.slice('kernel:/proc/sys/'.length))] : [],
  );
  const authorities = wishes.flatMap(({ key }) =>
    key.startsWith('ca:') ? [`${OWN_FILE_PREFIX}${key.slice('ca:'.length)}-`] : [],
  );
  const paths = new Set<string>();
  const trees: string[] = [];
  const named = wishes.flatMap(({ key }) => (key.startsWith('path:') ? [key.slice('path:'.length)] : []));
  for (const path of [...named, ...claims.map((claim) => claim.path)])
    for (let at = path; at !== '' && !paths.has(at); at = at.slice(0, at.lastIndexOf('/'))) paths.add(at);
  for (const { kind, path } of claims) if (kind === 'tree') trees.push(path);
  for (const { key, step } of wishes) if (step === 'archives') trees.push(key.slice('path:'.length));
  return (of, step) => {
    if (keys.has(step)) return true;
    const { kind, name } = partsOf(of as Resource);
    if (kind === 'kernel') return settings.some((setting) => setting.test(name));
    if (kind === 'service' && (name === 'containerd' || name === 'kubelet') && keys.has('kubeadm')) return true;
    if (kind === 'service' && name === 'containerd' && keys.has('containerd')) return true;
    if (kind === 'service' && paths.has(unitPath(name))) return true;
    if (kind !== 'path' && kind !== 'attributes' && kind !== 'tree') return keys.has(of);
    // Who needs a directory for what is in it takes it with any mode.
    if (kind === 'attributes' && !trees.some((tree) => isAt(name, tree))) return keys.has(`path:${name}`);
    if (paths.has(name) || trees.some((tree) => isAt(name, tree))) return true;
    const file = name.slice(name.lastIndexOf('/') + 1);
    return step === 'certificate-authorities' && authorities.some((prefix) => file.startsWith(prefix));
  };
}

/** The settings that the kernel changes with one (`prior-states.ts` records them). */
export function setBy(key: string): RegExp {
  const setting = key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const [, family = '', leaf = ''] = /^(net\/ipv[46]\/conf)\/(?:all|default)\/([^/]+)$/.exec(key) ?? [];
  const isForwarding = /^net\/ipv4\/(?:ip_forward|conf\/all\/forwarding)$/.test(key);
  if (isForwarding) return new RegExp(`^/proc/sys/(?:${setting}|net/ipv4/conf/[^/]+/(?:forwarding|accept_redirects))$`);
  return new RegExp(`^/proc/sys/${leaf === '' ? setting : `${family}/[^/]+/${leaf}`}$`);
}

/** Whether a path is a directory, or something in it. */
export function isAt(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}
