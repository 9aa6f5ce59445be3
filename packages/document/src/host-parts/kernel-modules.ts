import { dropInPath } from '../ownership/drop-ins.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart } from './part.ts';

export const kernelModules = hostPart({
  description: 'Kernel modules that are loaded now and at every boot.',
  default: [],
  changes:
    '`/etc/modules-load.d/91-machineadm-NAME.conf`, with the name of the document, and the modules that the kernel has loaded',
  example: ['overlay', 'br_netfilter'],
  linuxOnly: 'Windows loads its drivers itself',
  schema: z.array(z.string().regex(/^[A-Za-z0-9_-]+$/, 'not a module name')),
  toModel: (names = []): readonly string[] => [...new Set(names.map((name) => name.replaceAll('-', '_')))],
  claims: (names, document) =>
    names.length === 0 ? [] : claimsOn('kernel-modules', [], 'file', dropInPath('modules', document)),
});
