import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transientUnit } from '../../../../src/host/processes/background.ts';

test('a process that outlives the run is a transient unit without core dumps, new privileges and variables of Node', () => {
  const args = transientUnit({
    name: 'machineadm-report-1',
    description: 'Send reports',
    command: ['/usr/local/bin/machineadm', 'report', 'flush'],
    longestMs: 90_500,
  });
  const properties = args.flatMap((argument, index) => (args[index - 1] === '-p' ? [argument] : []));
  for (const expected of [
    'LimitCORE=0',
    'NoNewPrivileges=yes',
    'RuntimeMaxSec=91',
    'UnsetEnvironment=NODE_OPTIONS NODE_EXTRA_CA_CERTS OPENSSL_CONF',
  ]) {
    assert.ok(properties.includes(expected), `${expected} in ${properties.join(', ')}`);
  }
  assert.deepEqual(args.slice(args.indexOf('--')), ['--', '/usr/local/bin/machineadm', 'report', 'flush']);
});
