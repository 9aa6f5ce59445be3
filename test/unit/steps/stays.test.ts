import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HostModel } from '@machineadm/document/model.ts';
import type { Memory } from '../../../src/steps/prior-state/memory.ts';
import { staysOf } from '../../../src/steps/stays.ts';
import { hostModel } from '../../support/host-model.ts';

/** A machine on which an earlier run made the group `operators`. */
const MEMORY: Memory = {
  before: new Map([['group:operators', { step: 'groups', was: null, isMarked: true, sources: '' }]]),
  after: new Map(),
  everOwed: new Map(),
  acted: new Map(),
  note: () => undefined,
  isResetting: false,
};

const USER: HostModel['users'][number] = {
  name: 'ada',
  uid: undefined,
  gecos: undefined,
  primaryGroup: undefined,
  groups: [],
  home: undefined,
  shell: undefined,
  system: false,
  passwordHash: undefined,
  locked: true,
  inactive: false,
  sudo: [],
  sshAuthorizedKeys: undefined,
};

describe('a group that an earlier run made', () => {
  const told = (host: Partial<HostModel>) => staysOf(hostModel(host), MEMORY).map(({ id }) => id);

  test('stays, which is told, where the document does not name it any more', () => {
    assert.deepEqual(told({}), ['removals/stays/group:operators']);
  });

  test('belongs to the document where a user is a member of it, or has it as the primary group', () => {
    assert.deepEqual(told({ users: [{ ...USER, groups: ['operators'] }] }), []);
    assert.deepEqual(told({ users: [{ ...USER, primaryGroup: 'operators' }] }), []);
    assert.deepEqual(told({ groups: [{ name: 'operators', gid: undefined, system: false }] }), []);
  });
});
