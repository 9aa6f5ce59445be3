import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { buildSuiteImage } from '../../scripts/lab/artefacts.ts';
import { initDocument, newSeeds } from '../support/documents.ts';
import { AGENT, ALL_CASES, Fleet, LAB, type Node, progress } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const UNITS = resolve(import.meta.dirname, '../../packaging/systemd');
const HOST_ONLY = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: trixie}
host:
  hostname: trixie-1
  sysctl: {net.ipv4.ip_forward: 1}
  users: [{name: ops, groups: [sudo], sudo: ['ALL=(ALL) NOPASSWD:ALL']}]
  files: [{path: /etc/motd, content: "prepared by machineadm\\n"}]
`;

interface Report {
  readonly verdict: string;
  readonly profile: string;
  readonly reason?: string;
  readonly os: { readonly id: string; readonly version: string };
  readonly clauses: readonly {
    readonly id: string;
    readonly level: string;
    readonly state: string;
    readonly text: string;
  }[];
}

describe('the contract with an operating system', { skip: needs(...LAB), timeout: 20 * MINUTE }, () => {
  let layer = '';

  const fleet = Fleet.ofSuite(async () => {
    // The units as a package lays them, the one that resumes enabled.
    layer = mkdtempSync(join(tmpdir(), 'machineadm-conformance-'));
    const units = join(layer, 'etc/systemd/system');
    mkdirSync(join(units, 'multi-user.target.wants'), { recursive: true });
    for (const name of readdirSync(UNITS)) copyFileSync(join(UNITS, name), join(units, name));
    symlinkSync('../machineadm-resume.service', join(units, 'multi-user.target.wants/machineadm-resume.service'));
  });
  after(() => rmSync(layer, { recursive: true, force: true }));

  async function report(node: Node, expected: number): Promise<Report> {
    const { status, stdout, stderr } = await node.machine.exec([AGENT, 'conformance', '-o', 'json']);
    assert.equal(status, expected, stderr + stdout);
    return JSON.parse(stdout);
  }
  const inState = ({ clauses }: Report, state: string): readonly string[] =>
    clauses.filter((clause) => clause.state === state).map(({ id }) => id);
  // The root of a machine of the lab is an overlay; its upper directory is on the disk of the machine that runs the lab.
  const UNSEEN = ['IMG-06', 'IMG-08'];

  // The bootstrap is of the full set: half a minute, for two clauses of a running node.
  test(`Debian 12 keeps it before a bootstrap${ALL_CASES ? ' and after it, and a broken clause is named' : ''}`, async () => {
    const node = await fleet.start({ name: 'conf12', ip: '10.99.0.61', lower: [layer] });
    const before = await report(node, 22);
    assert.deepEqual([before.os.id, before.os.version, before.reason], ['debian', '12', 'ContractNotProven']);
    assert.deepEqual(
      before.clauses.filter(({ level, state }) => level === 'MUST' && state === 'broken'),
      [],
    );
    assert.deepEqual(inState(before, 'notProven'), UNSEEN);
    assert.deepEqual(
      inState(before, 'notApplicable').filter((id) => !/^(?:RUN|WIN|SYS)-/.test(id)),
      [],
    );

    if (!ALL_CASES) return;
    await node.lay(initDocument(node.site, newSeeds()));
    const run = await node.provision();
    assert.equal(run.exitCode, 0, run.stderr);
    const after = await report(node, 22);
    assert.deepEqual(inState(after, 'notProven'), UNSEEN);
    assert.deepEqual(
      inState(after, 'notApplicable').filter((id) => id !== 'RUN-04'),
      [],
    );

    await node.machine.shell(
      'chmod 0644 /var/lib/machineadm/journal; printf ok > /run/cluster-api/bootstrap-success.complete',
    );
    const spoiled = await report(node, 20);
    assert.equal(spoiled.reason, 'ContractBroken');
    assert.deepEqual(
      inState(spoiled, 'broken').filter((id) => !inState(after, 'broken').includes(id)),
      ['RUN-02', 'RUN-03'],
    );
  });

  test('Debian 13 keeps it, before and after a run of a document for the host', async () => {
    const root = await buildSuiteImage('trixie', progress);
    const node = await fleet.start({ name: 'conf13', ip: '10.99.0.62', lower: [layer], root });
    const before = await report(node, 22);
    assert.deepEqual([before.os.id, before.os.version, before.profile], ['debian', '13', 'host']);
    assert.deepEqual(inState(before, 'notProven'), UNSEEN);

    await node.machine.write('/etc/machineadm/bootstrap.yaml', HOST_ONLY, '600');
    const run = await node.machine.exec([AGENT, 'provision', '-d', '/etc/machineadm/bootstrap.yaml']);
    assert.equal(run.status, 0, run.stderr);
    assert.equal((await node.machine.shell('hostname')).trim(), 'trixie-1');
    const after = await report(node, 22);
    const state = (id: string) => after.clauses.find((clause) => clause.id === id)?.state;
    assert.deepEqual(['RUN-01', 'RUN-02', 'RUN-03', 'RUN-04', 'RUN-06'].map(state), [
      'kept',
      'kept',
      'kept',
      'kept',
      'kept',
    ]);

    await node.machine.shell('mv /usr/bin/lsblk /usr/bin/lsblk.away');
    const spoiled = await report(node, 20);
    assert.ok(inState(spoiled, 'broken').includes('IMG-04'));
  });
});
