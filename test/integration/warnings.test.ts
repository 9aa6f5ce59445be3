import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { agent } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const DOCUMENT = '/tmp/document.yaml';
/** No machine of this name has the device, so nothing is changed whatever the document asks for. */
const TEXT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n}
host:
  storage:
    filesystems: [{device: {path: /dev/no-such-device, timeout: 1s}, type: ext4}]
reporting: {sinks: []}
`;
const PLACE = `${DOCUMENT}:6:19`;

inThrowAwayMachine(import.meta.filename, () => {
  test('a run, refused or not, reports the warnings about a document in its status and on the terminal', async () => {
    writeFileSync(DOCUMENT, TEXT);
    const { status, stdout, stderr } = await agent(['provision', '-d', DOCUMENT, '-o', 'json']);
    assert.notEqual(status, 0, 'the device is not there');
    const { warnings } = JSON.parse(stdout);
    assert.equal(warnings.length, 2, JSON.stringify(warnings));
    assert.ok(warnings[0].startsWith(`${PLACE}  host.storage.filesystems[0]: no mount of the document names`));
    assert.match(
      warnings[1],
      /^the device \/dev\/no-such-device \(host\.storage\.filesystems\[0\]\.device\) does not exist/,
    );
    assert.ok(stderr.includes(PLACE), stderr);
  });
});
