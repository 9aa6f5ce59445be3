import assert from 'node:assert/strict';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxQueryHost } from '../../../../src/host/machine/linux-host.ts';
import { expandPattern } from '../../../../src/kubernetes/hardening/found-files.ts';
import { needs } from '../../../support/needs.ts';

// As etcd's data after cis-1.1.12: its parent belongs to the user etcd, and what etcd makes below it is root's.
test('what another user could have replaced is found, and not entered', { skip: needs('root') }, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'machineadm-etcd-'));
  t.after(() => rmSync(data, { recursive: true }));
  mkdirSync(join(data, 'member/snap'), { recursive: true });
  writeFileSync(join(data, 'member/snap/db'), '');
  chownSync(data, 998, 998);
  const found = await expandPattern(linuxQueryHost(), `${data}/**`);
  assert.deepEqual(
    found.map(({ path, uid, isUnread }) => ({ path, uid, isUnread })),
    [{ path: join(data, 'member'), uid: 0, isUnread: true }],
  );
});
