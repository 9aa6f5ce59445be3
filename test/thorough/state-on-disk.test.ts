import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { HARDENING_RECORD, NETWORK_TRIAL } from '@machineadm/document/ownership/paths.ts';
import { summaryOf } from '@machineadm/status/summary.ts';
import { parseKeptHooks } from '../../src/features/hooks/kept.ts';
import { readTrial } from '../../src/features/network/trial.ts';
import { withChecksum } from '../../src/host/files/checksum.ts';
import { linesOf } from '../../src/host/local-files/append-log.ts';
import { readTransaction, TRANSACTION } from '../../src/kubernetes/api-server/transaction.ts';
import { readRecord, recordText } from '../../src/kubernetes/hardening/record.ts';
import { readJournal } from '../../src/pipeline/journal.ts';
import { parsePrepared } from '../../src/pipeline/prepared.ts';
import { parseStatus, parseSummary } from '../../src/reporting/parse-status.ts';
import { serializePlan } from '../../src/reporting/spool/serialized-plan.ts';
import { Spool } from '../../src/reporting/spool/spool.ts';
import { readStatus } from '../../src/reporting/status-file.ts';
import { parseMemory } from '../../src/trust/memory.ts';
import { memoryHost } from '../support/memory-host.ts';
import { bootstrapped, ended, lines } from '../unit/pipeline/records.ts';
import { reported } from '../unit/reporting/events.ts';
import { statusAfter } from '../unit/reporting/runs.ts';

/** What a reader makes of a file; `refused` where it says that it is damaged. */
type Reader = (bytes: Buffer) => unknown;

const REFUSED = 'refused';

/** As text, for comparison: with sets and maps as lists. */
function described(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) => (part instanceof Map || part instanceof Set ? [...part] : part)) ??
    REFUSED
  );
}

async function readBy(reader: Reader, bytes: Buffer): Promise<string> {
  try {
    return described(await reader(bytes));
  } catch (error) {
    if (error instanceof MachineadmError) return REFUSED;
    throw error;
  }
}

/** Every flip of one bit and every truncation: the file is read as it was, or refused, and never as something else. */
async function assertNoSilentChange(text: string, reader: Reader, allowed: (read: string) => boolean = () => false) {
  const whole = Buffer.from(text);
  const real = await readBy(reader, whole);
  assert.notEqual(real, REFUSED);
  let refused = 0;
  const check = async (damaged: Buffer, how: string) => {
    const read = await readBy(reader, damaged);
    if (read === REFUSED) refused += 1;
    else assert.ok(read === real || allowed(read), `${how} is read as ${read}`);
  };
  for (let bit = 0; bit < whole.length * 8; bit += 1) {
    const damaged = Buffer.from(whole);
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await check(damaged, `a flip of bit ${bit & 7} of byte ${bit >> 3}`);
  }
  for (let length = 0; length < whole.length; length += 1) await check(whole.subarray(0, length), `cut at ${length}`);
  assert.ok(refused > whole.length * 7, `${refused} of ${whole.length * 9} kinds of damage were noticed`);
}

const sealed = (value: object) => `${withChecksum(JSON.stringify(value))}\n`;
const ROOT = '/var/lib/machineadm/spool';
const STATE = { failures: 3, refused: 1, lost: 2, told: true, lastError: 'HTTP 503' };
const PLAN = serializePlan({
  model: {
    kind: 'Webhook',
    name: 'a',
    events: ['concluded'],
    timeoutMs: 10_000,
    url: 'https://hooks.example/a',
  } as never,
  network: { proxy: undefined, certificateAuthorities: [] },
  local: [],
}).text;

/** The spool with one file in it. */
const spoolWith = (name: string, bytes: Buffer) => {
  const host = memoryHost({ files: { [`${ROOT}/${name}`]: bytes } });
  return { host, spool: new Spool(host, [ROOT]) };
};

