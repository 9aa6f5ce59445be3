import * as z from 'zod';

interface TomlSection {
  [key: string]: TomlSection | string | number | boolean | (string | number | boolean | TomlSection)[];
}

const tomlScalar = z.union([z.string(), z.number(), z.boolean()]);
const tomlTable: z.ZodType<TomlSection> = z.lazy(() =>
  z.record(
    z.string(),
    z.union([tomlScalar, z.array(z.union([tomlScalar, tomlTable])), tomlTable], {
      error: 'expected a value that TOML has: a string, number, boolean, list or table',
    }),
  ),
);

export const containerRuntime = z.strictObject({
  containerd: z
    .strictObject({
      cgroupDriver: z.enum(['systemd', 'cgroupfs']).optional().describe('Default systemd. The kubelet gets the same.'),
      sandboxImage: z.string().min(1).optional().describe('The pause image; default: what containerd has.'),
      restrictOomScoreAdj: z
        .boolean()
        .optional()
        .describe('For machines whose containers may not lower oom_score_adj (nested machines).'),
      settings: tomlTable
        .optional()
        .describe('Any other containerd key, in the words of the containerd installed; merged last.'),
    })
    .describe('The whole of /etc/containerd/config.toml is managed; what was there is kept beside it.')
    .optional(),
});

export type ContainerRuntimeSection = z.infer<typeof containerRuntime>;
