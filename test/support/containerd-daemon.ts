import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Host, ServiceState } from '../../src/host/seam/host.ts';

const LOG = '/run/containerd.log';

/** What systemd would do with containerd.service: the throw-away machine has no service manager. One at a time. */
export class ContainerdDaemon {
  #child: ChildProcess | undefined;
  #enabled = false;

  /** Makes this the containerd of the throw-away machine, without any configuration. `root`: see `debianContainerd`. */
  install(root: string): void {
    for (const program of ['containerd', 'ctr', 'containerd-shim-runc-v2']) {
      rmSync(join('/usr/local/bin', program), { force: true });
      symlinkSync(join(root, 'usr/bin', program), join('/usr/local/bin', program));
    }
    rmSync('/etc/containerd', { recursive: true, force: true });
    mkdirSync('/etc/containerd', { recursive: true, mode: 0o755 });
  }

  /** What it logged since it was first started. */
  log(): string {
    return readFileSync(LOG, 'utf8');
  }

  get state(): ServiceState {
    const active = this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
    return {
      exists: true,
      active,
      enabled: this.#enabled,
      masked: false,
      detail: active ? 'active' : 'inactive',
      pid: active ? this.#child?.pid : undefined,
      startedAtMs: undefined,
    };
  }

  async stop(): Promise<void> {
    if (this.#child === undefined || !this.state.active) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  async start(): Promise<void> {
    if (this.state.active) return;
    const log = openSync(LOG, 'a');
    this.#child = spawn('/usr/local/bin/containerd', [], {
      stdio: ['ignore', log, log],
      env: { PATH: '/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    await once(this.#child, 'spawn');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  on(host: Host): Host {
    return {
      ...host,
      service: async () => this.state,
      services: {
        ...host.services,
        reload: async () => {},
        start: () => this.start(),
        stop: () => this.stop(),
        restart: () => this.restart(),
        enable: async () => {
          this.#enabled = true;
        },
        logs: async (_name, lines) => readFileSync(LOG, 'utf8').trimEnd().split('\n').slice(-lines),
      },
    };
  }
}
