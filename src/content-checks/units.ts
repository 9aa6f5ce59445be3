import { basename } from 'node:path/posix';
import { evidenceFrom } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { PRIVATE_FILES } from '../host/seam/queries.ts';
import { notChecked, type UnmetRequirement } from '../step/index.ts';
import type { CheckedFile } from './checked-file.ts';

/** systemd.unit(5), "System Unit Search Path", and the types of units whose files a document writes. */
const UNIT =
  /^\/(?:etc|run|usr\/lib|lib|usr\/local\/lib)\/systemd\/system\/([^/]+\.(?:service|socket|timer|mount|automount|path|slice|swap|target))(?:\.d\/[^/]+\.conf)?$/;
const DIRECTORIES = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];

export function isUnitFile(path: string): boolean {
  return UNIT.test(path);
}

/**
 * What systemd does not understand of units and their drop-ins: copies are verified, in a directory of their own. Only what is
 * wrong with the files themselves counts: programs and other units that they need may come with this run.
 * @param laid units that the document lays as well, by path
 */
export async function unitObstacles(
  host: QueryHost,
  files: readonly CheckedFile[],
  laid: ReadonlyMap<string, string> = new Map(),
): Promise<readonly UnmetRequirement[]> {
  if ((await host.which('systemd-analyze')) === undefined)
    return files.map(({ path, change }) => notChecked(path, 'no systemd-analyze', { change }));
  const copies: Record<string, string> = {};
  for (const { path, text } of files) copies[inOnePlace(path)] = text;
  const units = new Set(files.map(({ path }) => UNIT.exec(path)?.[1] ?? ''));
  for (const unit of units) {
    const place = inOnePlace(`${DIRECTORIES[0]}/${unit}`);
    const base = copies[place] ?? (await unitText(host, laid, unit));
    // A drop-in of a unit that a package brings with this run has nothing to be added to yet.
    if (base === undefined) units.delete(unit);
    else copies[place] = base;
  }
  const left = files.filter(({ path }) => !units.has(UNIT.exec(path)?.[1] ?? ''));
  const later = left.map(({ path, change }) => notChecked(path, 'its unit is not installed yet', { change }));
  if (units.size === 0) return later;
  const args = ['verify', '--man=no', ...[...units].map((unit) => `${PRIVATE_FILES}${inOnePlace(`/${unit}`)}`)];
  const { stderr, stdout } = await host.query({ program: 'systemd-analyze', args, files: copies, timeoutMs: 60_000 });
  // A template is verified as an instance of a made-up name.
  const lines = `${stderr}\n${stdout}`.split('\n').map((line) => line.trim().replace(/@[\w-]+\.(?=\w+[: ])/g, '@.'));
  return [...later, ...files.flatMap((file) => troubleOf(file, lines) ?? [])];
}

function troubleOf(file: CheckedFile, lines: readonly string[]): UnmetRequirement | undefined {
  const { path, change, scope, isPublic } = file;
  const unit = UNIT.exec(path)?.[1] ?? '';
  const place = `${inOnePlace(path)}:`;
  const tell = (line: string): string => redact(isPublic ? line : line.replace(/(?<=ignoring): .*/s, ''));
  const own = lines.flatMap((line) => (line.startsWith(place) ? [tell(`line ${line.slice(place.length)}`)] : []));
  const refused = lines.some(
    (line) => line === `Unit ${unit} has a bad unit file setting.` || line.startsWith(`Unit ${unit} failed to load`),
  );
  const why = lines.find(
    (line) => line.startsWith(`${unit}: `) && !/Failed to create \S*\/start|not executable/.test(line),
  );
  const isUnit = basename(path) === unit;
  const about = own.length > 0 ? own : why !== undefined && isUnit ? [tell(why.slice(unit.length + 2))] : [];
  if (about.length === 0) return undefined;
  return {
    reason: 'UnitFileInvalid',
    what: `systemd ${refused ? 'would refuse' : 'ignores a part of'} ${path}: ${about[0]}`,
    remedy: `Correct ${path} in the document; "systemd-analyze verify FILE" checks it.`,
    evidence: evidenceFrom('systemd-analyze verify', about.slice(0, 5)),
    change,
    scope,
    ...(refused ? { certain: true } : { severity: 'warning' }),
  };
}

/** Units and drop-ins of all directories side by side: systemd looks for drop-ins beside the unit that it is given. */
function inOnePlace(path: string): string {
  return path.replace(/^.*\/systemd\/system\//, '/').replace(/^\/*/, '/units/');
}

async function unitText(host: QueryHost, laid: ReadonlyMap<string, string>, unit: string): Promise<string | undefined> {
  for (const directory of DIRECTORIES) {
    const path = `${directory}/${unit}`;
    const text = laid.get(path) ?? (await host.readText(path));
    if (text !== undefined) return text;
  }
  return undefined;
}
