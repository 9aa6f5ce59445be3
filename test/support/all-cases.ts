import { globSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { HOST_PARTS } from '@machineadm/document/host-parts/index.ts';
import { parse, stringify } from 'yaml';
import {
  authority,
  type Drifts,
  type DroppedField,
  type FeatureCases,
  FOLLOWS_CHANGE,
  NOT_A_STATE,
  RUN,
  type Staying,
  staying,
  type UndoDocument,
} from './feature-cases.ts';

const FEATURES = resolve(import.meta.dirname, '../unit/features');

/** What no feature has for itself. */
const OF_NONE: FeatureCases = {
  undo: {
    'a node of Kubernetes': staying(
      [
        'hostname: node-9',
        'kernelModules: [overlay, br_netfilter]',
        'sysctl: {net.ipv4.ip_forward: 1, vm.overcommit_memory: 1, kernel.panic: 10, kernel.panic_on_oops: 1}',
        'swap: Disabled',
        'time: {servers: [10.0.0.1, 10.0.0.2]}',
        'storage: {mounts: [{device: {path: /dev/vdb}, path: /srv/data}]}',
        'groups: [{name: etcd, gid: 998, system: true}]',
        'users: [{name: etcd, uid: 998, primaryGroup: etcd, system: true}, {name: ada, groups: [etcd], locked: false}]',
        'files: [{path: /srv/data/etcd/conf, content: x}, {path: /etc/hosts, content: "127.0.0.1 localhost node-9\\n"}]',
        'services: [{name: cron, enabled: false, state: Stopped}, {name: kubelet, enabled: true}]',
        authority('corp'),
      ].join('\n'),
      /hostname|cloud\.cfg\.d|fstab|mountinfo|^\/srv\/data |^\/sys\/module\/|^\/etc\/(?:group|passwd|shadow) /,
      /^\/srv\/data stays mounted/,
    ),
  },
  drifts: {
    'host.platform': { none: NOT_A_STATE },
    'host.rebootPolicy': { none: NOT_A_STATE },
    'host.prune': { none: NOT_A_STATE },
  },
  dropped: {
    'host.platform': RUN,
    'host.rebootPolicy': RUN,
    '**.restarts[]': FOLLOWS_CHANGE,
    '**.reloads[]': FOLLOWS_CHANGE,
    'host.prune': RUN,
  },
};

/** The cases of each feature that has some, by its folder. */
export const CASES: ReadonlyMap<string, FeatureCases> = new Map(
  await Promise.all(
    globSync('*/cases.ts', { cwd: FEATURES }).map(async (file) => {
      const { cases }: { readonly cases: FeatureCases } = await import(join(FEATURES, file));
      return [dirname(file), cases] as const;
    }),
  ),
);

/** In the order of the fields in a document. */
const ALL = [...CASES.values()].toSorted((a, b) => placeOf(a) - placeOf(b)).concat(OF_NONE);

function placeOf({ drifts }: FeatureCases): number {
  const [, part = ''] = /^host\.(\w+)/.exec(Object.keys(drifts)[0] ?? '') ?? [];
  const place = Object.keys(HOST_PARTS).indexOf(part);
  return place < 0 ? Number.POSITIVE_INFINITY : place;
}

/** Of all features, by field. */
export const DRIFTS: Readonly<Record<string, Drifts>> = Object.assign({}, ...ALL.map(({ drifts }) => drifts));
export const DROPPED: Readonly<Record<string, DroppedField>> = Object.assign({}, ...ALL.map(({ dropped }) => dropped));

const UNDO = ALL.flatMap(({ undo }) => Object.entries<UndoDocument>(undo));

/** Documents by what they ask for: every field, alone and together with others. */
export const UNDO_DOCUMENTS: Readonly<Record<string, string>> = Object.fromEntries(
  UNDO.map(([name, one]) => [name, typeof one === 'string' ? one : one.yaml]),
);

/** What stays of them once they are dropped. All else becomes again what it was. */
export const STAYS: Readonly<Record<string, Staying>> = Object.fromEntries(
  UNDO.flatMap(([name, one]) => (typeof one === 'string' ? [] : [[name, one.stays]])),
);

/** One document with every part of the host that leaves something on a machine, and the container runtime. */
export const EVERYTHING = stringify(
  ALL.reduce<Record<string, object>>((document, { everything = '{}' }) => {
    const found: Record<string, object> = parse(everything);
    const sections = 'host' in found || Object.keys(found).length === 0 ? found : { host: found };
    for (const [name, section] of Object.entries(sections)) document[name] = { ...document[name], ...section };
    return document;
  }, {}),
);
