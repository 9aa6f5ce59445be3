import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { bundle, compileParts } from './build/bundle.ts';

const root = resolve(import.meta.dirname, '..');

/** Most runs in the tests plan changes of a host. With a code cache for planning, they take 10 % less time. */
const PLANNED = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: planned}
reporting: {sinks: []}
host:
  kernelModules: [overlay]
  sysctl: {net.ipv4.ip_forward: 1}
  users: [{name: planned}]
  directories: [{path: /etc/planned}]
  files: [{path: /etc/planned/file, content: planned}]
`;

/**
 * Bundles and compiles the agent for the tests, like the binary: the tests start it thousands of times, and it then starts
 * in a quarter of the time. The tests themselves import the sources with a compile cache. It is filled completely before
 * they start, so that no test writes to it.
 */
export async function prepareAgent(): Promise<void> {
  process.env.NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compiled');
  const [agent] = await Promise.all([compiledAgent(), fillCache()]);
  process.env.AGENT_UNDER_TEST = agent;
}

async function compiledAgent(): Promise<string> {
  const agent = await bundleAgent('agent');
  await compileParts(process.execPath, agent, [], PLANNED);
  return agent;
}

/** Imports all sources once. */
async function fillCache(): Promise<void> {
  // The translator is a separate program, and few tests start it.
  const sources = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: root }).filter(
    (file) => file !== 'src/main.ts' && !file.startsWith('packages/translator/'),
  );
  const script = sources.map((file) => `await import(${JSON.stringify(join(root, file))});`).join('\n');
  const child = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: root,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.stdin.end(script);
  await once(child, 'close');
}

/** Bundles the agent into a directory with this name. Returns the file that Node runs. `plugins` may change the sources. */
async function bundleAgent(name: string, plugins: readonly Plugin[] = []): Promise<string> {
  const agent = join(root, 'node_modules/.cache', name, 'machineadm.cjs');
  mkdirSync(dirname(agent), { recursive: true });
  await bundle(join(root, 'src/main.ts'), agent, { commit: 'unknown' }, plugins);
  return agent;
}