describe('a file on a damaged disk is read as it was, or refused:', () => {
  test('the journal: cut off it is that of an earlier moment', async () => {
    const note = { is: 'note', step: 'hooks-early', change: 'edited:/etc/a b', note: 'a b @ c' } as const;
    const records = lines([...bootstrapped('run-1'), note, ended('run-1')]).map((line) => withChecksum(line));
    const read: Reader = (bytes) => readJournal('journal', linesOf(bytes).lines);
    const earlier = new Set(
      await Promise.all(
        records.map((_, count) => readBy(read, Buffer.from(`${records.slice(0, count).join('\n')}\n`))),
      ),
    );
    const text = `${records.join('\n')}\n`;
    const real = await readBy(read, Buffer.from(text));
    await assertNoSilentChange(text, read, (found) => earlier.has(found));
    for (let bit = 0; bit < text.length * 8; bit += 1) {
      const damaged = Buffer.from(text);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const found = await readBy(read, damaged);
      assert.ok(
        found === real || found === REFUSED,
        `a flip of bit ${bit} takes the journal back to an earlier moment`,
      );
    }
  });

  test('the status', async () => {
    const text = `${withChecksum(JSON.stringify(statusAfter({ kind: 'stepStarted', step: 'a' }), undefined, 2))}\n`;
    await assertNoSilentChange(text, (bytes) => parseStatus(bytes.toString(), 'status.json'));
  });

  test('the summary of a status', async () => {
    const summary = summaryOf(statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } }));
    await assertNoSilentChange(sealed(summary), (bytes) => parseSummary(bytes.toString(), 'summary.json'));
  });

  test('what an image was prepared with', async () => {
    const prepared = { version: 1, agentVersion: '0.1.0', preparedAt: '2026', baseSha256: 'a', steps: [], notes: [] };
    await assertNoSilentChange(sealed(prepared), (bytes) => parsePrepared(bytes.toString()));
  });

  test('what was verified before', async () => {
    const directories = [{ place: 'sites/edge', key: `${'a'.repeat(43)}=`, version: 6, sha256: 'a'.repeat(64) }];
    const memory = { apiVersion: 'machineadm.dev/trust-memory/v1', directories, revoked: [], minimumVersion: '1.2.0' };
    await assertNoSilentChange(sealed(memory), (bytes) => parseMemory(bytes.toString(), 'trust.json'));
  });

  test('commands for every boot, which root runs', async () => {
    const group = { shell: 'sh', onError: 'Fail', timeoutMs: 1000, commands: ['rm -rf /srv/cache'], environment: {} };
    await assertNoSilentChange(sealed({ version: 1, machineId: 'a', group }), (bytes) =>
      parseKeptHooks(bytes.toString()),
    );
  });

  test('what the node was hardened to', async () => {
    const text = recordText({ profiles: [], include: ['cis-1.2.1'], exceptions: [{ id: 'cis-1.2.2', reason: 'a b' }] });
    await assertNoSilentChange(text, (bytes) => readRecord(memoryHost({ files: { [HARDENING_RECORD]: bytes } })));
  });

  test("the API server's files of before a change that was interrupted", async () => {
    const files = [{ path: '/etc/kubernetes/a.yaml', content: 'a: b', mode: 0o600 }];
    const change = { cluster: 'kind: ClusterConfiguration', processes: ['7'], files };
    await assertNoSilentChange(sealed(change), (bytes) =>
      readTransaction(memoryHost({ files: { [TRANSACTION]: bytes } })),
    );
  });

  test('the network files of before a change', async () => {
    const files = [{ path: '/etc/netplan/a.yaml', content: 'network: {}', mode: 0o600, gid: 0 }];
    await assertNoSilentChange(sealed({ tool: 'netplan', files, hadDefaultRoute: true }), (bytes) =>
      readTrial(memoryHost({ files: { [NETWORK_TRIAL]: bytes } })),
    );
  });

  test('an event that waits; the damaged one is kept byte for byte', async () => {
    const name = 'a~000000001~run-1.1.json';
    await assertNoSilentChange(sealed(reported()), async (bytes) => {
      const { spool, host } = spoolWith(name, bytes);
      const [waiting] = await spool.waiting('a');
      assert.ok(waiting !== undefined);
      const event = await spool.read(waiting);
      if (event !== undefined) return event;
      await spool.setAside(waiting);
      assert.deepEqual(Buffer.from((await host.readFile(`${ROOT}/quarantine/${name}`)) ?? []), bytes);
      return undefined;
    });
  });

  test('how a sink is reached; the damaged one is kept', async () => {
    await assertNoSilentChange(`${withChecksum(PLAN)}\n`, async (bytes) => {
      const { spool, host } = spoolWith('a~sink.json', bytes);
      const text = (await spool.plans()).get('a');
      const parsed = text === undefined ? undefined : parsedOrNothing(text);
      if (text === undefined && bytes.length > 0)
        assert.deepEqual(Buffer.from((await host.readFile(`${ROOT}/quarantine/a~sink.json`)) ?? []), bytes);
      return parsed;
    });
  });

  test('what is known of a sink: that its counters are lost is said, and goes with it', async () => {
    await assertNoSilentChange(sealed(STATE), async (bytes) => {
      const { spool } = spoolWith('a~state.json', bytes);
      const state = await spool.state('a');
      if (state.unreadable !== true) return state;
      await spool.putState('a', state);
      assert.equal((await spool.state('a')).unreadable, true);
      return undefined;
    });
  });
});

/** A plan without a checksum is as an earlier version wrote it; one that is no JSON is none. */
function parsedOrNothing(text: string): unknown {
  try {
    const { crc32: _, ...plan } = JSON.parse(text);
    return plan;
  } catch {
    return undefined;
  }
}

test('a damaged status is distinguished from its good copy', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-status-'));
  try {
    const paths = { current: join(directory, 'current.json'), copy: join(directory, 'copy.json') };
    const status = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });
    const text = sealed(status);
    writeFileSync(paths.copy, text);
    for (let at = 0; at < text.length; at += 97) {
      const damaged = Buffer.from(text);
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      for (const bytes of [damaged, damaged.subarray(0, at)]) {
        writeFileSync(paths.current, bytes);
        assert.deepEqual(withoutChecksum(await readStatus(paths)), status);
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

function withoutChecksum(status: object | undefined): object {
  return Object.fromEntries(Object.entries(status ?? {}).filter(([key]) => !key.startsWith('crc')));
}
