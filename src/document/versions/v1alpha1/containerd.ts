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
    .optional()
    .describe('Default: by the name; io.containerd.runc.v2 for runc, crun, nvidia and what is not known.'),
  binary: z
    .union([absolutePath, z.string().regex(/^[A-Za-z0-9._-]+$/, 'neither a path nor the name of a program')])
    .optional()
    .describe('The OCI runtime behind the shim of runc. Default: by the name (crun, nvidia).'),
  optional: z
    .boolean()
    .optional()
    .describe('Its program may be installed later. Default false: a missing program ends the run before any change.'),
  path: absolutePath.optional().describe("The shim, where it is not on containerd's PATH."),
  root: absolutePath.optional().describe('Where the OCI runtime keeps its state.'),
  podAnnotations: annotations.describe('Annotations of pods that are handed to the runtime; a pattern may end in *.'),
  containerAnnotations: annotations,
  privilegedWithoutHostDevices: z.boolean().optional(),
  baseSpec: absolutePath.optional().describe('An OCI runtime specification (JSON) that containers begin with.'),
  snapshotter: snapshotter.optional().describe('Of this runtime alone; needs containerd 1.7.'),
  options: tomlTable.optional().describe('Further options of the shim, in its own words.'),
});

export const containerd = z
  .strictObject({
    mode: z
      .enum(['Managed', 'Merge'])
      .optional()
      .describe('Managed (default): the whole file is ours. Merge: into what is there. A backup is kept either way.'),
    cgroupDriver: z.enum(['systemd', 'cgroupfs']).optional().describe('Default systemd. The kubelet gets the same.'),
    sandboxImage: z.string().min(1).optional().describe('The pause image; default: what containerd has.'),
    snapshotter: snapshotter.optional().describe("Default: containerd's, overlayfs."),
    discardUnpackedLayers: z.boolean().optional().describe('Drop compressed layers once they are unpacked.'),
    maxContainerLogLineSize: z
      .string({ error: LINE_SIZE })
      .regex(new RegExp(`^Unlimited$|${SIZE_PATTERN.source}`), LINE_SIZE)
      .optional()
      .describe('Longer lines of containers are split. Default 16Ki.'),
    restrictOomScoreAdj: z
      .boolean()
      .optional()
      .describe('For machines whose containers may not lower oom_score_adj (nested machines).'),
    cdi: z
      .strictObject({
        enabled: z.boolean().optional().describe('Default true.'),
        specDirectories: z.array(absolutePath).min(1).optional().describe('Default /etc/cdi and /var/run/cdi.'),
      })
      .optional()
      .describe('Devices by the Container Device Interface; needs containerd 1.7, and is on from 2.0 on.'),
    cni: z
      .strictObject({
        binaryDirectories: z
          .array(absolutePath)
          .min(1)
          .optional()
          .describe('Where plug-ins are; more than one needs containerd 2.1.'),
        configurationDirectory: absolutePath.optional(),
      })
      .optional()
      .describe('Default: what the file found says, else what containerd was built with.'),
    root: absolutePath.optional().describe('Where images and containers are kept. Default: as found.'),
    state: absolutePath.optional().describe('Where state is kept that a reboot empties. Default: as found.'),
    defaultRuntime: handler.optional().describe('Default runc.'),
    runtimes: z
      .record(handler, runtime)
      .optional()
      .describe('By the name that a RuntimeClass gives; runc is always there.'),
    registries: registries.optional().describe('One hosts.toml each. One that is no longer named is removed.'),
    settings: tomlTable
      .optional()
      .describe('Any other containerd key, in the words of the containerd installed; merged last.'),
  })
  .describe('/etc/containerd/config.toml and certs.d; what was there is kept beside it.');

export type ContainerdSection = z.infer<typeof containerd>;
export type RuntimeSection = z.infer<typeof runtime>;
