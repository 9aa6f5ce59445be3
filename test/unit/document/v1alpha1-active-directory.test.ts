import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loaded, problemsOf } from '../../support/document.ts';

const membership = (rest: string, host = ''): string =>
  `host:\n${host}  activeDirectory:\n    domain: corp.example.com\n${rest}`;
const DELEGATED = '    credentials: {user: joiner, password: hunter22}\n';

describe('host.activeDirectory', () => {
  test('has defaults, and its own spelling of names', async () => {
    const { model } = await loaded(membership(DELEGATED).replace('corp.example', 'Corp.Example'));
    const { credentials, ...rest } = model.host.activeDirectory ?? {};
    assert.deepEqual(rest, {
      domain: 'corp.example.com',
      computerName: undefined,
      computerOU: undefined,
      domainController: undefined,
      accountReuse: false,
      onBroken: 'Fail',
      onReset: 'Keep',
      keytab: '/etc/krb5.keytab',
      servicePrincipals: [],
      kerberosConfiguration: 'Managed',
      registersAddress: false,
      logins: undefined,
      timeoutMs: 60_000,
    });
    assert.equal(credentials?.kind, 'account');
  });

  for (const [form, kind] of [
    ['{offlineBlob: {secret: s}}', 'offlineBlob'],
    ['{oneTimePassword: {secret: s}}', 'oneTimePassword'],
    ['{user: joiner, password: {secret: s}}', 'account'],
  ] as const) {
    test(`takes ${form}`, async () => {
      const { model } = await loaded(`secrets: {s: {file: /run/s}}\n${membership(`    credentials: ${form}\n`)}`);
      assert.equal(model.host.activeDirectory?.credentials.kind, kind);
    });
  }

  const mistakes: readonly (readonly [string, string, RegExp])[] = [
    ['two secrets', membership('    credentials: {offlineBlob: a, oneTimePassword: b}\n'), /expected one of|unknown/],
    ['a name of 16 characters', membership(`${DELEGATED}    computerName: ABCDEFGHIJKLMNOP\n`), /at most 15/],
    ['a long host name alone', membership(DELEGATED, '  hostname: a-very-long-name-01\n'), /set computerName/],
    [
      'DOMAIN\\user',
      membership('    credentials: {user: "CORP\\\\joiner", password: hunter22}\n'),
      /write its name alone/,
    ],
    [
      'user@realm',
      membership('    credentials: {user: "joiner@corp.example.com", password: hunter22}\n'),
      /write its name alone/,
    ],
    ['a unit that is no name', membership(`${DELEGATED}    computerOU: Nodes\n`), /not a distinguished name/],
    [
      'a unit of another domain',
      membership(`${DELEGATED}    computerOU: "OU=Nodes,DC=other,DC=com"\n`),
      /ends in "DC=corp,DC=example,DC=com"/,
    ],
    [
      'a place for an account that is there',
      membership('    credentials: {oneTimePassword: abc}\n    computerOU: "OU=N,DC=corp,DC=example,DC=com"\n'),
      /its place cannot be chosen here/,
    ],
    ['logins of nobody', membership(`${DELEGATED}    logins: {allowedGroups: []}\n`), /must not be empty/],
    [
      'a group with its domain',
      membership(`${DELEGATED}    logins: {allowedGroups: ["a@b"]}\n`),
      /write its name alone/,
    ],
    ['a domain of one label', membership(DELEGATED).replace('corp.example.com', 'corp'), /not the DNS name/],
  ];
  for (const [name, body, message] of mistakes) {
    test(`refuses ${name}`, async () => {
      const problems = await problemsOf(body);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', message);
    });
  }

  test('takes logins of groups, and whether they get homes', async () => {
    const body = membership(`${DELEGATED}    logins: {allowedGroups: [Domain Admins, b], homeDirectories: Create}\n`);
    const { activeDirectory } = (await loaded(body)).model.host;
    assert.deepEqual(activeDirectory?.logins, { allowedGroups: ['Domain Admins', 'b'], createsHomes: true });
  });

  test('accepts a long host name with a computerName', async () => {
    const body = membership(`${DELEGATED}    computerName: node-01\n`, '  hostname: a-very-long-name-01\n');
    assert.equal((await loaded(body)).model.host.activeDirectory?.computerName, 'NODE-01');
  });
});
