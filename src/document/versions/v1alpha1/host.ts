import * as z from 'zod';
import { groups, users } from './accounts.ts';
import { activeDirectory } from './active-directory.ts';
import {
  allowInsecure,
  duration,
  environmentName,
  fileMode,
  hostname,
  httpUrl,
  machinePath,
  secret,
  sha256,
  WHOLE_OF_64_BITS,
  wholeOf64Bits,
} from './fields.ts';
import { storage } from './storage.ts';
import { certificateAuthorities, proxy, services, time } from './system.ts';

const hookFields = {
  shell: z.enum(['sh', 'bash', 'powershell', 'cmd']).optional().describe('Default sh; on Windows powershell.'),
  onError: z.enum(['Fail', 'Continue']).optional().describe('Default Fail: the first failing entry ends the run.'),
  timeout: duration.optional().describe('Of the whole group; default 10m. Its process group is killed then.'),
  commands: z
    .array(z.string().min(1, 'an empty command'))
    .min(1, 'a hook without commands')
    .describe('Run in order in one shell process; exports persist from one entry to the next.'),
  environment: z
    .record(environmentName, z.string().regex(/^[^\x00]*$/, 'a zero byte cannot be in the environment'))
    .optional()
    .describe('Environment variables of all entries. `${name}` in a value is replaced by a variable of the document.'),
  secrets: z
    .record(environmentName, z.strictObject({ secret: z.string() }))
    .optional()
    .describe(
      'Environment variables that hold the path of a file with the secret: mode 0600, in memory, removed after the hook.',
    ),
  expand: z
    .boolean()
    .optional()
    .describe(
      "Replace ${name} by variables in `commands`. Default false: such text is the shell's. A value with a character that a shell interprets is refused; use `environment` for such a value.",
    ),
};
const hookGroup = z.strictObject(hookFields);
const earlyHookGroup = z.strictObject({
  ...hookFields,
  frequency: z.enum(['Once', 'Always']).optional().describe('Default Once an instance. Always: at every boot.'),
});

const httpSource = z.strictObject({
  url: httpUrl,
  sha256: sha256.describe('Of the body: what comes over the network is checked.'),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'not the name of a header'), secret).optional(),
  allowInsecure,
});

const file = z.strictObject({
  path: machinePath,
  content: z.string().optional().describe('The content, byte for byte. Excludes contentFrom.'),
  contentFrom: z
    .union(
      [
        z.strictObject({ secret: z.string() }),
        z.strictObject({ file: machinePath }),
        z.strictObject({ http: httpSource }),
      ],
      { error: 'expected {secret: name}, {file: path} or {http: {url, sha256}}' },
    )
    .optional(),
  encoding: z.enum(['base64', 'gzip+base64']).optional().describe('How `content` is encoded in the document.'),
  mode: fileMode.optional().describe('Default "0644"; "0600" with content from a secret.'),
  owner: z
    .string()
    .regex(/^[A-Za-z0-9_.-]+(?::[A-Za-z0-9_.-]+)?$/, 'not an owner: write "user:group", "user" or numeric ids')
    .optional()
    .describe('Default root:root.'),
  directoryMode: fileMode.optional().describe('Of directories created above the file; default "0755".'),
  append: z
    .boolean()
    .optional()
    .describe('Add the content behind what the file has, once. Default false: it is the whole file.'),
  expand: z.boolean().optional().describe('Replace ${name} by variables in `content`. Default false.'),
});

export const host = z.strictObject({
  platform: z
    .enum(['Linux', 'Windows'])
    .optional()
    .describe('What the machine runs. Default Linux. On another one the document is refused.'),
  hostname: hostname.optional(),
  rebootPolicy: z
    .enum(['Never', 'IfRequired'])
    .optional()
    .describe('Whether the machine is rebooted where a change needs it, to go on behind that. Default IfRequired.'),
  kernelModules: z
    .array(z.string().regex(/^[A-Za-z0-9_-]+$/, 'not a module name'))
    .optional()
    .describe('Loaded now, and at every boot.'),
  sysctl: z
    .record(
      z.string().regex(/^[A-Za-z0-9_./-]+$/, 'not a sysctl key, such as net.ipv4.ip_forward'),
      z.union([z.string().regex(/^[^\n]+$/, 'a value may not hold a line break'), wholeOf64Bits], {
        error: WHOLE_OF_64_BITS,
      }),
    )
    .optional()
    .describe('Applied now, persisted, and read back.'),
  swap: z.enum(['Disabled', 'Unmanaged']).optional().describe('Default Unmanaged.'),
  storage: storage.optional(),
  groups: groups.optional(),
  users: users.optional(),
  files: z.array(file).optional(),
  time: time.optional(),
  proxy: proxy.optional(),
  certificateAuthorities: certificateAuthorities
    .optional()
    .describe("Trusted by the system, and by machineadm's own requests."),
  activeDirectory: activeDirectory.optional().describe('Makes the machine a member of an Active Directory domain.'),
  services: services.optional(),
  hooks: z
    .strictObject({
      early: earlyHookGroup.optional().describe('Before anything else is changed.'),
      beforeBootstrap: hookGroup.optional().describe('After the files under /run/kubeadm are laid; may edit them.'),
      afterBootstrap: hookGroup.optional().describe('After proven success, never after a failure.'),
    })
    .optional(),
});

export type HostSection = z.infer<typeof host>;
export type HookGroupSection = z.infer<typeof earlyHookGroup>;
export type FileSection = z.infer<typeof file>;
