import { fstatSync } from 'node:fs';
import type { QueryHost } from '../seam/host.ts';

/** Where the output of this process also appears, besides where its caller reads it. */
export type OwnOutput = 'elsewhere' | 'journal' | 'journal and console';

/**
 * Whether standard error is a stream of the journal: JOURNAL_STREAM has its device and inode (systemd.exec(5)). A unit may
 * have it shown on the console, too (`StandardOutput=journal+console`), which only the service manager knows.
 */
export async function ownOutput(
  host: Pick<QueryHost, 'query' | 'readText'>,
  stream: string | undefined = process.env.JOURNAL_STREAM,
  descriptor = 2,
): Promise<OwnOutput> {
  if (stream === undefined || stream !== identityOf(descriptor)) return 'elsewhere';
  const group = (await host.readText('/proc/self/cgroup')) ?? '';
  const unit = group.split(/[/\n]/).find((part) => part.endsWith('.service'));
  if (unit === undefined) return 'journal';
  const properties = '--property=StandardOutput,StandardError';
  const { stdout } = await host.query({ program: 'systemctl', args: ['show', properties, unit] });
  const shown = /^StandardError=(?!inherit)(.*)$/m.exec(stdout) ?? /^StandardOutput=(.*)$/m.exec(stdout);
  return shown?.[1]?.endsWith('+console') === true ? 'journal and console' : 'journal';
}

function identityOf(descriptor: number): string | undefined {
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined; // closed
  }
}
