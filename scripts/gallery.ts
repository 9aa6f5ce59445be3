/**
 * `npm run gallery`: pictures of the command line in `docs/gallery`, captured from tmux in three widths, light and dark. Run
 * it as root on Linux: each command runs in a mount namespace of its own, and the machine is not changed.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { exampleDocument } from '@machineadm/document/index.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { withChecksum } from '../src/host/files/checksum.ts';
import { ownProcess } from '../src/host/processes/identity.ts';
import { FAILED } from '../test/support/pages.ts';
import { Terminal } from '../test/support/terminal.ts';
import { PALETTES, terminalSvg } from './gallery/terminal-svg.ts';
import { readOptions } from './options.ts';

const ROOT = resolve(import.meta.dirname, '..');
export const WIDTHS = [60, 80, 120] as const;
const ROWS = 200;
/** Printed after the command exits. */
const END = '-- end of the scene --';

interface Scene {
  readonly title: string;
  /** The command line, which runs in the directory with the documents. */
  readonly command: string;
  /** The status file of the machine; default: a run that failed. */
  readonly status?: string;
  /** For a command that does not end: it is captured when this text is on the screen. */
  readonly until?: string;
}

/** By the base name of their files. */
export const SCENES: Readonly<Record<string, Scene>> = {
  help: { title: 'The commands in groups', command: 'machineadm help' },
  explain: { title: 'What a field is for', command: 'machineadm explain kubernetes.ready' },
  validate: { title: 'Mistakes of a document, with their places', command: 'machineadm validate mistakes.yaml' },
  plan: { title: 'What a run would change', command: 'machineadm plan host.yaml' },
  watch: {
    title: 'A run as it goes, as provision shows it too',
    command: 'machineadm status --wait',
    status: 'running.json',
    until: 'waiting for',
  },
  status: { title: 'A run that failed', command: 'machineadm status' },
  timeline: { title: 'Where the time went', command: 'machineadm timeline' },
  diagnose: { title: 'The cause of a failure, from a saved log', command: 'machineadm diagnose kubeadm.log' },
};

const MISTAKES = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
host:
  hostname: Node_1
  swop: Disabled
kubernetes:
  version: v1.35.2
  role: Workr
`;
const HOST = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
host:
  hostname: node-1
  sysctl:
    net.ipv4.ip_forward: 1
  files:
    - path: /etc/motd.d/machineadm
      content: |
        This machine is managed by machineadm.
`;

/** One capture: the screen as plain text, and with its SGR sequences. */
export interface Capture {
  readonly text: string;
  readonly styled: string;
  /** Lines that the terminal had to wrap. */
  readonly wrapped: readonly string[];
}

/** Runs a scene in a terminal with this number of columns and captures the screen. */
export async function capture(
  { command, status = 'status.json', until = END }: Scene,
  columns: number,
  directory: string,
): Promise<Capture> {
  // A tmpfs hides the status of this machine and holds the status of the scene. `sleep` keeps the terminal open.
  const script = `mount -t tmpfs tmpfs /run && mkdir -m 755 /run/machineadm && install -m 640 "$2" /run/machineadm/status.json && printf '$ %s\\n' "$1" && eval "$1"; echo '${END}'; exec sleep 3600`;
  const shell = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', command, status];
  const env = { PATH: `${join(directory, 'bin')}:/usr/sbin:/usr/bin:/sbin:/bin`, TERM: 'screen-256color' };
  await using terminal = new Terminal({ command: shell, columns, rows: ROWS, cwd: directory, env });
  const text = await terminal.until((screen) => screen.includes(until));
  const end = (screen: string): string => (until === END ? screen.slice(0, screen.lastIndexOf(END)) : screen).trim();
  const joined = end(terminal.screen({ isJoined: true })).split('\n');
  return {
    text: end(text),
    styled: end(terminal.screen({ isStyled: true })),
    wrapped: joined.filter((line) => line.length > columns),
  };
}

