import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Command, CommandResult, Host } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';
import { readBlob } from './blob.ts';
import { joinFailure } from './failures.ts';
import { computerPrincipal, type DomainMembership } from './membership.ts';
import { TOOL_ENVIRONMENT, WORK_DIRECTORY, withWorkDirectory } from './work-directory.ts';

const SHORT_TIMEOUT_MS = 30_000;

/** One join with one secret, in a temporary directory that is always removed. */
export class DomainJoin {
  readonly #host: Host;
  readonly #desired: DomainMembership;
  readonly #controller: string;
  readonly #execution: Execution;

  private constructor(host: Host, desired: DomainMembership, controller: string, execution: Execution) {
    this.#host = host;
    this.#desired = desired;
    this.#controller = controller;
    this.#execution = execution;
  }

  static async during(
    host: Host,
    desired: DomainMembership,
    controller: string,
    execution: Execution,
    work: (join: DomainJoin) => Promise<void>,
  ): Promise<void> {
    await withWorkDirectory(host, () => work(new DomainJoin(host, desired, controller, execution)));
  }

  /**
   * Refuses to take over an existing account: adcli would do it silently, and the other machine would lose its
   * membership. Throws `ComputerAccountExists`, and problems of the joining account.
   */
  async refuseExisting(user: string, password: string): Promise<void> {
    const { computerName, timeoutMs } = this.#desired;
    const args = ['show-computer', ...this.#domain(), ...login(user), computerName];
    const result = await this.#run({ program: 'adcli', args, input: password, timeoutMs });
    if (result.status !== 0 && /No computer account for \S+ exists/.test(result.stderr)) return;
    if (result.status !== 0) throw joinFailure('adcli show-computer', result);
    throw new MachineadmError({
      reason: 'ComputerAccountExists',
      summary: `The domain has an account of the name ${computerName} already, and a join would disconnect its machine.`,
      remedy:
        'Give this machine another computerName; or, where the account is its own or of a machine that is gone, delete it or set accountReuse: true.',
      evidence: [{ source: 'adcli show-computer', text: shownAccount(result.stdout) || computerName }],
    });
  }

  async withAccount(user: string, password: string): Promise<void> {
    const { computerOU, os } = this.#desired;
    await this.#adcliJoin(password, [
      ...login(user),
      `--os-name=${os.id}`,
      `--os-version=${os.version}`,
      ...(computerOU === undefined ? [] : [`--domain-ou=${computerOU}`]),
    ]);
  }

  async withOneTimePassword(password: string): Promise<void> {
    await this.#adcliJoin(password, ['--login-type=computer', '--stdin-password']);
  }

  /** Extracts the computer's password from the blob, and creates the keytab from it. */
  async withBlob(text: string): Promise<void> {
    const blob = readBlob(text);
    if (blob === undefined) throw blobInvalid('is damaged, truncated, or not join data');
    const { computerName, domain, realm, keytab } = this.#desired;
    if (blob.computer.toUpperCase() !== computerName) {
      throw blobInvalid(`was made for the computer ${blob.computer}, and this is ${computerName}`);
    }
    if (![domain, blob.netbiosDomain.toLowerCase()].includes(blob.domain.toLowerCase())) {
      throw blobInvalid(`was made for the domain ${blob.domain}, and the document names ${domain}`);
    }
    const file = `${WORK_DIRECTORY}/blob`;
    await this.#host.writeFile({ path: file, content: blob.file, mode: 0o600 });
    const settings = { computerName, realm, workgroup: blob.netbiosDomain, keytab };
    // Samba 4.17 crashes with a segmentation fault when it writes the keytab at once.
    const configuration = await this.#sambaConfiguration({ ...settings, method: 'secrets only' });
    await this.#net(['offlinejoin', 'requestodj', `loadfile=${file}`], configuration);
    await this.#sambaConfiguration({ ...settings, method: 'secrets and keytab' });
    await this.#net(['ads', 'keytab', 'create', '-P', '-S', this.#controller], configuration);
  }

  /** Adds keys for more services, with the computer's own permission. */
  async addServices(services: readonly string[]): Promise<void> {
    const { fqdn, computerName, keytab } = this.#desired;
    const args = [
      'update',
      ...this.#domain(),
      `--host-fqdn=${fqdn}`,
      `--computer-name=${computerName}`,
      `--host-keytab=${keytab}`,
      ...services.map((service) => `--service-name=${service}`),
    ];
    const result = await this.#run({ program: 'adcli', args, timeoutMs: this.#desired.timeoutMs });
    if (result.status !== 0) throw joinFailure('adcli update', result);
  }

  /** Proves that the domain accepts the keys: a ticket with kinit, if installed, and a login with adcli. */
  async verify(): Promise<void> {
    const { keytab } = this.#desired;
    if ((await this.#host.which('kinit')) !== undefined) {
      const args = ['-k', '-t', keytab, computerPrincipal(this.#desired)];
      const ticket = await this.#run({ program: 'kinit', args, timeoutMs: SHORT_TIMEOUT_MS });
      if (ticket.status !== 0) throw joinFailure('kinit', ticket);
    }
    const args = ['testjoin', ...this.#domain(), `--host-keytab=${keytab}`];
    const result = await this.#run({ program: 'adcli', args, timeoutMs: SHORT_TIMEOUT_MS });
    if (result.status !== 0) throw joinFailure('adcli testjoin', result);
  }

  #domain(): readonly string[] {
    return [`--domain=${this.#desired.domain}`, `--domain-controller=${this.#controller}`];
  }

  async #adcliJoin(password: string, credentials: readonly string[]): Promise<void> {
    const { fqdn, computerName, keytab, servicePrincipals, timeoutMs } = this.#desired;
    const args = [
      'join',
      ...this.#domain(),
      `--host-fqdn=${fqdn}`,
      `--computer-name=${computerName}`,
      `--host-keytab=${keytab}`,
      ...['host', ...servicePrincipals].map((service) => `--service-name=${service}`),
      ...credentials,
    ];
    this.#execution.waitingFor(`the join of ${this.#desired.domain}`);
    const result = await this.#run({ program: 'adcli', args, input: password, timeoutMs });
    if (result.status !== 0) throw joinFailure('adcli join', result);
    await this.#host.chmod(keytab, 0o600);
  }

  async #net(args: readonly string[], configuration: string): Promise<void> {
    const { timeoutMs } = this.#desired;
    const result = await this.#run({ program: 'net', args: [...args, `--configfile=${configuration}`], timeoutMs });
    if (result.status !== 0) throw joinFailure(`net ${args.slice(0, 2).join(' ')}`, result);
  }

  /** Samba keeps all its files in the work directory: only the keytab remains. */
  async #sambaConfiguration(
    settings: Readonly<Record<'computerName' | 'realm' | 'workgroup' | 'keytab' | 'method', string>>,
  ): Promise<string> {
    const path = `${WORK_DIRECTORY}/smb.conf`;
    const directories = ['private dir', 'state directory', 'cache directory', 'lock directory', 'pid directory'];
    const content = [
      '[global]',
      'security = ads',
      `realm = ${settings.realm}`,
      `workgroup = ${settings.workgroup}`,
      `netbios name = ${settings.computerName}`,
      `kerberos method = ${settings.method}`,
      ...(settings.method === 'secrets only' ? [] : [`dedicated keytab file = FILE:${settings.keytab}`]),
      ...directories.map((directory) => `${directory} = ${WORK_DIRECTORY}`),
      '',
    ].join('\n');
    await this.#host.writeFile({ path, content, mode: 0o600 });
    return path;
  }

  #run(command: Command): Promise<CommandResult> {
    const { signal, output } = this.#execution;
    return this.#host.run({
      ...command,
      env: TOOL_ENVIRONMENT,
      signal,
      onLine: (_, line) => output(command.program, line),
      supervised: true,
    });
  }
}

/** From the lines of `NAME:`, each followed by ` VALUE` lines, those that identify the account. */
function shownAccount(shown: string): string {
  const valueAt = (name: string) => new RegExp(`^${name}:\\n (?!- not set)(.*)$`, 'm').exec(shown)?.[1];
  return ['sAMAccountName', 'dNSHostName', 'operatingSystem', 'description']
    .flatMap((name) => valueAt(name) ?? [])
    .join(', ');
}

function login(user: string): readonly string[] {
  return ['--login-type=user', `--login-user=${user}`, '--stdin-password'];
}

function blobInvalid(what: string): MachineadmError {
  return new MachineadmError({
    reason: 'DomainJoinBlobInvalid',
    summary: `The offline join data ${what}.`,
    remedy:
      'Make it for this machine (djoin /provision, or net offlinejoin provision), and give the whole text of the file.',
  });
}
