import * as z from 'zod';
import { SIZE_PATTERN } from '../../units.ts';
import { absolutePath } from './fields.ts';
import { registries } from './registries.ts';
import { tomlTable } from './toml.ts';

/** `containerRuntime.containerd`. */

/** RuntimeClass handlers are DNS labels (k8s.io/api node/v1 types.go, RuntimeClass.Handler). */
const handler = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'not the name of a handler: lower-case letters, digits and "-"');

/** containerd pkg/identifiers/validate.go */
const snapshotter = z.string().regex(/^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/, 'not the name of a snapshotter');

const LINE_SIZE = 'expected a size with its unit, such as "16Ki", or Unlimited';

const annotations = z.array(z.string().regex(/^[A-Za-z0-9./*_-]+$/, 'not the pattern of an annotation')).optional();

const runtime = z.strictObject({
  type: z
    .string()
    .regex(/^[a-z0-9]+(?:\.[a-z0-9-]+)*\.v\d+$/, 'not the type of a shim, such as io.containerd.runc.v2')
    .optional(),
  binary: z
    .union([absolutePath, z.string().regex(/^[A-Za-z0-9._-]+$/, 'neither a path nor the name of a program')])
    .optional(),
  optional: z.boolean().optional(),
  path: absolutePath.optional(),
  root: absolutePath.optional(),
  podAnnotations: annotations,
  containerAnnotations: annotations,
  privilegedWithoutHostDevices: z.boolean().optional(),
  baseSpec: absolutePath.optional(),
  snapshotter: snapshotter.optional(),
  options: tomlTable.optional(),
});

export const containerd = z.strictObject({
  mode: z.enum(['Managed', 'Merge']).optional(),
  cgroupDriver: z.enum(['systemd', 'cgroupfs']).optional(),
  sandboxImage: z.string().min(1).optional(),
  snapshotter: snapshotter.optional(),
  discardUnpackedLayers: z.boolean().optional(),
  maxContainerLogLineSize: z
    .string({ error: LINE_SIZE })
    .regex(new RegExp(`^Unlimited$|${SIZE_PATTERN.source}`), LINE_SIZE)
    .optional(),
  restrictOomScoreAdj: z.boolean().optional(),
  cdi: z
    .strictObject({
      enabled: z.boolean().optional(),
      specDirectories: z.array(absolutePath).min(1).optional(),
    })
    .optional(),
  cni: z
    .strictObject({
      binaryDirectories: z.array(absolutePath).min(1).optional(),
      configurationDirectory: absolutePath.optional(),
    })
    .optional(),
  root: absolutePath.optional(),
  state: absolutePath.optional(),
  defaultRuntime: handler.optional(),
  runtimes: z.record(handler, runtime).optional(),
  registries: registries.optional(),
  settings: tomlTable.optional(),
});

export type ContainerdSection = z.infer<typeof containerd>;
export type RuntimeSection = z.infer<typeof runtime>;
