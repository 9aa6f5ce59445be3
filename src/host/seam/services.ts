/** A machineadm command that the service manager runs once at every boot. */
export interface BootCommand {
  /** Name of the service: `machineadm-sentinel`. */
  readonly name: string;
  readonly description: string;
  readonly documentation?: string;
  /** Absolute path of a program and its arguments. */
  readonly command: readonly string[];
  /** Services that start only after it has ended, successfully or not. A missing service has no effect. */
  readonly before?: readonly string[];
  /**
   * True where it runs commands of the document, which may start programs that gain privileges or change SELinux
   * domains.
   */
  readonly mayGainPrivileges?: true;
}

/** How a service manager runs a boot command: the file to write, and the service to enable once the file is loaded. */
export interface BootFile {
  /** The name for `host.service` and `host.services`. */
  readonly service: string;
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** How a service manager passes the variables of a file to a service at its next start. */
export interface ServiceEnvironment {
  readonly path: string;
  /** Text that makes the service read the file. */
  readonly lines: string;
  /** True where others also write to the file: ours is a marked block in it. False: the whole file is ours. */
  readonly shared: boolean;
}

/** systemd's details about a unit beyond whether it is active. */
export interface UnitFacts {
  /** `loaded`, `not-found`, `masked`, `bad-setting`, `error` */
  readonly loadState: string;
  /** `active`, `activating`, `inactive`, `failed`, … */
  readonly activeState: string;
  /** `running`, `dead`, `auto-restart`, … */
  readonly subState: string;
  /** Its last result: `success`, `exit-code`, `signal`, `core-dump`, `oom-kill`, `start-limit-hit`, `timeout`, … */
  readonly result: string;
  /** How its main process ended last; undefined: it has not ended yet. */
  readonly ended: { readonly by: 'exit' | 'signal'; readonly status: number } | undefined;
  /** Automatic restarts; since systemd 235. */
  readonly restarts: number;
  /** ExecStart, split at blanks, with its variables unexpanded. */
  readonly command: readonly string[];
  /** Environment= as systemd prints it; may contain secrets: for checks only. */
  readonly environment: string;
  readonly environmentFiles: readonly string[];
  /** MemoryMax in bytes; undefined: unlimited, or not supported by this systemd. */
  readonly memoryMax: number | undefined;
}
