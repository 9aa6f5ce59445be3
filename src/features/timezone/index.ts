import { posix } from 'node:path';
import { LOCALTIME, TIMEZONE_FILE } from '@machineadm/document/ownership/paths.ts';
import { type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';

const DATABASE = '/usr/share/zoneinfo';
/** The first bytes of a file of the database (RFC 9636, section 3.1); the directory holds other files, too. */
const MAGIC = 'TZif';
/** Debian links this name to /etc/localtime itself. */
const OWN_LINK = 'localtime';

export interface TimezoneActual {
  /** The target of /etc/localtime as an absolute path; undefined: it is no link. */
  readonly link: string | undefined;
  /** undefined: the distribution has no such file. */
  readonly name: OwnFile;
}

type TimezonePayload = { readonly zone: string; readonly path: typeof LOCALTIME | typeof TIMEZONE_FILE };

/**
 * The time zone, as systemd-timedated sets it: a relative link (systemd src/timedate/timedated.c,
 * context_write_data_timezone), and the name in /etc/timezone where that is there (Debian's patch of it). The files are
 * written directly because early at boot there is no bus to call timedated by.
 */
export const timezone: FeatureStep<string, TimezoneActual, TimezonePayload> = {
  id: 'timezone',
  section: 'host.timezone',
  isRequested: ({ host }) => host.timezone !== undefined,

  desired: (model) => model.host.timezone,

  async preflight(host, zone) {
    const path = `${DATABASE}/${zone}`;
    if (zone !== OWN_LINK && (await isZone(path))) return [];
    const found = (await host.stat(DATABASE)) !== undefined;
    return [
      {
        reason: 'TimezoneUnknown',
        what: found
          ? `${zone} is not a time zone of ${DATABASE}`
          : `the time zone database ${DATABASE} is not installed`,
        remedy: found
          ? 'Correct the name: "timedatectl list-timezones" prints those of this machine. Old names may need the package tzdata-legacy.'
          : 'Install tzdata in the image, or remove host.timezone.',
        field: 'host.timezone',
      },
    ];

    async function isZone(file: string): Promise<boolean> {
      const real =
        (await host.stat(file))?.type === 'directory' ? undefined : await host.readRange(file, 0, MAGIC.length);
      return real !== undefined && new TextDecoder().decode(real) === MAGIC;
    }
  },

  async inspect(host) {
    const link = await host.readLink(LOCALTIME);
    return {
      link: link === undefined ? undefined : posix.resolve(posix.dirname(LOCALTIME), link),
      name: await readOwnFile(host, TIMEZONE_FILE),
    };
  },

  plan(zone, { link, name }) {
    const changes: Change<TimezonePayload>[] = [];
    const add = (path: TimezonePayload['path'], now: string): void => {
      changes.push({
        id: `timezone${path}`,
        summary: `${path}: ${now} -> ${zone}`,
        scope: 'base',
        payload: { zone, path },
      });
    };
    if (link !== `${DATABASE}/${zone}`) add(LOCALTIME, link?.replace(`${DATABASE}/`, '') ?? 'no link');
    const { text, attributes } = name;
    if (text !== undefined && text.trim() !== zone) add(TIMEZONE_FILE, text.trim());
    else if (attributes !== undefined) add(TIMEZONE_FILE, attributes);
    return changes;
  },

  async apply(host, { payload: { zone, path } }) {
    if (path === LOCALTIME) await host.writeLink(path, `..${DATABASE}/${zone}`);
    else await host.writeFile({ path, content: `${zone}\n`, mode: 0o644 });
  },

  settled: async (host) => await host.sync('/etc'),
};