/** Makes a directory with the files of all scenes. The caller removes it. */
export function prepareScenes(): string {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-gallery-'));
  mkdirSync(join(directory, 'bin'));
  const main = process.env.AGENT_UNDER_TEST ?? join(ROOT, 'src/main.ts');
  writeFileSync(join(directory, 'bin/machineadm'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(join(directory, 'bin/machineadm'), 0o755);
  const files = {
    'bootstrap.yaml': exampleDocument('Worker'),
    'mistakes.yaml': MISTAKES,
    'host.yaml': HOST,
    'status.json': `${withChecksum(JSON.stringify(FAILED))}\n`,
    'running.json': `${withChecksum(JSON.stringify(running()))}\n`,
    'kubeadm.log': readFileSync(join(ROOT, 'test/fixtures/transcripts/10-join-wrong-ca-hash.log'), 'utf8'),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content, { mode: 0o600 });
  return directory;
}

/** The status of a run that is in progress, with this process as its process. */
function running(): RunStatus {
  const startedAt = new Date(Date.now() - 73_000).toISOString();
  const steps = ['hostname', 'sysctl', 'containerd', 'kubeadm', 'readiness', 'sentinel'].map(
    (id, index): RunStatus['steps'][number] => ({
      id,
      state: (['Unchanged', 'Succeeded', 'Succeeded', 'Running'] as const)[index] ?? 'Pending',
      changes: index === 1 ? ['a', 'b'] : index === 2 ? ['c'] : [],
      ...(index < 3 ? { durationMs: 1000 * index * index + 40 } : {}),
      ...(index === 3 ? { startedAt: new Date(Date.now() - 41_000).toISOString() } : {}),
    }),
  );
  const { outcome: _, exitCode: __, failure: ___, ...base } = FAILED;
  return {
    ...base,
    host: { ...base.host, bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() },
    process: ownProcess(),
    phase: 'Kubernetes',
    step: 'kubeadm',
    waitingFor: 'kubeadm join',
    startedAt,
    warnings: [],
    steps,
  };
}

/** Writes all pictures and returns their file names. */
async function writeGallery(target: string, widths: readonly number[] = WIDTHS): Promise<readonly string[]> {
  const directory = prepareScenes();
  const written: string[] = [];
  mkdirSync(target, { recursive: true });
  try {
    for (const [name, scene] of Object.entries(SCENES)) {
      for (const columns of widths) {
        const { styled } = await capture(scene, columns, directory);
        for (const [theme, palette] of Object.entries(PALETTES)) {
          const file = `${name}-${columns}-${theme}.svg`;
          writeFileSync(join(target, file), terminalSvg(styled, columns, palette, `${scene.title}: ${scene.command}`));
          written.push(file);
        }
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  return written;
}

/** The content of docs/gallery.md. */
export function galleryPage(): string {
  const picture = (name: string, columns: number, { command }: Scene): string =>
    `<picture><source media="(prefers-color-scheme: dark)" srcset="gallery/${name}-${columns}-dark.svg"><img src="gallery/${name}-${columns}-light.svg" alt="${command} in ${columns} columns"></picture>`;
  const sections = Object.entries(SCENES).map(([name, scene]) => {
    const narrow = [60, 120].map(
      (columns) => `<details><summary>${columns} columns</summary>\n\n${picture(name, columns, scene)}\n\n</details>\n`,
    );
    return `## ${scene.title}\n\n${picture(name, 80, scene)}\n\n${narrow.join('\n')}`;
  });
  return `# Gallery\n\nCaptures of a terminal with 60, 80 and 120 columns, light and dark. \`npm run gallery\`, as root on Linux with tmux, makes them\nagain: pictures and this page. Times and versions differ from one run to the next.\n\n${sections.join('\n')}`;
}

if (import.meta.main) {
  readOptions(import.meta.filename, {});
  const written = await writeGallery(join(ROOT, 'docs/gallery'));
  writeFileSync(join(ROOT, 'docs/gallery.md'), galleryPage());
  console.log(`wrote docs/gallery.md and ${written.length} pictures`);
}
